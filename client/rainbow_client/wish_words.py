"""Wishes and policies in words: what decided, and what the user had asked for. Pure."""

from collections.abc import Iterator

from rainbow_client.duration import format_duration
from rainbow_client.printable import printable
from rainbow_client.wording import cost_words, shorten
from rainbow_protocol.limits import URGENCY_DEFAULT
from rainbow_protocol.wishes import Wishes

_TIES = "then the less busy cluster, then the name"
POLICIES = {
    "earliest": f"the earliest start wins, then the lower cost, {_TIES}",
    "cheapest": f"the lowest cost wins, then the earlier start, {_TIES}",
    "balanced": "a short wait and a low cost are weighed against each other; the best balance wins",
    "spillover": "the first in the order of preference that can start it soon enough; if nobody can, the earliest",
    "random": "one of those who said Yes is drawn by lot; the same job would draw the same again",
    "first": "nobody is asked; what is known of the clusters decides which of them suits it best",
    "constraint": "the bids go through the given steps: those that pass are sorted, and one is selected",
}
_UNTIL = {"start": "has started", "ok": "has ended well", "any": "is over"}
OPTION_CHARS_MAX = 60  # a policy's steps may be pages
AFTER_TOLD_MAX = 3


def policy_words(policy: str, wishes: Wishes | None) -> str:
    """`Policy spillover (order blue,@cloud; threshold_s 300): the first in the order…`"""
    words = f"Policy {printable(policy)}"
    if wishes is not None and wishes.policy == policy and wishes.options:
        options = (f"{key} {_option_words(value)}" for key, value in wishes.options.items())
        words += f" ({'; '.join(options)})"
    rule = POLICIES.get(policy)
    return words + (f": {rule}" if rule else "")


def _option_words(value: object) -> str:
    first, *more = str(value).strip().splitlines() or [""]
    return shorten(printable(first) + (" …" if more else ""), OPTION_CHARS_MAX)


def wish_lines(wishes: Wishes) -> Iterator[str]:
    """What the user wishes beyond the policy, if anything: one line."""
    told = []
    if wishes.max_cost is not None:
        told.append(f"cost at most {cost_words(wishes.max_cost)}")
    if wishes.start_within_s is not None:
        soon = "at once" if wishes.start_within_s == 0 else f"within {format_duration(wishes.start_within_s)}"
        told.append(f"start {soon}")
    if wishes.group is not None:
        told.append(f"only the group {wishes.group}")
    if wishes.not_clusters:
        told.append(f"not on {' or '.join(wishes.not_clusters)}")
    if wishes.urgency != URGENCY_DEFAULT:
        told.append(f"urgency {wishes.urgency} (usual: {URGENCY_DEFAULT})")
    if not wishes.move:
        told.append("stays in the queue that it is in")
    if told:
        yield f"Wishes {', '.join(told)}"
    if wishes.after:
        jobs = [f"job {one.job} {_UNTIL[one.until]}" for one in wishes.after[:AFTER_TOLD_MAX]]
        more = len(wishes.after) - AFTER_TOLD_MAX
        yield f"Not before {', and '.join(jobs)}" + (f", and {more} more" if more > 0 else "")

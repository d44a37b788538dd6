"""What a user says about where and when, as options: `--policy`, `--max-cost`, `--after`…"""

from typing import Any

import click

from rainbow_client.arrays import JobName
from rainbow_client.cli.frame import F, Invocation, with_client
from rainbow_client.cli.options import naming_options
from rainbow_client.duration import parse_duration_s
from rainbow_client.errors import InvalidRequest
from rainbow_client.wishes import Until, after_jobs, read_pairs, with_wishes
from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest

_OPTIONS = {
    "policy": "--policy",
    "options": "--policy-option",
    "max_cost": "--max-cost",
    "start_within_s": "--start-within",
    "not_clusters": "--not-cluster",
    "group": "--group",
    "urgency": "--urgency",
    "after": "--after",
}
_NOW = ("0", "now")


def _soon(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    if value is None or value.strip().lower() in _NOW:
        return None if value is None else 0.0
    try:
        return parse_duration_s(value)
    except InvalidRequest as mistake:
        raise click.BadParameter(f"{mistake.message}. {mistake.hint}", ctx, parameter) from None


def wish_options(command: F) -> F:
    urgencies = f"0 to {limits.URGENCY_MAX}; the higher goes first.  [default: {limits.URGENCY_DEFAULT}]"
    for option in reversed(
        [
            click.option("--policy", metavar="NAME", help="How the winner is chosen.  [default: the site's]"),
            click.option(
                "--policy-option",
                "policy_options",
                multiple=True,
                metavar="K=V",
                help="For the policy; K=@FILE reads the value from a file; may be repeated.",
            ),
            click.option("--max-cost", type=float, metavar="X", help="No bid that costs more."),
            click.option(
                "--start-within", "start_within_s", metavar="TIME", callback=_soon, help="No bid that starts later."
            ),
            click.option(
                "--not-cluster", "not_clusters", multiple=True, metavar="CLUSTER", help="Never here; may be repeated."
            ),
            click.option("--group", metavar="NAME", help="Only clusters of this group."),
            click.option("--urgency", type=int, metavar="N", help=urgencies),
            click.option("--no-move", is_flag=True, help="Once in a cluster's queue, it stays there."),
            click.option("--after", multiple=True, metavar="JOB", help="Once that one runs or is over; repeatable."),
            click.option("--after-ok", multiple=True, metavar="JOB", help="Once that one has ended well; repeatable."),
            click.option("--after-any", multiple=True, metavar="JOB", help="Once that one is over; repeatable."),
        ]
    ):
        command = option(command)
    return command


def take_wishes(invocation: Invocation, options: dict[str, Any]) -> dict[str, Any]:
    """The wishes among the options, which are taken out of them; what was not given is absent."""
    not_clusters = [one.strip() for several in options.pop("not_clusters") for one in several.split(",")]
    names: dict[Until, tuple[str, ...]] = {
        "start": options.pop("after"),
        "ok": options.pop("after_ok"),
        "any": options.pop("after_any"),
    }
    after = after_jobs(names, lambda members: _ids_of(invocation, members))
    with naming_options({"options": "--policy-option"}):
        pairs = read_pairs(options.pop("policy_options"), files=True)
    wishes = {
        **{name: options.pop(name) for name in ("policy", "max_cost", "start_within_s", "group", "urgency")},
        "options": pairs or None,
        "not_clusters": not_clusters or None,
        "move": False if options.pop("no_move") else None,
        "after": after or None,
    }
    return {name: value for name, value in wishes.items() if value is not None}


def _ids_of(invocation: Invocation, members: list[JobName]) -> dict[JobName, str]:
    found = with_client(invocation, lambda client: client.find(map(str, members)))
    return {one.name: one.jobs[0].job for one in found}


def wishing(request: JobRequest, wishes: dict[str, Any]) -> JobRequest:
    with naming_options(_OPTIONS):
        return with_wishes(request, wishes)

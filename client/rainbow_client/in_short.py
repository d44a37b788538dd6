"""The whole story of a job in a few sentences, for who does not want to read events. Pure."""

from collections.abc import Iterator, Sequence

from rainbow_client.duration import format_duration
from rainbow_client.event_data import cluster_of, items
from rainbow_client.printable import printable
from rainbow_client.sentences import gain_words
from rainbow_client.wording import count, number, reason_words
from rainbow_protocol.job import TERMINAL_STATES
from rainbow_protocol.messages.client import Event

_ENDS = {"completed": "completed", "failed": "failed", "cancelled": "was cancelled", "lost": "was lost"}
_WORTH_TELLING_S = 1.0
NAMED_MAX = 3
SENTENCES_MAX = 8  # of the places that it went to; the events have all of them


def in_short(history: Sequence[Event]) -> Iterator[str]:
    """What became of the job, from its first auction to where it is now; nothing of what its head has said."""
    places = list(_found_places(history))
    if len(places) > SENTENCES_MAX:
        half = SENTENCES_MAX // 2
        places[half:-half] = [f"So it went on, {len(places) - 2 * half} times."]
    yield from places
    yield from _ran(history)
    if history and history[-1].state in ("pending", "offered"):
        yield from _what_helps(history)


def _found_places(history: Sequence[Event]) -> Iterator[str]:
    """Every cluster that has had it, and why it left the one before."""
    since: float | None = None  # when it came into the queue that it is in
    moving = False
    for position, event in enumerate(history):
        if event.event == "returned":
            follower = next((one for one in history[position:] if one.event in ("moved", "offered")), None)
            moving = follower is not None and follower.event == "moved"
            if not moving:
                reason = reason_words(event.data)
                because = f" ({reason})" if reason else ""
                yield f"{cluster_of(event.data)} gave it back without running it{because}, and others were asked."
        elif event.event == "awarded" and not moving:
            yield _won(event, _waited(history[:position]))
        elif event.event == "moved":
            yield _moved(event, None if since is None else event.at - since)
            moving, since = False, None
        elif event.event == "refused":
            reason = reason_words(event.data)
            yield f"{cluster_of(event.data)} refused it after all{f' ({reason})' if reason else ''}."
        elif event.event == "queued":
            since = event.at


def _moved(event: Event, queued_s: float | None) -> str:
    here, there = cluster_of(event.data, "from"), cluster_of(event.data, "to")
    if queued_s is None:
        return f"It moved from {here} to {there}{gain_words(event)}."
    return f"After {format_duration(queued_s)} in the queue of {here} it moved to {there}{gain_words(event)}."


def _waited(before: Sequence[Event]) -> float:
    return before[-1].at - before[0].at if any(event.event == "waiting" for event in before) else 0.0


def _won(event: Event, waited_s: float) -> str:
    winner = printable(str(event.data.get("winner")))
    bids = items(event, "bids")
    yeses = sum(number(bid.get("eta_s")) is not None and not bid.get("reason") for bid in bids)
    among = f", of {count(yeses, 'cluster')} that would take it" if yeses > 1 else ""
    after = f" after {format_duration(waited_s)} of waiting" if waited_s >= _WORTH_TELLING_S else ""
    return f"It went to {winner}{after}{among}."


def _ran(history: Sequence[Event]) -> Iterator[str]:
    running = next((event for event in reversed(history) if event.event == "running"), None)
    end = history[-1] if history and history[-1].state in TERMINAL_STATES else None
    if running is not None:
        where = cluster_of(running.data)
        began = f"It began to run on {where} {format_duration(running.at - history[0].at)} after it was submitted"
        if end is None:
            yield f"{began}, and runs."
        elif end.event in _ENDS:
            code = number(end.data.get("exit_code"))
            with_code = f" with exit code {code:.0f}" if code else ""
            ran_s = end.at - running.at
            when = f"{format_duration(ran_s)} later" if ran_s >= _WORTH_TELLING_S else "at once"
            yield f"{began}, and {_ENDS[end.event]}{with_code} {when}."
    elif history and history[-1].state in ("assigned", "queued"):
        last = next((event for event in reversed(history) if event.event in ("assigned", "queued")), None)
        if last is not None:
            where = cluster_of(last.data)
            yield (
                f"It waits in the queue of {where}." if last.event == "queued" else f"It is about to start on {where}."
            )


def _what_helps(history: Sequence[Event]) -> Iterator[str]:
    """Of a job that waits although somebody said Yes: those bids were not as it wishes, and wishes can be changed."""
    last = next((event for event in reversed(history) if event.event in ("declined", "awarded")), None)
    if last is None or last.event != "declined":
        return
    unwanted = [bid for bid in items(last, "bids") if bid.get("answer") == "yes" and bid.get("reason")]
    if unwanted:
        names = " and ".join(cluster_of(bid) for bid in unwanted[:NAMED_MAX])
        if len(unwanted) > NAMED_MAX:
            names = f"{len(unwanted)} clusters"
        yield (
            f"{names} would take it, but not as it wishes; it is offered again when something changes. "
            "A job with other wishes has to be submitted anew."
        )

"""A job's history told in words: the auctions it went through, and a sentence for each event.

Pure: events in, words out. `rainbow explain`, `--watch` and the demo tell the same story.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rainbow_client.printable import printable
from rainbow_client.wording import cost_words, count, eta_words, number, reason_words, shape_words
from rainbow_protocol.messages.client import Event

POLICIES = {"earliest": "the earliest start wins, then the lower cost, then the name"}


@dataclass(slots=True)
class Row:
    """What one cluster did in an auction."""

    cluster: str
    answer: str  # yes, no, left out, no answer
    eta_s: float | None = None
    cost: float | None = None
    reason: str = ""
    won: bool = False


@dataclass(slots=True)
class Auction:
    attempt: int
    round: int
    rows: list[Row] = field(default_factory=list)
    winner: str | None = None
    outcome: str = ""
    open: bool = True
    at: float = 0.0  # of what was last heard of it


def auctions(history: Iterable[Event]) -> list[Auction]:
    """Each `offered` opens an auction; `awarded` or `declined` of the same attempt and round closes it."""
    found: list[Auction] = []
    for event in history:
        place = (int(number(event.data.get("attempt")) or 0), int(number(event.data.get("round")) or 0))
        if event.event == "offered":
            found.append(Auction(*place, rows=[_verdict(item) for item in _items(event, "clusters")], at=event.at))
        elif event.event in ("awarded", "declined"):
            auction = next((known for known in reversed(found) if (known.attempt, known.round) == place), None)
            if auction is None:  # its offer was not written down: the history is bounded
                auction = Auction(*place)
                found.append(auction)
            _close(auction, event)
    return found


def _verdict(item: Mapping[str, Any]) -> Row:
    asked = item.get("verdict") == "asked"
    return Row(_name(item), "no answer yet" if asked else "not asked", reason="" if asked else reason_words(item))


def _close(auction: Auction, event: Event) -> None:
    auction.open, auction.at = False, event.at
    winner = event.data.get("winner")
    auction.winner = printable(str(winner)) if winner else None
    auction.outcome = _why(event, auction.winner or "")
    rows = {row.cluster: row for row in auction.rows}
    for bid in _items(event, "bids"):
        row = rows.setdefault(_name(bid), Row(_name(bid), ""))
        row.answer = printable(str(bid.get("answer")))
        row.eta_s, row.cost = number(bid.get("eta_s")), number(bid.get("cost"))
        row.reason = reason_words(bid)
        row.won = row.cluster == auction.winner
    for row in rows.values():
        if row.answer == "no answer yet":
            row.answer = "no answer"
    # The winner first, then the other bids as the policy ranks them, then those that were not asked.
    order = {"yes": 0, "no": 1, "no answer": 2, "not asked": 3}
    auction.rows = sorted(
        rows.values(),
        key=lambda row: (not row.won, order.get(row.answer, 4), row.eta_s or 0, row.cost or 0, row.cluster),
    )


def sentence(event: Event) -> str:
    """One event in words, without the time."""
    tell = _SENTENCES.get(event.event)
    return tell(event) if tell is not None else f"{printable(event.event)}{_reason(event)}"


def _submitted(event: Event) -> str:
    return f"submitted {printable(str(event.data.get('name') or event.job))}: {shape_words(event.data)}"


def _offered(event: Event) -> str:
    asked = [_name(item) for item in _items(event, "clusters") if item.get("verdict") == "asked"]
    left_out = len(_items(event, "clusters")) - len(asked)
    words = f"asked {', '.join(asked) or 'nobody'}"
    return words + (f"; left out {count(left_out, 'other')}" if left_out else "")


def _awarded(event: Event) -> str:
    bids = {_name(bid): bid for bid in _items(event, "bids")}
    winner = printable(str(event.data.get("winner")))
    bid = bids.get(winner, {})
    why = _why(event, winner)
    return f"{winner} won: " + (
        why or f"starts {eta_words(number(bid.get('eta_s')))}, costs {cost_words(number(bid.get('cost')))}"
    )


def _rejected(event: Event) -> str:
    reasons = [f"{_name(item)}: {reason_words(item)}" for item in _items(event, "clusters")]
    return "; ".join([f"rejected{_reason(event)}", *reasons])


def _ended(event: Event) -> str:
    words = event.event
    if event.data.get("cluster"):
        words += f" on {_name(event.data)}"
    if event.data.get("exit_code") is not None:
        words += f" with exit code {printable(str(event.data['exit_code']))}"
    return words + _reason(event)


def _on_cluster(event: Event) -> str:
    native = event.data.get("native_id")
    return f"{event.event} on {_name(event.data)}" + (f", known there as {printable(str(native))}" if native else "")


_SENTENCES = {
    "submitted": _submitted,
    "rejected": _rejected,
    "waiting": lambda event: f"waits{_reason(event)}",
    "offered": _offered,
    "declined": lambda event: f"nobody took it{_reason(event)}",
    "awarded": _awarded,
    "refused": lambda event: f"{_name(event.data)} refused the award{_reason(event)}",
    "assigned": lambda event: f"{_name(event.data)} accepted and was told to start it",
    "queued": _on_cluster,
    "running": _on_cluster,
    "returned": lambda event: f"{_name(event.data)} gave it back without running it{_reason(event)}",
    "cancel_requested": lambda event: "somebody asked to cancel it",
    "disconnected": lambda event: f"lost the connection to {_name(event.data)}; the job stays there",
    "reconnected": lambda event: f"{_name(event.data)} is back",
    "completed": _ended,
    "failed": _ended,
    "cancelled": _ended,
    "lost": _ended,
}


def _items(event: Event, key: str) -> list[Mapping[str, Any]]:
    items = event.data.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _name(data: Mapping[str, Any]) -> str:
    return printable(str(data.get("cluster") or "?"))


def _why(event: Event, winner: str) -> str:
    """The daemon's reason begins with the winner's name; so does the sentence it goes into."""
    return (reason_words(event.data, "why") or reason_words(event.data)).removeprefix(f"{winner} ")


def _reason(event: Event) -> str:
    words = reason_words(event.data)
    if words == f"exit code {event.data.get('exit_code')}":
        return ""  # it has just been said
    return f": {words}" if words else ""

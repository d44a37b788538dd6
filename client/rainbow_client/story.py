"""A job's history told as its auctions: who was asked, what each said, who won; and each look for a better place.

Pure: events in, rows out. `rainbow explain` and the demo tell the same story; sentences.py has the words for events.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rainbow_client.event_data import Data, cluster_of, items, place_of, why_words, with_units
from rainbow_client.printable import printable
from rainbow_client.wording import number, reason_words
from rainbow_protocol.messages.client import Event

HAS_IT = "has it"
TOO_LATE = "too late"
_ORDER = {"yes": 0, "fits": 0, HAS_IT: 1, "no": 2, TOO_LATE: 3, "no answer": 4, "not asked": 5}


@dataclass(slots=True)
class Row:
    """What one cluster did in an auction."""

    cluster: str
    answer: str  # yes, fits (nobody was asked), has it, no, too late, no answer, not asked
    eta_s: float | None = None
    cost: float | None = None
    reason: str = ""
    won: bool = False
    eta_low_s: float | None = None
    eta_high_s: float | None = None


@dataclass(slots=True)
class Auction:
    """`moves_from`: the job was waiting there, and this was a look for a better place."""

    attempt: int
    round: int
    rows: list[Row] = field(default_factory=list)
    winner: str | None = None
    outcome: str = ""
    open: bool = True
    at: float = 0.0  # of what was last heard of it
    moves_from: str | None = None


def auctions(history: Iterable[Event]) -> list[Auction]:
    """Each `offered` opens an auction; `awarded` or `declined` of the same attempt and round closes it.

    `reconsidered` is a look elsewhere for a job that waits in a queue; an `awarded` of that attempt says that it moved.
    """
    found: list[Auction] = []
    for event in history:
        attempt, round_ = place_of(event)
        if event.event == "offered":
            rows = [_verdict(item) for item in items(event, "clusters")]
            found.append(Auction(attempt, round_, rows=rows, at=event.at))
        elif event.event == "reconsidered":
            found.append(_look(event, attempt))
        elif event.event in ("awarded", "declined"):
            auction = _known(found, attempt, round_)
            if auction is None:  # its offer was not written down: the history is bounded
                auction = Auction(attempt, round_)
                found.append(auction)
            _close(auction, event)
        elif event.event == "stayed" and found and found[-1].moves_from:
            found[-1].open, found[-1].outcome, found[-1].at = False, reason_words(event.data), event.at
        elif event.event == "late":
            _note_late(found, event, attempt)
    return found


def _known(found: list[Auction], attempt: int, round_: int) -> Auction | None:
    return next(
        (one for one in reversed(found) if one.attempt == attempt and (one.moves_from or one.round == round_)), None
    )


def _verdict(item: Data) -> Row:
    asked = item.get("verdict") == "asked"
    return Row(cluster_of(item), "no answer yet" if asked else "not asked", reason="" if asked else reason_words(item))


def _look(event: Event, attempt: int) -> Auction:
    here = cluster_of(event.data, "from")
    rows = [Row(here, HAS_IT, number(event.data.get("current_eta_s")))]
    rows += [_bid_row(bid) for bid in items(event, "bids")]
    moves = event.data.get("decision") == "move"
    return Auction(attempt, 1, rows=rows, outcome=why_words(event, ""), open=moves, at=event.at, moves_from=here)


def _bid_row(bid: Data, row: Row | None = None) -> Row:
    row = row or Row(cluster_of(bid), "")
    row.answer = printable(str(bid.get("answer")))
    row.eta_s, row.cost = number(bid.get("eta_s")), number(bid.get("cost"))
    row.eta_low_s, row.eta_high_s = number(bid.get("eta_low_s")), number(bid.get("eta_high_s"))
    row.reason = reason_words(bid)
    if row.answer == "yes":
        row.reason = with_units(row.reason)  # the daemon's own words: why this Yes will not do
        if row.eta_s is None and row.cost is None:
            row.answer = "fits"
    return row


def _close(auction: Auction, event: Event) -> None:
    auction.open, auction.at = False, event.at
    winner = event.data.get("winner")
    auction.winner = printable(str(winner)) if winner else None
    if auction.moves_from is None or not auction.winner:  # why it moves was said when that was decided
        auction.outcome = why_words(event, auction.winner or "")
    rows = {row.cluster: row for row in auction.rows}
    ranked: list[str] = []
    for bid in items(event, "bids"):
        name = cluster_of(bid)
        rows[name] = _bid_row(bid, rows.get(name))
        ranked.append(name)
    for row in rows.values():
        row.won = row.cluster == auction.winner
        if row.answer == "no answer yet":
            row.answer = "no answer"
    # The winner first, then the other bids as the policy ranks them, then those that were not asked.
    place = {name: position for position, name in enumerate(ranked)}
    auction.rows = sorted(
        rows.values(),
        key=lambda row: (
            not row.won,
            _ORDER.get(row.answer, len(_ORDER)),
            bool(row.reason),
            place.get(row.cluster, len(place)),
            row.cluster,
        ),
    )


def _note_late(found: list[Auction], event: Event, attempt: int) -> None:
    """An answer after the deadline: it is told, and does not count."""
    auction = next((one for one in reversed(found) if one.attempt == attempt), None)
    row = next((one for one in auction.rows if one.cluster == cluster_of(event.data)), None) if auction else None
    if row is None or row.answer not in ("no", "no answer", "no answer yet"):
        return
    row.answer = TOO_LATE
    row.eta_s, row.cost = number(event.data.get("eta_s")), number(event.data.get("cost"))
    said = "No" if event.data.get("answer") == "no" else "Yes"
    row.reason = f"said {said} after the time was up"

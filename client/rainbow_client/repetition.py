"""What came to the same nothing again and again is told once, with how often and when last.

A job that nobody takes is offered time after time. Pure, as story.py is; it knows no terminal.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeVar

from rainbow_client.sentences import sentence
from rainbow_client.story import Auction, auctions
from rainbow_protocol.messages.client import Event

T = TypeVar("T")

_OF_AN_ATTEMPT = ("offered", "declined")


@dataclass(slots=True)
class Told(Generic[T]):
    """`number` counts auctions from 1, also those that are not told; `again` is when the same happened once more."""

    number: int
    one: T
    again: list[float]


def told_auctions(found: Sequence[Auction]) -> list[Told[Auction]]:
    """An attempt that nobody took is told once for all that followed it and went the same way, round by round."""
    attempts = [list(rounds) for _, rounds in groupby(found, key=lambda auction: auction.attempt)]
    told: list[Told[Auction]] = []
    number = 1
    for first, others in _runs(attempts, _nothing):
        for position, auction in enumerate(first):
            told.append(Told(number + position, auction, [other[position].at for other in others]))
        if first[0].moves_from is None:  # a look for a better place is no auction to a person who counts them
            number += len(first) * (1 + len(others))
    return told


def told_events(history: Iterable[Event]) -> Iterator[tuple[Sequence[Event], list[Event]]]:
    """Stretches of the history, each with the last events of those that followed it and were the same."""
    for first, others in _runs(_stretches(history), _nothing_said):
        yield first, [other[-1] for other in others]


def again_words(times: int) -> str:
    return "once more" if times == 1 else f"{times} more times"


def _nothing(rounds: Sequence[Auction]) -> Hashable:
    """What an attempt came to, if it is over and nobody won. What is long ago may be told without its particulars:
    then nobody knows whether it was the same."""
    if any(auction.open or auction.winner or not (auction.rows and auction.outcome) for auction in rounds):
        return None
    return tuple(
        (auction.round, auction.outcome, *((row.cluster, row.answer, row.reason) for row in auction.rows))
        for auction in rounds
    )


def _nothing_said(events: Sequence[Event]) -> Hashable:
    came_to = _nothing(auctions(events))
    return (came_to, *map(sentence, events)) if came_to else None


def _stretches(history: Iterable[Event]) -> Iterator[list[Event]]:
    """An attempt that nobody took, with the waiting after it, is one; anything else is one by itself."""
    stretch: list[Event] = []
    for event in history:
        attempt = event.data.get("attempt")
        goes_on = bool(stretch) and (
            (event.event in _OF_AN_ATTEMPT and attempt == stretch[-1].data.get("attempt"))
            or (event.event == "waiting" and stretch[-1].event == "declined")
        )
        if stretch and not goes_on:
            yield stretch
            stretch = []
        stretch.append(event)
    if stretch:
        yield stretch


def _runs(items: Iterable[T], key: Callable[[T], Hashable]) -> list[tuple[T, list[T]]]:
    """Each item with those right after it that have the same key; one without a key stands alone."""
    runs: list[tuple[T, list[T]]] = []
    known: Hashable = None
    for item in items:
        found = key(item)
        if found and found == known:
            runs[-1][1].append(item)
        else:
            runs.append((item, []))
        known = found
    return runs

"""Histories of jobs, written by hand as the daemon writes them."""

from typing import Any

from rainbow_protocol.messages.client import Event
from tests.unit.client.fake_daemon import Message, event

JOB = "000000000001"


class History:
    """Events one after the other, ten seconds apart unless told otherwise."""

    def __init__(self) -> None:
        self.events: list[Message] = []
        self.now = 1_000_000.0
        self.attempt = 0

    def add(self, name: str, state: str = "pending", after_s: float = 10.0, /, **data: Any) -> "History":
        self.now += after_s
        self.events.append(event(JOB, len(self.events) + 1, name, state) | {"at": self.now, "data": data})
        return self

    def nobody(self, reasons: dict[str, str], *, rounds: int = 1, after_s: float = 10.0) -> "History":
        """An attempt in which all of these say No; with two rounds, one cluster in each."""
        self.attempt += 1
        names = list(reasons)
        for number in range(1, rounds + 1):
            asked = names if rounds == 1 else [names[number - 1]]
            place = {"attempt": self.attempt, "round": number}
            verdicts = [
                {"cluster": name, "verdict": "asked", "reason": ""}
                if name in asked
                else {"cluster": name, "verdict": "filtered", "reason": "not in this round"}
                for name in names
            ]
            bids = [{"cluster": name, "answer": "no", "round": number, "reason": reasons[name]} for name in asked]
            self.add("offered", "offered", after_s, **place, clusters=verdicts)
            self.add("declined", "offered", 0.25, **place, bids=bids, reason="nobody said Yes")
        words = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        return self.add("waiting", "pending", 0, clusters=[], reason=f"every cluster that was asked said No ({words})")

    def won(self, winner: str) -> "History":
        self.attempt += 1
        place = {"attempt": self.attempt, "round": 1}
        self.add("offered", "offered", **place, clusters=[{"cluster": winner, "verdict": "asked", "reason": ""}])
        bids = [{"cluster": winner, "answer": "yes", "round": 1, "eta_s": 0.0, "cost": 2.0, "reason": ""}]
        why = f"{winner} starts it at once; it was the only Yes"
        return self.add("awarded", "awarded", 0.25, **place, winner=winner, why=why, bids=bids)

    @property
    def read(self) -> list[Event]:
        return [Event.model_validate(one) for one in self.events]


def begun() -> History:
    return History().add("submitted", name="train", tasks=2, cores_per_task=1)

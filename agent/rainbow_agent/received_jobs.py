"""The list of what came to a one-shot agent, and what became of it. One entry a job: its latest attempt counts."""

from collections.abc import Sequence
from typing import Any

from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import No
from rainbow_agent.core.model import Key, Shape, Totals
from rainbow_agent.core.placement import nodes_min
from rainbow_agent.translate import shape_of
from rainbow_protocol.messages import agent as wire

LISTED_MAX = 10_000

Entry = dict[str, Any]


class ReceivedJobs:
    def __init__(self, totals: Totals) -> None:
        self._totals = totals
        self._jobs: dict[str, Entry] = {}
        self.left_off = 0  # for want of room

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: str) -> bool:
        return job in self._jobs

    def entries(self) -> list[Entry]:
        return list(self._jobs.values())

    def offered(self, offer: wire.Offer) -> Entry:
        entry = self._entry(Key(offer.job, offer.attempt), shape_of(offer.shape))
        entry |= {"user": offer.user, "queue": offer.queue, "state": "offered"}
        return entry

    def awarded(self, award: wire.Award) -> Entry:
        entry = self._entry(Key(award.job, award.attempt), shape_of(award.request.shape))
        entry |= {"queue": award.request.queue, "name": award.request.name or "", "state": "awarded"}
        return entry

    def restored(self, rows: Sequence[e.AttemptRow]) -> None:
        """What an earlier life has left in the journal."""
        for row in rows:
            if row.key.job not in self._jobs:
                self._entry(row.key, row.shape).update({"user": row.user, "state": row.phase})

    def saw(self, effect: e.Effect) -> None:
        match effect:
            case e.SaveAttempt(row) if row.phase != "finished":
                self._update(row.key, {"state": row.phase})
            case e.SaveReport(report) if report.event not in ("queued", "running"):
                ending = {"state": report.event, "exit_code": report.exit_code, "reason": report.reason}
                self._update(report.key, ending)
            case e.SendBids(items):
                for key, bid in items:
                    words = bid.reason if isinstance(bid, No) else ""
                    self._update(key, {"answer": "no" if isinstance(bid, No) else "yes", "reason": words})
            case e.SendAwardAnswers(items):
                for item in items:
                    if item.refusal is not None:
                        self._update(item.key, {"state": "refused", "reason": item.refusal})

    def _update(self, key: Key, news: Entry) -> None:
        entry = self._jobs.get(key.job)
        if entry is not None and entry["attempt"] == key.attempt:
            entry |= news

    def _entry(self, key: Key, shape: Shape) -> Entry:
        """One that finds no room in the list is judged all the same."""
        entry = self._jobs.get(key.job)
        if entry is None or entry["attempt"] != key.attempt:
            entry = {"job": key.job, "attempt": key.attempt, "name": "", "user": "", "queue": None}
            entry |= {"nodes": nodes_min(shape, self._totals), "tasks": shape.tasks, "cores": shape.cores}
            entry |= {"gpus": shape.gpus, "time_limit_s": shape.time_limit_s}
            entry |= {"state": "", "answer": None, "exit_code": None, "reason": ""}
            if key.job in self._jobs or len(self._jobs) < LISTED_MAX:
                self._jobs[key.job] = entry
            else:
                self.left_off += 1
        return entry

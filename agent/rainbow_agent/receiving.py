"""One-shot receiving: connect, take what is offered or assigned, run it or leave it in the journal, and go.

For sites that cannot keep an agent running. It is the same agent, over the same journal, with another end.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Literal

from rainbow_agent.app import Agent
from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.model import Totals
from rainbow_agent.job_filter import JobFilter
from rainbow_agent.received_jobs import Entry, ReceivedJobs
from rainbow_protocol.messages import agent as wire

LOOKING = "only looking: nothing is taken now"
CONNECT_S = 30.0  # to be let in, and for the daemon's last word at the end
PATIENCE = 60  # jobs are taken for at most so many times the quiet that ends it

Mode = Literal["run", "accept", "look"]


class UnreachableError(Exception):
    """There was no session in time."""


class Receiving:
    """The errand: what is wanted, and what came."""

    def __init__(
        self, mode: Mode, totals: Totals, jobs_max: int | None = None, wanted: JobFilter | None = None
    ) -> None:
        self.mode = mode
        self.jobs = ReceivedJobs(totals)
        self._jobs_max = jobs_max
        self._wanted = wanted
        self._taken = 0
        self.welcomed = asyncio.Event()
        self.news = asyncio.Event()  # a job came that was not here before
        self.changed = asyncio.Event()  # anything at all

    @property
    def take_max(self) -> int | None:
        return self._jobs_max

    @property
    def runs_jobs(self) -> bool:
        return self.mode == "run"

    @property
    def enough(self) -> bool:
        count = len(self.jobs) if self.mode == "look" else self._taken
        return self._jobs_max is not None and count >= self._jobs_max

    def objection(self, asked: wire.Offer | wire.Award) -> str | None:
        if isinstance(asked, wire.Offer) and asked.waits_here is not None:
            return None
        if self.mode == "look" and self.enough:
            return LOOKING
        if asked.job not in self.jobs:
            self.news.set()
        known = self.jobs.offered(asked) if isinstance(asked, wire.Offer) else self.jobs.awarded(asked)
        return LOOKING if self.mode == "look" else self._unwanted(known, isinstance(asked, wire.Award))

    def _unwanted(self, known: Entry, awarded: bool) -> str | None:
        if self._wanted is None or (not awarded and "name" in self._wanted.names):
            return None  # an offer does not tell the name; the award will
        queue, limit_s = known["queue"] or "", known["time_limit_s"]
        facts = {**known, "queue": queue, "time_limit_s": math.inf if limit_s is None else limit_s}
        return self._wanted.objection(facts)

    def saw(self, command: c.Command, effects: Sequence[e.Effect]) -> None:
        for effect in effects:
            self.jobs.saw(effect)
            if isinstance(effect, e.SaveAttempt) and effect.row.phase == "accepted":
                self._taken += 1
                self.news.set()
        if isinstance(command, c.SessionWelcomed):
            self.welcomed.set()
        self.changed.set()


async def receive(agent: Agent, receiving: Receiving, wait_s: float) -> None:
    """Until nothing new came for `wait_s`, and what was taken has ended, or is safe in the journal."""
    try:
        async with asyncio.timeout(CONNECT_S):
            await receiving.welcomed.wait()
    except TimeoutError:
        raise UnreachableError(f"the daemon did not let this agent in within {CONNECT_S:g} s") from None
    receiving.jobs.restored(agent.rows())
    await _take(receiving, wait_s)
    agent.take_no_more()
    while not _may_leave(agent, receiving):
        receiving.changed.clear()
        try:
            async with asyncio.timeout(CONNECT_S):
                await receiving.changed.wait()
        except TimeoutError:
            if not agent.has_work:  # and the daemon says nothing any more: the journal keeps what is left
                return


async def _take(receiving: Receiving, wait_s: float) -> None:
    now = asyncio.get_running_loop().time
    until = now() + wait_s * PATIENCE
    while not receiving.enough and now() < until:
        receiving.news.clear()
        try:
            async with asyncio.timeout(wait_s):
                await receiving.news.wait()
        except TimeoutError:
            return


def _may_leave(agent: Agent, receiving: Receiving) -> bool:
    """Nobody is left whose start is still to come, nor, if they are run here, whose end is."""
    phases = {row.phase for row in agent.rows()}
    return phases <= ({"finished"} if receiving.runs_jobs else {"queued", "launching", "running", "finished"})

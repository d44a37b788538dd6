"""The port between the agent and a cluster's own way of running jobs. Small on purpose: one class behind it each.

A backend never decides anything. It is told to launch, kill and discard, and tells what became of each run through
the `post` it was given: RunBegan, RunEnded, RunFenced.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rainbow_agent.core.commands import RunBegan, RunEnded, RunFenced
from rainbow_agent.core.effects import AttemptRow, Launch
from rainbow_agent.core.model import Key, Totals
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages.agent import Offer

RunNews = RunBegan | RunEnded | RunFenced
Post = Callable[[RunNews], None]
OnBug = Callable[[BaseException], None]  # for what nobody foresaw: the agent ends rather than miss a job's end


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Where a run's output grows. `ended` was looked up before the files are read: then they are whole."""

    stdout: Path
    stderr: Path
    ended: bool
    truncated: bool


class Backend(Protocol):
    name: str

    def totals(self) -> Totals:
        """The cluster's resources."""

    def describe(self) -> Path | bytes:
        """The document that tells the daemon what this cluster has, as it is now; any that the daemon can read."""

    def objection(self, asked: Offer | JobRequest) -> str | None:
        """Why this cluster would not run it, whatever is free, for what it asks beyond its shape; None if it would.

        Asked of the offer, which tells a part, and again of the whole request when the job is awarded.
        """

    async def recover(self, rows: Sequence[AttemptRow], alive: frozenset[Key], same_boot: bool) -> list[RunNews]:
        """What became of the runs that an earlier agent left: found alive, ended, lost, or never begun.

        `alive` are all attempts in the journal; `same_boot` is false if the machine was restarted in between.
        """

    async def launch(self, launch: Launch) -> None:
        """Run it. Called after the intent is durable; returns when it is on its way."""

    def kill(self, key: Key, run: int) -> None:
        """End it, politely first. Its end is posted like any other."""

    def output(self, key: Key) -> OutputFiles | None:
        """The output of the attempt's latest run, if there is one."""

    def discard(self, key: Key) -> None:
        """Its output may go when space is wanted."""

    async def close(self) -> None:
        """Stop watching. What runs goes on."""

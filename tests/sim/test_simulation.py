"""A thousand seeds of trouble. Each must end with every answered job over, and none run twice."""

from typing import Literal

import pytest

from rainbowd.core.effects import Happened
from tests.sim.federation import Federation

SEEDS = 1_000
CHUNK = 50
SOAK_SEEDS = 50_000


Agents = Literal["model", "real"]


def play(seeds: range, agents: Agents) -> None:
    for seed in seeds:
        try:
            Federation(seed, agents).run()
        except Exception as problem:
            replay = f".venv/bin/python -m tests.sim --agents {agents} --seed {seed}"
            raise AssertionError(f"replay with: {replay}") from problem


@pytest.mark.parametrize("agents", ["model", "real"])
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_is_lost_and_nothing_runs_twice(first: int, agents: Agents) -> None:
    play(range(first, first + CHUNK), agents)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("agents", ["model", "real"])
def test_nothing_is_lost_in_very_many_runs(agents: Agents) -> None:
    play(range(SEEDS, SEEDS + SOAK_SEEDS), agents)


def lines_of(federation: Federation) -> list[Happened]:
    return [line for lines in federation.daemon.history.values() for line in lines]


@pytest.mark.parametrize("agents", ["model", "real"])
def test_the_simulation_sees_trouble(agents: Agents) -> None:
    """The run above would prove little if nothing ever went wrong in it."""
    seen: set[str] = set()
    for seed in range(100):
        federation = Federation(seed, agents)
        federation.run()
        seen |= {line.event for line in lines_of(federation)}
        seen |= {job.state for job in federation.daemon.disk_jobs.values()}
        if any(line.data.get("reason", "").startswith("kept here") for line in lines_of(federation)):
            seen.add("kept")
        if federation.daemon.life > 1:
            seen.add("restarted")
        if federation.daemon.generations:
            seen.add("deleted")
    wanted = {
        "restarted",
        "deleted",
        "refused",
        "returned",
        "reconsidered",
        "moved",
        "kept",
        "declined",
        "waiting",
        "cancelled",
        "rejected",
        "lost",
        "completed",
    }
    assert wanted <= seen, f"never happened: {wanted - seen}"

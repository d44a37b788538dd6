"""A thousand seeds of trouble. Each must end with every answered job over, and none run twice."""

import pytest

from tests.sim.federation import Federation

SEEDS = 1_000
CHUNK = 50


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_is_lost_and_nothing_runs_twice(first: int) -> None:
    for seed in range(first, first + CHUNK):
        try:
            Federation(seed).run()
        except Exception as problem:
            raise AssertionError(f"replay with: .venv/bin/python -m tests.sim --seed {seed}") from problem


def test_the_simulation_sees_trouble() -> None:
    """The run above would prove little if nothing ever went wrong in it."""
    seen: set[str] = set()
    for seed in range(60):
        federation = Federation(seed)
        federation.run()
        seen |= {line.event for lines in federation.daemon.history.values() for line in lines}
        seen |= {job.state for job in federation.daemon.disk_jobs.values()}
        if federation.daemon.life > 1:
            seen.add("restarted")
    wanted = {"restarted", "refused", "returned", "declined", "waiting", "cancelled", "rejected", "lost", "completed"}
    assert wanted <= seen, f"never happened: {wanted - seen}"

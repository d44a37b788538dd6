"""The whole bench on small made-up logs: through every way of placing, and the shape of what it tells."""

import random
from pathlib import Path

import orjson
import pytest

from bench import bars
from bench.easy import Ride
from bench.federation import Machine, replay, rides_of
from bench.outcome import Outcome, outcome
from bench.placement import as_json, compared, machines_of, measured, table
from bench.policies import WAYS, made
from bench.swf import Job, LogError
from tests.unit.bench.made import job

FIELDS = {"mean_wait_s", "mean_bsld", "p95_bsld", "cost", "moves"}


def machine(name: str, processors: int, seed: int, jobs: int = 60) -> Machine:
    chance = random.Random(seed)
    made_up: list[Job] = []
    submit_s = 0.0
    for number in range(jobs):
        submit_s += chance.expovariate(1 / 40.0)
        requested_s = chance.choice([60.0, 600.0, 3600.0])
        run_s = float(max(1, int(requested_s * chance.random())))
        made_up.append(job(number, chance.randint(1, processors), requested_s, run_s, submit_s))
    return Machine(name, processors, 1.0, made_up)


@pytest.fixture(scope="module")
def machines() -> list[Machine]:
    return [machine("big", 16, 1), machine("small", 6, 2)]


def overcommitted(rides: list[Ride], machines: list[Machine]) -> list[str]:
    """The clusters that ran more at once than they hold."""
    found = []
    for one in machines:
        changes = []
        for ride in rides:
            if ride.cluster == one.name and ride.started is not None:
                changes += [(ride.started, 1, ride.processors), (ride.started + ride.job.run_s, 0, -ride.processors)]
        in_use = 0
        for _, _, change in sorted(changes):
            in_use += change
            if in_use > one.processors:
                found.append(one.name)
    return found


@pytest.mark.parametrize("name", WAYS)
def test_every_job_runs_once_and_no_cluster_is_overcommitted(name: str, machines: list[Machine]) -> None:
    rides = rides_of(machines)
    replay(rides, made(name, machines))
    assert all(ride.started is not None and ride.wait_s >= 0 for ride in rides)
    assert overcommitted(rides, machines) == []


@pytest.mark.parametrize("name", ["random", "earliest+move"])
def test_the_same_again_gives_the_same(name: str, machines: list[Machine]) -> None:
    assert measured(name, machines) == measured(name, machines)


def test_a_job_goes_where_it_starts_at_once() -> None:
    """Two jobs fill both machines; the third goes to the one that is free first, wherever it was submitted."""
    big = Machine("big", 4, 1.0, [job(0, 4, 100.0), job(2, 2, 10.0, submit_s=2.0)])
    small = Machine("small", 2, 1.0, [job(1, 2, 50.0, submit_s=1.0)])
    for name in ("earliest", "earliest+move", "clairvoyant"):
        rides = rides_of([big, small])
        replay(rides, made(name, [big, small]))
        assert [(ride.cluster, ride.started) for ride in rides] == [("big", 0.0), ("small", 1.0), ("small", 51.0)]


def test_the_numbers_on_a_case_by_hand() -> None:
    """On one processor: the second waits for 90 s and runs for 10, the third waits for 95 and runs for 1."""
    jobs = [job(0, 1, 100.0), job(1, 1, 10.0, submit_s=10.0), job(2, 1, 1.0, submit_s=15.0)]
    one = Machine("one", 1, 2.0, jobs)
    rides = rides_of([one])
    replay(rides, made("stay-home", [one]))
    assert outcome(rides, [one]) == Outcome(
        mean_wait_s=61.7,
        mean_bsld=round((1.0 + 10.0 + 9.6) / 3, 3),
        p95_bsld=10.0,
        cost=round(2.0 * 111.0 / 3600.0, 2),
        moves=0,
        mean_wait_s_of={"one": 61.7},
    )


def test_the_shape_of_its_json_and_its_table(machines: list[Machine]) -> None:
    results = compared(machines, list(WAYS), workers=2)
    data = orjson.loads(as_json(results, machines, 1.0))
    assert set(data["policies"]) == {
        "stay-home",
        "random",
        "round-robin",
        "least-loaded",
        "first",
        "earliest",
        "earliest+move",
        "clairvoyant",
    }
    assert all(set(row) == FIELDS for row in data["policies"].values())
    assert [row["of"] for row in data["shares"]] == ["least-loaded", "earliest", "clairvoyant"]
    assert set(data["references"]) == {"big", "small"}
    shown = table(results, machines)
    assert all(name in shown for name in WAYS)
    chart = bars.svg("all", "bsld", {name: one.mean_bsld for name, one in results.items()})
    assert chart.startswith("<svg ")
    assert all(f">{name}<" in chart for name in WAYS)


def test_a_log_that_does_not_fit_its_machine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("1 0 0 10 4 -1 -1 4 60 -1 1 9 -1 -1 -1 -1 -1 -1\n")
    assert machines_of([(path, 4)])[0].name == "log"
    with pytest.raises(LogError, match="needs 4 processors"):
        machines_of([(path, 3)])
    with pytest.raises(LogError, match="same name"):
        machines_of([(path, 4), (path, 4)])

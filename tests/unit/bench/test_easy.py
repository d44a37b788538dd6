"""EASY backfill, on cases that can be followed by hand: a cluster of ten processors."""

import pytest

from bench.easy import EasyCluster, Ride
from tests.unit.bench.made import ride


def names(rides: list[Ride]) -> list[str]:
    return [one.id for one in rides]


def busy(cluster: EasyCluster) -> Ride:
    """Six processors are taken until 100, and the head of the queue needs eight: it can start at 100, two are left."""
    first = ride(0, 6, 100.0)
    assert names(cluster.submit(first, 0.0)) == ["job0"]
    assert cluster.submit(ride(1, 8, 50.0), 0.0) == []
    return first


def test_a_job_that_ends_before_the_head_can_start_goes_first() -> None:
    cluster = EasyCluster("ten", 10)
    busy(cluster)
    assert names(cluster.submit(ride(2, 4, 100.0), 0.0)) == ["job2"]


def test_a_long_one_may_only_have_what_the_head_leaves() -> None:
    cluster = EasyCluster("ten", 10)
    busy(cluster)
    assert cluster.submit(ride(2, 3, 101.0), 0.0) == []
    assert names(cluster.submit(ride(3, 2, 101.0), 0.0)) == ["job3"]
    assert cluster.submit(ride(4, 1, 101.0), 0.0) == []  # job3 has it
    assert names(cluster.submit(ride(5, 2, 99.0), 0.0)) == ["job5"]


def test_others_than_the_head_have_no_reservation() -> None:
    cluster = EasyCluster("ten", 10)
    busy(cluster)
    assert cluster.submit(ride(2, 10, 10.0), 0.0) == []  # after the head: at 150
    assert names(cluster.submit(ride(3, 2, 1000.0), 0.0)) == ["job3"]  # which delays job2, and nobody minds


def test_an_early_end_starts_the_head_and_then_who_fits() -> None:
    cluster = EasyCluster("ten", 10)
    first = busy(cluster)
    cluster.submit(ride(2, 10, 10.0), 0.0)
    cluster.submit(ride(3, 2, 60.0), 0.0)
    third = cluster.runs[0].ride
    assert third.id == "job3"
    assert names(cluster.end(first, 20.0)) == ["job1"]
    assert cluster.free == 0
    assert cluster.end(third, 60.0) == []
    assert names(cluster.end(cluster.runs[0].ride, 70.0)) == ["job2"]
    assert [one.id for one in cluster.queue] == []


def test_who_is_withdrawn_lets_others_go() -> None:
    cluster = EasyCluster("ten", 10)
    busy(cluster)
    late = ride(2, 4, 1000.0)
    assert cluster.submit(late, 0.0) == []
    assert names(cluster.withdraw(cluster.queue[0], 10.0)) == ["job2"]
    assert late.started == 10.0
    assert cluster.asked_s == 6 * 100.0 + 4 * 1000.0


@pytest.mark.parametrize(("processors", "requested_s"), [(4, 100.0), (3, 101.0), (2, 101.0), (5, 1.0), (2, 1e6)])
def test_what_would_start_at_once_does(processors: int, requested_s: float) -> None:
    cluster = EasyCluster("ten", 10)
    busy(cluster)
    asked = ride(2, processors, requested_s)
    expected = cluster.starts_at_once(asked, 0.0)
    assert (cluster.submit(asked, 0.0) == [asked]) is expected


def test_promises_count_for_those_who_ask_next() -> None:
    cluster = EasyCluster("ten", 10)
    busy(cluster)
    promised = [ride(2, 2, 1000.0)]
    assert cluster.starts_at_once(ride(3, 2, 50.0), 0.0, promised)
    assert not cluster.starts_at_once(ride(3, 3, 50.0), 0.0, promised)  # too few are left
    assert not cluster.starts_at_once(ride(3, 1, 1000.0), 0.0, promised)  # the head needs the rest

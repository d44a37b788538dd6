"""Who could take a job, who could now, and what the others are told."""

from rainbowd.core.state import Cluster, Job, Shape, World
from rainbowd.core.survey import Survey, survey
from tests.totals import Totals
from tests.unit.daemon import made

SMALL, BIG = Totals(1, 1), Totals(4, 8)


def world(*clusters: Cluster) -> World:
    return made.core(*clusters).world


def surveyed(job: Job, *clusters: Cluster) -> Survey:
    return survey(world(*clusters), job)


def online(name: str, resources: Totals = BIG) -> Cluster:
    return made.cluster(name, resources, session=hash(name))


def test_clusters_that_are_online_and_large_enough_are_candidates_in_the_order_of_the_grants() -> None:
    found = surveyed(made.job(("b", "a")), online("a"), online("b"))
    assert found.candidates == ["b", "a"]
    assert found.left_out == {}
    assert found.could_ever


def test_a_cluster_without_a_grant_is_not_even_named() -> None:
    found = surveyed(made.job(("a",)), online("a"), online("b"))
    assert found.candidates == ["a"]
    assert "b" not in found.left_out


def test_each_cluster_that_is_left_out_has_its_reason() -> None:
    job = made.job(("away", "new", "small"), shape=Shape(cores_per_task=2))
    clusters = made.cluster("away", BIG), made.cluster("new"), online("small", SMALL)
    found = surveyed(job, *clusters)
    assert found.left_out == {
        "away": "offline",
        "new": "offline, and has not described its resources yet",
        "small": "needs 2 cores on one node for a task, it has 1",
    }
    assert found.candidates == []
    assert (found.offline, found.undescribed) == (["away"], ["new"])
    assert found.could_ever


def test_a_job_that_only_a_cluster_could_take_which_is_away_can_wait() -> None:
    assert surveyed(made.job(), made.cluster("red", BIG)).could_ever


def test_a_job_can_wait_for_a_cluster_that_has_not_described_itself() -> None:
    assert surveyed(made.job(), made.cluster("red")).could_ever


def test_a_job_too_large_for_all_could_never_run_and_every_reason_is_told() -> None:
    job = made.job(("away", "here"), shape=Shape(cores_per_task=9))
    found = surveyed(job, made.cluster("away", SMALL), online("here", BIG))
    assert not found.could_ever
    assert found.impossible_words() == (
        "no cluster could ever run it: away: needs 9 cores on one node for a task, it has 1; "
        "here: needs 9 cores on one node for a task, it has 8"
    )


def test_a_job_without_any_registered_cluster_could_never_run() -> None:
    found = surveyed(made.job(("gone",)))
    assert not found.could_ever
    assert found.impossible_words() == "none of the clusters that it may use is registered"


def test_the_history_has_one_line_for_each_cluster() -> None:
    clusters = online("asked"), online("later"), online("small", SMALL)
    found = surveyed(made.job(("asked", "later", "small"), shape=Shape(cores_per_task=2)), *clusters)
    assert found.as_data(["asked"]) == [
        {"cluster": "asked", "verdict": "asked", "reason": ""},
        {"cluster": "later", "verdict": "filtered", "reason": "not in this round"},
        {"cluster": "small", "verdict": "filtered", "reason": "needs 2 cores on one node for a task, it has 1"},
    ]

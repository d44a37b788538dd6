"""Who gets the job, and what `explain` says about it. small: 1x2 cores, medium: 2x4, large: 4x8 with gpus."""

import signal
from collections.abc import Iterator

import pytest

from tests.acceptance.commands import Commands, until

pytestmark = pytest.mark.xdist_group("auctions")


@pytest.fixture
def busy_small(shared: Commands) -> Iterator[str]:
    """A job that fills small for an hour, so that small's next start is an hour away."""
    job = shared.submit("--cluster", "small", "-c", "2", "-t", "1h", "--", "sleep", "3600")
    shared.until_state(job, "running")
    yield job
    shared.run("cancel", job)
    shared.until_state(job, "cancelled")


def test_the_cheaper_wins_a_tie(shared: Commands) -> None:
    job = shared.submit("-t", "1m", "--", "true")
    shared.run("wait", job)
    story = shared.json("explain", job)
    assert {bid["cluster"]: bid["eta_s"] for bid in story["bids"]} == {"small": 0, "medium": 0, "large": 0}
    costs = {bid["cluster"]: bid["cost"] for bid in story["bids"]}
    assert story["winner"] == min(costs, key=costs.__getitem__) == "small"
    assert story["policy"] == "earliest"


def test_the_earliest_wins_though_it_costs_more(shared: Commands, busy_small: str) -> None:
    job = shared.submit("-t", "1m", "--", "true")
    shared.run("wait", job)
    story = shared.json("explain", job)
    bids = {bid["cluster"]: bid for bid in story["bids"]}
    assert story["winner"] == "medium"
    assert bids["medium"]["eta_s"] == 0 < bids["small"]["eta_s"] <= 3600
    assert bids["small"]["cost"] < bids["medium"]["cost"]
    assert "small" in shared.run("explain", job).stdout


def test_a_no_with_its_reason_is_in_explain(shared: Commands) -> None:
    job = shared.submit("-g", "1", "-t", "1m", "--", "true")
    shared.run("wait", job)
    story = shared.json("explain", job)
    verdicts = {row["cluster"]: row for row in story["clusters"]}
    assert verdicts["large"]["verdict"] == "asked"
    assert verdicts["small"] == {
        "cluster": "small",
        "verdict": "filtered",
        "reason": "needs 1 gpu on one node for a task, it has 0",
    }


def test_a_job_too_big_for_all_is_rejected_with_each_reason(shared: Commands) -> None:
    answer = shared.json("submit", "-c", "65", "--", "true", code=None)
    assert answer["state"] == "rejected"
    status = shared.json("status", answer["job"])
    assert status["state"] == "rejected"
    told = shared.run("explain", answer["job"]).stdout
    for name, cores in (("small", 2), ("medium", 4), ("large", 8)):
        assert name in told
        assert f"needs 65 cores on one node for a task, it has {cores}" in told


def test_only_the_clusters_asked_for_are_considered(shared: Commands) -> None:
    job = shared.submit("--cluster", "large", "-t", "1m", "--", "true")
    shared.run("wait", job)
    story = shared.json("explain", job)
    assert [bid["cluster"] for bid in story["bids"]] == ["large"]
    refused = shared.run("submit", "--cluster", "nowhere", "--", "true", code=None)
    assert refused.returncode != 0
    assert "nowhere" in refused.stderr


def test_the_same_key_is_the_same_job(shared: Commands) -> None:
    first = shared.json("submit", "--key", "once", "--", "true")
    again = shared.json("submit", "--key", "once", "--", "true")
    assert again["job"] == first["job"]
    refused = shared.run("submit", "--key", "once", "--", "false", code=None)
    assert refused.returncode != 0
    assert "once" in refused.stderr


def test_a_job_waits_for_a_cluster_that_is_away_and_runs_when_it_is_back(shared: Commands) -> None:
    shared.kill("small")
    until("small is offline", lambda: {c["name"]: c["state"] for c in shared.json("clusters")}["small"] == "offline")
    job = shared.submit("--cluster", "small", "--", "true")
    status = shared.json("status", job)
    assert status["state"] == "pending"
    assert "small" in status["reason"]
    shared.up()
    assert shared.json("wait", job)["state"] == "completed"


def test_ctrl_c_leaves_the_job_running_and_says_so(shared: Commands, busy_small: str) -> None:
    watching = shared.start("submit", "--watch", "--cluster", "small", "--name", "left-alone", "--", "true")
    job = until("the job exists", lambda: [j for j in shared.json("jobs") if j.get("name") == "left-alone"])[0]["job"]
    shared.until_state(job, "queued")
    watching.send_signal(signal.SIGINT)
    _, told = watching.communicate(timeout=30)
    assert watching.returncode == 130
    assert job in told
    assert shared.state(job) == "queued"
    shared.run("cancel", job)
    assert shared.until_state(job, "cancelled") == "cancelled"

"""A site and its agent, as its admin meets them: draining, keys, rules, and visits instead of a running agent."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.commands import BIN, Commands, _alive, federation, until

CLUSTER = "small"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with federation(tmp_path_factory.mktemp("site") / "f", clusters=1) as commands:
        yield commands


def agent(site: Commands, *words: str) -> str:
    """`rainbow-agent`, for the cluster."""
    config = ["--config", str(site.directory / "agents" / f"{CLUSTER}.yaml")]
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAINBOW_")}
    done = subprocess.run(
        [str(BIN / "rainbow-agent"), *words, *config], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(site: Commands) -> dict[str, Any]:
    document: dict[str, Any] = site.json("clusters", "show", CLUSTER)
    return document


def test_a_drained_cluster_takes_nothing_and_says_why(site: Commands) -> None:
    assert agent(site, "drain", "--reason", "new cooling") == "draining: new cooling\n"
    until("the daemon knows", lambda: shown(site)["draining"] == "new cooling")
    job = site.submit("--", "true")
    words = until("it was refused", lambda: (status := site.json("status", job))["reason"] and status["reason"])
    assert f"{CLUSTER}: draining: new cooling" in words
    agent(site, "resume")
    assert site.until_state(job, "completed", "failed") == "completed"


def test_keys_of_the_site_reach_the_daemon(site: Commands) -> None:
    agent(site, "state", "set", "rack=b", "watts=1.5")
    until("the daemon knows", lambda: shown(site)["keys"].get("watts") == 1.5)
    agent(site, "state", "unset", "rack")
    until("and forgets", lambda: "rack" not in shown(site)["keys"])


def test_visits_in_place_of_a_running_agent(site: Commands) -> None:
    pid = site.pid(CLUSTER)
    os.kill(pid, signal.SIGTERM)
    until("the agent is gone", lambda: not _alive(pid))
    job, second = site.submit("--", "true"), site.submit("--", "true")

    looked = json.loads(agent(site, "receive", "--no-run", "--max-jobs", "2", "--json"))
    assert {entry["job"] for entry in looked["jobs"]} == {job, second}
    assert site.state(job) == "pending"

    accepted = json.loads(agent(site, "receive", "--accept", "1", "--json"))
    [taken] = [entry["job"] for entry in accepted["jobs"] if entry["state"] == "queued"]
    site.until_state(taken, "queued")

    ran = json.loads(agent(site, "receive", "--max-jobs", "1", "--json"))
    states = {entry["job"]: entry["state"] for entry in ran["jobs"]}
    assert states == {job: "completed", second: "completed"}
    assert site.until_state(job, "completed") == site.until_state(second, "completed")

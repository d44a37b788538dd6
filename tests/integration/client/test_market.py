"""Wishes, arrays, files of many jobs and the state of clusters, as a person types them, against a real federation."""

import getpass
import re
from pathlib import Path

import pytest

import rainbow_client
from rainbow_client.local.federation import Federation
from rainbow_client.sync import Client
from rainbow_protocol.messages.client import Event
from tests.integration.client.conftest import Rainbow

pytestmark = pytest.mark.xdist_group("client-federation")


def test_an_array_is_one_thing_until_somebody_looks_closer(rainbow: Rainbow) -> None:
    done = rainbow("submit", "--array", "1-4%2", "--wait", "-t", "1m", "--", "sh", "-c", "echo $RAINBOW_ARRAY_INDEX")
    assert (done.code, done.err) == (0, "")
    array, end = done.out.splitlines()
    assert end == f"{array} completed: 4 jobs: 4 completed"
    assert rainbow("logs", array).out == "1\n2\n3\n4\n"
    assert rainbow("logs", f"{array}_3").out == "3\n"
    assert [one["array_index"] for one in rainbow("status", "--json", array).json_lines()] == [1, 2, 3, 4]
    assert rainbow("status", f"{array}[2]").out.splitlines()[1].startswith(f"{array}_2 ")
    folded = [line for line in rainbow("jobs").out.splitlines() if line.startswith(array)]
    assert len(folded) == 1
    assert "4 jobs: 4 completed" in folded[0]
    assert len(rainbow("jobs", array).out.splitlines()) == 5
    assert rainbow("explain", array).out.startswith(f"Array {array}  completed: 4 jobs: 4 completed")
    assert "What happened" in rainbow("explain", f"{array}_4").out
    assert rainbow("status", f"{array}_5").code == 77


def test_wait_for_an_array_tells_of_those_that_failed(rainbow: Rainbow) -> None:
    done = rainbow("submit", "--array", "1-3", "--wait", "--", "sh", "-c", "test $RAINBOW_ARRAY_INDEX != 2")
    array, failed, end = done.out.splitlines()
    assert done.code == 1
    assert failed.startswith(f"{array}_2 failed with exit code 1")
    assert end == f"{array} failed: 3 jobs: 1 failed, 2 completed"


def test_an_array_is_cancelled_as_a_whole(rainbow: Rainbow) -> None:
    array = rainbow("submit", "--array", "1-30%1", "--", "sleep", "600").out.strip()
    waits = [one for one in rainbow("status", "--json", array).json_lines() if one["state"] == "pending"]
    assert any("array" in str(one["reason"]) for one in waits)
    done = rainbow("cancel", array)
    assert done.code == 0
    assert done.out.startswith("30 jobs of arrays: ")
    assert rainbow("wait", array).code in (67, 143)


def test_jobs_after_jobs(rainbow: Rainbow) -> None:
    first = rainbow("submit", "--", "sh", "-c", "exit 3").out.strip()
    never = rainbow("submit", "--wait", "--json", "--after-ok", first, "--", "true")
    assert never.code == 65
    assert first in str(never.json()["reason"])
    assert rainbow("submit", "--wait", "--after-any", first, "--after", first, "--", "true").code == 0
    story = rainbow("explain", str(never.json()["job"])).out
    assert f"Not before job {first} has ended well" in story
    unseen = rainbow("submit", "--after", "zzzzzzzzzzzz", "--", "true")
    assert unseen.code == 77


def until(federation: Federation, job: str, event: str) -> Event:
    """Waits for an event of the job's history."""
    with Client.from_config(rainbow_client.load_config(federation.layout.client_config)) as client:
        return next(one for one in client.watch(job) if one.event == event)


def test_a_bid_that_is_too_dear_does_not_count(rainbow: Rainbow, federation: Federation) -> None:
    job = rainbow("submit", "--max-cost", "0", "-t", "1h", "--cluster", "large", "--", "true").out.strip()
    until(federation, job, "waiting")
    story = rainbow("explain", job).out
    assert "Wishes cost at most 0" in story
    assert "large would take it, but not as it wishes" in story
    assert re.search(r"^  large +yes +\S+ +\S+ +would cost \S+, and the job may cost 0 at most$", story, re.MULTILINE)
    assert rainbow("cancel", job).code == 0


def test_a_job_moves_when_another_cluster_becomes_free(rainbow: Rainbow, federation: Federation) -> None:
    sizes = {"small": "2", "medium": "8", "large": "32"}
    full = {
        name: rainbow("submit", "--cluster", name, "-n", tasks, "-t", "2h", "--", "sleep", "600").out.strip()
        for name, tasks in sizes.items()
    }
    try:
        for blocker in full.values():
            until(federation, blocker, "running")
        job = rainbow("submit", "-n", "2", "-t", "1m", "--", "true").out.strip()
        here = until(federation, job, "queued").data["cluster"]
        free = next(name for name in sizes if name != here)
        rainbow("cancel", full[free])
        moved = until(federation, job, "moved").data
        assert (moved["from"], moved["to"]) == (here, free)
        assert rainbow("wait", job).code == 0
        story = rainbow("explain", job).out
        assert f"A look for a better place, while it waited on {here}" in story
        assert f"in the queue of {here} it moved to {free}, to start " in story
    finally:
        rainbow("cancel", *full.values())


@pytest.mark.parametrize(
    ("args", "winner"),
    [
        (("--policy", "cheapest"), None),
        (("--policy", "spillover", "--policy-option", "order=medium"), "medium"),
        (("--not-cluster", "small,medium"), "large"),
        (("--policy", "random", "--policy-option", "seed=7"), None),
        (("--policy", "balanced", "--policy-option", "cost_weight=2"), None),
        (("--policy", "first"), None),
    ],
)
def test_policies(rainbow: Rainbow, args: tuple[str, ...], winner: str | None) -> None:
    done = rainbow("submit", *args, "--wait", "--json", "-t", "1m", "--", "true").json()
    assert done["state"] == "completed"
    assert winner in (None, done["cluster"])
    story = rainbow("explain", str(done["job"])).out
    assert f"Policy {args[1]}" in story or args[0] != "--policy"
    assert re.search(r"^It went to \w+", story, re.MULTILINE)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--policy", "cheepest"), "cheapest"),
        (("--policy", "spillover"), "order"),
        (("--policy-option", "colour=blue"), "colour"),
        (("--group", "nowhere"), "there is no group 'nowhere'"),
    ],
)
def test_wishes_that_cannot_be_are_refused_in_words(rainbow: Rainbow, args: tuple[str, ...], words: str) -> None:
    done = rainbow("submit", *args, "--", "true")
    assert done.code == 77
    assert words in done.err


def test_constraint_reads_its_steps_from_a_file(rainbow: Rainbow, tmp_path: Path) -> None:
    steps = tmp_path / "steps.yaml"
    steps.write_text(
        "- priority: 1\n  steps:\n  - filter: nodes_free >= 0\n  - sort_descending: cost\n  - select: first\n"
    )
    option = f"priorities=@{steps}"
    done = rainbow("submit", "--policy", "constraint", "--policy-option", option, "--wait", "-t", "1m", "--", "true")
    assert (done.code, done.err) == (0, "")


def test_bulk(rainbow: Rainbow, tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text(
        '{"command": ["true"], "time_limit": "1m"}\n{"command": ["true"], "array": "1-2"}\n{"command": ["false"]}\n'
    )
    done = rainbow("submit", "--bulk", str(file), "--key", "night", "--json")
    lines = done.json_lines()
    assert (done.code, [one["line"] for one in lines]) == (0, [1, 2, 3])
    assert lines[1]["jobs"] == 2
    again = rainbow("submit", "--bulk", str(file), "--key", "night", "--json").json_lines()
    assert [one["job"] for one in again] == [one["job"] for one in lines]
    assert all(one["duplicate"] for one in again)
    assert rainbow("wait", *(str(one["job"]) for one in lines)).code == 1
    file.write_text('{"command": ["true"]}\n{"comand": ["true"]}\n')
    bad = rainbow("submit", "--bulk", str(file))
    assert (bad.code, bad.out) == (2, "")
    assert "line 2" in bad.err
    # What only the daemon can know is found out before anything is submitted, too.
    file.write_text('{"command": ["true"]}\n{"command": ["true"], "wishes": {"policy": "nope"}}\n')
    refused = rainbow("submit", "--bulk", str(file))
    assert (refused.code, refused.out) == (2, "")
    assert "line 2: there is no policy 'nope'" in refused.err
    file.write_text('{"command": ["true"], "wishes": {"max_cots": 3}}\n')
    assert "wishes.max_cots: is not known" in rainbow("submit", "--bulk", str(file)).err


def test_the_state_of_a_cluster(rainbow: Rainbow) -> None:
    assert rainbow("state", "set", "small", "cost_per_node_hour=0.5", "zone=eu").code == 0
    keys = rainbow("state", "--json", "small").json()["keys"]
    assert isinstance(keys, dict)
    assert (keys["cost_per_node_hour"], keys["zone"]) == (0.5, "eu")
    assert "zone" in rainbow("clusters", "show", "small").out
    assert rainbow("state", "unset", "small", "zone").code == 0
    keys = rainbow("state", "--json", "small").json()["keys"]
    assert isinstance(keys, dict)
    assert "zone" not in keys
    assert rainbow("state", "set", "nowhere", "a=1").code == 77


def test_the_daemon_knows_who_asked(rainbow: Rainbow) -> None:
    job = rainbow("submit", "--", "true").out.strip()
    assert rainbow("status", "--json", job).json()["user"] == getpass.getuser()

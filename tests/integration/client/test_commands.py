"""The command as a person types it, against a real daemon and real clusters."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from rainbow_client.local.federation import Federation
from tests.integration.client.conftest import Rainbow, command_line, environment

pytestmark = pytest.mark.xdist_group("client-federation")

JOB_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{12}")


def test_submit_prints_the_id_and_nothing_else(rainbow: Rainbow) -> None:
    done = rainbow("submit", "-n", "2", "--", "hostname")
    assert done.code == 0
    assert JOB_ID.fullmatch(done.out.strip())
    assert done.err == ""


def test_the_promised_json(rainbow: Rainbow) -> None:
    submitted = rainbow("submit", "--json", "--", "true").json()
    assert {"job", "state"} <= submitted.keys()
    job = str(submitted["job"])
    assert rainbow("wait", job).code == 0
    status = rainbow("status", "--json", job).json()
    assert set(status) >= {
        *("job", "state", "cluster", "attempt", "exit_code", "reason"),
        *("submitted_at", "assigned_at", "started_at", "finished_at"),
    }
    assert (status["job"], status["state"], status["exit_code"]) == (job, "completed", 0)
    story = rainbow("explain", "--json", job).json()
    assert {"job", "policy", "clusters", "bids", "winner", "history"} <= story.keys()
    assert story["winner"] == status["cluster"]
    bids, clusters, history = (story[key] for key in ("bids", "clusters", "history"))
    assert isinstance(bids, list)
    assert isinstance(clusters, list)
    assert isinstance(history, list)
    assert all({"cluster", "round", "answer", "eta_s", "cost", "reason", "score"} <= bid.keys() for bid in bids)
    assert all({"cluster", "verdict", "reason"} <= one.keys() for one in clusters)
    assert history[0]["event"] == "submitted"
    assert all("at" in line for line in history)
    listed = rainbow("clusters", "--json").json_list()
    assert {str(one["name"]) for one in listed} == {"small", "medium", "large"}
    assert all({"name", "state", "nodes", "cores", "gpus", "free"} <= one.keys() for one in listed)
    assert job in [one["job"] for one in rainbow("jobs", "--json").json_list()]


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -KILL $$", 137)])
def test_wait_exits_with_the_jobs_code(rainbow: Rainbow, script: str, code: int) -> None:
    assert rainbow("submit", "--wait", "--", "sh", "-c", script).code == code


def test_a_time_limit_ends_the_job(rainbow: Rainbow) -> None:
    done = rainbow("submit", "--wait", "-t", "0.3", "--", "sleep", "60")
    assert done.code == 124
    assert "time limit" in done.err


def test_a_job_too_big_for_all_is_rejected_with_each_reason(rainbow: Rainbow) -> None:
    done = rainbow("submit", "--wait", "--json", "-n", "5000", "--", "true")
    assert done.code == 65
    status = done.json()
    assert status["state"] == "rejected"
    story = rainbow("explain", str(status["job"]))
    for cluster in ("small", "medium", "large"):
        assert re.search(rf"{cluster} +needs 5000 tasks", story.out)


def test_explain_tells_who_won_and_why(rainbow: Rainbow) -> None:
    job = rainbow("submit", "-g", "1", "-t", "1m", "--", "true").out.strip()
    rainbow("wait", job)
    story = rainbow("explain", job).out
    assert re.search(r"large +yes +now +\S+ +← won", story)
    assert re.search(r"small +not asked +- +- +needs 1 gpu", story)
    assert "large won: " in story
    assert "\x1b" not in story


def test_watch_shows_events_and_output_apart(rainbow: Rainbow) -> None:
    done = rainbow("submit", "--watch", "--", "sh", "-c", "echo out; echo err >&2; exit 4")
    assert done.code == 4
    assert done.out == "out\n"
    assert "err\n" in done.err
    assert re.search(r"rainbow: \w+ won: ", done.err)
    assert done.err.splitlines()[-1].startswith("rainbow: failed on ")


def test_watch_as_json_is_one_object_a_line(rainbow: Rainbow) -> None:
    lines = rainbow("submit", "--watch", "--json", "--", "echo", "hello").json_lines()
    assert lines[0]["event"] == "submitted"
    assert {"stream": "stdout", "offset": 0, "data": "hello\n"} in lines
    assert (lines[-1]["state"], lines[-1]["exit_code"]) == ("completed", 0)


def test_output_comes_byte_for_byte(rainbow: Rainbow, federation: Federation, tmp_path: Path) -> None:
    env = environment(tmp_path, RAINBOW_CONFIG=str(federation.layout.client_config))
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)"
    submit = command_line("submit", "--watch", "--", "python3", "-c", script)
    done = subprocess.run(submit, env=env, capture_output=True, timeout=60, check=False)
    assert done.stdout == bytes(range(256)) * 4096


def test_logs_follow_to_the_end(rainbow: Rainbow) -> None:
    job = rainbow("submit", "--", "sh", "-c", "echo one; sleep 0.5; echo two").out.strip()
    assert rainbow("logs", "-f", job).out == "one\ntwo\n"
    assert rainbow("logs", job).out == "one\ntwo\n"


def test_cancel_ends_a_running_job(rainbow: Rainbow) -> None:
    job = rainbow("submit", "--", "sleep", "600").out.strip()
    done = rainbow("cancel", "--json", job)
    assert done.json()["outcome"] in ("cancelling", "cancelled")
    ended = rainbow("wait", "--json", job)
    assert ended.json()["state"] == "cancelled"
    assert ended.code in (67, 143)


def test_a_key_makes_one_job_of_two_submits(rainbow: Rainbow) -> None:
    first = rainbow("submit", "--json", "--key", "once", "--", "true").json()
    second = rainbow("submit", "--json", "--key", "once", "--", "true").json()
    assert second["job"] == first["job"]
    assert second["duplicate"] is True
    different = rainbow("submit", "--json", "--key", "once", "--", "false")
    assert different.code == 77
    assert '"code":"key_reused"' in different.err


def test_interrupting_a_watch_leaves_the_job(rainbow: Rainbow, federation: Federation, tmp_path: Path) -> None:
    env = environment(tmp_path, RAINBOW_CONFIG=str(federation.layout.client_config))
    watching = subprocess.Popen(
        command_line("submit", "--watch", "--", "sh", "-c", "echo begun; sleep 600"),
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert watching.stdout.readline() == b"begun\n"
        watching.send_signal(signal.SIGINT)
        words = watching.stderr.read().decode()
    assert watching.returncode == 130
    come_back = re.search(r"job (\w+) goes on; come back with `rainbow wait (\w+)`", words)
    assert come_back is not None
    job = come_back[1]
    assert rainbow("status", "--json", job).json()["state"] == "running"
    rainbow("cancel", job)


def test_unknown_jobs_are_told_after_the_known(rainbow: Rainbow) -> None:
    job = rainbow("submit", "--", "true").out.strip()
    done = rainbow("status", job, "zzzzzzzzzzzz")
    assert done.code == 77
    assert job in done.out
    assert "there is no job zzzzzzzzzzzz" in done.err


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("submit", "--cluster", "nowhere", "--", "true"), 77, "nowhere"),
        (("explain", "zzzzzzzzzzzz"), 77, "zzzzzzzzzzzz"),
        (("logs", "-f", "zzzzzzzzzzzz"), 77, "zzzzzzzzzzzz"),
        (("register", "cluster", "small"), 77, "'small' is registered already"),
    ],
)
def test_a_refusal_is_one_sentence_and_a_hint(rainbow: Rainbow, args: tuple[str, ...], code: int, words: str) -> None:
    done = rainbow(*args)
    assert done.code == code
    sentence, hint = done.err.splitlines()
    assert sentence.startswith("rainbow: ")
    assert words in sentence
    assert hint.startswith("  ")
    assert done.out == ""


def test_register_and_save(rainbow: Rainbow, federation: Federation, tmp_path: Path) -> None:
    copy = tmp_path / "config.yaml"
    copy.write_bytes(federation.layout.client_config.read_bytes())
    copy.chmod(0o600)
    done = rainbow("register", "cluster", "extra", "--nodes", "2", "--save", "--json", "--config", str(copy))
    assert done.code == 0
    assert str(done.json()["token"]) in copy.read_text()
    listed = rainbow("clusters", "--json", "--config", str(copy)).json_list()
    extra = next(one for one in listed if one["name"] == "extra")
    assert (extra["state"], extra["nodes"]) == ("offline", 2)

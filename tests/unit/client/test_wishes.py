"""What a user wishes, from the command line and from lines of a file to what the daemon is told."""

import io
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_client.bulk import read_bulk
from rainbow_client.client import Client
from rainbow_client.errors import InvalidRequest
from rainbow_client.identity import login_name
from rainbow_client.wishes import read_value, with_wishes
from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages.client import ClientHello
from rainbow_protocol.wishes import Wishes
from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import TOKEN, FakeDaemon, Message, status

JOB, OTHER = "000000000001", "000000000002"
JOBSPEC = {
    "version": 1,
    "resources": [{"type": "slot", "count": 1, "label": "default", "with": [{"type": "core", "count": 2}]}],
    "tasks": [{"command": ["hostname"], "slot": "default", "count": {"per_slot": 1}}],
    "attributes": {"system": {"duration": 60}},
}


def submitted(daemon: FakeDaemon) -> list[Message]:
    return [item for request in daemon.of_type("submit") if not request["check"] for item in request["items"]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-0.5", -0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("No", False),
        ("blue,@cloud", "blue,@cloud"),
        ('"3"', "3"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1_000", "1_000"),
        ("9" * 400, "9" * 400),
        ("", ""),
    ],
)
def test_values_as_people_write_them(text: str, value: object) -> None:
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_every_value_can_travel(text: str) -> None:
    value = read_value(text)
    assert orjson.loads(orjson.dumps(value)) == value


async def test_every_wish_reaches_the_daemon(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path
) -> None:
    (tmp_path / "steps.yaml").write_text("- priority: 1\n")
    done = await rainbow(
        *("submit", "--policy", "constraint", "--policy-option", "priorities=@steps.yaml"),
        *("--policy-option", "seed=7", "--max-cost", "2.5", "--start-within", "10m", "--cluster", "one"),
        *("--not-cluster", "two,three", "--not-cluster", "four", "--group", "cloud", "--urgency", "20", "--no-move"),
        *("--after", JOB, "--after-ok", OTHER, "--after-any", JOB, "--", "true"),
    )
    assert (done.code, done.err) == (0, "")
    [item] = submitted(daemon)
    assert item["request"]["clusters"] == ["one"]
    assert item["request"]["wishes"] == {
        "policy": "constraint",
        "options": {"priorities": "- priority: 1\n", "seed": 7},
        "max_cost": 2.5,
        "start_within_s": 600.0,
        "not_clusters": ["two", "three", "four"],
        "group": "cloud",
        "urgency": 20,
        "move": False,
        "after": [
            {"job": JOB, "until": "start"},
            {"job": OTHER, "until": "ok"},
            {"job": JOB, "until": "any"},
        ],
    }


async def test_nothing_wished_is_nothing_said(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    await rainbow("submit", "--", "true")
    [item] = submitted(daemon)
    assert item["request"]["wishes"] == Wishes().model_dump()
    assert item["array"] is None


async def test_wishes_beside_a_document(rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "job.json").write_bytes(orjson.dumps(JOBSPEC))
    done = await rainbow("submit", "job.json", "--max-cost", "3", "--start-within", "now", "--array", "1-3")
    assert (done.code, done.err) == (0, "")
    [item] = submitted(daemon)
    assert (item["request"]["wishes"]["max_cost"], item["request"]["wishes"]["start_within_s"]) == (3.0, 0.0)
    assert item["array"] == {"indices": "1-3", "at_once": None}
    assert item["request"]["shape"]["cores_per_task"] == 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--max-cost", "-1"), "--max-cost: must be at least 0"),
        (("--urgency", "32"), "--urgency: must be at most 31"),
        (("--group", "Big_One"), "--group: has characters"),
        (("--policy-option", "threshold"), "'threshold' is not of the form KEY=VALUE"),
        (("--policy-option", "a-b=1"), "--policy-option: has characters"),
        (("--policy-option", "steps=@/nonexistent"), "/nonexistent: cannot be read"),
        (("--start-within", "soon"), "'soon' is not a duration"),
        (("--not-cluster", "small,"), "--not-cluster: must not be empty"),
        (("--after", "nope"), "'nope' is not a job id"),
        (("--array", "9-1"), "'9-1' names no index"),
        (("--array", "1-1000000"), "an array may have"),
        (("--array", "1-9%0"), "at_once: must be at least 1"),
        (("--array", "one"), "'one' is not an index"),
        (("--array", "1-9", "--watch"), "--watch shows one job"),
        (("--keep-going",), "--keep-going is about the lines of --bulk"),
        (("--bulk", "jobs.jsonl"), "--bulk says what is run"),
    ],
)
async def test_mistaken_wishes(rainbow: Rainbow, configured: Path, args: tuple[str, ...], words: str) -> None:
    done = await rainbow("submit", *args, "--", "true")
    assert done.code == 2
    sentence, hint = done.err.splitlines()
    assert words in sentence
    assert hint.startswith("  ")


def test_options_of_the_same_policy_are_added_to_and_those_of_another_dropped() -> None:
    known = JobRequest(command=["true"], wishes=Wishes(policy="spillover", options={"order": "a,b", "threshold_s": 60}))
    same = with_wishes(known, {"options": {"threshold_s": 30}}).wishes
    assert same.options == {"order": "a,b", "threshold_s": 30}
    other = with_wishes(known, {"policy": "cheapest"}).wishes
    assert (other.policy, other.options) == ("cheapest", {})
    assert with_wishes(known, {}) is known


async def test_the_sdk_wishes(daemon: FakeDaemon) -> None:
    async with Client(daemon.url, [TOKEN]) as client:
        await client.submit(["true"], wishes=Wishes(max_cost=1), array="1-9:2%2", key="mine")
    [item] = submitted(daemon)
    assert (item["key"], item["array"]) == ("mine", {"indices": "1-9:2", "at_once": 2})
    assert item["request"]["wishes"]["max_cost"] == 1.0


# --- bulk -----------------------------------------------------------------

LINES = [
    {"command": ["echo", "1"], "nodes": 2, "time_limit": "5m", "wishes": {"max_cost": 1}},
    {"command": ["echo", "2"], "array": "1-3%2", "key": "second"},
    JOBSPEC,
    JobRequest(command=["echo", "4"]).model_dump(),
]


def written(tmp_path: Path, *lines: object) -> str:
    path = tmp_path / "jobs.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines) + b"\n")
    return str(path)


async def test_bulk_is_one_frame(rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path) -> None:
    file = written(tmp_path, LINES[0], b"", *LINES[1:])
    done = await rainbow("submit", "--bulk", file, "--group", "cloud", "--key", "night", "--name", "n")
    assert (done.code, done.err, len(done.out.split())) == (0, "", 4)
    assert [frame["check"] for frame in daemon.of_type("submit")] == [True, False]  # looked at, then submitted
    items = submitted(daemon)
    assert [item["key"] for item in items] == ["night:1", "second", "night:4", "night:5"]
    assert all(item["request"]["wishes"]["group"] == "cloud" for item in items)
    assert all(item["request"]["name"] == "n" for item in items)
    first, second, third, _ = items
    assert first["request"]["shape"] == {
        "nodes": 2, "tasks": 2, "cores_per_task": 1, "gpus_per_task": 0, "exclusive": False, "time_limit_s": 300.0,
    }  # fmt: skip
    assert first["request"]["wishes"]["max_cost"] == 1.0
    assert second["array"] == {"indices": "1-3", "at_once": 2}
    assert third["request"]["shape"]["cores_per_task"] == 2


BAD = [
    b"{",
    {"command": "echo 1"},
    {"comand": ["x"]},
    {"command": ["x"], "nodes": 0},
    {"command": ["x"], "gpu": 1},
    [1],
]


async def test_a_bad_line_stops_all_of_them(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path
) -> None:
    done = await rainbow("submit", "--bulk", written(tmp_path, LINES[0], *BAD))
    assert (done.code, done.out) == (2, "")
    *told, sentence, hint = done.err.splitlines()
    assert [line.split("line ")[1].split(":")[0] for line in told] == ["2", "3", "4", "5", "6", "7"]
    assert "'gpu' is not known" in told[4]
    assert sentence == "rainbow: 6 lines of 7 cannot be submitted; nothing was submitted"
    assert "--keep-going" in hint
    assert daemon.of_type("submit") == []


async def test_keep_going_submits_the_others(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path
) -> None:
    file = written(tmp_path, BAD[0], LINES[0])
    done = await rainbow("submit", "--bulk", file, "--keep-going")
    assert (done.code, len(done.out.split())) == (2, 1)
    told = await rainbow("submit", "--bulk", file, "--keep-going", "--json")
    bad, good = (orjson.loads(line) for line in told.out.splitlines())
    assert (bad["line"], bad["error"]["code"]) == (1, "invalid")
    assert (good["line"], good["state"]) == (2, "pending")


async def test_what_the_daemon_refuses_is_told_by_its_line(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path
) -> None:
    error = {"type": "error", "code": "overloaded", "message": "too many jobs", "hint": ""}
    items = [{"job": JOB, "state": "pending"}, {"error": error}]
    daemon.handlers["submit"] = lambda _: [{"type": "submitted", "items": items}]
    file = written(tmp_path, b"", LINES[0], LINES[1])
    done = await rainbow("submit", "--bulk", file, "--keep-going")
    assert (done.code, done.out, done.err) == (77, f"{JOB}\n", "rainbow: line 3: too many jobs\n")
    whole = await rainbow("submit", "--bulk", file)
    assert (whole.code, whole.out) == (2, "")
    assert "line 3: too many jobs" in whole.err
    assert "nothing was submitted" in whole.err


async def test_bulk_may_be_waited_for(rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.handlers["status"] = lambda request: [
        {"type": "jobs", "items": [status(job, "failed", exit_code=3) for job in request["jobs"]]}
    ]
    done = await rainbow("submit", "--bulk", written(tmp_path, LINES[0]), "--wait")
    assert done.code == 3
    assert "failed with exit code 3" in done.out


async def test_an_empty_bulk(rainbow: Rainbow, configured: Path, tmp_path: Path) -> None:
    done = await rainbow("submit", "--bulk", written(tmp_path, b""))
    assert done.code == 2
    assert "there is no job in" in done.err


def test_a_line_without_an_end_is_not_read_for_ever() -> None:
    with pytest.raises(InvalidRequest, match="line 1 is longer"):
        read_bulk(io.BytesIO(b"x" * (limits.FRAME_BYTES_MAX + 10)))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_job_or_a_mistake(data: bytes) -> None:
    bulk = read_bulk(io.BytesIO(data))
    assert len(bulk.jobs) + len(bulk.mistakes) <= data.count(b"\n") + 1


# --- who is asking --------------------------------------------------------


async def test_the_daemon_is_told_who_asks(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    async with Client(daemon.url, [TOKEN]):
        [hello] = daemon.of_type("hello")
    assert hello["user"] == "ada"


@pytest.mark.parametrize("name", ["a\x1bb\n", "x" * 500, "\udcff\udcfe", "  "])
def test_a_login_name_can_always_travel(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LOGNAME", name)
    ClientHello(id=0, user=login_name())


def test_no_login_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert login_name() is None

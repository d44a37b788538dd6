"""Arrays: how they are written, and what `jobs`, `status`, `wait`, `cancel`, `logs` and `explain` make of them."""

from base64 import b64encode
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_client.arrays import JobName, job_names, read_array
from rainbow_client.client import Client
from rainbow_client.errors import InvalidRequest, UnknownJob
from rainbow_client.folding import JOBS_READ_MAX
from rainbow_client.whole import Whole, folded, index_words
from rainbow_protocol import limits
from rainbow_protocol.messages.client import JobStatus
from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import TOKEN, FakeDaemon, Message, event, status

ARRAY, ALONE = "000000000100", "000000000001"
STATES = {1: "completed", 2: "running", 3: "pending", 4: "failed", 7: "pending"}


def member_id(index: int) -> str:
    return f"0000000002{index:02d}"


def member(index: int, state: str, **changes: object) -> Message:
    code = 3 if state == "failed" else 0 if state == "completed" else None
    return status(member_id(index), state, exit_code=code, array=ARRAY, array_index=index, **changes)


class ArrayDaemon:
    """Answers about one array and one job beside it, as the real daemon does."""

    def __init__(self, daemon: FakeDaemon, states: dict[int, str], *, expands: bool) -> None:
        self.members = [member(index, state) for index, state in states.items()]
        self.all = [status(ALONE), *reversed(self.members)]
        self.expands = expands  # whether it takes an array's id where jobs are named
        daemon.handlers |= {"status": self.status, "list": self.newest, "cancel": self.cancel}

    def _named(self, jobs: list[str]) -> tuple[list[Message], list[str]]:
        found = [one for job in jobs for one in self.all if job in (one["job"], self.expands and one.get("array"))]
        known = {one["job"] for one in found} | {one.get("array") for one in found}
        return found, [job for job in jobs if job not in known]

    def status(self, request: Message) -> list[Message]:
        found, unknown = self._named(request["jobs"])
        return [{"type": "jobs", "items": found, "unknown": unknown}]

    def newest(self, request: Message) -> list[Message]:
        newest_first = sorted(self.all, key=lambda one: str(one["job"]), reverse=True)
        found = [
            one
            for one in newest_first
            if (request["array"] is None or one.get("array") == request["array"])
            and (request["before"] is None or one["job"] < request["before"])
            and (request["states"] is None or one["state"] in request["states"])
        ]
        return [{"type": "jobs", "items": found[: request["limit"]]}]

    def cancel(self, request: Message) -> list[Message]:
        found, unknown = self._named(request["jobs"])
        items = [{"job": one["job"], "state": "cancelled", "outcome": "cancelled"} for one in found]
        return [{"type": "cancel_answer", "items": items, "unknown": unknown}]


@pytest.fixture(params=[False, True], ids=["the client expands", "the daemon expands"])
def array(request: pytest.FixtureRequest, daemon: FakeDaemon, configured: Path) -> ArrayDaemon:
    return ArrayDaemon(daemon, STATES, expands=request.param)


# --- as they are written --------------------------------------------------


@pytest.mark.parametrize(
    ("text", "indices", "at_once"),
    [("1-1000%50", "1-1000", 50), ("1-9:2,17", "1-9:2,17", None), ("0", "0", None), ("3, 5, 17 % 2", "3,5,17", 2)],
)
def test_specs(text: str, indices: str, at_once: int | None) -> None:
    array = read_array(text)
    assert (array.indices, array.at_once) == (indices, at_once)


@given(st.text(alphabet="0123456789-:,% x", max_size=30))
def test_any_text_is_an_array_or_a_mistake(text: str) -> None:
    with suppress(InvalidRequest):
        assert read_array(text).indices


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (ARRAY, JobName(ARRAY)),
        (f"{ARRAY}[7]", JobName(ARRAY, 7)),
        (f"{ARRAY}_7", JobName(ARRAY, 7)),
        (f" {ARRAY.upper()}_0 ", JobName(ARRAY, 0)),
    ],
)
def test_names(text: str, name: JobName) -> None:
    assert job_names(text) == [name]


@pytest.mark.parametrize("text", ["nope", f"{ARRAY}[", f"{ARRAY}_", f"{ARRAY}[x]", f"{ARRAY}[7]_7", "_7", ""])
def test_what_names_no_job(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a job id"):
        job_names(text)


# --- as one ---------------------------------------------------------------


def whole(*states: str) -> Whole:
    return Whole(ARRAY, [JobStatus.model_validate(member(n, state)) for n, state in enumerate(states)])


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (("completed", "running", "pending"), "running"),
        (("completed", "pending"), "pending"),
        (("completed", "completed"), "completed"),
        (("completed", "failed", "cancelled"), "failed"),
        (("lost", "failed"), "lost"),
        (("failed", "queued"), "queued"),
    ],
)
def test_the_state_of_the_whole(states: tuple[str, ...], state: str) -> None:
    assert whole(*states).state == state


def test_words_of_the_whole() -> None:
    one = whole("completed", "pending", "running", "pending")
    assert one.words == "4 jobs: 1 completed, 1 running, 2 pending"
    one.more = True
    assert one.words.startswith("at least 4 jobs: ")
    assert index_words([one.jobs[0], *one.jobs[2:]]) == "0, 2-3"


@given(st.lists(st.sampled_from([None, "00000000000a", "00000000000b"]), max_size=20))
def test_folding_keeps_every_job(arrays: list[str | None]) -> None:
    jobs = [
        JobStatus.model_validate(status(f"{number:012d}", array=array, array_index=number if array else None))
        for number, array in enumerate(arrays)
    ]
    rows = list(folded(jobs))
    assert sorted(job.job for row in rows for job in (row.jobs if isinstance(row, Whole) else [row])) == sorted(
        job.job for job in jobs
    )
    assert len(rows) == arrays.count(None) + len(set(arrays) - {None})


# --- as commands tell them ------------------------------------------------


async def test_jobs_folds_arrays(rainbow: Rainbow, array: ArrayDaemon) -> None:
    lines = (await rainbow("jobs")).out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith(f"{ARRAY}  a job  running")
    assert lines[1].endswith("5 jobs: 1 failed, 1 completed, 1 running, 2 pending")
    assert lines[2].startswith(ALONE)
    every = (await rainbow("jobs", "--all")).out
    assert all(f"{ARRAY}_{index} " in every for index in STATES)
    assert len((await rainbow("jobs", ARRAY)).out.splitlines()) == 6
    assert len(orjson.loads((await rainbow("jobs", "--json")).out)) == 6


async def test_a_limit_counts_an_array_as_one(rainbow: Rainbow, array: ArrayDaemon) -> None:
    lines = (await rainbow("jobs", "--limit", "1")).out.splitlines()
    assert len(lines) == 2
    assert "5 jobs:" in lines[1]
    assert len((await rainbow("jobs", "--limit", "2")).out.splitlines()) == 3


async def test_folding_does_not_read_for_ever(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    numbers = iter(range(10**6, 0, -1))

    def endless(request: Message) -> list[Message]:
        ids = [f"{next(numbers):012d}" for _ in range(request["limit"])]
        return [{"type": "jobs", "items": [status(job, array=ARRAY, array_index=int(job)) for job in ids]}]

    daemon.handlers["list"] = endless
    lines = (await rainbow("jobs", "--limit", "10")).out.splitlines()
    assert len(lines) == 2
    assert "at least " in lines[1]
    assert len(daemon.of_type("list")) <= JOBS_READ_MAX // limits.JOBS_PAGE_MAX + 1


async def test_status_of_the_whole_and_of_a_member(rainbow: Rainbow, array: ArrayDaemon) -> None:
    whole = (await rainbow("status", ARRAY, ALONE)).out.splitlines()
    assert len(whole) == 3
    assert "5 jobs: " in whole[1]
    one = (await rainbow("status", f"{ARRAY}[7]")).out.splitlines()
    assert len(one) == 2
    assert one[1].startswith(f"{ARRAY}_7  a job  pending")
    assert len((await rainbow("status", "--all", ARRAY)).out.splitlines()) == 6
    documents = [orjson.loads(line) for line in (await rainbow("status", "--json", ARRAY)).out.splitlines()]
    assert [(one["array"], one["array_index"]) for one in documents] == [(ARRAY, index) for index in STATES]


async def test_a_member_that_is_not_there(rainbow: Rainbow, array: ArrayDaemon) -> None:
    done = await rainbow("status", f"{ARRAY}_5", ALONE)
    assert done.code == 77
    assert ALONE in done.out
    assert f"there is no job {ARRAY}_5 that you can see" in done.err


async def test_cancel_of_the_whole(rainbow: Rainbow, array: ArrayDaemon, daemon: FakeDaemon) -> None:
    done = await rainbow("cancel", ARRAY)
    assert (done.code, len(done.out.splitlines())) == (0, 5)
    one = await rainbow("cancel", f"{ARRAY}_4", ALONE)
    assert {line.split()[0] for line in one.out.splitlines()} == {member_id(4), ALONE}
    absent = await rainbow("cancel", ALONE, "000000000999")
    assert (absent.code, absent.out.split()[0]) == (77, ALONE)


async def test_cancel_of_many_is_told_in_a_line(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    ArrayDaemon(daemon, dict.fromkeys(range(50), "pending"), expands=False)
    assert (await rainbow("cancel", ARRAY)).out == "50 jobs of arrays: 50 cancelled\n"
    assert len((await rainbow("cancel", "--json", ARRAY)).out.splitlines()) == 50


async def test_wait_for_the_whole(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    ArrayDaemon(daemon, {1: "completed", 2: "completed"}, expands=False)
    done = await rainbow("wait", ARRAY)
    assert (done.code, done.out) == (0, f"{ARRAY} completed: 2 jobs: 2 completed\n")
    ArrayDaemon(daemon, {1: "completed", 2: "failed", 3: "cancelled"}, expands=False)
    done = await rainbow("wait", ARRAY)
    assert done.code == 67
    assert done.out.splitlines() == [
        f"{ARRAY}_2 failed with exit code 3",
        f"{ARRAY}_3 cancelled",
        f"{ARRAY} failed: 3 jobs: 1 cancelled, 1 failed, 1 completed",
    ]
    assert len((await rainbow("wait", "--all", ARRAY)).out.splitlines()) == 4
    assert len((await rainbow("wait", "--json", ARRAY)).out.splitlines()) == 3
    assert (await rainbow("wait", f"{ARRAY}_1")).code == 0


async def test_thousands_that_fail_are_counted(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    made = ArrayDaemon(daemon, {}, expands=False)
    made.all = [
        status(f"{number:012d}", "failed", exit_code=1, array=ARRAY, array_index=number) for number in range(2000, 2300)
    ]
    done = await rainbow("wait", ARRAY)
    assert len(done.out.splitlines()) == 101
    assert done.out.splitlines()[-1] == f"{ARRAY} failed: 300 jobs: 300 failed"
    assert done.err.count("are only counted") == 1
    assert len((await rainbow("wait", "--all", ARRAY)).out.splitlines()) == 301


async def test_submit_waits_for_an_array(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    made = ArrayDaemon(daemon, {1: "completed", 2: "completed"}, expands=False)
    result = {"job": ARRAY, "jobs": 2, "state": "pending"}
    daemon.handlers["submit"] = lambda _: [{"type": "submitted", "items": [result]}]
    done = await rainbow("submit", "--array", "1-2", "--wait", "--", "true")
    assert (done.code, done.out) == (0, f"{ARRAY}\n{ARRAY} completed: 2 jobs: 2 completed\n")
    assert orjson.loads((await rainbow("submit", "--array", "1-2", "--json", "--", "true")).out)["jobs"] == 2
    assert len(made.members) == 2


async def test_waiting_follows_members_to_their_end(configured: Path, daemon: FakeDaemon) -> None:
    made = ArrayDaemon(daemon, {1: "running", 2: "completed"}, expands=False)

    def watch(request: Message) -> list[Message]:
        made.members[0] |= {"state": "completed", "exit_code": 0}
        items = [event(job, 1, "completed", "completed") for job in request["jobs"]]
        return [{"type": "events", "items": items, "live": True}]

    daemon.handlers["watch"] = watch
    async with Client(daemon.url, [TOKEN]) as client:
        ended = await client.wait(ARRAY)
        assert [(one.array_index, one.state) for one in ended] == [(1, "completed"), (2, "completed")]
        with pytest.raises(UnknownJob):
            await client.wait(f"{ARRAY}[9]")


async def test_many_ends_at_once_are_asked_for_together(configured: Path, daemon: FakeDaemon) -> None:
    made = ArrayDaemon(daemon, dict.fromkeys(range(90), "running"), expands=False)

    def watch(request: Message) -> list[Message]:
        for one in made.members:
            one |= {"state": "completed", "exit_code": 0}
        items = [event(job, 1, "completed", "completed") for job in request["jobs"]]
        return [{"type": "events", "items": items, "live": True}]

    daemon.handlers["watch"] = watch
    told: list[str] = []
    async with Client(daemon.url, [TOKEN]) as client:
        ended = await client.wait(ARRAY, lambda one: told.append(one.job))
    assert len(told) == len(set(told)) == len(ended) == 90
    assert len(daemon.of_type("status")) < 10


async def test_logs_of_the_whole_in_the_order_of_indices(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon
) -> None:
    made = ArrayDaemon(daemon, {2: "completed", 1: "completed", 3: "pending"}, expands=False)

    def logs(request: Message) -> list[Message]:
        known = [one for one in made.all if one["job"] == request["job"]]
        if not known:
            return [{"type": "error", "code": "unknown_job", "message": "no", "hint": ""}]
        if known[0]["state"] == "pending":
            return [{"type": "error", "code": "no_output", "message": "has never run", "hint": ""}]
        text = b64encode(f"{known[0]['array_index']}\n".encode()).decode()
        return [
            {"type": "logs_answer", "chunks": [{"stream": "stdout", "offset": 0, "data": text}], "done": True},
        ]

    daemon.handlers["logs"] = logs
    done = await rainbow("logs", ARRAY)
    assert (done.code, done.out) == (0, "1\n2\n")
    assert done.err.splitlines() == [
        f"rainbow: {ARRAY}_1",
        f"rainbow: {ARRAY}_2",
        f"rainbow: {ARRAY}_3",
        f"rainbow: job {member_id(3)} is pending and has not started yet",
    ]
    assert (await rainbow("logs", f"{ARRAY}_2")).out == "2\n"
    documents = [orjson.loads(line) for line in (await rainbow("logs", "--json", ARRAY)).out.splitlines()]
    assert [(one["array_index"], one["data"]) for one in documents] == [(1, "1\n"), (2, "2\n")]
    assert (await rainbow("logs", "000000000999")).code == 77


async def test_a_job_after_a_member_and_after_the_whole(
    rainbow: Rainbow, array: ArrayDaemon, daemon: FakeDaemon
) -> None:
    done = await rainbow("submit", "--after-ok", f"{ARRAY}[7]", "--after", ARRAY, "--", "true")
    assert (done.code, done.err) == (0, "")
    [item] = daemon.of_type("submit")[0]["items"]
    assert item["request"]["wishes"]["after"] == [
        {"job": ARRAY, "until": "start"},
        {"job": member_id(7), "until": "ok"},
    ]
    assert (await rainbow("submit", "--after", f"{ARRAY}_5", "--", "true")).code == 77


async def test_explain_of_the_whole(rainbow: Rainbow, array: ArrayDaemon, daemon: FakeDaemon) -> None:
    def story(request: Message) -> list[Message]:
        if request["job"] == ARRAY:
            return [{"type": "error", "code": "unknown_job", "message": "no", "hint": ""}]
        told = {"job": request["job"], "state": "pending", "reason": "", "policy": "earliest", "winner": None}
        history = [event(request["job"], 1, "submitted", "pending")]
        return [{"type": "explanation", **told, "clusters": [], "bids": [], "history": history}]

    daemon.handlers["explain"] = story
    for one, words in (
        (3, "waits for others of its array: 2 may be out at once"),
        (7, "waits for others of its array"),
    ):
        next(known for known in array.members if known["array_index"] == one)["reason"] = words
    lines = (await rainbow("explain", ARRAY)).out.splitlines()
    assert lines[0] == f"Array {ARRAY}  running: 5 jobs: 1 failed, 1 completed, 1 running, 2 pending"
    assert lines[1].split() == ["JOBS", "STATE", "INDEX", "REASON"]
    assert "     1  pending    3      waits for others of its array: 2 may be out at once" in lines
    assert lines[-1] == f"`rainbow explain {ARRAY}_1` tells the story of one of them."
    document = orjson.loads((await rainbow("explain", "--json", ARRAY)).out)
    assert document["states"] == {"pending": 2, "running": 1, "completed": 1, "failed": 1}
    assert (await rainbow("explain", f"{ARRAY}[7]")).out.startswith(f"Job {member_id(7)}  pending")
    assert (await rainbow("explain", "--all", ARRAY)).out.count("What happened") == 5
    assert (await rainbow("explain", f"{ARRAY}[5]")).code == 77

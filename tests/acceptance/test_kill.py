"""SIGKILL at random moments while jobs flow: no answered job is lost, none runs twice, all end.

Each job appends its id to a file. The moment of each kill is drawn from how far the jobs have come, so that
it always falls while some are on their way.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rainbow_client.config import read_config
from rainbow_client.sync import Client
from rainbow_protocol.job import JobRequest, Shape
from tests.acceptance.commands import Commands, federation, until

ROUNDS = 20
JOBS_A_ROUND = 10


class Flow:
    """Submits jobs one by one from a thread of its own, as a user's program would, through every outage."""

    def __init__(self, commands: Commands, marks: Path) -> None:
        self._config = read_config(commands.directory / "rainbow-config.yaml")
        self._marks = marks
        self._wanted = threading.Semaphore(0)
        self._stop = False
        self.answered: list[str] = []
        self.problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def more(self, jobs: int) -> None:
        for _ in range(jobs):
            self._wanted.release()

    def progress(self) -> int:
        """Grows with every answer and with every run."""
        return len(self.answered) + len(ran(self._marks))

    def finish(self) -> None:
        self._stop = True
        self._wanted.release()
        self._thread.join()
        if self.problem is not None:
            raise self.problem

    def _run(self) -> None:
        script = f"echo $RAINBOW_JOB_ID >> {self._marks}; sleep 0.0$(($$ % 10))"
        request = JobRequest(command=["sh", "-c", script], shape=Shape(time_limit_s=60.0))
        try:
            with Client.from_config(self._config) as client:
                while True:
                    self._wanted.acquire()
                    if self._stop:
                        return
                    job = client.submit(request).job
                    assert job is not None
                    self.answered.append(job)
        except BaseException as problem:
            self.problem = problem


@contextmanager
def flowing(commands: Commands, marks: Path) -> Iterator[Flow]:
    flow = Flow(commands, marks)
    try:
        yield flow
    finally:
        flow.finish()


def ran(marks: Path) -> list[str]:
    return marks.read_text().split() if marks.exists() else []


AGENTS = ["small", "medium", "large"]


@pytest.mark.parametrize(
    ("victims", "rounds"),
    [
        pytest.param(["rainbowd"], ROUNDS, id="daemon"),
        pytest.param(AGENTS, ROUNDS, id="agents"),
        pytest.param(
            ["rainbowd", *AGENTS], ROUNDS * 10, id="anything", marks=[pytest.mark.soak, pytest.mark.timeout(3600)]
        ),
    ],
)
def test_kill_at_random_moments(tmp_path: Path, victims: list[str], rounds: int) -> None:
    jobs = rounds * JOBS_A_ROUND
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    marks = tmp_path / "marks"
    with federation(tmp_path / "f") as commands:
        with flowing(commands, marks) as flow:
            for _ in range(rounds):
                before = flow.progress()
                flow.more(JOBS_A_ROUND)
                goal = before + chance.randint(1, JOBS_A_ROUND * 2 - 1)
                until("jobs flow", lambda goal=goal: flow.problem or flow.progress() >= goal)
                commands.kill(chance.choice(victims))
                commands.up()
            until("all are answered", lambda: flow.problem or len(flow.answered) == jobs)
        with Client.from_config(read_config(commands.directory / "rainbow-config.yaml")) as client:
            ends = client.wait(flow.answered)
    states = Counter(end.state for end in ends)
    assert states == {"completed": jobs}, f"seed {seed}: {states}"
    twice = [job for job, times in Counter(ran(marks)).items() if times > 1]
    assert not twice, f"seed {seed}: ran twice: {twice}"
    assert sorted(ran(marks)) == sorted(flow.answered), f"seed {seed}"

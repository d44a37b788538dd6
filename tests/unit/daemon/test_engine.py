"""The loop: one commit for a batch, then the telling; nothing is told that is not on disk."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from rainbowd import engine as engine_module
from rainbowd.core import effects as fx
from rainbowd.core.commands import AgentReady, AgentState, Cancel, Known, NewJob, Origin, Submit
from rainbowd.core.transitions import JobState
from rainbowd.engine import Engine, steady_clock
from tests.sim.described import told
from tests.totals import Totals
from tests.unit.daemon import made


@dataclass
class Recording:
    """Store and outbox in one, so that the order between them is on record."""

    log: list[tuple[str, list[fx.Effect]]] = field(default_factory=list)
    known: dict[str, Known] = field(default_factory=dict)
    asked: list[list[str | None]] = field(default_factory=list)
    fails: Exception | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    committing: asyncio.Event = field(default_factory=asyncio.Event)
    delivered: asyncio.Event = field(default_factory=asyncio.Event)

    async def commit(self, effects: Iterable[fx.StoreEffect]) -> None:
        self.committing.set()
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        self.log.append(("commit", list(effects)))

    async def find_keys(self, items: Sequence[NewJob]) -> dict[int, Known]:
        self.asked.append([item.key for item in items])
        found = enumerate(item.key for item in items)
        return {position: self.known[key] for position, key in found if key is not None and key in self.known}

    def deliver(self, effects: Sequence[fx.Effect]) -> None:
        self.log.append(("deliver", list(effects)))
        self.delivered.set()

    def answers(self) -> list[fx.SubmitOutcome]:
        told = [effect for what, effects in self.log if what == "deliver" for effect in effects]
        return [outcome for effect in told if isinstance(effect, fx.AnswerSubmit) for outcome in effect.items]

    def steps(self) -> list[str]:
        return [what for what, _ in self.log]


@pytest.fixture
def world() -> Recording:
    recording = Recording()
    recording.gate.set()
    return recording


def make(world: Recording, clock: Callable[[], float] = lambda: 10.0, inbox: int = 100) -> Engine:
    core = made.core(made.cluster("red", Totals(1, 1)), restart_grace_s=0.0)
    return Engine(core, world, world, clock, inbox)


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(engine.run())
    try:
        yield task
    finally:
        engine.stop()
        await asyncio.wait([task])


# --- on disk before it is told --------------------------------------------


async def test_answers_from_memory_wait_for_the_commit(world: Recording) -> None:
    engine = make(world)
    assert await engine.on_disk()
    world.gate.clear()
    async with running(engine):
        await engine.put(made.submit(made.new_job()))
        await world.committing.wait()
        answers = [asyncio.create_task(engine.on_disk()) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(answer.done() for answer in answers)
        world.gate.set()
        assert await asyncio.gather(*answers) == [True, True]
        assert world.steps()[0] == "commit"


async def test_a_commit_that_failed_makes_no_answer_true(world: Recording) -> None:
    engine = make(world)
    world.gate.clear()
    world.fails = sqlite3.OperationalError("disk full")
    async with running(engine) as task:
        await engine.put(made.submit(made.new_job()))
        await world.committing.wait()
        answer = asyncio.create_task(engine.on_disk())
        await asyncio.sleep(0)
        world.gate.set()
        assert await answer is False
        with pytest.raises(sqlite3.OperationalError):
            await task
    assert await engine.on_disk() is False


async def test_a_batch_is_committed_before_any_of_it_is_delivered(world: Recording) -> None:
    engine = make(world)
    world.gate.clear()
    async with running(engine):
        await engine.put(made.submit(made.new_job()))
        await world.committing.wait()
        assert world.log == []
        world.gate.set()
        await world.delivered.wait()
    assert world.steps()[:2] == ["commit", "deliver"]
    (outcome,) = world.answers()
    saved = {effect.job.id for effect in world.log[0][1] if isinstance(effect, fx.SaveJob)}
    assert outcome.job in saved


async def test_only_what_is_to_be_stored_goes_to_the_store(world: Recording) -> None:
    engine = make(world)
    async with running(engine):
        await engine.put(made.submit(made.new_job()))
        await world.delivered.wait()
    for what, effects in world.log:
        stored = [isinstance(effect, fx.SaveJob | fx.SaveCluster | fx.Happened) for effect in effects]
        assert all(stored) == (what == "commit")


async def test_a_commit_that_fails_stops_the_engine_and_nothing_is_told(world: Recording) -> None:
    engine = make(world)
    world.fails = sqlite3.OperationalError("database or disk is full")
    await engine.put(made.submit(made.new_job()))
    with pytest.raises(sqlite3.OperationalError, match="full"):
        await engine.run()
    assert world.log == []


async def test_a_bug_in_the_core_stops_the_engine_and_nothing_of_the_batch_is_told(world: Recording) -> None:
    engine = make(world)
    await engine.put(made.submit(made.new_job()))
    await engine.put(Cancel(Origin(1, 1), cast(Any, [[]])))  # what no edge would ever send
    with pytest.raises(TypeError):
        await engine.run()
    assert world.log == []


async def test_what_restoring_wants_written_is_written_and_told_to_nobody(world: Recording) -> None:
    engine = make(world)
    job = made.job(state=JobState.AWARDED, cluster="red", attempt=3)
    effects = engine.core.restore([], [job], 0.0)
    await engine.commit_first(effects)
    assert world.steps() == ["commit"]
    assert [effect.job.state for effect in world.log[0][1] if isinstance(effect, fx.SaveJob)][-1] is JobState.PENDING


# --- batches --------------------------------------------------------------


async def test_what_arrives_during_a_commit_is_one_batch(world: Recording) -> None:
    engine = make(world)
    world.gate.clear()
    async with running(engine):
        await engine.put(made.submit(made.new_job()))
        await world.committing.wait()
        for _ in range(5):
            await engine.put(made.submit(made.new_job()))
        world.gate.set()
        await world.delivered.wait()
        engine.stop()
    assert world.steps() == ["commit", "deliver"] * 2
    assert len(world.answers()) == 6


async def test_a_batch_is_bounded(world: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "BATCH_COMMANDS_MAX", 3)
    engine = make(world)
    for _ in range(7):
        await engine.put(made.submit(made.new_job()))
    async with running(engine):
        pass
    assert world.steps() == ["commit", "deliver"] * 3
    assert len(world.answers()) == 7


async def test_jobs_that_have_ended_are_let_go_once_that_is_on_disk(world: Recording) -> None:
    engine = make(world)
    world.gate.clear()
    item = made.new_job(grants=("nowhere",))  # rejected at once
    async with running(engine):
        await engine.put(made.submit(item))
        await world.committing.wait()
        assert item.id in engine.core.world.jobs
        world.gate.set()
        await world.delivered.wait()
        assert item.id not in engine.core.world.jobs


# --- keys -----------------------------------------------------------------


async def test_keys_on_disk_are_put_to_the_command_that_asked(world: Recording) -> None:
    engine = make(world)
    world.known = {"a": Known("job of a", "completed", True), "b": Known("job of b", "failed", False)}
    await engine.put(made.submit(made.new_job(None), made.new_job("a")))
    await engine.put(AgentState(1, None))
    await engine.put(made.submit(made.new_job("b"), made.new_job("c"), made.new_job("a")))
    async with running(engine):
        await world.delivered.wait()
    first, second, third, fourth, fifth = world.answers()
    assert (second.job, second.state, second.duplicate) == ("job of a", "completed", True)
    assert (third.job, third.code) == (None, "key_reused")
    assert (fifth.job, fifth.duplicate) == ("job of a", True)
    assert not first.duplicate
    assert not fourth.duplicate
    assert world.asked == [[None, "a", "b", "c", "a"]]


async def test_no_lookup_without_anything_submitted(world: Recording) -> None:
    engine = make(world)
    await engine.put(AgentState(1, None))
    async with running(engine):
        pass
    assert world.asked == []


# --- the inbox ------------------------------------------------------------


async def test_a_full_inbox_makes_the_sender_wait_until_there_is_room(world: Recording) -> None:
    engine = make(world, inbox=2)
    for _ in range(2):
        await engine.put(made.submit(made.new_job()))
    third = asyncio.create_task(engine.put(made.submit(made.new_job())))
    await asyncio.sleep(0)
    assert not third.done()
    async with running(engine):
        await third
    assert len(world.answers()) == 3


async def test_the_end_of_a_session_is_taken_even_when_the_inbox_is_full(world: Recording) -> None:
    engine = make(world, inbox=1)
    await engine.put(made.submit(made.new_job()))
    engine.put_now(made.submit(made.new_job()))
    async with running(engine):
        pass
    assert len(world.answers()) == 2


async def test_many_senders_never_overfill_the_inbox(world: Recording) -> None:
    engine = make(world, inbox=4)
    seen: list[int] = []

    async def send() -> None:
        await engine.put(made.submit(made.new_job()))
        seen.append(len(engine._inbox))

    senders = [asyncio.create_task(send()) for _ in range(40)]
    async with running(engine):
        await asyncio.gather(*senders)
    assert max(seen) <= 4
    assert len(world.answers()) == 40


# --- stopping -------------------------------------------------------------


async def test_stop_finishes_what_is_in_the_inbox(world: Recording) -> None:
    engine = make(world)
    for _ in range(3):
        await engine.put(made.submit(made.new_job()))
    engine.stop()
    await engine.run()
    assert len(world.answers()) == 3


async def test_stop_while_idle_ends_it(world: Recording) -> None:
    engine = make(world)
    async with running(engine):
        pass
    assert world.answers() == []


@pytest.mark.parametrize("failing", [False, True])
async def test_who_waits_for_room_does_not_wait_for_an_engine_that_has_ended(world: Recording, failing: bool) -> None:
    engine = make(world, inbox=1)
    world.gate.clear()
    world.fails = sqlite3.OperationalError("disk I/O error") if failing else None
    task = asyncio.create_task(engine.run())
    await engine.put(made.submit(made.new_job()))
    await world.committing.wait()
    engine.stop()
    await engine.put(made.submit(made.new_job()))
    waiting = [asyncio.create_task(engine.put(made.submit(made.new_job()))) for _ in range(5)]
    world.gate.set()
    await asyncio.wait([task])
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting)
        await engine.put(made.submit(made.new_job()))
    assert (task.exception() is not None) == failing


# --- time -----------------------------------------------------------------


async def test_a_deadline_fires_by_itself(world: Recording) -> None:
    engine = make(world, steady_clock())
    engine.core.world.timers.clear()
    engine.core.world.settings = made.core(bid_window_s=0.01).world.settings
    ready = AgentReady(1, "red", "agent-id", told(Totals(1, 1), "agent"), None, [])
    item = made.new_job()
    await engine.put(ready)
    await engine.put(made.submit(item))
    async with running(engine), asyncio.timeout(10):
        while not any(isinstance(e, fx.Happened) and e.event == "declined" for _, batch in world.log for e in batch):
            world.delivered.clear()
            await world.delivered.wait()
    assert (
        engine.core.world.jobs[item.id].reason == "every cluster that was asked said No (red: did not answer in time)"
    )


def test_the_clock_never_goes_back() -> None:
    clock = steady_clock()
    times = [clock() for _ in range(1_000)]
    assert times == sorted(times)


async def test_a_submit_is_told_the_state_after_the_first_look(world: Recording) -> None:
    engine = make(world)
    command: Submit = made.submit(made.new_job(grants=("nowhere",)), made.new_job())
    await engine.put(command)
    async with running(engine):
        pass
    assert [outcome.state for outcome in world.answers()] == ["rejected", "pending"]

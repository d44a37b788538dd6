"""How the agent keeps its session: handshake, refusals, farewells, and what it remembers across a break."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from rainbow_agent.app import Agent
from rainbow_agent.session import RefusedError
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.common import Error, Goodbye
from tests.integration.agent.conftest import StartAgent, running_agent
from tests.integration.agent.fake_daemon import FakeDaemon


async def test_the_handshake(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent(settings):
        hello, inventory = await daemon.greet()
        assert daemon.connection is not None
        assert daemon.connection.subprotocol == "rainbow.v1"
        assert daemon.headers is not None
        assert "Sec-WebSocket-Extensions" not in daemon.headers
        assert hello.backend == "local"
        assert (hello.resources.nodes, hello.resources.cores_per_node, hello.resources.gpus_per_node) == (2, 2, 0)
        assert hello.free is not None
        assert hello.free.cores == 4
        assert inventory == []


async def test_the_agent_keeps_its_id(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    ids = set()
    for _ in range(2):
        async with running_agent(settings):
            hello, _ = await daemon.greet()
            ids.add(hello.agent_id)
    assert len(ids) == 1


async def test_a_wrong_secret_ends_the_agent_with_words(daemon: FakeDaemon, start_agent: StartAgent) -> None:
    agent = await start_agent(secret="rbs_wrong")
    _, words = await agent.process.communicate()
    assert agent.process.returncode == 3
    assert b"does not know this cluster's secret" in words
    assert b"register it anew with `rainbow register cluster NAME`" in words


async def test_a_secret_that_stops_working_is_tried_again(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    """Jobs may be running: an agent that was welcome once does not leave them alone."""
    async with running_agent(settings) as agent:
        agent._connector._backoff.cap_s = 0.05
        await daemon.greet()
        daemon.secret = "rbs_other"
        assert daemon.connection is not None
        await daemon.connection.close()
        async with asyncio.timeout(10):
            await daemon.refused.wait()
        daemon.secret = settings["secret"]
        await daemon.greet()


async def test_sent_away_for_good(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async def live() -> None:
        async with running_agent(settings):
            await daemon.greet()
            await daemon.send(Goodbye(reason="the cluster was removed", reconnect=False))
            assert daemon.connection is not None
            await daemon.connection.wait_closed()

    with pytest.raises(RefusedError, match="sent this agent away: the cluster was removed"):
        await live()


@pytest.mark.parametrize("polite", [True, False])
async def test_it_comes_back(daemon: FakeDaemon, settings: dict[str, Any], polite: bool) -> None:
    async with running_agent(settings):
        await daemon.greet()
        accepted = await daemon.accept(JobRequest(command=["true"]))
        started = await daemon.start("sleep", "300")
        await daemon.report(started, "running")
        assert daemon.connection is not None
        if polite:
            await daemon.send(Goodbye(reason="restart"))
        else:
            daemon.connection.transport.abort()
        _, inventory = await daemon.greet()
        assert {item.job: item.phase for item in inventory} == {accepted.job: "accepted", started.job: "started"}
        again = await daemon.report(started, "running")
        assert again.seq == 1
        await daemon.cancel(started)
        assert (await daemon.end(started)).event == "cancelled"


async def test_it_comes_back_from_a_transport_that_fails_when_closed_twice(
    daemon: FakeDaemon, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Python 3.11's does after closing with bytes unsent; it must not end the agent."""
    failures = []

    def abort(transport: asyncio.WriteTransport) -> None:
        failures.append(transport)
        raise AttributeError("'NoneType' object has no attribute 'call_soon'")

    async with running_agent(settings):
        await daemon.greet()
        assert daemon.connection is not None
        monkeypatch.setattr("asyncio.selector_events._SelectorTransport.abort", abort)
        await daemon.connection.close()
        await daemon.greet()
        assert failures
        assert (await daemon.offer(Shape()))[0].answer == "yes"
        monkeypatch.undo()


async def test_it_waits_for_a_daemon_that_is_not_there_yet(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    port = daemon.port
    await daemon.close()
    async with running_agent(settings):
        await daemon.listen(port)
        await daemon.greet()


async def test_holds_die_with_the_session(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent(settings):
        await daemon.greet()
        whole = Shape(tasks=4)
        assert (await daemon.offer(whole))[0].eta_s == 0.0
        assert (await daemon.offer(whole))[0].eta_s != 0.0
        assert daemon.connection is not None
        await daemon.connection.close()
        await daemon.greet()
        assert (await daemon.offer(whole))[0].eta_s == 0.0


async def test_a_frame_that_makes_no_sense_is_answered(daemon: FakeDaemon, agent: Agent) -> None:
    assert daemon.connection is not None
    await daemon.connection.send('{"type": "sing"}')
    assert (await daemon.expect(Error)).code == "unknown_type"
    assert (await daemon.offer(Shape()))[0].answer == "yes"


async def test_a_busy_cluster_is_not_hammered(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent(settings) as agent:
        await daemon.session()
        await daemon.send(Error(code="cluster_busy", message="another agent speaks for tested"))
        assert daemon.connection is not None
        await daemon.connection.close()
        await daemon.connection.wait_closed()
        assert agent._connector._slow


async def test_refusals_of_awards(daemon: FakeDaemon, agent: Agent) -> None:
    """One whose bid has lapsed is taken only if the job could start at once; one that nobody asked about may wait."""

    async def award(shape: Shape, job: str | None = None) -> wire.AwardAnswer:
        request = JobRequest(command=["sleep", "300"], shape=shape)
        await daemon.send(wire.Awards(items=[wire.Award(job=job or daemon.new_job(), attempt=1, request=request)]))
        return (await daemon.expect(wire.AwardAnswers)).items[0]

    first, second = await daemon.offer(Shape(tasks=4), Shape(tasks=4), hold_s=0.0)
    assert (await award(Shape(tasks=4), first.job)).answer == "accept"
    taken = await award(Shape(tasks=4), second.job)
    assert (taken.answer, taken.reason) == ("refuse", "the bid has lapsed, and its place is taken")
    assert (await award(Shape())).answer == "accept"
    impossible = await award(Shape(cores_per_task=3))
    assert (impossible.answer, impossible.reason) == ("refuse", "needs 3 cores on one node, nodes have 2")


async def test_no_comes_with_its_reason(daemon: FakeDaemon, agent: Agent) -> None:
    bids = await daemon.offer(Shape(cores_per_task=65), Shape(nodes=3, tasks=3), Shape(tasks=5), Shape(gpus_per_task=1))
    assert [bid.reason for bid in bids] == [
        "needs 65 cores on one node, nodes have 2",
        "needs 3 nodes, there are 2",
        "needs room for 5 tasks of 1 core, the cluster has room for 4",
        "needs 1 gpu on one node, nodes have 0",
    ]


async def test_releases_give_the_place_back(daemon: FakeDaemon, agent: Agent) -> None:
    [held] = await daemon.offer(Shape(tasks=4))
    accepted = await daemon.accept(JobRequest(command=["true"]))
    await daemon.send(
        wire.Releases(items=[wire.AttemptRef(job=held.job, attempt=1), accepted]),
    )
    assert (await daemon.offer(Shape(tasks=4)))[0].eta_s == 0.0


async def test_a_hold_lapses(daemon: FakeDaemon, agent: Agent) -> None:
    await daemon.offer(Shape(tasks=4), hold_s=0.05)
    async with asyncio.timeout(10):
        while (await daemon.offer(Shape(tasks=4), hold_s=0.0))[0].eta_s != 0.0:
            pass


async def test_a_workdir_that_vanishes_makes_no_black_hole(
    daemon: FakeDaemon, settings: dict[str, Any], tmp_path: Path
) -> None:
    """What was accepted is handed back unrun, and nothing more is taken for a while."""
    workdir = tmp_path / "work"
    workdir.mkdir()
    async with running_agent({**settings, "workdir": workdir}):
        await daemon.greet()
        assert (await daemon.end(await daemon.start("true"))).event == "completed"
        ref = await daemon.accept(JobRequest(command=["true"]))
        named = await daemon.accept(JobRequest(command=["true"], cwd="/no/such/place"))
        workdir.rmdir()
        await daemon.send(wire.Starts(items=[ref, named]))
        returned = await daemon.end(ref)
        assert (returned.event, returned.seq, returned.exit_code) == ("returned", 1, None)
        words = f"the working directory {workdir} cannot be entered: No such file or directory"
        assert words in returned.reason
        [bid] = await daemon.offer(Shape())
        assert bid.answer == "no"
        assert words in bid.reason
        # A directory that the job itself names is the job's mistake, here as anywhere.
        failed = await daemon.end(named)
        assert (failed.event, failed.exit_code) == ("failed", 126)


async def test_the_daemon_knows_best_which_cluster_this_is(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    with capture_logs() as logs:
        async with running_agent({**settings, "name": "other"}):
            await daemon.greet()
            ref = await daemon.start("sh", "-c", "echo $RAINBOW_CLUSTER")
            await daemon.end(ref)
            assert await daemon.output(ref) == (b"tested\n", b"")
            assert daemon.connection is not None
            await daemon.connection.close()
            await daemon.greet()
    [warning] = [line["event"] for line in logs if "this secret belongs" in line["event"]]
    assert warning == (
        "this secret belongs to cluster 'tested', but the configuration says 'other'; jobs see RAINBOW_CLUSTER=tested"
    )


async def test_the_log_tells_how_jobs_ended(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    with capture_logs() as logs:
        async with running_agent(settings):
            await daemon.greet()
            done = await daemon.start("true")
            await daemon.end(done)
            missing = await daemon.start("no-such-command")
            await daemon.end(missing)
    told = {line["job"]: line for line in logs if line["event"] == "job finished"}
    assert (told[done.job]["outcome"], told[done.job]["exit_code"]) == ("completed", 0)
    assert (told[missing.job]["outcome"], told[missing.job]["exit_code"]) == ("failed", 127)
    [warning] = [line for line in logs if line["event"] == "a job could not be started"]
    assert (warning["job"], warning["log_level"]) == (missing.job, "warning")
    assert warning["words"] == "command not found: no-such-command"

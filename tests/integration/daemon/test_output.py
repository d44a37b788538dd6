"""Logs: one question to the cluster that ran the job, one answer back."""

import base64

from tests.integration.daemon.conftest import Federation
from tests.integration.daemon.peers import Message

HELLO = base64.b64encode(b"hello\n").decode()


async def running(federation: Federation) -> Message:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.report(started, 1, "running")
    await federation.agent.item("acks")
    return started


async def test_the_question_reaches_the_agent_and_its_answer_the_client(federation: Federation) -> None:
    started = await running(federation)
    ref = await federation.client.request("logs", job=started["job"], stdout_offset=6, stderr_offset=1, wait_s=2.5)
    asked = await federation.agent.get("read_output")
    assert asked == {
        "type": "read_output", "request": asked["request"], "job": started["job"], "attempt": started["attempt"],
        "stdout_offset": 6, "stderr_offset": 1, "wait_s": 2.5,
    }  # fmt: skip
    chunks = [{"stream": "stdout", "offset": 6, "data": HELLO}]
    answer = {"type": "output", "request": asked["request"], "chunks": chunks, "done": True, "truncated": True}
    await federation.agent.send(answer)
    assert await federation.client.answer(ref) == {
        "type": "logs_answer", "ref": ref, "chunks": chunks, "done": True, "truncated": True,
    }  # fmt: skip


async def test_output_can_be_read_after_the_end(federation: Federation) -> None:
    job = await federation.client.submit()
    await federation.agent.run(job)
    ref = await federation.client.request("logs", job=job)
    asked = await federation.agent.get("read_output")
    await federation.agent.send({"type": "output", "request": asked["request"], "chunks": [], "done": True})
    assert (await federation.client.answer(ref))["done"] is True


async def test_answers_come_in_any_order_each_to_whoever_asked(federation: Federation) -> None:
    started = await running(federation)
    other = await federation.new_client(federation.cluster)
    first = await federation.client.request("logs", job=started["job"], stdout_offset=1)
    one = await federation.agent.get("read_output")
    second = await other.request("logs", job=started["job"], stdout_offset=2)
    two = await federation.agent.get("read_output")
    for asked in (two, one):
        chunks = [{"stream": "stdout", "offset": asked["stdout_offset"], "data": HELLO}]
        await federation.agent.send({"type": "output", "request": asked["request"], "chunks": chunks, "done": False})
    assert (await federation.client.answer(first))["chunks"][0]["offset"] == 1
    assert (await other.answer(second))["chunks"][0]["offset"] == 2


async def test_who_waits_for_output_can_do_other_things_meanwhile(federation: Federation) -> None:
    started = await running(federation)
    ref = await federation.client.request("logs", job=started["job"], wait_s=30)
    asked = await federation.agent.get("read_output")
    assert (await federation.client.status(started["job"]))["state"] == "running"
    await federation.agent.send({"type": "output", "request": asked["request"], "chunks": [], "done": False})
    assert (await federation.client.answer(ref))["type"] == "logs_answer"


async def test_there_is_a_limit_to_how_many_are_waited_for(federation: Federation) -> None:
    started = await running(federation)
    refs = [await federation.client.request("logs", job=started["job"], wait_s=30) for _ in range(65)]
    refusal = await federation.client.get("error")
    assert (refusal["code"], refusal["ref"]) == ("too_many", refs[-1])


async def test_a_job_that_has_not_started_has_no_output(federation: Federation) -> None:
    job = await federation.client.submit()
    refusal = await federation.client.ask("logs", job=job)
    assert refusal["code"] == "no_output"
    assert "offered" in refusal["message"]


async def test_a_cluster_that_is_away_is_said_to_be(federation: Federation) -> None:
    started = await running(federation)
    await federation.agent.socket.close()
    refusal = await federation.client.ask("logs", job=started["job"], wait_s=30)
    assert refusal["code"] == "cluster_offline"
    assert federation.cluster.name in refusal["message"]


async def test_an_agent_that_dies_before_its_answer_ends_the_waiting_at_once(federation: Federation) -> None:
    started = await running(federation)
    refs = [await federation.client.request("logs", job=started["job"], wait_s=30) for _ in range(3)]
    for _ in refs:
        await federation.agent.get("read_output")
    federation.agent.socket.transport.abort()
    for ref in refs:
        assert (await federation.client.answer(ref))["code"] == "cluster_offline"


async def test_an_answer_of_another_cluster_is_not_taken(federation: Federation) -> None:
    started = await running(federation)
    stranger = await federation.new_agent(await federation.new_cluster())
    ref = await federation.client.request("logs", job=started["job"])
    asked = await federation.agent.get("read_output")
    forged = [{"stream": "stdout", "offset": 0, "data": base64.b64encode(b"forged").decode()}]
    await stranger.send({"type": "output", "request": asked["request"], "chunks": forged, "done": True})
    await stranger.report({"job": started["job"], "attempt": 9}, 1, "running")
    await stranger.item("acks")  # the forged one was read before this
    await federation.agent.send({"type": "output", "request": asked["request"], "chunks": [], "done": False})
    assert (await federation.client.answer(ref))["chunks"] == []


async def test_what_the_agent_cannot_give_is_told_in_its_words(federation: Federation) -> None:
    started = await running(federation)
    ref = await federation.client.request("logs", job=started["job"])
    asked = await federation.agent.get("read_output")
    answer = {"type": "output", "request": asked["request"], "chunks": [], "done": True, "error": "was removed"}
    await federation.agent.send(answer)
    refusal = await federation.client.answer(ref)
    assert (refusal["code"], refusal["message"]) == ("no_output", f"{federation.cluster.name}: was removed")


async def test_an_answer_for_a_client_that_has_gone_disturbs_nobody(federation: Federation) -> None:
    started = await running(federation)
    leaving = await federation.new_client(federation.cluster)
    await leaving.request("logs", job=started["job"], wait_s=30)
    asked = await federation.agent.get("read_output")
    await leaving.socket.close()
    await federation.agent.send({"type": "output", "request": asked["request"], "chunks": [], "done": False})
    await federation.agent.report(started, 2, "completed", exit_code=0)
    await federation.agent.item("acks")
    assert (await federation.client.status(started["job"]))["state"] == "completed"

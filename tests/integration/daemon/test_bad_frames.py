"""Frames that cannot be taken: a stable code, the session goes on, and nobody else notices."""

import json
from contextlib import suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from rainbow_protocol import limits
from tests.integration.daemon.conftest import Federation
from tests.integration.daemon.peers import Message

DEEP = '{"type": "status", "id": 9, "jobs": ' + "[" * 100_000 + "]" * 100_000 + "}"
JOB = "0" * limits.JOB_ID_CHARS
NO = {"job": JOB, "attempt": 1, "answer": "no"}


def frame(**fields: Any) -> str:
    return json.dumps(fields, separators=(",", ":"))


def submit(request: Any = None, **shape: Any) -> str:
    return frame(type="submit", id=9, items=[{"request": request or {"command": ["true"], "shape": shape}}])


ANYWHERE = [
    ("", "malformed"),
    ("hello", "malformed"),
    ("{", "malformed"),
    ('{"type": "status", "id": 9, "jobs": ["' + JOB, "malformed"),
    ("null", "malformed"),
    ("7", "malformed"),
    ('"status"', "malformed"),
    ("[]", "malformed"),
    ('[{"type": "clusters", "id": 9}]', "malformed"),
    ("{}", "malformed"),
    ('{"type": null}', "malformed"),
    ('{"type": 5}', "malformed"),
    ('{"type": ["state"]}', "malformed"),
    (b'{"type": "clusters", "id": 9}', "malformed"),
    (b"\x00\xff", "malformed"),
    ("\u0000", "malformed"),
    ('{"type": "clusters", "id": NaN}', "malformed"),
    ('{"type": "clusters", "id": Infinity}', "malformed"),
    ('{"type": "clusters", "id": 1e999}', "malformed"),
    ('{"type": "\\ud800"}', "malformed"),
    (DEEP, "malformed"),
    (frame(type="nonsense"), "unknown_type"),
    (frame(type=""), "unknown_type"),
    (frame(type="x" * 100_000), "unknown_type"),
    (frame(type="Goodbye"), "unknown_type"),
]
FROM_CLIENTS = [
    *ANYWHERE,
    (frame(type="bids", items=[]), "unknown_type"),
    (frame(type="welcome", ref=1, version="x", clusters=[]), "unknown_type"),
    (frame(type="clusters"), "invalid"),
    (frame(type="clusters", id=None), "invalid"),
    (frame(type="clusters", id="9"), "invalid"),
    (frame(type="clusters", id=9.0), "invalid"),
    (frame(type="clusters", id=True), "invalid"),
    (frame(type="clusters", id=-1), "invalid"),
    (frame(type="clusters", id=2**53), "invalid"),
    ('{"type": "clusters", "id": 1' + "0" * 400 + "}", "malformed"),
    (frame(type="status", id=9), "invalid"),
    (frame(type="status", id=9, jobs=[]), "invalid"),
    (frame(type="status", id=9, jobs=JOB), "invalid"),
    (frame(type="status", id=9, jobs=[JOB.upper() + "x"]), "invalid"),
    (frame(type="status", id=9, jobs=[JOB + "\n"]), "invalid"),
    (frame(type="status", id=9, jobs=[{"id": JOB}]), "invalid"),
    (frame(type="status", id=9, jobs=[JOB] * (limits.BATCH_ITEMS_MAX + 1)), "too_large"),
    (frame(type="submit", id=9, items=[]), "invalid"),
    (frame(type="submit", id=9, items=[{}]), "invalid"),
    (frame(type="submit", id=9, items=[{"request": {"command": ["x"]}}] * (limits.BATCH_ITEMS_MAX + 1)), "too_large"),
    (frame(type="submit", id=9, items=[{"request": {"command": ["x"]}, "key": ""}]), "invalid"),
    (frame(type="submit", id=9, items=[{"request": {"command": ["x"]}, "key": "k" * 129}]), "invalid"),
    (submit({"command": []}), "invalid"),
    (submit({"command": "true"}), "invalid"),
    (submit({"command": [""]}), "invalid"),
    (submit({"command": ["a\0b"]}), "invalid"),
    (submit({"command": [1]}), "invalid"),
    (submit({"command": ["x"] * (limits.COMMAND_WORDS_MAX + 1)}), "invalid"),
    (submit({"command": ["x"], "env": {"A=B": "c"}}), "invalid"),
    (submit({"command": ["x"], "env": {"A": 1}}), "invalid"),
    (submit({"command": ["x"], "env": {str(number): "" for number in range(2_000)}}), "invalid"),
    (submit({"command": ["x"], "name": "two\nlines"}), "invalid"),
    (submit({"command": ["x"], "clusters": []}), "invalid"),
    (submit({"command": ["x"], "clusters": ["../etc"]}), "invalid"),
    *[(submit(**{key: value}), "invalid") for key in ("tasks", "nodes", "cores_per_task") for value in (-1, 0, 10**12)],
    (submit(gpus_per_task=-1), "invalid"),
    (submit(gpus_per_task=10**12), "invalid"),
    (submit(tasks=10**30), "invalid"),
    (submit(tasks=1.5), "invalid"),
    (submit(tasks="2"), "invalid"),
    (submit(nodes=3, tasks=2), "invalid"),
    (submit(time_limit_s=0), "invalid"),
    (submit(time_limit_s=-5), "invalid"),
    (submit(time_limit_s=1e12), "invalid"),
    (frame(type="list", id=9, limit=0), "invalid"),
    (frame(type="list", id=9, limit=10**12), "invalid"),
    (frame(type="list", id=9, states=["sleeping"]), "invalid"),
    (frame(type="watch", id=9, jobs=[JOB], since=-1), "invalid"),
    (frame(type="logs", id=9, job=JOB, stdout_offset=-1), "invalid"),
    (frame(type="logs", id=9, job=JOB, stdout_offset=10**18), "invalid"),
    (frame(type="logs", id=9, job=JOB, wait_s=1e9), "invalid"),
    (frame(type="hello", id=9, tokens=["x"] * (limits.TOKENS_MAX + 1)), "too_large"),
    (frame(type="hello", id=9, tokens=[""]), "invalid"),
    (frame(type="register_cluster", id=9, name="Not A Label"), "invalid"),
]


def bid(**fields: Any) -> str:
    return frame(type="bids", items=[{"job": JOB, "attempt": 1, "answer": "yes", "eta_s": 1, "cost": 1, **fields}])


def report(**fields: Any) -> str:
    return frame(type="reports", items=[{"job": JOB, "attempt": 1, "seq": 1, "event": "running", "at": 1, **fields}])


FROM_AGENTS = [
    *ANYWHERE,
    (frame(type="submit", id=9, items=[]), "unknown_type"),
    (frame(type="bids"), "invalid"),
    (frame(type="bids", items=[]), "invalid"),
    (frame(type="bids", items={}), "invalid"),
    (frame(type="bids", items=[None]), "invalid"),
    (frame(type="bids", items=[NO] * (limits.BATCH_ITEMS_MAX + 1)), "too_large"),
    (bid(attempt=0), "invalid"),
    (bid(attempt=10**12), "invalid"),
    (bid(answer="maybe"), "invalid"),
    (bid(eta_s=None), "invalid"),
    (bid(eta_s=-1), "invalid"),
    (bid(eta_s=1e300), "invalid"),
    (bid(cost=-0.01), "invalid"),
    (bid(reason="x" * 501), "invalid"),
    (bid().replace('"cost":1', '"cost":NaN'), "malformed"),
    (frame(type="award_answers", items=[{"job": JOB, "attempt": 1, "answer": "yes"}]), "invalid"),
    (report(seq=0), "invalid"),
    (report(event="exploded"), "invalid"),
    (report(at=-1), "invalid"),
    (report(at="now"), "invalid"),
    (report(exit_code=10**12), "invalid"),
    (report(native_id="two\nlines"), "invalid"),
    (frame(type="state"), "invalid"),
    (frame(type="state", free={"nodes": -1, "cores": 0}), "invalid"),
    (frame(type="state", free={"nodes": 0, "cores": 10**12}), "invalid"),
    (frame(type="output", request=-1, chunks=[], done=True), "invalid"),
    (frame(type="output", request=1, chunks=[{}] * 3, done=True), "too_large"),
    (frame(type="inventory", items=[], last=True), "invalid"),
    (frame(type="hello", agent_id="agent-of-the-tests", version="1", backend="t",
           resources={"nodes": 1, "cores_per_node": 1}), "invalid"),
]  # fmt: skip


def names(cases: list[tuple[Any, str]]) -> list[str]:
    return [f"{number}-{code}-{str(frame)[:40]}" for number, (frame, code) in enumerate(cases)]


async def completes(federation: Federation) -> None:
    """A job of a bystander, from submit to its end."""
    cluster = await federation.new_cluster()
    agent, client = await federation.new_agent(cluster), await federation.new_client(cluster)
    job = await client.submit()
    await agent.run(job)
    assert (await client.status(job))["state"] == "completed"


def check(refusal: Message, code: str) -> None:
    assert (refusal["type"], refusal["code"]) == ("error", code), refusal
    assert refusal["message"]
    assert refusal["hint"]
    assert len(refusal["message"]) < 2_000


async def test_bad_frames_of_a_client_are_answered_each_and_the_session_goes_on(federation: Federation) -> None:
    client = federation.client
    for number, (bad, code) in enumerate(FROM_CLIENTS):
        await client.send(bad)
        refusal = await client.receive()
        try:
            check(refusal, code)
        except AssertionError as problem:
            raise AssertionError(f"frame {names(FROM_CLIENTS)[number]}: {problem}") from None
        if code in ("invalid", "too_large") and '"id":9,' in str(bad):
            assert refusal["ref"] == 9, bad
    assert (await client.ask("list"))["items"] == []  # nothing of all this took effect
    job = await client.submit()
    await federation.agent.run(job)
    assert (await client.status(job))["state"] == "completed"
    await completes(federation)


async def test_bad_frames_of_an_agent_are_answered_each_and_the_session_goes_on(federation: Federation) -> None:
    agent = federation.agent
    for number, (bad, code) in enumerate(FROM_AGENTS):
        await agent.send(bad)
        refusal = await agent.receive()
        try:
            check(refusal, code)
        except AssertionError as problem:
            raise AssertionError(f"frame {names(FROM_AGENTS)[number]}: {problem}") from None
    job = await federation.client.submit()
    await agent.run(job)
    assert (await federation.client.status(job))["state"] == "completed"
    await completes(federation)


async def test_one_bad_item_spoils_its_batch_and_nothing_of_it_takes_effect(federation: Federation) -> None:
    good = {"request": {"command": ["true"]}}
    refusal = await federation.client.ask("submit", items=[good, {"request": {"command": []}}, good])
    assert refusal["code"] == "invalid"
    assert "items.1.request.command" in refusal["message"]
    assert (await federation.client.ask("list"))["items"] == []


async def test_unknown_fields_are_ignored_everywhere(federation: Federation) -> None:
    request = {"command": ["true"], "shape": {"tasks": 1, "colour": "red"}, "mood": "good"}
    answer = await federation.client.ask("submit", items=[{"request": request, "extra": 1}], more={"x": []})
    job = answer["items"][0]["job"]
    offer = await federation.agent.item("offers", job)
    assert "colour" not in offer["shape"]
    await federation.agent.bid(offer, weather="fine")
    award = await federation.agent.item("awards", job)
    assert award["request"] == {"command": ["true"]}


@pytest.mark.parametrize("role", ["client", "agent"])
async def test_a_frame_beyond_the_limit_ends_only_the_session_that_sent_it(federation: Federation, role: str) -> None:
    peer = federation.client if role == "client" else federation.agent
    with suppress(ConnectionClosed):  # it may be closed before the last byte has left
        await peer.send('{"type": "clusters", "id": 1, "x": "' + "x" * limits.FRAME_BYTES_MAX + '"}')
    assert await peer.closed() == 1009
    await completes(federation)


async def test_a_frame_of_exactly_the_limit_is_read(federation: Federation) -> None:
    head, tail = '{"type": "clusters", "id": 77, "x": "', '"}'
    await federation.client.send(head + "x" * (limits.FRAME_BYTES_MAX - len(head) - len(tail)) + tail)
    assert (await federation.client.answer(77))["type"] == "cluster_list"


async def test_a_flood_of_bad_frames_is_answered_to_the_last(federation: Federation) -> None:
    count = 2_000
    for _ in range(count):
        await federation.client.send("nonsense")
    for _ in range(count):
        check(await federation.client.receive(), "malformed")
    await completes(federation)


async def test_text_that_is_not_utf_8_ends_only_that_session(federation: Federation) -> None:
    await federation.client.socket.send(b'{"type": "\xff"}', text=True)
    assert await federation.client.closed() == 1007
    await completes(federation)


async def test_errors_and_farewells_of_peers_are_taken_without_an_answer(federation: Federation) -> None:
    for peer in (federation.client, federation.agent):
        await peer.send(frame(type="error", code="anything", message="words\nof mine"))
        await peer.send(frame(type="goodbye", reason="tired"))
    assert (await federation.client.ask("clusters"))["items"][0]["state"] == "online"
    assert federation.client.left() == []

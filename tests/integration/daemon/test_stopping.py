"""The end of a daemon, in good order and not, and what the next one finds."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.integration.daemon.conftest import Federate, Federation, StartDaemon
from tests.integration.daemon.peers import AgentPeer, ClientPeer, Message, StuckClient
from tests.integration.daemon.process import DaemonProcess


async def back(daemon: DaemonProcess, federation: Federation, *inventory: tuple[str, int, str]) -> AgentPeer:
    """The agent's next session, after a restart."""
    agent = await federation.stack.enter_async_context(AgentPeer(daemon.url, federation.cluster))
    return await agent.introduce(inventory=inventory)


async def client_of(daemon: DaemonProcess, federation: Federation) -> ClientPeer:
    return await federation.stack.enter_async_context(ClientPeer(daemon.url, federation.cluster.token))


# --- in good order --------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_says_goodbye_to_everybody_and_exits_0(
    new_daemon: StartDaemon, federate: Federate, number: signal.Signals
) -> None:
    daemon = new_daemon().start()
    federation = await federate(daemon)
    job = await federation.client.submit()
    daemon.send(number)
    for peer in (federation.agent, federation.client):
        goodbye = await peer.get("goodbye")
        assert goodbye["reconnect"] is True
        assert await peer.closed() == 1001
    assert await asyncio.to_thread(daemon.wait) == 0
    daemon.check_log()
    assert not (daemon.directory / "ready").exists()
    daemon.start()
    assert (await (await client_of(daemon, federation)).status(job))["state"] == "pending"


async def test_what_was_sent_before_the_signal_is_finished(new_daemon: StartDaemon, federate: Federate) -> None:
    """Every job of requests that were on their way is answered, or is not there."""
    daemon = new_daemon().start()
    federation = await federate(daemon)
    items = [{"request": {"command": ["x"]}}] * 20
    refs = [await federation.client.request("submit", items=items) for _ in range(50)]
    first = await federation.client.answer(refs[0])
    daemon.send(signal.SIGTERM)
    await federation.client.closed()
    answered = [first, *(message for message in federation.client.left() if message["type"] == "submitted")]
    jobs = {item["job"] for answer in answered for item in answer["items"]}
    assert await asyncio.to_thread(daemon.wait) == 0
    daemon.check_log()
    with closing(sqlite3.connect(daemon.database)) as connection:
        stored = {row[0] for row in connection.execute("SELECT id FROM jobs")}
    assert jobs == stored


async def test_peers_that_read_nothing_or_say_nothing_cannot_hold_up_the_end(
    new_daemon: StartDaemon, federate: Federate
) -> None:
    daemon = new_daemon().start()
    federation = await federate(daemon)
    parts = urlsplit(daemon.url)
    _, silent = await asyncio.open_connection(parts.hostname, parts.port)
    async with StuckClient(daemon.url, federation.cluster.token) as stuck:
        await stuck.ask_and_never_read(3_000)
        daemon.send(signal.SIGTERM)
        assert await federation.client.closed() == 1001
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(daemon.wait) == 0
    silent.close()
    daemon.check_log()


# --- without a warning ----------------------------------------------------


async def test_after_a_kill_every_answered_job_is_there_and_takes_its_next_attempt(
    new_daemon: StartDaemon, federate: Federate
) -> None:
    daemon = new_daemon().start()
    federation = await federate(daemon)
    client, agent = federation.client, federation.agent
    offered = await client.submit("offered")
    offer = await agent.item("offers", offered)
    awarded = await client.submit("awarded")
    await agent.bid(await agent.item("offers", awarded))
    award = await agent.item("awards", awarded)
    started = await agent.take(await client.submit("assigned"))
    running = await agent.take(await client.submit("running"))
    await agent.report(running, 1, "running")
    await agent.item("acks")
    done = await client.submit("done")
    await agent.run(done)
    cancelled = await client.submit("cancelled")
    await client.ask("cancel", jobs=[cancelled])

    await daemon.crash()
    client = await client_of(daemon, federation)
    jobs = [offered, awarded, started["job"], running["job"], done, cancelled]
    states = [status["state"] for status in (await client.ask("status", jobs=jobs))["items"]]
    assert states == ["pending", "pending", "assigned", "running", "completed", "cancelled"]

    inventory = [
        (awarded, award["attempt"], "accepted"),
        (started["job"], started["attempt"], "accepted"),
        (running["job"], running["attempt"], "started"),
    ]
    agent = await back(daemon, federation, *inventory)
    # What was not assigned is fenced off: its attempt is void, and the job is auctioned under the next one.
    assert await agent.item("releases") == {"job": awarded, "attempt": award["attempt"]}
    assert (await agent.item("offers", offered))["attempt"] == offer["attempt"] + 1
    assert (await agent.item("offers", awarded))["attempt"] == award["attempt"] + 1
    # What was assigned belongs to the cluster: it is told to start again, under the same attempt.
    assert await agent.item("starts") == started
    await agent.bid(offer)
    assert await agent.item("releases") == {"job": offered, "attempt": offer["attempt"]}
    await agent.report(running, 1, "running")  # not acknowledged when the daemon died, for all the agent knows
    await agent.report(running, 2, "completed", exit_code=0)
    while (await agent.item("acks"))["seq"] < 2:
        pass
    assert (await client.status(running["job"]))["state"] == "completed"
    history = await client.history(running["job"])
    assert [line["event"] for line in history].count("running") == 1


async def test_an_acceptance_that_crossed_with_the_kill_never_starts_the_job_twice(
    new_daemon: StartDaemon, federate: Federate
) -> None:
    """Either it was on disk, and is told to start again; or it was not, and it is released."""
    daemon = new_daemon().start()
    federation = await federate(daemon)
    agent = federation.agent
    job = await federation.client.submit()
    await agent.bid(await agent.item("offers", job))
    award = await agent.item("awards", job)
    await agent.accept(award)
    await daemon.crash()
    agent = await back(daemon, federation, (job, award["attempt"], "accepted"))
    message = await agent.receive()
    assert message["type"] in ("starts", "releases")
    if message["type"] == "starts":
        assert message["items"] == [{"job": job, "attempt": award["attempt"]}]
        await agent.report(award, 1, "queued")
        await agent.item("acks")
        assert agent.left() == []  # nothing is offered
    else:
        assert (await agent.item("offers", job))["attempt"] == award["attempt"] + 1


async def test_after_a_kill_in_a_storm_of_submits_all_that_was_answered_is_there_once(
    new_daemon: StartDaemon, federate: Federate
) -> None:
    daemon = new_daemon().start()
    federation = await federate(daemon)

    def items(number: int) -> list[Message]:
        return [{"key": f"{number}/{place}", "request": {"command": [f"{number}"]}} for place in range(10)]

    refs = [await federation.client.request("submit", items=items(number)) for number in range(200)]
    await federation.client.answer(refs[20])
    daemon.kill()
    await federation.client.closed()
    answered = {m["ref"]: m for m in federation.client.left() if m["type"] == "submitted"}
    assert answered
    await asyncio.to_thread(daemon.start)
    client = await client_of(daemon, federation)
    again = [await client.submit_all(items(number)) for number in range(200)]
    for number, ref in enumerate(refs):
        if ref in answered:
            assert [item["job"] for item in again[number]] == [item["job"] for item in answered[ref]["items"]]
            assert all(item["duplicate"] for item in again[number])
    with closing(sqlite3.connect(daemon.database)) as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT key) FROM jobs").fetchone() == (2_000, 2_000)
    daemon.kill()


async def test_a_watch_goes_on_after_a_kill_where_it_was(new_daemon: StartDaemon, federate: Federate) -> None:
    daemon = new_daemon().start()
    federation = await federate(daemon)
    started = await federation.agent.take(await federation.client.submit())
    seen = await federation.client.watch_until(started["job"], "assigned")
    await daemon.crash()
    client = await client_of(daemon, federation)
    ref = await client.request("watch", jobs=[started["job"]], since=seen[-1]["seq"])
    agent = await back(daemon, federation, (started["job"], started["attempt"], "started"))
    await agent.report(started, 1, "completed", exit_code=0)
    while seen[-1]["event"] != "completed":
        seen += (await client.answer(ref))["items"]
    assert [line["seq"] for line in seen] == list(range(1, len(seen) + 1))


async def test_clusters_and_their_credentials_outlive_the_daemon(new_daemon: StartDaemon, federate: Federate) -> None:
    daemon = new_daemon().start()
    federation = await federate(daemon)
    await daemon.crash()
    client = await client_of(daemon, federation)
    (info,) = (await client.ask("clusters"))["items"]
    assert (info["name"], info["state"]) == (federation.cluster.name, "offline")
    assert info["resources"]["cores_per_node"] == 8
    await back(daemon, federation)
    assert (await client.ask("clusters"))["items"][0]["state"] == "online"


async def test_no_credential_is_kept_in_the_database_or_in_the_log(new_daemon: StartDaemon, federate: Federate) -> None:
    daemon = new_daemon(log_level="debug").start()
    federation = await federate(daemon)
    await federation.agent.run(await federation.client.submit())
    await daemon.restart()
    kept = b"".join(path.read_bytes() for path in Path(daemon.directory).iterdir() if path.is_file())
    for credential in (federation.cluster.secret, federation.cluster.token, "the-registration-secret"):
        assert credential.encode() not in kept

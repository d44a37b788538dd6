"""A disk that takes no more: the daemon stops and says so, and nothing was told that is not on disk."""

import asyncio
import sqlite3
from contextlib import closing

from tests.integration.daemon.conftest import Federate, StartDaemon
from tests.integration.daemon.peers import ClientPeer


async def test_when_the_disk_is_full_the_daemon_stops_in_plain_words_and_the_next_start_takes_over(
    new_daemon: StartDaemon, federate: Federate
) -> None:
    daemon = new_daemon().start()
    federation = await federate(daemon)
    client = federation.client
    kept = [await client.submit(key="before")]
    started = await federation.agent.take(await client.submit())
    kept.append(started["job"])
    wal = daemon.database.with_name(daemon.database.name + "-wal")
    daemon.limit_files(wal.stat().st_size)  # not one more page

    large = {"command": ["x"], "env": {"A": "x" * 100_000}}
    refused = await client.request("submit", items=[{"key": "too much", "request": large}])
    await federation.agent.report(started, 1, "completed", exit_code=0)
    goodbye = await client.get("goodbye")
    assert goodbye["reconnect"] is True
    assert await client.closed() == 1001
    await federation.agent.closed()
    assert await asyncio.to_thread(daemon.wait) == 1

    assert refused not in [message.get("ref") for message in client.left()]
    assert [m for m in federation.agent.left() if m["type"] == "acks"] == []
    assert "rainbowd: the database cannot be written (" in daemon.log()
    assert "nothing unwritten was told to anybody" in daemon.log()
    daemon.check_log()

    await asyncio.to_thread(daemon.start)
    async with ClientPeer(daemon.url, federation.cluster.token) as again:
        assert sorted(status["job"] for status in (await again.ask("list"))["items"]) == sorted(kept)
        assert (await again.status(started["job"]))["state"] == "assigned"
        (item,) = await again.submit_all([{"key": "too much", "request": large}])
        assert item["duplicate"] is False
    await asyncio.to_thread(daemon.stop)
    with closing(sqlite3.connect(daemon.database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

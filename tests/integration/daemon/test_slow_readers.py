"""A peer that does not read is cut off; everybody else does not notice."""

import asyncio
import re

from rainbow_protocol import limits
from tests.integration.daemon.conftest import Federate, Federation, StartDaemon
from tests.integration.daemon.peers import StuckClient


async def test_a_client_that_never_reads_is_cut_off_and_the_others_go_on(
    new_daemon: StartDaemon, federate: Federate
) -> None:
    daemon = new_daemon(log_level="debug").start()
    federation = await federate(daemon)
    async with StuckClient(daemon.url, federation.cluster.token) as stuck:
        watched = await federation.client.submit()
        await stuck.request("watch", jobs=[watched])
        asking = asyncio.create_task(stuck.ask_and_never_read(limits.SEND_QUEUE_FRAMES_MAX * 3))
        await federation.agent.run(watched)
        await asyncio.to_thread(daemon.wait_for_log, "reads too slowly")
        for _ in range(5):
            job = await federation.client.submit()
            await federation.agent.run(job)
            assert (await federation.client.status(job))["state"] == "completed"
        await asyncio.to_thread(
            daemon.wait_for_log, "client connection ended"
        )  # it is cut off, though it takes no close frame either
        asking.cancel()
        await asyncio.wait([asking])
    assert len(re.findall("reads too slowly", daemon.log())) == 1
    await asyncio.to_thread(daemon.stop)


async def test_a_client_that_reads_late_gets_everything_if_it_fits_the_queue(federation: Federation) -> None:
    count = limits.SEND_QUEUE_FRAMES_MAX // 2
    federation.client.socket.transport.pause_reading()
    refs = [await federation.client.request("clusters") for _ in range(count)]
    federation.client.socket.transport.resume_reading()
    for ref in refs:
        assert (await federation.client.receive())["ref"] == ref


async def test_an_agent_that_does_not_read_loses_its_auctions_not_the_others_theirs(
    new_daemon: StartDaemon, federate: Federate
) -> None:
    daemon = new_daemon(bid_window_ms=200).start()
    federation = await federate(daemon)
    other = await federation.new_cluster()
    sleepy, client = await federation.new_agent(other), await federation.new_client(federation.cluster, other)
    sleepy.socket.transport.pause_reading()
    async with federation.agent.serving():
        jobs = [item["job"] for item in await client.submit_all([{"request": {"command": ["x"]}}] * 50)]
        for job in jobs:
            await client.watch_until(job, "completed")
    (bid,) = [bid for bid in (await client.ask("explain", job=jobs[0]))["bids"] if bid["cluster"] == other.name]
    assert bid["reason"] == "did not answer in time"
    sleepy.socket.transport.resume_reading()
    await asyncio.to_thread(daemon.stop)

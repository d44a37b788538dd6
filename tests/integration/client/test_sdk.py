"""The SDK in a program, asynchronous and not, against a real daemon."""

import pytest

from rainbow_client import Client, job_request
from rainbow_client.local.federation import Federation
from rainbow_client.sync import Client as SyncClient

pytestmark = pytest.mark.xdist_group("client-federation")


async def test_many_jobs_at_once(federation: Federation) -> None:
    async with Client.from_config(federation.config) as rainbow:
        results = await rainbow.submit_many([job_request(["true"], name=f"job {number}") for number in range(40)])
        ended = await rainbow.wait([str(result.job) for result in results])
    assert {status.state for status in ended} == {"completed"}
    assert [status.name for status in ended] == [f"job {number}" for number in range(40)]


async def test_two_watches_and_logs_of_one_job(federation: Federation) -> None:
    async with Client.from_config(federation.config) as rainbow:
        job = str((await rainbow.submit(["sh", "-c", "sleep 0.2; echo hello"])).job)
        first = rainbow.watch(job)
        assert (await anext(first)).event == "submitted"
        second = [event.event async for event in rainbow.watch(job)]
        rest = [event.event async for event in first]
        output = b"".join([piece.data async for piece in rainbow.logs(job, follow=True)])
    assert second == ["submitted", *rest]
    assert second[-1] == "completed"
    assert output == b"hello\n"


def test_without_an_event_loop(federation: Federation) -> None:
    with SyncClient.from_config(federation.config) as rainbow:
        job = str(rainbow.submit(["sh", "-c", "echo hello; exit 7"]).job)
        [status] = rainbow.wait(job)
        assert status.exit_code == 7
        assert [piece.data for piece in rainbow.logs(job)] == [b"hello\n"]
        assert [event.event for event in rainbow.watch(job)][-1] == "failed"
        assert rainbow.explain(job).winner == status.cluster
        assert job in [one.job for one in rainbow.jobs(limit=10)]
        assert {one.name for one in rainbow.clusters()} >= {"small", "medium", "large"}

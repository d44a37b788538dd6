"""Whoever lacks one of the tokens that a job was submitted with cannot tell it from one that never was."""

from typing import Any

import pytest

from rainbow_protocol.ids import JobIds
from tests.integration.daemon.conftest import Federation
from tests.integration.daemon.peers import ClientPeer, Message

NEVER = JobIds().next(1_800_000_000.0)


class Scene:
    """A job submitted with two tokens; sessions with both, with either, and with another one."""

    def __init__(self, federation: Federation) -> None:
        self.federation = federation
        self.outsiders: list[ClientPeer] = []
        self.insider: ClientPeer
        self.started: Message = {}

    @property
    def job(self) -> str:
        job: str = self.started["job"]
        return job


@pytest.fixture
async def scene(federation: Federation) -> Scene:
    made = Scene(federation)
    second, third = await federation.new_cluster(), await federation.new_cluster()
    made.insider = await federation.new_client(federation.cluster, second)
    for tokens in ([federation.cluster], [second], [third], [second, third]):
        made.outsiders.append(await federation.new_client(*tokens))
    job = await made.insider.submit(key="k", name="confidential")
    made.started = await federation.agent.take(job)
    return made


def comparable(answer: Message, job: str) -> str:
    """The answer without the id that was asked for and the number of the request."""
    return str(answer | {"ref": None}).replace(job, "JOB")


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("status", lambda job: {"jobs": [job]}),
        ("explain", lambda job: {"job": job}),
        ("cancel", lambda job: {"jobs": [job]}),
        ("watch", lambda job: {"jobs": [job]}),
        ("unwatch", lambda job: {"jobs": [job]}),
        ("logs", lambda job: {"job": job}),
        ("logs", lambda job: {"job": job, "wait_s": 5}),
    ],
)
async def test_a_job_of_others_is_answered_exactly_as_one_that_never_was(scene: Scene, kind: str, fields: Any) -> None:
    for outsider in scene.outsiders:
        theirs = await outsider.ask(kind, **fields(scene.job))
        never = await outsider.ask(kind, **fields(NEVER))
        assert comparable(theirs, scene.job) == comparable(never, NEVER)
        assert "confidential" not in str(theirs)
    assert (await scene.insider.status(scene.job))["state"] == "assigned"  # nobody has cancelled it


async def test_a_job_of_others_is_not_in_any_list(scene: Scene) -> None:
    for outsider in scene.outsiders:
        assert (await outsider.ask("list"))["items"] == []
        assert (await outsider.ask("list", cluster=scene.federation.cluster.name))["items"] == []
    assert [status["job"] for status in (await scene.insider.ask("list"))["items"]] == [scene.job]


async def test_nothing_that_happens_to_a_job_of_others_is_told(scene: Scene) -> None:
    for outsider in scene.outsiders:
        await outsider.ask("watch", jobs=[scene.job])
    await scene.federation.agent.report(scene.started, 1, "completed", exit_code=0)
    await scene.insider.watch_until(scene.job, "completed")
    for outsider in scene.outsiders:
        await outsider.ask("clusters")  # whatever was to come has come before this answer
        assert outsider.left() == []


async def test_a_key_of_others_is_free(scene: Scene) -> None:
    for outsider in scene.outsiders:
        assert await outsider.submit("something", "else", key="k") != scene.job


async def test_only_ones_own_clusters_are_listed(scene: Scene) -> None:
    for outsider in scene.outsiders:
        names = [info["name"] for info in (await outsider.ask("clusters"))["items"]]
        assert names == outsider.welcome["clusters"]


async def test_more_tokens_than_needed_see_it_too(scene: Scene) -> None:
    federation = scene.federation
    names = scene.insider.welcome["clusters"]
    assert len(names) == 2
    more = await scene.insider.ask("hello", tokens=[(await federation.new_cluster()).token])
    assert len(more["clusters"]) == 3
    assert (await scene.insider.status(scene.job))["name"] == "confidential"


async def test_other_jobs_in_the_same_request_are_answered(scene: Scene) -> None:
    outsider = scene.outsiders[0]
    mine = await outsider.submit()
    answer = await outsider.ask("status", jobs=[scene.job, mine, NEVER])
    assert [status["job"] for status in answer["items"]] == [mine]
    assert answer["unknown"] == [scene.job, NEVER]
    answer = await outsider.ask("cancel", jobs=[scene.job, mine])
    assert [(result["job"], result["outcome"]) for result in answer["items"]] == [(mine, "cancelled")]
    assert answer["unknown"] == [scene.job]


async def test_an_agent_hears_only_of_jobs_whose_users_may_use_its_cluster(scene: Scene) -> None:
    federation = scene.federation
    stranger = await federation.new_agent(await federation.new_cluster())
    job = await federation.client.submit()
    await federation.agent.run(job)
    await stranger.report({"job": NEVER, "attempt": 1}, 1, "running")
    await stranger.item("acks")  # whatever was to come has come before
    assert stranger.left() == []

"""Arrays on the wire: one answer for each, one key for each, and no frame that becomes more than a frame may."""

import pytest

from rainbow_protocol import limits
from tests.integration.daemon.conftest import Federate, Federation, StartDaemon
from tests.integration.daemon.peers import ClientPeer, Message


def array(indices: str, at_once: int | None = None, key: str | None = None, command: str = "true") -> Message:
    return {"key": key, "request": {"command": [command]}, "array": {"indices": indices, "at_once": at_once}}


def job(key: str | None = None) -> Message:
    return {"key": key, "request": {"command": ["true"]}}


def told(result: Message) -> tuple[str | None, int | None, bool, str | None]:
    return result["job"], result["jobs"], result["duplicate"], result["error"] and result["error"]["code"]


async def members(client: ClientPeer, whole: str) -> list[Message]:
    items: list[Message] = (await client.ask("list", array=whole, limit=limits.JOBS_PAGE_MAX))["items"]
    return items


async def test_an_array_of_one_is_an_array(federation: Federation) -> None:
    (result,) = await federation.client.submit_all([array("7")])
    (member,) = await members(federation.client, result["job"])
    assert told(result) == (result["job"], 1, False, None)
    assert (member["array"], member["array_index"]) == (result["job"], 7)
    assert member["job"] != result["job"]


# --- keys -----------------------------------------------------------------


async def test_the_same_array_with_the_same_key_is_there_once(federation: Federation) -> None:
    client = federation.client
    (first,) = await client.submit_all([array("1-3", 2, "k")])
    again = await client.submit_all([array("1-3", 2, "k"), array("1,2,3", 2, "k"), job()])
    assert [told(one) for one in again[:2]] == [(first["job"], 3, True, None)] * 2
    assert (again[2]["jobs"], again[2]["duplicate"]) == (None, False)
    assert len(await members(client, first["job"])) == 3
    assert len((await client.ask("list"))["items"]) == 4


DIFFERENT = [
    array("1-5", key="k"),
    array("1-2", key="k"),
    array("1-2,4", key="k"),
    array("2-3", key="k"),
    array("1-3", 2, "k"),
    array("1-3", key="k", command="false"),
    job("k"),
]


async def test_a_key_of_an_array_is_for_nothing_else(federation: Federation) -> None:
    client = federation.client
    (first,) = await client.submit_all([array("1-3", key="k")])
    for result in await client.submit_all(DIFFERENT):
        assert told(result) == (None, None, False, "key_reused")
        assert f"array {first['job']}" in result["error"]["message"]
    assert len((await client.ask("list"))["items"]) == 3


async def test_so_it_is_within_one_frame(federation: Federation) -> None:
    first, same, *others = await federation.client.submit_all(
        [array("1-3", key="k"), array("1-3", key="k"), *DIFFERENT]
    )
    assert told(first) == (first["job"], 3, False, None)
    assert told(same) == (first["job"], 3, True, None)
    assert {told(one) for one in others} == {(None, None, False, "key_reused")}
    assert len((await federation.client.ask("list"))["items"]) == 3


@pytest.mark.parametrize("at_once_with_it", [False, True])
async def test_a_key_of_a_job_is_for_no_array(federation: Federation, at_once_with_it: bool) -> None:
    later = [array("0", key="k"), array("1-3", key="k")]
    if at_once_with_it:
        _, *results = await federation.client.submit_all([job("k"), *later])
    else:
        await federation.client.submit_all([job("k")])
        results = await federation.client.submit_all(later)
    assert [told(one) for one in results] == [(None, None, False, "key_reused")] * 2


async def test_members_that_are_over_still_count_as_members(federation: Federation) -> None:
    client = federation.client
    (first,) = await client.submit_all([array("1-2", key="k")])
    newest, oldest = await members(client, first["job"])
    await federation.agent.run(newest["job"])
    same, shorter = await client.submit_all([array("1-2", key="k"), array("1", key="k")])
    assert (told(same), told(shorter)) == ((first["job"], 2, True, None), (None, None, False, "key_reused"))
    await federation.agent.run(oldest["job"])
    same, shorter = await client.submit_all([array("1-2", key="k"), array("1", key="k")])
    assert (told(same), told(shorter)) == ((first["job"], 2, True, None), (None, None, False, "key_reused"))
    assert same["state"] == "completed"


async def test_the_key_of_an_array_is_remembered_over_a_restart(new_daemon: StartDaemon, federate: Federate) -> None:
    daemon = new_daemon().start()
    before = await federate(daemon)
    (first,) = await before.client.submit_all([array("1-3", key="k")])
    await daemon.restart()
    async with ClientPeer(daemon.url, before.cluster.token) as client:
        same, longer = await client.submit_all([array("1-3", key="k"), array("1-4", key="k")])
    assert (told(same), told(longer)) == ((first["job"], 3, True, None), (None, None, False, "key_reused"))


# --- bounds ---------------------------------------------------------------


async def test_a_frame_does_not_become_more_jobs_than_it_may(federation: Federation) -> None:
    away = await federation.new_client(await federation.new_cluster())
    most = limits.SUBMIT_JOBS_MAX
    results = await away.submit_all([array(f"1-{most - 2}"), job(), array("x"), array("1-2"), job(), array("x")])
    assert [told(one)[1:] for one in results] == [
        (most - 2, False, None),
        (None, False, None),
        (None, False, "invalid"),
        (None, False, "too_many"),
        (None, False, "too_many"),
        (None, False, "too_many"),
    ]


async def test_an_array_is_cancelled_by_its_members(federation: Federation) -> None:
    client = federation.client
    (first,) = await client.submit_all([array("1-3")])
    answer = await client.ask("cancel", jobs=[first["job"]])
    assert (answer["items"], answer["unknown"]) == ([], [first["job"]])
    named = [one["job"] for one in await members(client, first["job"])]
    answer = await client.ask("cancel", jobs=named)
    assert ([one["job"] for one in answer["items"]], answer["unknown"]) == (named, [])

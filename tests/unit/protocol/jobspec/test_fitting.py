"""What stands in a group, and what the group has."""

from typing import Any

import pytest

from tests.unit.protocol.jobspec.documents import Document, reading, refusal


def node(count: Any, /, *, exclusive: bool | None = None, **held: Any) -> Document:
    inside = [{"type": kind, "count": number} for kind, number in held.items()]
    said = {} if exclusive is None else {"exclusive": exclusive}
    return {"type": "node", "count": count, "with": inside, **said}


def slots(count: int, *held: Document) -> Document:
    return {"type": "slot", "count": count, "with": list(held)}


def job(group: Document, task: Document, **more: Document) -> Document:
    names = {"whole": group, "part": task, **more}
    groups = [{"name": "g", "resources": "whole", "tasks": [{"command": ["a"], "resources": "part"}]}]
    return {"version": 1, "resources": names, "groups": groups}


CORE = {"type": "core"}
GPU = {"type": "gpu"}


@pytest.mark.parametrize(
    ("group", "task", "words"),
    [
        (node(8, core=4), node(10, core=1), "needs 10 nodes, and the group that it runs in has 8 nodes"),
        (node(1, exclusive=True), node(2, core=1), "needs 2 nodes, and the group that it runs in has 1 node"),
        (node("2-4", core=4), node(5, core=1), "needs 5 nodes, and the group that it runs in has 4 nodes"),
        (node("2,4", core=4), node("5+", core=1), "needs 5 nodes, and the group that it runs in has 4 nodes"),
        (node(2, core=4), node(2, core=5), "needs 10 cores, and the group that it runs in has 8 cores"),
        (node(2, core=4), slots(9, CORE), "needs 9 cores, and the group that it runs in has 8 cores"),
        (slots(3, CORE), node(1, core=4), "needs 4 cores, and the group that it runs in has 3 cores"),
        (node(2, core=4, gpu=1), node(1, gpu=3), "needs 3 gpus, and the group that it runs in has 2 gpus"),
        (node(2, core=4), node(1, gpu=1), "needs 1 gpu, and the group that it runs in has no gpus"),
        (slots(2, CORE, GPU), slots(3, GPU), "needs 3 gpus, and the group that it runs in has 2 gpus"),
    ],
)
def test_what_could_never_fit_is_refused(group: Document, task: Document, words: str) -> None:
    assert refusal(job(group, task)) == f"groups[0].tasks[0].resources: {words}, so that it could never run there"


@pytest.mark.parametrize(
    ("group", "task"),
    [
        (node(8, core=4), node(8, core=4)),
        (node("2-10", core=4), node(10, core=4)),
        (node("2+", core=4), node(1000, core=4)),
        (node(2), node(2, core=64, gpu=8)),  # whole nodes: nobody knows how much they have
        (slots(2, node(1, core=4)), node(2, core=64, gpu=8)),
        (node(2, core=4, exclusive=True), node(2, core=64)),
        (slots(2, {"type": "socket"}), slots(9, CORE)),
        (node(2, gpu=1), node(2, core=4)),  # no cores were asked for, and there are some
        (slots(3, CORE), node(3, core=1)),
        ({"type": "rack", "count": 1, "with": [node(2, core=4)]}, node(2, core=4)),
        (node(2, core=4, fpga=1), node(2, gpu=1)),  # of what this is, nothing is known
    ],
)
def test_what_may_fit_is_taken(group: Document, task: Document) -> None:
    assert reading(job(group, task)).request.program is not None


def test_one_alternative_that_fits_is_enough() -> None:
    document = job(node(2, core=4), node(1, gpu=1), small=node(1, core=1))
    document["groups"][0]["tasks"][0]["resources"] = "part|small"
    assert reading(document).request.program is not None
    document["groups"][0]["tasks"][0]["resources"] = "part&small"
    assert "needs 1 gpu" in refusal(document)


def test_a_group_in_a_group() -> None:
    document = job(node(2, core=4), node(3, core=1))
    inner = {"name": "inner", "resources": "part", "tasks": [{"command": ["a"]}]}
    document["groups"] = [{"name": "g", "resources": "whole", "tasks": [{"group": "inner"}]}, inner]
    assert refusal(document).startswith("groups[1].resources: needs 3 nodes, and the group that it runs in has 2")

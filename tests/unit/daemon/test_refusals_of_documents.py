"""Whose fault it is that a document was not taken: the code and its hint must send people to the right thing."""

from pathlib import Path
from typing import Any, cast

import pytest

from rainbow_protocol.errors import HINTS, ErrorCode, ProtocolError
from rainbowd.net.describing import Describing
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.spool import Document, SpoolFolder
from rainbowd.resources.graph import GraphRefusedError
from rainbowd.resources.model import ClassTable
from rainbowd.resources.workshop import WorkshopBusyError, WorkshopClosedError, WorkshopFailedError
from rainbowd.store.repo import Repo


class BrokenWorkshop:
    def __init__(self, problem: GraphRefusedError) -> None:
        self._problem = problem

    async def describe_cluster(self, *_: Any) -> Any:
        raise self._problem


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (GraphRefusedError("vertex 'a' has no type"), ErrorCode.BAD_GRAPH),
        (WorkshopFailedError("reading the document took longer than 120 s"), ErrorCode.READING_FAILED),
        (WorkshopBusyError("too many descriptions are being read"), ErrorCode.READING_BUSY),
        (WorkshopClosedError(), ErrorCode.SHUTTING_DOWN),
    ],
)
async def test_the_code_says_whose_fault_it_is(
    repo: Repo, tmp_path: Path, problem: GraphRefusedError, code: ErrorCode
) -> None:
    engine, workshop = cast(Any, None), cast(Any, BrokenWorkshop(problem))
    describing = Describing(engine, repo, PendingAnswers(), workshop, ClassTable())
    document = Document(SpoolFolder(tmp_path / "db").new(), 1)
    with pytest.raises(ProtocolError) as refused:
        await describing.register(1, "red", None, document)
    assert (refused.value.code, refused.value.message) == (code, str(problem))
    assert HINTS[code]

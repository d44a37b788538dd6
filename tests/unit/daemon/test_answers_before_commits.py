"""What could not be told does not happen: the answer to a registration is made before the engine hears of it."""

from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

from rainbow_protocol.job import Totals
from rainbowd.net import figures
from rainbowd.net.describing import Describing, Outcome
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.spool import Document, SpoolFolder
from rainbowd.resources.classes import from_totals
from rainbowd.resources.model import ClassTable
from rainbowd.resources.workshop import Described
from rainbowd.store.repo import Repo


class Untellable(Exception):  # noqa: N818 - it says what is wrong
    pass


class IdleWorkshop:
    """Reads every document as the same cluster."""

    async def describe_cluster(self, *_: Any) -> Described:
        return Described(from_totals(2, 4, 0))


class Engine:
    def __init__(self) -> None:
        self.commands: list[Any] = []

    async def put(self, command: Any) -> None:
        self.commands.append(command)


@pytest.mark.parametrize("with_document", [True, False])
async def test_a_name_is_not_taken_by_what_cannot_be_answered(repo: Repo, tmp_path: Path, with_document: bool) -> None:
    engine, told = Engine(), list[Outcome]()
    describing = Describing(cast(Any, engine), repo, PendingAnswers(), cast(Any, IdleWorkshop()), ClassTable())

    def rehearse(outcome: Outcome) -> None:
        told.append(outcome)
        raise Untellable

    document = Document(SpoolFolder(tmp_path / "db").new(), 1) if with_document else None
    totals = None if with_document else Totals(nodes=2, cores_per_node=4)
    with pytest.raises(Untellable):
        await describing.register(1, "red", totals, document, rehearse)
    assert engine.commands == []
    (outcome,) = told
    assert outcome.counts["core"] == 8
    assert outcome.secret
    assert outcome.token


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, float(2**53)),
        (-(2**53), -float(2**53)),
        (10**30, 1e30),
        (Fraction(1, 4), 0.25),
        (0.5, 0.5),
    ],
)
def test_numbers_that_every_reader_of_json_understands(amount: Any, told: int | float) -> None:
    assert (figures.number(amount), type(figures.number(amount))) == (told, type(told))


def test_whole_numbers_stay_whole() -> None:
    assert figures.whole(10**30) == 2**53 - 1

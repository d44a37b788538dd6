"""A daemon that has no time to read is asked again: a few times, with pauses, and the person is told."""

import io
from pathlib import Path
from typing import Any

import pytest

from rainbow_client import Client, Refused, patience
from rainbow_client.cli import registrar
from tests.unit.client.fake_daemon import REGISTRATION, FakeDaemon, Message

BUSY = {"type": "error", "code": "reading_busy", "message": "too many", "hint": "later"}
REGISTERED = {"type": "registered", "cluster": "new", "secret": "rbs_x", "token": "rbt_x"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "BUSY_PAUSE_FIRST_S", 0.001)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "nodes.json"
    path.write_text('[{"name": "n", "cores": 4}]')
    return path


def busy(daemon: FakeDaemon, kind: str, times: int) -> None:
    answers = iter([BUSY] * times)

    def part(_: Message) -> list[Message]:
        return [next(answers, {"type": "done"})] if kind == "document_part" else [{"type": "done"}]

    def register(_: Message) -> list[Message]:
        return [next(answers, REGISTERED)] if kind == "register_cluster" else [REGISTERED]

    daemon.handlers |= {"document_part": part, "register_cluster": register}


def client(daemon: FakeDaemon, **more: Any) -> Client:
    return Client(daemon.url, registration_secret=REGISTRATION, **more)


@pytest.mark.parametrize("kind", ["document_part", "register_cluster"])
async def test_the_document_is_sent_again(daemon: FakeDaemon, document: Path, kind: str) -> None:
    busy(daemon, kind, 2)
    pauses: list[float] = []
    async with client(daemon, on_busy=pauses.append) as rainbow:
        made = await rainbow.register_cluster("new", document=document)
    assert made.token == "rbt_x"
    assert len(pauses) == 2
    assert pauses[0] < pauses[1]
    # Each time under a number of its own: the daemon lets go of a document that it refused.
    parts = daemon.of_type("document_part")
    assert len({part["document"] for part in parts}) == 3
    assert len({part["data"] for part in parts}) == 1


async def test_it_is_not_sent_for_ever(daemon: FakeDaemon, document: Path) -> None:
    busy(daemon, "register_cluster", 1_000)
    async with client(daemon) as rainbow:
        with pytest.raises(Refused) as refused:
            await rainbow.register_cluster("new", document=document)
    assert refused.value.code == "reading_busy"
    assert len(daemon.of_type("register_cluster")) == patience.BUSY_RETRIES_MAX + 1


async def test_an_open_file_is_read_again_from_where_it_was(daemon: FakeDaemon) -> None:
    busy(daemon, "register_cluster", 1)
    file = io.BytesIO(b"not this" + b'[{"name": "n"}]')
    file.seek(len(b"not this"))
    async with client(daemon) as rainbow:
        await rainbow.register_cluster("new", document=file)
    assert len({part["data"] for part in daemon.of_type("document_part")}) == 1


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


async def test_what_can_be_read_only_once_is_not_sent_again(daemon: FakeDaemon) -> None:
    busy(daemon, "register_cluster", 1)
    async with client(daemon) as rainbow:
        with pytest.raises(Refused):
            await rainbow.register_cluster("new", document=Pipe(b"[]"))
    assert len(daemon.of_type("register_cluster")) == 1


async def test_other_refusals_are_final(daemon: FakeDaemon, document: Path) -> None:
    daemon.handlers |= {
        "document_part": lambda _: [{"type": "done"}],
        "register_cluster": lambda _: [BUSY | {"code": "bad_graph"}],
    }
    async with client(daemon) as rainbow:
        with pytest.raises(Refused):
            await rainbow.register_cluster("new", document=document)
    assert len(daemon.of_type("register_cluster")) == 1


async def test_a_subsystem_that_goes_is_asked_for_again_too(daemon: FakeDaemon) -> None:
    answers = iter([BUSY, BUSY])
    daemon.handlers |= {"delete_subsystem": lambda _: [next(answers, {"type": "done"})]}
    pauses: list[float] = []
    async with client(daemon, on_busy=pauses.append) as rainbow:
        await rainbow.delete_subsystem("red", "io")
    assert (len(daemon.of_type("delete_subsystem")), len(pauses)) == (3, 2)


async def test_it_is_not_asked_for_ever_to_let_a_subsystem_go(daemon: FakeDaemon) -> None:
    daemon.handlers |= {"delete_subsystem": lambda _: [BUSY]}
    async with client(daemon) as rainbow:
        with pytest.raises(Refused) as refused:
            await rainbow.delete_subsystem("red", "io")
    assert refused.value.code == "reading_busy"
    assert len(daemon.of_type("delete_subsystem")) == patience.BUSY_RETRIES_MAX + 1


async def test_a_subsystem_that_is_not_there_is_not_asked_for_again(daemon: FakeDaemon) -> None:
    daemon.handlers |= {"delete_subsystem": lambda _: [BUSY | {"code": "unknown_subsystem"}]}
    async with client(daemon) as rainbow:
        with pytest.raises(Refused):
            await rainbow.delete_subsystem("red", "io")
    assert len(daemon.of_type("delete_subsystem")) == 1


@pytest.mark.parametrize("on_terminal", [True, False])
def test_a_person_is_told_and_a_log_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, on_terminal: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: on_terminal)
    registrar._tell_busy(3.2)
    assert ("trying again in 3 s" in capsys.readouterr().err) == on_terminal


def test_the_pauses_grow_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "BUSY_PAUSE_FIRST_S", 1.0)
    pauses = list(patience.busy_pauses())
    assert pauses == sorted(pauses)
    assert (len(pauses), sum(pauses) <= 31) == (patience.BUSY_RETRIES_MAX, True)

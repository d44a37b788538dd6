"""Documents on their way: bounded each and together, private, and gone when nobody needs them."""

import base64
import os
from pathlib import Path

import pytest

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode
from rainbowd.net.spool import SpoolFolder, SpoolRefusedError


@pytest.fixture
def folder(database: Path) -> SpoolFolder:
    return SpoolFolder(database)


def base(piece: bytes) -> str:
    return base64.b64encode(piece).decode()


def left(database: Path) -> list[str]:
    return sorted(path.name for path in database.parent.iterdir())


async def test_pieces_are_put_together_in_a_file_that_only_the_daemon_can_read(
    folder: SpoolFolder, database: Path
) -> None:
    with folder.new() as spool:
        for piece in (b"one ", b"two ", b"", b"three"):
            await spool.add(base(piece))
        assert spool.path.read_bytes() == b"one two three"
        assert spool.path.stat().st_mode & 0o777 == 0o600
        assert spool.path.parent == database.parent
        assert (spool.size, folder.bytes_used) == (13, 13)
    assert left(database) == []
    assert folder.bytes_used == 0


async def test_a_document_may_have_exactly_so_many_bytes(folder: SpoolFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRAPH_SENT_BYTES_MAX", 10)
    with folder.new() as spool:
        await spool.add(base(b"x" * 10))
        with pytest.raises(SpoolRefusedError) as refused:
            await spool.add(base(b"x"))
        assert refused.value.code is ErrorCode.TOO_LARGE
        assert spool.path.stat().st_size == 10


async def test_all_documents_together_are_bounded(database: Path) -> None:
    folder = SpoolFolder(database, bytes_max=10)
    with folder.new() as first:
        await first.add(base(b"x" * 6))
        with folder.new() as second:
            with pytest.raises(SpoolRefusedError) as refused:
                await second.add(base(b"x" * 5))
            assert refused.value.code is ErrorCode.READING_BUSY
            await second.add(base(b"x" * 4))
    with folder.new() as third:
        await third.add(base(b"x" * 10))


@pytest.mark.parametrize("data", ["!", "YQ=", "YQ==YQ==", "ü", "Y Q=="])
async def test_what_is_no_base64_is_refused(folder: SpoolFolder, data: str) -> None:
    with folder.new() as spool, pytest.raises(SpoolRefusedError, match="base64") as refused:
        await spool.add(data)
    assert refused.value.code is ErrorCode.INVALID


async def test_a_file_that_was_removed_is_not_made_again(folder: SpoolFolder, database: Path) -> None:
    spool = folder.new()
    await spool.add(base(b"x"))
    spool.path.unlink()
    with pytest.raises(SpoolRefusedError, match="No such file"):
        await spool.add(base(b"y"))
    spool.remove()
    spool.remove()
    assert left(database) == []


async def test_a_sweep_takes_what_is_left_of_this_database_and_nothing_else(
    folder: SpoolFolder, database: Path
) -> None:
    await folder.new().add(base(b"left"))
    others = ("rainbow.db", "rainbow.db-wal", "other.db.spool-1", "rainbow.db.lock")
    for name in others:
        os.close(os.open(database.with_name(name), os.O_CREAT))
    folder.sweep()
    assert left(database) == sorted(others)

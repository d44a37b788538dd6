"""What this machine can do at best: raw WebSocket echoes, raw durable commits. Ours is a ratio of these."""

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

ECHO_CONNECTIONS = 16
_FRAME = "x" * 200


async def _echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def serve_echoes() -> None:
    """In a process of its own, as the daemon is. Prints its port and serves until it is ended."""
    async with serve(_echo, "127.0.0.1", 0, compression=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.get_running_loop().create_future()


async def _ping(url: str, until: float) -> int:
    done = 0
    async with connect(url, compression=None, proxy=None) as connection:
        while time.perf_counter() < until:
            await connection.send(_FRAME)
            await connection.recv()
            done += 1
    return done


def echoes_per_s(seconds: float = 2.0) -> float:
    """Round trips per second over a few connections at once."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"ws://127.0.0.1:{server.stdout.readline().strip()}"

        async def measure() -> float:
            start = time.perf_counter()
            counts = await asyncio.gather(*(_ping(url, start + seconds) for _ in range(ECHO_CONNECTIONS)))
            return sum(counts) / (time.perf_counter() - start)

        try:
            return asyncio.run(measure())
        finally:
            server.terminate()


def commits_per_s(folder: Path | None = None, seconds: float = 2.0) -> float:
    """One row, one transaction, WAL and synchronous=FULL, one after the other."""
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        database = sqlite3.connect(Path(directory) / "limit.db", isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE t (x TEXT)")
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO t VALUES (?)", (_FRAME,))
            database.execute("COMMIT")
            done += 1
        elapsed = time.perf_counter() - start
        database.close()
    return done / elapsed


if __name__ == "__main__":
    asyncio.run(serve_echoes())

"""Many agents in one process: they say Yes to everything, accept every award, and end each job at once.

Only for benches. Reads `[[url, name, secret], …]` from standard input; prints a line `JOB TIME` per *start*,
by the machine-wide monotonic clock, so that another process can tell how long it took.
"""

import asyncio
import sys
import time

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from rainbow_protocol import AGENT_PATH, SUBPROTOCOL, limits

TOTALS = {"nodes": 100, "cores_per_node": 64, "gpus_per_node": 4}


async def agent(url: str, name: str, secret: str) -> None:
    connection = connect(
        url + AGENT_PATH,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers={"Authorization": f"Bearer {secret}"},
        compression=None,
        max_size=limits.FRAME_BYTES_MAX,
        proxy=None,
    )
    async with connection as session:
        hello = {"type": "hello", "agent_id": f"bench-{name}", "version": "0", "backend": "bench", "resources": TOTALS}
        await session.send(orjson.dumps(hello), text=True)
        await session.send(orjson.dumps({"type": "inventory", "items": [], "last": True}), text=True)
        async for frame in session:
            await _answer(session, orjson.loads(frame))


async def _answer(session: ClientConnection, message: dict) -> None:  # type: ignore[type-arg]
    kind, items = message["type"], message.get("items", [])
    refs = [{"job": item["job"], "attempt": item["attempt"]} for item in items]
    if kind == "offers":
        await _send(session, "bids", [ref | {"answer": "yes", "eta_s": 0.0, "cost": 1.0} for ref in refs])
    elif kind == "awards":
        await _send(session, "award_answers", [ref | {"answer": "accept"} for ref in refs])
    elif kind == "starts":
        now = time.monotonic()
        sys.stdout.write("".join(f"{ref['job']} {now}\n" for ref in refs))
        sys.stdout.flush()
        running = [ref | {"seq": 1, "event": "running", "at": now} for ref in refs]
        over = [ref | {"seq": 2, "event": "completed", "at": now, "exit_code": 0} for ref in refs]
        await _send(session, "reports", running)
        await _send(session, "reports", over)
    elif kind == "welcome":
        sys.stdout.write("online\n")
        sys.stdout.flush()


async def _send(session: ClientConnection, kind: str, items: list) -> None:  # type: ignore[type-arg]
    await session.send(orjson.dumps({"type": kind, "items": items}), text=True)


async def main() -> None:
    clusters = orjson.loads(sys.stdin.readline())
    async with asyncio.TaskGroup() as group:
        for url, name, secret in clusters:
            group.create_task(agent(url, name, secret))


if __name__ == "__main__":
    asyncio.run(main())

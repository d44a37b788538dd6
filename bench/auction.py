"""From submit to *start*: N simulated agents and M clients against a real daemon over loopback.

    python bench/auction.py --agents 10 --clients 64 --jobs 5000 [--json]

The daemon, its database and its durability are the real thing; only the agents are simulated, because they must
not be what is measured. Prints jobs per second and latencies, and beside them what the machine itself can do.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # also as a script, from anywhere

from bench import daemon
from bench.limits import commits_per_s, echoes_per_s
from rainbow_protocol import CLIENT_PATH, SUBPROTOCOL, limits

LONE_JOBS = 200


@dataclass
class Starts:
    """When each job's *start* reached its agent, as the agents' process tells."""

    times: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, "asyncio.Future[None]"] = field(default_factory=dict)
    online: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            first, _, second = line.decode().partition(" ")
            if second:
                self.times[first] = float(second)
                if (future := self.waiting.pop(first, None)) is not None:
                    future.set_result(None)
            else:
                self.online += 1
            async with self.changed:
                self.changed.notify_all()

    async def until(self, enough: Any) -> None:
        async with self.changed:
            await self.changed.wait_for(enough)

    async def of(self, job: str) -> float:
        if job not in self.times:
            self.waiting[job] = asyncio.get_running_loop().create_future()
            await self.waiting[job]
        return self.times[job]


def _connect(url: str, credential: str) -> connect:
    return connect(
        url + CLIENT_PATH,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers={"Authorization": f"Bearer {credential}"},
        compression=None,
        max_size=limits.FRAME_BYTES_MAX,
        proxy=None,
    )


async def _ask(session: ClientConnection, message: dict[str, Any]) -> Any:
    await session.send(orjson.dumps(message), text=True)
    answer = orjson.loads(await session.recv())
    if answer["type"] == "error":
        raise SystemExit(f"the daemon refused: {answer['message']}")
    return answer


async def _open(url: str, tokens: list[str]) -> ClientConnection:
    session = await _connect(url, tokens[0])
    await _ask(session, {"type": "hello", "id": 0, "tokens": tokens[1:]})
    return session


async def _submit(session: ClientConnection, number: int, batch: int) -> list[tuple[str, float]]:
    """Submit `batch` jobs in one frame; each with when it was sent."""
    items = [{"key": f"{os.getpid()}-{number}-{n}", "request": {"command": ["true"]}} for n in range(batch)]
    sent = time.monotonic()
    answer = await _ask(session, {"type": "submit", "id": number, "items": items})
    return [(item["job"], sent) for item in answer["items"]]


async def _register(url: str, secret: str, agents: int) -> list[tuple[str, str, str]]:
    """Name, secret and token of each cluster."""
    clusters = []
    async with _connect(url, secret) as session:
        await _ask(session, {"type": "hello", "id": 0})
        for number in range(agents):
            answer = await _ask(session, {"type": "register_cluster", "id": number + 1, "name": f"bench-{number}"})
            clusters.append((answer["cluster"], answer["secret"], answer["token"]))
    return clusters


async def measure(url: str, secret: str, agents: int, clients: int, jobs: int, batch: int) -> dict[str, float]:
    clusters = await _register(url, secret, agents)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("simulated_agents.py")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    starts = Starts()
    reader = asyncio.create_task(starts.read(process.stdout))
    process.stdin.write(orjson.dumps([(url, name, key) for name, key, _ in clusters]) + b"\n")
    await starts.until(lambda: starts.online == agents)
    tokens = [token for _, _, token in clusters]
    numbers = count(1)
    try:
        lone = await _lone(url, tokens, starts, numbers)
        flood = await _flood(url, tokens, starts, numbers, clients, jobs, batch)
    finally:
        process.terminate()
        await process.wait()
        reader.cancel()
    return lone | flood


async def _lone(url: str, tokens: list[str], starts: Starts, numbers: Any) -> dict[str, float]:
    """One job at a time on an idle daemon."""
    session = await _open(url, tokens)
    taken = []
    for _ in range(LONE_JOBS):
        ((job, sent),) = await _submit(session, next(numbers), 1)
        taken.append(await starts.of(job) - sent)
    await session.close()
    return {"lone_p50_ms": statistics.median(taken) * 1000}


async def _flood(
    url: str, tokens: list[str], starts: Starts, numbers: Any, clients: int, jobs: int, batch: int
) -> dict[str, float]:
    """All clients at once, each submitting its next frame as soon as the last one is answered."""
    sessions = [await _open(url, tokens) for _ in range(clients)]
    before = len(starts.times)
    sent: dict[str, float] = {}

    async def client(session: ClientConnection) -> None:
        while (ahead := jobs - len(sent) - pending[0]) > 0:
            size = min(batch, ahead)
            pending[0] += size
            sent.update(await _submit(session, next(numbers), size))
            pending[0] -= size

    pending = [0]
    begin = time.monotonic()
    await asyncio.gather(*map(client, sessions))
    await starts.until(lambda: len(starts.times) - before >= jobs)
    took = max(starts.times[job] for job in sent) - begin
    for session in sessions:
        await session.close()
    latencies = sorted(starts.times[job] - at for job, at in sent.items())
    return {
        "jobs_per_s": jobs / took,
        "p50_ms": latencies[len(latencies) // 2] * 1000,
        "p99_ms": latencies[int(len(latencies) * 0.99)] * 1000,
    }


def _with_daemon(given: argparse.Namespace) -> dict[str, float]:
    with daemon.started() as running:
        return asyncio.run(measure(running.url, running.secret, given.agents, given.clients, given.jobs, given.batch))


def main() -> None:
    parser = argparse.ArgumentParser(description="Jobs per second from submit to start, beside the machine's limits.")
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--batch", type=int, default=1, help="jobs per submit frame")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = {"echo_per_s": echoes_per_s(), "commits_per_s": commits_per_s()} | _with_daemon(given)
    if given.json:
        print(orjson.dumps({name: round(value, 3) for name, value in figures.items()}).decode())
        return
    echo, commits, ours = figures["echo_per_s"], figures["commits_per_s"], figures["jobs_per_s"]
    print(f"{given.agents} agents, {given.clients} clients, {given.jobs} jobs, {given.batch} a frame")
    print(f"  submit → start   {ours:9.0f} jobs/s   p50 {figures['p50_ms']:.1f} ms   p99 {figures['p99_ms']:.1f} ms")
    print(f"  a lone job       {figures['lone_p50_ms']:9.2f} ms p50")
    print(f"  raw echo         {echo:9.0f} round trips/s   ours is {ours / echo:.2f} of it")
    print(f"  raw commits      {commits:9.0f} /s            ours is {ours / commits:.2f} of it")


if __name__ == "__main__":
    main()

"""Describing and matching clusters, big ones and many: against a real daemon, then the matcher alone.

    python bench/match.py [--nodes 10000] [--clusters 1000] [--json]

Registers a graph with a vertex for every core by the `rainbow` command, watching every process's memory; matches on
it; then asks a whole federation; then shows what the time grows with.
"""

import argparse
import gc
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # also as a script, from anywhere

from bench import daemon, graphs
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.resources import Condition, Constraint, Need, Requirement, Resource
from rainbowd.resources.asking import Ask, ask_of
from rainbowd.resources.classes import describe
from rainbowd.resources.graph import Kind, ResourceGraph
from rainbowd.resources.match import GraphMatcher
from rainbowd.resources.model import ClassTable, ClusterModel
from rainbowd.resources.reading.documents import read_cluster

QUESTIONS = 300
KINDS = 20
MB = 1e6


# --- registering, as a person does it


def memory_of(pid: int, field: str) -> float:
    """Bytes, from /proc; 0 when the process is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    except (OSError, ProcessLookupError):
        return 0
    return 0


def children_of(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class Watch(threading.Thread):
    """The largest that the daemon and its children together have been, and the reading process alone."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self.together = 0.0
        self.reader = 0.0

    def run(self) -> None:
        while not self._over.wait(0.01):
            below = [memory_of(one, "VmRSS") for one in children_of(self._pid)]
            self.reader = max([self.reader, *below])
            self.together = max(self.together, memory_of(self._pid, "VmRSS") + sum(below))

    def stop(self) -> None:
        self._over.set()
        self.join()


def register(document: Path) -> dict[str, float]:
    with daemon.started() as running:
        before = memory_of(running.pid, "VmRSS")
        watch = Watch(running.pid)
        watch.start()
        command = [sys.executable, "-m", "rainbow_client", "register", "cluster", "big", "--nodes-json", str(document)]
        environment = os.environ | {
            "RAINBOW_DAEMON": running.url,
            "RAINBOW_REGISTRATION_SECRET": running.secret,
            "XDG_CONFIG_HOME": str(running.folder),
        }
        begin = time.perf_counter()
        client = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(client.pid, 0)
        took = time.perf_counter() - begin
        watch.stop()
        if status:
            raise SystemExit("the registration failed")
        kept = memory_of(running.pid, "VmRSS") - before
        return {
            "register_s": took,
            "register_peak_mb": watch.together / MB,
            "register_reader_peak_mb": watch.reader / MB,
            "register_client_peak_mb": used.ru_maxrss * 1024 / MB,
            "register_kept_mb": kept / MB,
        }


def plain_parse(document: Path) -> float:
    """The machine's own limit: how long only parsing it into objects takes, with no look at what it says."""
    code = (
        "import sys, time, orjson; t = time.perf_counter(); d = open(sys.argv[1], 'rb').read(); x = orjson.loads(d); "
    )
    code += "import gc; print(time.perf_counter() - t)"
    found = subprocess.run([sys.executable, "-c", code, str(document)], capture_output=True, text=True, check=True)
    return float(found.stdout)


# --- questions


def questions(seed: int) -> Iterator[Ask]:
    """Always new ones: commands, slots, nodes with memory, constraints; some that fit nowhere."""
    dice = Random(seed)
    for number in range(QUESTIONS):
        cores, nodes = dice.randint(1, 48), dice.randint(1, 60)
        fresh = seed * QUESTIONS + number  # a count that nobody asked for before
        if number % 4 == 0:
            request = JobRequest(command=["a"], shape=Shape(tasks=nodes * 7 + fresh, cores_per_task=cores))
        elif number % 4 == 1:
            tasks = nodes * (1 + fresh % 11) + fresh % nodes
            request = JobRequest(command=["a"], shape=Shape(nodes=nodes, tasks=tasks, cores_per_task=1 + fresh % 7))
        else:
            inside = [Resource(type="core", count=cores), Resource(type="memory", count=fresh + 1, unit="MB")]
            slot = Resource(type="slot", count=1 + number % 3, children=inside if number % 2 else inside[:1])
            tree = [Resource(type="node", count=nodes, children=[slot])]
            constraint = Constraint(op="properties", values=[f"^kind{number % KINDS}"]) if number % 8 == 2 else None
            requires = [Requirement(subsystem="node", conditions=[Condition(field="rank", min=0, max=fresh)])]
            request = JobRequest(
                command=["a"],
                needs=[Need(alternatives=[tree])],
                constraint=constraint,
                requires=requires if number % 16 == 3 else [],
            )
        yield ask_of(request)


def timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def spread(times: list[float], unit: float) -> dict[str, float]:
    ordered = sorted(times)
    return {"p50": ordered[len(ordered) // 2] * unit, "p99": ordered[int(len(ordered) * 0.99)] * unit}


def ask_all(models: list[ClusterModel], seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """For new questions, then for the same ones again: milliseconds over all of the clusters."""
    matcher = GraphMatcher()
    asks = list(questions(seed))
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # as the daemon has it
    cold = [timed(lambda ask=ask: matcher.match_all(ask, models)) for ask in asks]
    again = [timed(lambda ask=ask: matcher.match_all(ask, models)) for ask in asks]
    return spread(cold, 1e3), spread(again, 1e3)


# --- many clusters


def cluster(nodes: int, kinds: int, dice: Random, variety: int = 0) -> ResourceGraph:
    """Nodes of several kinds, in numbers that differ from cluster to cluster; `variety` makes the kinds its own."""
    graph = ResourceGraph(kinds=[Kind("cluster")], ids=["cluster"])
    graph.parents.append(-1)
    graph.kind_of.append(0)
    for kind in range(kinds):
        memory = (64 + 16 * kind) * 10**9 + variety * 10**6
        graph.kinds += [Kind("node", 1, "", (f"kind{kind}",), (("rank", kind),)), Kind("core", 16 + 8 * kind)]
        graph.kinds += [Kind("gpu", 1 + kind % 4), Kind("memory", memory, "B")]
    chosen = list(range(kinds)) + [dice.randrange(kinds) for _ in range(nodes - kinds)]
    for number, kind in enumerate(chosen[:nodes]):
        mine = len(graph.ids)
        graph.names[mine] = f"node{number}"
        for part, name in enumerate(("node", "core", "gpu", "memory")):
            graph.ids.append(f"{name}{number}")
            graph.parents.append(0 if part == 0 else mine)
            graph.kind_of.append(1 + 4 * kind + part)
    return graph


def federation(clusters: int, nodes: int, kinds: int, own_kinds: bool = False) -> list[ClusterModel]:
    dice, table = Random(clusters), ClassTable()
    return [table.load(describe(cluster(nodes, kinds, dice, number if own_kinds else 0))) for number in range(clusters)]


def look_ups(clusters: int, kinds: int) -> float:
    """The machine's own limit: one look into a dictionary for every kind of every cluster, in milliseconds."""
    known = {number: number for number in range(kinds)}
    rows = [[(kind, 1) for kind in range(kinds)] for _ in range(clusters)]
    return min(timed(lambda: [sum(known[kind] * count for kind, count in row) for row in rows]) for _ in range(5)) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description="Registering and matching, big and many.")
    parser.add_argument("--nodes", type=int, default=10_000, help="of the big cluster, with 64 cores each")
    parser.add_argument("--clusters", type=int, default=1_000, help="in the federation, with 1,000 nodes each")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures: dict[str, Any] = {}

    def say(line: str) -> None:
        if not given.json:
            print(line, flush=True)

    with daemon.scratch() as folder:
        document = folder / "cluster.json"
        # Made by another process, and on disk: what is left in memory or to be written would be measured too.
        maker = [sys.executable, str(Path(__file__).with_name("graphs.py")), "--nodes", str(given.nodes)]
        subprocess.run([*maker, str(document)], check=True, stdout=subprocess.DEVNULL)
        os.sync()
        vertices = sum(1 for _ in graphs.vertices(given.nodes, 64))
        size = document.stat().st_size
        say(f"one cluster: {given.nodes:,} nodes × 64 cores, {vertices:,} vertices, {size / MB:.0f} MB of JSON")
        figures |= {"vertices": vertices, "document_mb": size / MB} | register(document)
        figures["parse_s"] = plain_parse(document)
        ratio = figures["register_s"] / figures["parse_s"]
        say(f"  registered in     {figures['register_s']:8.2f} s    {ratio:.2f} × parsing it into objects alone")
        say(
            f"  peak memory       {figures['register_peak_mb']:8.0f} MB   daemon and reading process together "
            f"(reading {figures['register_reader_peak_mb']:.0f}, client {figures['register_client_peak_mb']:.0f})"
        )
        say(f"  kept by the daemon{figures['register_kept_mb']:8.1f} MB")
        with document.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
            model = ClassTable().load(describe(read_cluster(buffer)))
    cold, again = ask_all([model], 1)
    figures |= {"match_cold_ms": cold, "match_cached_us": {name: value * 1e3 for name, value in again.items()}}
    say(f"  a new request     {cold['p50']:8.3f} ms p50 {cold['p99']:8.3f} p99")
    say(f"  the same again    {again['p50'] * 1e3:8.1f} µs p50 {again['p99'] * 1e3:8.1f} p99")

    say(f"a federation: {given.clusters:,} clusters × 1,000 nodes of {KINDS} kinds")
    models = federation(given.clusters, 1_000, KINDS)
    cold, again = ask_all(models, 2)
    floor = look_ups(given.clusters, KINDS)
    figures |= {"federation_ms": cold, "federation_cached_ms": again, "look_ups_ms": floor}
    bare = f"{cold['p50'] / floor:.1f} × bare look-ups"
    say(f"  a new request     {cold['p50']:8.2f} ms p50 {cold['p99']:8.2f} p99   {bare}")
    say(f"  the same again    {again['p50']:8.2f} ms p50 {again['p99']:8.2f} p99")

    say("growth: milliseconds for a new request over all clusters (p50, p99)")
    figures["growth"] = []
    rows = [(10, 1_000, 20, False), (100, 1_000, 20, False), (given.clusters, 1_000, 20, False)]
    rows += [(100, 100, 20, False), (100, 10_000, 20, False), (100, 1_000, 1, False), (100, 1_000, 200, False)]
    rows += [(100, 1_000, 20, True)]
    say("  clusters    nodes   kinds                       p50        p99")
    for clusters, nodes, kinds, own in rows:
        cold, _ = ask_all(federation(clusters, nodes, kinds, own), 3)
        figures["growth"].append({"clusters": clusters, "nodes": nodes, "kinds": kinds, "own_kinds": own} | cold)
        which = "each its own" if own else "the same"
        say(f"  {clusters:8,} {nodes:8,} {kinds:7,}  {which:14}  {cold['p50']:10.3f} {cold['p99']:10.3f}")
    if given.json:
        print(orjson.dumps(figures).decode())


if __name__ == "__main__":
    main()

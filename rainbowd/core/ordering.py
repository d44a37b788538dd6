"""Whom to ask first: clusters that look as if they could start the job now, and that answer in time."""

from collections.abc import Iterable
from zlib import crc32

from rainbowd.core.state import Cluster, Job, Shape, World

MISSES_MAX = 3  # a cluster that misses more deadlines is asked no later than this


def best_looking(world: World, job: Job, names: Iterable[str]) -> list[str]:
    """The best first. Of equals, who was asked least often: so they share what comes, however few are asked."""
    return sorted(names, key=lambda name: _rank(world.clusters[name], job))


def miss(now: float, cluster: Cluster, window_s: float) -> None:
    """It let a deadline pass. However many auctions it was asked in at that time, it was silent once."""
    if now >= cluster.missed_at + window_s:
        cluster.missed_at = now
        cluster.missed += 1


def _rank(cluster: Cluster, job: Job) -> tuple[int, bool, bool, float, int, int, str]:
    queued = cluster.facts.get("jobs_queued", 0)
    return (
        min(cluster.missed, MISSES_MAX),
        cluster.draining is not None,
        not fits_now(cluster, job.shape),
        float(queued) if isinstance(queued, int | float) else 0.0,
        cluster.times_asked,
        crc32(f"{job.id}/{cluster.name}".encode()),
        cluster.name,
    )


def fits_now(cluster: Cluster, shape: Shape) -> bool:
    """By what the cluster said last is free there: counts only, so that a Yes is no promise. Who said nothing may."""
    facts = cluster.facts
    wanted = {
        "cores_free": shape.tasks * shape.cores_per_task,
        "gpus_free": shape.tasks * shape.gpus_per_task,
        "nodes_free": (shape.nodes or 1) if shape.exclusive else 0,
    }
    for name, amount in wanted.items():
        free = facts.get(name)
        if amount and isinstance(free, int | float) and free < amount:
            return False
    return True

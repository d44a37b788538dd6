"""A cluster is deleted: its session, its bids, its jobs and its name end here; its users keep sight of their jobs."""

from rainbowd.core import assignments, auctions, clusters, grants, waiting
from rainbowd.core.commands import DeleteCluster
from rainbowd.core.effects import EndSession, RetireCluster, Settled
from rainbowd.core.state import Cluster
from rainbowd.core.transitions import STARTED
from rainbowd.core.turn import Turn

_JOBS_NAMED = 3


def delete(turn: Turn, command: DeleteCluster) -> None:
    cluster = turn.world.clusters.get(command.name)
    if cluster is None:
        words = f"there is no cluster {command.name!r}"
        turn.emit(Settled(command.origin, command.name, "unknown_cluster", words))
        return
    held = sorted(job for job in cluster.jobs if turn.world.jobs[job].state in STARTED)
    if held and not command.force:
        turn.emit(Settled(command.origin, command.name, "cluster_has_jobs", _still_there(cluster, held)))
        return
    if cluster.session is not None:
        words = f"cluster {cluster.name!r} was deleted from this daemon"
        turn.emit(EndSession(cluster.session, "unknown_cluster", words, final=True))
        clusters.leave(turn, cluster)
    for job in held:
        assignments.lose(turn, turn.world.jobs[job], f"{cluster.name} was deleted; how the job ended there is unknown")
    _retire(turn, cluster)
    auctions.open_ready(turn)
    turn.emit(Settled(command.origin, cluster.name))


def _retire(turn: Turn, cluster: Cluster) -> None:
    """Nothing may lead from the old name to whoever has it next: not a grant, not a place in an auction's queue."""
    world, name = turn.world, cluster.name
    del world.clusters[name]
    world.awaited.discard(name)
    world.generations[name] = cluster.generation + 1
    world.deletions += 1
    world.deleted[name] = world.deletions
    retired = grants.retired(name, cluster.generation)
    for auction in world.auctions.values():
        auction.queue = [other for other in auction.queue if other != name]
    for job in world.jobs.values():
        if name in job.grants:
            job.grants = tuple(retired if grant == name else grant for grant in job.grants)
            if job.id in world.waiting:
                waiting.make_ready(turn, job)
    turn.emit(RetireCluster(name, cluster.generation, retired, cluster.secret_hash, cluster.token_hash, turn.now))


def _still_there(cluster: Cluster, held: list[str]) -> str:
    named = ", ".join(held[:_JOBS_NAMED]) + (", …" if len(held) > _JOBS_NAMED else "")
    jobs = "1 job is" if len(held) == 1 else f"{len(held)} jobs are"
    return f"{jobs} assigned to {cluster.name!r}: {named}"

"""What must be true of the world between any two steps. Tests and the simulation call this after every one."""

from rainbowd.core.state import World
from rainbowd.core.transitions import STARTED, TERMINAL, JobState


class InvariantError(AssertionError):
    """The core is broken; the message says where."""


def check(world: World) -> None:
    offered = 0
    for job in world.jobs.values():
        auction = world.auctions.get(job.id)
        at_cluster = job.state in STARTED or job.state is JobState.AWARDED
        _must(job.cluster is not None or not at_cluster, f"{job.id} is {job.state} nowhere")
        if at_cluster:
            _must(job.id in world.clusters[job.cluster or ""].jobs, f"{job.id} is not on the list of {job.cluster}")
        if job.state in STARTED:
            _must(auction is None, f"{job.id} was started and is still being auctioned")
            _must(job.assigned_at is not None, f"{job.id} was started without having been assigned")
        if job.state is JobState.OFFERED:
            offered += 1
            _must(auction is not None and bool(auction.asked), f"{job.id} is offered to nobody")
        if job.state is JobState.AWARDED:
            _must(auction is not None, f"{job.id} is awarded without an auction")
            _must(world.clusters[job.cluster or ""].online, f"{job.id} is awarded to an offline cluster")
        if auction is not None:
            _must(auction.attempt == job.attempt, f"{job.id} has an auction of another attempt")
            for name in auction.asked | {bid.cluster for bid in auction.ranking}:
                _must(world.clusters[name].online, f"{job.id} waits for {name}, which is offline")
            _must(set(auction.queue) <= set(world.clusters), f"{job.id} would ask a cluster that was deleted")
        if job.state is JobState.PENDING:
            _must(job.cluster is None, f"{job.id} is pending at {job.cluster}")
            lists = (job.id in world.waiting) + (job.id in world.held) + job.is_ready
            _must(lists == 1, f"{job.id} is pending and on {lists} lists")
        else:
            _must(job.id not in world.waiting, f"{job.id} is {job.state} and waiting")
            _must(job.id not in world.held, f"{job.id} is {job.state} and held")
        queued = job.state in (JobState.ASSIGNED, JobState.QUEUED)
        _must((job.id in world.queued) == queued, f"{job.id} is {job.state} and on the wrong list of queues")
        if job.id in world.moves:
            _must(queued, f"{job.id} is {job.state} and others are asked about it")
            _must(world.moves[job.id].auction.attempt > job.attempt, f"{job.id} would move to an old attempt")
        if job.state in TERMINAL:
            _must(job.finished_at is not None, f"{job.id} is over without an end")
    _must(world.open_auctions == offered, f"{world.open_auctions} open auctions, {offered} jobs offered")
    _must(set(world.auctions) <= set(world.jobs), "an auction outlived its job")
    _must(set(world.moves) <= set(world.jobs), "a move outlived its job")
    _must(set(world.held) | set(world.waiting) | set(world.queued) <= set(world.jobs), "a list outlived its job")
    for name, tally in world.tallies.items():
        alive = [job for job in world.jobs.values() if job.array == name and not job.is_counted]
        _must(tally.alive == len(alive), f"array {name} counts {tally.alive} members that are alive, {len(alive)} are")
        unbegun = sum(not job.has_begun for job in alive)
        _must(tally.unbegun == unbegun, f"array {name} counts {tally.unbegun} members that wait, {unbegun} do")
    for array, line in world.arrays.items():
        out = sum(job.is_out for job in world.jobs.values() if job.array == array)
        _must(line.out == out, f"array {array} counts {line.out} members that are out, {out} are")
    _must(world.open_auctions <= world.settings.auctions_open_max, "more auctions than allowed")
    for cluster in world.clusters.values():
        if cluster.session is not None:
            _must(world.sessions.get(cluster.session) == cluster.name, f"the session of {cluster.name} is unknown")
        running = sum(world.jobs[job_id].state is JobState.RUNNING for job_id in cluster.jobs if job_id in world.jobs)
        _must(cluster.running == running, f"{cluster.name} counts {cluster.running} running jobs, {running} are")
        for job_id in cluster.jobs:
            _must(job_id in world.jobs, f"{cluster.name} lists {job_id}, which is over")
            _must(world.jobs[job_id].cluster == cluster.name, f"{cluster.name} lists {job_id}, which is elsewhere")
    _must(len(world.sessions) == sum(c.online for c in world.clusters.values()), "a session without a cluster")


def _must(condition: bool, message: str) -> None:
    if not condition:
        raise InvariantError(message)

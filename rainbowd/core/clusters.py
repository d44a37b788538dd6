"""Clusters come online, change and go away."""

from rainbowd.core import assignments, auctions, descriptions, moving, waiting
from rainbowd.core.commands import AgentGone, AgentReady, AgentState, SetState
from rainbowd.core.effects import EndSession, SaveCluster, SendWelcome, Settled
from rainbowd.core.selection.base import NO_FACTS
from rainbowd.core.state import RESERVED, Cluster
from rainbowd.core.transitions import STARTED, JobState
from rainbowd.core.turn import Turn


def agent_ready(turn: Turn, command: AgentReady) -> None:
    world = turn.world
    cluster = world.clusters.get(command.cluster)
    if cluster is None or cluster.generation != command.generation:
        words = f"cluster {command.cluster!r} was deleted from this daemon"
        turn.emit(EndSession(command.session, "unknown_cluster", words, final=True))
        return
    if cluster.session is not None:
        if cluster.agent_id != command.agent_id:
            words = f"another agent holds the session of cluster {cluster.name!r}"
            turn.emit(EndSession(command.session, "cluster_busy", words))
            return
        # The same agent again: the old connection is dead, only we have not noticed yet.
        turn.emit(EndSession(cluster.session, "cluster_busy", "the same agent opened a newer session"))
        leave(turn, cluster)
    world.awaited.discard(cluster.name)
    world.sessions[command.session] = cluster.name
    cluster.session = command.session
    cluster.agent_id = command.agent_id
    _take_state(cluster, command)
    cluster.missed = 0
    # Counts say less than a graph does: they describe a cluster only as long as nothing else does.
    if cluster.form in (None, "totals") and cluster.digest != command.totals.digest:
        descriptions.take(turn, cluster, command.totals)
    send_graph = command.digest is not None and command.digest != cluster.digest
    turn.emit(SendWelcome(command.session, cluster.name, send_graph))
    assignments.reconcile(turn, cluster, command.session, list(command.inventory))
    waiting.wake(turn, cluster, all_of_them=True)
    moving.freed(turn, cluster)
    auctions.open_ready(turn)


def agent_gone(turn: Turn, command: AgentGone) -> None:
    name = turn.world.sessions.get(command.session)
    if name is not None:
        leave(turn, turn.world.clusters[name])
        auctions.open_ready(turn)


def leave(turn: Turn, cluster: Cluster) -> None:
    """Its session has ended, or is about to."""
    world = turn.world
    if cluster.session is not None:
        del world.sessions[cluster.session]
    cluster.session = None
    cluster.free = cluster.draining = None
    cluster.facts = NO_FACTS
    cluster.restate()
    cluster.offline_since = turn.now
    started = False
    for job_id in sorted(cluster.jobs):
        job = world.jobs[job_id]
        if job.state is JobState.AWARDED:
            assignments.withdraw(turn, job, f"the session of {cluster.name} ended before it had accepted")
            waiting.make_ready(turn, job)
        elif job.state in STARTED:
            started = True
            turn.record(job, "disconnected", {"attempt": job.attempt, "cluster": cluster.name}, detail=True)
    moving.cluster_gone(turn, cluster.name)
    auctions.bidder_gone(turn, cluster.name)
    waiting.wake_kept(turn)  # some were kept for a place that is no more
    if started and not cluster.lost_armed:
        cluster.lost_armed = True
        world.arm(turn.now + world.settings.lost_after_s, "lost", cluster.name)


def lost_due(turn: Turn, name: str) -> None:
    cluster = turn.world.clusters.get(name)
    if cluster is None:
        return
    cluster.lost_armed = False
    if cluster.online:
        return
    given_up_at = cluster.offline_since + turn.world.settings.lost_after_s
    if given_up_at <= turn.now:
        assignments.lose_all(turn, cluster)
    else:  # it was back in between
        cluster.lost_armed = True
        turn.world.arm(given_up_at, "lost", name)


def agent_state(turn: Turn, command: AgentState) -> None:
    name = turn.world.sessions.get(command.session)
    if name is not None:
        cluster = turn.world.clusters[name]
        _take_state(cluster, command)
        if cluster.draining is None:
            waiting.wake(turn, cluster)
            auctions.open_ready(turn)  # who is with nobody yet goes first
            moving.freed(turn, cluster)
        auctions.open_ready(turn)


def set_state(turn: Turn, command: SetState) -> None:
    cluster = turn.world.clusters.get(command.cluster)
    if cluster is None:
        words = f"there is no cluster {command.cluster!r}"
        turn.emit(Settled(command.origin, command.cluster, "unknown_cluster", words))
        return
    if known := sorted(RESERVED & set(command.keys)):
        words = f"{known[0]!r} is what the daemon itself knows of a cluster, and cannot be set"
        turn.emit(Settled(command.origin, cluster.name, "invalid", words))
        return
    keys = {name: value for name, value in cluster.site_keys.items() if name not in command.unset} | dict(command.keys)
    limit = turn.world.settings.site_keys_max
    if len(keys) > limit:
        words = f"cluster {cluster.name!r} would have {len(keys)} keys of its site, and {limit} is the limit"
        turn.emit(Settled(command.origin, cluster.name, "too_many", words))
        return
    cluster.site_keys = keys
    cluster.restate()
    turn.emit(SaveCluster(cluster))
    turn.emit(Settled(command.origin, cluster.name))
    waiting.wake(turn, cluster)
    auctions.open_ready(turn)


def _take_state(cluster: Cluster, command: AgentReady | AgentState) -> None:
    cluster.free, cluster.facts, cluster.draining = command.free, command.facts, command.draining
    cluster.missed = max(0, cluster.missed - 1)
    cluster.restate()

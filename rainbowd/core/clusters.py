"""Clusters register, come online, change and go away."""

from rainbowd.core import assignments, auctions
from rainbowd.core.commands import AgentGone, AgentReady, AgentState, RegisterCluster
from rainbowd.core.effects import AnswerRegister, EndSession, SaveCluster, SendWelcome
from rainbowd.core.state import Cluster
from rainbowd.core.transitions import STARTED, JobState
from rainbowd.core.turn import Turn


def register(turn: Turn, command: RegisterCluster) -> None:
    if command.name in turn.world.clusters:
        words = f"a cluster named {command.name!r} is registered already"
        turn.emit(AnswerRegister(command.origin, command.name, "cluster_exists", words))
        return
    cluster = Cluster(
        name=command.name,
        registered_at=turn.now,
        secret_hash=command.secret_hash,
        token_hash=command.token_hash,
        resources=command.resources,
        offline_since=turn.now,
    )
    turn.world.clusters[cluster.name] = cluster
    turn.emit(SaveCluster(cluster))
    turn.emit(AnswerRegister(command.origin, command.name))


def agent_ready(turn: Turn, command: AgentReady) -> None:
    world = turn.world
    cluster = world.clusters[command.cluster]
    if cluster.session is not None:
        if cluster.agent_id != command.agent_id:
            words = f"another agent holds the session of cluster {cluster.name!r}"
            turn.emit(EndSession(command.session, "cluster_busy", words))
            return
        # The same agent again: the old connection is dead, only we have not noticed yet.
        turn.emit(EndSession(cluster.session, "cluster_busy", "the same agent opened a newer session"))
        _gone(turn, cluster)
    world.awaited.discard(cluster.name)
    world.sessions[command.session] = cluster.name
    cluster.session = command.session
    cluster.agent_id = command.agent_id
    cluster.free = command.free
    if cluster.resources != command.resources:
        cluster.resources = command.resources
        turn.emit(SaveCluster(cluster))
    turn.emit(SendWelcome(command.session, cluster.name))
    assignments.reconcile(turn, cluster, command.session, list(command.inventory))
    auctions.wake(turn, cluster, described=True)
    auctions.open_ready(turn)


def agent_gone(turn: Turn, command: AgentGone) -> None:
    name = turn.world.sessions.get(command.session)
    if name is not None:
        _gone(turn, turn.world.clusters[name])
        auctions.open_ready(turn)


def _gone(turn: Turn, cluster: Cluster) -> None:
    world = turn.world
    if cluster.session is not None:
        del world.sessions[cluster.session]
    cluster.session = None
    cluster.free = None
    cluster.offline_since = turn.now
    started = False
    for job_id in sorted(cluster.jobs):
        job = world.jobs[job_id]
        if job.state is JobState.AWARDED:
            assignments.withdraw(turn, job, f"the session of {cluster.name} ended before it had accepted")
            auctions.make_ready(turn, job)
        elif job.state in STARTED:
            started = True
            turn.record(job, "disconnected", {"attempt": job.attempt, "cluster": cluster.name}, detail=True)
    auctions.bidder_gone(turn, cluster.name)
    if started and not cluster.lost_armed:
        cluster.lost_armed = True
        world.arm(turn.now + world.settings.lost_after_s, "lost", cluster.name)


def lost_due(turn: Turn, name: str) -> None:
    cluster = turn.world.clusters[name]
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
        cluster.free = command.free
        auctions.wake(turn, cluster)
        auctions.open_ready(turn)

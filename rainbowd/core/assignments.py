"""From the award to the end: accept, start, reports, and clusters that come back with what they hold.

The promise kept here: at most one attempt of a job is ever told to start,
unless the cluster itself hands the job back as never run.
"""

from rainbowd.core import auctions, awards, moving, waiting
from rainbowd.core.commands import AnswerItem, AwardsAnswered, Held, ReportItem, ReportsReceived
from rainbowd.core.effects import Complain, SendAck, SendCancel, SendRelease, SendStart
from rainbowd.core.state import Cluster, Job
from rainbowd.core.transitions import STARTED, JobState, Trigger, legal
from rainbowd.core.turn import Turn

_TRIGGERS = {
    "queued": Trigger.QUEUE,
    "running": Trigger.RUN,
    "completed": Trigger.COMPLETE,
    "failed": Trigger.FAIL,
    "cancelled": Trigger.CANCEL,
    "lost": Trigger.LOSE,
    "returned": Trigger.RETURN,
}


# --- the award's answer ---------------------------------------------------


def take_answers(turn: Turn, command: AwardsAnswered) -> None:
    cluster = turn.world.sessions.get(command.session)
    if cluster is None:
        return
    for item in command.items:
        job = turn.world.jobs.get(item.job)
        if job is None or not awards.holds(job, cluster, item.attempt):
            if item.accept:
                turn.emit(SendRelease(command.session, item.job, item.attempt))
        elif item.accept:
            _accepted(turn, job, command.session)
        elif job.state is JobState.AWARDED:
            _refused(turn, job, item)
    auctions.open_ready(turn)


def _accepted(turn: Turn, job: Job, session: int) -> None:
    if job.state is JobState.AWARDED:
        turn.move(job, Trigger.ACCEPT)
        job.assigned_at = turn.now
        job.report_seq = 0
        job.failures = 0
        turn.record(job, "assigned", {"attempt": job.attempt, "cluster": job.cluster})
        world, shape = turn.world, job.shape
        if not job.is_charged:  # once, however often it moves
            job.is_charged = True
            core_s = shape.tasks * shape.cores_per_task * (shape.time_limit_s or 3600.0)
            world.shares.charge(job.user, core_s, turn.now)
        moving.arm_late(turn, job)
        auction = turn.world.auctions.pop(job.id, None)
        if auction is not None:
            awards.release_bidders(turn, auction, keep=job.cluster)
    if job.state in STARTED:
        turn.emit(SendStart(session, job.id, job.attempt))


def _refused(turn: Turn, job: Job, item: AnswerItem) -> None:
    cluster, reason = job.cluster, item.reason
    _detach(turn, job)
    turn.record(job, "refused", {"attempt": item.attempt, "cluster": cluster, "reason": reason}, detail=True)
    auction = turn.world.auctions[job.id]
    auction.bids = [bid for bid in auction.bids if bid.cluster != cluster]
    awards.award_next(turn, job, auction)


def award_due(turn: Turn, job: Job, attempt: int) -> None:
    """The winner did not answer: take the award back and hold a new auction, after a pause."""
    auction = turn.world.auctions.get(job.id)
    if auction is None or job.state is not JobState.AWARDED or auction.attempt != attempt:
        return
    if auction.deadline > turn.now:  # the timer of an earlier award of this attempt
        return
    name = job.cluster or ""
    session = turn.world.clusters[name].session
    if session is not None:
        turn.emit(SendRelease(session, job.id, job.attempt))
    withdraw(turn, job, f"{name} was awarded the job and did not answer in time")
    waiting.after_failure(turn, job, unsettled=True)


def withdraw(turn: Turn, job: Job, reason: str) -> None:
    """Take an award back before *start*. The caller decides when the next auction is."""
    cluster, attempt = job.cluster, job.attempt
    awards.drop(turn, job)
    _detach(turn, job)
    turn.move(job, Trigger.WITHDRAW, reason)
    turn.record(job, "refused", {"attempt": attempt, "cluster": cluster, "reason": reason}, detail=True)


def _detach(turn: Turn, job: Job) -> None:
    if job.cluster is not None:
        turn.world.clusters[job.cluster].jobs.discard(job.id)
        job.cluster = None


# --- reports --------------------------------------------------------------


def take_reports(turn: Turn, command: ReportsReceived) -> None:
    cluster = turn.world.sessions.get(command.session)
    if cluster is None:
        return
    for item in command.items:
        job = turn.world.jobs.get(item.job)
        if job is not None and awards.holds(job, cluster, item.attempt) and item.seq > job.report_seq:
            _report(turn, job, item, command.session)
        # What is old or stale is acknowledged too: the agent must be able to stop repeating it.
        turn.emit(SendAck(command.session, item.job, item.attempt, item.seq))
    auctions.open_ready(turn)


def _report(turn: Turn, job: Job, item: ReportItem, session: int) -> None:
    trigger = _TRIGGERS[item.event]
    if item.event == "returned" and job.state is JobState.RUNNING:
        lose(turn, job, f"{job.cluster} handed the job back although it had been running; how it ended is unknown")
        return
    if not legal(job.state, trigger) or job.state not in STARTED:
        turn.emit(Complain(session, f"job {job.id} is {job.state} and cannot be {item.event}"))
        return
    job.report_seq = item.seq
    job.native_id = item.native_id or job.native_id
    cluster = job.cluster
    if item.event == "returned":
        _returned(turn, job, item)
        return
    if item.event == "running":
        job.started_at = turn.now
    elif item.event != "queued":
        job.exit_code = item.exit_code
    turn.move(job, trigger, item.reason)
    if item.event != "queued":
        moving.drop(turn, job)  # it runs, or is over: it goes nowhere else
    data = {"attempt": job.attempt, "cluster": cluster, "at_cluster": item.at}
    if item.event in ("queued", "running"):
        turn.record(job, item.event, data | {"native_id": job.native_id, "reason": item.reason})
    else:
        turn.record(job, item.event, data | {"exit_code": item.exit_code, "reason": item.reason})


def _returned(turn: Turn, job: Job, item: ReportItem) -> None:
    """The cluster gives the job back and vouches that it never ran: it may be started elsewhere."""
    cluster = job.cluster
    data = {"attempt": job.attempt, "cluster": cluster, "reason": item.reason}
    if job.cancel_requested:
        turn.move(job, Trigger.CANCEL, "cancelled by the user before it ran")
        turn.record(job, "cancelled", data | {"exit_code": None, "reason": job.reason})
        return
    _detach(turn, job)
    job.assigned_at = job.native_id = job.promised_at = None
    turn.move(job, Trigger.RETURN, item.reason)
    turn.record(job, "returned", data)
    if not moving.given_back(turn, job, cluster or ""):
        waiting.make_ready(turn, job)


# --- a cluster that comes back --------------------------------------------


def reconcile(turn: Turn, cluster: Cluster, session: int, inventory: "list[Held]") -> None:
    """Compare what the agent's journal holds with what we believe it holds, and settle every difference."""
    seen: set[str] = set()
    for held in inventory:
        job = turn.world.jobs.get(held.job)
        if job is None or not awards.holds(job, cluster.name, held.attempt) or job.state not in STARTED:
            _stale(turn, held, session)
            continue
        seen.add(job.id)
        turn.record(job, "reconnected", {"attempt": job.attempt, "cluster": cluster.name}, detail=True)
        if held.phase == "accepted" and job.state is not JobState.ASSIGNED:
            lose(turn, job, f"{cluster.name} had reported the job {job.state}, but its journal has gone back in time")
        elif job.cancel_requested and held.phase != "finished":
            turn.emit(SendCancel(session, job.id, job.attempt))  # also instead of a start that never arrived
        elif held.phase == "accepted":
            turn.emit(SendStart(session, job.id, job.attempt))
    for job_id in sorted(cluster.jobs - seen):
        job = turn.world.jobs[job_id]
        if job.state in STARTED:
            lose(turn, job, f"{cluster.name} came back and no longer knows the job; whether it ran is unknown")


def _stale(turn: Turn, held: Held, session: int) -> None:
    """The attempt does not count any more. If it was never started it is dropped, else it is ended."""
    if held.phase == "accepted":
        turn.emit(SendRelease(session, held.job, held.attempt))
    elif held.phase == "started":
        turn.emit(SendCancel(session, held.job, held.attempt))


def lose_all(turn: Turn, cluster: Cluster) -> None:
    """The cluster has been away for so long that its jobs are given up."""
    for job_id in sorted(cluster.jobs):
        job = turn.world.jobs[job_id]
        if job.state in STARTED:
            lose(turn, job, f"{cluster.name} has been offline for too long; whether the job ran is unknown")


def lose(turn: Turn, job: Job, reason: str) -> None:
    moving.drop(turn, job)
    turn.move(job, Trigger.LOSE, reason)
    data = {"attempt": job.attempt, "cluster": job.cluster, "exit_code": None, "reason": reason}
    turn.record(job, "lost", data)

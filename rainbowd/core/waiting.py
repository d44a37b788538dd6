"""Which pending jobs are auctioned when: at once, when something changes, or, at the latest, when the clock says."""

from rainbowd.core.state import Cluster, Job
from rainbowd.core.survey import Survey
from rainbowd.core.turn import Turn
from rainbowd.core.wishes import left_out

WOKEN_MAX = 256  # by one change of one cluster; the others are woken by the next
LOOKED_AT_MAX = 2_000


def make_ready(turn: Turn, job: Job) -> None:
    """The job gets an auction as soon as there is room for one more."""
    if not job.is_ready:
        job.is_ready = True
        job.retry_at = None
        turn.world.waiting.pop(job.id, None)
        turn.world.ready.add(job.user, job.wishes.urgency, job.submitted_at, job.id)


def wake(turn: Turn, cluster: Cluster, *, described: bool = False) -> None:
    """Something changed at a cluster: jobs that wait and could run there try again, though not too often.

    If the cluster has `described` itself anew, those that cannot run there want to know that, too.
    """
    world = turn.world
    woken = looked_at = 0
    for job_id in list(world.waiting):
        job = world.jobs[job_id]
        if cluster.name not in job.grants:
            continue
        if not described:
            looked_at += 1
            if woken >= WOKEN_MAX or looked_at > LOOKED_AT_MAX:
                return
        if described or _could_go_to(turn, job, cluster):
            if job.not_before <= turn.now:
                make_ready(turn, job)
                woken += 1
            else:
                retry_at(turn, job, job.not_before)


def _could_go_to(turn: Turn, job: Job, cluster: Cluster) -> bool:
    if left_out(job.wishes, cluster.name, turn.world.settings.groups) is not None:
        return False
    return turn.world.matcher.match(job.ask, cluster.resources).fits


def retry_due(turn: Turn, job: Job) -> None:
    if job.retry_at is None or job.retry_at > turn.now:
        return  # a later one is armed, or the job has been auctioned since
    job.retry_at = None
    if job.id in turn.world.waiting:
        make_ready(turn, job)


def grace_over(turn: Turn) -> None:
    """The time that clusters get to come back after a restart has passed."""
    if not turn.world.awaited:
        return
    turn.world.awaited.clear()
    for job_id in list(turn.world.waiting):
        make_ready(turn, turn.world.jobs[job_id])


def wait(turn: Turn, job: Job, reason: str, found: Survey) -> None:
    """Nobody can be asked now; a change will wake it."""
    turn.world.waiting[job.id] = None
    tell(turn, job, reason, found)


def tell(turn: Turn, job: Job, reason: str, found: Survey | None = None) -> None:
    """Why a pending job waits, unless that is what was said last."""
    reason = reason[: turn.world.settings.reason_chars_max]
    if job.reason != reason:
        job.reason = reason
        turn.save(job)
        clusters = [] if found is None else found.as_data(())
        turn.record(job, "waiting", {"reason": job.reason, "clusters": clusters}, detail=True)


def retry_at(turn: Turn, job: Job, at: float) -> None:
    """Arm the job's retry, unless one is armed that comes no later."""
    if job.retry_at is None or at < job.retry_at:
        job.retry_at = at
        turn.world.arm(at, "retry", job.id)


def after_failure(turn: Turn, job: Job, *, unsettled: bool) -> None:
    """After an auction that came to nothing: try again when something changes, and at the latest when the clock says.

    `unsettled` means that somebody was silent or took a Yes back: that is tried again soon. A clear No is tried again
    after a long while, in case that what changed was never told.
    """
    settings = turn.world.settings
    job.failures += 1
    turn.world.waiting[job.id] = None
    turn.record(job, "waiting", {"reason": job.reason, "clusters": []}, detail=True)
    if unsettled:
        doublings = min(job.failures - 1, 16)
        job.not_before = turn.now + min(settings.retry_first_s * 2**doublings, settings.retry_longest_s)
        retry_at(turn, job, job.not_before)
    else:
        job.not_before = turn.now + settings.retry_first_s
        retry_at(turn, job, turn.now + settings.retry_longest_s)

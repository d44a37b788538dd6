"""Which pending jobs are auctioned when: at once, when something changes, or, at the latest, when the clock says."""

from itertools import islice

from rainbowd.core.ordering import fits_now
from rainbowd.core.state import Cluster, Job
from rainbowd.core.survey import Survey
from rainbowd.core.turn import Turn
from rainbowd.core.wishes import left_out

LOOKED_AT_MAX = 2_000  # of those that may go to a cluster, for one change there


def make_ready(turn: Turn, job: Job) -> None:
    """The job gets an auction as soon as there is room for one more."""
    if not job.is_ready:
        job.is_ready = True
        job.retry_at = None
        turn.world.waiting.discard(job.id)
        turn.world.ready.add(job.user, job.wishes.urgency, job.submitted_at, job.id)


def wake(turn: Turn, cluster: Cluster, *, all_of_them: bool = False) -> None:
    """Something changed at a cluster: those first in line that could run there try again, though not too often.

    If it has come back or describes itself anew, all do that nobody would take: those that cannot run there want to
    know that, too.
    """
    world = turn.world
    woken: list[Job] = []
    looked_at = enough = 0
    for job_id in world.waiting.in_order():
        job = world.jobs[job_id]
        if cluster.name not in job.grants:
            continue
        wanted = all_of_them and not job.kept
        if not wanted:
            looked_at += 1
            if looked_at > LOOKED_AT_MAX or enough >= world.settings.wake_max:
                if all_of_them:
                    continue
                break
            if not _could_go_to(turn, job, cluster):
                continue
        if job.not_before <= turn.now:
            woken.append(job)
            enough += not wanted
        else:
            retry_at(turn, job, job.not_before)
    for job in woken:
        make_ready(turn, job)


def wake_kept(turn: Turn) -> None:
    """Those first in line that were kept try again."""
    world = turn.world
    kept = (world.jobs[job_id] for job_id in world.waiting.in_order())
    for job in list(islice((job for job in kept if job.kept), world.settings.wake_max)):
        make_ready(turn, job)


def sweep(turn: Turn) -> None:
    """Once in a long while all that are kept are offered anew, in case that a change was never told."""
    world = turn.world
    world.sweep_armed = False
    for job_id in list(world.waiting):
        if world.jobs[job_id].kept:
            make_ready(turn, world.jobs[job_id])


def _could_go_to(turn: Turn, job: Job, cluster: Cluster) -> bool:
    if not cluster.online or cluster.resources is None:
        return False
    if not (has_room_ahead(turn, cluster) or fits_now(cluster, job.shape)):
        return False
    if left_out(job.wishes, cluster.name, turn.world.settings.groups) is not None:
        return False
    return turn.world.matcher.match(job.ask, cluster.resources).fits


def has_room_ahead(turn: Turn, cluster: Cluster) -> bool:
    """May one more job of ours wait in this cluster's queue?"""
    limit = turn.world.settings.queue_ahead_max
    return limit == 0 or cluster.waiting_here < limit


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
    _enter(turn, job)
    tell(turn, job, reason, found)


def keep(turn: Turn, job: Job, reason: str) -> None:
    """Somebody would take it, but only to let it wait: here it can still go to whoever is free first."""
    world, settings = turn.world, turn.world.settings
    _enter(turn, job)
    job.failures = 0
    job.not_before = turn.now + min(0.1 * 2 ** min(job.kept, 16), settings.kept_pause_s)
    job.kept += 1
    if job.kept == 1:
        tell(turn, job, reason)
    else:  # told once: that it is still so a hundred changes later is not news
        job.reason = reason[: settings.reason_chars_max]
        turn.save(job)
    if not world.sweep_armed:
        world.sweep_armed = True
        world.arm(turn.now + settings.kept_retry_s, "sweep", "")


def _enter(turn: Turn, job: Job) -> None:
    turn.world.waiting.add(job.user, job.wishes.urgency, job.submitted_at, job.id)


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
    job.kept = 0
    _enter(turn, job)
    turn.record(job, "waiting", {"reason": job.reason, "clusters": []}, detail=True)
    pause_s = min(settings.retry_first_s * 2 ** min(job.failures - 1, 16), settings.retry_longest_s)
    job.not_before = turn.now + pause_s  # who is always told No must not always be in the way of others
    retry_at(turn, job, job.not_before if unsettled else turn.now + settings.retry_longest_s)

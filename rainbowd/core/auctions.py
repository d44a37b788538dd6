"""From a pending job to an award: survey the clusters, offer, collect bids, select.

Rounds ask at most `fanout` clusters each; the next round is for when all of
one said No. What happens after the award is in `assignments`.
"""

from collections.abc import Sequence
from typing import Any

from rainbowd.core.commands import BidItem, BidsReceived
from rainbowd.core.effects import SendAward, SendOffer, SendRelease
from rainbowd.core.selection.base import Bid
from rainbowd.core.state import Auction, Cluster, Job
from rainbowd.core.survey import Survey, survey
from rainbowd.core.transitions import JobState, Trigger
from rainbowd.core.turn import Turn


def holds(job: Job | None, cluster: str, attempt: int) -> bool:
    """The fence: is this attempt, at this cluster, the one that counts?"""
    return job is not None and job.cluster == cluster and job.attempt == attempt


# --- which jobs are auctioned when ----------------------------------------


def make_ready(turn: Turn, job: Job) -> None:
    """The job gets an auction as soon as there is room for one more."""
    if not job.is_ready:
        job.is_ready = True
        job.retry_at = None
        turn.world.waiting.pop(job.id, None)
        turn.world.ready.append(job.id)


def wake(turn: Turn, cluster: Cluster, *, described: bool = False) -> None:
    """Something changed at a cluster: jobs that wait and could run there try again, though not too often.

    If the cluster has `described` itself anew, those that cannot run there want to know that, too.
    """
    world = turn.world
    for job_id in list(world.waiting):
        job = world.jobs[job_id]
        if cluster.name not in job.grants:
            continue
        if described or world.matcher.match(job.ask, cluster.resources).fits:
            if job.not_before <= turn.now:
                make_ready(turn, job)
            else:
                _retry_at(turn, job, job.not_before)


def open_ready(turn: Turn) -> None:
    world = turn.world
    while world.ready and world.open_auctions < world.settings.auctions_open_max:
        job = world.jobs.get(world.ready.popleft())
        if job is not None and job.is_ready:
            job.is_ready = False
            if job.state is JobState.PENDING:
                _consider(turn, job)


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


def _consider(turn: Turn, job: Job) -> None:
    world = turn.world
    found = survey(world, job)
    if not found.could_ever:
        reason = found.impossible_words()
        turn.move(job, Trigger.REJECT, reason)
        turn.record(job, "rejected", {"reason": reason, "clusters": found.as_data(())})
    elif not world.awaited.isdisjoint(found.offline):
        # The first cluster to be back after a restart must not get everything.
        _wait(turn, job, "the daemon has just started and waits for clusters to reconnect", found)
    elif not found.candidates:
        names = ", ".join(found.offline) or ", ".join(found.undescribed)
        _wait(turn, job, f"no cluster that could take it is online (offline: {names})", found)
    else:
        _open_auction(turn, job, found)


def _wait(turn: Turn, job: Job, reason: str, found: Survey) -> None:
    turn.world.waiting[job.id] = None
    reason = reason[: turn.world.settings.reason_chars_max]
    if job.reason != reason:
        job.reason = reason
        turn.save(job)
        turn.record(job, "waiting", {"reason": job.reason, "clusters": found.as_data(())}, detail=True)


def _retry_at(turn: Turn, job: Job, at: float) -> None:
    """Arm the job's retry, unless one is armed that comes no later."""
    if job.retry_at is None or at < job.retry_at:
        job.retry_at = at
        turn.world.arm(at, "retry", job.id)


# --- bidding --------------------------------------------------------------


def _open_auction(turn: Turn, job: Job, found: Survey) -> None:
    job.attempt += 1
    turn.move(job, Trigger.OFFER)
    auction = Auction(job.id, job.attempt, queue=found.candidates)
    turn.world.auctions[job.id] = auction
    turn.world.open_auctions += 1
    _next_round(turn, job, auction, found)


def _next_round(turn: Turn, job: Job, auction: Auction, found: Survey) -> bool:
    """Ask the next few clusters; False if there are none left to ask."""
    world, settings = turn.world, turn.world.settings
    online = [name for name in auction.queue if world.clusters[name].online]
    asked, auction.queue = online[: settings.fanout], online[settings.fanout :]
    if not asked:
        return False
    auction.round += 1
    auction.asked = set(asked)
    auction.deadline = turn.now + settings.bid_window_s
    deadline_ms = round(settings.bid_window_s * 1000)
    hold_s = settings.bid_window_s + settings.award_window_s
    for name in asked:
        session = world.clusters[name].session
        if session is not None:
            turn.emit(SendOffer(session, job.id, auction.attempt, job.shape, job.terms, deadline_ms, hold_s))
    world.arm(auction.deadline, "bids", job.id, auction.attempt)
    data = {
        "attempt": auction.attempt,
        "round": auction.round,
        "deadline_ms": deadline_ms,
        "clusters": found.as_data(asked),
    }
    turn.record(job, "offered", data, detail=True)
    return True


def take_bids(turn: Turn, command: BidsReceived) -> None:
    world = turn.world
    cluster = world.sessions.get(command.session)
    if cluster is None:
        return
    for item in command.items:
        auction = world.auctions.get(item.job)
        if auction is None or auction.attempt != item.attempt or cluster not in auction.asked:
            # Too late or stale: it must not go on holding a place for it, unless this only repeats a bid that counts.
            if item.yes and not _counts(turn, cluster, item):
                turn.emit(SendRelease(command.session, item.job, item.attempt))
            continue
        auction.asked.discard(cluster)
        bid = Bid(cluster, auction.round, item.yes, item.eta_s, item.cost, item.reason)
        (auction.bids if item.yes else auction.noes).append(bid)
        if not auction.asked:
            _settle(turn, world.jobs[item.job], auction)
    open_ready(turn)


def _counts(turn: Turn, cluster: str, item: BidItem) -> bool:
    """Is there a bid of this cluster in the auction already, or has it won the job with it?"""
    auction = turn.world.auctions.get(item.job)
    if auction is not None and auction.attempt == item.attempt and any(bid.cluster == cluster for bid in auction.bids):
        return True
    return holds(turn.world.jobs.get(item.job), cluster, item.attempt)


def bids_due(turn: Turn, job: Job, attempt: int) -> None:
    auction = turn.world.auctions.get(job.id)
    if auction is None or auction.attempt != attempt or job.state is not JobState.OFFERED:
        return
    if auction.deadline <= turn.now:
        for name in sorted(auction.asked):
            auction.silent = True
            auction.noes.append(Bid(name, auction.round, False, reason="did not answer in time"))
        auction.asked = set()
        _settle(turn, job, auction)


def bidder_gone(turn: Turn, cluster: str) -> None:
    """A session ended: its open bids are void, and auctions that only waited for it are settled."""
    for job_id, auction in list(turn.world.auctions.items()):
        auction.bids = [bid for bid in auction.bids if bid.cluster != cluster]
        auction.ranking = [bid for bid in auction.ranking if bid.cluster != cluster]
        if cluster in auction.asked:
            auction.asked.discard(cluster)
            auction.silent = True  # it may be back in a moment
            auction.noes.append(Bid(cluster, auction.round, False, reason="its session ended before it answered"))
            if not auction.asked:
                _settle(turn, turn.world.jobs[job_id], auction)


def _settle(turn: Turn, job: Job, auction: Auction) -> None:
    """Everybody asked in this round has answered, or the time is up."""
    world = turn.world
    if auction.bids:
        world.open_auctions -= 1
        auction.ranking = sorted(auction.bids, key=world.policy.score)
        award_next(turn, job, auction)
        return
    noes = [bid_as_data(bid, None) for bid in auction.noes if bid.round == auction.round]
    data = {"attempt": auction.attempt, "round": auction.round, "bids": noes, "reason": "nobody said Yes"}
    turn.record(job, "declined", data, detail=True)
    if not _next_round(turn, job, auction, survey(world, job)):
        world.open_auctions -= 1
        del world.auctions[job.id]
        words = "; ".join(f"{bid.cluster}: {bid.reason or 'no reason given'}" for bid in auction.noes)
        turn.move(job, Trigger.DECLINE, f"every cluster that was asked said No ({words})")
        back_to_waiting(turn, job, unsettled=auction.silent)


# --- the award, and what undoes an auction --------------------------------


def award_next(turn: Turn, job: Job, auction: Auction) -> None:
    """Award to the best bid whose cluster is still there; back to waiting if there is none."""
    world = turn.world
    while auction.ranking:
        ranking = list(auction.ranking)
        best = auction.ranking.pop(0)
        session = world.clusters[best.cluster].session
        if session is None:
            continue
        turn.move(job, Trigger.AWARD)
        job.cluster = best.cluster
        world.clusters[best.cluster].jobs.add(job.id)
        auction.deadline = turn.now + world.settings.award_window_s
        world.arm(auction.deadline, "award", job.id, auction.attempt)
        turn.emit(SendAward(session, job.id, job.attempt, job.payload))
        data = {
            "attempt": job.attempt,
            "round": auction.round,
            "policy": world.policy.name,
            "winner": best.cluster,
            "why": world.policy.why(ranking),
            "bids": [bid_as_data(bid, world.policy.score(bid)) for bid in ranking]
            + [bid_as_data(bid, None) for bid in auction.noes],
        }
        turn.record(job, "awarded", data)
        return
    trigger = Trigger.REFUSE if job.state is JobState.AWARDED else Trigger.DECLINE
    del world.auctions[job.id]
    turn.move(job, trigger, "every cluster that had said Yes took it back")
    back_to_waiting(turn, job, unsettled=True)


def release_bidders(turn: Turn, auction: Auction, keep: str | None = None) -> None:
    """Those who said Yes and did not get the job stop holding a place for it."""
    for bid in auction.bids:
        session = turn.world.clusters[bid.cluster].session
        if bid.cluster != keep and session is not None:
            turn.emit(SendRelease(session, auction.job, auction.attempt))


def drop(turn: Turn, job: Job) -> None:
    """Forget the job's auction, if it has one, and free the places held for it."""
    auction = turn.world.auctions.pop(job.id, None)
    if auction is not None:
        if job.state is JobState.OFFERED:
            turn.world.open_auctions -= 1
        release_bidders(turn, auction, keep=job.cluster)


def back_to_waiting(turn: Turn, job: Job, *, unsettled: bool) -> None:
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
        _retry_at(turn, job, job.not_before)
    else:
        job.not_before = turn.now + settings.retry_first_s
        _retry_at(turn, job, turn.now + settings.retry_longest_s)


def bid_as_data(bid: Bid, score: Sequence[float | str] | None) -> dict[str, Any]:
    return {
        "cluster": bid.cluster,
        "round": bid.round,
        "answer": "yes" if bid.yes else "no",
        "eta_s": bid.eta_s if bid.yes else None,
        "cost": bid.cost if bid.yes else None,
        "reason": bid.reason,
        "score": list(score) if score is not None else None,
    }

"""From a pending job to its award: survey the clusters, offer, collect bids, settle.

Rounds ask at most `fanout` clusters each, the best-looking first; the next round is for when nobody of one said Yes
as the job wishes. A policy that asks nobody gets the same in one step.
"""

from rainbowd.core import awards, choosing, following, moving, waiting
from rainbowd.core.commands import BidItem, BidsReceived
from rainbowd.core.effects import SendOffer, SendRelease
from rainbowd.core.ordering import best_looking, miss
from rainbowd.core.selection.base import Bid
from rainbowd.core.state import Auction, Job
from rainbowd.core.survey import Survey, survey
from rainbowd.core.transitions import JobState, Trigger
from rainbowd.core.turn import Turn


def open_ready(turn: Turn) -> None:
    world = turn.world
    while True:
        following.release(turn)
        if not world.ready or world.open_auctions >= world.settings.auctions_open_max:
            return
        job = world.jobs.get(world.ready.pop())
        if job is not None and job.is_ready:
            job.is_ready = False
            if job.state is JobState.PENDING:
                _consider(turn, job)


def _consider(turn: Turn, job: Job) -> None:
    world = turn.world
    found = survey(world, job)
    if not found.could_ever:
        reason = found.impossible_words()
        turn.move(job, Trigger.REJECT, reason)
        turn.record(job, "rejected", {"reason": reason, "clusters": found.as_data(())})
    elif not world.awaited.isdisjoint(found.offline):
        # The first cluster to be back after a restart must not get everything.
        waiting.wait(turn, job, "the daemon has just started and waits for clusters to reconnect", found)
    elif not choosing.asks(world, job):
        _choose_unasked(turn, job, found)
    elif not found.candidates:
        _wait_for_offline(turn, job, found)
    else:
        _open_auction(turn, job, found)


def _wait_for_offline(turn: Turn, job: Job, found: Survey) -> None:
    names = ", ".join(found.offline) or ", ".join(found.undescribed)
    waiting.wait(turn, job, f"no cluster that could take it is online (offline: {names})", found)


def _choose_unasked(turn: Turn, job: Job, found: Survey) -> None:
    """No question is asked: what the daemon knows of the clusters decides. One that is away gets it when it is back."""
    world, settings = turn.world, turn.world.settings
    taking = [name for name in found.candidates if world.clusters[name].draining is None]
    names = best_looking(world, job, taking or found.candidates)[: settings.fanout]
    if settings.choose_offline:
        names += found.offline[: settings.fanout - len(names)]
    if not names:
        _wait_for_offline(turn, job, found)
        return
    bids = [Bid(name, 1, True, asked=False) for name in names]
    choice = choosing.choose(world, job, job.numbered + 1, bids)
    if not choice.ranking.order:
        waiting.wait(turn, job, choice.ranking.why, found)
        return
    best = choice.ranking.order[0].cluster
    if not world.clusters[best].online:
        words = f"{choice.policy.name} chose {best}, which is offline; it gets the job when it connects"
        waiting.wait(turn, job, words, found)
        return
    auction = _begin(turn, job, [])
    auction.round, auction.bids = 1, [bid for bid in bids if world.clusters[bid.cluster].online]
    why_not = f"the policy {choice.policy.name!r} asks nobody"
    data = {"attempt": auction.attempt, "round": 1, "deadline_ms": 0, "clusters": found.as_data((), why_not)}
    turn.record(job, "offered", data, detail=True)
    _close(turn, job, auction, choice)


# --- bidding --------------------------------------------------------------


def _begin(turn: Turn, job: Job, queue: list[str]) -> Auction:
    job.numbered = job.attempt = max(job.numbered, job.attempt) + 1
    turn.move(job, Trigger.OFFER)
    auction = Auction(job.id, job.attempt, queue=queue)
    turn.world.auctions[job.id] = auction
    turn.world.open_auctions += 1
    return auction


def _open_auction(turn: Turn, job: Job, found: Survey) -> None:
    auction = _begin(turn, job, best_looking(turn.world, job, found.candidates))
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
        world.clusters[name].times_asked += 1
        session = world.clusters[name].session
        if session is not None:
            turn.emit(SendOffer(session, job.id, auction.attempt, job.shape, job.terms, deadline_ms, hold_s, job.user))
    world.arm(auction.deadline, "bids", job.id, auction.attempt)
    data = {
        "attempt": auction.attempt,
        "round": auction.round,
        "deadline_ms": deadline_ms,
        "clusters": found.as_data(asked),
    }
    if not job.kept:
        turn.record(job, "offered", data, detail=True)
    return True


def take_bids(turn: Turn, command: BidsReceived) -> None:
    world = turn.world
    cluster = world.sessions.get(command.session)
    if cluster is None:
        return
    for item in command.items:
        auction = world.auctions.get(item.job)
        if auction is not None and auction.attempt == item.attempt and cluster in auction.asked:
            auction.asked.discard(cluster)
            world.clusters[cluster].missed = 0
            (auction.bids if item.yes else auction.noes).append(as_bid(cluster, auction.round, item))
            if not auction.asked:
                _settle(turn, world.jobs[item.job], auction)
        elif not moving.take_bid(turn, cluster, item):
            _too_late(turn, command.session, cluster, item)
    open_ready(turn)


def as_bid(cluster: str, round_: int, item: BidItem) -> Bid:
    return Bid(cluster, round_, item.yes, item.eta_s, item.cost, item.reason, item.eta_low_s, item.eta_high_s)


def _too_late(turn: Turn, session: int, cluster: str, item: BidItem) -> None:
    """It must not go on holding a place, unless this only repeats a bid that counts. It is written down, not used."""
    job = turn.world.jobs.get(item.job)
    if _counts(turn, cluster, item):
        return
    if item.yes:
        turn.emit(SendRelease(session, item.job, item.attempt))
    if job is not None and job.attempt == item.attempt and cluster in job.grants:
        answer = {"answer": "yes", "eta_s": item.eta_s, "cost": item.cost} if item.yes else {"answer": "no"}
        data = {"attempt": item.attempt, "cluster": cluster, "reason": item.reason}
        turn.record(job, "late", data | answer, detail=True)


def _counts(turn: Turn, cluster: str, item: BidItem) -> bool:
    """Is there a bid of this cluster in the auction already, or has it won the job with it?"""
    move = turn.world.moves.get(item.job)
    for auction in (turn.world.auctions.get(item.job), None if move is None else move.auction):
        if auction is not None and auction.attempt == item.attempt:
            return any(bid.cluster == cluster for bid in auction.bids)
    return awards.holds(turn.world.jobs.get(item.job), cluster, item.attempt)


def bids_due(turn: Turn, job: Job, attempt: int) -> None:
    auction = turn.world.auctions.get(job.id)
    if auction is None or auction.attempt != attempt or job.state is not JobState.OFFERED:
        return
    if auction.deadline <= turn.now:
        for name in sorted(auction.asked):
            auction.silent = True
            miss(turn.now, turn.world.clusters[name], turn.world.settings.bid_window_s)
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
    why_nobody = "nobody said Yes"
    unwanted: dict[str, str] = {}
    if auction.bids:
        choice = choosing.choose(world, job, auction.attempt, auction.bids)
        if choice.ranking.order:
            if (words := _why_kept(turn, choice.ranking.order[0])) is None:
                _close(turn, job, auction, choice)
            else:
                _keep(turn, job, auction, choice, words)
            return
        why_nobody, unwanted = choice.ranking.why, choice.unwanted
        awards.release_bidders(turn, auction)
    yeses = [awards.bid_as_data(bid) | {"reason": unwanted.get(bid.cluster, bid.reason)} for bid in auction.bids]
    noes = [awards.bid_as_data(bid) for bid in auction.noes if bid.round == auction.round]
    data = {"attempt": auction.attempt, "round": auction.round, "bids": yeses + noes, "reason": why_nobody}
    turn.record(job, "declined", data, detail=True)
    said_yes = bool(auction.bids)
    # A Yes that will not do is a No, with the reason why.
    auction.noes += [Bid(bid.cluster, bid.round, False, reason=unwanted.get(bid.cluster, "")) for bid in auction.bids]
    auction.bids = []
    if not _next_round(turn, job, auction, survey(world, job)):
        world.open_auctions -= 1
        del world.auctions[job.id]
        words = "; ".join(f"{bid.cluster}: {bid.reason or 'no reason given'}" for bid in auction.noes)
        lead = why_nobody if said_yes else "every cluster that was asked said No"
        turn.move(job, Trigger.DECLINE, f"{lead} ({words})")
        waiting.after_failure(turn, job, unsettled=auction.silent)


def _why_kept(turn: Turn, best: Bid) -> str | None:
    """Why even the best Yes would only move the job from our line into another. None if it is to go there."""
    cluster = turn.world.clusters[best.cluster]
    if best.eta_s <= turn.world.settings.bind_within_s or waiting.has_room_ahead(turn, cluster):
        return None
    jobs = cluster.waiting_here
    ahead = "a job of ours waits" if jobs == 1 else f"{jobs} jobs of ours wait"
    return (
        f"kept here, to go to whoever is free first: {best.cluster} would start it in {best.eta_s:.0f} s, "
        f"and {ahead} there already"
    )


def _keep(turn: Turn, job: Job, auction: Auction, choice: choosing.Choice, words: str) -> None:
    data = {
        "attempt": auction.attempt,
        "round": auction.round,
        "bids": awards.bids_as_data(auction, choice),
        "reason": words,
    }
    if not job.kept:
        turn.record(job, "declined", data, detail=True)
    awards.release_bidders(turn, auction)
    turn.world.open_auctions -= 1
    del turn.world.auctions[job.id]
    turn.move(job, Trigger.DECLINE)
    waiting.keep(turn, job, words)


def _close(turn: Turn, job: Job, auction: Auction, choice: choosing.Choice) -> None:
    turn.world.open_auctions -= 1
    auction.ranking = list(choice.ranking.order)
    awards.award_next(turn, job, auction, choice)

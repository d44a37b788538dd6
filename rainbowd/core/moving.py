"""Jobs that wait in a cluster's queue go where they would start sooner.

When a cluster becomes freer, or a job has waited longer than promised, others are quietly asked about jobs that wait
elsewhere, and the cluster that has such a job is asked when it would start there. If the gain is worth it, that
cluster is asked to give the job back. Only its word that the job has not started, and never will under that attempt,
lets the job go; whatever else happens meanwhile, it stays where it is.
"""

from dataclasses import replace
from itertools import takewhile

from rainbowd.core import awards, choosing
from rainbowd.core.commands import BidItem
from rainbowd.core.effects import SendOffer, SendWithdraw
from rainbowd.core.ordering import best_looking, fits_now, miss
from rainbowd.core.selection.base import Bid
from rainbowd.core.state import Auction, Cluster, Job, Move
from rainbowd.core.survey import survey
from rainbowd.core.transitions import JobState, Trigger
from rainbowd.core.turn import Turn
from rainbowd.core.wishes import left_out

LOOKED_AT_MAX = 500  # waiting jobs, for one change of one cluster
LATE_S_MIN = 1.0
OTHERS_MAX = 4  # clusters that are asked about a job which is late
_WAITING = (JobState.ASSIGNED, JobState.QUEUED)


# --- when to ask ----------------------------------------------------------


def freed(turn: Turn, cluster: Cluster) -> None:
    """The cluster says what is free there now: ask it about the jobs that have waited longest elsewhere."""
    world, settings = turn.world, turn.world.settings
    if settings.moves_max == 0 or cluster.draining is not None:
        return
    asked = 0
    for looked_at, job_id in enumerate(world.queued):
        if asked >= settings.move_asks_max or looked_at >= LOOKED_AT_MAX:
            break
        job = world.jobs[job_id]
        if job.cluster != cluster.name and _may_move(turn, job) and _suits(turn, job, cluster):
            _ask(turn, job, [cluster.name])
            asked += 1


def arm_late(turn: Turn, job: Job) -> None:
    """The cluster has promised a start: look again if it does not keep that."""
    if job.promised_at is not None and turn.world.settings.moves_max:
        turn.world.arm(max(job.promised_at, turn.now) + LATE_S_MIN, "late", job.id, job.attempt)


def late_due(turn: Turn, job: Job, attempt: int) -> None:
    """It has waited longer than promised; asked again ever less often."""
    world = turn.world
    if job.attempt != attempt or job.state not in _WAITING or job.promised_at is None:
        return
    if _may_move(turn, job):
        others = [name for name in survey(world, job).candidates if name != job.cluster]
        likely = [name for name in best_looking(world, job, others) if world.clusters[name].draining is None]
        if likely:
            _ask(turn, job, likely[:OTHERS_MAX])
    late_s = turn.now - job.promised_at
    world.arm(turn.now + max(world.settings.move_pause_s, late_s), "late", job.id, attempt)


def _may_move(turn: Turn, job: Job) -> bool:
    world, settings = turn.world, turn.world.settings
    return (
        job.wishes.move
        and job.state in _WAITING
        and not job.cancel_requested
        and job.moves < settings.moves_max
        and job.id not in world.moves
        and turn.now >= job.asked_at + settings.move_pause_s
        and job.cluster is not None
        and world.clusters[job.cluster].online
    )


def _suits(turn: Turn, job: Job, cluster: Cluster) -> bool:
    if cluster.name not in job.grants or cluster.resources is None or not fits_now(cluster, job.shape):
        return False
    if left_out(job.wishes, cluster.name, turn.world.settings.groups) is not None:
        return False
    return turn.world.matcher.match(job.ask, cluster.resources).fits


def _ask(turn: Turn, job: Job, others: list[str]) -> None:
    world, settings = turn.world, turn.world.settings
    job.numbered = max(job.numbered, job.attempt) + 1
    job.asked_at = turn.now
    here = job.cluster or ""
    auction = Auction(job.id, job.numbered, round=1, asked={here, *others})
    auction.deadline = turn.now + settings.bid_window_s
    world.moves[job.id] = Move(auction)
    deadline_ms = round(settings.bid_window_s * 1000)
    hold_s = settings.bid_window_s + 2 * settings.award_window_s  # the way back from the first cluster comes between
    for name in (here, *others):
        session = world.clusters[name].session
        if session is not None:
            waits_here = job.attempt if name == here else None
            turn.emit(
                SendOffer(
                    session,
                    job.id,
                    auction.attempt,
                    job.shape,
                    job.terms,
                    deadline_ms,
                    hold_s,
                    job.user,
                    waits_here,
                )
            )
    world.arm(auction.deadline, "move", job.id, auction.attempt)


# --- the answers ----------------------------------------------------------


def take_bid(turn: Turn, cluster: str, item: BidItem) -> bool:
    """False if the answer is about something else."""
    move = turn.world.moves.get(item.job)
    if move is None or move.auction.attempt != item.attempt or cluster not in move.auction.asked:
        return False
    auction, job = move.auction, turn.world.jobs[item.job]
    auction.asked.discard(cluster)
    turn.world.clusters[cluster].missed = 0
    bid = Bid(cluster, 1, item.yes, item.eta_s, item.cost, item.reason, item.eta_low_s, item.eta_high_s)
    if cluster == job.cluster:
        move.here = bid
    else:
        (auction.bids if item.yes else auction.noes).append(bid)
    if not auction.asked:
        _decide(turn, job, move)
    return True


def due(turn: Turn, job: Job, attempt: int) -> None:
    """The answers were to be here by now, or the cluster was to have given the job back."""
    move = turn.world.moves.get(job.id)
    if move is None or move.auction.attempt != attempt or move.auction.deadline > turn.now:
        return
    if not move.withdrawing:
        for name in move.auction.asked - {job.cluster}:
            miss(turn.now, turn.world.clusters[name], turn.world.settings.bid_window_s)
        move.auction.asked = set()
        _decide(turn, job, move)
        return
    data = {"attempt": job.attempt, "cluster": job.cluster, "reason": f"{job.cluster} did not give it back in time"}
    turn.record(job, "stayed", data, detail=True)
    drop(turn, job)


def _decide(turn: Turn, job: Job, move: Move) -> None:
    world, settings, auction, here = turn.world, turn.world.settings, move.auction, move.here
    if not auction.bids or here is None or not here.yes:
        _stay(turn, job, move, "", "")
        return
    choice = choosing.choose(world, job, auction.attempt, [here, *auction.bids])
    order = choice.ranking.order
    preferred = list(takewhile(lambda bid: bid.cluster != here.cluster, order))
    if not preferred:
        _stay(turn, job, move, choice.ranking.why, here.cluster)
        return
    wanted_s = max(settings.move_gain_s, settings.move_gain_share * here.eta_s)
    worth_it = [bid for bid in preferred if here.eta_s - bid.eta_s >= wanted_s]
    best = preferred[0]
    if not worth_it:
        sooner_s = here.eta_s - best.eta_s
        gain = f"{sooner_s:.0f} s sooner" if sooner_s > 0 else "no sooner"
        words = f"{best.cluster} would start it {gain}; to move, it must be {wanted_s:.0f} s"
        _stay(turn, job, move, words, f"too little at {best.cluster}")
        return
    session = world.clusters[here.cluster].session
    if session is None:
        drop(turn, job)
        return
    best = worth_it[0]
    awards.release_bidders(turn, replace(auction, bids=[bid for bid in auction.bids if not _among(bid, worth_it)]))
    auction.bids = [bid for bid in auction.bids if _among(bid, worth_it)]
    auction.ranking = list(worth_it)
    move.withdrawing = True
    auction.deadline = turn.now + settings.award_window_s
    world.arm(auction.deadline, "move", job.id, auction.attempt)
    turn.emit(SendWithdraw(session, job.id, job.attempt))
    gain_s = here.eta_s - best.eta_s
    _record(turn, job, move, "move", f"{best.cluster} would start it {gain_s:.0f} s sooner than {here.cluster}")


def _among(bid: Bid, others: list[Bid]) -> bool:
    return any(bid.cluster == other.cluster for other in others)


def _stay(turn: Turn, job: Job, move: Move, why: str, kind: str) -> None:
    """Told once, and again only when it is for another kind of reason."""
    if why and kind != job.stay_told:
        job.stay_told = kind
        _record(turn, job, move, "stay", why)
    drop(turn, job)


def _record(turn: Turn, job: Job, move: Move, decision: str, why: str) -> None:
    here = move.here
    data = {
        "attempt": move.auction.attempt,
        "from": job.cluster,
        "current_eta_s": None if here is None else here.eta_s,
        "bids": [awards.bid_as_data(bid) for bid in (*move.auction.bids, *move.auction.noes)],
        "decision": decision,
        "why": why,
    }
    turn.record(job, "reconsidered", data, detail=decision == "stay")


# --- the move itself, and what undoes it ----------------------------------


def given_back(turn: Turn, job: Job, came_from: str) -> bool:
    """The cluster gave the job back, and it is pending again: award it to where it was to go. False if nowhere."""
    world = turn.world
    move = world.moves.pop(job.id, None)
    if move is None:
        return False
    auction = move.auction
    if not move.withdrawing or not any(world.clusters[bid.cluster].online for bid in auction.ranking):
        awards.release_bidders(turn, auction)
        return False
    job.moves += 1
    job.attempt = auction.attempt
    auction.asked = set()
    auction.moved_from = came_from
    world.auctions[job.id] = auction
    turn.move(job, Trigger.OFFER)
    awards.award_next(turn, job, auction)
    winner = next((bid for bid in auction.bids if bid.cluster == job.cluster), None)
    if winner is not None and move.here is not None:
        gain_s = round(move.here.eta_s - winner.eta_s, 3)
        turn.record(job, "moved", {"from": came_from, "to": job.cluster, "gain_s": gain_s})
    return True


def drop(turn: Turn, job: Job) -> None:
    """Nothing comes of it: who held a place is free."""
    move = turn.world.moves.pop(job.id, None)
    if move is not None:
        awards.release_bidders(turn, move.auction)


def cluster_gone(turn: Turn, cluster: str) -> None:
    world = turn.world
    for job_id, move in list(world.moves.items()):
        job, auction = world.jobs[job_id], move.auction
        if job.cluster == cluster:
            drop(turn, job)
            continue
        auction.bids = [bid for bid in auction.bids if bid.cluster != cluster]
        auction.ranking = [bid for bid in auction.ranking if bid.cluster != cluster]
        if cluster in auction.asked:
            auction.asked.discard(cluster)
            if not auction.asked:
                _decide(turn, job, move)

"""The award: to the best Yes whose cluster is still there, then to the next; and what frees the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from rainbowd.core import waiting
from rainbowd.core.choosing import Choice, choose
from rainbowd.core.effects import SendAward, SendRelease
from rainbowd.core.selection.base import Bid
from rainbowd.core.state import Auction, Job
from rainbowd.core.transitions import JobState, Trigger
from rainbowd.core.turn import Turn


def holds(job: Job | None, cluster: str, attempt: int) -> bool:
    """The fence: is this attempt, at this cluster, the one that counts?"""
    return job is not None and job.cluster == cluster and job.attempt == attempt


def award_next(turn: Turn, job: Job, auction: Auction, choice: Choice | None = None) -> None:
    """Award to the best bid whose cluster is still there; back to waiting if there is none."""
    world = turn.world
    there = [bid for bid in auction.bids if world.clusters[bid.cluster].online]
    if choice is None:  # somebody took a Yes back: why the next one wins is for another reason
        choice = choose(world, job, auction.attempt, there)
    if choice.ranking.order:
        _award(turn, job, auction, choice, choice.ranking.order)
        return
    trigger = Trigger.REFUSE if job.state is JobState.AWARDED else Trigger.DECLINE
    del world.auctions[job.id]
    turn.move(job, trigger, "every cluster that had said Yes took it back")
    waiting.after_failure(turn, job, unsettled=True)


def _award(turn: Turn, job: Job, auction: Auction, choice: Choice, order: Sequence[Bid]) -> None:
    world, best = turn.world, order[0]
    cluster = world.clusters[best.cluster]
    auction.ranking = [bid for bid in order[1:] if world.clusters[bid.cluster].online]
    turn.move(job, Trigger.AWARD)
    job.cluster, job.kept = best.cluster, 0
    job.promised_at = turn.now + best.eta_s if best.asked else None
    cluster.jobs.add(job.id)
    auction.deadline = turn.now + world.settings.award_window_s
    world.arm(auction.deadline, "award", job.id, auction.attempt)
    if cluster.session is not None:
        turn.emit(SendAward(cluster.session, job.id, job.attempt, job.payload, job.user, job.array, job.array_index))
    data = {
        "attempt": job.attempt,
        "round": auction.round,
        "policy": choice.policy.name,
        "winner": best.cluster,
        "why": choice.ranking.why,
        "bids": bids_as_data(auction, choice),
    }
    turn.record(job, "awarded", data)


def bids_as_data(auction: Auction, choice: Choice) -> list[dict[str, Any]]:
    """The ranked ones first, then the Yeses that will not do, then the Noes."""
    ranked = {bid.cluster for bid in choice.ranking.order}
    rows = [bid_as_data(bid, choice.ranking.scores) for bid in choice.ranking.order]
    rest = [bid for bid in auction.bids if bid.cluster not in ranked]
    rows += [bid_as_data(bid) | {"reason": choice.unwanted.get(bid.cluster, bid.reason)} for bid in rest]
    return rows + [bid_as_data(bid) for bid in auction.noes]


def bid_as_data(bid: Bid, scores: Mapping[str, Sequence[float | str]] | None = None) -> dict[str, Any]:
    score = None if scores is None else scores.get(bid.cluster)
    told = bid.yes and bid.asked
    return {
        "cluster": bid.cluster,
        "round": bid.round,
        "answer": "yes" if bid.yes else "no",
        "eta_s": bid.eta_s if told else None,
        "eta_low_s": bid.eta_low_s,
        "eta_high_s": bid.eta_high_s,
        "cost": bid.cost if told else None,
        "reason": bid.reason,
        "score": list(score) if score is not None else None,
    }


# --- what undoes an auction -----------------------------------------------


def release_bidders(turn: Turn, auction: Auction, keep: str | None = None) -> None:
    """Those who said Yes and did not get the job stop holding a place for it."""
    for bid in auction.bids:
        cluster = turn.world.clusters.get(bid.cluster)
        if bid.cluster != keep and bid.asked and cluster is not None and cluster.session is not None:
            turn.emit(SendRelease(cluster.session, auction.job, auction.attempt))


def drop(turn: Turn, job: Job) -> None:
    """Forget the job's auction, if it has one, and free the places held for it."""
    auction = turn.world.auctions.pop(job.id, None)
    if auction is not None:
        if job.state is JobState.OFFERED:
            turn.world.open_auctions -= 1
        release_bidders(turn, auction, keep=job.cluster)

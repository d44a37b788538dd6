"""`first`: no question asked; the best match gets the job, by what the daemon knows of the clusters.

Clusters that take jobs come before those that drain, and these before those that are away; then those with room for
it now, then those where the fewest jobs wait for each instance that fits, then those where the most instances fit, then
the fewest jobs from here, then by name. It has no options. It takes no time, and is wrong as often as the picture that
clusters push is old. If a job's wishes need answers, clusters are asked all the same; the order does not change.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking, Score
from rainbowd.core.selection.bids import ranked
from rainbowd.core.selection.options import unknown
from rainbowd.core.selection.words import load_words

_HERE = ("", "drains, but may still take it", "is away and gets it when it is back")  # by absence
_THERE = ("", "drains", "is away")


class First:
    name: ClassVar[str] = "first"
    asks: ClassVar[bool] = False
    measures: ClassVar[bool] = True

    def mistake(self, options: Facts) -> str | None:
        return unknown(options, ())

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        needs = _needs(job.facts)

        def score(bid: Bid) -> Score:
            return (
                _absence(bid),
                int(not _has_room(bid, needs)),
                _queued_per_instance(bid),
                -_instances(bid),
                bid.load,
                bid.cluster,
            )

        return ranked(bids, score, lambda order: _why(order, needs))


def _needs(facts: Facts) -> dict[str, float]:
    """What must be free at least, by the key of a cluster's state that tells how much is."""
    tasks = _number(facts, "tasks", 1)
    return {
        "nodes_free": max(1, _number(facts, "nodes", 1)) if facts.get("exclusive") is True else 0,
        "cores_free": _number(facts, "cores", tasks * _number(facts, "cores_per_task", 1)),
        "gpus_free": _number(facts, "gpus", tasks * _number(facts, "gpus_per_task", 0)),
    }


def _absence(bid: Bid) -> int:
    """0 for a cluster that takes jobs, 1 for one that drains, 2 for one that is away."""
    if bid.state.get("online", True) is False:
        return 2
    return 1 if bid.state.get("draining", False) else 0


def _has_room(bid: Bid, needs: Mapping[str, float]) -> bool:
    """By counts only. A cluster that does not say what is free has nothing that can be counted on."""
    return all(_number(bid.state, key, 0) >= amount for key, amount in needs.items())


def _queued_per_instance(bid: Bid) -> float:
    """What it said waits there; or what it was given since and does not run yet, if that is more.

    Clusters push their state now and then: a thousand jobs in between must not all go to one of them.
    """
    given = bid.load - _number(bid.state, "jobs_running", 0)
    return max(_number(bid.state, "jobs_queued", 0), given, 0.0) / max(_instances(bid), 1)


def _instances(bid: Bid) -> float:
    return _number(bid.match, "instances", 0)


def _number(facts: Facts, name: str, default: float) -> float:
    value = facts.get(name, default)
    return default if isinstance(value, str) else float(value)


def _why(order: Sequence[Bid], needs: Mapping[str, float]) -> str:
    best, *others = order
    here = _HERE[_absence(best)] or ("has room for it now" if _has_room(best, needs) else "fits it")
    than = _told_apart(best, others[0], needs) if others else "and no other can have it"
    return f"{best.cluster} {here}, {than}" + ("" if best.asked else "; nobody was asked")


def _told_apart(best: Bid, other: Bid, needs: Mapping[str, float]) -> str:
    if _absence(best) < _absence(other):
        return f"and {other.cluster} {_THERE[_absence(other)]}"
    if _has_room(best, needs) and not _has_room(other, needs):
        return f"and {other.cluster} has not"
    mine, theirs = _queued_per_instance(best), _queued_per_instance(other)
    if mine < theirs:
        return f"with fewer jobs waiting for each place than {other.cluster} ({mine:.3g} against {theirs:.3g})"
    if _instances(best) > _instances(other):
        return f"in more places than {other.cluster} ({_instances(best):.0f} against {_instances(other):.0f})"
    return f"as {other.cluster} does, {load_words(best, other)}"

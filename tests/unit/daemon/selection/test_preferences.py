"""What each policy promises, for any bids."""

import math
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rainbowd.core.selection.balanced import Balanced
from rainbowd.core.selection.base import Bid, JobFacts, Value
from rainbowd.core.selection.cheapest import Cheapest
from rainbowd.core.selection.earliest import Earliest
from rainbowd.core.selection.first import First
from rainbowd.core.selection.random import Random
from rainbowd.core.selection.spillover import Spillover
from tests.unit.daemon.selection.made import bids, jobs_for

JOB = JobFacts("j", 1)


@given(bids)
def test_nobody_starts_sooner_than_the_earliest_and_none_as_soon_for_less(offered: list[Bid]) -> None:
    order = Earliest().rank(offered, JOB).order
    keys = [(bid.eta_s, bid.cost, bid.load, bid.cluster) for bid in order]
    assert keys == sorted(keys)


@given(bids)
def test_nobody_costs_less_than_the_cheapest_and_none_as_little_sooner(offered: list[Bid]) -> None:
    order = Cheapest().rank(offered, JOB).order
    keys = [(bid.cost, bid.eta_s, bid.load, bid.cluster) for bid in order]
    assert keys == sorted(keys)


@given(bids, jobs_for("balanced"))
def test_nobody_who_is_later_and_dearer_comes_before(offered: list[Bid], job: JobFacts) -> None:
    order = Balanced().rank(offered, job).order
    for place, bid in enumerate(order):
        for before in order[:place]:
            assert not (bid.eta_s < before.eta_s and bid.cost <= before.cost)


@given(bids, jobs_for("balanced"), st.sampled_from([1e-3, 8.0, 1e4]))
def test_another_currency_changes_nothing_if_the_floor_goes_with_it(
    offered: list[Bid], job: JobFacts, rate: float
) -> None:
    there = [Bid(bid.cluster, 1, bid.yes, bid.eta_s, bid.cost * rate, load=bid.load) for bid in offered]
    options: dict[str, Value] = {**job.options, "cost_floor": 0.1 * rate}
    here_scores = Balanced().rank(offered, job).scores
    there_scores = Balanced().rank(there, JobFacts("j", 1, options)).scores
    for cluster, score in here_scores.items():
        assert math.isclose(float(score[0]), float(there_scores[cluster][0]), rel_tol=1e-9, abs_tol=1e-9)


@given(bids)
def test_with_one_weight_it_is_the_policy_of_that_one(offered: list[Bid]) -> None:
    etas = Balanced().rank(offered, JobFacts("j", 1, {"cost_weight": 0})).order
    costs = Balanced().rank(offered, JobFacts("j", 1, {"eta_weight": 0})).order
    assume(etas)
    # Logarithms of neighbours can be equal, so that the very order may differ by one part in 10^15.
    assert math.isclose(etas[0].eta_s, min(bid.eta_s for bid in etas), rel_tol=1e-12, abs_tol=1e-12)
    assert math.isclose(costs[0].cost, min(bid.cost for bid in costs), rel_tol=1e-12, abs_tol=1e-12)


@given(bids, jobs_for("spillover"))
def test_whoever_is_preferred_and_in_time_comes_first(offered: list[Bid], job: JobFacts) -> None:
    threshold = float(job.options.get("threshold_s", 600.0))
    names = str(job.options["order"]).split(",")

    def place(bid: Bid) -> int:
        return next((at for at, name in enumerate(names) if name in (bid.cluster, *(f"@{g}" for g in bid.groups))), 99)

    order = Spillover().rank(offered, job).order
    in_time = [bid for bid in order if bid.eta_s <= threshold]
    assert list(order[: len(in_time)]) == in_time
    assert [place(bid) for bid in in_time] == sorted(map(place, in_time))
    late = [bid.eta_s for bid in order[len(in_time) :]]
    assert late == sorted(late)


def test_chance_is_fair_and_the_same_again() -> None:
    offered = [Bid(name, 1, True) for name in ("blue", "red", "green", "gold")]
    wins = Counter(Random().rank(offered, JobFacts(f"job{number}", 1)).order[0].cluster for number in range(4_000))
    assert sorted(wins) == ["blue", "gold", "green", "red"]
    assert all(900 < count < 1_100 for count in wins.values())  # three standard deviations are 82
    again = Counter(Random().rank(offered, JobFacts(f"job{number}", 1)).order[0].cluster for number in range(4_000))
    assert again == wins


def test_what_comes_at_once_is_spread_though_nobody_has_told_anything_new() -> None:
    state = {"cores_free": 1_000, "jobs_queued": 0, "jobs_running": 0, "online": True}
    places, given_to = {"blue": 30, "red": 10}, Counter[str]()
    for number in range(400):
        offered = [
            Bid(name, 1, True, load=given_to[name], state=state, match={"instances": count})
            for name, count in places.items()
        ]
        given_to[First().rank(offered, JobFacts(f"j{number}", 1)).order[0].cluster] += 1
    assert given_to == {"blue": 300, "red": 100}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eta_weight": True}, "eta_weight: expected a number from 0 to 1e+06, got True"),
        ({"cost_weight": float("nan")}, "cost_weight: expected a number from 0 to 1e+06, got nan"),
        ({"cost_weight": 10**400}, "cost_weight: expected a number from 0 to 1e+06, got a huge number"),
        ({"eta_floor_s": 0}, "eta_floor_s: expected a number from 1e-06 to 1e+09, got 0"),
        ({"eta_weight": "0", "cost_weight": 0.0}, "both 0"),
        ({"eta_weight": "2.5"}, None),
    ],
)
def test_weights_are_numbers_even_if_written_as_texts(options: dict[str, Value], words: str | None) -> None:
    mistake = Balanced().mistake(options)
    assert mistake is None if words is None else words in (mistake or "")


def test_who_draws_needs_no_more_than_a_short_seed() -> None:
    assert Random().mistake({"seed": 7}) is None
    assert Random().mistake({"seed": "x" * 65}) == "seed: is longer than 64 characters"

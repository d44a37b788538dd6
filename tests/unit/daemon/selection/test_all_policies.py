"""What holds for every policy, whatever it prefers."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rainbowd.core.selection.base import Bid, JobFacts, Policy
from tests.unit.daemon.selection.made import auctions, bids, jobs_for
from tests.unit.daemon.selection.stage import ALL

Auction = tuple[Policy, list[Bid], JobFacts]


@given(auctions)
@settings(max_examples=200)
def test_every_yes_is_ranked_or_passed_over_and_no_no_is(auction: Auction) -> None:
    policy, offered, job = auction
    ranking = policy.rank(offered, job)
    assert all(bid.yes for bid in ranking.order)
    placed = [bid.cluster for bid in ranking.order] + list(ranking.passed_over)
    assert sorted(placed) == sorted(bid.cluster for bid in offered if bid.yes)


@given(auctions, st.data())
@settings(max_examples=200)
def test_the_order_of_arrival_never_matters(auction: Auction, data: st.DataObject) -> None:
    policy, offered, job = auction
    shuffled = data.draw(st.permutations(offered))
    assert policy.rank(shuffled, job) == policy.rank(offered, job)


@given(auctions)
@settings(max_examples=200)
def test_a_no_changes_nothing(auction: Auction) -> None:
    policy, offered, job = auction
    assert policy.rank([bid for bid in offered if bid.yes], job) == policy.rank(offered, job)


@given(auctions)
@settings(max_examples=200)
def test_scores_are_different_and_can_be_told_to_anybody(auction: Auction) -> None:
    policy, offered, job = auction
    ranking = policy.rank(offered, job)
    assert {bid.cluster for bid in ranking.order} <= set(ranking.scores)
    assert len(set(ranking.scores.values())) == len(ranking.scores)
    json.dumps(dict(ranking.scores), allow_nan=False)


@given(auctions)
@settings(max_examples=200)
def test_the_words_name_the_winner(auction: Auction) -> None:
    policy, offered, job = auction
    ranking = policy.rank(offered, job)
    assert ranking.why
    if ranking.order:
        assert ranking.order[0].cluster in ranking.why


@pytest.mark.parametrize("policy", [one for one in ALL if one.name != "constraint"], ids=lambda policy: policy.name)
@given(offered=bids, data=st.data())
def test_the_ranking_of_two_does_not_depend_on_a_third(policy: Policy, offered: list[Bid], data: st.DataObject) -> None:
    """Who loses never decides who wins: taking away a bid leaves the others in their order."""
    job = data.draw(jobs_for(policy.name))
    order = policy.rank(offered, job).order
    for away in order:
        fewer = policy.rank([bid for bid in offered if bid is not away], job)
        assert fewer.order == tuple(bid for bid in order if bid is not away)


@pytest.mark.parametrize("policy", ALL, ids=lambda policy: policy.name)
def test_an_option_that_it_does_not_have_is_a_mistake_but_does_not_stop_a_job_that_is_there(policy: Policy) -> None:
    assert (policy.mistake({"wrong": 1}) or "").startswith("there is no option 'wrong'; it has ")
    assert policy.rank([], JobFacts("j", 1, {"wrong": 1})).order == ()


@pytest.mark.parametrize("name", ["balanced", "spillover", "random", "constraint"])
def test_a_job_whose_options_have_become_mistaken_goes_nowhere_and_says_why(name: str) -> None:
    """A site may change its options while jobs wait."""
    policy = next(one for one in ALL if one.name == name)
    mistaken = {"eta_weight": -1, "order": "", "seed": "x" * 99, "priorities": ""}
    yes = Bid("blue", 1, True, 1.0, 1.0)
    ranking = policy.rank([yes], JobFacts("j", 1, mistaken))
    assert ranking.order == ()
    assert ranking.why.startswith("the policy's options are mistaken: ")
    assert ranking.passed_over == {"blue": ranking.why}

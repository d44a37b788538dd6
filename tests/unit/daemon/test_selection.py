"""`earliest`: who gets the job, whatever the order in which the bids came."""

from hypothesis import given
from hypothesis import strategies as st

from rainbowd.core.selection.base import Bid
from rainbowd.core.selection.earliest import Earliest

_etas = st.floats(0, 1e6) | st.sampled_from([0.0, 1.0, 2.0])
_costs = st.floats(0, 1e6) | st.sampled_from([0.0, 1.0, 2.0])
_names = st.text("abc", min_size=1, max_size=3)
_bids = st.dictionaries(_names, st.tuples(_etas, _costs), min_size=1, max_size=6).map(
    lambda drawn: [Bid(name, 1, True, eta, cost) for name, (eta, cost) in drawn.items()]
)


def ranked(bids: list[Bid]) -> list[Bid]:
    return sorted(bids, key=Earliest().score)


@given(_bids, st.data())
def test_the_order_of_arrival_never_matters(bids: list[Bid], data: st.DataObject) -> None:
    assert ranked(data.draw(st.permutations(bids))) == ranked(bids)


@given(_bids)
def test_no_two_clusters_score_the_same(bids: list[Bid]) -> None:
    scores = [Earliest().score(bid) for bid in bids]
    assert len(set(scores)) == len(bids)


@given(_bids)
def test_nobody_starts_sooner_than_the_winner_and_none_as_soon_for_less(bids: list[Bid]) -> None:
    best = ranked(bids)[0]
    for bid in bids:
        assert bid.eta_s >= best.eta_s
        if bid.eta_s == best.eta_s:
            assert bid.cost >= best.cost
            if bid.cost == best.cost:
                assert bid.cluster >= best.cluster


@given(_bids)
def test_the_words_name_the_winner_and_whom_it_beat(bids: list[Bid]) -> None:
    ranking = ranked(bids)
    words = Earliest().why(ranking)
    assert words.startswith(f"{ranking[0].cluster} starts it")
    if len(ranking) > 1:
        assert f" {ranking[1].cluster}" in words


def why(*bids: Bid) -> str:
    return Earliest().why(ranked(list(bids)))


def test_the_words_say_what_decided() -> None:
    slow, quick = Bid("a", 1, True, 20.0, 0.0), Bid("b", 1, True, 0.0, 9.0)
    assert why(slow, quick) == "b starts it at once, sooner than a (20 s)"
    dear, cheap = Bid("a", 1, True, 5.0, 2.0), Bid("b", 1, True, 5.0, 1.5)
    assert why(dear, cheap) == "b starts it in 5 s as a does, and is cheaper (1.5 against 2)"
    twins = Bid("b", 1, True, 5.0, 2.0), Bid("a", 1, True, 5.0, 2.0)
    assert why(*twins) == "a starts it in 5 s for the same cost as b; the name decided"
    assert why(slow) == "a starts it in 20 s; it was the only Yes"

"""`constraint`: the given example by hand, and what becomes of facts of every kind."""

from pathlib import Path

import pytest
import yaml

from rainbowd.core.selection.base import Bid, JobFacts, Value
from rainbowd.core.selection.constraint import REASON_CHARS, WORK_MAX, Constraint
from rainbowd.core.selection.steps import plan_of

EXAMPLE = Path(__file__).parents[5] / "shared" / "data" / "rainbow-examples" / "rainbow-selection-config.yaml"
GIVEN = """
- priority: 1
  steps:
  - filter: "nodes_free > 0"
  - calc: "build_cost=(cost_per_node_hour * (memory_per_node * seconds_per_gb)/60/60)"
  - sort_descending: build_cost
  - select: random
- priority: 2
  steps:
  - filter: "nodes_free > 0"
  - calc: "memory_min=min(100, memory_per_node - 100)"
  - calc: "build_cost=(cost_per_node_hour * (memory_min * seconds_per_gb)/60/60)"
  - sort_descending: build_cost
  - select: random
"""


def cluster(name: str, nodes_free: Value, cost_per_node_hour: Value, memory_per_node: Value) -> Bid:
    state = {"nodes_free": nodes_free, "cost_per_node_hour": cost_per_node_hour, "memory_per_node": memory_per_node}
    return Bid(name, 1, True, state=state)


def job(priorities: str, **facts: Value) -> JobFacts:
    return JobFacts("j1", 1, {"priorities": priorities}, facts)


def order(bids: list[Bid], priorities: str, **facts: Value) -> list[str]:
    assert Constraint().mistake({"priorities": priorities}) is None
    return [bid.cluster for bid in Constraint().rank(bids, job(priorities, **facts)).order]


@pytest.mark.skipif(not EXAMPLE.exists(), reason=f"the example is not there: {EXAMPLE}")
def test_the_given_example_is_what_these_tests_use() -> None:
    options = yaml.safe_load(EXAMPLE.read_text())["scheduler"]["algorithms"]["selection"]["options"]
    assert plan_of(options["priorities"]) is not None
    assert yaml.safe_load(options["priorities"]) == yaml.safe_load(GIVEN)


# By hand, with 0.4 seconds a gigabyte, in currency for a build:
#   small 3   * (200 * 0.4) / 3600 = 0.066667
#   large 2.5 * (400 * 0.4) / 3600 = 0.111111
#   cloud 0.5 * (800 * 0.4) / 3600 = 0.044444
THREE = [cluster("small", 20, 3, 200), cluster("large", 1, 2.5, 400), cluster("cloud", 7, 0.5, 800)]


@pytest.mark.parametrize(
    ("sort", "select", "expected"),
    [
        ("sort_descending", "first", ["large", "small", "cloud"]),
        ("sort_descending", "last", ["cloud", "small", "large"]),
        ("sort_ascending", "first", ["cloud", "small", "large"]),
        ("sort_ascending", "last", ["large", "small", "cloud"]),
    ],
)
def test_both_directions_of_the_given_example(sort: str, select: str, expected: list[str]) -> None:
    steps = GIVEN.replace("sort_descending", sort).replace("random", select)
    assert order(THREE, steps, seconds_per_gb=0.4) == expected
    assert order(THREE[::-1], steps, seconds_per_gb=0.4) == expected


def test_the_values_are_those_computed_by_hand() -> None:
    scores = Constraint().rank(THREE, job(GIVEN, seconds_per_gb=0.4)).scores
    assert {name: round(float(score[1]), 6) for name, score in scores.items()} == {
        "small": 0.066667,
        "large": 0.111111,
        "cloud": 0.044444,
    }


def test_as_given_the_draw_is_between_all_that_have_nodes_free() -> None:
    bids = [*THREE, cluster("full", 0, 9, 900)]
    drawn = set()
    for attempt in range(1, 40):
        ranking = Constraint().rank(bids, JobFacts("j1", attempt, {"priorities": GIVEN}, {"seconds_per_gb": 0.4}))
        first, *others = [bid.cluster for bid in ranking.order]
        assert others == [name for name in ("large", "small", "cloud") if name != first]
        assert ranking.passed_over == {"full": "priority 1, step 1 (filter): nodes_free > 0 does not hold"}
        assert ranking.why == f"priority 1 drew {first} at random from 3 (seed j1/{attempt})"
        drawn.add(first)
    assert drawn == {"small", "large", "cloud"}


def test_the_given_example_with_one_that_is_free_leaves_no_choice() -> None:
    bids = [cluster("small", 0, 3, 200), cluster("large", 1, 2.5, 400), cluster("cloud", -1, 0.5, 800)]
    assert order(bids, GIVEN, seconds_per_gb=0.4) == ["large"]


def test_the_second_priority_of_the_given_example() -> None:
    """If the first asks for more nodes than anybody has. By hand, memory_min = min(100, memory_per_node - 100):

    small 3 * (min(100, 100) * 0.4) / 3600 = 0.033333, large 2.5 * (100 * 0.4) / 3600 = 0.027778,
    cloud 0.5 * (100 * 0.4) / 3600 = 0.005556, tiny 50 * (min(100, -40) * 0.4) / 3600 = -0.222222
    """
    steps = GIVEN.replace("nodes_free > 0", "nodes_free > 99", 1).replace("random", "first")
    bids = [*THREE, cluster("tiny", 5, 50, 60)]
    ranking = Constraint().rank(bids, job(steps, seconds_per_gb=0.4))
    assert [bid.cluster for bid in ranking.order] == ["small", "large", "cloud", "tiny"]
    assert [round(float(ranking.scores[bid.cluster][1]), 6) for bid in ranking.order] == [
        0.033333,
        0.027778,
        0.005556,
        -0.222222,
    ]
    assert ranking.why == (
        "priority 2 chose small, the first of 4 by build_cost, largest first (0.0333333); priority 1 left nobody"
    )


@pytest.mark.parametrize("twenty", [20, 20.0, "20", "20.0", "2e1", "2E+1", " 20 "])
@pytest.mark.parametrize("seconds", [0.4, "0.4", "4e-1"])
def test_a_number_is_a_number_however_it_is_written(twenty: Value, seconds: Value) -> None:
    bids = [cluster("small", twenty, 3, 200), cluster("large", 0, 2.5, 400), cluster("cloud", "0", 0.5, "800")]
    assert order(bids, GIVEN, seconds_per_gb=seconds) == ["small"]
    by_size = "- priority: 1\n  steps:\n  - sort_descending: nodes_free\n"
    assert order([*bids, cluster("huge", 2**70, 1, 1), cluster("most", True, 1, 1)], by_size) == [
        "huge",
        "small",
        "most",
        "cloud",
        "large",
    ]


@pytest.mark.parametrize("strange", ["", "many", "0x10", "1_000", "NaN", "Infinity", "1" * 65, "٣", "+1", ".5", "01"])
def test_any_other_text_is_none(strange: str) -> None:
    ranking = Constraint().rank(
        [cluster("blue", strange, 1, 1)], job("- priority: 1\n  steps:\n  - filter: nodes_free > 0")
    )
    assert ranking.order == ()
    assert "is not a number" in ranking.passed_over["blue"]


def test_texts_are_compared_as_texts_and_differ_from_every_number() -> None:
    bids = [Bid("blue", 1, True, state={"os": "linux", "release": "1.10"}), Bid("red", 1, True, state={"os": 5})]
    for steps, expected in (
        ("os == 'linux'", ["blue"]),
        ("os != 'linux'", ["red"]),
        ("os == 5", ["red"]),
        ("os == '5'", ["red"]),
        ("release == '1.10'", ["blue"]),
        ("release == '1.1'", []),
        ("release == 1.1", ["blue"]),
        ("cluster < 'c'", ["blue"]),
    ):
        assert order(bids, f'- priority: 1\n  steps:\n  - filter: "{steps}"') == expected, steps


def test_what_is_nearer_to_the_bid_hides_what_is_further() -> None:
    known = {"cost": 1.0, "cores": 2.0, "nodes_free": 3.0, "budget": 4.0}
    bid = Bid(
        "blue", 1, True, eta_s=9, cost=50, state={"cost": 40, "nodes_free": 30}, match={"nodes_free": 20, "cores": 20}
    )
    for name, value in {
        "cost": 50,
        "nodes_free": 30,
        "cores": 20,
        "budget": 4,
        "eta_s": 9,
        "cluster": "'blue'",
    }.items():
        assert order([bid], f"- priority: 1\n  steps:\n  - filter: {name} == {value}", **known) == ["blue"]
    calc = "- priority: 1\n  steps:\n  - calc: cost = cost + 1\n  - filter: cost == 51 and true != false and True"
    assert order([bid], calc, **known) == ["blue"]


def test_a_value_calculated_in_one_priority_is_not_there_in_the_next() -> None:
    steps = "- priority: 1\n  steps:\n  - calc: x = 1\n  - filter: x > 1\n- priority: 2\n  steps:\n  - filter: x == 1"
    ranking = Constraint().rank([Bid("blue", 1, True)], job(steps))
    assert ranking.passed_over == {
        "blue": "priority 1, step 2 (filter): x > 1 does not hold; priority 2, step 1 (filter): 'x' is not known"
    }


def test_without_a_sort_the_earliest_is_the_first_and_ties_stay_in_that_order() -> None:
    bids = [Bid("a", 1, True, 30.0), Bid("b", 1, True, 10.0), Bid("c", 1, True, 20.0)]
    assert order(bids, "- priority: 1\n  steps:\n  - filter: eta_s > 0") == ["b", "c", "a"]
    for sort in ("sort_ascending", "sort_descending"):
        assert order(bids, f"- priority: 1\n  steps:\n  - {sort}: cost") == ["b", "c", "a"]


def test_a_later_sort_counts_more_and_keeps_the_earlier_one_among_equals() -> None:
    bids = [Bid(name, 1, True, eta, cost) for name, eta, cost in (("a", 3, 1), ("b", 1, 2), ("c", 2, 1), ("d", 4, 2))]
    steps = "- priority: 1\n  steps:\n  - sort_descending: eta_s\n  - sort_ascending: cost"
    assert order(bids, steps) == ["a", "c", "d", "b"]


def test_no_more_is_evaluated_than_there_is_time_for() -> None:
    long = " + ".join(["eta_s"] * 50)  # 99 parts
    steps = f"- priority: 1\n  steps:\n  - sort_ascending: {long}\n  - sort_ascending: {long}"
    bids = [Bid(f"c{number:03}", 1, True, float(number)) for number in range(200)]
    ranking = Constraint().rank(bids[::-1], job(steps))
    most = WORK_MAX // plan_of(steps).work
    assert [bid.cluster for bid in ranking.order] == [f"c{number:03}" for number in range(most)]
    assert len(ranking.passed_over) == 200 - most
    assert set(ranking.passed_over.values()) == {
        f"only the {most} earliest were looked at: for more, the expressions are too long"
    }


def test_reasons_are_short_enough_to_be_kept() -> None:
    steps = "".join(
        f"- priority: {number}\n  steps:\n  - filter: {'0 * ' * 6}{'1' * 300} > 1\n" for number in range(1, 17)
    )
    (reason,) = Constraint().rank([Bid("blue", 1, True)], job(steps)).passed_over.values()
    assert len(reason) <= REASON_CHARS

"""Bids, jobs and options as hypothesis draws them, for every policy."""

from hypothesis import strategies as st

from rainbowd.core.selection.base import Bid, JobFacts, Value
from tests.unit.daemon.selection.stage import ALL

STEPS = """
- priority: 1
  steps:
  - filter: nodes_free > 0 and cost < 5
  - calc: worth = cost * price - eta_s / seconds
  - sort_descending: worth
  - select: {select}
- priority: 2
  steps:
  - sort_ascending: nodes_free
  - select: {select}
"""

_amounts = st.floats(0, 1e6) | st.sampled_from([0.0, 1.0, 2.0])
_counts = st.integers(0, 3)
_texts = st.sampled_from(["2", "1e1", "-0.5", "many"])
_values = st.one_of(st.integers(-3, 3), st.floats(-10, 10), st.booleans(), _texts)
_state = st.fixed_dictionaries(
    {},
    optional={
        "online": st.booleans(),
        "nodes_free": _values,
        "cores_free": _counts,
        "gpus_free": _counts,
        "jobs_queued": _counts,
        "jobs_running": _counts,
        "price": _values,
    },
)
_bid = st.builds(
    Bid,
    cluster=st.text("abc", min_size=1, max_size=3),
    round=st.integers(1, 2),
    yes=st.booleans(),
    eta_s=_amounts,
    cost=_amounts,
    eta_low_s=st.none() | _amounts,
    load=_counts,
    groups=st.frozensets(st.sampled_from(["cloud", "home"])),
    state=_state,
    match=st.fixed_dictionaries({}, optional={"instances": _counts}),
)
bids = st.lists(_bid, max_size=6, unique_by=lambda bid: bid.cluster)
facts = st.fixed_dictionaries({}, optional={"tasks": _counts, "gpus_per_task": _counts, "seconds": _values})
_OPTIONS: dict[str, st.SearchStrategy[dict[str, Value]]] = {
    "balanced": st.fixed_dictionaries({"eta_weight": st.floats(0.5, 9)}, optional={"cost_weight": st.floats(0, 9)}),
    "spillover": st.fixed_dictionaries(
        {"order": st.lists(st.sampled_from(["a", "b", "@cloud", "@home"]), min_size=1, unique=True).map(",".join)},
        optional={"threshold_s": st.floats(0, 1e6)},
    ),
    "random": st.fixed_dictionaries({}, optional={"seed": st.integers(0, 9)}),
    "constraint": st.fixed_dictionaries(
        {"priorities": st.sampled_from(["first", "last", "random"]).map(lambda how: STEPS.format(select=how))}
    ),
}


def jobs_for(policy: str) -> st.SearchStrategy[JobFacts]:
    options = _OPTIONS.get(policy, st.just({}))
    return st.builds(JobFacts, st.text("xyz", min_size=1, max_size=4), st.integers(1, 3), options, facts)


auctions = st.sampled_from(ALL).flatmap(lambda policy: st.tuples(st.just(policy), bids, jobs_for(policy.name)))

"""Prices, ETAs and refusals; placement's words; backoff."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_agent.core import bidder, pricing
from rainbow_agent.core.attempts import REASON_CHARS_MAX
from rainbow_agent.core.backoff import Backoff
from rainbow_agent.core.bidder import eta
from rainbow_agent.core.model import Shape, Totals
from rainbow_agent.core.placement import why_never
from rainbow_agent.core.pricing import Prices, cost
from rainbow_protocol import limits

TOTALS = Totals(nodes=4, cores_per_node=64, gpus_per_node=2)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (Shape(cores_per_task=65), "needs 65 cores on one node, nodes have 64"),
        (Shape(gpus_per_task=3), "needs 3 gpus on one node, nodes have 2"),
        (Shape(nodes=5, tasks=5), "needs 5 nodes, there are 4"),
        (Shape(nodes=2, tasks=3, cores_per_task=33), "needs 66 cores on one node, nodes have 64"),
        (Shape(nodes=1, tasks=3, gpus_per_task=1), "needs 3 gpus on one node, nodes have 2"),
        (Shape(tasks=257), "needs room for 257 tasks of 1 core, the cluster has room for 256"),
        (
            Shape(tasks=9, cores_per_task=2, gpus_per_task=1),
            "needs room for 9 tasks of 2 cores and 1 gpu, the cluster has room for 8",
        ),
        (Shape(tasks=256), None),
        (Shape(nodes=5, tasks=5, exclusive=True), "needs 5 nodes, there are 4"),
        (Shape(nodes=4, tasks=4, exclusive=True), None),
        (Shape(nodes=4, tasks=4, cores_per_task=64, gpus_per_task=2), None),
    ],
)
def test_why_never(shape: Shape, words: str | None) -> None:
    assert why_never(shape, TOTALS) == words


def test_prices_add_up() -> None:
    prices = Prices(per_node_hour=1.0, per_core_hour=0.1, per_gpu_hour=2.0)
    shape = Shape(nodes=2, tasks=4, cores_per_task=3, gpus_per_task=1)
    assert cost(shape, 1800.0, prices, TOTALS) == pytest.approx((2 * 1.0 + 12 * 0.1 + 4 * 2.0) / 2)
    assert cost(shape, 1800.0, Prices(), TOTALS) == 0.0


def test_a_job_pays_for_as_few_nodes_as_hold_it() -> None:
    assert cost(Shape(tasks=65), 3600.0, Prices(per_node_hour=1.0), TOTALS) == 2.0
    assert cost(Shape(tasks=3, gpus_per_task=1), 3600.0, Prices(per_node_hour=1.0), TOTALS) == 2.0


def test_an_exclusive_job_pays_for_whole_nodes() -> None:
    prices = Prices(per_node_hour=1.0, per_core_hour=0.1, per_gpu_hour=2.0)
    whole = 1.0 + 64 * 0.1 + 2 * 2.0
    assert cost(Shape(exclusive=True), 3600.0, prices, TOTALS) == pytest.approx(whole)
    assert cost(Shape(tasks=65, exclusive=True), 3600.0, prices, TOTALS) == pytest.approx(2 * whole)
    assert cost(Shape(nodes=3, tasks=3, exclusive=True), 3600.0, prices, TOTALS) == pytest.approx(3 * whole)


def test_the_bounds_are_those_of_the_wire() -> None:
    assert pricing.COST_MAX == limits.COST_MAX
    assert bidder.ETA_S_MAX == limits.ETA_S_MAX
    assert REASON_CHARS_MAX == limits.REASON_CHARS_MAX
    assert cost(Shape(tasks=10**7), 1e9, Prices(per_core_hour=1e9), TOTALS) == limits.COST_MAX


@given(st.floats(0, 1e10), st.floats(0, 1e6))
def test_eta_is_zero_exactly_for_now(now: float, later: float) -> None:
    start = now + later
    assert (eta(start, now) == 0.0) == (start <= now)
    assert eta(start, now) == pytest.approx(start - now, abs=0.002)


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 200))
def test_backoff_is_never_nothing_and_never_more_than_its_cap(random: float, failures: int) -> None:
    backoff = Backoff(failures=failures)
    assert 0.05 <= backoff.next_delay_s(random) <= 15.0
    assert 7.5 <= backoff.slow_delay_s(random) <= 15.0


def test_backoff_grows_and_is_reset_by_a_welcome() -> None:
    backoff = Backoff()
    delays = [backoff.next_delay_s(0.0) for _ in range(10)]
    assert delays[:3] == [0.05, 0.1, 0.2]
    assert delays == sorted(delays)
    backoff.welcomed()
    assert backoff.next_delay_s(0.0) == 0.05

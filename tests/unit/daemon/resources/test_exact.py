"""The matcher accepts a request if and only if the empty cluster could hold it: it agrees with trying everything."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from rainbow_protocol.resources import Resource
from rainbowd.resources.asking import ask_of
from rainbowd.resources.match import GraphMatcher
from tests.unit.daemon.resources import brute, worlds
from tests.unit.daemon.resources.brute import Vertex

some = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
# Hypothesis makes a failure small, plain dice are fast: the same worlds come from both.
dice = st.randoms(use_true_random=False)
BATCH = 1_000
BATCHES = 8  # of every kind of question; `make soak` has more


def picture(root: Vertex, forest: list[Resource]) -> str:
    def lines(vertex: Vertex, depth: int) -> list[str]:
        own = f"{'  ' * depth}{vertex.type} size={vertex.size} {sorted(vertex.properties)} {vertex.attached or ''}"
        return [own] + [line for child in vertex.children for line in lines(child, depth + 1)]

    return "\n".join(lines(root, 0) + [one.model_dump_json(exclude_defaults=True) for one in forest])


def agree(dice: Random) -> str | None:
    """None, or the case in which they differ."""
    root, forest = worlds.cluster(dice), worlds.forest(dice)
    verdict = GraphMatcher().match(ask_of(worlds.request(forest)), worlds.model_of(root))
    if verdict.fits == brute.fits(root, forest) and (verdict.fits or verdict.reason):
        return None
    return f"{picture(root, forest)}\n{verdict}"


def agree_in_a_crowd(dice: Random) -> str | None:
    root = worlds.cluster(dice)
    forest = worlds.crowd(dice, root)
    verdict = GraphMatcher().match(ask_of(worlds.request(forest)), worlds.model_of(root))
    if verdict.fits == brute.fits(root, forest) and (verdict.fits or verdict.reason):
        return None
    return f"{picture(root, forest)}\n{verdict}"


def agree_on_instances(dice: Random) -> str | None:
    root, forest = worlds.cluster(dice), worlds.forest(dice, things_max=2)
    verdict = GraphMatcher().measure(ask_of(worlds.request(forest)), worlds.model_of(root))
    if not verdict.fits or verdict.instances > 3:
        return None
    number = verdict.instances
    if brute.fits(root, forest, copies=number) and not brute.fits(root, forest, copies=number + 1):
        return None
    return f"{picture(root, forest)}\n{verdict}"


def agree_under_a_constraint(dice: Random) -> str | None:
    root, forest = worlds.cluster(dice), worlds.forest(dice)
    constraint, requires = worlds.constraint(dice), worlds.requirements(dice)
    every = brute.numbered(root)
    nodes = [one for one in every if one.type == "node"]
    usable = frozenset(one for one in nodes if worlds.admits(constraint, one) and brute.node_suits(one, requires))
    asked = worlds.request(forest, constraint=constraint, requires=requires)
    verdict = GraphMatcher().match(ask_of(asked), worlds.model_of(root))
    if not nodes or (verdict.fits == brute.fits(root, forest, usable) and (verdict.fits or verdict.reason)):
        return None
    return f"{picture(root, forest)}\n{constraint!r}\n{requires!r}\n{verdict}"


QUESTIONS = [agree, agree_in_a_crowd, agree_on_instances, agree_under_a_constraint]


@pytest.mark.parametrize("question", QUESTIONS)
@some
@given(dice=dice)
def test_the_matcher_agrees_with_trying_everything(question, dice) -> None:
    difference = question(dice)
    if difference is not None:
        note(difference)
    assert difference is None


def thousand(question, batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        difference = question(Random(seed))
        assert difference is None, f"seed {seed}:\n{difference}"


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_matcher_agrees_on_thousands(question, batch: int) -> None:
    thousand(question, batch)


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(BATCHES, BATCHES + 100))
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_matcher_agrees_on_hundreds_of_thousands(question, batch: int) -> None:
    thousand(question, batch)

"""The matcher accepts a request if and only if the empty cluster could hold it: it agrees with trying everything."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from rainbow_protocol.job import JobRequest, Shape
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


def agree_on_commands(dice: Random) -> str | None:
    """`rainbow submit -N … -n … -c … -g …`, spelled out."""
    root = worlds.cluster(dice)
    tasks = dice.randint(1, 4)
    nodes = dice.choice([None, *range(1, tasks + 1)])
    cores, gpus, alone = dice.randint(1, 2), dice.choice([0, 0, 1]), worlds.seldom(dice, 4)
    shape = Shape(nodes=nodes, tasks=tasks, cores_per_task=cores, gpus_per_task=gpus, exclusive=alone)

    def of_tasks(number: int) -> list[Resource]:
        parts = [Resource(type="core", count=cores * number)]
        return [*parts, Resource(type="gpu", count=gpus * number)] if gpus else parts

    if nodes is None:
        forest = [Resource(type="slot", count=tasks, children=of_tasks(1))]
    else:
        shares = [len(range(place, tasks, nodes)) for place in range(nodes)]
        forest = [Resource(type="node", exclusive=alone, children=of_tasks(share)) for share in shares]
    verdict = GraphMatcher().match(ask_of(JobRequest(command=["a"], shape=shape)), worlds.model_of(root))
    if verdict.fits == brute.fits(root, forest) and (verdict.fits or verdict.reason):
        return None
    return f"{picture(root, forest)}\n{shape!r}\n{verdict}"


def agree_on_instances(dice: Random) -> str | None:
    """As many copies as it says do fit; and, where the parts do not compete with each other, not one more."""
    root = worlds.cluster(dice)
    forest = [worlds.resource(dice)]
    if worlds.size(forest[0]) > 3:
        return None
    model = worlds.model_of(root)
    verdict = GraphMatcher().measure(ask_of(worlds.request(forest)), model)
    number = verdict.instances
    if not verdict.fits or number * worlds.size(forest[0]) > 7:
        return None
    if not brute.fits(root, forest, copies=number):
        return f"{picture(root, forest)}\n{verdict}"
    crowded = len(forest[0].children) > 1 or any(len(child.children) > 1 for child in forest[0].children)
    crowded |= bool(model.root.nesting)
    if not crowded and brute.fits(root, forest, copies=number + 1):
        return f"{picture(root, forest)}\n{verdict}"
    return None


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


QUESTIONS = [agree, agree_on_commands, agree_in_a_crowd, agree_on_instances, agree_under_a_constraint]


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

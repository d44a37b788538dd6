"""The text of `constraint` is read whole or refused with the place of the mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbowd.core.selection.constraint import Constraint
from rainbowd.core.selection.steps import PARTS_MAX, plan_of


def steps(*lines: str) -> str:
    return "- priority: 1\n  steps:\n" + "".join(f"  - {line}\n" for line in lines)


def mistake(text: str) -> str:
    found = Constraint().mistake({"priorities": text})
    assert found is not None
    return found.removeprefix("priorities: ")


def test_priorities_go_by_their_number_and_select_the_first_if_they_do_not_say() -> None:
    plan = plan_of("- priority: 10\n  steps:\n  - filter: a\n- steps:\n  - select: last\n  priority: 9\n")
    assert [(priority.number, priority.select) for priority in plan.priorities] == [(9, "last"), (10, "first")]


def test_a_calc_may_compare() -> None:
    plan = plan_of(steps('calc: "same = a == b"', "calc: more=a>=b", "calc: less = a <= b"))
    assert [step.name for step in plan.priorities[0].steps] == ["same", "more", "less"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("just words", "expected a list of priorities, each with `priority: NUMBER` and `steps:`"),
        ("[]", "expected a list of priorities, each with `priority: NUMBER` and `steps:`"),
        ("- 1", "entry 1: expected a mapping, as in `filter: nodes_free > 0`"),
        ("- priority: 1", "entry 1: expected `priority: NUMBER` and `steps:`, and nothing else"),
        ("- priority: one\n  steps: []", "entry 1: priority: expected a whole number, got 'one'"),
        ("- priority: 1\n  steps: []", "priority 1: steps: expected a list, as in `- filter: nodes_free > 0`"),
        ("- priority: 1\n  priority: 2\n  steps: []", "entry 1: 'priority' is there twice; keep one of them"),
        (steps("select: first") * 2, "priority 1 is there twice; give each its own number"),
        (steps("filter: a\n    calc: b = 1"), "priority 1, step 1: expected one of filter, calc, sort_ascending, "),
        (steps("filter: [a]"), "priority 1, step 1 (filter): expected a text"),
        (steps("filter: a", "filter: ''"), "priority 1, step 2 (filter): is empty"),
        (steps("sort_ascending: a b"), "priority 1, step 1 (sort_ascending): cannot be read: invalid syntax"),
        (steps("calc: 1"), "priority 1, step 1 (calc): expected NAME = EXPRESSION, got '1'"),
        (steps("calc: a >= b"), "priority 1, step 1 (calc): expected NAME = EXPRESSION, got 'a >= b'"),
        (steps("calc: a == b"), "priority 1, step 1 (calc): expected NAME = EXPRESSION, got 'a == b'"),
        (steps("calc: _a = b"), "priority 1, step 1 (calc): '_a' cannot be a name: use letters, digits and _"),
        (steps("calc: a.b = b"), "priority 1, step 1 (calc): 'a.b' cannot be a name: use letters, digits and _"),
        (steps("calc: if = b"), "priority 1, step 1 (calc): 'if' cannot be a name: use letters, digits and _"),
        (steps("calc: min = b"), "priority 1, step 1 (calc): 'min' already means something; choose another name"),
        (steps("calc: true = b"), "priority 1, step 1 (calc): 'true' already means something; choose another name"),
        (steps("calc: a = b = c"), "priority 1, step 1 (calc): cannot be read: invalid syntax"),
        (steps(*["filter: a"] * 33), "priority 1: there are 33 steps, more than 32"),
        (
            "".join(f"- priority: {number}\n  steps:\n  - filter: a\n" for number in range(17)),
            "there are 17 priorities, more than 16",
        ),
        (
            steps(*["filter: " + " + ".join(["a"] * 45)] * 3),
            f"the expressions have 267 parts together, more than {PARTS_MAX}",
        ),
        ("- &a\n  priority: 1\n  steps: *a", "there must be no aliases (*)"),
        ("[" * 5_000, "has more in it than priorities with their steps"),
        ("- " * 5_000, "has more in it than priorities with their steps"),
        ("[" + "a," * 5_000 + "]", "has more in it than priorities with their steps"),
        ("{a: " * 3_000, "has more in it than priorities with their steps"),
        ("x" * 1_000_000, "is longer than 16384 characters"),
        ("- priority: 1\n\tsteps: 1", "is not YAML: "),
        ("\0", "is not YAML: "),
        ("\ud800", "is not YAML: "),
        ("---\n- a\n---\n- b", "is not YAML: "),
        ("!!python/object/apply:os.system ['true']", "entry 1: expected a mapping, as in "),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, words: str) -> None:
    assert mistake(text).startswith(words)


@given(st.text(max_size=200) | st.text("-: {}[]&*!|>'\"\n\tapriostelcfn1", max_size=200))
def test_whatever_is_written_is_a_plan_or_a_mistake_in_words(text: str) -> None:
    found = Constraint().mistake({"priorities": text})
    assert found is None or found

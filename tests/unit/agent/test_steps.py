"""Programs in order: what waits for what, groups, and what cannot be run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_agent.backends.places import PROCESSES_MAX, Allocation
from rainbow_agent.backends.steps import TOP, ordered, steps
from rainbow_agent.core.model import Shape, Share
from rainbow_protocol.program import Group, Program, Task, TaskCount
from rainbow_protocol.resources import Need, Resource

ALLOCATION = Allocation(Shape(tasks=2), (Share(0, 2),))


def task(name: str, *after: str) -> Task:
    return Task(name=name, command=[name], depends_on=list(after))


def names(tasks: list[Task], groups: dict[str, Group] | None = None) -> list[str]:
    return [str(tasks[index].name or tasks[index].group) for index, _ in ordered(tasks, groups or {})]


def test_the_documents_order_where_nothing_waits() -> None:
    assert names([task("c"), task("a"), task("b")]) == ["c", "a", "b"]


def test_a_task_comes_after_what_it_waits_for() -> None:
    assert names([task("test", "build"), task("lint"), task("build", "fetch"), task("fetch")]) == [
        "lint",
        "fetch",
        "build",
        "test",
    ]


def test_a_group_may_be_waited_for_and_may_wait() -> None:
    groups = {"g": Group(name="g", tasks=[task("x")], depends_on=["last"])}
    tasks = [task("after", "g"), Task(group="g"), task("last")]
    assert names(tasks, groups) == ["last", "g", "after"]


def test_all_of_a_name_are_waited_for() -> None:
    tasks = [task("end", "part"), task("part"), task("part")]
    assert [index for index, _ in ordered(tasks, {})] == [1, 2, 0]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (Program(tasks=[task("a", "b"), task("b", "a")]), "tasks wait for each other: a, b"),
        (Program(tasks=[task("a", "a")]), "tasks wait for each other: a"),
        (Program(tasks=[task("a", "c")]), "a task waits for 'c', which is not among the tasks beside it"),
        (Program(tasks=[Task(group="g")]), "a task runs the group 'g', which the program does not have"),
        (
            Program(tasks=[Task(group="g")], groups=[Group(name="g", tasks=[Task(group="g")])]),
            "the group 'g' runs in itself",
        ),
        (
            Program(
                tasks=[Task(group="g")],
                groups=[Group(name="g", tasks=[Task(group="h")]), Group(name="h", tasks=[Task(group="g")])],
            ),
            "the group 'g' runs in itself",
        ),
        (
            Program(
                tasks=[Task(group="g")], groups=[Group(name="g", tasks=[task("a")]), Group(name="g", tasks=[task("b")])]
            ),
            "two groups of the program have the same name",
        ),
        (Program(tasks=[Task(name="a", command=["a"], need=1)]), "task a: there is no need 1 in the request, it has 0"),
        (
            Program(tasks=[Task(name=f"t{n}", command=["a"], count=TaskCount(total=6_000)) for n in range(2)]),
            f"the program has 12000 processes, this cluster runs at most {PROCESSES_MAX}",
        ),
    ],
)
def test_what_cannot_be_run_is_said_in_words(program: Program, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        steps(program, [], ALLOCATION)


def test_a_group_that_nobody_names_does_not_run() -> None:
    program = Program(tasks=[task("a")], groups=[Group(name="g", tasks=[task("b", "nobody")])])
    assert list(steps(program, [], ALLOCATION)) == [TOP]


def test_a_group_that_is_run_twice_is_described_once() -> None:
    program = Program(
        tasks=[Task(group="g"), Task(group="h"), Task(name="again", group="g", replicas=3)],
        groups=[Group(name="g", tasks=[task("a")]), Group(name="h", tasks=[Task(group="g")])],
    )
    lists = steps(program, [], ALLOCATION)
    assert {name: [step["label"] for step in list_] for name, list_ in lists.items()} == {
        TOP: ["group g", "group h", "task again"],
        "g": ["task g/a"],
        "h": ["group g"],
    }


def test_what_the_driver_is_told() -> None:
    program = Program(
        tasks=[
            task("a"),
            Task(
                command=["b", "--x"],
                count=TaskCount(per_slot=1),
                env={"A": "1", "B": None, "RAINBOW_JOB_ID": "mine"},
                cwd="sub",
                replicas=2,
                depends_on=["a"],
            ),
        ]
    )
    lists = steps(program, [], ALLOCATION, ["apptainer", "exec", "img"], reserved={"RAINBOW_JOB_ID": "0"})
    assert lists[TOP][1] == {
        "label": "task 2",
        "name": "",
        "command": ["apptainer", "exec", "img", "b", "--x"],
        "group": None,
        "env": {"A": "1", "B": None},
        "cwd": "sub",
        "replicas": 2,
        "places": [("node0", ()), ("node0", ())],
        "after": [0],
    }


def test_a_task_without_a_need_has_that_of_its_group() -> None:
    slots = Need(alternatives=[[Resource(type="slot", count=3, children=[Resource(type="core")])]])
    program = Program(
        tasks=[Task(group="g")],
        groups=[Group(name="g", need=0, tasks=[Task(command=["a"], count=TaskCount(per_slot=1))])],
    )
    assert len(steps(program, [slots], ALLOCATION)["g"][0]["places"]) == 3


@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n)))
def test_any_order_honours_every_dependency(waits: list[set[int]]) -> None:
    """Or says that there is none: then some tasks do wait for each other."""
    tasks = [task(f"t{index}", *(f"t{other}" for other in others)) for index, others in enumerate(waits)]
    try:
        order = [index for index, _ in ordered(tasks, {})]
    except ValueError:
        left = set(range(len(waits)))
        while runnable := {index for index in left if not waits[index] & left}:
            left -= runnable
        assert left
        return
    assert sorted(order) == list(range(len(waits)))
    for index, others in enumerate(waits):
        assert all(order.index(other) < order.index(index) for other in others)

"""Public documents, each read and its meaning compared with what its authors say of it."""

from pathlib import Path

import pytest

from rainbow_protocol.job import Dependency, Shape
from rainbow_protocol.jobspec import JobspecError, Reading, read
from rainbow_protocol.program import TaskCount
from rainbow_protocol.resources import Condition, Constraint, CountRange, CountSet, Need, Requirement, Resource
from tests.unit.protocol.jobspec.documents import only_forest, shared_data

DATA = shared_data()
HOUR = 3600.0
AMD64 = Requirement(subsystem="system", conditions=[Condition(field="cpu.target", any_of=["amd64"])])


def document(name: str) -> Reading:
    path = DATA / name
    return read(path.read_text(), name=path.name)


def tree(resource: Resource) -> str:
    """`node*4[slot*1=default[core*2]]`, with ! where exclusive is said, and ? where it is denied."""
    count = resource.count if isinstance(resource.count, int) else "some"
    said = {None: "", True: "!", False: "?"}[resource.exclusive]
    label = f"={resource.label}" if resource.label else ""
    held = " ".join(tree(child) for child in resource.children)
    return f"{resource.type}*{count}{resource.unit}{said}{label}" + (f"[{held}]" if held else "")


def forests(need: Need) -> list[str]:
    return [" + ".join(tree(one) for one in forest) for forest in need.alternatives]


FLUX: dict[str, tuple[str, Shape, TaskCount | None]] = {
    "spec_14/example1": ("node*4[slot*1=default[core*2]]", Shape(nodes=4, tasks=4, cores_per_task=2), None),
    "spec_14/example2": ("slot*4=default[node*1]", Shape(nodes=4, tasks=4, exclusive=True), None),
    "spec_14/use_case_1.1": ("slot*4=default[node*1]", Shape(nodes=4, tasks=4, exclusive=True), None),
    "spec_14/use_case_1.2": ("slot*some=default[node*1]", Shape(nodes=3, tasks=3, exclusive=True), None),
    "spec_14/use_case_1.3": (
        "slot*4=nodelevel[node*1?[socket*some[core*some]]]",
        Shape(nodes=4, tasks=4, cores_per_task=8),
        None,
    ),
    "spec_14/use_case_1.4": (
        "slot*4=nodelevel[node*1[socket*2[core*4]]]",
        Shape(nodes=4, tasks=4, cores_per_task=8, exclusive=True),
        None,
    ),
    "spec_14/use_case_1.5": (
        "cluster*1[slot*2=ib[node*1[memory*4GB ib10g*1]]] + switch*1[slot*2=bicore[node*1[core*2]]]",
        Shape(nodes=4, tasks=4, cores_per_task=2, exclusive=True),
        None,
    ),
    "spec_14/use_case_1.6": (
        "cluster*2[slot*1=default[node*some?[core*30]]]",
        Shape(nodes=2, tasks=2, cores_per_task=30),
        TaskCount(per_resource="node"),
    ),
    "spec_14/use_case_1.7": (
        "switch*3[slot*1=default[node*some?[core*1]]]",
        Shape(nodes=3, tasks=3),
        TaskCount(per_resource="node"),
    ),
    "spec_14/use_case_1.8": ("slot*some=default[node*1]", Shape(nodes=4, tasks=4, exclusive=True), None),
    "spec_14/use_case_2.1": (
        "slot*4=default[node*1]",
        Shape(nodes=4, tasks=4, exclusive=True),
        TaskCount(per_slot=5),
    ),
    "spec_14/use_case_2.2": ("slot*4=myslot[node*1]", Shape(nodes=4, tasks=4, exclusive=True), TaskCount(total=5)),
    "spec_14/use_case_2.3": ("slot*10=default[core*2]", Shape(tasks=10, cores_per_task=2), None),
    "spec_14/use_case_2.4": (
        "node*1[slot*10=read-db[core*1 memory*4GB] slot*1=db[core*6 memory*24GB]]",
        Shape(nodes=1, tasks=1, cores_per_task=16),
        None,
    ),
    "spec_14/use_case_2.5": ("slot*10=default[memory*someGB core*1]", Shape(tasks=10), None),
    "spec_14/use_case_2.6": (
        "slot*2=4GB-node[node*1[memory*someGB]]",
        Shape(nodes=2, tasks=2, exclusive=True),
        TaskCount(total=10),
    ),
    "spec_14/use_case_2.7": ("slot*1=default[node*1]", Shape(nodes=1, tasks=1, exclusive=True), None),
    "spec_14/use_case_2.8": ("slot*1=default[node*1]", Shape(nodes=1, tasks=1, exclusive=True), None),
    "spec_14/use_case_2.9": ("slot*1=default[node*1]", Shape(nodes=1, tasks=1, exclusive=True), None),
    "spec_25/example1": ("node*4[slot*1=default[core*2]]", Shape(nodes=4, tasks=4, cores_per_task=2), None),
    "spec_25/use_case_1.1": ("node*4[slot*1=default[core*1]]", Shape(nodes=4, tasks=4), None),
    "spec_25/use_case_2.1": ("node*4[slot*1=myslot[core*1]]", Shape(nodes=4, tasks=4), TaskCount(total=5)),
    "spec_25/use_case_2.2": ("slot*10=default[core*2]", Shape(tasks=10, cores_per_task=2), None),
    "spec_25/use_case_2.3": (
        "slot*10=default[core*2 gpu*1]",
        Shape(tasks=10, cores_per_task=2, gpus_per_task=1),
        None,
    ),
    "spec_25/use_case_2.4": ("node*4[slot*4=default[core*1 gpu*1]]", Shape(nodes=4, tasks=16, gpus_per_task=1), None),
}


def test_no_document_is_forgotten() -> None:
    there = {str(path.relative_to(DATA / "flux-rfc").with_suffix("")) for path in DATA.glob("flux-rfc/spec_*/*.yaml")}
    assert there == set(FLUX)
    others = {path.name for path in (DATA / "jobspec-nextgen").glob("*.yaml")}
    assert others == set(NEXTGEN)
    earlier = {str(path.relative_to(DATA / "rainbow-examples")) for path in DATA.glob("rainbow-examples/**/jobspec*")}
    assert earlier == set(EARLIER)


@pytest.mark.parametrize("name", FLUX)
def test_flux(name: str) -> None:
    found = document(f"flux-rfc/{name}.yaml")
    request = found.request
    written, shape, count = FLUX[name]
    limit_s = 4 * HOUR if name.endswith("1.5") else HOUR
    assert found.format == "flux"
    assert " + ".join(tree(one) for one in only_forest(found)) == written
    assert request.shape == shape.model_copy(update={"time_limit_s": limit_s})
    assert request.task_count == count
    assert request.cwd == "/home/flux"
    drafted = "use_case" in name and "spec_14" in name
    assert found.warnings == (("version: is that of drafts; it is read as version 1",) if drafted else ())


def test_the_ranges_of_flux() -> None:
    assert only_forest(document("flux-rfc/spec_14/use_case_1.2.yaml"))[0].count == CountRange(min=3, max=30)
    assert only_forest(document("flux-rfc/spec_14/use_case_1.8.yaml"))[0].count == CountSet(any_of=[4, 9, 16, 25])
    [slot] = only_forest(document("flux-rfc/spec_14/use_case_1.3.yaml"))
    [socket] = slot.children[0].children
    assert (socket.count, socket.children[0].count) == (CountRange(min=2), CountRange(min=4))
    assert only_forest(document("flux-rfc/spec_14/use_case_2.5.yaml"))[0].children[0].count == CountRange(min=2)


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("1.5", [(["flux", "start"], "ib", {}), (["flux", "start"], "bicore", {})]),
        ("2.4", [(["read-db"], "read-db", {}), (["db"], "db", {})]),
        (
            "2.7",
            [
                (["flux", "start"], "default", {}),
                (["flux", "start"], "default", {"FOO": None, "BAR": "2"}),
            ],
        ),
    ],
)
def test_the_programs_of_flux(name: str, tasks: list[tuple[list[str], str, dict[str, str | None]]]) -> None:
    request = document(f"flux-rfc/spec_14/use_case_{name}.yaml").request
    assert request.program is not None
    assert [(task.command, task.slot, task.env) for task in request.program.tasks] == tasks
    assert all(task.count == TaskCount(per_slot=1) for task in request.program.tasks)


def test_all_other_documents_of_flux_run_one_command() -> None:
    programs = {name for name in FLUX if document(f"flux-rfc/{name}.yaml").request.program is not None}
    assert programs == {f"spec_14/use_case_{name}" for name in ("1.5", "2.4", "2.7")}


def test_dependencies_constraints_and_variables_of_flux() -> None:
    assert document("flux-rfc/spec_14/use_case_2.8.yaml").request.dependencies == [
        Dependency(type="in", scope="user", scheme="fluid", value="hungry-hippo-white-elephant"),
        Dependency(type="in", scope="user", scheme="string", value="foo"),
        Dependency(type="out", scope="user", scheme="string", value="bar"),
    ]
    constrained = document("flux-rfc/spec_14/use_case_2.9.yaml").request
    assert constrained.constraint == Constraint(op="properties", values=["amd-mi50"])
    assert document("flux-rfc/spec_14/use_case_2.7.yaml").request.env == {"FOO": "/tmp", "BAR": "1"}
    assert document("flux-rfc/spec_14/example1.yaml").request.env == {"HOME": "/home/flux"}


NEXTGEN: dict[str, tuple[list[list[str]], Shape]] = {
    "depends-on.yaml": ([["node*1[core*4]"]], Shape(nodes=1, tasks=1, cores_per_task=4)),
    "group-with-group.yaml": ([["node*1!"]], Shape(nodes=1, tasks=1, exclusive=True)),
    "hello-world-jobspec.yaml": ([["node*1[core*4]"]], Shape(nodes=1, tasks=1, cores_per_task=4)),
    "jobspec-spack-subystem-satisfied.yaml": ([["node*1[core*4]"]], Shape(nodes=1, tasks=1, cores_per_task=4)),
    "jobspec-spack-subystem-unsatisfied.yaml": ([["node*1[core*4]"]], Shape(nodes=1, tasks=1, cores_per_task=4)),
    "machine-learning.yaml": (
        [["node*8[gpu*2 core*4]"], ["node*2[gpu*1]", "node*2[core*4]"], ["node*2[core*4]"]],
        Shape(nodes=8, tasks=8, cores_per_task=4, gpus_per_task=2),
    ),
    "task-with-group.yaml": ([["node*1!"]], Shape(nodes=1, tasks=1, exclusive=True)),
}


@pytest.mark.parametrize("name", NEXTGEN)
def test_nextgen(name: str) -> None:
    found = document(f"jobspec-nextgen/{name}")
    needs, shape = NEXTGEN[name]
    assert (found.format, found.warnings) == ("nextgen", ())
    assert [forests(need) for need in found.request.needs or []] == needs
    assert found.request.shape == shape


def test_the_order_of_nextgen() -> None:
    for name, after in (("depends-on.yaml", ["task-1"]), ("hello-world-jobspec.yaml", [])):
        program = document(f"jobspec-nextgen/{name}").request.program
        assert program is not None
        assert [(task.name, task.need, task.depends_on) for task in program.tasks] == [
            ("task-1", 0, []),
            ("task-2", 0, after),
        ]


def test_the_groups_of_nextgen() -> None:
    program = document("jobspec-nextgen/group-with-group.yaml").request.program
    assert program is not None
    assert [task.group for task in program.tasks] == ["group-1"]
    assert [(group.name, [task.group for task in group.tasks]) for group in program.groups] == [
        ("group-1", [None, "group-2"]),
        ("group-2", [None]),
    ]
    program = document("jobspec-nextgen/task-with-group.yaml").request.program
    assert program is not None
    assert [(task.name, task.group) for task in program.tasks] == [("task-1", None), (None, "task-2")]
    program = document("jobspec-nextgen/machine-learning.yaml").request.program
    assert program is not None
    assert [task.group for task in program.tasks] == ["mini-mummi"]
    mummi, train = program.groups
    assert (mummi.need, [(task.group, task.name, task.need, task.replicas) for task in mummi.tasks]) == (
        0,
        [("train", None, None, 1), (None, "test", 2, 20)],
    )
    assert (train.need, [(task.name, task.need) for task in train.tasks]) == (1, [("train", None)])


@pytest.mark.parametrize(("name", "package"), [("satisfied", "openssl"), ("unsatisfied", "lammps")])
def test_the_requirements_of_nextgen(name: str, package: str) -> None:
    found = document(f"jobspec-nextgen/jobspec-spack-subystem-{name}.yaml")
    assert only_forest(found)[0].requires == [AMD64]
    assert found.request.requires == [
        Requirement(
            subsystem="spack",
            conditions=[Condition(field="type", any_of=["package"]), Condition(field="name", any_of=[package])],
        )
    ]


def in_range(least: str, most: str) -> list[Requirement]:
    return [Requirement(subsystem="spack", conditions=[Condition(field="version", min=least, max=most)])]


EARLIER: dict[str, tuple[str, Shape, list[Requirement]]] = {
    "jobspec-constraint.yaml": ("node*2[core*2]", Shape(nodes=2, tasks=2, cores_per_task=2), []),
    "jobspec-io.yaml": (
        "node*1[core*2]",
        Shape(nodes=1, tasks=1, cores_per_task=2),
        [Requirement(subsystem="io", conditions=[Condition(field="type", any_of=["shm"])])],
    ),
    "range/jobspec-invalid-range.yaml": (
        "node*2[core*2]",
        Shape(nodes=2, tasks=2, cores_per_task=2),
        in_range("0.7.1", "0.7.5"),
    ),
    "range/jobspec-valid-range.yaml": (
        "node*2[core*2]",
        Shape(nodes=2, tasks=2, cores_per_task=2),
        in_range("0.5.1", "0.5.5"),
    ),
}


@pytest.mark.parametrize("name", EARLIER)
def test_the_earlier_forms(name: str) -> None:
    found = document(f"rainbow-examples/{name}")
    written, shape, requires = EARLIER[name]
    assert (found.format, found.warnings) == ("rainbow", ())
    [resource] = only_forest(found)
    assert (tree(resource), resource.requires) == (written, requires)
    assert found.request.shape == shape
    assert found.request.command == ["ior"]
    assert found.request.parameters == ({"seconds_per_gb": 0.4} if name == "jobspec-constraint.yaml" else {})


@pytest.mark.parametrize(
    "path", sorted(DATA.glob("rainbow-examples/**/rainbow*config.yaml")), ids=lambda path: path.name
)
def test_what_is_no_jobspec_is_refused(path: Path) -> None:
    with pytest.raises(JobspecError, match="is in no form that is known"):
        read(path.read_text(), name=path.name)

"""Published examples from end to end: the documents are read, described, and asked about as their authors meant."""

from typing import Any

import pytest

from rainbow_protocol.jobspec import read
from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import ask_of
from rainbowd.resources.classes import describe
from rainbowd.resources.graph import Kind, ResourceGraph
from rainbowd.resources.match import GraphMatcher
from rainbowd.resources.model import ClassTable, ClusterModel
from rainbowd.resources.reading.documents import read_cluster
from rainbowd.resources.reading.subsystems import read_subsystem
from tests.unit.daemon.resources.reading.made import shared


def ask(document: bytes, model: ClusterModel) -> Verdict:
    return GraphMatcher().measure(ask_of(read(document.decode()).request), model)


def example(**subsystems: str) -> ClusterModel:
    cluster = read_cluster(shared("rainbow-examples/cluster-nodes.json"))
    assert isinstance(cluster, ResourceGraph)
    ids = set(cluster.ids)
    attached = [read_subsystem(name, shared(path), ids) for name, path in subsystems.items()]
    return ClassTable().load(describe(cluster, attached))


def test_the_example_cluster_has_its_totals() -> None:
    assert example().counts == {"cluster": 1, "rack": 1, "node": 3, "socket": 3, "core": 36}


def test_a_version_range_matches_or_not_as_the_examples_say() -> None:
    model = example(spack="rainbow-examples/range/spack-subsystem.json")
    valid = ask(shared("rainbow-examples/range/jobspec-valid-range.yaml"), model)
    # Twelve cores a node, two on each of two nodes: nine such jobs share the three nodes.
    assert (valid.fits, valid.instances, valid.nodes_matched) == (True, 9, 3)
    invalid = ask(shared("rainbow-examples/range/jobspec-invalid-range.yaml"), model)
    assert not invalid.fits
    assert "version from 0.7.1 to 0.7.5" in invalid.reason
    assert "0.5.2" in str(invalid.have)


def test_io_is_found_where_it_is_attached_and_only_there() -> None:
    jobspec = shared("rainbow-examples/jobspec-io.yaml")
    assert ask(jobspec, example(io="rainbow-examples/cluster-io-subsystem.json")).nodes_matched == 3
    without = ask(jobspec, example())
    assert not without.fits
    assert "io (type shm)" in without.reason


@pytest.mark.parametrize(("which", "package"), [("satisfied", "openssl"), ("unsatisfied", "lammps")])
def test_user_level_requirements_of_spack_packages(which: str, package: str) -> None:
    graph = b"""{"graph": {"nodes": {
      "spack0": {"metadata": {"type": "spack", "paths": {"containment": "/spack0"}}},
      "p1": {"metadata": {"type": "package", "attributes": {"name": "openssl"}, "paths": {"containment": "/spack0/p1"}}}
    }, "edges": []}}"""
    system = b"""{"graph": {"nodes": {
      "s0": {"metadata": {"type": "system", "attributes": {"cpu": {"target": "amd64"}}}}
    }, "edges": []}}"""
    cluster = read_cluster(shared("rainbow-examples/cluster-nodes.json"))
    assert isinstance(cluster, ResourceGraph)
    ids = set(cluster.ids)
    attached = [read_subsystem("spack", graph, ids), read_subsystem("system", system, ids)]
    model = ClassTable().load(describe(cluster, attached))
    verdict = ask(shared(f"jobspec-nextgen/jobspec-spack-subystem-{which}.yaml"), model)
    assert verdict.fits is (package == "openssl"), verdict.reason


def test_environment_modules_speak_of_the_whole_cluster() -> None:
    model = example(modules="jobspec-nextgen/module-subsystem.json")
    [info] = model.subsystems
    assert info["vertices"] == 48

    def wants(name: str) -> bool:
        return ask(
            f"""version: 1
resources:
  r:
    type: node
    count: 3
    requires: [{{name: modules, field: name, value: {name}}}]
    with: [{{type: core, count: 12}}]
tasks: [{{command: [hostname], resources: r}}]""".encode(),
            model,
        ).fits

    assert wants("python/anaconda3")
    assert not wants("python/anaconda9")


# --- RFC 14 and 25: what the use cases mean, on clusters that just hold them, and just do not


def tree(root: dict[str, Any]) -> ClusterModel:
    """From {"node": (3, {"core": (4, {})})}: so many of each."""
    graph = ResourceGraph()

    def add(kind: str, parent: int, held: dict[str, Any]) -> None:
        name, _, size = kind.partition(":")
        unit = "GB" if name == "memory" else ""
        graph.kinds.append(Kind(name, int(size or 1), unit, tuple(held.get("properties", ()))))
        graph.ids.append(str(len(graph.ids)))
        graph.parents.append(parent)
        graph.kind_of.append(len(graph.kinds) - 1)
        mine = len(graph.ids) - 1
        for inner, told in held.items():
            if inner != "properties":
                for _ in range(told[0]):
                    add(inner, mine, told[1])

    add("cluster", -1, root)
    return ClassTable().load(describe(graph))


def nodes(count: int, **held: Any) -> dict[str, Any]:
    return {"node": (count, {name.replace("_", ":"): (number, {}) for name, number in held.items()})}


SOCKETS = {"socket": (2, {"core": (4, {})})}
FITTING: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("14/use_case_1.1", nodes(4, core=1), nodes(3, core=99)),
    ("14/use_case_1.2", nodes(3, core=1), nodes(2, core=99)),
    ("14/use_case_1.3", {"node": (4, SOCKETS)}, {"node": (4, {"socket": (1, {"core": (8, {})})})}),
    ("14/use_case_1.4", {"node": (4, SOCKETS)}, {"node": (4, {"socket": (2, {"core": (3, {})})})}),
    (
        "14/use_case_1.5",
        {"switch": (1, {"node": (2, {"core": (2, {})})}), "node": (2, {"memory:4": (1, {}), "ib10g": (1, {})})},
        # The two nodes with ib10g are the only ones below the switch: they cannot serve both.
        {"switch": (1, {"node": (2, {"core": (2, {}), "memory:4": (1, {}), "ib10g": (1, {})})})},
    ),
    ("14/use_case_1.7", {"switch": (3, nodes(1, core=1))}, {"switch": (2, nodes(9, core=9))}),
    ("14/use_case_1.8", nodes(4, core=1), nodes(3, core=1)),
    ("14/use_case_2.1", nodes(4, core=1), nodes(3, core=1)),
    ("14/use_case_2.2", nodes(4, core=1), nodes(3, core=1)),
    ("14/use_case_2.3", nodes(5, core=4), nodes(9, core=3)),  # slots of two cores: three cores hold but one
    ("14/use_case_2.4", nodes(1, core=16, memory_64=1), nodes(2, core=15, memory_64=1)),
    ("14/use_case_2.5", nodes(2, core=5, memory_10=1), nodes(2, core=5, memory_9=1)),
    ("14/use_case_2.6", nodes(2, core=1, memory_4=1), nodes(2, core=1, memory_3=1)),
    ("14/use_case_2.7", nodes(1, core=1), {"core": (8, {})}),
    ("14/use_case_2.8", nodes(1, core=1), {"core": (8, {})}),
    (
        "14/use_case_2.9",
        {"node": (1, {"properties": ["amd-mi50"], "core": (1, {})})},
        {"node": (9, {"properties": ["amd-mi100"], "core": (1, {})})},
    ),
    ("25/example1", nodes(4, core=2), nodes(4, core=1)),
    ("25/use_case_1.1", nodes(4, core=1), nodes(3, core=8)),
    ("25/use_case_2.1", nodes(4, core=1), nodes(3, core=8)),
    ("25/use_case_2.2", nodes(5, core=4), nodes(9, core=3)),
    ("25/use_case_2.3", nodes(5, core=4, gpu=2), nodes(9, core=4, gpu=1)),
    ("25/use_case_2.4", nodes(4, core=4, gpu=4), nodes(4, core=4, gpu=3)),
]


@pytest.mark.parametrize(("name", "enough", "too_little"), FITTING, ids=[name for name, _, _ in FITTING])
def test_a_use_case_fits_what_just_holds_it_and_nothing_less(
    name: str, enough: dict[str, Any], too_little: dict[str, Any]
) -> None:
    document = shared(f"flux-rfc/spec_{name}.yaml")
    verdict = ask(document, tree(enough))
    assert (verdict.fits, verdict.instances) == (True, 1), verdict.reason
    refused = ask(document, tree(too_little))
    assert not refused.fits
    assert refused.reason


def test_two_clusters_are_never_found_in_one() -> None:
    verdict = ask(shared("flux-rfc/spec_14/use_case_1.6.yaml"), tree(nodes(9, core=30)))
    assert verdict.reason == "needs 2 clusters, it has 1"

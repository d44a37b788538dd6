"""What satisfies a requirement: the subsystem's vertices here, above, and the attributes of the vertex itself."""

from typing import Any

import pytest

from rainbow_protocol.resources import Condition, Constraint, Requirement
from rainbowd.resources.asking import Ask
from rainbowd.resources.capacity import Capacity
from rainbowd.resources.competing import fits_together
from rainbowd.resources.graph import SubsystemGraph, SubsystemVertex
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.requirements import Chain, admits
from rainbowd.resources.traits import traits_of


def place(kind: str = "node", traits: Any = (), attributes: Any = (), properties: Any = ()) -> SubtreeClass:
    return SubtreeClass(kind, 1, "", frozenset(properties), tuple(attributes), tuple(traits), ())


def require(subsystem: str, *conditions: dict[str, Any], absent: bool = False) -> Requirement:
    return Requirement(subsystem=subsystem, conditions=[Condition(**one) for one in conditions], absent=absent)


def satisfied(requirement: Requirement, chain: Chain) -> bool:
    return Capacity(Ask(()), fits_together).satisfies((requirement,), chain)


OPENSSL = ("spack", "package", (("name", "openssl"), ("version", "3.0.2")))
CMAKE = ("spack", "package", (("name", "cmake"), ("version", "3.27.9"), ("threads", 8)))
NODE = place(traits=(OPENSSL, CMAKE), attributes=(("arch", "amd64"), ("os.name", "ubuntu"), ("memory_gb", 512)))


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        (require("spack", {"field": "name", "any_of": ["openssl"]}), True),
        (require("spack", {"field": "name", "any_of": ["lammps", "cmake"]}), True),
        (require("spack", {"field": "name", "any_of": ["lammps"]}), False),
        (require("spack", {"field": "type", "any_of": ["package"]}), True),
        (require("spack", {"field": "attributes.name", "any_of": ["openssl"]}), True),
        # All conditions of one requirement are about the same vertex: there is no openssl 3.27.
        (require("spack", {"field": "name", "any_of": ["openssl"]}, {"field": "version", "min": "3.20"}), False),
        (require("spack", {"field": "name", "any_of": ["cmake"]}, {"field": "version", "min": "3.20"}), True),
        (require("spack", {"field": "version", "min": "3.0", "max": "3.1"}), True),
        (require("spack", {"field": "version", "min": "3.1", "max": "3.2"}), False),
        (require("spack", {"field": "version", "above": "3.27.9"}), False),
        (require("spack", {"field": "version", "below": "3.0.2"}), False),
        (require("spack", {"field": "threads", "min": 8, "max": 8}), True),
        (require("spack", {"field": "threads", "above": 8}), False),
        (require("spack", {"field": "threads", "present": True}), True),
        (require("spack", {"field": "licence", "present": True}), False),
        (require("spack", {"field": "licence", "present": False}), True),
        (require("spack", {"field": "name", "none_of": ["openssl", "cmake"]}), False),
        (require("spack", {"field": "name", "none_of": ["openssl"]}), True),
        (require("spack", {"field": "name", "any_of": ["openssl"]}, absent=True), False),
        (require("spack", {"field": "name", "any_of": ["lammps"]}, absent=True), True),
        (require("spack"), True),
        (require("mpi"), False),
        (require("mpi", absent=True), True),
        # The node itself, by its type's name, and attributes that carry the subsystem's name.
        (require("node", {"field": "arch", "any_of": ["amd64"]}), True),
        (require("containment", {"field": "memory_gb", "min": 256}), True),
        (require("os", {"field": "name", "any_of": ["ubuntu"]}), True),
        (require("os", {"field": "os.name", "any_of": ["ubuntu"]}), True),
        (require("os", {"field": "os.name", "any_of": ["debian"]}), False),
        (require("arch", {"field": "arch", "any_of": ["amd64"]}), False),
    ],
)
def test_a_requirement_at_a_node(requirement: Requirement, holds: bool) -> None:
    assert satisfied(requirement, (NODE,)) is holds


def test_what_is_attached_to_a_container_holds_for_what_it_contains() -> None:
    rack, bare, core = place("rack", traits=(OPENSSL,)), place("node"), place("core")
    wanted = require("spack", {"field": "name", "any_of": ["openssl"]})
    assert satisfied(wanted, (rack, bare))
    assert satisfied(wanted, (rack, bare, core))
    assert not satisfied(wanted, (place("cluster"), bare))


@pytest.mark.parametrize(
    ("value", "wanted", "equal"),
    [
        ("1.10", "1.10", True),
        ("1.10", 1.1, False),
        (1.0, 1, True),
        (8, "8", True),
        ("true", True, True),
        ("True", True, True),
        ("1", True, False),
        ("yes", "no", False),
    ],
)
def test_values_are_equal_as_people_mean_it(value: Any, wanted: Any, equal: bool) -> None:
    node = place(traits=(("x", "x", (("field", value),)),))
    assert satisfied(require("x", {"field": "field", "any_of": [wanted]}), (node,)) is equal


def test_labels_of_older_datasets_are_facts_about_one_place() -> None:
    vertices = [SubsystemVertex(str(n), kind) for n, kind in enumerate(["os", "os.name=ubuntu", "os.version=22.04"])]
    together = require("os", {"field": "os.name", "any_of": ["ubuntu"]}, {"field": "os.version", "min": "22"})
    loose = SubsystemGraph("os", vertices)
    assert satisfied(together, (place(traits=sorted(traits_of(loose, (1, 2)))),))
    held = SubsystemGraph("os", vertices, children={0: [1, 2]})
    assert satisfied(together, (place(traits=sorted(traits_of(held, (0,)))),))
    assert not satisfied(together, (place(traits=sorted(traits_of(loose, (1,)))),))


def test_a_constraint_speaks_of_properties_and_labels() -> None:
    node = place(properties=["amd", "queue:batch"], attributes=[("zone", "a")])

    def properties(*names: str) -> Constraint:
        return Constraint(op="properties", values=list(names))

    assert admits(properties("amd", "queue:batch"), node)
    assert not admits(properties("amd", "intel"), node)
    assert admits(properties("^intel"), node)
    assert admits(properties("zone=a"), node)
    assert not admits(properties("zone=b"), node)
    assert admits(Constraint(op="or", args=[properties("intel"), properties("amd")]), node)
    assert not admits(Constraint(op="not", args=[properties("amd")]), node)
    assert not admits(Constraint(op="and", args=[properties("intel"), properties("amd")]), node)

"""A Job of Kubernetes: what its pods become."""

from fractions import Fraction
from typing import Any

import pytest

from rainbow_protocol import limits
from rainbow_protocol.job import Shape
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.jobspec.kubernetes import _select
from rainbow_protocol.jobspec.place import Place, Remarks
from rainbow_protocol.jobspec.quantities import quantity_of
from rainbow_protocol.jobspec.request import Draft
from rainbow_protocol.program import TaskCount
from rainbow_protocol.resources import Condition, Constraint, Requirement
from tests.unit.protocol.jobspec.documents import KUBERNETES, changed, only_forest, reading, refusal

POD = "spec/template/spec"
CONTAINER = f"{POD}/containers/0"


def test_a_whole_document() -> None:
    found = reading(KUBERNETES)
    request = found.request
    assert (found.format, found.warnings) == ("kubernetes", ())
    assert request.name == "pi"
    assert request.image == "docker.io/library/perl:5.34"
    assert request.command == ["perl", "-e", "print 3.14"]
    assert (request.cwd, request.env) == ("/data", {"DIGITS": "200"})
    assert request.shape == Shape(tasks=3, cores_per_task=2, gpus_per_task=1, time_limit_s=600)
    assert request.task_count is None
    assert request.requires == [
        Requirement(subsystem="node", conditions=[Condition(field="kubernetes.io/arch", any_of=["amd64"])])
    ]
    [slot] = only_forest(found)
    assert (slot.type, slot.count) == ("slot", 3)
    assert [(one.type, one.count, one.unit) for one in slot.children] == [
        ("core", 2, ""),
        ("gpu", 1, ""),
        ("memory", 4 * 1024**3, "B"),
    ]


HOSTNAME = "kubernetes.io/hostname"


def test_the_label_of_a_host_is_its_name() -> None:
    """Descriptions leave this label out, since it is another on every node."""
    request = reading(changed(KUBERNETES, f"{POD}/nodeSelector", {HOSTNAME: "n7"})).request
    assert request.constraint == Constraint(op="hostlist", values=["n7"])
    assert request.requires == []


def test_the_host_goes_together_with_other_labels() -> None:
    labels = {"kubernetes.io/arch": "amd64", HOSTNAME: "n7.site", "zone": "b"}
    request = reading(changed(KUBERNETES, f"{POD}/nodeSelector", labels)).request
    assert request.constraint == Constraint(op="hostlist", values=["n7.site"])
    [requirement] = request.requires
    assert [one.field for one in requirement.conditions] == ["kubernetes.io/arch", "zone"]


def test_a_host_joins_a_constraint_that_is_there() -> None:
    draft = Draft(Place({}, "", Remarks()), [], [], constraint=Constraint(op="properties", values=["fast"]))
    _select(draft, Place({HOSTNAME: "n7"}, "nodeSelector", Remarks()))
    fast, host = Constraint(op="properties", values=["fast"]), Constraint(op="hostlist", values=["n7"])
    assert draft.constraint == Constraint(op="and", args=[fast, host])


@pytest.mark.parametrize("name", ["n[1-4]", "n1,n2", "n]", "n 1", ""])
def test_no_name_of_one_host(name: str) -> None:
    message = refusal(changed(KUBERNETES, f"{POD}/nodeSelector", {HOSTNAME: name}))
    assert "spec.template.spec.nodeSelector.kubernetes.io/hostname: " in message


@pytest.mark.parametrize(
    ("parallelism", "completions", "slots", "count"),
    [
        (..., ..., 1, None),
        (4, ..., 4, None),
        (4, 4, 4, None),
        (4, 2, 2, None),
        (2, 10, 2, TaskCount(total=10)),
        (..., 3, 1, TaskCount(total=3)),
    ],
)
def test_pods(parallelism: Any, completions: Any, slots: int, count: TaskCount | None) -> None:
    document = changed(KUBERNETES, "spec/parallelism", parallelism)
    if completions is not ...:
        document = changed(document, "spec/completions", completions)
    found = reading(document)
    assert found.request.shape.tasks == slots
    assert found.request.task_count == count
    assert len(found.warnings) == (1 if count else 0)
    assert all(warning.startswith("spec.completions: the ") for warning in found.warnings)


@pytest.mark.parametrize(
    ("cpu", "cores", "warnings"),
    [
        ("500m", 1, ("spec.template.spec.containers[0].resources.requests.cpu: becomes 1 whole core",)),
        (2.5, 3, ("spec.template.spec.containers[0].resources.requests.cpu: becomes 3 whole cores",)),
        ("4", 4, ()),
        ("4000m", 4, ()),
    ],
)
def test_cores_are_whole(cpu: Any, cores: int, warnings: tuple[str, ...]) -> None:
    found = reading(changed(KUBERNETES, f"{CONTAINER}/resources/requests/cpu", cpu))
    assert (found.request.shape.cores_per_task, found.warnings) == (cores, warnings)


def test_a_limit_counts_where_nothing_is_requested() -> None:
    found = reading(changed(KUBERNETES, f"{CONTAINER}/resources", {"limits": {"cpu": 8, "amd.com/gpu": 2}}))
    assert (found.request.shape.cores_per_task, found.request.shape.gpus_per_task) == (8, 2)


def test_no_resources_at_all() -> None:
    found = reading(changed(KUBERNETES, f"{CONTAINER}/resources", ...))
    assert found.request.shape == Shape(tasks=3, time_limit_s=600)
    assert found.warnings == ("spec.template.spec.containers[0]: asks for no cpu; one core for each pod is assumed",)


@pytest.mark.parametrize(
    ("path", "value", "warning"),
    [
        ("metadata/namespace", "x", "metadata.namespace: is for Kubernetes itself, and was not used"),
        ("spec/backoffLimit", 4, "spec.backoffLimit: is for Kubernetes itself, and was not used"),
        ("spec/colour", 4, "spec.colour: is not known here and was not used"),
        (f"{POD}/volumes", [], "spec.template.spec.volumes: is not known here and was not used"),
        (
            f"{CONTAINER}/volumeMounts",
            [],
            "spec.template.spec.containers[0].volumeMounts: is not known here and was not used",
        ),
        (
            f"{CONTAINER}/env",
            [{"name": "SECRET", "valueFrom": {"secretKeyRef": {}}}],
            "spec.template.spec.containers[0].env[0].valueFrom: the variable SECRET is not set: "
            "what it comes from is not known outside of Kubernetes",
        ),
        (
            f"{CONTAINER}/resources/limits/example.com~1dongle",
            1,
            "spec.template.spec.containers[0].resources.limits.example.com~1dongle: "
            "is a resource that is not known here and was not asked for",
        ),
        (
            f"{CONTAINER}/args",
            ["$(DIGITS)"],
            "spec.template.spec.containers[0].command: has a $(VARIABLE), which is not replaced; "
            "write [sh, -c, …] and $VARIABLE",
        ),
    ],
)
def test_what_is_not_used_is_told(path: str, value: Any, warning: str) -> None:
    assert reading(changed(KUBERNETES, path, value)).warnings == (warning,)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("kind", "Deployment", "kind: 'Deployment' of 'batch/v1' cannot be read; only a Job of batch/v1 can"),
        ("apiVersion", "batch/v2", "kind: 'Job' of 'batch/v2' cannot be read"),
        ("spec", ..., "spec: is missing"),
        ("spec/parallelism", 0, "spec.parallelism: must be at least 1"),
        ("spec/activeDeadlineSeconds", 1.5, "spec.activeDeadlineSeconds: must be a whole number"),
        (f"{POD}/containers", [], "spec.template.spec.containers: must be one container, and are 0"),
        (f"{CONTAINER}/command", ..., "containers[0].command: is missing; what an image runs by itself is not known"),
        (f"{CONTAINER}/env", [{"value": "x"}], "containers[0].env[0].name: is missing"),
        (f"{CONTAINER}/resources/requests/cpu", "many", "requests.cpu: 'many' is not a quantity"),
        (f"{CONTAINER}/resources/requests/memory", -4, "requests.memory: '-4' is not a quantity"),
        (f"{POD}/nodeSelector/kubernetes.io~1arch", 4, "nodeSelector.kubernetes.io~1arch: must be a text"),
    ],
)
def test_mistakes_say_where_and_what(path: str, value: Any, message: str) -> None:
    assert message in refusal(changed(KUBERNETES, path, value))


def test_a_part_of_a_gpu_is_none() -> None:
    limits_of_it = {"nvidia.com/gpu": "500m"}
    message = refusal(changed(KUBERNETES, f"{CONTAINER}/resources/limits", limits_of_it))
    assert message.endswith("limits.nvidia.com/gpu: must be a whole number")


def test_the_earlier_deadline_counts() -> None:
    assert reading(changed(KUBERNETES, f"{POD}/activeDeadlineSeconds", 60)).request.shape.time_limit_s == 60


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (2, Fraction(2)),
        (0.5, Fraction(1, 2)),
        ("500m", Fraction(1, 2)),
        ("4Gi", Fraction(4 * 1024**3)),
        ("4G", Fraction(4 * 1000**3)),
        ("1.5Ki", Fraction(1536)),
        ("2k", Fraction(2000)),
        ("1e3", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("2E", None),
        (".5", Fraction(1, 2)),
        ("100u", Fraction(1, 10_000)),
        ("", None),
        ("Gi", None),
        ("4GiB", None),
        ("-1", None),
        ("1e99", None),
        (True, None),
        (None, None),
        (float("inf"), None),
        (limits.RESOURCE_COUNT_MAX, Fraction(limits.RESOURCE_COUNT_MAX)),
        (limits.RESOURCE_COUNT_MAX + 1, None),
    ],
)
def test_quantities(written: Any, meant: Fraction | None) -> None:
    place = Place(written, "cpu", Remarks())
    if meant is not None:
        assert quantity_of(place) == meant
    else:
        with pytest.raises(JobspecError, match=r"^cpu: "):
            quantity_of(place)

"""A Kubernetes batch/v1 Job: its pods become slots, each with the cores, gpus and memory of its container."""

from math import ceil

from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest
from rainbow_protocol.jobspec.commands import Surroundings, command_of, environment_of
from rainbow_protocol.jobspec.place import Fields, Place
from rainbow_protocol.jobspec.quantities import quantity_of
from rainbow_protocol.jobspec.request import Draft
from rainbow_protocol.program import Task, TaskCount
from rainbow_protocol.resources import Condition, Constraint, Need, Requirement, Resource

POD = "pod"
NODE_LABELS = "node"  # the subsystem that a nodeSelector is about
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")
_HOSTNAME = "kubernetes.io/hostname"
_NOT_OURS = "is for Kubernetes itself, and was not used"


def read(place: Place) -> JobRequest:
    fields = place.fields()
    kind, version = fields.need("kind"), fields.need("apiVersion")
    if kind.text() != "Job" or version.text() != "batch/v1":
        what = f"{kind.text()[:40]!r} of {version.text()[:40]!r}"
        raise kind.wrong(f"{what} cannot be read; only a Job of batch/v1 can")
    name = _name(fields.take("metadata"))
    spec = fields.need("spec").fields()
    fields.unused(_NOT_OURS, "status")
    fields.done()
    pods, processes = _pods(spec)
    deadline = spec.take("activeDeadlineSeconds")
    spec.unused(_NOT_OURS, "backoffLimit", "ttlSecondsAfterFinished", "completionMode", "podFailurePolicy")
    spec.unused(_NOT_OURS, "suspend", "selector", "manualSelector", "podReplacementPolicy")
    template = spec.need("template").fields()
    spec.done()
    template.unused(_NOT_OURS, "metadata")
    pod = template.need("spec").fields()
    template.done()
    earlier = pod.take("activeDeadlineSeconds")
    limits_s = [one.integer(1, limits.TIME_LIMIT_S_MAX) for one in (deadline, earlier) if one is not None]
    draft = _container(pod, pods, processes, min(limits_s, default=None))
    draft.name = name
    if (selector := pod.take("nodeSelector")) is not None:
        _select(draft, selector)
    pod.take("restartPolicy")  # Never and OnFailure both mean: a job
    pod.done()
    return draft.request()


def _name(metadata: Place | None) -> str | None:
    if metadata is None:
        return None
    fields = metadata.fields()
    name, prefix = fields.take("name"), fields.take("generateName")
    fields.unused(_NOT_OURS, "namespace", "labels", "annotations")
    fields.done()
    return name.text() if name is not None else prefix.text().rstrip("-") or None if prefix is not None else None


def _pods(spec: Fields) -> tuple[int, int]:
    """How many at a time, and how many in all."""
    parallelism, completions = spec.take("parallelism"), spec.take("completions")
    together = parallelism.integer(1, limits.TASKS_MAX) if parallelism is not None else 1
    if completions is None:
        return together, together
    in_all = completions.integer(1, limits.TASKS_MAX)
    if in_all > together:
        completions.remark(
            f"the {in_all} pods become {in_all} processes that share the room of {together}"
            ", because the job has that all the time"
        )
    return min(together, in_all), in_all


def _container(pod: Fields, pods: int, processes: int, time_limit_s: float | None) -> Draft:
    containers = pod.need("containers")
    if len(containers.items()) != 1:
        raise containers.wrong(f"must be one container, and are {len(containers.items())}; a job runs one command")
    [place] = containers.items()
    fields = place.fields()
    image, cwd, env = fields.take("image"), fields.take("workingDir"), fields.take("env")
    command = command_of(fields.need("command", "; what an image runs by itself is not known here"))
    if (args := fields.take("args")) is not None:
        command += [one.text() for one in args.items()]
    if any("$(" in word for word in command):
        place.at("command").remark("has a $(VARIABLE), which is not replaced; write [sh, -c, …] and $VARIABLE")
    variables = _variables(env) if env is not None else {}
    room = _room(place, fields.take("resources"))
    fields.take("name")
    fields.done()
    slot = place.built(Resource, type="slot", count=pods, label=POD, children=room)
    count = TaskCount(total=processes) if processes != pods else TaskCount(per_slot=1)
    return Draft(
        containers,
        [Need(alternatives=[[slot]])],
        [place.built(Task, command=command, slot=POD, count=count)],
        surroundings=Surroundings(variables, cwd.text() if cwd is not None else None, time_limit_s),
        image=image.text() if image is not None else None,
    )


def _variables(place: Place) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for entry in place.items():
        fields = entry.fields()
        name, value = fields.need("name").text(), fields.take("value")
        if (source := fields.take("valueFrom")) is not None:
            source.remark(f"the variable {name} is not set: what it comes from is not known outside of Kubernetes")
        else:
            found |= environment_of(Place({name: entry.value["value"] if value else ""}, entry.path, entry.remarks))
        fields.done()
    return found


def _room(container: Place, place: Place | None) -> list[Resource]:
    """A request counts before a limit, as it does there."""
    wanted: dict[str, Place] = {}
    if place is not None:
        fields = place.fields()
        for part in ("limits", "requests"):
            if (amounts := fields.take(part)) is not None:
                wanted |= amounts.entries()
        fields.done()
    if "cpu" not in wanted:
        container.remark("asks for no cpu; one core for each pod is assumed")
    room = [Resource(type="core", count=_cores(wanted.pop("cpu", None)))]
    gpus = sum(_whole(wanted.pop(name)) for name in _GPUS if name in wanted)
    if gpus:
        room.append(container.built(Resource, type="gpu", count=gpus))
    if (memory := wanted.pop("memory", None)) is not None and (amount := ceil(quantity_of(memory))):
        room.append(Resource(type="memory", count=amount, unit="B"))
    for other in wanted.values():
        other.remark("is a resource that is not known here and was not asked for")
    return room


def _cores(place: Place | None) -> int:
    if place is None:
        return 1
    amount = quantity_of(place)
    cores = max(1, ceil(amount))
    if cores != amount:
        place.remark(f"becomes {cores} whole core{'s' if cores > 1 else ''}")
    return cores


def _whole(place: Place) -> int:
    amount = quantity_of(place)
    if amount.denominator != 1:
        raise place.wrong("must be a whole number")
    return int(amount)


def _select(draft: Draft, place: Place) -> None:
    """Labels become requirements; that of the host a constraint, for no description of a node repeats its name."""
    labels = place.entries()
    host = labels.pop(_HOSTNAME, None)
    conditions = [value.built(Condition, field=label, any_of=[value.text()]) for label, value in labels.items()]
    if conditions:
        draft.requires.append(place.built(Requirement, subsystem=NODE_LABELS, conditions=conditions))
    if host is not None:
        only = host.built(Constraint, op="hostlist", values=[_one_host(host)])
        others = [draft.constraint] if draft.constraint is not None else []
        draft.constraint = host.built(Constraint, op="and", args=[*others, only]) if others else only


def _one_host(place: Place) -> str:
    name = place.text()
    if not name or any(mark in "[]," or mark.isspace() for mark in name):
        raise place.wrong("must be the name of one host, with no brackets, commas or blanks in it")
    return name

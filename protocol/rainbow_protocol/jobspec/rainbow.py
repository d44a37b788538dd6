"""The earlier forms of Rainbow: resources named or listed, one `task` or several, subsystems beside the command."""

from typing import Any

from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest
from rainbow_protocol.jobspec.commands import NOTHING, Surroundings, command_of, for_the_whole_job
from rainbow_protocol.jobspec.counts import task_count_of
from rainbow_protocol.jobspec.flux import check_version
from rainbow_protocol.jobspec.place import Fields, Place
from rainbow_protocol.jobspec.pool import Pool, Requirements, Wanted, attributes_of, whole_node
from rainbow_protocol.jobspec.request import Draft
from rainbow_protocol.jobspec.requirements import TYPE, WORDS, Gathered, conditions_of, fields_of, value_condition
from rainbow_protocol.jobspec.trees import NEXTGEN, forest_of, slot_labels, slot_named
from rainbow_protocol.program import Task
from rainbow_protocol.resources import Requirement, Resource, Scalar

_WAYS = ("match", "range")


def read(place: Place) -> JobRequest:
    fields = place.fields()
    check_version(fields.need("version", "; write `version: 1`"))
    resources = fields.need("resources")
    pool = Pool()
    listed: list[Resource] | None = None
    if isinstance(resources.value, list):
        listed = [whole_node(one) for one in forest_of(resources, NEXTGEN)]
    else:
        pool.define_resources(resources)
    if (requires := fields.take("requires")) is not None:
        pool.define_requirements(requires)
    name, attributes = fields.take("name"), fields.take("attributes")
    reader = _Reader(pool, listed)
    tasks = [reader.task(one) for one in _tasks(fields)]
    job, parameters = _attributes(attributes)
    fields.done()
    needs, required = pool.needs()
    return Draft(
        place,
        needs,
        tasks,
        requires=required,
        surroundings=for_the_whole_job(place, job, reader.durations),
        name=name.text() if name is not None else None,
        parameters={**parameters, **reader.parameters},
    ).request()


def _tasks(fields: Fields) -> list[Place]:
    one, several = fields.take("task"), fields.take("tasks")
    if one is not None and several is not None:
        raise one.wrong("is there beside `tasks`; keep one of them")
    if one is not None and isinstance(one.value, list):
        raise one.wrong("is a list, and `task` is one alone; for several write `tasks`")
    found = [one] if one is not None else several.items() if several is not None else []
    if not found:
        raise fields.place.wrong("has no task")
    if len(found) > limits.PROGRAM_TASKS_MAX:
        raise fields.place.wrong(f"has more than {limits.PROGRAM_TASKS_MAX} tasks")
    return found


class _Reader:
    def __init__(self, pool: Pool, listed: list[Resource] | None) -> None:
        self.pool = pool
        self.listed = listed
        self.parameters: dict[str, Scalar] = {}
        self.durations: list[float | None] = []

    def task(self, place: Place) -> Task:
        fields = place.fields()
        name, command = fields.take("name"), command_of(fields.need("command"))
        slot, count = fields.take("slot"), fields.take("count")
        own, parameters = _attributes(fields.take("attributes"))
        self.parameters |= parameters
        named, required = self._resources(fields.take("resources"))
        options = [[*required, *more] for more in self.pool.requirements_of(fields.take("requires"))]
        fields.unused("how tasks are laid out is up to the cluster; not used", "distribution")
        fields.unused("are not written to files here; let the command read them from one", "scripts")
        fields.done()
        if self.listed is not None:
            forests, outer = [self.listed], NOTHING
        else:
            forests, outer, _ = self.pool.forests_of(named, place)
        around = own.within(outer)
        self.durations.append(around.time_limit_s)
        need = self.pool.want(Wanted(place, forests, options))
        return place.built(
            Task,
            name=name.text() if name is not None else None,
            command=command,
            need=need,
            slot=slot_named(slot, slot_labels(place, forests[0])) if slot is not None else None,
            count=task_count_of(count) if count is not None else None,
            env=around.env,
            cwd=around.cwd,
        )

    def _resources(self, place: Place | None) -> tuple[Place | None, Requirements]:
        """A name or a resource says where; an object of subsystems says what is required there."""
        if place is None:
            return None, []
        if isinstance(place.value, dict) and not isinstance(place.value.get("type"), str):
            return None, _subsystems(place)
        if self.listed is not None:
            place.remark("the resources are listed, not named; not used")
            return None, []
        return place, []


def _subsystems(place: Place) -> list[Requirement]:
    gathered = Gathered(place)
    for subsystem, wanted in place.entries().items():
        value = wanted.value
        if not isinstance(value, dict) or not any(isinstance(value.get(way), list) for way in _WAYS):
            _plain(subsystem, wanted, gathered)
            continue
        fields = wanted.fields()
        for way in _WAYS:
            if (entries := fields.take(way)) is not None:
                for entry in entries.one_or_many():
                    _entry(subsystem, entry, gathered)
        fields.done()
    return gathered.requirements()


def _plain(subsystem: str, place: Place, gathered: Gathered) -> None:
    """Each field with the value that it must have."""
    value = place.value
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for name, part in value.items():
            if isinstance(part, list) and any(isinstance(one, dict) for one in part):
                place.at(name).remark("is not a way of matching that is known (match, range); not used")
            else:
                kept[name] = part
        if value and not kept:
            return
        place = Place(kept, place.path, place.remarks)
    gathered.add(subsystem, fields_of(place))


def _entry(subsystem: str, place: Place, gathered: Gathered) -> None:
    """`{field: version, min: …}`, `{type: shm}`, or `shm`, which is a type."""
    if not isinstance(place.value, dict):
        gathered.add(subsystem, [value_condition(TYPE, place)])
    elif "field" in place.value or "attribute" in place.value or set(place.value) <= WORDS:
        gathered.add(subsystem, *conditions_of(place.fields()))
    else:
        gathered.add(subsystem, fields_of(place))


def _attributes(place: Place | None) -> tuple[Surroundings, dict[str, Scalar]]:
    if place is None:
        return NOTHING, {}
    fields = place.fields()
    found = fields.take("parameter", "parameters")
    parameters = {name: value.scalar() for name, value in found.entries().items()} if found is not None else {}
    rest = {name: value for name, value in place.value.items() if name not in ("parameter", "parameters")}
    return attributes_of(Place(rest, place.path, place.remarks)), parameters

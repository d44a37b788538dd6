"""Flux's jobspec: the canonical form (RFC 14) and version 1 (RFC 25), which is a part of it."""

from rainbow_protocol import limits
from rainbow_protocol.job import Dependency, JobRequest
from rainbow_protocol.jobspec.commands import NOTHING, Surroundings, command_of, environment_of, surroundings_of
from rainbow_protocol.jobspec.constraints import constraint_of
from rainbow_protocol.jobspec.counts import task_count_of
from rainbow_protocol.jobspec.place import Place
from rainbow_protocol.jobspec.request import Draft
from rainbow_protocol.jobspec.trees import FLUX, forest_of, slot_labels, slot_named
from rainbow_protocol.program import Task
from rainbow_protocol.resources import Need

_DRAFT_VERSION = 999  # of the RFC's use cases, which go beyond version 1


def read(place: Place) -> JobRequest:
    fields = place.fields()
    check_version(fields.need("version", "; write `version: 1`"))
    resources = fields.need("resources")
    forest = forest_of(resources, FLUX)
    labels = slot_labels(resources, forest)
    if not labels:
        raise resources.wrong("has no slot, so that no task has a place to run in")
    entries = fields.need("tasks")
    if not 1 <= len(entries.items()) <= limits.PROGRAM_TASKS_MAX:
        raise entries.wrong(f"must have at least one task and at most {limits.PROGRAM_TASKS_MAX}")
    tasks = [_task(one, labels) for one in entries.items()]
    draft = Draft(place, [resources.built(Need, alternatives=[forest])], tasks)
    if (attributes := fields.take("attributes")) is not None:
        read_attributes(attributes, draft)
    fields.done()
    return draft.request()


def check_version(place: Place) -> None:
    version = place.integer(0, 10**9)
    if version == _DRAFT_VERSION:
        place.remark("is that of drafts; it is read as version 1")
    elif version != 1:
        raise place.wrong("must be 1, the only version that is known")


def read_attributes(place: Place, draft: Draft) -> None:
    fields = place.fields()
    if (system := fields.take("system")) is not None:
        _system(system, draft)
    fields.unused("is for other programs, and does not travel with the job", "user")
    fields.done()


def _system(place: Place, draft: Draft) -> None:
    fields = place.fields()
    draft.surroundings = surroundings_of(fields).within(draft.surroundings)
    if (constraints := fields.take("constraints")) is not None:
        draft.constraint = constraint_of(constraints)
    if (dependencies := fields.take("dependencies")) is not None:
        draft.dependencies = [_dependency(one) for one in dependencies.items()]
    if (queue := fields.take("queue")) is not None:
        draft.queue = queue.text()
    if (job := fields.take("job")) is not None:
        parts = job.fields()
        if (name := parts.take("name")) is not None:
            draft.name = name.text()
        parts.done()
    if (shell := fields.take("shell")) is not None:
        shell.remark("options of the Flux shell do not travel with the job")
    fields.done()


def _dependency(place: Place) -> Dependency:
    """RFC 26 needs a scheme and a value; the older form has a type and a scope beside them."""
    fields = place.fields()
    parts = {"scheme": fields.need("scheme").text(), "value": fields.need("value").spelling()}
    for name in ("type", "scope"):
        if (part := fields.take(name)) is not None:
            parts[name] = part.text()
    fields.done()
    return place.built(Dependency, **parts)


def _task(place: Place, labels: list[str]) -> Task:
    fields = place.fields()
    command = command_of(fields.need("command"))
    slot = slot_named(fields.need("slot"), labels)
    count = task_count_of(fields.need("count"))
    within = _task_surroundings(fields.take("attributes"))
    fields.unused("how tasks are laid out is up to the cluster; not used", "distribution")
    fields.done()
    return place.built(Task, command=command, need=0, slot=slot, count=count, env=within.env, cwd=within.cwd)


def _task_surroundings(place: Place | None) -> Surroundings:
    if place is None:
        return NOTHING
    fields = place.fields()
    env = fields.take("environment")
    fields.done()
    return Surroundings(environment_of(env) if env is not None else {})

"""What the core has to know of a user's request, beside what the matcher makes of it."""

from typing import Any

from rainbow_protocol.job import JobRequest
from rainbowd.core.selection.base import Value
from rainbowd.core.state import Shape
from rainbowd.core.wishes import NO_WISHES, After, Wishes

_NOTHING_WISHED = type(JobRequest.model_fields["wishes"].default)()


def shape_of(request: JobRequest) -> Shape:
    asked = request.shape
    return Shape(
        asked.nodes, asked.tasks, asked.cores_per_task, asked.gpus_per_task, asked.time_limit_s, asked.exclusive
    )


def wishes_of(request: JobRequest) -> Wishes:
    told = request.wishes
    if told == _NOTHING_WISHED:
        return NO_WISHES
    return Wishes(
        policy=told.policy,
        options=dict(told.options),
        max_cost=told.max_cost,
        start_within_s=told.start_within_s,
        not_clusters=frozenset(told.not_clusters),
        group=told.group,
        urgency=told.urgency,
        move=told.move,
        after=tuple(After(one.job, one.until) for one in told.after),
    )


def facts_of(request: JobRequest) -> dict[str, Value]:
    """By the names that expressions use. What the user calls a parameter does not hide what the job asks for."""
    shape = request.shape
    known: dict[str, Any] = {
        "nodes": shape.nodes,
        "tasks": shape.tasks,
        "cores": shape.tasks * shape.cores_per_task,
        "cores_per_task": shape.cores_per_task,
        "gpus": shape.tasks * shape.gpus_per_task,
        "gpus_per_task": shape.gpus_per_task,
        "exclusive": shape.exclusive,
        "time_limit_s": shape.time_limit_s,
        "urgency": request.wishes.urgency,
    }
    told = {name: value for name, value in known.items() if value is not None}
    return {**request.parameters, **told}

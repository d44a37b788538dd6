"""What a cluster that counts only nodes, cores and gpus would have to set aside for a job.

Exact where the request is uniform. Elsewhere it is never less than what is needed, and may be more.
"""

from collections.abc import Sequence
from math import ceil

from pydantic import ValidationError

from rainbow_protocol.codec import describe
from rainbow_protocol.counting import part_of
from rainbow_protocol.job import Shape
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.resources import Need


def shape_of(needs: Sequence[Need], time_limit_s: float | None = None) -> Shape:
    parts = [part_of(need) for need in needs]
    # Needs are not held at the same time: the largest of each number is enough for any of them.
    nodes = max((part.nodes for part in parts if part.nodes is not None), default=None)
    if nodes is None:
        tasks = max(part.tasks for part in parts)
    else:
        anywhere = max((part.tasks for part in parts if part.nodes is None), default=0)
        tasks = nodes * max(ceil(anywhere / nodes), max(part.per_node for part in parts))
    try:
        return Shape(
            nodes=nodes,
            tasks=tasks,
            cores_per_task=max(1, *(part.cores for part in parts)),
            gpus_per_task=max(part.gpus for part in parts),
            exclusive=any(part.exclusive for part in parts),
            time_limit_s=time_limit_s,
        )
    except ValidationError as cause:
        raise JobspecError("resources", f"in all they are too many: {describe(cause)}") from None

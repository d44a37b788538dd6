"""What a job asks beyond its shape, and why plain processes of one machine cannot give it that."""

from rainbow_agent.backends.constraints import allowed
from rainbow_agent.backends.launching import NO_IMAGES, LocalSettings, check
from rainbow_agent.backends.own_nodes import properties
from rainbow_protocol.job import JobRequest
from rainbow_protocol.limits import REASON_CHARS_MAX
from rainbow_protocol.messages.agent import Offer
from rainbow_protocol.resources import Constraint


def objection(asked: Offer | JobRequest, settings: LocalSettings) -> str | None:
    words = _objection(asked, settings)
    return None if words is None else words[:REASON_CHARS_MAX]


def _objection(asked: Offer | JobRequest, settings: LocalSettings) -> str | None:
    if asked.queue is not None and asked.queue not in settings.queues:
        known = f"its queues are {', '.join(settings.queues)}" if settings.queues else "this cluster has no queues"
        return f"there is no queue {asked.queue!r}: {known}"
    if asked.image and not settings.runs_images:
        return NO_IMAGES
    if asked.dependencies:
        return "this cluster runs plain processes and cannot make one job wait for another"
    if asked.constraint is not None and (words := _why_not_there(asked.constraint, settings)) is not None:
        return words
    if isinstance(asked, JobRequest):
        try:
            check(asked)
        except ValueError as cause:
            return str(cause)
    return None


def _why_not_there(constraint: Constraint, settings: LocalSettings) -> str | None:
    """The plan knows only how much a node has, not which node it is: a constraint must hold for all of them."""
    if settings.nodes_json is not None:
        return "this cluster runs plain processes and cannot keep a job to some of the nodes that nodes_json names"
    nodes = settings.totals.nodes
    fit = len(allowed(constraint, nodes, properties(settings)))
    if fit < nodes:
        return f"cannot keep a job to some nodes: the constraint holds for {fit} of {nodes}"
    return None

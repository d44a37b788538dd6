"""From a text to a request: which form it has, and the reader of that form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rainbow_protocol.job import JobRequest
from rainbow_protocol.jobspec import flux, kubernetes, nextgen, rainbow
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.jobspec.place import Place, Remarks
from rainbow_protocol.jobspec.text import document_of

_READERS: dict[str, Callable[[Place], JobRequest]] = {
    "flux": flux.read,
    "nextgen": nextgen.read,
    "rainbow": rainbow.read,
    "kubernetes": kubernetes.read,
}
FORMATS = tuple(_READERS)
_NAME_IT = f"say which with --format: {', '.join(FORMATS)}"


@dataclass(frozen=True, slots=True)
class Reading:
    """`warnings` tell, by path, what of the document was not used or is not quite what it says."""

    request: JobRequest
    format: str
    warnings: tuple[str, ...]


def read(text: str, *, format: str | None = None, name: str = "") -> Reading:  # noqa: A002 - the word that people know it by
    """The job that a YAML or JSON document describes. `name` is that of the file, if it has one.

    Raises JobspecError, and nothing else, for whatever is not a job.
    """
    if format is not None and format not in _READERS:
        raise JobspecError("", f"{format!r} is not a format; there are: {', '.join(FORMATS)}")
    document = document_of(text, name)
    if text.startswith("#!") and not isinstance(document, dict):
        raise JobspecError("", "is a script, not a jobspec; submit it as a command: rainbow submit sh FILE")
    chosen = format or recognise(document)
    remarks = Remarks()
    request = _READERS[chosen](Place(document, "", remarks))
    return Reading(request, chosen, remarks.lines())


def recognise(document: Any) -> str:
    """The form that a document has, by what only that form has."""
    if not isinstance(document, dict):
        raise JobspecError("", "is not a jobspec, which is an object with resources and tasks")
    if "apiVersion" in document or "kind" in document:
        if "tasks" in document or "task" in document:
            raise JobspecError("", f"has the keys of a Kubernetes object and those of a jobspec; {_NAME_IT}")
        return "kubernetes"
    resources = document.get("resources")
    if not isinstance(resources, dict | list):
        if "graph" in document or "execution" in document:
            raise JobspecError("", "describes a cluster, not a job; hand it over with `rainbow register`")
        raise JobspecError("", f"is in no form that is known: it has no resources; {_NAME_IT}")
    earlier = _has_earlier_words(document, resources)
    if isinstance(resources, list):
        if "groups" in document:
            raise JobspecError("", f"lists its resources as Flux does, and has groups, which Flux has not; {_NAME_IT}")
        return "rainbow" if earlier else "flux"
    if _has_later_words(document):
        if "task" in document:
            raise JobspecError("", f"has both `task` and what only came later, such as groups; {_NAME_IT}")
        return "nextgen"
    return "rainbow" if earlier else "nextgen"


def _has_later_words(document: dict[str, Any]) -> bool:
    tasks = document.get("tasks")
    return "groups" in document or any(
        isinstance(task, dict) and ({"group", "depends_on", "replicas"} & task.keys())
        for task in (tasks if isinstance(tasks, list) else [])
    )


def _has_earlier_words(document: dict[str, Any], resources: dict[str, Any] | list[Any]) -> bool:
    tasks = document.get("tasks")
    attributes = document.get("attributes")
    entries = resources.values() if isinstance(resources, dict) else resources
    return (
        "task" in document
        or (isinstance(attributes, dict) and "parameter" in attributes)
        or any(isinstance(one, dict) and "replicas" in one for one in entries)
        or (isinstance(resources, list) and _anywhere(resources, "requires"))
        or any(
            isinstance(task, dict) and isinstance(task.get("resources"), dict) and "type" not in task["resources"]
            for task in (tasks if isinstance(tasks, list) else [])
        )
    )


def _anywhere(value: Any, key: str) -> bool:
    if isinstance(value, dict):
        return key in value or any(_anywhere(part, key) for part in value.values())
    return isinstance(value, list) and any(_anywhere(part, key) for part in value)

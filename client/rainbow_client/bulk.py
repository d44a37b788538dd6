"""Many jobs in one file: JSON lines, each a simple object, a whole request, or a jobspec.

All lines are read before anything is sent, so that a mistake in the last one can stop the first. What is wrong is
gathered with the number of its line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, BinaryIO

import orjson
from pydantic import ValidationError

from rainbow_client.arrays import read_array
from rainbow_client.duration import parse_duration_s
from rainbow_client.errors import InvalidRequest
from rainbow_client.requests import invalid, read_jobspec
from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.messages.client import Array
from rainbow_protocol.wishes import Wishes

BULK_LINES_MAX = 100_000
BULK_BYTES_MAX = 256 * 1024 * 1024
_LINE_BYTES_MAX = limits.FRAME_BYTES_MAX
_COUNTS = ("nodes", "tasks", "cores_per_task", "gpus_per_task", "time_limit_s")
_BESIDE = ("key", "array", "time_limit")
_FIELDS = frozenset((*JobRequest.model_fields, *_COUNTS, *_BESIDE))
_PARTS = {"wishes": frozenset(Wishes.model_fields), "shape": frozenset(Shape.model_fields)}
_OF_JOBSPECS = ("resources", "apiVersion", "kind")


@dataclass(frozen=True, slots=True)
class BulkJob:
    line: int
    request: JobRequest
    key: str | None = None
    array: Array | None = None
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Bulk:
    jobs: list[BulkJob] = field(default_factory=list)
    mistakes: dict[int, InvalidRequest] = field(default_factory=dict)  # by the number of the line


def read_bulk(lines: BinaryIO, change: Callable[[JobRequest], JobRequest] = lambda request: request) -> Bulk:
    """Every line of the file; `change` is what the command line says about all of them. Empty lines are passed over."""
    bulk, read_bytes, number = Bulk(), 0, 0
    while line := lines.readline(_LINE_BYTES_MAX + 1):
        number += 1
        read_bytes += len(line)
        if number > BULK_LINES_MAX or read_bytes > BULK_BYTES_MAX:
            raise InvalidRequest(
                f"more than {BULK_LINES_MAX:,} lines or {BULK_BYTES_MAX:,} bytes are too much to submit at once",
                "Cut the file, or make an array of jobs that are alike.",
            )
        if not line.strip():
            continue
        if len(line) > _LINE_BYTES_MAX:  # the rest of it would be taken for a line of its own
            raise InvalidRequest(
                f"line {number} is longer than a job may be", "Put long input into a file that the job reads."
            )
        try:
            bulk.jobs.append(_job(number, line, change))
        except InvalidRequest as mistake:
            bulk.mistakes[number] = mistake
    return bulk


def _job(number: int, line: bytes, change: Callable[[JobRequest], JobRequest]) -> BulkJob:
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as cause:
        raise InvalidRequest(f"is not JSON: {cause.msg} at character {cause.pos}", "Write one object a line.") from None
    if not isinstance(document, dict):
        raise InvalidRequest("is not an object", 'Write one object a line, such as {"command": ["hostname"]}.')
    if "command" not in document or any(key in document for key in _OF_JOBSPECS):
        reading = read_jobspec(line.decode())
        return BulkJob(number, change(reading.request), warnings=reading.warnings)
    request, key, array = _simple(document)
    return BulkJob(number, change(request), key, array)


def _simple(document: Mapping[str, Any]) -> tuple[JobRequest, str | None, Array | None]:
    """A request as `validate --json` prints it, in which the counts may stand beside the command."""
    unknown = [key for key in document if key not in _FIELDS]
    if unknown:
        raise InvalidRequest(f"{unknown[0][:64]!r} is not known", f"Known are: {', '.join(sorted(_FIELDS))}.")
    for part, known in _PARTS.items():
        inside = document.get(part)
        if isinstance(inside, dict) and (strange := [key for key in inside if key not in known]):
            near = get_close_matches(str(strange[0]), known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(sorted(known))}."
            raise InvalidRequest(f"{part}.{str(strange[0])[:64]}: is not known", hint)
    parts = {key: value for key, value in document.items() if value is not None}
    counts = {key: parts.pop(key) for key in _COUNTS if key in parts}
    key, array, limit = (parts.pop(name, None) for name in _BESIDE)
    if limit is not None:
        counts["time_limit_s"] = parse_duration_s(str(limit))
    if counts:
        if "shape" in parts:
            raise InvalidRequest(f"{next(iter(counts))!r} stands beside a shape, which says it, too", "Leave out one.")
        parts["shape"] = {"tasks": counts.get("nodes", 1), **counts}
    if not isinstance(key, str | None) or (key is not None and not 0 < len(key) <= limits.KEY_CHARS_MAX):
        raise InvalidRequest(f"key: must be a text of 1 to {limits.KEY_CHARS_MAX} characters", "Correct it.")
    if not isinstance(array, str | None):
        raise InvalidRequest("array: must be a text", 'Write it as "1-1000%50".')
    try:
        request = JobRequest.model_validate(parts)
    except ValidationError as cause:
        raise invalid(cause) from None
    return request, key, None if array is None else read_array(array)

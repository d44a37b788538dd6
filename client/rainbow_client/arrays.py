"""Arrays as people write them: `1-1000%50` when they are made, `ARRAY`, `ARRAY[7]` or `ARRAY_7` when they are named."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from rainbow_client.errors import InvalidRequest
from rainbow_client.requests import invalid, job_ids
from rainbow_protocol import limits
from rainbow_protocol.indices import IndicesError
from rainbow_protocol.indices import indices as indices_of
from rainbow_protocol.messages.client import Array

FORMS = "Indices as in 1-1000, 1-9:2 (every second one), 3,5,17; %50 at the end: no more than 50 at once."
_MEMBER = re.compile(r"(.+?)(?:_(\d{1,10})|\[(\d{1,10})\])", re.ASCII)


@dataclass(frozen=True, slots=True)
class JobName:
    """A job or a whole array by its id; with an index, that member of the array."""

    id: str
    index: int | None = None

    def __str__(self) -> str:
        return self.id if self.index is None else f"{self.id}_{self.index}"


def read_array(text: str) -> Array:
    """What cannot be meant is told here: the daemon would say the same, only later."""
    indices, percent, at_once = text.replace(" ", "").partition("%")
    if len(indices) > limits.ARRAY_TEXT_CHARS_MAX:
        raise InvalidRequest(f"an array's indices take at most {limits.ARRAY_TEXT_CHARS_MAX} characters", FORMS)
    try:
        indices_of(indices)
    except IndicesError as mistake:
        raise InvalidRequest(f"array: {mistake}", FORMS) from None
    if percent and not (at_once.isascii() and at_once.isdecimal() and len(at_once) <= 10):
        raise InvalidRequest(f"%{at_once[:16]} does not say how many may run at once", FORMS)
    try:
        return Array(indices=indices, at_once=int(at_once) if percent else None)
    except ValidationError as cause:
        raise invalid(cause, FORMS) from None


def job_names(names: str | Iterable[str]) -> list[JobName]:
    """Each name once, in the order given; what cannot be the name of a job is an error here."""
    found: dict[JobName, None] = {}
    for text in [names] if isinstance(names, str) else names:
        member = _MEMBER.fullmatch(text.strip())
        [job] = job_ids(member[1] if member else text)
        found[JobName(job, int(member[2] or member[3]) if member else None)] = None
    if not found:
        job_ids([])  # says that nothing was named
    return list(found)

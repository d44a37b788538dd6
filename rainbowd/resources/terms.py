"""What an offer tells of a request beyond its shape: ready to be sent to however many clusters are asked."""

from functools import lru_cache

import orjson

from rainbow_protocol.job import JobRequest

SHARED_BYTES_MAX = 16 * 1024  # longer ones are rare, and thousands of them would be a lot of memory
_TOLD = {"needs", "requires", "constraint", "queue"}


def terms_of(request: JobRequest) -> bytes:
    """A JSON object, or nothing at all if the shape says it all, as it does for most jobs."""
    beyond = (request.needs, request.requires, request.constraint, request.queue, request.image, request.dependencies)
    if not any(beyond):
        return b""
    terms = request.model_dump(include=_TOLD, exclude_defaults=True)
    if request.image is not None:
        terms["image"] = True
    if request.dependencies:
        terms["dependencies"] = True
    told = orjson.dumps(terms) if terms else b""
    return _shared(told) if len(told) <= SHARED_BYTES_MAX else told


@lru_cache(maxsize=4_096)
def _shared(terms: bytes) -> bytes:
    """Thousands of jobs that ask for the same keep one copy."""
    return terms

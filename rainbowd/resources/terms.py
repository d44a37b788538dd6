"""What an offer tells of a request beyond its shape: ready to be sent to however many clusters are asked."""

from functools import lru_cache

import orjson

from rainbow_protocol.job import JobRequest

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
    return _shared(orjson.dumps(terms)) if terms else b""


@lru_cache(maxsize=4_096)
def _shared(terms: bytes) -> bytes:
    """Thousands of jobs that ask for the same keep one copy."""
    return terms

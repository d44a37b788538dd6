"""The indices of an array, as people write them: `1-1000`, `1-9:2,17`."""

import re

from rainbow_protocol import limits

_PART = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10})(?::([0-9]{1,10}))?)?")


class IndicesError(ValueError):
    """The text names no indices; the message says why."""


def indices(text: str) -> list[int]:
    """In order, each once. At most as many as an array may have members."""
    ranges: list[range] = []
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise IndicesError(f"{part[:40]!r} is not an index or a range such as 1-9 or 1-9:2")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step == 0:
            raise IndicesError(f"{part[:40]!r} names no index")
        if last > limits.ARRAY_INDEX_MAX:
            raise IndicesError(f"indices go up to {limits.ARRAY_INDEX_MAX}")
        ranges.append(range(first, last + 1, step))
    # Before any of them is written out: a short text may name very many.
    if sum(map(len, ranges)) > limits.ARRAY_JOBS_MAX:
        raise IndicesError(f"an array may have at most {limits.ARRAY_JOBS_MAX:,} jobs")
    return sorted({index for one in ranges for index in one})

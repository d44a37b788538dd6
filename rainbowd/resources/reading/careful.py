"""The slow look at JSON, for when the quick one found something odd: names what is wrong with it."""

import json
from collections import Counter
from typing import Any

from rainbowd.resources.reading.words import refused, shown


def loads(piece: bytes) -> Any:
    """Reads NaN and numbers of any length too, so that their vertex can be named, and refuses equal keys.

    Quick decoders keep the last of two equal keys, and tell nobody.
    """
    try:
        return json.loads(piece, object_pairs_hook=_without_equal_keys)
    except (ValueError, RecursionError) as error:
        raise refused(f"the document is not valid JSON: {error}") from error


def _without_equal_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise refused(f"the key {shown(twice)} stands twice in one object; every vertex needs an id of its own")
    return made

"""What events say, read with care: a newer daemon may say more, and a cluster may say anything."""

import re
from collections.abc import Mapping
from typing import Any

from rainbow_client.duration import format_duration
from rainbow_client.printable import printable
from rainbow_client.wording import number, reason_words
from rainbow_protocol.messages.client import Event

Data = Mapping[str, Any]
_SECONDS = re.compile(r"(?<![\w.])(\d{1,12}(?:\.\d{1,6})?) s\b")


def items(event: Event, key: str) -> list[Data]:
    found = event.data.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def cluster_of(data: Data, key: str = "cluster") -> str:
    return printable(str(data.get(key) or "?"))


def place_of(event: Event) -> tuple[int, int]:
    """The attempt and the round that an event belongs to."""
    return int(number(event.data.get("attempt")) or 0), int(number(event.data.get("round")) or 0)


def why_words(event: Event, winner: str) -> str:
    """The daemon's reason begins with the winner's name; so does the sentence it goes into."""
    words = with_units(reason_words(event.data, "why") or reason_words(event.data))
    bare = words.removeprefix(f"{winner} ")
    return words if bare.startswith("(") else bare


def with_units(words: str) -> str:
    """`2400 s`, as the daemon counts, as people read it: `40m`."""
    return _SECONDS.sub(lambda found: format_duration(float(found[1])), words)

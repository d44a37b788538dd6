"""Job ids: twelve characters that sort by time, and secrets that say what they are for.

An id is 41 bits of milliseconds since 2024 and 19 bits that are random per
millisecond, in Crockford's base 32. Ids from a database restored out of an old
backup never meet ids already handed to a cluster, as a counter's would.
"""

import re
import secrets
from typing import Final

from rainbow_protocol.limits import JOB_ID_CHARS

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH_MS: Final = 1_704_067_200_000  # 2024-01-01T00:00:00Z
_RANDOM_BITS: Final = 19
JOB_ID_PATTERN: Final = rf"^[{_ALPHABET}]{{{JOB_ID_CHARS}}}$"
_JOB_ID: Final = re.compile(JOB_ID_PATTERN)

REGISTRATION_PREFIX: Final = "rbr_"
SECRET_PREFIX: Final = "rbs_"  # noqa: S105 - a prefix, not a secret
TOKEN_PREFIX: Final = "rbt_"  # noqa: S105 - a prefix, not a secret


class JobIds:
    """Makes ids that only ever grow, even within one millisecond or when the clock steps back.

    `newest` is the last id handed out before, if any: a restart does not go back behind it either.
    """

    def __init__(self, newest: str | None = None) -> None:
        self._last = _decode(newest) if newest else 0

    def next(self, now_s: float) -> str:
        stamp = max(0, int(now_s * 1000) - _EPOCH_MS)
        fresh = (stamp << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        self._last = max(self._last + 1, fresh)
        return _encode(self._last)


def is_job_id(text: str) -> bool:
    return _JOB_ID.fullmatch(text) is not None


def new_secret(prefix: str) -> str:
    """256 random bits, with a prefix that tells a person (and a secret scanner) what it is."""
    return prefix + secrets.token_urlsafe(32)


def _encode(value: int) -> str:
    characters = []
    for _ in range(JOB_ID_CHARS):
        characters.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(characters))


def _decode(text: str) -> int:
    value = 0
    for character in text:
        value = value << 5 | _ALPHABET.index(character)
    return value

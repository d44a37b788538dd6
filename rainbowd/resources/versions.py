"""Versions as software really writes them, put in order: 1.9 < 1.10, 1.0rc1 < 1.0, 9.4.0-1ubuntu1~20.04.

The order is Debian's (numbers count as numbers, `~` comes before the end), with two additions: a pre-release comes
before its release, and missing parts are zeros. There is no one scheme, so no library for one scheme would do.
"""

import re
from functools import lru_cache

_PARTS = re.compile(r"[0-9]+|[A-Za-z]+|~")
_EPOCH = re.compile(r"([0-9]{1,9}):(.*)", re.DOTALL)
_BEFORE_RELEASE = frozenset({"dev", "a", "alpha", "b", "beta", "c", "rc", "pre", "preview", "snapshot", "nightly"})
# What a part sorts by: `~`, then a pre-release, then the end (a zero is as good as that), then words, then numbers.
_TILDE, _PRE, _END, _WORD, _NUMBER = range(5)

Key = tuple[tuple[int, int, str], ...]


@lru_cache(maxsize=4096)
def version_key(text: str) -> tuple[int, Key, Key]:
    """Epoch, version, packaging revision: compare these."""
    epoch, version, revision = split(text)
    return epoch, _key(version), _key(revision)


def split(text: str) -> tuple[int, str, str]:
    text = text.strip().lower().removeprefix("v")
    with_epoch = _EPOCH.fullmatch(text)
    epoch, version = (int(with_epoch[1]), with_epoch[2]) if with_epoch else (0, text)
    base, dash, revision = version.partition("-")
    # 1.0.0-rc1 is a pre-release, 9.4.0-1ubuntu1 a packaging of 9.4.0.
    first = _PARTS.match(revision)
    if dash and first and first.group() in _BEFORE_RELEASE:
        return epoch, version, ""
    return epoch, base, revision


def within(version: str, low: str | None, high: str | None) -> bool:
    """Both ends inclusive. A bound that names no packaging revision is about the version alone."""
    return (low is None or compare(version, low) >= 0) and (high is None or compare(version, high) <= 0)


def compare(version: str, bound: str) -> int:
    """-1, 0 or 1. The bound's precision decides whether packaging revisions count."""
    mine, other = version_key(version), version_key(bound)
    if not split(bound)[2]:
        mine, other = (mine[0], mine[1], ()), (other[0], other[1], ())
    return (mine > other) - (mine < other)


def _key(text: str) -> Key:
    found = _PARTS.findall(text)
    parts: list[tuple[int, int, str]] = []
    for index, part in enumerate(found):
        following = found[index + 1] if index + 1 < len(found) else ""
        if part.isdigit():
            number = int(part[:18])
            parts.append((_NUMBER, number, "") if number else (_END, 0, ""))
            continue
        # 1.0a1 comes before 1.0, but 1.0.2k after 1.0.2.
        before = part in _BEFORE_RELEASE and (len(part) > 1 or following.isdigit())
        if part == "~" or before:
            _drop_zeros(parts)
        parts.append((_TILDE, 0, "") if part == "~" else (_PRE if before else _WORD, 0, part))
    _drop_zeros(parts)
    return (*parts, (_END, 0, ""))


def _drop_zeros(parts: list[tuple[int, int, str]]) -> None:
    """Zeros at the end say nothing: 9.4 is 9.4.0, and 1.0rc1 is 1rc1."""
    while parts and parts[-1][0] == _END:
        parts.pop()

"""What YAML and JSON change: `20.10` is the number 20.1, and `yes` is true. The text is kept beside the value.

Also how the way to a value is written, in a bounded number of characters.
"""

from typing import Any, NamedTuple

from rainbow_protocol.limits import MISTAKE_PATH_CHARS_MAX

_KEY_CHARS_MAX = 80  # of one key in a path


class Spelled(NamedTuple):
    """A value that no longer looks as it was written. A Place takes it apart, so that readers see the value alone."""

    value: bool | int | float
    text: str


def spelled(value: Any, text: str) -> Any:
    """The value itself where it would be written in the same way again."""
    same = text.lower() == str(value).lower() if isinstance(value, bool) else text == str(value)
    return value if same else Spelled(value, text)


def path_to(path: str, step: str | int) -> str:
    """One step further. What is longer than will be shown is not made: a document may have a key of 500 KB."""
    if len(path) > MISTAKE_PATH_CHARS_MAX:
        return path
    if isinstance(step, int):
        return f"{path}[{step}]"
    if len(step) > _KEY_CHARS_MAX:
        step = f"{step[: _KEY_CHARS_MAX - 1]}…"
    return f"{path}.{step}" if path else step

"""Wishes as people write them, made into what the protocol carries: options of policies, jobs to wait for."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from rainbow_client.arrays import JobName, job_names
from rainbow_client.errors import InvalidRequest
from rainbow_client.requests import invalid, with_changes
from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest
from rainbow_protocol.wishes import After, Wishes

Value = bool | int | float | str
Until = Literal["start", "ok", "any"]
_WORDS: Mapping[str, Value] = {"true": True, "yes": True, "false": False, "no": False}
_KEY_VALUE = "Write it as KEY=VALUE, such as threshold_s=300."
_NUMBER_CHARS_MAX = 32


def read_value(text: str) -> Value:
    """`3` and `0.5` are numbers, `true` and `no` are truth values; anything else is a text. '"3"' is the text 3."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if len(text) > _NUMBER_CHARS_MAX or "_" in text:  # Python reads 1_000 as a number; people do not
        return text
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        # JSON has no infinity, and what is beyond this is not exact in every reader of it.
        return number if abs(number) <= limits.RESOURCE_NUMBER_MAX else text
    return text


def read_pair(pair: str, *, files: bool = False) -> tuple[str, Value]:
    """`K=V`; with `files`, `K=@FILE` reads the value from there, as text."""
    key, equals, text = pair.partition("=")
    if not key.strip() or not equals:
        raise InvalidRequest(f"{pair[:80]!r} is not of the form KEY=VALUE", _KEY_VALUE)
    if files and text.startswith("@"):
        return key.strip(), _of_file(Path(text[1:]))
    return key.strip(), read_value(text)


def read_pairs(pairs: Iterable[str], *, files: bool = False) -> dict[str, Value]:
    return dict(read_pair(pair, files=files) for pair in pairs)


def after_jobs(
    names: Mapping[Until, Iterable[str]], ids_of: Callable[[list[JobName]], Mapping[JobName, str]]
) -> list[After]:
    """Jobs that must have got so far before this one is offered. `ids_of` tells which job a member of an array is."""
    wanted = {until: job_names(several) for until, several in names.items() if several}
    members = [name for several in wanted.values() for name in several if name.index is not None]
    known = ids_of(members) if members else {}
    return [After(job=known.get(name, name.id), until=until) for until, several in wanted.items() for name in several]


def with_wishes(request: JobRequest, changes: Mapping[str, Any]) -> JobRequest:
    """The same job with some of its wishes replaced; options of the same policy are added to, key by key."""
    changes = {name: value for name, value in changes.items() if value is not None}
    if not changes:
        return request
    known = dict(request.wishes)
    if "options" in changes and changes.get("policy", known["policy"]) == known["policy"]:
        changes["options"] = {**known["options"], **changes["options"]}
    elif "policy" in changes and changes["policy"] != known["policy"]:
        known["options"] = {}  # those of another policy mean nothing to this one
    try:
        wishes = Wishes.model_validate({**known, **changes})
    except ValidationError as cause:
        raise invalid(cause) from None
    return with_changes(request, wishes=wishes)


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(4 * limits.POLICY_OPTION_CHARS_MAX + 1)
        text = data.decode("utf-8-sig")
    except OSError as cause:
        words = (cause.strerror or str(cause)).lower()
        raise InvalidRequest(f"{path}: cannot be read: {words}", "Name a file after the @.") from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path}: is not a text in UTF-8", "Name a text file after the @.") from None
    if len(text) > limits.POLICY_OPTION_CHARS_MAX:
        raise InvalidRequest(
            f"{path}: has more than {limits.POLICY_OPTION_CHARS_MAX} characters", "Shorten what the policy is to do."
        )
    return text

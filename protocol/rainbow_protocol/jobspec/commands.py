"""What is run, and in which surroundings: words, variables, directory and time."""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from rainbow_protocol import limits
from rainbow_protocol.jobspec.place import Fields, Place

_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h|d)?$")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}
_OF_A_SHELL = re.compile(r"[|&;<>`]|\$\(")


ENVIRONMENTS = ("environment", "env")


class Surroundings(NamedTuple):
    """`env` with null for what is to be unset; a time of 0 in a document means no limit, here None."""

    env: dict[str, str | None]
    cwd: str | None = None
    time_limit_s: float | None = None

    def within(self, outer: "Surroundings") -> "Surroundings":
        """What counts where both are said: the inner."""
        env = {**outer.env, **self.env}
        return Surroundings(env, self.cwd or outer.cwd, self.time_limit_s or outer.time_limit_s)


NOTHING = Surroundings({})


def command_of(place: Place) -> list[str]:
    """A list is taken word by word, a text is cut into words as a shell would, but no shell runs it."""
    if isinstance(place.value, list):
        words = [word.text() for word in place.items()]
    else:
        text = place.text()
        try:
            words = shlex.split(text)
        except ValueError as cause:
            raise place.wrong(f"cannot be cut into words: {str(cause).lower()}; write it as a list") from None
        if _OF_A_SHELL.search(text):
            place.remark("is run without a shell; for a shell write [sh, -c, the text]")
    if not words or not words[0]:
        raise place.wrong("must have a first word, which is what is run")
    if len(words) > limits.COMMAND_WORDS_MAX:
        raise place.wrong(f"has more than {limits.COMMAND_WORDS_MAX} words")
    return words


def environment_of(place: Place) -> dict[str, str | None]:
    return {name: _variable(value) for name, value in place.entries().items()}


def _variable(place: Place) -> str | None:
    if place.value is None or isinstance(place.value, str):
        return place.value
    if type(place.value) is int:
        return place.spelling()
    raise place.wrong("must be a text; write it in quotes, so that it is plain what the variable will be")


def duration_of(place: Place) -> float | None:
    """Seconds, or a text with a unit as Flux has it: 300s, 1.5h."""
    if isinstance(place.value, str):
        match = _DURATION.match(place.value)
        if match is None:
            raise place.wrong(f"{place.value[:40]!r} is not a time; write seconds, or 90s, 5m, 1.5h, 2d")
        seconds = float(match[1]) * _UNIT_S[match[2]]
        if seconds > limits.TIME_LIMIT_S_MAX:
            raise place.wrong(f"must be at most {limits.TIME_LIMIT_S_MAX} seconds")
    else:
        seconds = place.number(0, limits.TIME_LIMIT_S_MAX)
    return seconds or None


def surroundings_of(fields: Fields) -> Surroundings:
    """The three attributes that every form has under the same names."""
    env, cwd, duration = fields.take(*ENVIRONMENTS), fields.take("cwd"), fields.take("duration")
    return Surroundings(
        environment_of(env) if env is not None else {},
        cwd.text() if cwd is not None else None,
        duration_of(duration) if duration is not None else None,
    )


def for_the_whole_job(place: Place, job: Surroundings, durations: Sequence[float | None]) -> Surroundings:
    """With the time that all may take: what the document says of the job, or else of its parts, one after another."""
    limit_s = job.time_limit_s
    if limit_s is None and durations and None not in durations:
        limit_s = sum(one for one in durations if one is not None)
        if len(durations) > 1:
            place.remark(f"the time limits of its parts make {limit_s:g} seconds for the whole job")
    elif limit_s is None and any(durations):
        place.remark("some of its parts have a time limit and others not, so the whole job has none")
    if limit_s is not None and limit_s > limits.TIME_LIMIT_S_MAX:
        raise place.wrong(f"its time limits make more than {limits.TIME_LIMIT_S_MAX} seconds")
    return Surroundings(job.env, job.cwd, limit_s)


def without_unset(env: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in env.items() if value is not None}

"""A value of a document together with the path to it, so that every mistake and every remark can say where."""

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rainbow_protocol import limits
from rainbow_protocol.codec import describe
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.jobspec.spelling import Spelled, path_to
from rainbow_protocol.wire import one_line

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

_NAME_CHARS_MAX = 40  # of a name that may be a mistyped one
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


@dataclass(slots=True)
class Remarks:
    """What a document says that is not used, by path. The first so many; the rest are counted."""

    kept: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, path: str, words: str) -> None:
        line = f"{one_line(path)[: limits.MISTAKE_PATH_CHARS_MAX]}: {words}" if path else words
        if line in self.kept:
            return
        if len(self.kept) < limits.JOBSPEC_REMARKS_MAX:
            self.kept.append(line)
        else:
            self.more += 1

    def lines(self) -> tuple[str, ...]:
        return (*self.kept, *([f"and {self.more} more remarks"] if self.more else []))


@dataclass(frozen=True, slots=True)
class Place:
    value: Any
    path: str
    remarks: Remarks
    written: str | None = None  # the text of a number or of true and false, if it was written in another way

    def __post_init__(self) -> None:
        if isinstance(self.value, Spelled):
            object.__setattr__(self, "written", self.value.text)
            object.__setattr__(self, "value", self.value.value)

    def wrong(self, message: str) -> JobspecError:
        return JobspecError(self.path, message)

    def remark(self, words: str) -> None:
        self.remarks.add(self.path, words)

    def at(self, key: str) -> "Place":
        """Into an object, which the caller knows this to be."""
        return Place(self.value[key], path_to(self.path, key), self.remarks)

    def _expected(self, what: str, advice: str = "") -> JobspecError:
        found = "nothing" if self.value is None else _KINDS.get(type(self.value), "something else")
        return self.wrong(f"must be {what}, and is {found}{advice}")

    def fields(self) -> "Fields":
        if not isinstance(self.value, dict):
            raise self._expected("an object")
        return Fields(self)

    def items(self) -> list["Place"]:
        if not isinstance(self.value, list):
            raise self._expected("a list")
        return [Place(value, path_to(self.path, index), self.remarks) for index, value in enumerate(self.value)]

    def one_or_many(self) -> list["Place"]:
        return self.items() if isinstance(self.value, list) else [self]

    def entries(self) -> dict[str, "Place"]:
        """Of an object whose names are the document's own."""
        if not isinstance(self.value, dict):
            raise self._expected("an object")
        return {key: self.at(key) for key in self.value}

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._expected("a text", "; write it in quotes" if type(self.value) in (bool, int, float) else "")
        return self.value

    def spelling(self) -> str:
        """Of a scalar, as it was written: `1.10` and not 1.1."""
        return self.written if self.written is not None else str(self.scalar())

    def integer(self, least: int, most: int) -> int:
        if type(self.value) is not int:
            digits = isinstance(self.value, str) and self.value.isdecimal()
            raise self._expected("a whole number", "; write it without quotes" if digits else "")
        if not least <= self.value <= most:
            raise self.wrong(f"must be {f'at least {least}' if self.value < least else f'at most {most}'}")
        return self.value

    def number(self, least: float, most: float) -> float:
        if type(self.value) not in (int, float):
            raise self._expected("a number")
        if not least <= self.value <= most:  # which no nan is, and no infinity
            raise self.wrong(f"must be between {least:g} and {most:g}")
        return float(self.value)

    def boolean(self) -> bool:
        if type(self.value) is not bool:
            raise self._expected("true or false")
        return self.value

    def scalar(self) -> bool | int | float | str:
        if type(self.value) not in (bool, int, float, str):
            raise self._expected("a text, a number, or true or false")
        if isinstance(self.value, str) and len(self.value) > limits.RESOURCE_VALUE_CHARS_MAX:
            raise self.wrong(f"must have at most {limits.RESOURCE_VALUE_CHARS_MAX} characters")
        if type(self.value) in (int, float) and not abs(self.value) <= limits.RESOURCE_NUMBER_MAX:
            raise self.wrong(f"must be a number of at most {limits.RESOURCE_NUMBER_MAX}")
        value: bool | int | float | str = self.value
        return value

    def built(self, model: type[M], **parts: Any) -> M:
        """A model of parts that stand here; what it does not take is wrong here."""
        return self.checked(lambda: model(**parts))

    def checked(self, make: Callable[[], T]) -> T:
        try:
            return make()
        except ValidationError as cause:
            raise self.wrong(describe(cause)) from None


class Fields:
    """An object whose names mean something. What nobody took is remarked on at the end, by its name."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._left = dict.fromkeys(place.value)
        self._known: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return self.place.value.get(name) is not None

    def take(self, *names: str) -> Place | None:
        """The value under the first of these names that is there; null counts as not there."""
        found: Place | None = None
        self._known.update(names)
        for name in names:
            if name in self._left:
                del self._left[name]
                if self.place.value[name] is not None:
                    if found is not None:
                        raise self.place.at(name).wrong(f"says the same as {names[0]}; keep one of them")
                    found = self.place.at(name)
        return found

    def need(self, name: str, instead: str = "") -> Place:
        found = self.take(name)
        if found is None:
            raise JobspecError(path_to(self.place.path, name), f"is missing{instead}")
        return found

    def unused(self, why: str, *names: str) -> None:
        """Names that are known, and that this program makes nothing of."""
        for name in names:
            if (found := self.take(name)) is not None:
                found.remark(why)

    def _meant(self, name: str) -> str:
        close = get_close_matches(name, sorted(self._known), 1, cutoff=0.8) if len(name) <= _NAME_CHARS_MAX else []
        return f"; did you mean {close[0]}?" if close else ""

    def done(self) -> None:
        for name in self._left:
            self.place.at(name).remark(f"is not known here and was not used{self._meant(name)}")
        self._left = {}

"""The operators and functions that expressions may use: on numbers, with texts to compare, and never on anything big.

A number is exact up to 2**53 and a float beyond, so that no chain of operations makes one that takes long to work
with. A text that reads as a JSON number counts as that number wherever a number is needed.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from rainbowd.core.selection.base import Value
from rainbowd.core.selection.options import shown

NUMBER_CHARS_MAX = 64
ROUND_DIGITS_MAX = 15
_EXACT_MAX = 2**53
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][+-]?[0-9]+)?")

Number = int | float


class ExpressionError(Exception):
    """What is wrong with an expression, or with the values it met; in words."""


def number_of(value: Value) -> Number:
    if isinstance(value, str):
        found = _JSON_NUMBER.fullmatch(value.strip()) if len(value) <= NUMBER_CHARS_MAX else None
        if found is None:
            raise ExpressionError(f"{shown(value)} is not a number")
        whole = found["fraction"] is None and found["exponent"] is None
        return bounded(int(found[0]) if whole else float(found[0]))
    return bounded(value)


def truth_of(value: Value) -> bool:
    if isinstance(value, str):
        try:
            return number_of(value) != 0
        except ExpressionError:
            raise ExpressionError(f"{shown(value)} is a text, neither true nor false") from None
    return bool(value)


def bounded(value: Number) -> Number:
    """The number itself, or a float near it; refused if there is none."""
    if isinstance(value, int) and -_EXACT_MAX <= value <= _EXACT_MAX:
        return int(value)
    try:
        near = float(value)
    except OverflowError:
        near = math.inf
    if not math.isfinite(near):
        raise ExpressionError("a number gets too large")
    return near


def _calculation(of: Callable[..., Number]) -> Callable[..., Number]:
    def calculated(*values: Value) -> Number:
        try:
            return bounded(of(*map(number_of, values)))
        except ZeroDivisionError:
            raise ExpressionError("it divides by zero") from None
        except OverflowError:
            raise ExpressionError("a number gets too large") from None
        except ValueError:
            given = ", ".join(map(shown, values))
            raise ExpressionError(f"there is no {getattr(of, '__name__', 'result').strip('_')} of {given}") from None

    return calculated


def _power(base: Number, exponent: Number) -> Number:
    """In floats: exact ones could fill the memory."""
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    return math.pow(base, exponent)


def _round(value: Number, digits: Number = 0) -> Number:
    if not float(digits).is_integer() or abs(digits) > ROUND_DIGITS_MAX:
        raise ExpressionError(f"round: expected from -{ROUND_DIGITS_MAX} to {ROUND_DIGITS_MAX} digits")
    return round(value, int(digits))


def _equal(left: Value, right: Value) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    try:
        return number_of(left) == number_of(right)
    except ExpressionError:
        return False  # a text that is no number is different from every number


def _comparison(of: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    def compared(left: Value, right: Value) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            return of(left, right)
        return of(number_of(left), number_of(right))

    return compared


OPERATORS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Add: _calculation(operator.add),
    ast.Sub: _calculation(operator.sub),
    ast.Mult: _calculation(operator.mul),
    ast.Div: _calculation(operator.truediv),
    ast.FloorDiv: _calculation(operator.floordiv),
    ast.Mod: _calculation(operator.mod),
    ast.Pow: _calculation(_power),
    ast.USub: _calculation(operator.neg),
    ast.UAdd: _calculation(operator.pos),
    ast.Not: lambda value: not truth_of(value),
    ast.Eq: _equal,
    ast.NotEq: lambda left, right: not _equal(left, right),
    ast.Lt: _comparison(operator.lt),
    ast.LtE: _comparison(operator.le),
    ast.Gt: _comparison(operator.gt),
    ast.GtE: _comparison(operator.ge),
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "min": _calculation(lambda *values: min(values)),
    "max": _calculation(lambda *values: max(values)),
    "abs": _calculation(abs),
    "round": _calculation(_round),
    "floor": _calculation(math.floor),
    "ceil": _calculation(math.ceil),
    "sqrt": _calculation(math.sqrt),
    "exp": _calculation(math.exp),
    "log": _calculation(math.log),
    "log2": _calculation(math.log2),
    "log10": _calculation(math.log10),
}
_MANY = 100  # more than an expression has room for
ARGUMENTS: dict[str, tuple[int, int]] = dict.fromkeys(FUNCTIONS, (1, 1)) | {
    "min": (1, _MANY),
    "max": (1, _MANY),
    "round": (1, 2),
}

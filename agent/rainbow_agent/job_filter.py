"""Which jobs a one-shot agent wants: an expression over what a job asks for, such as `cores <= 8 and user == "anna"`.

simpleeval evaluates it, cut down to comparing and plain calculation: no calls, no attributes, no lists.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from simpleeval import InvalidExpression, SimpleEval  # type: ignore[import-untyped]

NAMES = ("name", "user", "queue", "nodes", "tasks", "cores", "gpus", "time_limit_s")
CHARS_MAX = 500
PARTS_MAX = 100

Fact = str | int | float
_ALLOWED = (ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare)


class FilterError(ValueError):
    """It is not an expression that can be used, in words."""


def _of_numbers(calculate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Texts are compared and never multiplied."""

    def checked(left: Any, right: Any) -> Any:
        if isinstance(left, str) or isinstance(right, str):
            raise FilterError("texts can be compared, and not calculated with")
        return calculate(left, right)

    return checked


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _of_numbers(operator.add),
    ast.Sub: _of_numbers(operator.sub),
    ast.Mult: _of_numbers(operator.mul),
    ast.Div: _of_numbers(operator.truediv),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
}
_JOINS = (ast.And, ast.Or)


class JobFilter:
    def __init__(self, text: str) -> None:
        """FilterError if it cannot be read, or says more than it may."""
        self._text = text.strip()
        if len(self._text) > CHARS_MAX:
            raise FilterError(f"the filter is longer than {CHARS_MAX} characters")
        try:
            self._tree = ast.parse(self._text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
            words = cause.msg if isinstance(cause, SyntaxError) else "it makes no sense"
            raise FilterError(f"the filter {self._text!r} cannot be read: {words}") from None
        self.names = _names(self._tree)
        self._evaluator = SimpleEval(operators=_OPERATORS, functions={}, names={})
        self._evaluator.nodes = {kind: self._evaluator.nodes[kind] for kind in _ALLOWED}

    def objection(self, facts: Mapping[str, Fact]) -> str | None:
        """Why this job is not wanted, or None."""
        self._evaluator.names = facts
        try:
            wanted = self._evaluator.eval(self._text, previously_parsed=self._tree)
        except (FilterError, InvalidExpression, TypeError, ArithmeticError) as cause:
            return f"the filter {self._text!r} cannot be applied: {cause}"
        return None if wanted else f"not wanted here now: the filter is {self._text!r}"


def _names(tree: ast.expr) -> frozenset[str]:
    """The names in it, all of them known; and nothing but what is allowed."""
    names = set()
    for count, node in enumerate(ast.walk(tree)):
        if count > PARTS_MAX * 2:  # a name and what is done with it count twice
            raise FilterError(f"the filter has more than {PARTS_MAX} parts")
        match node:
            case ast.Name(id=name):
                if name not in NAMES:
                    raise FilterError(f"the filter has no name {name!r}; there are {', '.join(NAMES)}")
                names.add(name)
            case ast.Constant(value=value):
                _check_constant(value)
            case ast.expr_context():
                pass
            case ast.operator() | ast.cmpop() | ast.unaryop() | ast.boolop():
                if not isinstance(node, (*_JOINS, *_OPERATORS)):
                    raise FilterError(f"the filter cannot use the operator {type(node).__name__}")
            case _ if not isinstance(node, _ALLOWED):
                raise FilterError(f"the filter can compare and calculate, and not {type(node).__name__}")
    return frozenset(names)


def _check_constant(value: object) -> None:
    if not isinstance(value, bool | int | float | str):
        raise FilterError(f"the filter cannot use {value!r:.50}")
    if isinstance(value, float) and not math.isfinite(value):
        raise FilterError("a number in the filter is too large")

"""Expressions of `constraint`: what may be written, and what it comes to for one cluster's facts.

simpleeval evaluates them, cut down to what is allowed here by name: numbers, texts, names, calculation, comparison,
`and`, `or`, `not`, `x if y else z` and a few functions. Everything else (attributes, indexing, lists, comprehensions,
lambdas, format strings) is refused when the expression is read, before anything is evaluated.
"""

import ast
import keyword
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simpleeval import InvalidExpression, NameNotDefined, SimpleEval  # type: ignore[import-untyped]

from rainbowd.core.selection.arithmetic import ARGUMENTS, FUNCTIONS, OPERATORS, ExpressionError, bounded, truth_of
from rainbowd.core.selection.base import Value
from rainbowd.core.selection.options import shown

EXPRESSION_CHARS_MAX = 500
EXPRESSION_PARTS_MAX = 100  # names, values, operations and calls
EXPRESSION_DEPTH_MAX = 60  # a sum of so many is as deep
NAME_CHARS_MAX = 63
CONSTANTS: Mapping[str, Value] = {"true": True, "false": False}  # as JSON writes them; True and False will do, too

_ALLOWED = (ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call)
_KNOWN_AS = {
    ast.Attribute: "a dot after a name",
    ast.Subscript: "square brackets",
    ast.List: "a list",
    ast.Tuple: "a list",
    ast.ListComp: "a loop",
    ast.GeneratorExp: "a loop",
    ast.SetComp: "a loop",
    ast.DictComp: "a loop",
    ast.JoinedStr: "a format string",
    ast.Lambda: "a function of one's own",
    ast.NamedExpr: "an assignment",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """Read once, evaluated for many. `parts` is a measure of the work."""

    text: str
    tree: ast.expr
    parts: int


class MissingNameError(ExpressionError):
    """The cluster has no fact of this name."""


def parsed(text: str) -> Expression:
    """Raises ExpressionError for what is not an expression, or is more than may be written."""
    text = text.strip()
    if not text:
        raise ExpressionError("is empty")
    if len(text) > EXPRESSION_CHARS_MAX:
        raise ExpressionError(f"is longer than {EXPRESSION_CHARS_MAX} characters")
    if "\\" in text:
        raise ExpressionError("there must be no backslash")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as cause:
        raise ExpressionError(f"cannot be read: {_syntax_words(text, cause)}") from None
    except (RecursionError, MemoryError):
        raise ExpressionError("is nested too deeply") from None
    return Expression(text, tree, _check(tree))


def check_name(name: str) -> None:
    """Whether a calculated value may be called so."""
    if not name.isidentifier() or keyword.iskeyword(name) or len(name) > NAME_CHARS_MAX or name.startswith("_"):
        raise ExpressionError(f"{shown(name)} cannot be a name: use letters, digits and _, beginning with a letter")
    if name in FUNCTIONS or name in CONSTANTS:
        raise ExpressionError(f"{name!r} already means something; choose another name")


class Evaluator:
    """Evaluates expressions that `parsed` let pass. They see the given facts and nothing else."""

    def __init__(self) -> None:
        self._evaluator = SimpleEval(operators=OPERATORS, functions=FUNCTIONS, names={})
        self._evaluator.nodes = {kind: self._evaluator.nodes[kind] for kind in _ALLOWED} | {
            ast.BoolOp: self._and_or,
            ast.IfExp: self._if,
        }

    def value(self, expression: Expression, facts: Mapping[str, Value]) -> Value:
        self._evaluator.names = facts
        try:
            result = self._evaluator.eval(expression.text, previously_parsed=expression.tree)
        except NameNotDefined as missing:
            raise MissingNameError(f"{missing.name!r} is not known") from None
        except InvalidExpression as refused:
            raise ExpressionError(str(refused)) from None
        return result if isinstance(result, bool | str) else bounded(result)

    def _and_or(self, node: ast.BoolOp) -> bool:
        """True or false, where Python would give one of the values: "0" is false here, as 0 is."""
        decides = isinstance(node.op, ast.Or)
        for value in node.values:
            if self._truth(value) is decides:
                return decides
        return not decides

    def _if(self, node: ast.IfExp) -> Value:
        found: Value = self._evaluator._eval(node.body if self._truth(node.test) else node.orelse)
        return found

    def _truth(self, node: ast.expr) -> bool:
        return truth_of(self._evaluator._eval(node))


def _syntax_words(text: str, cause: Exception) -> str:
    for strange, instead in (("&&", "and"), ("||", "or"), ("!", "not")):
        if strange in text.replace("!=", ""):
            return f"write `{instead}` for `{strange}`"
    if isinstance(cause, SyntaxError):
        return f"{cause.msg} (at character {cause.offset})" if cause.offset else cause.msg
    return str(cause)


def _check(root: ast.expr) -> int:
    """How many parts it has, all of them allowed. Not recursive: the depth is one of the things to find out."""
    parts, todo = 0, [(root, 1)]
    while todo:
        node, depth = todo.pop()
        parts += 1
        if parts > EXPRESSION_PARTS_MAX:
            raise ExpressionError(f"has more than {EXPRESSION_PARTS_MAX} parts")
        if depth > EXPRESSION_DEPTH_MAX:
            raise ExpressionError("is nested too deeply")
        todo += [(child, depth + 1) for child in _children(node)]
    return parts


def _children(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of a part, which is allowed itself."""
    match node:
        case ast.Constant(value=value):
            _check_constant(value)
        case ast.Name(id=name):
            _check_fact(name)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            _check_call(name, len(arguments), bool(keywords))
            yield from arguments
        case ast.UnaryOp(op=operation, operand=operand):
            _check_operations(operation)
            yield operand
        case ast.BinOp(left=left, op=operation, right=right):
            _check_operations(operation)
            yield from (left, right)
        case ast.Compare(left=left, ops=operations, comparators=others):
            _check_operations(*operations)
            yield from (left, *others)
        case ast.BoolOp(values=values):
            yield from values
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from (test, body, orelse)
        case _:
            what = _KNOWN_AS.get(type(node), f"{type(node).__name__}")
            raise ExpressionError(f"{what} is not allowed in an expression")


def _check_constant(value: object) -> None:
    if not isinstance(value, bool | int | float | str):
        raise ExpressionError(f"{shown(value)} is not allowed in an expression")
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("a number gets too large")
    if isinstance(value, int):
        bounded(value)


def _check_fact(name: str) -> None:
    if name.startswith("_"):
        raise ExpressionError(f"{name!r} is not allowed: no name begins with _")
    if name in FUNCTIONS:
        raise ExpressionError(f"{name!r} is a function: write {name}(…)")


def _check_call(name: str, arguments: int, named: bool) -> None:
    if name not in FUNCTIONS:
        raise ExpressionError(f"there is no function {shown(name)}; there are {', '.join(FUNCTIONS)}")
    least, most = ARGUMENTS[name]
    if named or not least <= arguments <= most:
        takes = f"{least}" if least == most else f"{least} or {most}" if most == least + 1 else f"at least {least}"
        raise ExpressionError(f"{name} takes {takes} plain argument{'' if takes == '1' else 's'}")


def _check_operations(*operations: ast.AST) -> None:
    for operation in operations:
        if type(operation) not in OPERATORS:
            raise ExpressionError(f"the operator {type(operation).__name__} is not allowed in an expression")

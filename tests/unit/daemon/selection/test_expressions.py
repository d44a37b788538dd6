"""What may be written in an expression, what it comes to, and what hostile ones come to: nothing, and soon."""

import math
from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbowd.core.selection.arithmetic import FUNCTIONS, ExpressionError
from rainbowd.core.selection.base import Value
from rainbowd.core.selection.expressions import Evaluator, MissingNameError, parsed

EVALUATOR = Evaluator()


def value(text: str, facts: Mapping[str, Value] | None = None) -> Value:
    return EVALUATOR.value(parsed(text), facts or {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("7 / 2", 3.5),
        ("7 // 2 + 7 % 2", 4),
        ("2 ** 10", 1024),
        ("-x + +x", 0),
        ("min(3, x, 9) + max(1, 2)", 5),
        ("min(x)", 5),
        ("abs(-2.5)", 2.5),
        ("round(2.345, 2)", 2.35),
        ("round(1234, -2)", 1200),
        ("floor(2.7) + ceil(2.1)", 5),
        ("sqrt(16) + exp(0) + log(1) + log2(8) + log10(100)", 10),
        ("1 < x <= 5", True),
        ("1 < x < 5", False),
        ("not x", False),
        ("x and 0 or 1", True),
        ("1 if x > 4 else 2", 1),
        ("'a' if x > 5 else 'b'", "b"),
        ("True + 1", 2),
        ("'3' * '4'", 12),
        ("2 ** 0.5 > 1.41", True),
        ("9007199254740992 + 1 == 9007199254740992.0 + 1", True),
    ],
)
def test_values(text: str, expected: Value) -> None:
    assert value(text, {"x": 5}) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / 0", "it divides by zero"),
        ("1 % 0", "it divides by zero"),
        ("0 ** -1", "it divides by zero"),
        ("10 ** 300 * 10 ** 300", "a number gets too large"),
        ("9 ** 9 ** 9", "a number gets too large"),
        ("9 ** 9999999", "a number gets too large"),
        ("exp(1000)", "a number gets too large"),
        ("(-8) ** 0.5", "there is no power of -8, 0.5"),
        ("sqrt(-1)", "there is no sqrt of -1"),
        ("log(0)", "there is no log of 0"),
        ("round(1, -999999999)", "round: expected from -15 to 15 digits"),
        ("'a' * 1000000000", "'a' is not a number"),
        ("'a' + 'b'", "'a' is not a number"),
        ("'a' < 1", "'a' is not a number"),
        ("not 'a'", "'a' is a text, neither true nor false"),
        ("'a' and 1", "'a' is a text, neither true nor false"),
    ],
)
def test_what_cannot_be_worked_out_says_so(text: str, words: str) -> None:
    expression = parsed(text)
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.value(expression, {})
    assert str(caught.value) == words


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(MissingNameError, match="'nodes_free' is not known"):
        value("nodes_free > 0", {"nodes": 1})


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 +",
        "x = 1",
        "(x := 1)",
        "x; x",
        "import os",
        "x.__class__",
        "x.real",
        "''.join",
        "().__class__.__bases__[0].__subclasses__()",
        "__import__('os').system('true')",
        "__builtins__",
        "_private",
        "x[0]",
        "[1, 2]",
        "(1, 2)",
        "{1: 2}",
        "{1, 2}",
        "[i for i in x]",
        "[0 for a in 'aaaaaaaa' for b in 'aaaaaaaa' for c in 'aaaaaaaa']",
        "sum(i for i in x)",
        "lambda: 1",
        "(lambda: 1)()",
        "f'{x}'",
        "f'{x:>999999999}'",
        "b'bytes'",
        "1j",
        "None",
        "...",
        "1e999",
        "1" * 400,
        "1 << 1000000000",
        "1 >> 1",
        "1 | 2",
        "1 & 2",
        "~1",
        "x is x",
        "'a' in 'abc'",
        "'%s' @ x",
        "min",
        "min + 1",
        "min()",
        "sqrt(1, 2)",
        "round(1, 2, 3)",
        "min(*x)",
        "min(1, key=abs)",
        "min(**x)",
        "eval('1')",
        "exec('1')",
        "open('/etc/passwd')",
        "getattr(x, 'real')",
        "str(x)",
        "int('9' * 9)",
        "rand()",
        "await x",
        "yield x",
        "*x",
        "'\\x41'",
        "x\0",
        "\ud800",
        "x &&& y",
        "!x",
    ],
)
def test_anything_else_is_refused_before_it_is_evaluated(text: str) -> None:
    with pytest.raises(ExpressionError):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x" * 1_000_000, "is longer than 500 characters"),
        ("1 + " * 120 + "1", "has more than 100 parts"),
        ("(" * 200 + "1" + ")" * 200, None),  # as deep as Python reads it; it means 1
        ("(" * 240 + "1" + ")" * 240, "cannot be read: too many nested parentheses"),
        ("-" * 400 + "1", "is nested too deeply"),
        ("not " * 100 + "1", "is nested too deeply"),
        ("abs(" * 60 + "1" + ")" * 60, "is nested too deeply"),
        ("9**" * 60 + "9", "is nested too deeply"),
    ],
)
def test_no_expression_is_larger_than_it_takes(text: str, words: str | None) -> None:
    if words is None:
        assert value("(" * 100 + "1" + ")" * 100) == 1
        return
    with pytest.raises(ExpressionError) as caught:
        parsed(text)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x.real", "a dot after a name is not allowed in an expression"),
        ("x[0]", "square brackets is not allowed in an expression"),
        ("_x", "'_x' is not allowed: no name begins with _"),
        ("min", "'min' is a function: write min(…)"),
        ("sqrt()", "sqrt takes 1 plain argument"),
        ("max()", "max takes at least 1 plain arguments"),
        ("round()", "round takes 1 or 2 plain arguments"),
        ("a && b", "cannot be read: write `and` for `&&`"),
        ("a || b", "cannot be read: write `or` for `||`"),
        ("!a", "cannot be read: write `not` for `!`"),
        ("1 << 2", "the operator LShift is not allowed in an expression"),
    ],
)
def test_the_words_help(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parsed(text)
    assert str(caught.value) == words


_ALLOWED = "x y 1 9 0.5 1e300 'a' '7' ( ) , + - * / ** % < == and or not if else"
_FORBIDDEN = ". [ ] __class__ for in lambda : := f'{x}'"
_PIECES = (*FUNCTIONS, *_ALLOWED.split(), *_FORBIDDEN.split())


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map(" ".join) | st.text(max_size=60))
def test_whatever_is_written_comes_to_a_value_or_to_words(text: str) -> None:
    """And to nothing else: no other exception gets out, whatever simpleeval or Python make of it."""
    found: Value = ""
    with suppress(ExpressionError):
        found = value(text, {"x": 3, "y": "2"})
    assert isinstance(found, bool | str) or math.isfinite(found)

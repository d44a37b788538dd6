"""Text to a document: YAML or JSON alike, bounded in size, depth and in what its aliases stand for.

Nothing here knows what the document means.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from rainbow_protocol import limits
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.jobspec.spelling import Spelled, path_to, spelled

# libyaml's parser is twenty times as fast; both understand the same.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Without dates: `value: 2024-01-01` is a text that somebody compares, not a day. Nor is `1:30` the number 90."""


_TAG = "tag:yaml.org,2002:"
# YAML 1.1 without its numbers of base 60, which nobody means who writes a time or a port.
_NUMBERS = {
    f"{_TAG}int": re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)$"),
    f"{_TAG}float": re.compile(
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))$"
        r"|\.(?:nan|NaN|NAN)$"
    ),
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, _NUMBERS.get(tag, pattern)) for tag, pattern in resolvers if tag != f"{_TAG}timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _keeping_the_text(construct: Any) -> Any:
    def constructed(loader: Any, node: Any) -> Any:
        return spelled(construct(loader, node), node.value)

    return constructed


for _kind in ("bool", "int", "float"):
    _Loader.add_constructor(f"{_TAG}{_kind}", _keeping_the_text(getattr(_Base, f"construct_yaml_{_kind}")))


_Way = tuple[Any, str | int]  # the way before it (or None), and the last step


class _TwiceError(Exception):
    pass


def document_of(text: str, name: str = "") -> Any:
    """The document, made of plain values. Every key of it is a text."""
    if len(text) > limits.JOBSPEC_CHARS_MAX:
        raise JobspecError("", f"is longer than {limits.JOBSPEC_CHARS_MAX} characters")
    if not text.strip():
        raise JobspecError("", "is empty")
    document = _from_json(text, name) if text.lstrip()[0] in "{[" else None
    if document is None:
        document = _from_yaml(text)
    _check(document)
    return document


def _from_json(text: str, name: str) -> Any:
    """None if it is not JSON: what begins with a brace may be YAML."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=lambda digits: spelled(float(digits), digits),
        )
    except _TwiceError as cause:
        raise JobspecError("", f"the key {str(cause)!r} is there twice in one object; keep one of them") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as cause:
        if name.endswith(".json"):
            raise JobspecError("", f"is not JSON: {cause}") from None
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError(_twice(name for name, _ in pairs))
    return found


def _twice(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("only called where one is there twice")


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number that can be used")


def _from_yaml(text: str) -> Any:
    try:
        _check_events(text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            _check_nodes(node)
            return loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.YAMLError as cause:
        raise JobspecError("", f"is not YAML: {_words(cause)}") from None
    except RecursionError:
        raise _too_deep() from None
    except (ValueError, TypeError, OverflowError) as cause:  # a number of 5,000 digits, a key that is a list
        raise JobspecError("", f"has a value that YAML cannot read: {cause}") from None


def _check_events(text: str) -> None:
    """Before anything is built of them, because building is recursive and an endless nesting would end the process."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if number > 2 * limits.JOBSPEC_VALUES_MAX:
            raise _too_many()
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > limits.JOBSPEC_DEPTH_MAX:
                raise _too_deep()
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_nodes(root: Any) -> None:
    """Counts what the aliases stand for, too: a few lines of them can stand for a billion values."""
    todo = [(root, 1)]
    seen = 0
    while todo:
        node, depth = todo.pop()
        seen += 1
        if seen > limits.JOBSPEC_VALUES_MAX:
            raise _too_many()
        if depth > limits.JOBSPEC_DEPTH_MAX:
            raise _too_deep()
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
            if len(set(keys)) < len(keys):
                line = node.start_mark.line + 1
                raise JobspecError(
                    "", f"the key {_twice(keys)!r} is there twice in the mapping of line {line}; keep one"
                )
            todo += [(part, depth + 1) for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            todo += [(part, depth + 1) for part in node.value]


def _check(document: Any) -> None:
    """The same for JSON; and that every key is a text and every text can be sent, in both."""
    # A value with its way from the top, as links: a path in words for each would take more memory than the document.
    todo: list[tuple[Any, int, _Way | None]] = [(document, 1, None)]
    seen = 0
    while todo:
        value, depth, way = todo.pop()
        seen += 1
        if seen > limits.JOBSPEC_VALUES_MAX:
            raise _too_many()
        if depth > limits.JOBSPEC_DEPTH_MAX:
            raise _too_deep()
        if isinstance(value, str):
            _check_text(value, way)
        todo += [(part, depth + 1, (way, step)) for step, part in _parts(value, way)]


def _path(way: _Way | None) -> str:
    steps: list[str | int] = []
    while way is not None:
        way, step = way
        steps.append(step)
    path = ""
    for step in reversed(steps):
        path = path_to(path, step)
    return path


def _parts(value: Any, way: _Way | None) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                shown = key.text if isinstance(key, Spelled) else key
                raise JobspecError(_path(way), f"the key {shown!r} is not a text; write it in quotes")
            _check_text(key, way)
            yield key, part
    elif isinstance(value, list):
        yield from enumerate(value)


def _check_text(text: str, way: _Way | None) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise JobspecError(
            _path(way), f"has half of a character, {text[cause.start]!a}, which cannot be sent"
        ) from None


def _words(cause: yaml.YAMLError) -> str:
    mark = getattr(cause, "problem_mark", None)
    problem = getattr(cause, "problem", None) or " ".join(str(cause).split())
    if "single document" in " ".join(str(cause).split()):
        problem = "there is more than one document in it; give each a file of its own"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else problem


def _too_deep() -> JobspecError:
    return JobspecError("", f"is nested deeper than {limits.JOBSPEC_DEPTH_MAX}")


def _too_many() -> JobspecError:
    return JobspecError("", f"has more than {limits.JOBSPEC_VALUES_MAX} values, counting what its aliases stand for")

"""Text to a document: YAML or JSON alike, bounded in size, depth and in what its aliases stand for.

Nothing here knows what the document means.
"""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from rainbow_protocol import limits
from rainbow_protocol.jobspec.errors import JobspecError

# libyaml's parser is twenty times as fast; both understand the same.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Without dates: `value: 2024-01-01` is a text that somebody compares, not a day."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


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
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
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
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return found


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
                twice = next(key for key in keys if keys.count(key) > 1)
                line = node.start_mark.line + 1
                raise JobspecError("", f"the key {twice!r} is there twice in the mapping of line {line}; keep one")
            todo += [(part, depth + 1) for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            todo += [(part, depth + 1) for part in node.value]


def _check(document: Any) -> None:
    """The same for JSON; and that every key is a text and every text can be sent, in both."""
    todo = [(document, 1, "")]
    seen = 0
    while todo:
        value, depth, path = todo.pop()
        seen += 1
        if seen > limits.JOBSPEC_VALUES_MAX:
            raise _too_many()
        if depth > limits.JOBSPEC_DEPTH_MAX:
            raise _too_deep()
        if isinstance(value, str):
            _check_text(value, path)
        todo += [(part, depth + 1, f"{path}{step}") for step, part in _parts(value, path)]


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                raise JobspecError(path, f"the key {key!r} is not a text; write it in quotes")
            _check_text(key, path)
            yield (f".{key}" if path else key), part
    elif isinstance(value, list):
        yield from ((f"[{position}]", part) for position, part in enumerate(value))


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise JobspecError(path, f"has half of a character, {text[cause.start]!a}, which cannot be sent") from None


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

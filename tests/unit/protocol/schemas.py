"""Documents made from the JSON schema of a message: the smallest, any, and those at the edge of each bound.

Made from the schema and not written by hand, so that a field or a bound added to a message is tested at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

from hypothesis import strategies as st
from pydantic import BaseModel

from rainbow_protocol import codec, limits
from rainbow_protocol.messages.agent import FromAgent, ToAgent
from rainbow_protocol.messages.client import FromClient, ToClient
from rainbow_protocol.wire import Line

Document = dict[str, Any]
Path = tuple[str | int, ...]
Put = Callable[[Any], Document]

ENDPOINTS: dict[str, tuple[codec.Decoder[Any], Any]] = {
    "from_agent": (codec.from_agent, FromAgent),
    "to_agent": (codec.to_agent, ToAgent),
    "from_client": (codec.from_client, FromClient),
    "to_client": (codec.to_client, ToClient),
}
# (endpoint, model): each message where it may be said.
MESSAGES: list[tuple[str, type[BaseModel]]] = [
    (endpoint, model) for endpoint, (_, union) in ENDPOINTS.items() for model in get_args(get_args(union)[0])
]
MESSAGE_IDS = [f"{endpoint}-{model.__name__}" for endpoint, model in MESSAGES]

# All its parts together have one bound, with tests of its own.
_BOUNDED_TOGETHER = {"Env"}
_MADE_UP_JOB_ID = "0123456789ab"


@dataclass(frozen=True)
class Edge:
    """One bound of one field: the last value that is taken and the first that is not."""

    model: str
    path: Path
    bound: float
    taken: Document
    refused: Document

    def __str__(self) -> str:
        return f"{self.model}.{'.'.join(str(step) for step in self.path)}-{self.bound}"


def smallest(model: type[BaseModel]) -> Document:
    schema = model.model_json_schema()
    document = _smallest(schema, schema.get("$defs", {}))
    assert isinstance(document, dict)
    return document


def _smallest(schema: Document, defs: Document) -> Any:
    schema = _resolved(schema, defs)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][-1]  # of a bid that is No, which needs nothing more
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", [])
        fields = {
            name: _smallest(field, defs)
            for name, field in schema.get("properties", {}).items()
            if name in required or "const" in field
        }
        return _sensible(schema, fields)
    if kind == "array":
        return [_smallest(schema["items"], defs)] * schema.get("minItems", 0)
    if kind == "string":
        return _string(schema, max(1, schema.get("minLength", 0)))
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": False, None: None}[kind]


def edges(model: type[BaseModel]) -> Iterator[Edge]:
    schema = model.model_json_schema()
    yield from _Edges(model, schema.get("$defs", {})).within(schema, (), lambda document: document, frozenset())


class _Edges:
    """Walks a schema. `put` makes the whole document of a value for where the walk is; `above` are the models that
    it is within, because a model may hold itself."""

    def __init__(self, model: type[BaseModel], defs: Document) -> None:
        self.model = model
        self.defs = defs

    def within(self, schema: Document, path: Path, put: Put, above: frozenset[str]) -> Iterator[Edge]:
        if "anyOf" in schema:
            for option in schema["anyOf"]:
                yield from self.within(option, path, put, above)
            return
        if "$ref" in schema:
            if schema["$ref"] in above:
                return
            above |= {schema["$ref"]}
            schema = _resolved(schema, self.defs)
        for bound, taken, refused in self._bounds(schema):
            yield Edge(self.model.__name__, path, bound, put(taken), put(refused))
        match schema.get("type"):
            case "object" if "properties" in schema:
                base = _smallest(schema, self.defs)
                for name, field in schema["properties"].items():
                    yield from self.within(field, (*path, name), _into_object(put, schema, base, name), above)
            case "object" if "maxProperties" in schema and schema.get("title") not in _BOUNDED_TOGETHER:
                keys, values = _mapping(schema)
                value = _smallest(values, self.defs)
                yield from self.within(keys, path, lambda key: put({key: value}), above)
                yield from self.within(values, (*path, "a"), lambda item: put({"a": item}), above)
            case "array":
                fill = [_smallest(schema["items"], self.defs)] * max(0, schema.get("minItems", 0) - 1)
                yield from self.within(schema["items"], (*path, 0), lambda item: put([item, *fill]), above)

    def _bounds(self, schema: Document) -> Iterator[tuple[float, Any, Any]]:
        """Of this place itself: the bound, a value that is just taken, and one that is not."""
        match schema.get("type"):
            case "object" if (most := schema.get("maxProperties")) is not None:
                value = _smallest(_mapping(schema)[1], self.defs)
                full = {f"a{number}": value for number in range(most)}
                yield most, full, {**full, "b": value}
            case "array":
                item = _smallest(schema["items"], self.defs)
                if (most := schema.get("maxItems")) is not None:
                    yield most, [item] * most, [item] * (most + 1)
                if fewest := schema.get("minItems"):
                    yield fewest, [item] * fewest, [item] * (fewest - 1)
            case "string" if "const" not in schema and "enum" not in schema:
                if (most := schema.get("maxLength")) is not None:
                    yield most, _string(schema, most), _string(schema, most + 1)
                if fewest := schema.get("minLength"):
                    yield fewest, _string(schema, fewest), _string(schema, fewest - 1)
                if _is_job_id(schema):
                    exact = limits.JOB_ID_CHARS
                    yield exact, "z" * exact, "z" * (exact + 1)
                    yield exact, "z" * exact, "z" * (exact - 1)
            case "integer" | "number" as kind:
                step = 1 if kind == "integer" else 1e-6
                if (most := schema.get("maximum")) is not None:
                    yield most, most, most + 1
                if (least := schema.get("minimum")) is not None:
                    yield least, least, least - max(step, abs(least) * 1e-6 if kind == "number" else 1)
                if (upper := schema.get("exclusiveMaximum")) is not None:
                    yield upper, upper - step, upper
                if (lower := schema.get("exclusiveMinimum")) is not None:
                    yield lower, lower + step, lower


def _into_object(put: Put, schema: Document, base: Document, name: str) -> Put:
    return lambda value: put(_sensible(schema, {**base, name: value}))


def _sensible(schema: Document, document: Document) -> Document:
    """With what a model wants of its fields together, which its schema cannot say."""
    match schema.get("title"):
        case "Shape" if document.get("nodes") is not None:
            return {**document, "tasks": max(document["nodes"], document.get("tasks", 1))}
        case "Bid" if document.get("answer") == "yes":
            return {"eta_s": 0, "cost": 0} | {name: value for name, value in document.items() if value is not None}
        case "Condition" if all(value is None for name, value in document.items() if name != "field"):
            return {**document, "present": True}
        case "TaskCount":
            given = [name for name in ("per_slot", "total", "per_resource") if document.get(name) is not None]
            alone = {name: value for name, value in document.items() if name not in given[:-1]}
            return alone if given else {**alone, "per_slot": 1}
        case "Task" if document.get("group") is not None:
            return {name: value for name, value in document.items() if name != "command"}
        case "Task" if not document.get("command"):
            return {**document, "command": ["true"]}
        case "CountRange" if document.get("max") is not None:
            return {**document, "min": min(document["min"], document["max"])}
        case "RegisterCluster" if document.get("document") is not None:
            return {name: value for name, value in document.items() if name != "resources"}
    return document


def any_document(model: type[BaseModel]) -> st.SearchStrategy[Document]:
    schema = model.model_json_schema()
    return _any(schema, schema.get("$defs", {}), frozenset())


def _any(schema: Document, defs: Document, above: frozenset[str]) -> st.SearchStrategy[Any]:
    """`above` are the models that this is within: one that holds itself stops there, with none of itself."""
    if "anyOf" in schema:
        return st.one_of([_any(option, defs, above) for option in schema["anyOf"]])
    if "$ref" in schema:
        if schema["$ref"] in above:
            return st.nothing()
        above |= {schema["$ref"]}
        schema = _resolved(schema, defs)
    match schema.get("title"):
        case "Env":
            return _ENV
        case "Command" if schema["type"] == "array":  # a status has one too, as a line of text
            return _COMMAND
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _any_object(schema, defs, above)
        case "object":
            keys, values = _mapping(schema)
            return st.dictionaries(_any(keys, defs, above), _any(values, defs, above), max_size=3)
        case "array":
            fewest = schema.get("minItems", 0)
            items = _any(schema["items"], defs, above)
            return st.lists(items, min_size=fewest, max_size=0 if items.is_empty else fewest + 2)
        case "string" if schema.get("pattern") == _LINE:
            return _LINES.filter(lambda text: len(text) >= schema.get("minLength", 0))
        case "string" if "pattern" in schema:
            longest = schema.get("maxLength", 64)
            fits = st.from_regex(schema["pattern"], fullmatch=True)
            return fits.filter(lambda text: schema.get("minLength", 0) <= len(text) <= longest)
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 40), 40))
        case "integer":
            highest = schema["exclusiveMaximum"] - 1 if "exclusiveMaximum" in schema else schema.get("maximum", 2**53)
            return st.integers(schema.get("minimum", -(2**53)), highest)
        case "number":
            low = schema.get("minimum", schema.get("exclusiveMinimum"))
            return st.floats(
                low,
                schema.get("maximum"),
                exclude_min="exclusiveMinimum" in schema,
                allow_nan=False,
                allow_infinity=False,
            )
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    raise AssertionError(f"a kind of field that this file does not know: {schema}")


def _any_object(schema: Document, defs: Document, above: frozenset[str]) -> st.SearchStrategy[Document]:
    fields = {name: _any(field, defs, above) for name, field in schema["properties"].items()}
    optional = {name for name in fields if name not in schema.get("required", []) and name != "type"}
    return st.fixed_dictionaries(
        {name: field for name, field in fields.items() if name not in optional},
        optional={name: fields[name] for name in optional},
    ).map(lambda document: _sensible(schema, document))


def _without_nul(text: str) -> str:
    return text.replace("\0", "")


# As the Line of the wire has it, but made of the characters that may be there: most others would be thrown away.
_LINE = Line.pattern
_LINES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=12)
_WORD = st.text(max_size=20).map(_without_nul)
_ENV = st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]*", fullmatch=True), _WORD, max_size=3)
_COMMAND = st.lists(_WORD, max_size=3).map(lambda words: ["true", *words])


def _resolved(schema: Document, defs: Document) -> Document:
    """Follows a reference; of a choice, takes what is not null."""
    if "$ref" in schema:
        target = defs[schema["$ref"].rsplit("/", 1)[-1]]
        assert isinstance(target, dict)
        return target
    if "anyOf" in schema:
        return _resolved(schema["anyOf"][0], defs)
    return schema


def _mapping(schema: Document) -> tuple[Document, Document]:
    """The keys and the values of an object whose names are not fixed."""
    if "patternProperties" in schema:
        ((pattern, values),) = schema["patternProperties"].items()
        return {"type": "string", **schema.get("propertyNames", {}), "pattern": pattern}, values
    values = schema.get("additionalProperties")
    anything = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    return {"type": "string", **schema.get("propertyNames", {})}, values if isinstance(values, dict) else anything


def _is_job_id(schema: Document) -> bool:
    return f"{{{limits.JOB_ID_CHARS}}}" in schema.get("pattern", "")


def _is_digest(schema: Document) -> bool:
    return "{64}" in schema.get("pattern", "")


def _string(schema: Document, length: int) -> str:
    if _is_digest(schema):
        return "a" * 64
    return _MADE_UP_JOB_ID if _is_job_id(schema) else "a" * length

"""Documents made from the JSON schema of a message: the smallest, any, and those at the edge of each bound.

Made from the schema and not written by hand, so that a field or a bound added to a message is tested at once.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from hypothesis import strategies as st
from pydantic import BaseModel

from rainbow_protocol import codec, limits
from rainbow_protocol.messages.agent import FromAgent, ToAgent
from rainbow_protocol.messages.client import FromClient, ToClient

Document = dict[str, Any]
Path = tuple[str | int, ...]

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
        return {
            name: _smallest(field, defs)
            for name, field in schema.get("properties", {}).items()
            if name in required or "const" in field
        }
    if kind == "array":
        return [_smallest(schema["items"], defs)] * schema.get("minItems", 0)
    if kind == "string":
        return _string(schema, max(1, schema.get("minLength", 0)))
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": False, None: None}[kind]


def edges(model: type[BaseModel]) -> Iterator[Edge]:
    schema = model.model_json_schema()
    yield from _edges(model, schema, schema.get("$defs", {}), ())


def _edges(model: type[BaseModel], schema: Document, defs: Document, path: Path) -> Iterator[Edge]:
    schema = _resolved(schema, defs)

    def edge(bound: float, taken: Any, refused: Any) -> Edge:
        return Edge(model.__name__, path, bound, _with(model, defs, path, taken), _with(model, defs, path, refused))

    kind = schema.get("type")
    if kind == "object":
        for name, field in schema.get("properties", {}).items():
            yield from _edges(model, field, defs, (*path, name))
    elif kind == "array":
        item = _smallest(schema["items"], defs)
        if (most := schema.get("maxItems")) is not None:
            yield edge(most, [item] * most, [item] * (most + 1))
        if fewest := schema.get("minItems"):
            yield edge(fewest, [item] * fewest, [item] * (fewest - 1))
        yield from _edges(model, schema["items"], defs, (*path, 0))
    elif kind == "string" and "const" not in schema and "enum" not in schema:
        if (most := schema.get("maxLength")) is not None:
            yield edge(most, _string(schema, most), _string(schema, most + 1))
        if fewest := schema.get("minLength"):
            yield edge(fewest, _string(schema, fewest), _string(schema, fewest - 1))
        if _is_job_id(schema):
            yield edge(limits.JOB_ID_CHARS, "z" * limits.JOB_ID_CHARS, "z" * (limits.JOB_ID_CHARS + 1))
            yield edge(limits.JOB_ID_CHARS, "z" * limits.JOB_ID_CHARS, "z" * (limits.JOB_ID_CHARS - 1))
    elif kind in ("integer", "number"):
        step = 1 if kind == "integer" else 1e-6
        if (most := schema.get("maximum")) is not None:
            yield edge(most, most, most + 1)
        if (least := schema.get("minimum")) is not None:
            yield edge(least, least, least - step)
        if (above := schema.get("exclusiveMinimum")) is not None:
            yield edge(above, above + step, above)


def _with(model: type[BaseModel], defs: Document, path: Path, value: Any) -> Document:
    """The smallest document of the model with one value put in at the path, and what lies on the way to it."""
    root = model.model_json_schema()
    document = copy.deepcopy(_smallest(root, defs))
    place: Any = document
    schema = _resolved(root, defs)
    for index, step in enumerate(path):
        schema = _resolved(schema["items"] if step == 0 else schema["properties"][step], defs)
        last = index == len(path) - 1
        filling = value if last else copy.deepcopy(_smallest(schema, defs))
        if step == 0:
            place[:] = [filling] if last or not place else place
        elif last or not place.get(step):
            place[step] = filling
        if path[-2:] == ("shape", "nodes") and step == "nodes":
            place["tasks"] = limits.TASKS_MAX  # there must be a task for every node
        place = place[step]
    return document


def any_document(model: type[BaseModel]) -> st.SearchStrategy[Document]:
    schema = model.model_json_schema()
    return _any(schema, schema.get("$defs", {}))


def _any(schema: Document, defs: Document) -> st.SearchStrategy[Any]:
    if "anyOf" in schema:
        return st.one_of([_any(option, defs) for option in schema["anyOf"]])
    schema = _resolved(schema, defs)
    match schema.get("title"):
        case "Shape":
            return _any_object(schema, defs).map(_with_a_task_for_every_node)
        case "Bid":
            return _any_object(schema, defs).map(_with_what_a_yes_needs)
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
            return _any_object(schema, defs)
        case "object":
            return st.dictionaries(st.text(max_size=8), st.integers(-(2**53), 2**53) | st.text(max_size=8), max_size=3)
        case "array":
            fewest = schema.get("minItems", 0)
            return st.lists(_any(schema["items"], defs), min_size=fewest, max_size=fewest + 2)
        case "string" if "pattern" in schema:
            longest = schema.get("maxLength", limits.JOB_ID_CHARS)
            fits = st.from_regex(schema["pattern"], fullmatch=True)
            return fits.filter(lambda text: schema.get("minLength", 0) <= len(text) <= longest)
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 40), 40))
        case "integer":
            return st.integers(schema.get("minimum", -(2**53)), schema.get("maximum", 2**53))
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


def _any_object(schema: Document, defs: Document) -> st.SearchStrategy[Document]:
    fields = {name: _any(field, defs) for name, field in schema["properties"].items()}
    optional = {name for name in fields if name not in schema.get("required", []) and name != "type"}
    return st.fixed_dictionaries(
        {name: field for name, field in fields.items() if name not in optional},
        optional={name: fields[name] for name in optional},
    )


def _with_a_task_for_every_node(shape: Document) -> Document:
    nodes = shape.get("nodes")
    return shape if nodes is None else {**shape, "tasks": max(nodes, shape.get("tasks", 1))}


def _with_what_a_yes_needs(bid: Document) -> Document:
    return {"eta_s": 0, "cost": 0} | {name: value for name, value in bid.items() if value is not None}


def _without_nul(text: str) -> str:
    return text.replace("\0", "")


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


def _is_job_id(schema: Document) -> bool:
    return f"{{{limits.JOB_ID_CHARS}}}" in schema.get("pattern", "")


def _string(schema: Document, length: int) -> str:
    return _MADE_UP_JOB_ID if _is_job_id(schema) else "a" * length

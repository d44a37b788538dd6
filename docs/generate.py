"""Writes the generated parts of the documentation, so that what the code knows is told once.

A page marks where a part goes with `<!-- generated: NAME -->` and `<!-- end of NAME -->`. To add a part: write a
function that returns Markdown, and name it under its page in PAGES. `--check` only tells what is stale.
"""

import argparse
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from rainbow_protocol import limits
from rainbow_protocol.errors import HINTS, ErrorCode
from rainbow_protocol.job import JOB_STATES, TERMINAL_STATES
from rainbow_protocol.messages.agent import FromAgent, ToAgent
from rainbow_protocol.messages.client import FromClient, ToClient
from rainbowd.core.transitions import TRANSITIONS

DOCS = Path(__file__).resolve().parent
Schema = dict[str, Any]


# --- tables ---------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def error_codes() -> str:
    return table(["code", "what to do"], [[f"`{code.value}`", HINTS[code]] for code in ErrorCode])


def job_states() -> str:
    return ", ".join(f"`{state}`" + (" (terminal)" if state in TERMINAL_STATES else "") for state in JOB_STATES) + "."


def protocol_limits() -> str:
    """From the source of `limits`, because its comments are the words for people."""
    rows = []
    group = ""
    for line in inspect.getsource(limits).splitlines():
        if line.startswith("# "):
            group = line.removeprefix("# ").split(":")[0]
        elif match := re.match(r"([A-Z_]+) = [^#]*(?:# (.*))?$", line):
            name, words = match.groups(default="")
            rows.append([group, f"`{name}`", f"`{_plain(getattr(limits, name))}`", words])
            group = ""
    return table(["", "name", "value", "remark"], rows)


def _plain(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value == 2**53 - 1:
        return "2^53 - 1"
    return f"{value:,}" if isinstance(value, int) else str(value)


# --- messages -------------------------------------------------------------


def messages(union: Any) -> Callable[[], str]:
    def write() -> str:
        models = get_args(get_args(union)[0])
        return "\n\n".join(_message(model) for model in models if model.__name__ not in ("Error", "Goodbye"))

    return write


def common_messages() -> str:
    models = {model.__name__: model for model in get_args(get_args(FromAgent)[0])}
    return "\n\n".join(_message(models[name]) for name in ("Error", "Goodbye"))


def shared_types() -> str:
    """Every object that messages hold, once, in the order of their names."""
    found: dict[str, Schema] = {}
    for union in (FromAgent, ToAgent, FromClient, ToClient):
        for model in get_args(get_args(union)[0]):
            found |= model.model_json_schema().get("$defs", {})
    objects = {name: schema for name, schema in found.items() if name not in ("Error", "Goodbye")}
    return "\n\n".join(f"#### {name}\n\n{_object(objects[name])}" for name in sorted(objects))


def _message(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    return f"#### `{schema['properties']['type']['const']}`\n\n{_object(schema)}"


def _object(schema: Schema) -> str:
    rows = [
        [f"`{name}`", _kind(field), _presence(name, field, schema), field.get("description", "")]
        for name, field in schema["properties"].items()
        if "const" not in field
    ]
    head = ["field", "value", "default", "meaning"]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    words = " ".join(schema.get("description", "").split())
    return f"{words}\n\n{table(head, rows)}" if words else table(head, rows)


def _presence(name: str, field: Schema, schema: Schema) -> str:
    if name in schema.get("required", []):
        return "*required*"
    default = field.get("default", {} if field.get("type") == "object" else [])
    return "all defaults" if isinstance(default, dict) and default else f"`{json.dumps(default)}`"


def _kind(field: Schema) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return "[error](#error)" if name == "Error" else f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        options = field["anyOf"]
        kinds = [option.get("type") for option in options]
        if kinds[:4] == ["boolean", "integer", "number", "string"]:  # a scalar; its bounds are among the limits
            return " or ".join(["boolean, number or string", *map(_kind, options[4:])])
        return " or ".join(_kind(option) for option in options)
    if "enum" in field:
        known = list(field["enum"]) == list(JOB_STATES)
        return "a [job state](#job-states)" if known else ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    match field.get("type"):
        case "array":
            return " ".join(["list of", *_span(field, "minItems", "maxItems"), _kind(field["items"])])
        case "string":
            facts = [*_pattern(field), *(f"{span} characters" for span in _span(field, "minLength", "maxLength"))]
            return f"string ({', '.join(facts)})" if facts else "string"
        case "integer" | "number" as kind:
            return " ".join([kind, *_span(field, "minimum", "maximum", "exclusiveMinimum")])
        case "object" if "maxProperties" in field:
            (values,) = field.get("patternProperties", {"": field.get("additionalProperties")}).values()
            things = "strings" if values.get("type") == "string" else f"entries, each {_kind(values)}"
            return " ".join(["object of", *_span(field, "minProperties", "maxProperties"), things])
        case None:
            return "anything"
        case kind:
            return str(kind)


def _span(field: Schema, least: str, most: str, above: str = "") -> Iterator[str]:
    """The bounds of something in words, if it has any."""
    low, high = field.get(least), field.get(most)
    if above in field:
        yield f"> {_plain(field[above])}" + ("" if high is None else f", ≤ {_plain(high)}")
    elif low is not None and high is not None:
        yield f"{_plain(low)} … {_plain(high)}"
    elif low is not None:
        yield f"≥ {_plain(low)}"
    elif high is not None:
        yield f"≤ {_plain(high)}"


def _pattern(field: Schema) -> Iterator[str]:
    pattern = field.get("pattern", "")
    if pattern == limits.NAME_PATTERN:
        yield "a DNS label"
    elif f"{{{limits.JOB_ID_CHARS}}}" in pattern:
        yield "a job id"
    elif "\\x00" in pattern:
        yield "one line"
    elif pattern:
        yield f"`{pattern}`"


# --- pages ----------------------------------------------------------------

# --- the states of a job --------------------------------------------------


def transitions() -> str:
    """A Mermaid diagram and the same as a table, for readers without one."""
    diagram = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    diagram += [
        f"    {state} --> {onward}: {trigger}"
        for state, steps in TRANSITIONS.items()
        for trigger, onward in steps.items()
    ]
    diagram += [f"    {state} --> [*]" for state, steps in TRANSITIONS.items() if not steps]
    rows = [
        [f"`{state}`", ", ".join(f"{trigger} → `{onward}`" for trigger, onward in steps.items()) or "the end"]
        for state, steps in TRANSITIONS.items()
    ]
    return "\n".join([*diagram, "```", "", table(["state", "steps"], rows)])


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "architecture.md": {"transitions": transitions},
    "protocol.md": {
        "job states": job_states,
        "messages of both endpoints": common_messages,
        "messages from the agent": messages(FromAgent),
        "messages to the agent": messages(ToAgent),
        "messages from the client": messages(FromClient),
        "messages to the client": messages(ToClient),
        "types": shared_types,
        "limits": protocol_limits,
        "error codes": error_codes,
    },
}


def rendered(text: str, parts: dict[str, Callable[[], str]]) -> str:
    for name, write in parts.items():
        start, end = f"<!-- generated: {name} -->", f"<!-- end of {name} -->"
        before, opened, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise SystemExit(f"no place for the generated part: {start} … {end}")
        text = f"{before}{start}\n{write()}\n{end}{after}"
    return text


def stale_pages() -> Iterator[tuple[Path, str]]:
    for name, parts in PAGES.items():
        page = DOCS / name
        fresh = rendered(page.read_text(), parts)
        if fresh != page.read_text():
            yield page, fresh


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is stale")
    check = parser.parse_args().check
    stale = list(stale_pages())
    for page, fresh in stale:
        if check:
            print(f"{page.name} is stale: run `make docs`")
        else:
            page.write_text(fresh)
            print(f"{page.name} written")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""Which of the known forms a document is in, and what it says of the cluster's resources.

JSON Graph Format v1 and v2, Flux R, a list of nodes (plain or of Kubernetes), or limits only; JSON, or YAML if short.
"""

import re
from typing import Any

import msgspec
import yaml
from msgspec import UNSET, Raw, UnsetType

from rainbowd.resources.graph import GraphRefusedError, Limits, ResourceGraph
from rainbowd.resources.reading import careful, flux_r, growing, jgf, kubernetes, node_list
from rainbowd.resources.reading.vertex import described
from rainbowd.resources.reading.words import listed, refused

YAML_BYTES_MAX = 8 * 1024 * 1024  # it is slow to read, and nobody writes more of it
_NAMED_BYTES_MAX = 64 * 1024 * 1024  # up to here a document that is not valid is read again, to name the vertex
_FORMS = (
    "a graph (`graph` with nodes and edges), Flux's R (`execution` with R_lite), a list of nodes (`nodes`, or "
    "what `kubectl get nodes -o json` prints), or limits (`max_nodes`, `cores_per_node`)"
)
_BYTE = re.compile(r"\(byte (\d+)\)")


class _Scheduling(msgspec.Struct):
    graph: jgf.GraphObject | UnsetType | None = UNSET


class _Top(msgspec.Struct):
    """The outermost keys by which a form is recognised."""

    graph: jgf.GraphObject | UnsetType | None = UNSET
    graphs: list[jgf.GraphObject] | UnsetType | None = UNSET
    scheduling: _Scheduling | UnsetType | None = UNSET
    execution: Raw | UnsetType = UNSET
    nodes: Raw | UnsetType = UNSET
    items: Raw | UnsetType = UNSET


def read_cluster(buffer: Any) -> ResourceGraph | Limits:
    """`buffer` is bytes, or a file's map. Raises `GraphRefusedError` with words for the person who sent it."""
    first = _first_byte(buffer)
    if first not in (b"{", b"["):
        return _read_short(_yaml(buffer))
    if first == b"[":
        return node_list.read(_decoded(buffer, Any))
    top = _decoded(buffer, _Top)
    graph = graph_in(top, buffer)
    if graph is not None:
        return jgf.read(graph)
    if isinstance(top.execution, Raw):
        return flux_r.read(_decoded(top.execution, Any))
    if isinstance(top.items, Raw):
        return kubernetes.read(top.items)
    if isinstance(top.nodes, Raw) and bytes(memoryview(top.nodes)[:1]) == b"[":
        return node_list.read(_decoded(top.nodes, Any))
    return _read_short(_decoded(buffer, dict[str, Any]))


def read_graph(buffer: Any) -> jgf.Document:
    """For a document that must be a graph."""
    if _first_byte(buffer) != b"{":
        raise refused("the document is no graph: it must be JSON with a `graph` of nodes and edges")
    graph = graph_in(_decoded(buffer, _Top), buffer)
    if graph is None:
        raise refused("the document has no `graph` with nodes and edges")
    return graph


def graph_in(top: _Top, buffer: object) -> jgf.Document | None:
    if isinstance(top.graph, jgf.GraphObject):
        return jgf.found(top.graph, "graph", buffer)
    if isinstance(top.graphs, list):
        if len(top.graphs) != 1:
            raise refused(f"`graphs` has {len(top.graphs)} graphs, and must have one")
        return jgf.found(top.graphs[0], "graphs[0]", buffer)
    if isinstance(top.scheduling, _Scheduling) and isinstance(top.scheduling.graph, jgf.GraphObject):
        return jgf.found(top.scheduling.graph, "scheduling.graph", buffer)
    return None


def _read_short(document: object) -> ResourceGraph | Limits:
    """A document that is decoded as a whole: YAML, or JSON of a form that is never long."""
    if isinstance(document, list):
        return node_list.read(document)
    if not isinstance(document, dict):
        raise refused(f"the document describes no resources: it must be {_FORMS}")
    if any(key in document for key in ("graph", "graphs", "execution", "items", "scheduling")):
        return read_cluster(_as_json(document))  # only YAML comes here: JSON would have been recognised
    if isinstance(document.get("nodes"), list):
        return node_list.read(document["nodes"])
    if growing.recognised(document):
        return growing.read(document)
    raise refused(f"the document has the keys {listed(sorted(map(str, document)))}, and is none of {_FORMS}")


def _as_json(document: object) -> bytes:
    try:
        return msgspec.json.encode(document)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise refused(f"the YAML document has something in it that JSON cannot say: {error}") from error


def _first_byte(buffer: Any) -> bytes:
    """The first that is not white space."""
    start = bytes(buffer[:65536])
    if start.startswith(b"\xef\xbb\xbf"):
        raise refused("the document begins with a byte order mark; save it as plain UTF-8")
    text = start.lstrip()
    if not text:
        raise refused("the document is empty")
    return text[:1]


def _decoded(buffer: Any, kind: Any) -> Any:
    try:
        return msgspec.json.decode(buffer, type=kind)
    except msgspec.ValidationError as error:
        raise refused(f"the document is not of the expected form: {error}") from error
    except RecursionError as error:
        raise refused("the document is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise refused(f"the document is not valid UTF-8: {error}") from error
    except msgspec.DecodeError as error:
        raise _not_json(buffer, str(error)) from error


def _not_json(buffer: Any, error: str) -> GraphRefusedError:
    view = memoryview(buffer)
    place = _BYTE.search(error)
    if place is None:
        return refused("the document is not valid JSON: it ends before it is complete")
    byte = int(place[1])
    before = bytes(view[:byte])
    line = before.count(b"\n") + 1
    column = byte - (before.rfind(b"\n") + 1) + 1
    odd = bytes(view[max(0, byte - 1) : byte + 12])
    if re.match(rb".?(NaN|-?Infinity|Infinity)", odd, re.DOTALL):
        named = _vertex_without_number(view) if view.nbytes <= _NAMED_BYTES_MAX else None
        if named is not None:
            return named
        return refused(f"line {line}, column {column}: NaN and Infinity are no numbers in JSON, and no sizes")
    what = error.removeprefix("JSON is malformed: ").rpartition(" (byte")[0]
    return refused(f"the document is not valid JSON: {what}, at line {line}, column {column}")


def _vertex_without_number(view: memoryview) -> GraphRefusedError | None:
    """Python's own reader takes NaN for a number, so the vertex that has it can be found, and named."""
    try:
        document = careful.loads(bytes(view))
        graph = document.get("graph") if isinstance(document, dict) else None
        nodes = graph.get("nodes") if isinstance(graph, dict) else None
        pairs = nodes.items() if isinstance(nodes, dict) else ((one.get("id"), one) for one in nodes or [])
        for vertex_id, node in pairs:
            described(str(vertex_id), node.get("metadata"))
    except GraphRefusedError as error:
        return error
    except AttributeError:
        return None  # of no form in which a vertex could be named
    return None


def _yaml(buffer: Any) -> object:
    if len(buffer) > YAML_BYTES_MAX:
        raise refused(f"the document is not JSON, and YAML is read only up to {YAML_BYTES_MAX // 2**20} MiB")
    try:
        return yaml.load(bytes(buffer), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        text = " ".join(str(error).split())
        raise refused(f"the document is neither JSON nor YAML: {text[:300]}") from error

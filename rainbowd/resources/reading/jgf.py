"""JSON Graph Format, of version 2 (nodes by id) and as Fluxion writes it (version 1: a list of nodes).

Nodes and edges are read one after the other, a piece at a time, and become flat arrays at once.
"""

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from rainbowd.resources.graph import ResourceGraph
from rainbowd.resources.reading import careful, natural, tree
from rainbowd.resources.reading.edges import CONTAINMENT, Containment
from rainbowd.resources.reading.pieces import decoded
from rainbowd.resources.reading.seen import UsualMetadata, VerticesSeen
from rainbowd.resources.reading.vertex import described
from rainbowd.resources.reading.words import listed, refused, shown, vertex


class GraphObject(msgspec.Struct, gc=False):
    """Where in the document they stand; nothing of them is decoded yet."""

    nodes: Raw | UnsetType = UNSET
    edges: Raw | UnsetType = UNSET


class _Vertex(msgspec.Struct, gc=False):
    metadata: UsualMetadata


class _ListedVertex(msgspec.Struct, gc=False):
    id: str
    metadata: UsualMetadata


_decode_numbered = msgspec.json.Decoder(dict[int, _Vertex]).decode
_decode_vertices = msgspec.json.Decoder(dict[str, _Vertex]).decode
_decode_listed = msgspec.json.Decoder(list[_ListedVertex]).decode
_id_of = attrgetter("id")
_EMPTY = re.compile(rb"\[\s*\]")


@dataclass(slots=True)
class Document:
    """A graph within a document. `buffer` is a file's map, if it is one: its pages are given back as they are read."""

    nodes: memoryview
    edges: memoryview
    buffer: object = None

    def forget(self) -> None:
        if isinstance(self.buffer, mmap.mmap):
            self.buffer.madvise(mmap.MADV_DONTNEED)

    @property
    def has_edges(self) -> bool:
        return _EMPTY.fullmatch(self.edges) is None


def found(graph: GraphObject, where: str, buffer: object) -> Document:
    """Checks that nodes and edges are there and of a right shape."""
    if graph.nodes is UNSET:
        raise refused(f"{where} has no `nodes`, an object or a list of the graph's vertices")
    nodes = memoryview(graph.nodes)
    edges = memoryview(b"[]" if graph.edges is UNSET else graph.edges)
    if bytes(nodes[:1]) not in (b"{", b"["):
        raise refused(f"{where}.nodes must be an object or a list of the graph's vertices")
    if bytes(edges) == b"null":
        edges = memoryview(b"[]")
    if bytes(edges[:1]) != b"[":
        raise refused(f"{where}.edges must be a list")
    document = Document(nodes, edges, buffer)
    document.forget()
    return document


def read(document: Document) -> ResourceGraph:
    by_path = not document.has_edges
    vertices = tree.Vertices()
    paths: list[str | None] = []
    if by_path:
        for vertex_id, metadata in metadata_of(document):
            vertices.add(vertex_id, *described(vertex_id, metadata))
            paths.append(path_of(metadata))
            tree.bounded(len(paths))
    else:
        _read_vertices(document, vertices)
    if not vertices.ids:
        raise refused("the graph has no vertices")
    positions = tree.index(vertices.ids)
    warnings: list[str] = []
    left_out: set[int] = set()
    if by_path:
        parents = _parents_by_path(list(map(str, vertices.ids)), paths)
    else:
        containment = Containment(vertices.ids, positions, vertices.foreign)
        containment.read(document.edges, document.forget)
        parents, left_out = containment.parents, containment.finish(warnings)
    del positions
    if vertices.down:
        down = sorted((str(vertices.ids[one]) for one in vertices.down), key=natural.key)
        warnings.append(f"out of service at the moment, and counted all the same: {listed(down)}")
    return tree.grown(vertices, parents, warnings, left_out)


def _read_vertices(document: Document, into: tree.Vertices) -> None:
    seen = VerticesSeen(into)
    by_id = bytes(document.nodes[:1]) == b"{"
    batches: Iterator[tuple[bytes, Any]] = decoded(
        document.nodes, _by_number if by_id else _decode_listed, _by_name if by_id else _General.closely
    )
    numbered = by_id
    for piece, batch in batches:
        document.forget()
        numbered = numbered and isinstance(batch, dict) and type(next(iter(batch), None)) is int
        if isinstance(batch, _General):
            for vertex_id, metadata in batch:
                seen.take(vertex_id, metadata)
        else:
            if by_id and piece.count(b'"metadata"') != len(batch):
                careful.loads(piece)
            first = len(into.ids)
            into.ids.extend(batch if by_id else map(_id_of, batch))
            seen.take_usual([one.metadata for one in (batch.values() if by_id else batch)], first)
        tree.bounded(len(into.ids))
    if not numbered or max(map(abs, into.ids), default=0) > natural.NUMBER_MAX:
        texts = list(map(str, into.ids))
        into.ids = natural.numbers(texts) or texts


def _by_number(piece: bytes) -> dict[int, _Vertex]:
    """Most tools count their vertices. As numbers, ids are quicker and smaller; the decoder takes no 007 for 7."""
    batch = _decode_numbered(piece)
    if 0 in batch and b'"-0"' in piece:
        raise msgspec.ValidationError("-0 is another id than 0")
    return batch


def _by_name(piece: bytes) -> "dict[str, _Vertex] | _General":
    try:
        return _decode_vertices(piece)
    except (msgspec.ValidationError, UnicodeDecodeError):
        return _General.closely(piece)


class _General:
    """A piece of the nodes, decoded without expectations: all that a vertex may say, or words for what is wrong."""

    def __init__(self, content: Any, piece: bytes) -> None:
        self._content = content
        if isinstance(content, dict) and piece.count(b'"metadata"') != len(content):
            careful.loads(piece)

    @classmethod
    def quickly(cls, piece: bytes) -> "_General":
        return cls(msgspec.json.decode(piece), piece)

    @classmethod
    def closely(cls, piece: bytes) -> "_General":
        try:
            return cls.quickly(piece)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return cls(careful.loads(piece), piece)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        if isinstance(self._content, dict):
            for vertex_id, node in self._content.items():
                if not isinstance(node, dict):
                    raise refused(f"{vertex(vertex_id)} is {shown(node)}, and must be an object")
                yield vertex_id, node.get("metadata")
            return
        for number, node in enumerate(self._content):
            if not isinstance(node, dict):
                raise refused(f"the list of nodes has {shown(node)} in it, which is no object")
            vertex_id = node.get("id")
            if isinstance(vertex_id, bool) or not isinstance(vertex_id, str | int):
                raise refused(f"a node of the list has no id (the {number + 1}. of its piece): {shown(node)}")
            yield str(vertex_id), node.get("metadata")


def metadata_of(document: Document) -> Iterator[tuple[str, Any]]:
    """Id and metadata of every vertex, in general form."""
    for _, batch in decoded(document.nodes, _General.quickly, _General.closely):
        document.forget()
        yield from batch


def path_of(metadata: object) -> str | None:
    """Where the vertex is by its path; some tools write it the other way round, as containment.paths."""
    for outer, inner in (("paths", CONTAINMENT), (CONTAINMENT, "paths")):
        held = metadata.get(outer) if isinstance(metadata, dict) else None
        path = held.get(inner) if isinstance(held, dict) else None
        if isinstance(path, str) and path.strip("/"):
            return "/" + path.strip("/")
    return None


def _parents_by_path(ids: list[str], paths: list[str | None]) -> list[int]:
    """For a graph without edges, which needs paths if it has more than one vertex."""
    if len(ids) == 1:
        return [tree.NOWHERE]
    places: dict[str, int] = {}
    for position, path in enumerate(paths):
        if path is None:
            raise refused(
                f"{vertex(ids[position])} has no path (metadata.paths.containment), and the graph has no edges: "
                "one of them must say what contains it"
            )
        if path in places:
            raise refused(f"vertices {listed((ids[places[path]], ids[position]))} have the same path, {shown(path)}")
        places[path] = position
    return [places.get(str(path).rpartition("/")[0], tree.NOWHERE) for path in paths]

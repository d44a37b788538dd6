"""Descriptions of big clusters, to measure reading and matching with: JSON Graph Format v2, a vertex for every core.

    python bench/graphs.py --nodes 10000 --cores 64 FILE

With these numbers it has 670,011 vertices and `contains` edges only, and is 231 MB long: what the first tools of
this kind wrote, indented by two, without labels and paths.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

_VERTEX = """      "{id}": {{
        "metadata": {{
          "basename": "{type}",
          "exclusive": false,
          "id": {number},
          "name": "{type}{number}",
          "size": 1,
          "type": "{type}",
          "uniq_id": {id}
        }}
      }}"""
_EDGE = """      {{
        "source": "{source}",
        "target": "{target}",
        "relation": "contains"
      }}"""


def vertices(nodes: int, cores: int, racks: int = 10, sockets: int = 2) -> Iterator[tuple[str, int, int]]:
    """Type, number and parent of each vertex; the vertex's id is its place. Cores are numbered within their node."""
    yield "cluster", 0, -1
    for rack in range(racks):
        yield "rack", rack, 0
    at = 1 + racks
    for node in range(nodes):
        yield "node", node, 1 + node * racks // nodes
        mine = at
        at += 1
        for socket in range(sockets):
            yield "socket", socket, mine
            holder = at
            at += 1
            for core in range(socket * cores // sockets, (socket + 1) * cores // sockets):
                yield "core", core, holder
                at += 1


def write(out: TextIO, nodes: int, cores: int, racks: int = 10, sockets: int = 2) -> int:
    """Writes the whole document and returns how many vertices it has."""
    count = 0
    parents: list[int] = []
    out.write('{\n  "graph": {\n    "directed": true,\n    "nodes": {\n')
    for kind, number, parent in vertices(nodes, cores, racks, sockets):
        out.write((",\n" if count else "") + _VERTEX.format(id=count, type=kind, number=number))
        parents.append(parent)
        count += 1
    out.write('\n    },\n    "edges": [\n')
    out.write(",\n".join(_EDGE.format(source=parents[target], target=target) for target in range(1, count)))
    out.write("\n    ]\n  }\n}\n")
    return count


def jgf(path: Path, nodes: int, cores: int, racks: int = 10, sockets: int = 2) -> int:
    with path.open("w") as out:
        return write(out, nodes, cores, racks, sockets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("--racks", type=int, default=10)
    parser.add_argument("--sockets", type=int, default=2)
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    count = jgf(args.file, args.nodes, args.cores, args.racks, args.sockets)
    print(f"{args.file}: {count:,} vertices, {args.file.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()

"""How the local backend describes itself: a plain list of its equal nodes."""

import os
import platform

import orjson

from rainbow_agent.backends.constraints import node_name
from rainbow_agent.backends.launching import LocalSettings


def node_list(settings: LocalSettings) -> bytes:
    """The same settings on the same machine give the same bytes, and so the same digest."""
    totals = settings.totals
    memory = settings.memory_per_node or machine_memory_bytes() // totals.nodes
    node = {
        "cores": totals.cores_per_node,
        "gpus": totals.gpus_per_node,
        "memory": memory,
        "labels": labels(settings),
        "properties": sorted(settings.properties),
    }
    nodes = [{"name": node_name(index), "rank": index, **node} for index in range(totals.nodes)]
    return orjson.dumps({"nodes": nodes}, option=orjson.OPT_SORT_KEYS)


def labels(settings: LocalSettings) -> dict[str, str]:
    return {"os": platform.system().lower(), "arch": platform.machine(), **settings.labels}


def properties(settings: LocalSettings) -> frozenset[str]:
    """What a constraint may name. A label counts as the property `key=value`, as the daemon reads it in that list."""
    return frozenset(settings.properties) | {f"{key}={value}" for key, value in labels(settings).items()}


def machine_memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

"""Numbers and requests in words that fit in a table cell."""

from collections.abc import Mapping
from typing import Any

from rainbow_client.duration import format_duration
from rainbow_client.printable import printable


def eta_words(eta_s: float | None) -> str:
    if eta_s is None:
        return "-"
    return "now" if eta_s < 0.05 else f"in {format_duration(eta_s)}"


def cost_words(cost: float | None) -> str:
    """Four digits that matter: `0`, `0.0004167`, `12.5`."""
    return "-" if cost is None else f"{cost:.4g}" if cost < 10_000 else f"{cost:.0f}"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shape_words(shape: Mapping[str, Any]) -> str:
    """From the data of a `submitted` event: `4 tasks on 2 nodes, 1 core each, at most 5m`."""
    words = count(int(shape.get("tasks") or 1), "task")
    if shape.get("nodes"):
        words += f" on {count(int(shape['nodes']), 'node')}"
    words += f", {count(int(shape.get('cores_per_task') or 1), 'core')}"
    if shape.get("gpus_per_task"):
        words += f" and {count(int(shape['gpus_per_task']), 'gpu')}"
    words += " each" if int(shape.get("tasks") or 1) > 1 else ""
    limit = shape.get("time_limit_s")
    return words + (f", at most {format_duration(float(limit))}" if limit else ", no time limit")


def reason_words(data: Mapping[str, Any], key: str = "reason") -> str:
    return printable(str(data.get(key) or ""))

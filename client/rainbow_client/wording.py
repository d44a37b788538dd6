"""Numbers and requests in words that fit in a table cell."""

from collections.abc import Mapping
from typing import Any

from rainbow_client.duration import format_duration
from rainbow_client.printable import printable

_GRAINS_S = ((172_800, 3_600), (7_200, 600), (120, 60))


def eta_words(eta_s: float | None) -> str:
    if eta_s is None:
        return "-"
    return "now" if eta_s < 0.05 else f"in {format_duration(eta_s)}"


def start_words(eta_s: float | None, low_s: float | None, high_s: float | None) -> str:
    """`in 5m (3m–20m)`: when it would start, and between when and when if that is not sure."""
    words = eta_words(eta_s)
    if eta_s is None or (low_s is None and high_s is None):
        return words
    low, high = (rough_words(eta_s if one is None else one) for one in (low_s, high_s))
    return words if low == high else f"{words} ({low}–{high})"


def rough_words(seconds: float) -> str:
    """A duration that is only guessed: minutes from two on, ten of them from two hours on, hours from two days on."""
    if seconds < 0.05:
        return "now"
    grain_s = next((grain_s for from_s, grain_s in _GRAINS_S if seconds >= from_s), 1)
    return format_duration(round(seconds / grain_s) * grain_s if seconds >= 10 else seconds)


def cost_words(cost: float | None) -> str:
    """Four digits that matter: `0`, `0.0004167`, `12.5`."""
    return "-" if cost is None else f"{cost:.4g}" if cost < 10_000 else f"{cost:.0f}"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shorten(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def number(value: Any) -> float | None:
    """A number of an event's data; whatever else is there, from a newer daemon perhaps, is no number to us."""
    return value if isinstance(value, int | float) else None


def shape_words(shape: Mapping[str, Any]) -> str:
    """From the data of a `submitted` event: `4 tasks on 2 nodes, 1 core each, at most 5m`."""
    tasks, nodes, cores, gpus, limit_s = (
        number(shape.get(key)) for key in ("tasks", "nodes", "cores_per_task", "gpus_per_task", "time_limit_s")
    )
    words = count(int(tasks or 1), "task")
    if nodes:
        words += f" on {count(int(nodes), 'node')}"
    words += f", {count(int(cores or 1), 'core')}"
    if gpus:
        words += f" and {count(int(gpus), 'gpu')}"
    words += " each" if tasks and tasks > 1 else ""
    return words + (f", at most {format_duration(limit_s)}" if limit_s else ", no time limit")


def reason_words(data: Mapping[str, Any], key: str = "reason") -> str:
    return printable(str(data.get(key) or ""))

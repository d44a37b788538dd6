"""What is known of a cluster beyond its resources, in words: how well it forecasts, and the keys of its state. Pure."""

from collections.abc import Mapping
from typing import Any

from rainbow_client.duration import format_duration
from rainbow_client.printable import printable
from rainbow_client.wording import count, number

Keys = Mapping[str, Any]
_FORECAST = "forecast_"
_AS_SAID_S = 1.0  # a mean this small is neither late nor early


def forecast_words(keys: Keys) -> str | None:
    """How far its jobs' starts were from what its bids said; None if nobody has counted yet."""
    starts, half_s, most_s, bias_s = (
        number(keys.get(f"{_FORECAST}{key}")) for key in ("n", "error_p50_s", "error_p90_s", "bias_s")
    )
    if not starts or half_s is None:
        return None
    words = f"of {count(int(starts), 'start')}, half came within {format_duration(half_s)} of what was said"
    if most_s is not None:
        words += f", nine in ten within {format_duration(most_s)}"
    if bias_s is not None:
        words += f"; {_bias_words(bias_s)}"
    return words


def _bias_words(bias_s: float) -> str:
    if abs(bias_s) < _AS_SAID_S:
        return "neither too early nor too late on average"
    return f"on average {format_duration(abs(bias_s))} {'later' if bias_s > 0 else 'earlier'} than said"


def state_rows(keys: Keys) -> list[tuple[str, str]]:
    """The keys that policies see, without those that `forecast_words` has told."""
    told = forecast_words(keys) is not None
    return [
        (printable(key), value_words(value))
        for key, value in sorted(keys.items())
        if not (told and key.startswith(_FORECAST))
    ]


def value_words(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float) else printable(str(value))

"""A site's own price: a Python function that gets a `PricedJob` and returns a number.

It is the site's code, trusted as much as the agent is, but not to be free of mistakes: whatever it does wrong is a No
to that job and a line in the log.
"""

import importlib
import importlib.util
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import structlog

from rainbow_agent.core.model import Asked, Totals
from rainbow_agent.core.placement import nodes_min, taken
from rainbow_agent.core.pricing import COST_MAX, NoPrice, Tariff

DEFAULT_NAME = "price"
SLOW_S = 0.1  # nothing else happens in the agent meanwhile
COMPLAIN_S = 60.0
FAILED = "the site's price function could not price this job"

log = structlog.get_logger()


@dataclass(frozen=True)
class PricedJob:
    """What a site's price function is told of a job."""

    user: str  # "" if nobody knows
    queue: str | None
    nodes: int  # those it asks for, or as few as could hold it
    tasks: int
    cores: int  # of all its tasks; of whole nodes if it is exclusive
    gpus: int
    exclusive: bool
    time_limit_s: float | None
    duration_s: float  # its limit, or what the agent takes for one
    starts_at: datetime  # as expected now, in the site's time zone
    list_price: float  # what `price` in the configuration makes of it


PriceFunction = Callable[[PricedJob], Any]


def load_function(where: str) -> PriceFunction:
    """`module:function`, `/path/file.py:function`, or `/path/file.py` for its `price`. ValueError in words."""
    module, name = _split(where)
    try:
        found = _module(module)
    except (Exception, SystemExit) as cause:  # whatever the site's file does when it is read
        raise ValueError(f"{module} cannot be loaded: {type(cause).__name__}: {cause}") from None
    function = getattr(found, name, None)
    if not callable(function):
        raise ValueError(f"{module} has no function {name}")
    return function  # type: ignore[no-any-return]


def _split(where: str) -> tuple[str, str]:
    module, colon, name = where.rpartition(":")
    if not colon:
        module, name = where, DEFAULT_NAME
    if not module or not name.isidentifier():
        raise ValueError(f"{where!r} is not module:function, nor the path of a Python file (with :function, if any)")
    return module, name


def _module(module: str) -> ModuleType:
    if "/" not in module and not module.endswith(".py"):
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location("rainbow_site_price", Path(module))
    if spec is None or spec.loader is None:
        raise ValueError("not a Python file")
    found = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class SitePrice:
    """`tariff` is the price list beneath; `when` makes the site's time of the core's."""

    def __init__(
        self, function: PriceFunction, totals: Totals, tariff: Tariff, when: Callable[[float], datetime]
    ) -> None:
        self._function = function
        self._totals = totals
        self._tariff = tariff
        self._when = when
        self._complained_at = float("-inf")

    def cost(self, asked: Asked, duration_s: float, start: float) -> float | NoPrice:
        job = self._job(asked, duration_s, start)
        begun = time.monotonic()
        try:
            price = self._function(job)
            number = _number(price)
        except (Exception, SystemExit) as cause:
            return self._failed(f"{type(cause).__name__}: {cause}")
        if (took_s := time.monotonic() - begun) > SLOW_S:
            self._complain("the site's price function is slow: nothing else happens meanwhile", seconds=took_s)
        if number is None:
            return self._failed(f"it returned {price!r:.100}, which is not a number from 0 on")
        return min(COST_MAX, number)

    def _job(self, asked: Asked, duration_s: float, start: float) -> PricedJob:
        shape = asked.shape
        cores, gpus = taken(shape, self._totals)
        return PricedJob(
            user=asked.user,
            queue=asked.queue,
            nodes=nodes_min(shape, self._totals),
            tasks=shape.tasks,
            cores=cores,
            gpus=gpus,
            exclusive=shape.exclusive,
            time_limit_s=shape.time_limit_s,
            duration_s=duration_s,
            starts_at=self._when(start),
            list_price=self._tariff.cost(asked, duration_s, start),
        )

    def _failed(self, words: str) -> NoPrice:
        self._complain("the site's price function failed", words=words)
        return NoPrice(FAILED)

    def _complain(self, event: str, **details: Any) -> None:
        """Once in a while: an offer comes a thousand times a minute."""
        if time.monotonic() >= self._complained_at + COMPLAIN_S:
            self._complained_at = time.monotonic()
            log.error(event, **details)


def _number(price: Any) -> float | None:
    """What counts as a price: any number that Python takes for one, but neither True nor "3"."""
    if isinstance(price, bool | str | bytes) or not hasattr(price, "__float__"):
        return None
    number = float(price)
    return number if math.isfinite(number) and number >= 0 else None

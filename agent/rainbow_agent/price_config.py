"""Prices in the configuration, and what the core makes of them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rainbow_agent.core.pricing import Period, PriceList, Prices
from rainbow_agent.week_config import WINDOWS_MAX, Hours

QUEUES_MAX = 256
FACTOR_MAX = 1e6
UNITS = ("per_node_hour", "per_core_hour", "per_gpu_hour")

Price = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class PriceTime(Hours):
    """A factor on the prices, or prices in their place; what is not said stays as it is."""

    factor: Annotated[float, Field(ge=0, le=FACTOR_MAX, allow_inf_nan=False)] | None = None
    per_node_hour: Price | None = None
    per_core_hour: Price | None = None
    per_gpu_hour: Price | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> "PriceTime":
        own = any(getattr(self, unit) is not None for unit in UNITS)
        if own == (self.factor is not None):
            raise ValueError(f"give a factor, or prices of its own ({', '.join(UNITS)})")
        return self

    def period(self, base: Prices) -> Period:
        if self.factor is not None:
            return Period(self.window(), base.times(self.factor))
        own = {unit: price for unit in UNITS if (price := getattr(self, unit)) is not None}
        usual = {unit: getattr(base, unit) for unit in UNITS}
        return Period(self.window(), Prices(**{**usual, **own}))


class QueuePrice(BaseModel):
    """In whatever unit the site counts; the daemon only compares."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    per_node_hour: Price = 0.0
    per_core_hour: Price = 0.0
    per_gpu_hour: Price = 0.0
    minimum: Price = 0.0
    times: list[PriceTime] = Field(default_factory=list, max_length=WINDOWS_MAX)

    def prices(self) -> Prices:
        return Prices(self.per_node_hour, self.per_core_hour, self.per_gpu_hour)

    def price_list(self) -> PriceList:
        base = self.prices()
        return PriceList(base, tuple(time.period(base) for time in self.times), self.minimum)


class PriceConfig(QueuePrice):
    queues: dict[str, QueuePrice] = Field(default_factory=dict, max_length=QUEUES_MAX)

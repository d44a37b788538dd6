"""What the site's own people say of the cluster: whether it takes new jobs, and keys that policies see."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Value = bool | int | float | str
Keys = Mapping[str, Value]
NO_KEYS: Keys = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SiteState:
    """`draining` says why no new jobs are taken; None if they are."""

    draining: str | None = None
    keys: Keys = field(default_factory=lambda: NO_KEYS)

    @property
    def hindrance(self) -> str | None:
        return None if self.draining is None else f"draining: {self.draining}"

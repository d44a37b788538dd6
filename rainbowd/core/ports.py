"""What the core asks of the resource model, and nothing about how it answers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rainbowd.core.state import Shape


@dataclass(frozen=True, slots=True)
class Verdict:
    """Could the empty cluster hold the job? `reason` says why not, in words for the user."""

    fits: bool
    reason: str = ""


class Matcher(Protocol):
    def match(self, shape: "Shape", resources: Any) -> Verdict:
        """Decide for one cluster, whose `resources` are what it registered. Pure and deterministic."""
        ...

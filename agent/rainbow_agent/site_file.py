"""What the site says of its cluster, in a file of the state directory: it outlives every agent."""

import contextlib
import os
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rainbow_agent.core.site_state import SiteState
from rainbow_protocol.limits import REASON_CHARS_MAX
from rainbow_protocol.wire import Line
from rainbow_protocol.wishes import StateKey, StateValue

SITE_KEYS_MAX = 48  # the rest of what a state may hold is for what the agent tells by itself
DRAINING_CHARS_MAX = REASON_CHARS_MAX - 100  # it is told with words around it

SiteKeys = Annotated[dict[StateKey, StateValue], Field(max_length=SITE_KEYS_MAX)]
DrainReason = Annotated[str, Line, Field(min_length=1, max_length=DRAINING_CHARS_MAX)]


class SiteFileError(Exception):
    """The file cannot be used, with what a person can do about it."""


class Site(BaseModel):
    """As it stands in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    draining: DrainReason | None = None
    keys: SiteKeys = Field(default_factory=dict)

    def state(self) -> SiteState:
        return SiteState(self.draining, self.keys)


class SiteFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Site:
        try:
            return Site.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return Site()
        except OSError as cause:
            raise SiteFileError(f"{self._path} cannot be read: {cause.strerror}") from None
        except ValidationError as cause:
            words = cause.errors(include_url=False)[0]["msg"]
            raise SiteFileError(
                f"{self._path} is damaged: {words}. Remove it; then the cluster does not drain and has no keys of its "
                "own, until `rainbow-agent drain` and `rainbow-agent state set` say so again"
            ) from None

    def save(self, site: Site) -> None:
        """All of it or nothing, and on disk when this returns."""
        fresh = self._path.with_suffix(".new")
        try:
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(site.model_dump_json(indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
            self._sync_directory()
        except OSError as cause:
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise SiteFileError(f"{self._path} cannot be written: {cause.strerror}; nothing was changed") from None

    def _sync_directory(self) -> None:
        fd = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

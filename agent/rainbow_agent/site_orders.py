"""What the site's people can tell their agent: drain, resume, set and unset keys, show. One JSON line each.

The same orders go to a running agent through its socket, and to the file itself when none runs.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from rainbow_agent.site_file import SITE_KEYS_MAX, DrainReason, Site, SiteKeys
from rainbow_protocol.wishes import StateKey, StateValue

ORDER_BYTES_MAX = 64 * 1024
# What the daemon knows from elsewhere: a key of that name would count for nothing.
KNOWN = frozenset({"online", "draining", "nodes_free", "cores_free", "gpus_free", "jobs_queued", "jobs_running"})


class OrderError(Exception):
    """It cannot be done, in words."""


class _Order(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Drain(_Order):
    order: Literal["drain"] = "drain"
    reason: DrainReason


class Resume(_Order):
    order: Literal["resume"] = "resume"


class SetKeys(_Order):
    order: Literal["set"] = "set"
    keys: SiteKeys


class UnsetKeys(_Order):
    order: Literal["unset"] = "unset"
    keys: list[StateKey] = Field(max_length=SITE_KEYS_MAX)


class Show(_Order):
    order: Literal["show"] = "show"


Order = Annotated[Drain | Resume | SetKeys | UnsetKeys | Show, Field(discriminator="order")]
_ORDER: TypeAdapter[Order] = TypeAdapter(Order)


class Shown(_Order):
    """The answer to every order: how it stands now. `told` are all keys that the daemon hears."""

    draining: str | None = None
    keys: Mapping[str, StateValue] = Field(default_factory=dict)
    told: Mapping[str, StateValue] = Field(default_factory=dict)
    running: bool = False
    error: str | None = None


def read_order(line: bytes) -> Order:
    try:
        return _ORDER.validate_json(line)
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        raise OrderError(f"{where}: {first['msg']}" if where else first["msg"]) from None


def obey(order: Order, site: Site) -> Site:
    """What the site says after this order."""
    match order:
        case Drain(reason=reason):
            return site.model_copy(update={"draining": reason})
        case Resume():
            return site.model_copy(update={"draining": None})
        case SetKeys(keys=keys):
            if known := sorted(KNOWN & set(keys)):
                raise OrderError(f"{known[0]!r} is what the cluster itself tells, and cannot be set")
            merged = {**site.keys, **keys}
            if len(merged) > SITE_KEYS_MAX:
                raise OrderError(f"a cluster has at most {SITE_KEYS_MAX} keys of its own; unset one first")
            return site.model_copy(update={"keys": merged})
        case UnsetKeys(keys=gone):
            missing = [key for key in gone if key not in site.keys]
            if missing:
                raise OrderError(f"there is no key {missing[0]!r} that was set here")
            return site.model_copy(update={"keys": {key: site.keys[key] for key in site.keys if key not in gone}})
        case Show():
            return site

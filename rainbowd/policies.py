"""Finds the policies that are installed, by their entry points, and tells who may choose which.

Every package can add policies to the group `rainbow.policies`: the name there is what users write after `--policy`,
and the object is a class as `rainbowd.core.selection.base.Policy` describes it. One that is not fit to be used keeps
the daemon from starting: better than to find that out with somebody's job.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

from rainbow_protocol import limits
from rainbowd.core.selection.base import Facts, Policy

GROUP = "rainbow.policies"
DEFAULT = "earliest"
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class PolicyRefusedError(Exception):
    """A policy, or what the site says about policies, is not fit to be used. In words for who starts the daemon."""


class Choice(Protocol):
    """Of the wishes of a job, those that are about its policy."""

    @property
    def policy(self) -> str | None: ...

    @property
    def options(self) -> Facts: ...


@dataclass(frozen=True, slots=True)
class Site:
    """`allowed` None allows all. `options` are by policy, and hold where a job does not say otherwise."""

    default: str = DEFAULT
    allowed: frozenset[str] | None = None
    options: Mapping[str, Facts] = field(default_factory=dict)

    def allows(self, name: str) -> bool:
        """The default can always be chosen: it is what one gets without a choice."""
        return self.allowed is None or name == self.default or name in self.allowed

    def options_for(self, name: str, wanted: Facts) -> Facts:
        return {**self.options.get(name, {}), **wanted}


class Policies:
    """All that are installed, by name."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        self._policies: dict[str, Policy] = {}
        for policy in policies:
            if policy.name in self._policies:
                raise PolicyRefusedError(f"there are two policies of the name {policy.name!r}; uninstall one of them")
            self._policies[policy.name] = policy

    @classmethod
    def installed(cls) -> "Policies":
        return cls(map(_loaded, sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._policies))

    def __iter__(self) -> Iterator[Policy]:
        return iter(self._policies.values())

    def get(self, name: str) -> Policy | None:
        return self._policies.get(name)

    def by_name(self) -> Mapping[str, Policy]:
        return dict(self._policies)

    def check(self, site: Site) -> Policy:
        """The site's default. Raises PolicyRefusedError if what the site says cannot be meant."""
        for what, name in [("the default policy", site.default)] + [
            (what, name)
            for what, names in (("an allowed policy", site.allowed or ()), ("a policy with options", site.options))
            for name in sorted(names)
        ]:
            if name not in self._policies:
                raise PolicyRefusedError(f"{what}: {self.unknown_words(name)}")
        default = self._policies[site.default]
        # Of the others a job may still give the option that is missing.
        if (mistake := default.mistake(site.options_for(site.default, {}))) is not None:
            raise PolicyRefusedError(f"the options of the default policy {site.default!r}: {mistake}")
        return default

    def unknown_words(self, name: str) -> str:
        close = get_close_matches(name, self._policies, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(self.names)}"
        return f"there is no policy {name!r}; {hint}"


def of_site(default: str, allowed: Iterable[str] | None, options: Mapping[str, Facts]) -> tuple[Policies, Site, Policy]:
    """All that are installed, what the site says about them, and its default. Raises PolicyRefusedError."""
    site = Site(default, None if allowed is None else frozenset(allowed), options)
    policies = Policies.installed()
    return policies, site, policies.check(site)


def why_not(wishes: Choice, policies: Policies, site: Site) -> str | None:
    """Why a job with these wishes is not taken, in words for its user; None if they will do."""
    name = wishes.policy or site.default
    policy = policies.get(name)
    if policy is None:
        return policies.unknown_words(name)
    if not site.allows(name):
        allowed = ", ".join(one for one in policies.names if site.allows(one))
        return f"this site does not let users choose the policy {name!r}; it allows {allowed}"
    mistake = policy.mistake(site.options_for(name, wishes.options))
    return None if mistake is None else f"the options of the policy {name!r}: {mistake}"


def _loaded(point: EntryPoint) -> Policy:
    where = f"the policy {point.name!r} ({point.value})"
    try:
        made: Any = point.load()
        policy: Any = made() if isinstance(made, type) else made
    except Exception as cause:
        raise PolicyRefusedError(f"{where} cannot be loaded: {type(cause).__name__}: {cause}") from cause
    if (wrong := _unfit(policy, point.name)) is not None:
        raise PolicyRefusedError(f"{where} {wrong}; mend the package that brings it, or uninstall it")
    found: Policy = policy
    return found


def _unfit(policy: Any, name: str) -> str | None:
    if len(name) > limits.NAME_CHARS_MAX or not name or not _NAME_CHARS.issuperset(name):
        return f"must have a name of lower-case letters, digits and -, at most {limits.NAME_CHARS_MAX} of them"
    if getattr(policy, "name", None) != name:
        return f"calls itself {getattr(policy, 'name', None)!r}"
    for flag in ("asks", "measures"):
        if not isinstance(getattr(policy, flag, None), bool):
            return f"does not say whether it {flag} (True or False)"
    for method in ("mistake", "rank"):
        if not callable(getattr(policy, method, None)):
            return f"has no method {method!r}"
    return None

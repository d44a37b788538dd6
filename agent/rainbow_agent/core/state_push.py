"""The cluster's state as the daemon is told it: when it has changed, and not too often. Pure.

A daemon offers again what was refused when it hears of a new state, so a refusal must be followed by one as soon as
the answer might be another, although what is free may be the same.
"""

from rainbow_agent.core.effects import State
from rainbow_agent.core.schedule import Schedule
from rainbow_agent.core.site_state import Keys, SiteState

STATE_INTERVAL_S = 0.2


class StatePush:
    def __init__(self, schedule: Schedule, site: SiteState, keys: Keys) -> None:
        """`keys` are told always, beneath the site's own."""
        self._schedule = schedule
        self._site = site
        self._keys = keys
        self._sent: State | None = None
        self._sent_at = float("-inf")
        self._version = -1
        self._refused = False
        self._anyway = False
        self._at_once = False
        self._ahead = 0

    @property
    def site(self) -> SiteState:
        return self._site

    def state(self) -> State:
        return State(self._schedule.free(), {**self.keys_beneath(), **self._site.keys}, self._site.draining)

    def keys_beneath(self) -> Keys:
        """Among them how true the forecasts were. They change with every start, and are told when something else is."""
        return {**self._keys, **self._schedule.forecast_keys()}

    def refused(self) -> None:
        """A job was answered No."""
        self._refused = True

    def anyway(self) -> None:
        """What was refused might be taken now, for a reason that what is free does not tell."""
        self._anyway = True

    def site_changed(self, site: SiteState) -> None:
        """Whether jobs are taken is told without delay: every offer until then would be in vain."""
        self._at_once |= site.draining != self._site.draining
        self._anyway |= site != self._site
        self._site = site

    def look(self, fit: bool) -> None:
        """After every step: fewer wait here than before, which is news for whom a full queue has refused."""
        ahead = self._schedule.ahead
        if ahead < self._ahead and self._refused and fit:
            self._anyway = True
        self._ahead = ahead

    def next_due(self) -> float | None:
        return self._sent_at + STATE_INTERVAL_S if self._is_due else None

    def remember(self, now: float) -> State:
        """This is being told now."""
        self._sent = self.state()
        self._sent_at = now
        self._version = self._schedule.version
        self._refused = self._anyway = self._at_once = False
        return self._sent

    def take(self, now: float) -> State | None:
        """What is to be told now, if anything is."""
        if not self._at_once and (not self._is_due or now < self._sent_at + STATE_INTERVAL_S):
            return None
        before = self._sent
        anyway = self._anyway or self._refused
        state = self.remember(now)
        return state if anyway or state != before else None

    @property
    def _is_due(self) -> bool:
        return self._anyway or self._version != self._schedule.version

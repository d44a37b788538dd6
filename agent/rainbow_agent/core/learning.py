"""How long jobs really run, learned from those that ended; limits are what people ask for, seldom what they need.

A user's next job usually runs about as long as their last two with the same limit did. Where there are none, their
last ones in proportion to their limits count, then everybody's. A prediction is never longer than the limit. It is
an expectation, not a promise: whatever must hold is planned with limits.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import TypeVar

_Known = TypeVar("_Known", bound=Hashable)

RECENT = 2  # more history predicts worse: people change what they do
KINDS_MAX = 20_000  # (user, limit) that are remembered; the longest unused go first
USERS_MAX = 5_000
EVERYBODY = 200  # jobs that the cluster's own proportion is taken from
EVERYBODY_MIN = 10  # fewer say nothing about a stranger
RUN_S_MIN = 1.0
STEP_S_MIN = 60.0  # a job that outlived its prediction is expected to run at least so long in all


class RunTimes:
    def __init__(self) -> None:
        self._of_kind: OrderedDict[tuple[str, float], deque[float]] = OrderedDict()
        self._of_user: OrderedDict[str, deque[float]] = OrderedDict()  # shares of the limit
        self._shares: deque[float] = deque(maxlen=EVERYBODY)
        self._shares_sum = 0.0

    @property
    def known(self) -> bool:
        """Has anything been learned yet?"""
        return bool(self._shares)

    def learn(self, user: str, limit_s: float, ran_s: float) -> None:
        """A job came to its own end; `user` is "" if nobody knows whose it was."""
        if limit_s <= 0:
            return
        share = min(1.0, max(0.0, ran_s) / limit_s)
        if len(self._shares) == EVERYBODY:
            self._shares_sum -= self._shares[0]
        self._shares.append(share)
        self._shares_sum += share
        if user:
            _recent(self._of_kind, (user, limit_s), KINDS_MAX).append(min(limit_s, max(0.0, ran_s)))
            _recent(self._of_user, user, USERS_MAX).append(share)

    def expect(self, user: str, limit_s: float) -> float:
        """How long such a job will run, most likely."""
        if user:
            ran = self._of_kind.get((user, limit_s))
            if ran is not None and len(ran) == RECENT:
                return _within(sum(ran) / RECENT, limit_s)
            shares = self._of_user.get(user)
            if shares is not None:
                return _within(limit_s * sum(shares) / len(shares), limit_s)
        if len(self._shares) >= EVERYBODY_MIN:
            return _within(limit_s * self._shares_sum / len(self._shares), limit_s)
        return limit_s


def outlived(age_s: float, limit_s: float) -> float:
    """How long a job runs in all that is still there after its prediction: twice as long as until now."""
    return min(limit_s, max(STEP_S_MIN, 2 * age_s))


def _within(run_s: float, limit_s: float) -> float:
    return min(limit_s, max(RUN_S_MIN, run_s))


def _recent(known: OrderedDict[_Known, deque[float]], key: _Known, keys_max: int) -> deque[float]:
    found = known.get(key)
    if found is None:
        found = known[key] = deque(maxlen=RECENT)
        if len(known) > keys_max:
            known.popitem(last=False)
    else:
        known.move_to_end(key)
    return found

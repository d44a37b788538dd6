"""Every legal step of a job's life, in one table. The diagram in docs/architecture.md is made from it.

A job is *pending* while the daemon looks for a cluster, *offered* while an
auction runs, *awarded* while the winner has not answered. Up to here nothing
has been promised to a cluster, and losing one costs a new auction and no more.
*assigned* is the point of no return: the acceptance is on disk and `start` may
be on its way, so from here on only the cluster itself can say what became of
the job. It is *queued* and *running* there until it ends.
"""

from enum import StrEnum


class JobState(StrEnum):
    PENDING = "pending"
    OFFERED = "offered"
    AWARDED = "awarded"
    ASSIGNED = "assigned"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    LOST = "lost"


class Trigger(StrEnum):
    OFFER = "offer"
    DECLINE = "decline"
    REJECT = "reject"
    AWARD = "award"
    REFUSE = "refuse"
    ACCEPT = "accept"
    WITHDRAW = "withdraw"
    QUEUE = "queue"
    RUN = "run"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    LOSE = "lose"
    RETURN = "return"


_S, _T = JobState, Trigger
_ENDS = {_T.COMPLETE: _S.COMPLETED, _T.FAIL: _S.FAILED, _T.CANCEL: _S.CANCELLED, _T.LOSE: _S.LOST}

TRANSITIONS: dict[JobState, dict[Trigger, JobState]] = {
    _S.PENDING: {_T.OFFER: _S.OFFERED, _T.REJECT: _S.REJECTED, _T.CANCEL: _S.CANCELLED},
    _S.OFFERED: {_T.AWARD: _S.AWARDED, _T.DECLINE: _S.PENDING, _T.CANCEL: _S.CANCELLED},
    _S.AWARDED: {
        _T.ACCEPT: _S.ASSIGNED,
        _T.AWARD: _S.AWARDED,  # the winner refused, the next bid gets it
        _T.REFUSE: _S.PENDING,  # nobody is left to award it to
        _T.WITHDRAW: _S.PENDING,  # the winner's session ended, or it did not answer in time
        _T.CANCEL: _S.CANCELLED,
    },
    _S.ASSIGNED: {_T.QUEUE: _S.QUEUED, _T.RUN: _S.RUNNING, _T.RETURN: _S.PENDING, **_ENDS},
    _S.QUEUED: {_T.RUN: _S.RUNNING, _T.RETURN: _S.PENDING, **_ENDS},
    _S.RUNNING: {**_ENDS},
    _S.COMPLETED: {},
    _S.FAILED: {},
    _S.CANCELLED: {},
    _S.REJECTED: {},
    _S.LOST: {},
}

TERMINAL = frozenset(state for state, onward in TRANSITIONS.items() if not onward)
# The states in which a cluster has been told to start the job, or is about to be.
STARTED = frozenset({_S.ASSIGNED, _S.QUEUED, _S.RUNNING})


class IllegalTransitionError(AssertionError):
    """A bug in the core: it tried a step that the table does not have."""


def after(state: JobState, trigger: Trigger) -> JobState:
    try:
        return TRANSITIONS[state][trigger]
    except KeyError:
        raise IllegalTransitionError(f"a job that is {state} cannot {trigger}") from None


def legal(state: JobState, trigger: Trigger) -> bool:
    return trigger in TRANSITIONS[state]

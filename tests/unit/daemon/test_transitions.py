"""The table of a job's life."""

import pytest

from rainbow_protocol.job import JOB_STATES, TERMINAL_STATES
from rainbowd.core.transitions import (
    STARTED,
    TERMINAL,
    TRANSITIONS,
    IllegalTransitionError,
    JobState,
    Trigger,
    after,
    legal,
)


def reachable(start: JobState) -> set[JobState]:
    found, todo = {start}, [start]
    while todo:
        for onward in TRANSITIONS[todo.pop()].values():
            if onward not in found:
                found.add(onward)
                todo.append(onward)
    return found


def test_the_wire_and_the_core_spell_the_states_alike_and_in_the_same_order() -> None:
    assert [state.value for state in JobState] == list(JOB_STATES)
    assert {state.value for state in TERMINAL} == TERMINAL_STATES


def test_every_state_has_its_row() -> None:
    assert set(TRANSITIONS) == set(JobState)


def test_every_state_can_be_reached_from_the_first_one() -> None:
    assert reachable(JobState.PENDING) == set(JobState)


def test_every_trigger_is_used() -> None:
    assert {trigger for row in TRANSITIONS.values() for trigger in row} == set(Trigger)


def test_from_every_state_an_end_can_be_reached() -> None:
    for state in JobState:
        assert reachable(state) & TERMINAL, state


@pytest.mark.parametrize("state", sorted(TERMINAL))
@pytest.mark.parametrize("trigger", Trigger)
def test_nothing_leads_out_of_an_end(state: JobState, trigger: Trigger) -> None:
    assert not legal(state, trigger)
    with pytest.raises(IllegalTransitionError, match=f"a job that is {state} cannot {trigger}"):
        after(state, trigger)


def test_every_state_that_is_not_an_end_can_be_cancelled() -> None:
    for state in set(JobState) - TERMINAL:
        assert after(state, Trigger.CANCEL) is JobState.CANCELLED


def test_a_started_job_gets_back_to_pending_only_by_the_cluster_that_returns_it() -> None:
    for state in STARTED:
        back = {trigger for trigger, onward in TRANSITIONS[state].items() if onward not in STARTED | TERMINAL}
        assert back <= {Trigger.RETURN}, state


def test_a_running_job_is_never_given_to_another_cluster() -> None:
    assert set(TRANSITIONS[JobState.RUNNING].values()) <= TERMINAL


def test_a_job_is_started_only_by_an_acceptance() -> None:
    into = {
        trigger for state, row in TRANSITIONS.items() for trigger, onward in row.items()
        if state not in STARTED and onward in STARTED
    }  # fmt: skip
    assert into == {Trigger.ACCEPT}


def test_only_a_job_that_looks_for_a_cluster_can_be_rejected() -> None:
    assert [state for state in JobState if legal(state, Trigger.REJECT)] == [JobState.PENDING]

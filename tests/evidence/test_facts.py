"""What a state of Azure ML means to us; every one has a row, and an unheard-of one is active."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.evidence.facts import OVER_STATES, STATES, ObservedRun, Phase
from controller.values import RunName
from tests.adapters.scratch import NOON

RUN = ObservedRun(RunName("tiny-1"), "", "", {}, 1, None, NOON)
ACTIVE, OVER = Phase.ACTIVE, Phase.OVER
TABLE = [
    ("NotStarted", ACTIVE, False),
    ("Starting", ACTIVE, False),
    ("Provisioning", ACTIVE, False),
    ("Preparing", ACTIVE, False),
    ("Queued", ACTIVE, False),
    ("Running", ACTIVE, False),
    ("Finalizing", ACTIVE, False),
    ("CancelRequested", ACTIVE, False),
    ("Completed", OVER, False),
    ("Failed", OVER, False),
    ("Canceled", OVER, False),
    ("NotResponding", ACTIVE, True),
    ("Paused", ACTIVE, True),
    ("Unknown", ACTIVE, True),
]


@pytest.mark.parametrize(
    ("state", "phase", "strange"),
    [*TABLE, ("Foo", ACTIVE, True), ("", ACTIVE, True), ("completed", ACTIVE, True)],
)
def test_a_state_has_its_phase_and_may_be_strange(state: str, phase: Phase, strange: bool) -> None:
    run = replace(RUN, state=state)
    assert (run.phase, run.strange) == (phase, strange)


def test_the_table_has_azure_mls_states_and_no_other() -> None:
    assert list(STATES) == [state for state, _, _ in TABLE]
    assert {state for state, phase, _ in TABLE if phase is OVER} == OVER_STATES


@pytest.mark.filterwarnings("ignore")
def test_the_sdk_has_the_same_states_but_the_one_for_what_it_does_not_know() -> None:
    from azure.ai.ml.operations._run_history_constants import RunHistoryConstants

    assert set(STATES) == {*RunHistoryConstants.ALL_STATUSES, "Unknown"}

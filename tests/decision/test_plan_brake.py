"""The brake on cancellations: it holds until a person lifts it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decision.plan import Plan
from controller.evidence.facts import Known
from tests.builders import NOW, hold, sound_policy, unavailable
from tests.decision.planning import (
    CANCELS,
    GRANT,
    OLD,
    RUNNING,
    THREE_JOBS,
    THREE_RUNS,
    WIDE,
    planned,
    seen,
)


def draining(number: int, limit: int = 3, **more: Any) -> Plan:
    """Return the plan of a pass that would cancel so many runs."""
    policy = Known(sound_policy(cancels_per_pass=limit, hold=hold(drain=True)), NOW)
    ran = {r: seen(r) for r in THREE_RUNS[:number]}
    return planned(WIDE, *THREE_JOBS[:number], ran=ran, policy=policy, **more)


LATCHED = (
    "this pass would cancel 1 of the active runs and an earlier pass would have cancelled too "
    "many, which nobody has looked at since, so it cancels none; look at them, then "
    "`admit reconcile --max-cancels 1 --reason TEXT`"
)


def test_it_holds_pass_after_pass_also_when_fewer_are_left_to_cancel() -> None:
    assert draining(1).brake == ""
    assert draining(1, latched=True).brake == LATCHED


def test_at_its_limit_it_holds_all_the_same() -> None:
    assert draining(3).brake == ""
    assert "would cancel 3 of the active runs and an earlier pass" in (
        draining(3, latched=True).brake
    )


def test_over_its_limit_it_says_that_of_this_pass() -> None:
    assert "`limits.cancels_per_pass` is 1" in draining(2, limit=1, latched=True).brake


@pytest.mark.parametrize("allowed", [2, 3])
def test_a_person_lifts_it_by_at_least_that_number(allowed: int) -> None:
    assert draining(2, limit=1, latched=True, max_cancels=allowed).brake == ""


def test_a_smaller_number_does_not_lift_it() -> None:
    assert draining(2, limit=9, latched=True, max_cancels=1).brake == (
        "this pass would cancel 2 of the active runs and `--max-cancels` is 1, so it cancels none; "
        "look at them, then `admit reconcile --max-cancels 2 --reason TEXT`"
    )


def test_it_holds_nothing_where_nothing_is_to_be_cancelled() -> None:
    assert planned(GRANT, OLD, ran=RUNNING, latched=True).brake == ""
    assert draining(0, latched=True).brake == ""


def test_what_it_holds_is_planned_all_the_same() -> None:
    assert draining(2, limit=0).actions == draining(2).actions


def test_it_latches_when_it_is_pulled_and_stays_so_until_a_person_says_how_many() -> None:
    assert draining(2, limit=1).latch == "latched"
    assert draining(2, limit=1, latched=True).latch == ""
    assert draining(2, limit=1, latched=True, max_cancels=2).latch == "lifted"
    assert draining(2, limit=1, latched=True, max_cancels=1).latch == ""


def test_that_nothing_is_to_be_cancelled_any_more_does_not_lift_it() -> None:
    assert planned(GRANT, OLD, ran=RUNNING, latched=True).latch == ""
    assert planned(GRANT, OLD, ran=RUNNING, latched=True, max_cancels=0).latch == "lifted"


def test_a_brake_for_want_of_an_answer_does_not_latch() -> None:
    plan = planned(CANCELS, OLD, ran=RUNNING, policy=unavailable())
    assert "no approved policy is known" in plan.brake
    assert plan.latch == ""

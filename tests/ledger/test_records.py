"""What is remembered of each run: what follows from its steps, and which step may follow which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from controller.ledger.records import (
    DEADLINE,
    Attempt,
    CancelAsked,
    Closed,
    Failure,
    Generation,
    OutOfOrderError,
    Over,
    RunRecord,
    Stop,
    cancel_asked,
    failed,
    over,
    released,
    reserved,
    settled,
    stopped,
    submitted,
    tried_again,
)
from controller.values import AdmissionId
from tests.builders import NOW, attempt, record

MINUTE = timedelta(minutes=1)
ENDED = Over("Failed", 100.0, exact=True)
EVICTED = Over("Failed", 100.0, exact=True, preempted=True)
STOP = Stop(NOW, "it diverges", "@ada")
ASKED = CancelAsked(NOW, "withdrawn", "its manifest is gone")
REFUSED = Failure(NOW, "no quota", refused=True)
UNHEARD = Failure(NOW, "timed out", refused=False)
TRIED = attempt(2, submitted_at=None, reserved_at=NOW, deadline=NOW + DEADLINE)

RUNNING = record()
FRESH = record(attempts=(attempt(submitted_at=None),))
OVER = over(RUNNING, EVICTED)
RETRY = tried_again(OVER, TRIED)
RELEASED = released(FRESH, NOW, "no run was started from it")
SETTLED = settled(over(RUNNING, ENDED), NOW, "Failed, no attempt left", exact=True)
STAGES = {
    "reserved": FRESH,
    "submitted": RUNNING,
    "over": OVER,
    "released": RELEASED,
    "settled": SETTLED,
}


def again(admission: str = "bert-pretrain") -> Generation:
    """Return another reservation for the same payload."""
    return replace(FRESH.last, admission=AdmissionId(admission), attempts=(attempt(),))


STEPS: dict[str, tuple[Callable[[RunRecord], RunRecord], set[str]]] = {
    "reserved": (lambda r: reserved(r, r.name, r.fingerprint, again()), {"released"}),
    "failed": (lambda r: failed(r, REFUSED), {"reserved"}),
    "submitted": (lambda r: submitted(r, NOW), {"reserved", "released"}),
    "stopped": (lambda r: stopped(r, STOP), {"reserved", "submitted", "over"}),
    "cancel_asked": (lambda r: cancel_asked(r, ASKED), {"submitted"}),
    "over": (lambda r: over(r, ENDED), {"submitted"}),
    "tried_again": (lambda r: tried_again(r, TRIED), {"over"}),
    "released": (lambda r: released(r, NOW, "why"), {"reserved"}),
    "settled": (
        lambda r: settled(r, NOW, "why", exact=True),
        {"reserved", "submitted", "over"},
    ),
}
"""Every step, and the stages of a first attempt that it may follow."""


def test_each_stage_is_what_it_says() -> None:
    assert {name: r.stage for name, r in STAGES.items()} == {name: name for name in STAGES}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("step", STEPS)
def test_a_step_follows_only_what_it_can_follow(step: str, stage: str) -> None:
    take, allowed = STEPS[step]
    if stage in allowed:
        assert take(STAGES[stage]) != STAGES[stage]
        return
    with pytest.raises(OutOfOrderError, match=rf"`{STAGES[stage].run}` is {stage}"):
        take(STAGES[stage])


class TestAFirstReservation:
    def test_it_makes_the_record(self) -> None:
        new = FRESH.last
        made = reserved(None, FRESH.name, FRESH.fingerprint, new)
        assert made == RunRecord(FRESH.name, FRESH.fingerprint, (new,))
        assert (made.stage, made.active, made.settled) == ("reserved", True, False)
        assert (made.reserved, made.charged, made.used) == (960, 960, None)

    def test_one_of_another_payload_is_refused(self) -> None:
        for name, fingerprint in (("other", RELEASED.fingerprint), (RELEASED.name, "0" * 64)):
            with pytest.raises(OutOfOrderError, match="so nothing more is set aside"):
                reserved(RELEASED, name, fingerprint, again())  # type: ignore[arg-type]


class TestReleased:
    def test_nothing_is_charged_any_more(self) -> None:
        assert RELEASED.last.closed == Closed("released", NOW, "no run was started from it")
        assert (RELEASED.active, RELEASED.settled) == (False, False)
        assert (RELEASED.used, RELEASED.charged) == (0.0, 0.0)

    def test_a_new_reservation_is_a_new_generation_maybe_of_another_admission(self) -> None:
        later = reserved(RELEASED, RELEASED.name, RELEASED.fingerprint, again("other"))
        assert later.generations == (*RELEASED.generations, again("other"))
        assert (later.admission, later.stage, later.run) == ("other", "submitted", RELEASED.run)

    def test_a_run_that_shows_up_late_is_charged_in_a_generation_of_its_own(self) -> None:
        late = submitted(RELEASED, NOW)
        assert late.generations[:-1] == RELEASED.generations
        assert late.last == replace(FRESH.last, attempts=(attempt(submitted_at=NOW),))
        assert (late.stage, late.active, late.charged) == ("submitted", True, 960)

    def test_a_retry_is_not_given_back_whole(self) -> None:
        with pytest.raises(OutOfOrderError, match="is a retry: its reservation is used in part"):
            released(RETRY, NOW, "why")


class TestAttempts:
    def test_a_retry_has_its_own_name_and_deadline_and_the_same_reservation(self) -> None:
        assert RETRY.last.attempts == (replace(attempt(), over=EVICTED), TRIED)
        assert (RETRY.stage, RETRY.attempts) == ("reserved", 2)
        assert RETRY.run == f"{RUNNING.run}-a2"
        assert (RETRY.reserved, RETRY.started_at) == (960, RUNNING.started_at)
        assert RETRY.last.spent == 100.0

    @pytest.mark.parametrize("number", [1, 3])
    def test_attempts_are_counted(self, number: int) -> None:
        with pytest.raises(OutOfOrderError, match=f"is not followed by attempt {number}"):
            tried_again(OVER, replace(TRIED, number=number))

    def test_one_that_was_never_submitted_is_prepared_again_and_its_failures_stay(self) -> None:
        tired = failed(RETRY, UNHEARD)
        later = replace(TRIED, reserved_at=NOW + 30 * MINUTE)
        second = tried_again(tired, later)
        assert second.last.attempts == (
            RETRY.last.attempts[0],
            replace(later, failures=(UNHEARD,)),
        )

    def test_one_that_was_never_submitted_is_not_skipped(self) -> None:
        with pytest.raises(OutOfOrderError, match="is not followed by attempt 3"):
            tried_again(RETRY, replace(TRIED, number=3))

    def test_the_bound_is_one_attempt_that_runs_into_its_limit(self) -> None:
        assert RUNNING.last.bound == 480.0

    def test_more_than_was_set_aside_counts(self) -> None:
        long = over(RUNNING, replace(ENDED, gpu_hours=1000.0))
        assert (long.reserved, long.charged) == (1000.0, 1000.0)


class TestSettled:
    def charged(self, before: RunRecord) -> tuple[float | None, float]:
        done = settled(before, NOW, "why", exact=True)
        assert (done.stage, done.active, done.settled) == ("settled", False, True)
        return done.used, done.charged

    def test_at_what_its_attempts_came_to(self) -> None:
        both = over(submitted(RETRY, NOW), replace(ENDED, gpu_hours=50.0))
        assert self.charged(both) == (150.0, 150.0)

    def test_an_attempt_that_is_not_over_at_its_bound(self) -> None:
        assert self.charged(RUNNING) == (480.0, 480.0)
        assert self.charged(submitted(RETRY, NOW)) == (580.0, 580.0)

    def test_one_that_never_started_at_nothing(self) -> None:
        assert self.charged(FRESH) == (0.0, 0.0)
        assert self.charged(RETRY) == (100.0, 100.0)

    def test_it_says_whether_it_is_exact(self) -> None:
        done = settled(RUNNING, NOW, "vanished", exact=False)
        assert done.last.closed == Closed("settled", NOW, "vanished", 480.0, exact=False)


class TestWords:
    def test_the_first_stop_stays(self) -> None:
        other = replace(STOP, reason="no, it does not")
        assert stopped(stopped(RUNNING, STOP), other).attempt.stop == STOP

    def test_the_first_request_to_end_stays(self) -> None:
        other = replace(ASKED, at=NOW + MINUTE)
        assert cancel_asked(cancel_asked(RUNNING, ASKED), other).attempt.cancel == ASKED

    def test_a_submission_keeps_its_time_and_an_end_its_facts(self) -> None:
        done = over(submitted(FRESH, NOW), ENDED)
        assert (done.attempt.submitted_at, done.attempt.over) == (NOW, ENDED)


class TestFailures:
    def test_they_are_counted_over_generations_until_one_is_submitted(self) -> None:
        first = released(failed(failed(FRESH, REFUSED), UNHEARD), NOW, "why")
        new = replace(again(), attempts=(attempt(submitted_at=None),))
        second = failed(reserved(first, first.name, first.fingerprint, new), REFUSED)
        assert second.failures == (REFUSED, UNHEARD, REFUSED)
        assert submitted(second, NOW).failures == ()

    def test_a_retry_begins_with_none(self) -> None:
        tired = tried_again(over(submitted(failed(FRESH, REFUSED), NOW), EVICTED), TRIED)
        assert tired.failures == ()
        assert failed(tired, UNHEARD).failures == (UNHEARD,)


def test_what_it_is_of_comes_from_the_generation_that_counts() -> None:
    later = reserved(RELEASED, RELEASED.name, RELEASED.fingerprint, again("other"))
    said = (later.admission, later.path, later.nodes, later.gpus_per_node, later.attempts)
    assert said == ("other", RELEASED.path, 2, 8, 1)
    assert isinstance(later.attempt, Attempt)

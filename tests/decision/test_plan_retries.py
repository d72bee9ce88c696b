"""The table of planning: an attempt that lost its machine is tried again, or is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from controller.decision.actions import Cancel, Keep, Settle, Submit
from controller.decision.plan import kind_of
from controller.evidence.facts import Known
from controller.ledger.records import CancelAsked, Failure, RunRecord, Stop
from controller.values import RunName
from tests.builders import (
    ADMISSION,
    JOB,
    NOW,
    problem,
    sound_admission,
    sound_manifest,
)
from tests.decision.planning import (
    BERT,
    DENIED,
    DOUBTED,
    EVICTED,
    GRANT,
    HOUR,
    LOST,
    MINUTE,
    NEW,
    NEW_RUN,
    OLD,
    OLD_RUN,
    PREEMPTED,
    RAN,
    RUNNING,
    WAITING,
    WIDE,
    brief,
    planned,
    removal,
    run_of,
    seen,
    small,
    started,
    tried,
)

SECOND_RUN = RunName(f"{OLD_RUN}-a2")
GONE = 25 * MINUTE + timedelta(seconds=1)
NO_MORE = "Failed: preempted, and no retry is allowed any more"


def retry(*, ago: timedelta, **changes: Any) -> RunRecord:
    """Return the record of a second attempt that was prepared so long ago and not submitted."""
    second = tried(2, ago=ago, submitted_at=None, **changes)
    return started(OLD, attempts=(PREEMPTED, second))


def lost(**changes: Any) -> RunRecord:
    """Return the record whose preempted attempt differs by `changes`."""
    return started(OLD, attempts=(replace(PREEMPTED, **changes),))


class TestPreempted:
    def test_met__submit_the_second_attempt_from_the_same_reservation(self) -> None:
        plan = planned(GRANT, OLD, ran=WAITING)
        why = "attempt 2 of 2: the one before was preempted"
        submit = Submit(SECOND_RUN, JOB, BERT, OLD.payload.fingerprint, 960.0, why, attempt=2)
        assert plan.actions == (submit,)
        assert (plan.balances[BERT].reserved, plan.balances[BERT].used) == (960, 0)

    def test_seen_for_the_first_time_in_this_pass__submit(self) -> None:
        shown = seen(RAN, "Failed", preempted=True, ended_at=NOW, reason="evicted")
        plan = planned(GRANT, OLD, ran={RAN: shown})
        assert brief(plan.actions) == [("submit", SECOND_RUN)]
        (record,) = plan.records
        end = record.attempt.over
        assert end == replace(EVICTED, gpu_hours=16.0, started_at=shown.started_at, ended_at=NOW)

    @pytest.mark.parametrize(("answers", "outcome"), [(DENIED, ()), (DOUBTED, ("undecided",))])
    def test_not_met__withhold_and_keep_the_reservation(self, answers: Any, outcome: Any) -> None:
        plan = planned(GRANT, OLD, ran=WAITING, approvals=answers)
        assert brief(plan.actions) == [("withhold", OLD_RUN, *(outcome or ("owner-approval",)))]
        assert plan.balances[BERT].reserved == 960

    def test_no_room_is_taken_twice__submit_beside_another_start(self) -> None:
        grant = sound_admission(gpu_hours=1160, max_nodes=3)
        plan = planned(grant, OLD, small(1), ran=WAITING)
        assert brief(plan.actions) == [("submit", SECOND_RUN), ("submit", run_of(small(1)))]

    def test_an_older_run_of_its_name_ends_when_the_retry_is_recorded(self) -> None:
        other = started(NEW)
        ran = {**WAITING, other: seen(other)}
        plan = planned(sound_admission(gpu_hours=2000, max_nodes=4), OLD, ran=ran)
        assert brief(plan.actions) == [
            ("submit", SECOND_RUN),
            ("cancel", NEW_RUN, "superseded", SECOND_RUN),
        ]

    def test_ended_by_itself__settle(self) -> None:
        ended = lost(over=replace(EVICTED, preempted=False))
        plan = planned(GRANT, OLD, ran={ended: None})
        assert plan.actions == (Settle(OLD_RUN, 100.0, "Failed, no attempt left"),)

    def test_ended_by_somebody_else__settle(self) -> None:
        ended = lost(over=replace(EVICTED, state="Canceled", preempted=False))
        plan = planned(GRANT, OLD, ran={ended: None})
        why = "Canceled, but not by us: somebody else ended it, and it is not started again"
        assert plan.actions == (Settle(OLD_RUN, 100.0, why),)


class TestNoMore:
    def settled(self, record: RunRecord = LOST, *documents: Any, **more: Any) -> str:
        """Return why a run that was preempted is settled at what it used."""
        plan = planned(*(documents or (GRANT, OLD)), ran={record: None}, **more)
        settles = [a for a in plan.actions if isinstance(a, Settle)]
        assert [(a.run, a.gpu_hours, a.bound) for a in settles] == [
            (record.run, record.last.spent, False)
        ]
        assert not [a for a in plan.actions if isinstance(a, Submit)]
        return settles[0].why

    def test_no_attempt_is_left(self) -> None:
        both = (PREEMPTED, tried(2, ago=5 * HOUR, over=EVICTED))
        assert self.settled(started(OLD, attempts=both)) == NO_MORE

    def test_none_was_set_aside_for(self) -> None:
        assert self.settled(started(OLD, attempts=(PREEMPTED,), retries=0)) == NO_MORE

    def test_the_last_approved_grant_allows_none_any_more(self) -> None:
        lowered = sound_admission(retries=0)
        assert self.settled(LOST, lowered, OLD) == NO_MORE
        assert self.settled(governing={BERT: Known(lowered, NOW)}) == NO_MORE

    def test_more_retries_granted_later_are_not_those_set_aside_for(self) -> None:
        both = (PREEMPTED, tried(2, ago=5 * HOUR, over=EVICTED))
        assert self.settled(started(OLD, attempts=both), sound_admission(retries=9), OLD) == NO_MORE

    @pytest.mark.parametrize("end", ["cancel", "finish"])
    def test_its_admission_expired(self, end: Any) -> None:
        expired = sound_admission(expires=date(2026, 11, 29), on_expiry=end)
        assert self.settled(LOST, expired, OLD) == NO_MORE

    def test_on_the_last_day_it_is_tried_again(self) -> None:
        today = sound_admission(expires=date(2026, 11, 30))
        assert brief(planned(today, OLD, ran=WAITING).actions) == [("submit", SECOND_RUN)]

    def test_it_was_asked_to_end(self) -> None:
        ended = lost(cancel=CancelAsked(NOW - HOUR, "withdrawn", "its manifest is gone"))
        assert self.settled(ended) == NO_MORE

    def test_somebody_stopped_it(self) -> None:
        ended = lost(stop=Stop(NOW - HOUR, "it diverges", "@ada"))
        assert self.settled(ended) == NO_MORE

    def test_the_hours_that_are_left_are_too_few(self) -> None:
        enough = lost(over=replace(EVICTED, gpu_hours=480.0))
        assert brief(planned(GRANT, OLD, ran={enough: None}).actions) == [("submit", SECOND_RUN)]
        self.settled(lost(over=replace(EVICTED, gpu_hours=480.5)))

    def test_its_manifest_names_another_admission_now_and_that_is_approved(self) -> None:
        moved = sound_manifest(admission="other")
        assert self.settled(LOST, GRANT, sound_admission("other"), moved) == NO_MORE

    def test_the_manifest_was_removed_and_that_approved(self) -> None:
        assert self.settled(LOST, GRANT, approvals=removal(JOB, "@ada")) == NO_MORE

    def test_the_manifest_was_removed_and_two_passes_saw_it(self) -> None:
        sightings = {OLD_RUN: NOW - 10 * MINUTE}
        why = self.settled(LOST, GRANT, approvals=removal(JOB), sightings=sightings)
        assert why == NO_MORE

    def test_the_admission_was_removed_and_that_approved(self) -> None:
        answers = removal(ADMISSION, "@ada")
        governing = {BERT: Known(GRANT, NOW)}
        assert self.settled(LOST, OLD, approvals=answers, governing=governing) == NO_MORE

    def test_the_manifest_asks_for_another_payload_and_that_is_approved(self) -> None:
        plan = planned(WIDE, NEW, ran=WAITING)
        assert plan.actions == (Settle(OLD_RUN, 100.0, NO_MORE), *planned(WIDE, NEW).actions)


class TestTheSecondAttemptIsPrepared:
    def test_met_and_its_own_deadline_open__submit_under_it(self) -> None:
        plan = planned(GRANT, OLD, ran={retry(ago=MINUTE): None})
        why = "reserved by `bert-pretrain` at 19:59 UTC, and not submitted"
        fingerprint = OLD.payload.fingerprint
        submit = Submit(SECOND_RUN, JOB, BERT, fingerprint, 960.0, why, attempt=2, reserved=True)
        assert plan.actions == (submit,)

    def test_it_runs_already__keep(self) -> None:
        record = retry(ago=MINUTE)
        plan = planned(GRANT, OLD, ran={record: seen(record)})
        assert plan.actions == (Keep(SECOND_RUN, "Running, admitted by `bert-pretrain`"),)

    def test_between_deadline_and_margin__withhold(self) -> None:
        plan = planned(GRANT, OLD, ran={retry(ago=20 * MINUTE): None})
        assert brief(plan.actions) == [("withhold", SECOND_RUN, "undecided")]

    def test_after_the_margin_and_met__it_is_prepared_once_more_under_its_number(self) -> None:
        plan = planned(GRANT, OLD, ran={retry(ago=GONE): None})
        why = "attempt 2 of 2: the one before was preempted"
        submit = Submit(SECOND_RUN, JOB, BERT, OLD.payload.fingerprint, 960.0, why, attempt=2)
        assert plan.actions == (submit,)

    def test_after_the_margin_and_not_met__withhold(self) -> None:
        plan = planned(GRANT, OLD, ran={retry(ago=GONE): None}, approvals=DENIED)
        assert [kind_of(a) for a in plan.actions] == ["withhold"]

    def test_after_the_margin_and_its_manifest_is_broken__keep(self) -> None:
        broken = {"broken": {JOB: (problem(JOB),)}}
        (keep,) = planned(GRANT, ran={retry(ago=GONE): None}, catalog=broken).actions
        assert brief([keep]) == [("keep", SECOND_RUN, "undecided")]

    def test_after_the_margin_and_no_retry_is_allowed__settle_and_never_release(self) -> None:
        expired = sound_admission(expires=date(2026, 11, 29))
        plan = planned(expired, OLD, ran={retry(ago=GONE): None})
        why = (
            "no retry is allowed any more; "
            "no run was started from its reservation of 2026-11-30 19:34 UTC"
        )
        assert plan.actions == (Settle(SECOND_RUN, 100.0, why),)

    def test_its_failed_submissions_make_it_wait__withhold(self) -> None:
        failing = (Failure(NOW, "no quota", refused=True),)
        for ago in (MINUTE, GONE):
            plan = planned(GRANT, OLD, ran={retry(ago=ago, failures=failing): None})
            assert brief(plan.actions) == [("withhold", SECOND_RUN, "undecided")]

    def test_both_attempts_are_charged(self) -> None:
        record = started(OLD, attempts=(PREEMPTED, tried(2, ago=HOUR)))
        over = seen(record, "Completed", ended_at=NOW)
        plan = planned(GRANT, OLD, ran={record: over})
        assert plan.actions == (Settle(SECOND_RUN, 116.0, "Completed, no attempt left"),)


class TestMoreIsCommittedThanGranted:
    def test_what_waits_for_a_retry_yields_before_what_runs(self) -> None:
        running = started(small(1), started_at=NOW - HOUR)
        ran = {**WAITING, running: seen(running)}
        plan = planned(sound_admission(gpu_hours=400, max_nodes=9), OLD, small(1), ran=ran)
        assert brief(plan.actions) == [("keep", running.run), ("withhold", OLD_RUN, "gpu-budget")]

    def test_what_it_used_already_counts(self) -> None:
        running = started(small(1), started_at=NOW - HOUR)
        ran = {**WAITING, running: seen(running)}
        for granted, end in ((300, "keep"), (299, "cancel")):
            grant = sound_admission(gpu_hours=granted, max_nodes=9)
            plan = planned(grant, OLD, small(1), ran=ran)
            assert kind_of(next(a for a in plan.actions if a.run == running.run)) == end


def test_a_retry_is_never_submitted_while_the_attempt_before_runs() -> None:
    plan = planned(GRANT, OLD, ran=RUNNING)
    assert not [a for a in plan.actions if isinstance(a, Submit | Cancel)]

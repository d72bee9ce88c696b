"""The table of planning: a run was asked to end, or is to, or is nowhere to be seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.decision.actions import Cancel, Keep, Settle, Withhold
from controller.evidence.facts import Known
from controller.ledger.records import CancelAsked, RunRecord, Stop
from controller.values import RunName
from tests.builders import JOB, NOW, hold, problem, sound_admission, sound_policy, unavailable
from tests.decision.planning import (
    BERT,
    CANCELS,
    GRANT,
    HOUR,
    MINUTE,
    NEW,
    NEW_RUN,
    OLD,
    OLD_RUN,
    PREEMPTED,
    RAN,
    WIDE,
    brief,
    planned,
    removal,
    run_of,
    seen,
    set_aside,
    small,
    started,
    tried,
)

SECOND = timedelta(seconds=1)
STOP = Stop(NOW - MINUTE, "it diverges", "@ada")


def asked_to_end(ago: timedelta = 5 * MINUTE) -> RunRecord:
    """Return the record of a run that was asked to end so long ago."""
    cancel = CancelAsked(NOW - ago, "withdrawn", "its manifest is gone")
    return started(OLD, attempts=(tried(1, ago=2 * HOUR, cancel=cancel),))


def stopped(**changes: Any) -> RunRecord:
    """Return the record of a run that @ada stopped."""
    return started(OLD, attempts=(tried(1, ago=HOUR, stop=STOP, **changes),))


class TestAskedToEnd:
    @pytest.mark.parametrize("state", ["Running", "CancelRequested", "Finalizing", "Hibernating"])
    def test_it_goes_on_for_now__keep(self, state: str) -> None:
        record = asked_to_end()
        why = f"{state}; it was asked to end at 2026-11-30 19:55 UTC (withdrawn)"
        plan = planned(GRANT, OLD, ran={record: seen(record, state)})
        assert plan.actions == (Keep(OLD_RUN, why),)

    @pytest.mark.parametrize(("ago", "overdue"), [(HOUR, False), (HOUR + SECOND, True)])
    def test_for_more_than_an_hour__keep_overdue(self, ago: timedelta, overdue: bool) -> None:
        record = asked_to_end(ago)
        (keep,) = planned(GRANT, OLD, ran={record: seen(record)}).actions
        assert isinstance(keep, Keep)
        assert keep.overdue == overdue
        do = ", more than an hour ago: end it in the workspace by hand"
        assert keep.why.endswith(do if overdue else "UTC (withdrawn)")

    def test_whatever_else_would_end_it__it_is_never_asked_twice(self) -> None:
        record = asked_to_end(5 * HOUR)
        drain = Known(sound_policy(hold=hold(drain=True)), NOW)
        less = sound_admission(gpu_hours=1, on_expiry="cancel", expires=CANCELS.expires)
        answers = removal(JOB, "@ada")
        for documents in ((less,), (less, OLD), (less, NEW)):
            plan = planned(*documents, ran={record: seen(record)}, policy=drain, approvals=answers)
            assert not [a for a in plan.actions if isinstance(a, Cancel)]
            assert plan.brake == ""

    def test_its_room_is_counted_on__another_of_its_name_waits_for_it(self) -> None:
        record = asked_to_end()
        plan = planned(GRANT, NEW, ran={record: seen(record)})
        assert brief(plan.actions) == [
            ("keep", OLD_RUN),
            ("withhold", NEW_RUN, "nodes-granted", "gpu-budget"),
        ]

    def test_it_is_over__settle_and_say_what_ended_it(self) -> None:
        record = asked_to_end()
        over = seen(record, "Canceled", ended_at=NOW)
        plan = planned(GRANT, OLD, ran={record: over})
        assert plan.actions == (Settle(OLD_RUN, 32.0, "Canceled (withdrawn), no attempt left"),)

    def test_it_completed_all_the_same__settle(self) -> None:
        record = asked_to_end()
        over = seen(record, "Completed", ended_at=NOW)
        plan = planned(GRANT, OLD, ran={record: over})
        assert plan.actions == (Settle(OLD_RUN, 32.0, "Completed, no attempt left"),)

    def test_a_machine_that_is_taken_away_then_is_no_preemption__settle(self) -> None:
        record = asked_to_end()
        over = seen(record, "Failed", ended_at=NOW, preempted=True)
        plan = planned(GRANT, OLD, ran={record: over})
        assert plan.actions == (Settle(OLD_RUN, 32.0, "Failed, no attempt left"),)


class TestStopped:
    def test_it_runs__cancel(self) -> None:
        record = stopped()
        why = "@ada stopped it: it diverges"
        plan = planned(GRANT, OLD, ran={record: seen(record)})
        assert plan.actions == (Cancel(OLD_RUN, "stopped", why),)

    @pytest.mark.parametrize("more", [{}, {"latched": True}, {"policy": unavailable()}])
    def test_no_brake_holds_what_a_person_stopped(self, more: Any) -> None:
        record = stopped()
        nobody = {"policy": Known(sound_policy(cancels_per_pass=0), NOW)}
        plan = planned(GRANT, OLD, ran={record: seen(record)}, **{**nobody, **more})
        assert brief(plan.actions) == [("cancel", OLD_RUN, "stopped")]
        assert plan.brake == ""

    def test_it_counts_for_no_brake_beside_others(self) -> None:
        record, other = stopped(), started(small(1))
        ran = {record: seen(record), other: seen(other)}
        one = Known(sound_policy(cancels_per_pass=1, hold=hold(drain=True)), NOW)
        plan = planned(WIDE, OLD, small(1), ran=ran, policy=one)
        assert brief(plan.actions) == [
            ("cancel", OLD_RUN, "stopped"),
            ("cancel", run_of(small(1)), "drained"),
        ]
        assert plan.brake == ""
        none = Known(sound_policy(cancels_per_pass=0, hold=hold(drain=True)), NOW)
        braked = planned(WIDE, OLD, small(1), ran=ran, policy=none)
        assert "would cancel 1 of the active runs" in braked.brake

    def test_it_expired_and_its_budget_is_gone_as_well__stopped_is_the_cause(self) -> None:
        record = stopped()
        less = sound_admission(gpu_hours=1, on_expiry="cancel", expires=CANCELS.expires)
        plan = planned(less, OLD, ran={record: seen(record)})
        assert brief(plan.actions) == [("cancel", OLD_RUN, "stopped")]

    def test_it_ended_by_that__settle_and_say_so(self) -> None:
        record = stopped()
        over = seen(record, "Canceled", ended_at=NOW)
        plan = planned(GRANT, OLD, ran={record: over})
        assert plan.actions == (Settle(OLD_RUN, 16.0, "Canceled (stopped), no attempt left"),)

    def test_it_was_asked_to_end__keep(self) -> None:
        cancel = CancelAsked(NOW, "stopped", "@ada stopped it")
        record = stopped(cancel=cancel)
        assert brief(planned(GRANT, OLD, ran={record: seen(record)}).actions) == [("keep", OLD_RUN)]

    def test_it_never_started__keep_then_settle_and_never_submit(self) -> None:
        waiting = set_aside(OLD, ago=MINUTE)
        waiting = replace(
            waiting,
            generations=(replace(waiting.last, attempts=(replace(waiting.attempt, stop=STOP),)),),
        )
        why = "it was stopped; its reservation is given back after 20:24 UTC"
        assert planned(GRANT, OLD, ran={waiting: None}).actions == (Keep(OLD_RUN, why),)
        later = planned(GRANT, OLD, ran={waiting: None}, now=NOW + HOUR)
        why = "stopped before it started: it diverges"
        assert later.actions == (Settle(OLD_RUN, 0.0, why),)

    def test_it_never_started_and_shows_up_all_the_same__cancel(self) -> None:
        record = stopped(submitted_at=None)
        plan = planned(GRANT, OLD, ran={record: seen(record)})
        assert brief(plan.actions) == [("cancel", OLD_RUN, "stopped")]

    def test_a_retry_that_never_started__settle_at_what_was_used(self) -> None:
        second = tried(2, ago=HOUR, submitted_at=None, stop=STOP)
        record = started(OLD, attempts=(PREEMPTED, second))
        plan = planned(GRANT, OLD, ran={record: None})
        run = RunName(f"{OLD_RUN}-a2")
        settle = Settle(run, 100.0, "stopped before it started: it diverges")
        assert plan.actions == (settle,)
        broken = {"broken": {JOB: (problem(JOB),)}}
        assert planned(GRANT, ran={record: None}, catalog=broken).actions == (settle,)


class TestVanished:
    LIMIT = 30 * HOUR + 10 * MINUTE
    WHY = "vanished: it was submitted, and the workspace says that it does not exist"

    @pytest.mark.parametrize("ago", [HOUR, LIMIT - SECOND])
    def test_before_its_time_limit_has_passed__keep(self, ago: timedelta) -> None:
        record = started(OLD, attempts=(tried(1, ago=ago),))
        keep = Keep(OLD_RUN, self.WHY, undecided=True, doubt="vanished")
        assert planned(GRANT, OLD, ran={record: None}).actions == (keep,)

    def test_after_that__settle_at_its_bound_and_never_submit_again(self) -> None:
        record = started(OLD, attempts=(tried(1, ago=self.LIMIT),))
        why = self.WHY + "; its time limit has passed"
        settle = Settle(OLD_RUN, 480.0, why, bound=True)
        assert planned(GRANT, OLD, ran={record: None}).actions == (settle,)

    def test_what_the_attempts_before_used_is_charged_too(self) -> None:
        record = started(OLD, attempts=(PREEMPTED, tried(2, ago=self.LIMIT)))
        (settle,) = planned(GRANT, OLD, ran={record: None}).actions
        assert isinstance(settle, Settle)
        assert (settle.gpu_hours, settle.bound) == (580.0, True)

    def test_the_manifest_is_gone_as_well__keep(self) -> None:
        plan = planned(GRANT, ran={RAN: None}, approvals=removal(JOB, "@ada"))
        assert plan.actions == (Keep(OLD_RUN, self.WHY, undecided=True, doubt="vanished"),)

    def test_it_is_another_workspace_s__keep_as_not_asked(self) -> None:
        record = started(OLD, workspace="local:there", attempts=(tried(1, ago=99 * HOUR),))
        elsewhere = unavailable("it is of another workspace, `local:there`")
        plan = planned(GRANT, OLD, ran={record: elsewhere})
        why = "its state could not be asked: it is of another workspace, `local:there`"
        assert plan.actions == (Keep(OLD_RUN, why, undecided=True, doubt="not-asked"),)
        assert plan.balances[BERT].reserved == 960


@pytest.mark.parametrize("state", ["NotResponding", "Paused", "Unknown", "Hibernating"])
def test_a_state_that_may_not_last_counts_as_active_and_is_said(state: str) -> None:
    plan = planned(GRANT, OLD, ran={RAN: seen(RAN, state)})
    why = f"{state}, a state that may not last; it counts as active, admitted by `bert-pretrain`"
    assert plan.actions == (Keep(OLD_RUN, why),)
    assert not [a for a in plan.actions if isinstance(a, Withhold)]

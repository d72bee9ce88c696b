"""The table of planning: hours were set aside and nothing was submitted, as far as is recorded."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.decision.actions import Keep, Release, Settle, Submit, Withhold
from controller.decision.plan import kind_of
from controller.evidence.facts import Known
from controller.ledger.records import RunRecord
from tests.builders import (
    ADMISSION,
    JOB,
    NOW,
    problem,
    sound_admission,
    sound_catalog,
    sound_manifest,
    sound_policy,
    unavailable,
)
from tests.decision.planning import (
    BERT,
    DENIED,
    DOUBTED,
    GRANT,
    MINUTE,
    NEW,
    NEW_RUN,
    OLD,
    OLD_RUN,
    RAN,
    RUNNING,
    WIDE,
    asked,
    brief,
    given_back,
    plan_of,
    planned,
    removal,
    run_of,
    seen,
    set_aside,
    small,
    started,
)

SECOND = timedelta(seconds=1)
OPEN, CLOSED, GONE = 15 * MINUTE - SECOND, 15 * MINUTE, 25 * MINUTE + SECOND
HELD = set_aside(OLD, ago=5 * MINUTE)
LATE = set_aside(OLD, ago=CLOSED)
DEAD = set_aside(OLD, ago=GONE)
BACK = given_back(DEAD)
SINCE = "no run was started from its reservation of 2026-11-30 19:34 UTC"


class TestDeadlineOpen:
    def test_met__submit_under_that_reservation(self) -> None:
        plan = planned(GRANT, OLD, ran={HELD: None})
        why = "reserved by `bert-pretrain` at 19:55 UTC, and not submitted"
        submit = Submit(OLD_RUN, JOB, BERT, OLD.payload.fingerprint, 960.0, why, reserved=True)
        assert plan.actions == (submit,)
        assert plan.balances[BERT].reserved == 960
        assert plan.records == (HELD,)

    def test_the_last_second_counts__submit(self) -> None:
        (submit,) = planned(GRANT, OLD, ran={set_aside(OLD, ago=OPEN): None}).actions
        assert isinstance(submit, Submit)
        assert submit.reserved

    def test_it_does_not_take_its_room_twice__another_starts_beside_it(self) -> None:
        ran = {set_aside(small(1), ago=MINUTE): None}
        plan = planned(sound_admission(gpu_hours=400), small(1), small(2), ran=ran)
        assert brief(plan.actions) == [("submit", run_of(small(1))), ("submit", run_of(small(2)))]

    def test_it_leaves_room_enough_that_an_older_run_is_not_ended_for_more(self) -> None:
        old, new = small(2), small(2, rerun="2", timeout=67_500)
        ran = {set_aside(small(1), ago=MINUTE): None, started(old): seen(started(old))}
        plan = planned(sound_admission(gpu_hours=520), small(1), new, ran=ran)
        cancel = ("cancel", run_of(old), "superseded")
        assert brief(plan.changes) == [cancel, ("submit", run_of(small(1)))]

    @pytest.mark.parametrize(("answers", "outcome"), [(DENIED, "UNMET"), (DOUBTED, "UNDECIDED")])
    def test_not_met__withhold_with_every_finding(self, answers: Any, outcome: str) -> None:
        narrow = sound_admission(images=()) if outcome == "UNMET" else GRANT
        (withheld,) = planned(narrow, OLD, ran={HELD: None}, approvals=answers).actions
        rules = ("owner-approval", "image-granted") if outcome == "UNMET" else ("owner-approval",)
        expected = Withhold(JOB, OLD_RUN, withheld.why, rules, undecided=outcome == "UNDECIDED")
        assert withheld == expected
        assert all(f"{rule}: " in withheld.why for rule in rules)

    def test_its_manifest_names_another_admission__withhold_until_it_is_given_back(
        self,
    ) -> None:
        moved = sound_manifest(admission="other")
        plan = planned(GRANT, sound_admission("other"), moved, ran={HELD: None})
        why = "`bert-pretrain` reserved for it, until 20:20 UTC"
        assert plan.actions == (Withhold(JOB, OLD_RUN, why, undecided=True),)

    def test_the_manifest_is_gone__keep_the_reservation_until_then(self) -> None:
        plan = planned(GRANT, ran={HELD: None}, approvals=removal(JOB, "@ada"))
        why = "nothing asks for it any more; its reservation is given back after 20:20 UTC"
        assert plan.actions == (Keep(OLD_RUN, why),)

    def test_the_manifest_asks_for_another_payload__both_rows(self) -> None:
        plan = planned(WIDE, NEW, ran={HELD: None})
        assert brief(plan.actions) == [("submit", NEW_RUN), ("keep", OLD_RUN)]

    def test_the_manifest_was_moved__submit_from_where_it_is(self) -> None:
        moved = sound_manifest("jobs/bert/moved.yml")
        (submit,) = planned(GRANT, moved, ran={HELD: None}).actions
        assert isinstance(submit, Submit)
        assert (submit.path, submit.reserved) == (moved.path, True)


class TestBetweenDeadlineAndMargin:
    @pytest.mark.parametrize("ago", [CLOSED, GONE - SECOND])
    def test_met__withhold_undecided(self, ago: timedelta) -> None:
        why = "the deadline of its reservation is over, and a late submission may still show up"
        plan = planned(GRANT, OLD, ran={set_aside(OLD, ago=ago): None})
        assert plan.actions == (Withhold(JOB, OLD_RUN, why, undecided=True),)

    def test_not_met__withhold_with_every_finding(self) -> None:
        plan = planned(GRANT, OLD, ran={LATE: None}, approvals=DENIED)
        assert brief(plan.actions) == [("withhold", OLD_RUN, "owner-approval")]

    def test_the_manifest_is_gone__keep(self) -> None:
        plan = planned(GRANT, ran={LATE: None}, approvals=removal(JOB, "@ada"))
        why = "nothing asks for it any more; its reservation is given back after 20:10 UTC"
        assert plan.actions == (Keep(OLD_RUN, why),)


class TestAfterTheMargin:
    def test_met__release_and_submit_with_a_new_reservation(self) -> None:
        plan = planned(GRANT, OLD, ran={DEAD: None})
        submit = planned(GRANT, OLD).actions
        assert plan.actions == (Release(OLD_RUN, SINCE), *submit)
        assert isinstance(submit[0], Submit)
        assert not submit[0].reserved

    def test_met_under_another_admission__release_and_submit(self) -> None:
        moved = sound_manifest(admission="other")
        plan = planned(GRANT, sound_admission("other"), moved, ran={DEAD: None})
        assert [kind_of(a) for a in plan.actions] == ["release", "submit"]
        assert isinstance(submit := plan.actions[1], Submit)
        assert submit.admission == "other"

    def test_what_is_given_back_is_taken_once(self) -> None:
        ran = {set_aside(small(1), ago=GONE): None}
        both = planned(sound_admission(gpu_hours=400), small(1), small(2), ran=ran)
        assert [kind_of(a) for a in both.actions] == ["release", "submit", "submit"]
        one = planned(sound_admission(gpu_hours=399), small(1), small(2), ran=ran)
        assert [kind_of(a) for a in one.actions] == ["release", "submit", "withhold"]

    def test_not_met__release_and_withhold(self) -> None:
        plan = planned(GRANT, OLD, ran={DEAD: None}, approvals=DENIED)
        assert plan.actions[0] == Release(OLD_RUN, SINCE)
        assert brief(plan.actions[1:]) == [("withhold", OLD_RUN, "owner-approval")]

    def test_the_manifest_is_gone__release(self) -> None:
        plan = planned(GRANT, ran={DEAD: None}, approvals=removal(JOB))
        assert plan.actions == (Release(OLD_RUN, SINCE),)

    @pytest.mark.parametrize("path", [JOB, ADMISSION])
    def test_what_it_was_for_is_broken__release(self, path: Any) -> None:
        left = GRANT if path == JOB else OLD
        broken = {"broken": {path: (problem(path),)}}
        plan = planned(left, ran={DEAD: None}, catalog=broken)
        assert [a for a in plan.actions if isinstance(a, Release)] == [Release(OLD_RUN, SINCE)]
        assert not [a for a in plan.actions if isinstance(a, Submit)]


class TestReleased:
    def test_met__submit_with_a_new_reservation(self) -> None:
        plan = planned(GRANT, OLD, ran={BACK: None})
        assert plan.actions == planned(GRANT, OLD).actions
        assert plan.records == ()

    def test_not_met__withhold(self) -> None:
        plan = planned(GRANT, OLD, ran={BACK: None}, approvals=DENIED)
        assert brief(plan.actions) == [("withhold", OLD_RUN, "owner-approval")]

    def test_the_manifest_is_gone__nothing(self) -> None:
        assert planned(GRANT, ran={BACK: None}).actions == ()


class TestItsStateIsNotKnown:
    @pytest.mark.parametrize("ago", [5 * MINUTE, CLOSED, GONE])
    def test_it_could_not_be_asked__withhold_and_keep(self, ago: timedelta) -> None:
        ran = {set_aside(OLD, ago=ago): unavailable("timed out")}
        why = "whether its reservation has a run could not be asked: timed out"
        assert planned(GRANT, OLD, ran=ran).actions == (
            Keep(OLD_RUN, why, undecided=True, doubt="not-asked"),
            Withhold(
                JOB,
                OLD_RUN,
                "whether it runs already could not be asked: timed out",
                undecided=True,
            ),
        )

    def test_it_was_not_asked__withhold_and_keep(self) -> None:
        catalog = sound_catalog(GRANT, OLD)
        plan = plan_of(catalog, replace(asked(catalog, {DEAD: None}), runs={}))
        why = "whether its reservation has a run was not asked"
        assert plan.actions[0] == Keep(OLD_RUN, why, undecided=True, doubt="not-asked")
        assert brief(plan.actions[1:]) == [("withhold", OLD_RUN, "undecided")]

    def test_nothing_else_is_concerned(self) -> None:
        ran = {HELD: unavailable()}
        plan = planned(WIDE, OLD, small(1), ran=ran)
        assert brief(plan.changes) == [("submit", run_of(small(1)))]


class TestTheRunExists:
    @pytest.mark.parametrize("record", [HELD, LATE, DEAD, BACK], ids=["o", "l", "d", "r"])
    def test_reserved_or_released__it_is_charged_and_then_any_other_row(
        self, record: RunRecord
    ) -> None:
        plan = planned(GRANT, OLD, ran={record: seen(record, started_at=NOW - MINUTE)})
        assert plan.actions == (Keep(OLD_RUN, "Running, admitted by `bert-pretrain`"),)
        (noticed,) = plan.records
        assert (noticed.stage, plan.balances[BERT].reserved) == ("submitted", 960)
        assert noticed.attempt.submitted_at == record.attempt.reserved_at

    def test_released_and_over_by_now__settle(self) -> None:
        over = seen(DEAD, "Failed", started_at=NOW - 6 * MINUTE, ended_at=NOW)
        settle = Settle(OLD_RUN, 1.6, "Failed, no attempt left")
        assert planned(GRANT, OLD, ran={BACK: over}).actions == (settle,)

    def test_released_and_the_manifest_is_gone__what_becomes_of_any_run(self) -> None:
        plan = planned(GRANT, ran={BACK: seen(DEAD)}, approvals=removal(JOB, "@ada"))
        assert brief(plan.actions) == [("cancel", OLD_RUN, "withdrawn")]

    def test_a_clock_that_is_ahead_makes_no_submission_in_the_future(self) -> None:
        ahead = seen(HELD, created_at=NOW + 5 * MINUTE)
        (noticed,) = planned(GRANT, OLD, ran={HELD: ahead}).records
        assert noticed.attempt.submitted_at == NOW

    @pytest.mark.parametrize("record", [HELD, DEAD], ids=["open", "dead"])
    def test_another_payload_under_its_name__withhold(self, record: RunRecord) -> None:
        strange = seen(record, fingerprint="1" * 64)
        plan = planned(GRANT, OLD, ran={record: strange})
        why = "the workspace has another payload under this name, started by nobody we know of"
        assert plan.actions[-1] == Withhold(JOB, OLD_RUN, why, ("name-unique",))
        freed = [Release(OLD_RUN, SINCE)] if record is DEAD else []
        assert list(plan.actions[:-1]) == freed

    def test_it_was_submitted_and_another_payload_has_its_name__keep_in_doubt(self) -> None:
        for state in ("Running", "Completed"):
            plan = planned(GRANT, OLD, ran={RAN: seen(RAN, state, fingerprint="1" * 64)})
            why = (
                f"the workspace has another payload under the name `{OLD_RUN}`, and not what was "
                "started: somebody else's run, or a workspace put back"
            )
            assert plan.actions == (Keep(OLD_RUN, why, undecided=True, doubt="foreign"),)

    def test_the_ledger_has_another_payload_under_the_name__withhold(self) -> None:
        twin = f"{OLD.payload.fingerprint[:12]}{'0' * 52}"
        other = set_aside(OLD, ago=GONE)
        ran = {replace(other, fingerprint=twin): None}  # type: ignore[arg-type]
        plan = planned(GRANT, OLD, ran=ran)
        why = "the ledger has another payload under this name"
        assert plan.actions[-1] == Withhold(JOB, OLD_RUN, why, ("name-unique",))
        assert [kind_of(a) for a in plan.actions] == ["release", "withhold"]


def test_a_policy_made_stricter_cancels_nothing() -> None:
    strict = sound_policy(
        gpu_hours=1, max_nodes=1, min_gpus=99, admission_days=1, kinds=(), registries=()
    )
    more = {"catalog": {"policy": strict}, "policy": Known(strict, NOW)}
    assert brief(planned(GRANT, OLD, ran=RUNNING, **more).actions) == [("keep", OLD_RUN)]
    held = planned(GRANT, OLD, ran={HELD: None}, **more)
    assert [kind_of(a) for a in held.actions] == ["withhold"]

"""The table of planning: each row a test, named as the row's sentence. Here: what starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decision.actions import (
    Keep,
    Settle,
    Submit,
    Withhold,
)
from controller.decision.judge import judge_all
from controller.decision.plan import described, kind_of, make_plan
from controller.evidence.facts import Known
from controller.values import AdmissionId, RunName
from tests.builders import (
    JOB,
    NOW,
    WORKSPACE,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    sound_policy,
    unavailable,
)
from tests.decision.planning import (
    BERT,
    DENIED,
    DOUBTED,
    GRANT,
    HOUR,
    NEW,
    OLD,
    OLD_RUN,
    PREEMPTED,
    RAN,
    RUNNING,
    WIDE,
    asked,
    brief,
    plan_of,
    planned,
    run_of,
    seen,
    small,
    started,
    tried,
)


class TestBothAreThere:
    def test_met_and_never_ran__submit(self) -> None:
        why = "admitted by `bert-pretrain`, worst case 960 GPU hours"
        submit = Submit(OLD_RUN, JOB, BERT, OLD.payload.fingerprint, 960, why)
        assert planned(GRANT, OLD).actions == (submit,)

    def test_unmet_and_never_ran__withhold_with_every_finding_but_what_was_not_asked(self) -> None:
        job = sound_manifest(timeout=None, nodes=3)
        plan = planned(GRANT, job, approvals=DOUBTED)
        (withheld,) = plan.actions
        assert isinstance(withheld, Withhold)
        names = ("nodes-granted", "timeout-set", "gpu-budget")
        assert withheld == Withhold(JOB, run_of(job), withheld.why, names)
        assert withheld.why == (
            "nodes-granted: 3 nodes and 0 that are running; `bert-pretrain` grants 2; "
            "timeout-set: it has no time limit, so it could run for ever and has no worst case; "
            "gpu-budget: without a time limit there is no worst case"
        )

    def test_undecided_and_never_ran__withhold_undecided(self) -> None:
        (withheld,) = planned(GRANT, OLD, approvals=DOUBTED).actions
        said = "owner-approval: whether these bytes were approved is not known: "
        why = said + "the host answered 503"
        assert withheld == Withhold(JOB, OLD_RUN, why, ("owner-approval",), undecided=True)

    def test_a_verdict_without_findings_is_no_yes__withhold_undecided(self) -> None:
        catalog = sound_catalog(GRANT, OLD)
        evidence = sound_evidence(catalog)
        silent = replace(judge_all(catalog, sound_policy(), evidence)[JOB], findings=())
        plan = make_plan(catalog, {JOB: silent}, evidence, WORKSPACE)
        assert plan.actions == (Withhold(JOB, OLD_RUN, "no rule was asked", undecided=True),)

    @pytest.mark.parametrize("lacks", ["admission", "run", "cost"])
    def test_met_without_what_a_start_needs__withhold_undecided(self, lacks: str) -> None:
        catalog = sound_catalog(GRANT, OLD)
        evidence = sound_evidence(catalog)
        met = judge_all(catalog, sound_policy(), evidence)[JOB]
        verdicts = {JOB: replace(met, **{lacks: None})}
        (withheld,) = make_plan(catalog, verdicts, evidence, WORKSPACE).actions
        why = "it has no name, no admission or no worst case, and no rule says so"
        run = None if lacks == "run" else OLD_RUN
        assert withheld == Withhold(JOB, run, why, undecided=True)

    def test_without_a_policy_nothing_is_judged__withhold_and_keep(self) -> None:
        catalog = replace(sound_catalog(GRANT, OLD, small(1)), policy=None)
        policy = Known(sound_policy(), NOW)
        plan = plan_of(catalog, asked(catalog, RUNNING, policy=policy))
        assert brief(plan.actions) == [
            ("keep", OLD_RUN),
            ("withhold", run_of(small(1)), "undecided"),
        ]

    def test_a_manifest_without_a_name_is_withheld_without_a_run(self) -> None:
        catalog = replace(sound_catalog(GRANT, sound_manifest(name="")), policy=None)
        plan = plan_of(catalog, asked(catalog))
        assert plan.actions == (Withhold(JOB, None, "no rule was asked", undecided=True),)

    def test_active__keep(self) -> None:
        keep = Keep(OLD_RUN, "Running, admitted by `bert-pretrain`")
        assert planned(GRANT, OLD, ran=RUNNING).actions == (keep,)

    def test_active_and_not_met_any_more__keep(self) -> None:
        grant = sound_admission(images=(), max_nodes=1, retries=0)
        plan = planned(grant, OLD, ran=RUNNING, approvals=DENIED)
        assert brief(plan.actions) == [("keep", OLD_RUN)]

    def test_in_a_state_that_nobody_knows__active(self) -> None:
        plan = planned(GRANT, OLD, ran={RAN: seen(RAN, "Hibernating")})
        assert brief(plan.actions) == [("keep", OLD_RUN)]

    @pytest.mark.parametrize("state", ["Completed", "Failed"])
    def test_over_and_no_attempt_left__settle_by_its_own_times(self, state: str) -> None:
        over = seen(RAN, state, ended_at=NOW - HOUR / 2)
        settle = Settle(OLD_RUN, 8.0, f"{state}, no attempt left")
        assert planned(GRANT, OLD, ran={RAN: over}).actions == (settle,)

    def test_over_by_somebody_else_s_hand__settle_and_say_so(self) -> None:
        over = seen(RAN, "Canceled", ended_at=NOW)
        why = "Canceled, but not by us: somebody else ended it, and it is not started again"
        plan = planned(GRANT, OLD, ran={RAN: over})
        assert plan.actions == (Settle(OLD_RUN, 16.0, why),)

    def test_over_and_it_does_not_say_since_when__settle_at_its_time_limit(self) -> None:
        over = seen(RAN, "Failed", started_at=None, ended_at=NOW)
        plan = planned(GRANT, OLD, ran={RAN: over})
        assert plan.actions == (Settle(OLD_RUN, 480.0, "Failed, no attempt left", bound=True),)

    def test_over_and_ended_as_it_started__settle_at_nothing(self) -> None:
        over = seen(RAN, "Failed", started_at=NOW, ended_at=NOW)
        (settle,) = planned(GRANT, OLD, ran={RAN: over}).actions
        assert settle == Settle(OLD_RUN, 0.0, "Failed, no attempt left")
        assert described(settle)["gpu_hours"] == 0.0

    def test_settled__nothing(self) -> None:
        done = started(OLD, used=480.0)
        assert planned(GRANT, OLD, ran={done: seen(done, "Completed")}).actions == ()

    def test_settled_and_main_went_away_and_back__still_nothing(self) -> None:
        done, between = started(OLD, used=10.0), started(NEW, used=10.0)
        ran = {done: seen(done, "Completed"), between: seen(between, "Completed")}
        assert planned(GRANT, OLD, ran=ran).actions == ()
        assert planned(GRANT, NEW, ran=ran).actions == ()

    def test_vanished__keep_and_never_submit_again(self) -> None:
        plan = planned(GRANT, OLD, ran={RAN: None})
        why = "vanished: it was submitted, and the workspace says that it does not exist"
        assert plan.actions == (Keep(OLD_RUN, why, undecided=True, doubt="vanished"),)
        assert plan.balances[BERT].reserved == 960

    def test_its_state_could_not_be_asked__keep_and_nothing_global(self) -> None:
        other = sound_manifest("jobs/bert/other.yml", name="other")
        plan = planned(WIDE, OLD, other, ran={RAN: unavailable("timed out")})
        why = "its state could not be asked: timed out"
        assert plan.actions == (
            planned(WIDE, other).actions[0],
            Keep(OLD_RUN, why, undecided=True, doubt="not-asked"),
        )

    def test_its_state_was_not_asked__keep(self) -> None:
        catalog = sound_catalog(GRANT, OLD)
        keep = Keep(OLD_RUN, "its state was not asked", undecided=True, doubt="not-asked")
        assert plan_of(catalog, replace(asked(catalog, RUNNING), runs={})).actions == (keep,)

    def test_a_later_attempt_is_asked_for_by_its_own_name(self) -> None:
        second = started(OLD, attempts=(PREEMPTED, tried(2, ago=HOUR)))
        keep = Keep(RunName(OLD_RUN + "-a2"), "Running, admitted by `bert-pretrain`")
        assert planned(GRANT, OLD, ran={second: seen(second)}).actions == (keep,)

    def test_whether_it_runs_already_could_not_be_asked__withhold(self) -> None:
        plan = planned(GRANT, OLD, runs={OLD_RUN: unavailable("timed out")})
        why = "whether it runs already could not be asked: timed out"
        assert plan.actions == (Withhold(JOB, OLD_RUN, why, undecided=True),)

    def test_whether_it_runs_already_was_not_asked__withhold(self) -> None:
        catalog = sound_catalog(GRANT, OLD)
        plan = plan_of(catalog, replace(asked(catalog), runs={}))
        why = "whether it runs already was not asked"
        assert plan.actions == (Withhold(JOB, OLD_RUN, why, undecided=True),)

    @pytest.mark.parametrize(
        ("fingerprint", "what"),
        [(OLD.payload.fingerprint, "this payload"), ("1" * 64, "another payload"), ("", "a run")],
    )
    def test_there_without_our_tags__withhold(self, fingerprint: str, what: str) -> None:
        stranger = Known(seen(RAN, fingerprint=fingerprint, tags={}), NOW)
        why = f"the workspace has {what} under this name, started by nobody we know of"
        plan = planned(GRANT, OLD, runs={OLD_RUN: stranger})
        assert plan.actions == (Withhold(JOB, OLD_RUN, why, ("name-unique",)),)

    def test_a_part_of_another_manifest_is_never_submitted(self) -> None:
        plan = planned(GRANT, OLD, small(1), catalog={"parts": [small(1).path]})
        assert brief(plan.actions) == [("submit", OLD_RUN)]

    def test_what_runs_belongs_to_the_admission_that_reserved_for_it(self) -> None:
        moved = sound_manifest(admission="other")
        plan = planned(GRANT, sound_admission("other"), moved, ran=RUNNING)
        assert brief(plan.actions) == [("keep", OLD_RUN)]
        assert [plan.balances[AdmissionId(i)].reserved for i in ("bert-pretrain", "other")] == [
            960,
            0,
        ]


class TestStartsShareWhatIsFree:
    def test_two_compete_for_the_same_hours__the_first_path_starts(self) -> None:
        one, two = small(1), small(2)
        plan = planned(sound_admission(gpu_hours=399), one, two)
        why = "other starts of this pass leave 199 of the 200 GPU hours of its worst case"
        assert brief(plan.actions[:1]) == [("submit", run_of(one))]
        assert plan.actions[1:] == (Withhold(two.path, run_of(two), why, ("gpu-budget",)),)

    def test_two_compete_for_the_same_nodes__the_first_path_starts(self) -> None:
        one, two = small(1, nodes=2), small(2)
        plan = planned(GRANT, one, two)
        why = "other starts of this pass leave 0 of the 1 nodes it needs"
        assert brief(plan.actions[:1]) == [("submit", run_of(one))]
        assert plan.actions[1:] == (Withhold(two.path, run_of(two), why, ("nodes-granted",)),)

    def test_what_fits_exactly_starts_whatever_floats_say(self) -> None:
        tenths = [small(n, timeout=45) for n in (1, 2, 3)]
        grant = sound_admission(gpu_hours=0.6, max_nodes=3)
        assert [kind_of(a) for a in planned(grant, *tenths).actions] == ["submit"] * 3

    def test_a_name_that_ran_before_comes_first__what_its_older_run_gave_back_is_meant_for_it(
        self,
    ) -> None:
        first, replaced = small(1), small(2, rerun="2")
        done = started(small(2), used=1.0)
        grant = sound_admission(gpu_hours=399)
        plan = planned(grant, first, replaced, ran={done: seen(done, "Canceled")})
        assert brief(plan.actions) == [
            ("submit", run_of(replaced)),
            ("withhold", run_of(first), "gpu-budget"),
        ]

    def test_each_admission_has_its_own(self) -> None:
        here, there = small(1), small(2, admission="other")
        plan = planned(
            sound_admission(gpu_hours=200), sound_admission("other", gpu_hours=200), here, there
        )
        assert [kind_of(a) for a in plan.actions] == ["submit", "submit"]

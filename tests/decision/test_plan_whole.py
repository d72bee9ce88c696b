"""What holds for a plan as a whole: its brake, its digest, its order and its words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from controller.decision.actions import (
    ApplySchedule,
    Cancel,
    DeleteSchedule,
    DisableSchedule,
    Keep,
    Release,
    Repair,
    Settle,
    Submit,
    Withhold,
    changes,
)
from controller.decision.plan import described, in_order, kind_of
from controller.evidence.facts import Known
from controller.values import Fingerprint, RepoPath, RunName
from tests.builders import (
    JOB,
    NOW,
    hold,
    sound_admission,
    sound_manifest,
    sound_policy,
    unavailable,
)
from tests.decision.planning import (
    BERT,
    CANCELS,
    GRANT,
    HOUR,
    NEW,
    NEW_RUN,
    OLD,
    OLD_RUN,
    RAN,
    RUNNING,
    THREE_JOBS,
    THREE_RUNS,
    WIDE,
    planned,
    seen,
    set_aside,
    small,
    started,
    tried,
)


class TestBrake:
    def brake(self, limit: int, **more: Any) -> str:
        """Return the brake where three runs are to be cancelled."""
        policy = Known(sound_policy(cancels_per_pass=limit, hold=hold(drain=True)), NOW)
        ran = {r: seen(r) for r in THREE_RUNS}
        plan = planned(WIDE, *THREE_JOBS, ran=ran, policy=policy, **more)
        assert [kind_of(a) for a in plan.actions] == ["cancel"] * 3
        return plan.brake

    def test_at_its_limit_it_does_not_hold(self) -> None:
        assert self.brake(3) == ""

    @pytest.mark.parametrize("limit", [0, 2])
    def test_over_its_limit_it_holds_and_says_what_to_do(self, limit: int) -> None:
        assert self.brake(limit) == (
            f"this pass would cancel 3 of the active runs and `limits.cancels_per_pass` is {limit},"
            " so it cancels none; look at them, "
            "then `admit reconcile --max-cancels 3 --reason TEXT`"
        )

    def test_a_person_s_word_takes_its_place(self) -> None:
        assert self.brake(0, max_cancels=3) == ""
        assert "and `--max-cancels` is 2, so it cancels none" in self.brake(9, max_cancels=2)

    def test_nothing_to_cancel_is_always_allowed(self) -> None:
        nobody = Known(sound_policy(cancels_per_pass=0), NOW)
        assert planned(GRANT, OLD, ran=RUNNING, policy=nobody).brake == ""

    @pytest.mark.parametrize("policy", [unavailable(), Known(None, NOW)])
    def test_where_no_policy_is_known_it_holds_at_once(self, policy: Any) -> None:
        plan = planned(CANCELS, OLD, ran=RUNNING, policy=policy)
        said = "would cancel 1 of the active runs and no approved policy is known that sets a limit"
        assert said in plan.brake

    def test_cancellations_that_wait_count(self) -> None:
        nobody = Known(sound_policy(cancels_per_pass=0), NOW)
        assert "would cancel 1 of" in planned(WIDE, NEW, ran=RUNNING, policy=nobody).brake


class TestDigest:
    def test_it_is_a_digest_and_the_same_whatever_the_order_of_what_was_read(self) -> None:
        documents = (WIDE, sound_admission("other"), NEW, small(1), small(2, admission="other"))
        tenth = started(small(3, name="x"), used=0.1, started_at=NOW)
        ran = {**RUNNING, tenth: seen(tenth), started(small(4, name="y"), used=0.2): None}
        ran[started(small(5, name="z"), used=0.3)] = None
        one = planned(*documents, ran=ran)
        two = planned(*reversed(documents), ran=dict(reversed(ran.items())))
        assert one == two
        assert one.digest == two.digest
        assert one.digest.startswith("sha256:")

    def test_it_is_the_same_as_time_passes_if_nothing_else_does(self) -> None:
        expired = sound_admission("other", expires=date(2026, 11, 29), on_expiry="finish")
        grant = sound_admission(gpu_hours=1500, max_nodes=9, on_expiry="cancel")
        late, held = started(small(3, admission="other")), small(2, admission="other", nodes=1)
        documents = (grant, expired, OLD, small(1), held, small(3, admission="other"))
        answers = {"approvals": {small(1).path: unavailable()}}
        ran = {**RUNNING, late: seen(late)}
        one = planned(*documents, ran=ran, **answers)
        for later in (HOUR / 60, HOUR, 5 * HOUR, 50 * HOUR):
            two = planned(*documents, ran=ran, now=NOW + later, **answers)
            assert two.digest == one.digest
        assert {kind_of(a) for a in one.actions} == {"keep", "withhold"}

    def test_what_a_run_takes_beyond_its_reservation_is_charged_and_makes_no_plan_stale(
        self,
    ) -> None:
        long = {RAN: seen(RAN, started_at=NOW - 70 * HOUR)}
        one = planned(WIDE, OLD, ran=long)
        two = planned(WIDE, OLD, ran=long, now=NOW + HOUR)
        charged = [
            (plan.balances[BERT].reserved, plan.balances[BERT].overrun) for plan in (one, two)
        ]
        assert charged == [(1120.0, 160.0), (1136.0, 176.0)]
        assert one.balances[BERT].free == 880.0
        assert one.digest == two.digest

    def test_it_names_the_workspace_the_actions_the_balances_and_the_records(self) -> None:
        plan = planned(WIDE, NEW, ran=RUNNING)
        others = [
            replace(plan, workspace="local:there"),
            replace(plan, actions=plan.actions[:1]),
            replace(plan, balances={}),
            replace(plan, records=()),
        ]
        assert len({plan.digest, *(other.digest for other in others)}) == 5

    def test_it_tells_a_run_that_is_only_reserved_for_from_one_that_was_submitted(self) -> None:
        held = set_aside(OLD, ago=HOUR)
        plan = planned(WIDE, OLD, ran={held: None})
        submitted = replace(plan, records=(started(OLD, attempts=(tried(1, ago=HOUR),)),))
        assert [record.reserved for record in (*plan.records, *submitted.records)] == [960, 960]
        assert submitted.digest != plan.digest

    @pytest.mark.parametrize(
        "other",
        [
            Cancel(OLD_RUN, "drained", "why"),
            Cancel(NEW_RUN, "superseded", "why"),
            Cancel(OLD_RUN, "superseded", "why", after=NEW_RUN),
        ],
    )
    def test_it_binds_every_field_of_an_action_but_its_reason(self, other: Cancel) -> None:
        plan = planned(WIDE, NEW, ran=RUNNING)
        cancel = Cancel(OLD_RUN, "superseded", "why")
        bound = replace(plan, actions=(cancel,))
        assert replace(plan, actions=(other,)).digest != bound.digest
        assert replace(plan, actions=(replace(cancel, why="else"),)).digest == bound.digest


EVERY = (
    Settle(RunName("b"), 0.0, "why"),
    Settle(RunName("c"), 1.0, "why"),
    Release(RunName("a"), "why"),
    Cancel(RunName("a"), "drained", "why"),
    Cancel(RunName("z"), "drained", "why"),
    Submit(RunName("z"), JOB, BERT, Fingerprint("0" * 64), 1.0, "why"),
    Submit(RunName("a"), RepoPath("jobs/z.yml"), BERT, Fingerprint("0" * 64), 1.0, "why"),
    Cancel(RunName("a"), "superseded", "why", after=RunName("z")),
    Repair(RunName("a"), ("tags",), "why"),
    DisableSchedule("s", "why"),
    ApplySchedule("s", 1.0, "why"),
    DeleteSchedule("s", "why"),
    Keep(RunName("a"), "why"),
    Withhold(JOB, RunName("z"), "why"),
    Withhold(RepoPath("jobs/z.yml"), None, "why"),
)
"""In the order in which they are done."""


def test_what_gives_back_is_done_before_what_takes_and_what_waits_behind_it() -> None:
    assert in_order(reversed(EVERY)) == EVERY


def test_an_action_is_described_by_its_kind_and_every_field_that_says_something() -> None:
    assert described(EVERY[0]) == {"action": "settle", "run": "b", "gpu_hours": 0.0, "why": "why"}
    assert described(EVERY[9]) == {"action": "disable-schedule", "schedule": "s", "why": "why"}
    assert described(EVERY[-1]) == {"action": "withhold", "path": "jobs/z.yml", "why": "why"}
    assert described(Keep(RunName("a"), "why", undecided=True)) == {
        "action": "keep",
        "run": "a",
        "why": "why",
        "undecided": True,
    }


def test_the_kinds_of_actions_in_reports() -> None:
    assert list(dict.fromkeys(kind_of(action) for action in EVERY)) == [
        "settle",
        "release",
        "cancel",
        "submit",
        "repair",
        "disable-schedule",
        "apply-schedule",
        "delete-schedule",
        "keep",
        "withhold",
    ]


def test_only_keep_and_withhold_change_nothing() -> None:
    assert [kind_of(a) for a in EVERY if not changes(a)] == ["keep", "withhold", "withhold"]


def test_a_plan_has_a_balance_for_each_admission_and_for_each_that_has_records() -> None:
    gone = started(sound_manifest(name="gone", admission="gone"), used=5.0)
    plan = planned(WIDE, OLD, ran={**RUNNING, gone: None})
    balances = {id_: (b.granted, b.reserved, b.used, b.nodes) for id_, b in plan.balances.items()}
    assert balances == {"bert-pretrain": (2000, 960, 0, 2), "gone": (0, 0, 5.0, 0)}
    assert plan.records == (RAN,)

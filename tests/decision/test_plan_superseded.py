"""The table of planning: a new fingerprint while an older run of that name is active."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from controller.decision.actions import (
    Cancel,
    Keep,
    Withhold,
)
from controller.decision.plan import kind_of
from controller.evidence.facts import Known
from tests.builders import (
    JOB,
    NOW,
    approval,
    sound_admission,
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
    NEW_RUN,
    OLD,
    OLD_RUN,
    PREEMPTED,
    RAN,
    RUNNING,
    WIDE,
    brief,
    newer,
    planned,
    run_of,
    seen,
    small,
    started,
    tried,
)


class TestNewFingerprintWhileAnOlderRunIsActive:
    def test_met_and_both_fit__submit_and_then_cancel_the_older(self) -> None:
        plan = planned(WIDE, NEW, ran=RUNNING)
        why = f"`{JOB}` asks for `{NEW_RUN}` now"
        cancel = Cancel(OLD_RUN, "superseded", why, after=NEW_RUN)
        assert plan.actions == (planned(WIDE, NEW).actions[0], cancel)

    def test_met_but_for_room_and_the_older_gives_enough_back__cancel_and_withhold(self) -> None:
        needs = newer(timeout=90_000)
        plan = planned(GRANT, needs, ran=RUNNING)
        why = f"`{JOB}` asks for `{run_of(needs)}` now, which needs what this run holds"
        assert plan.actions[0] == Cancel(OLD_RUN, "superseded", why)
        assert brief(plan.actions[1:]) == [
            ("withhold", run_of(needs), "nodes-granted", "gpu-budget")
        ]

    def test_what_the_older_would_give_back_is_not_enough__keep_and_withhold(self) -> None:
        used_up = {RAN: seen(RAN, started_at=NOW - timedelta(hours=20))}
        plan = planned(GRANT, NEW, ran=used_up)
        why = f"`{JOB}` asks for another run now, which is withheld"
        assert plan.actions[0] == Keep(OLD_RUN, why)
        assert brief(plan.actions[1:]) == [("withhold", NEW_RUN, "nodes-granted", "gpu-budget")]

    @pytest.mark.parametrize(("free", "end"), [(16 + 3, "cancel"), (16 + 2, "keep")])
    def test_what_it_spends_while_it_ends_is_not_given_back(self, free: int, end: str) -> None:
        grant = sound_admission(gpu_hours=960 + free)
        assert kind_of(planned(grant, NEW, ran=RUNNING).actions[0]) == end

    @pytest.mark.parametrize(("free", "end"), [(100 + 16 + 3, "cancel"), (100 + 16 + 2, "keep")])
    def test_what_its_attempts_before_spent_is_not_given_back(self, free: int, end: str) -> None:
        second = started(OLD, attempts=(PREEMPTED, tried(2, ago=HOUR)))
        grant = sound_admission(gpu_hours=960 + free)
        plan = planned(grant, NEW, ran={second: seen(second)})
        assert kind_of(plan.actions[0]) == end

    def test_one_that_has_not_started_gives_everything_back(self) -> None:
        queued = {RAN: seen(RAN, "Queued", started_at=None)}
        grant = sound_admission(gpu_hours=960)
        assert brief(planned(grant, NEW, ran=queued).actions[:1]) == [
            ("cancel", OLD_RUN, "superseded")
        ]

    def test_met_under_another_admission_with_room__submit_and_then_cancel(self) -> None:
        moved = newer(admission="other")
        plan = planned(GRANT, sound_admission("other"), moved, ran=RUNNING)
        assert brief(plan.actions) == [
            ("submit", run_of(moved)),
            ("cancel", OLD_RUN, "superseded", run_of(moved)),
        ]

    def test_another_admission_gets_nothing_back__keep_and_withhold(self) -> None:
        moved = newer(admission="other")
        plan = planned(GRANT, sound_admission("other", gpu_hours=900), moved, ran=RUNNING)
        assert brief(plan.actions) == [
            ("keep", OLD_RUN),
            ("withhold", run_of(moved), "gpu-budget"),
        ]

    def test_the_cluster_is_too_small_for_the_new_one__keep_and_withhold(self) -> None:
        large = newer(nodes=6, timeout=3600)
        plan = planned(sound_admission(max_nodes=8), large, ran=RUNNING)
        assert brief(plan.actions) == [
            ("keep", OLD_RUN),
            ("withhold", run_of(large), "nodes-granted", "gpu-budget"),
        ]

    def test_the_compute_target_is_not_known__keep_and_withhold(self) -> None:
        plan = planned(GRANT, newer(compute="nowhere"), ran=RUNNING)
        assert brief(plan.actions[:1]) == [("keep", OLD_RUN)]

    @pytest.mark.parametrize("answer", [unavailable(), approval(JOB)])
    def test_the_change_is_not_proved_approved__keep_and_withhold(self, answer: Any) -> None:
        plan = planned(GRANT, NEW, ran=RUNNING, approvals={JOB: answer})
        names = {"nodes-granted", "gpu-budget"}
        names |= {"owner-approval"} if isinstance(answer, Known) else set()
        (kept, withheld) = plan.actions
        assert brief([kept]) == [("keep", OLD_RUN)]
        assert isinstance(withheld, Withhold)
        assert set(withheld.findings) == names

    def test_undecided_alone__keep_and_withhold(self) -> None:
        plan = planned(WIDE, NEW, ran=RUNNING, approvals=DOUBTED)
        assert brief(plan.actions) == [("keep", OLD_RUN), ("withhold", NEW_RUN, "undecided")]

    def test_whether_the_new_one_is_there_is_not_known__keep_and_withhold(self) -> None:
        plan = planned(GRANT, NEW, ran=RUNNING, runs={NEW_RUN: unavailable()})
        assert brief(plan.actions)[:1] == [("keep", OLD_RUN)]

    def test_already_settled_and_the_change_approved__cancel_the_older(self) -> None:
        done = started(NEW, used=10.0)
        plan = planned(WIDE, NEW, ran={**RUNNING, done: seen(done, "Completed")})
        why = f"`{JOB}` asks for `{NEW_RUN}` now, which is settled"
        assert plan.actions == (Cancel(OLD_RUN, "superseded", why),)

    @pytest.mark.parametrize("answer", [unavailable(), approval(JOB)])
    def test_already_settled_and_the_change_not_proved_approved__keep(self, answer: Any) -> None:
        done = started(NEW, used=10.0)
        ran = {**RUNNING, done: seen(done, "Completed")}
        why = f"`{JOB}` asks for `{NEW_RUN}` now, and that change is not proved approved"
        plan = planned(WIDE, NEW, ran=ran, approvals={JOB: answer})
        assert plan.actions == (Keep(OLD_RUN, why, undecided=True, doubt="in-doubt"),)

    def test_submitted_by_an_earlier_pass_that_got_no_further__cancel_the_older(self) -> None:
        recorded = started(NEW)
        plan = planned(WIDE, NEW, ran={**RUNNING, recorded: seen(recorded, "Queued")})
        why = f"`{JOB}` asks for `{NEW_RUN}` now, which was submitted"
        assert set(plan.actions) == {
            Cancel(OLD_RUN, "superseded", why),
            Keep(NEW_RUN, "Queued, admitted by `bert-pretrain`"),
        }

    @pytest.mark.parametrize("answer", [None, unavailable()])
    def test_submitted_but_not_there_for_all_we_know__keep_both(self, answer: Any) -> None:
        recorded = started(NEW)
        plan = planned(WIDE, NEW, ran={**RUNNING, recorded: answer})
        said = "of which the workspace does not say that it is there"
        why = f"`{JOB}` asks for `{NEW_RUN}` now, {said}"
        assert Keep(OLD_RUN, why, undecided=True, doubt="in-doubt") in plan.actions
        assert not plan.changes

    def test_several_older_runs_end_together(self) -> None:
        between = started(newer(rerun="3"))
        ran = {**RUNNING, between: seen(between)}
        grant = sound_admission(gpu_hours=3000, max_nodes=8)
        policy = {"policy": sound_policy(gpu_hours=3000)}
        plan = planned(grant, NEW, ran=ran, catalog=policy)
        assert {a.run for a in plan.actions if isinstance(a, Cancel) and a.after == NEW_RUN} == {
            OLD_RUN,
            run_of(between),
        }

    def test_several_older_runs_make_room_together(self) -> None:
        halves = [small(n, name="bert-pretrain", rerun=str(n)) for n in (3, 4)]
        records = [started(half) for half in halves]
        needs = newer(timeout=22_500)
        plan = planned(sound_admission(gpu_hours=410), needs, ran={r: seen(r) for r in records})
        assert [kind_of(a) for a in plan.actions] == ["cancel", "cancel", "withhold"]

    def test_one_that_ends_already_makes_room_enough__the_other_goes_on_until_then(self) -> None:
        ending, other = started(OLD, reserved=600), started(newer(rerun="3"), reserved=100, nodes=0)
        ran = {ending: seen(ending, "CancelRequested"), other: seen(other)}
        needs = newer(timeout=30_000)
        grant = sound_admission(gpu_hours=1000)
        assert not planned(grant, needs, ran=ran).changes
        waits = {started(OLD, reserved=600): seen(ending), other: seen(other)}
        assert len(planned(grant, needs, ran=waits).changes) == 2

    def test_two_that_need_the_same_room__only_the_first_makes_its_older_end(self) -> None:
        olds = [small(n, name=f"n{n}") for n in (1, 2)]
        news = [small(n, name=f"n{n}", rerun="2", timeout=67_500) for n in (1, 2)]
        records = [started(old) for old in olds]
        grant = sound_admission(gpu_hours=510)
        plan = planned(grant, *news, ran={r: seen(r) for r in records})
        one, two = (run_of(r) for r in records)
        assert brief(plan.actions)[:2] == [("cancel", one, "superseded"), ("keep", two)]
        ending = {records[0]: seen(records[0], "CancelRequested"), records[1]: seen(records[1])}
        assert not planned(grant, *news, ran=ending).changes
        hungry = news[0], small(2, name="n2", rerun="2", timeout=101_250)
        plan = planned(grant, *hungry, ran={r: seen(r) for r in records})
        assert brief(plan.changes) == [("cancel", one, "superseded")]

    def test_room_that_another_start_takes_is_not_counted_on(self) -> None:
        old, new = small(2), small(2, rerun="2", timeout=67_500)
        first = small(1)
        ran = {started(old): seen(started(old))}
        grant = sound_admission(gpu_hours=510, max_nodes=3)
        alone, together = planned(grant, new, ran=ran), planned(grant, first, new, ran=ran)
        assert brief(alone.actions)[0] == ("submit", run_of(new))
        assert brief(together.actions)[0][0] == "submit"
        assert not any(isinstance(a, Cancel) and a.after is None for a in together.actions)

    def test_room_that_another_start_takes_can_come_from_the_older(self) -> None:
        old, new, again = small(2), small(2, rerun="2"), small(1, rerun="2")
        ran = {started(old): seen(started(old))}
        done = started(small(1), used=0.0)
        grant = sound_admission(gpu_hours=420, max_nodes=3)
        plan = planned(grant, again, new, ran={**ran, done: seen(done, "Failed")})
        assert brief(plan.actions) == [
            ("cancel", run_of(old), "superseded"),
            ("submit", run_of(again)),
            ("withhold", run_of(new), "gpu-budget"),
        ]

    def test_two_manifests_share_the_name__what_is_wanted_is_not_known__keep(self) -> None:
        twin = newer(path="jobs/bert/a-twin.yml")
        done = started(NEW, used=10.0)
        ran = {**RUNNING, done: seen(done, "Completed")}
        assert brief(planned(WIDE, OLD, twin, ran=ran).actions) == [("keep", OLD_RUN)]

    @pytest.mark.parametrize("state", ["CancelRequested", "Finalizing"])
    def test_an_older_one_that_ends_already_is_not_cancelled_again(self, state: str) -> None:
        plan = planned(WIDE, NEW, ran={RAN: seen(RAN, state)})
        assert brief(plan.actions) == [("submit", NEW_RUN), ("keep", OLD_RUN)]

    def test_a_doubt_about_the_older_one_is_not_hidden_by_a_withheld_new_one(self) -> None:
        doubt = {BERT: unavailable("no answer")}
        plan = planned(WIDE, NEW, ran=RUNNING, approvals=DENIED, governing=doubt)
        (kept, _) = plan.actions
        assert brief([kept]) == [("keep", OLD_RUN, "undecided")]
        assert kept.why.endswith("not known: no answer")

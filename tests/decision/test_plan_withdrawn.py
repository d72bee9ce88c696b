"""The table of planning: a manifest or an admission was taken away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from controller.decision.actions import (
    Cancel,
    Keep,
)
from controller.decision.plan import kind_of
from controller.evidence.facts import Known
from controller.values import RepoPath
from tests.builders import (
    ADMISSION,
    JOB,
    NOW,
    approval,
    problem,
    sound_manifest,
    sound_policy,
    unavailable,
)
from tests.decision.planning import (
    BERT,
    DENIED,
    GRANT,
    OLD,
    OLD_RUN,
    RAN,
    RUNNING,
    WIDE,
    brief,
    planned,
    removal,
    run_of,
    seen,
    small,
    started,
)


class TestWithdrawn:
    def test_the_manifest_was_removed_and_that_approved__cancel(self) -> None:
        plan = planned(GRANT, ran=RUNNING, approvals=removal(JOB, "@ada"))
        why = f"its manifest `{JOB}` is not on main any more, approved"
        assert plan.actions == (Cancel(OLD_RUN, "withdrawn", why),)

    def test_the_admission_was_removed_and_that_approved__cancel(self) -> None:
        governing = {BERT: Known(GRANT, NOW)}
        plan = planned(OLD, ran=RUNNING, approvals=removal(ADMISSION, "@ada"), governing=governing)
        why = f"its admission `{ADMISSION}` is not on main any more, approved"
        assert plan.actions == (Cancel(OLD_RUN, "withdrawn", why),)

    @pytest.mark.parametrize("path", [JOB, ADMISSION])
    def test_positively_not_approved__keep(self, path: RepoPath) -> None:
        left = GRANT if path == JOB else OLD
        governing = {BERT: Known(GRANT, NOW)}
        plan = planned(left, ran=RUNNING, approvals=removal(path), governing=governing)
        what = "manifest" if path == JOB else "admission"
        why = f"its {what} `{path}` is not on main any more, but too few of those entitled "
        why += "approved that; it ends when a pass 10 minutes after the first sees the same"
        keep = Keep(OLD_RUN, why, undecided=True, doubt="unapproved-withdrawal")
        assert plan.actions == (keep,)

    @pytest.mark.parametrize("path", [JOB, ADMISSION])
    @pytest.mark.parametrize(("seconds", "end"), [(599, "keep"), (600, "cancel")])
    def test_two_passes_see_it_unapproved_ten_minutes_apart__cancel(
        self, path: RepoPath, seconds: int, end: str
    ) -> None:
        left = GRANT if path == JOB else OLD
        more: dict[str, Any] = {
            "approvals": removal(path),
            "governing": {BERT: Known(GRANT, NOW)},
            "sightings": {OLD_RUN: NOW - timedelta(seconds=seconds)},
        }
        (found,) = planned(left, ran=RUNNING, **more).actions
        assert kind_of(found) == end
        said = found.why.partition("too few of those entitled approved that; ")[2]
        assert said == (
            "so it was already at 2026-11-30 19:50 UTC"
            if end == "cancel"
            else "it ends when a pass 10 minutes after the first sees the same"
        )

    def test_a_sighting_of_another_run_does_not_count__keep(self) -> None:
        long_ago = {run_of(small(1)): NOW - timedelta(days=1)}
        plan = planned(GRANT, ran=RUNNING, approvals=removal(JOB), sightings=long_ago)
        assert brief(plan.actions) == [("keep", OLD_RUN, "undecided")]

    def test_seen_long_ago_and_now_nobody_can_be_asked__keep(self) -> None:
        long_ago = {OLD_RUN: NOW - timedelta(days=1)}
        answers = {JOB: unavailable()}
        (keep,) = planned(GRANT, ran=RUNNING, approvals=answers, sightings=long_ago).actions
        assert isinstance(keep, Keep)
        assert keep.doubt == "in-doubt"

    def test_seen_long_ago_and_it_is_back__keep(self) -> None:
        long_ago = {OLD_RUN: NOW - timedelta(days=1)}
        plan = planned(GRANT, OLD, ran=RUNNING, sightings=long_ago)
        assert brief(plan.actions) == [("keep", OLD_RUN)]

    @pytest.mark.parametrize(
        ("answers", "doubt"),
        [
            ({JOB: unavailable()}, "the host answered 503"),
            ({}, "it was not asked"),
            ({JOB: approval(JOB, "@ada", "@lin")}, "the answer is about other bytes"),
        ],
    )
    def test_whether_it_was_approved_is_not_known__keep(self, answers: Any, doubt: str) -> None:
        plan = planned(GRANT, ran=RUNNING, approvals=answers)
        said = f"its manifest `{JOB}` is not on main any more; whether that was approved "
        why = f"{said}is not known: {doubt}"
        assert plan.actions == (Keep(OLD_RUN, why, undecided=True, doubt="in-doubt"),)

    def test_by_fewer_owners_than_the_approved_policy_asks_for__keep(self) -> None:
        two = Known(sound_policy(minimum_approvals=2, manifest_approvals=1), NOW)
        governing = {BERT: Known(GRANT, NOW)}
        answers = {**removal(ADMISSION, "@ada"), **removal(JOB, "@ada")}
        plan = planned(OLD, ran=RUNNING, approvals=answers, governing=governing, policy=two)
        assert brief(plan.actions) == [("keep", OLD_RUN, "undecided")]
        plan = planned(GRANT, ran=RUNNING, approvals=answers, policy=two)
        assert brief(plan.actions) == [("cancel", OLD_RUN, "withdrawn")]

    def test_where_manifests_need_no_approval_neither_does_their_removal__cancel(self) -> None:
        free = Known(sound_policy(manifest_approvals=0), NOW)
        plan = planned(GRANT, ran=RUNNING, approvals=removal(JOB), policy=free)
        assert brief(plan.actions) == [("cancel", OLD_RUN, "withdrawn")]

    @pytest.mark.parametrize("path", [JOB, ADMISSION])
    @pytest.mark.parametrize("policy", [unavailable(), Known(None, NOW)])
    def test_no_policy_says_how_many_have_to_approve__keep(self, path: Any, policy: Any) -> None:
        left = GRANT if path == JOB else OLD
        governing = {BERT: Known(GRANT, NOW)}
        answers = removal(path, "@ada", "@lin")
        plan = planned(left, ran=RUNNING, approvals=answers, governing=governing, policy=policy)
        (keep,) = plan.actions
        assert brief([keep]) == [("keep", OLD_RUN, "undecided")]
        assert keep.why.endswith("no approved policy says how many owners have to")

    def test_a_new_name_in_the_same_file_and_that_approved__cancel_and_submit(self) -> None:
        renamed = sound_manifest(name="bert-again")
        plan = planned(WIDE, renamed, ran=RUNNING)
        why = f"its manifest `{JOB}` is named `bert-again` now, approved"
        assert plan.actions == (
            Cancel(OLD_RUN, "withdrawn", why),
            *planned(WIDE, renamed).actions,
        )

    def test_a_new_name_that_is_not_approved__keep_and_withhold(self) -> None:
        renamed = sound_manifest(name="bert-again")
        plan = planned(WIDE, renamed, ran=RUNNING, approvals=DENIED)
        assert brief(plan.actions) == [
            ("keep", OLD_RUN, "undecided"),
            ("withhold", run_of(renamed), "owner-approval"),
        ]

    def test_the_file_was_renamed_and_the_name_was_not__nothing(self) -> None:
        moved = sound_manifest("jobs/bert/moved.yml")
        plan = planned(GRANT, moved, ran=RUNNING, approvals=removal(JOB, "@ada"))
        assert brief(plan.actions) == [("keep", OLD_RUN)]

    @pytest.mark.parametrize("path", [JOB, ADMISSION])
    def test_broken_is_not_withdrawn__keep(self, path: RepoPath) -> None:
        left = GRANT if path == JOB else OLD
        broken = {"broken": {path: (problem(path),)}}
        governing = {BERT: Known(GRANT, NOW)}
        answers = removal(path, "@ada")
        plan = planned(left, ran=RUNNING, catalog=broken, governing=governing, approvals=answers)
        assert brief(plan.actions) == [("keep", OLD_RUN)]

    def test_a_part_of_another_now_is_not_withdrawn__keep(self) -> None:
        for part in (OLD, sound_manifest(name="renamed")):
            plan = planned(GRANT, part, ran=RUNNING, catalog={"parts": [JOB]})
            assert brief(plan.actions) == [("keep", OLD_RUN)]

    def test_moved_and_broken_for_all_we_know__keep(self) -> None:
        path = RepoPath("jobs/bert/moved.yml")
        broken = {path: (problem(path),), ADMISSION: (problem(ADMISSION),)}
        more: dict[str, Any] = {"approvals": removal(JOB), "governing": {BERT: Known(GRANT, NOW)}}
        plan = planned(ran=RUNNING, catalog={"broken": broken}, **more)
        said = f"its manifest `{JOB}` is not on main any more, but `{path}` is broken"
        why = f"{said} and may be the same job"
        assert plan.actions == (Keep(OLD_RUN, why, undecided=True, doubt="in-doubt"),)
        other = started(small(1, name="other"), path=path, used=1.0)
        ran = {**RUNNING, other: seen(other, "Completed")}
        (keep,) = planned(ran=ran, catalog={"broken": broken}, **more).actions
        assert isinstance(keep, Keep)
        assert keep.doubt == "unapproved-withdrawal"

    def test_its_removal_was_approved_whatever_a_broken_file_may_be__cancel(self) -> None:
        junk = RepoPath("jobs/junk.yml")
        plan = planned(
            GRANT,
            ran=RUNNING,
            catalog={"broken": {junk: (problem(junk),)}},
            approvals=removal(JOB, "@ada"),
        )
        assert brief(plan.actions) == [("cancel", OLD_RUN, "withdrawn")]

    def test_a_namesake_that_nobody_approved_does_not_take_its_place__cancel(self) -> None:
        twin = sound_manifest("jobs/zz/old.yml", rerun="7")
        approvals = {**removal(JOB, "@ada"), twin.path: approval(twin.path)}
        plan = planned(GRANT, twin, ran=RUNNING, approvals=approvals)
        (cancel, *_) = plan.actions
        said = f"its manifest `{JOB}` is not on main any more, approved"
        why = f"{said}; `{twin.path}` has its name, and nobody approved that"
        assert cancel == Cancel(OLD_RUN, "withdrawn", why)

    def test_a_namesake_that_could_not_be_asked_about__keep(self) -> None:
        twin = sound_manifest("jobs/zz/old.yml", rerun="7")
        approvals = {**removal(JOB, "@ada"), twin.path: unavailable()}
        plan = planned(GRANT, twin, ran=RUNNING, approvals=approvals)
        assert ("keep", OLD_RUN, "undecided") in brief(plan.actions)

    def test_a_namesake_and_a_removal_that_nobody_approved__keep(self) -> None:
        twin = sound_manifest("jobs/zz/old.yml", rerun="7")
        approvals = {**removal(JOB), twin.path: approval(twin.path)}
        plan = planned(GRANT, twin, ran=RUNNING, approvals=approvals)
        assert ("keep", OLD_RUN) in brief(plan.actions)

    def test_over__settle(self) -> None:
        over = {RAN: seen(RAN, "Completed", ended_at=NOW)}
        plan = planned(GRANT, ran=over, approvals=removal(JOB, "@ada"))
        assert [kind_of(a) for a in plan.actions] == ["settle"]

    def test_one_removed_without_approval_and_one_with__cancel_beats_keep(self) -> None:
        answers = {**removal(ADMISSION), **removal(JOB, "@ada")}
        plan = planned(ran=RUNNING, approvals=answers, governing={BERT: Known(GRANT, NOW)})
        assert brief(plan.actions) == [("cancel", OLD_RUN, "withdrawn")]

"""The table of planning: an expiry, a spent budget or a drain ends what runs."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from controller.decision.actions import (
    Cancel,
    Keep,
)
from controller.decision.plan import kind_of
from controller.evidence.facts import Known
from tests.builders import (
    ADMISSION,
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
    FINISHES,
    GRANT,
    HOUR,
    MINUTE,
    OLD,
    OLD_RUN,
    RAN,
    RUNNING,
    THREE_JOBS,
    THREE_RUNS,
    WIDE,
    brief,
    newer,
    planned,
    removal,
    run_of,
    seen,
    set_aside,
    small,
    started,
)


class TestExpired:
    def test_on_expiry_cancel__cancel(self) -> None:
        why = "`bert-pretrain` expired on 2026-11-29 with `on_expiry: cancel`"
        plan = planned(CANCELS, OLD, ran=RUNNING)
        assert plan.actions == (Cancel(OLD_RUN, "expired", why),)

    def test_on_expiry_finish__keep(self) -> None:
        said = "`bert-pretrain` expired on 2026-11-29; "
        keep = Keep(OLD_RUN, said + "`on_expiry: finish` lets it end by itself")
        assert planned(FINISHES, OLD, ran=RUNNING).actions == (keep,)

    def test_the_last_day_is_whole_in_utc__keep(self) -> None:
        today = sound_admission(expires=date(2026, 11, 30), on_expiry="cancel")
        plan = planned(today, OLD, ran=RUNNING)
        assert brief(plan.actions) == [("keep", OLD_RUN)]

    def test_over__settle(self) -> None:
        plan = planned(CANCELS, OLD, ran={RAN: seen(RAN, "Failed", ended_at=NOW)})
        assert [kind_of(a) for a in plan.actions] == ["settle"]

    def test_an_edit_that_is_not_approved_does_not_shield_it__cancel(self) -> None:
        governing = {BERT: Known(CANCELS, NOW)}
        plan = planned(GRANT, OLD, ran=RUNNING, governing=governing)
        assert brief(plan.actions) == [("cancel", OLD_RUN, "expired")]

    def test_an_edit_that_is_not_approved_does_not_stop_it__keep(self) -> None:
        governing = {BERT: Known(GRANT, NOW)}
        plan = planned(CANCELS, OLD, ran=RUNNING, governing=governing)
        assert brief(plan.actions) == [("keep", OLD_RUN)]

    def test_a_removal_that_is_not_approved_does_not_shield_it__cancel(self) -> None:
        governing = {BERT: Known(CANCELS, NOW)}
        for path, left in ((ADMISSION, OLD), (JOB, CANCELS)):
            plan = planned(left, ran=RUNNING, approvals=removal(path), governing=governing)
            assert brief(plan.actions) == [("cancel", OLD_RUN, "expired")]

    @pytest.mark.parametrize(
        ("answer", "doubt"), [(unavailable(), "the host answered 503"), (None, "none was found")]
    )
    def test_what_governs_is_not_known__keep(self, answer: Any, doubt: str) -> None:
        governing = {BERT: answer or Known(None, NOW)}
        plan = planned(CANCELS, OLD, ran=RUNNING, governing=governing)
        said = "the last approved version of `bert-pretrain`, which governs it, is not known: "
        keep = Keep(OLD_RUN, said + doubt, undecided=True, doubt="in-doubt")
        assert plan.actions == (keep,)

    def test_superseded_after_expiry_with_finish__cancel_beats_keep(self) -> None:
        moved = newer(admission="other")
        plan = planned(FINISHES, sound_admission("other"), moved, ran=RUNNING)
        assert brief(plan.actions)[1:] == [("cancel", OLD_RUN, "superseded", run_of(moved))]

    def test_withdrawn_expired_and_drained_at_once__the_first_row_is_the_cause(self) -> None:
        drain = Known(sound_policy(hold=hold(drain=True)), NOW)
        more: dict[str, Any] = {"ran": RUNNING, "policy": drain}
        both = planned(CANCELS, OLD, **more)
        assert brief(both.actions) == [("cancel", OLD_RUN, "expired")]
        gone = {"approvals": removal(JOB, "@ada"), "governing": {BERT: Known(CANCELS, NOW)}}
        every = planned(CANCELS, **more, **gone)
        assert brief(every.actions) == [("cancel", OLD_RUN, "withdrawn")]


class TestMoreIsCommittedThanGranted:
    def lowered(self, to: float, ran: Any = None, **more: Any) -> list[tuple[Any, ...]]:
        """Return what follows for the three runs where the grant is `to`."""
        grant = sound_admission(gpu_hours=to, max_nodes=9)
        ran = {r: seen(r) for r in THREE_RUNS} if ran is None else ran
        return brief(planned(grant, *THREE_JOBS, ran=ran, **more).actions)

    def cancelled(self, to: float, ran: Any = None, **more: Any) -> list[int]:
        """Return which of the three end."""
        numbers = {run_of(r): n for n, r in enumerate(THREE_RUNS, 1)}
        found = self.lowered(to, ran, **more)
        return sorted(numbers[e[1]] for e in found if e[0] == "cancel" and e[2] == "overspent")

    def test_the_newest_starts_end_first_until_it_fits(self) -> None:
        assert self.cancelled(600) == []
        assert self.cancelled(599) == [1]
        assert self.cancelled(408) == [1]
        assert self.cancelled(407) == [1, 2]
        assert self.cancelled(200) == [1, 2, 3]

    def test_it_says_what_is_committed_and_what_is_granted(self) -> None:
        grant = sound_admission(gpu_hours=500, max_nodes=9)
        plan = planned(grant, *THREE_JOBS, ran={r: seen(r) for r in THREE_RUNS})
        why = (
            "0 GPU hours are used and 600 set aside, `bert-pretrain` grants 500; "
            "the newest start ends first"
        )
        assert plan.actions[0] == Cancel(run_of(THREE_RUNS[0]), "overspent", why)

    def test_runs_that_end_already_are_counted(self) -> None:
        one, two, three = THREE_RUNS
        for state in ("CancelRequested", "Finalizing"):
            ran = {one: seen(one), two: seen(two, state), three: seen(three)}
            assert self.cancelled(500, ran) == []
            assert self.cancelled(300, ran) == [1]

    def test_runs_that_are_cancelled_anyway_are_counted(self) -> None:
        answers = removal(THREE_JOBS[1].path, "@ada")
        grant = sound_admission(gpu_hours=500, max_nodes=9)
        ran = {r: seen(r) for r in THREE_RUNS}
        plan = planned(grant, THREE_JOBS[0], THREE_JOBS[2], ran=ran, approvals=answers)
        assert brief(plan.changes) == [("cancel", run_of(THREE_RUNS[1]), "withdrawn")]

    def test_a_run_that_is_over_counts_with_what_it_used(self) -> None:
        one, two, three = THREE_RUNS
        spent = {one: seen(one), two: seen(two), three: seen(three, "Failed", ended_at=NOW)}
        assert self.cancelled(424, spent) == []
        assert self.cancelled(423, spent) == [1]
        overrun = seen(three, "Failed", started_at=NOW - 50 * HOUR, ended_at=NOW)
        assert self.cancelled(800, {**spent, three: overrun}) == []
        assert self.cancelled(799, {**spent, three: overrun}) == [1]

    def test_what_is_used_up_counts_too(self) -> None:
        done = started(sound_manifest(name="done"), used=300.0)
        ran = {**{r: seen(r) for r in THREE_RUNS}, done: seen(done, "Completed")}
        assert self.cancelled(899, ran) == [1]

    def test_no_older_one_ends_for_what_one_in_doubt_may_give_back(self) -> None:
        one, two, three = THREE_RUNS
        ran = {one: unavailable(), two: seen(two), three: seen(three)}
        assert self.cancelled(400, ran) == []
        assert self.cancelled(399, ran) == [2]

    def test_one_that_vanished_gives_nothing_back(self) -> None:
        one, two, three = THREE_RUNS
        ran = {one: None, two: seen(two), three: seen(three)}
        assert self.cancelled(500, ran) == [2]

    def test_a_reservation_without_a_run_yields_before_what_runs(self) -> None:
        one, two, _ = THREE_RUNS
        held = set_aside(small(3), ago=20 * MINUTE)
        ran = {one: seen(one), two: seen(two), held: None}
        assert self.cancelled(400, ran) == []
        assert self.cancelled(399, ran) == [1]

    def test_a_reservation_that_is_submitted_now_counts(self) -> None:
        one, two, _ = THREE_RUNS
        held = set_aside(small(3), ago=MINUTE)
        ran = {one: seen(one), two: seen(two), held: None}
        assert self.cancelled(600, ran) == []
        governing = {BERT: Known(sound_admission(gpu_hours=599), NOW)}
        assert self.cancelled(600, ran, governing=governing) == [1]

    def test_one_of_which_nobody_knows_whether_it_runs_ends_no_older_one(self) -> None:
        one, two, _ = THREE_RUNS
        held = set_aside(small(3), ago=MINUTE)
        ran = {one: seen(one), two: seen(two), held: unavailable()}
        assert self.cancelled(400, ran) == []

    def test_what_runs_longer_than_it_may_is_counted_in_full(self) -> None:
        one, two, three = THREE_RUNS
        long = seen(three, started_at=NOW - 50 * HOUR)
        ran = {one: seen(one), two: seen(two), three: long}
        assert self.cancelled(800, ran) == []
        assert self.cancelled(799, ran) == [1]

    def test_an_edit_that_is_not_approved_lowers_nothing(self) -> None:
        governing = {BERT: Known(sound_admission(gpu_hours=600), NOW)}
        assert self.cancelled(100, governing=governing) == []
        assert self.cancelled(900, governing={BERT: Known(FINISHES, NOW)}) == []

    @pytest.mark.parametrize("answer", [unavailable(), Known(None, NOW)])
    def test_what_governs_is_not_known__nothing_ends(self, answer: Any) -> None:
        assert self.cancelled(100, governing={BERT: answer}) == []

    def test_narrowing_anything_else_stops_nothing(self) -> None:
        grant = sound_admission(gpu_hours=600, max_nodes=1, images=(), jobs=(), compute=())
        plan = planned(grant, *THREE_JOBS, ran={r: seen(r) for r in THREE_RUNS})
        assert not plan.changes

    def test_other_admissions_are_not_concerned(self) -> None:
        other = started(small(4, admission="other"), started_at=NOW - 9 * HOUR)
        ran = {**{r: seen(r) for r in THREE_RUNS}, other: seen(other)}
        grants = sound_admission(gpu_hours=600), sound_admission("other", gpu_hours=100)
        jobs = (*THREE_JOBS, small(4, admission="other"))
        plan = planned(*grants, *jobs, ran=ran)
        assert brief(plan.changes) == [("cancel", run_of(other), "overspent")]

    def test_it_fits_exactly_whatever_floats_say(self) -> None:
        thirds = {
            started(small(n), reserved=n / 10): seen(started(small(n)), "Queued", started_at=None)
            for n in (1, 2)
        }
        assert self.cancelled(0.3, thirds) == []


class TestHold:
    DRAIN = hold(drain=True)

    def plan(self, on_main: Any, approved: Any = None, ran: Any = RUNNING) -> Any:
        """Return the plan under a hold; `approved`: under the last approved policy's."""
        policy = sound_policy(hold=on_main)
        last = policy if approved is None else sound_policy(hold=approved)
        documents = {"policy": policy}
        return planned(WIDE, OLD, small(1), ran=ran, catalog=documents, policy=Known(last, NOW))

    def test_every_start_is_withheld_and_runs_go_on(self) -> None:
        assert brief(self.plan(hold()).actions) == [
            ("keep", OLD_RUN),
            ("withhold", run_of(small(1)), "not-on-hold"),
        ]

    def test_with_drain_active_runs_end(self) -> None:
        why = "a hold with `drain` is in force: quota is being moved"
        assert self.plan(self.DRAIN).actions[0] == Cancel(OLD_RUN, "drained", why)

    def test_an_unapproved_hold_only_withholds(self) -> None:
        assert brief(self.plan(self.DRAIN, hold(until=date(2026, 11, 29))).actions) == [
            ("keep", OLD_RUN),
            ("withhold", run_of(small(1)), "not-on-hold"),
        ]

    @pytest.mark.parametrize(("day", "end"), [(30, "cancel"), (29, "keep")])
    def test_it_holds_up_to_and_including_its_last_day(self, day: int, end: str) -> None:
        until = hold(drain=True, until=date(2026, 11, day))
        assert kind_of(next(a for a in self.plan(until).actions if a.run == OLD_RUN)) == end

    def test_a_run_that_ends_already_is_left_alone(self) -> None:
        for state in ("CancelRequested", "Finalizing"):
            plan = self.plan(self.DRAIN, ran={RAN: seen(RAN, state)})
            keep = Keep(OLD_RUN, f"it is ending already: {state}")
            assert plan.actions[0] == keep

    def test_a_run_in_a_state_that_nobody_knows_is_active__cancel(self) -> None:
        plan = self.plan(self.DRAIN, ran={RAN: seen(RAN, "Hibernating")})
        assert brief(plan.actions[:1]) == [("cancel", OLD_RUN, "drained")]

    def test_an_approved_policy_that_is_not_known_drains_nothing(self) -> None:
        policy = sound_policy(hold=self.DRAIN)
        more = {"catalog": {"policy": policy}, "policy": unavailable()}
        assert brief(planned(GRANT, OLD, ran=RUNNING, **more).actions) == [("keep", OLD_RUN)]

"""Doing a plan: set aside, look, start, record; one receipt a change; no failure stops another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.decision.actions import (
    Action,
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
)
from controller.decision.noticed import noticed
from controller.documents.catalog import Catalog
from controller.documents.payload import RunRequest
from controller.effects.receipts import Receipt
from controller.errors import ActionFailedError, AdmitError, UnavailableError
from controller.ledger.book import Order, record_file
from controller.ledger.records import DEADLINE, Attempt, Outcome
from controller.ledger.store import LostRaceError
from controller.values import RunName, sha256
from tests.builders import JOB, NOW, sound_admission, sound_catalog, sound_policy
from tests.decision.planning import (
    NEW,
    NEW_RUN,
    OLD,
    OLD_RUN,
    RAN,
    THREE_RUNS,
    run_of,
    seen,
    small,
    started,
)
from tests.effects.doing import Scene, scene

ONE, TWO = small(1), small(2)
ONE_RUN, TWO_RUN = run_of(ONE), run_of(TWO)
THIRD = THREE_RUNS[2]
DRAINED = Cancel(THIRD.run, "drained", "a hold drains")
SUPERSEDED = Cancel(OLD_RUN, "superseded", "another is asked for", after=NEW_RUN)


def documents(*manifests: Any) -> Catalog:
    """Return manifests, and an admission that has room for all of them."""
    policy = sound_policy(gpu_hours=9000, max_nodes=64)
    return sound_catalog(sound_admission(gpu_hours=9000, max_nodes=64), *manifests, policy=policy)


def outcomes(receipts: Iterable[Receipt]) -> list[tuple[str, str, str]]:
    return [(receipt.action, receipt.run, receipt.outcome) for receipt in receipts]


def starting(*manifests: object) -> Scene:
    """Return a scene in which these manifests are to be started."""
    return scene(documents(*manifests))  # type: ignore[arg-type]


def submit(of: Scene, run: RunName) -> Submit:
    return next(a for a in of.case.plan.actions if isinstance(a, Submit) and a.run == run)


class TestInOrder:
    def test_each_change_has_a_receipt_and_what_changes_nothing_has_none(self) -> None:
        made = scene(documents(NEW), {RAN: seen(RAN), THIRD: seen(THIRD)})
        kept = Keep(RunName("other"), "it runs")
        withheld = Withhold(JOB, RunName("third"), "it is not met")
        receipts = made.do(DRAINED, submit(made, NEW_RUN), SUPERSEDED, kept, withheld)
        assert outcomes(receipts) == [
            ("cancel", THIRD.run, "done"),
            ("submit", NEW_RUN, "done"),
            ("cancel", OLD_RUN, "done"),
        ]
        states = {run.run: run.state for run in made.workspace.runs()}
        assert states == {
            THIRD.run: "CancelRequested",
            OLD_RUN: "CancelRequested",
            NEW_RUN: "Running",
        }

    def test_what_is_spent_is_in_the_ledger_before_and_what_was_done_after_it(self) -> None:
        made = starting(ONE)
        before: list[list[str]] = []
        real = made.workspace.submit

        def looked(request: RunRequest) -> None:
            before.append(made.titles)
            real(request)

        made.workspace.submit = looked  # type: ignore[method-assign]
        made.do()
        assert before[0][-1] == f"reserve 200 GPU hours of bert-pretrain for {ONE_RUN}"
        assert made.titles == [*before[0], f"submit {ONE_RUN}"]
        assert made.record(ONE).attempt.submitted_at == NOW

    def test_the_attempt_has_its_deadline_and_the_digest_of_its_admission_record(self) -> None:
        made = starting(ONE)
        made.do()
        attempt = made.record(ONE).attempt
        place = record_file(ONE_RUN, attempt.record)
        content = made.ledger.read(lambda path: True).files[place]
        assert content is not None
        expected = Attempt(1, sha256(content), NOW, NOW + DEADLINE, submitted_at=NOW)
        assert attempt == expected
        assert made.workspace.started[0].injected["ADMIT_RECORD"] == attempt.record

    def test_a_superseded_run_ends_only_after_the_new_one_is_in_the_ledger(self) -> None:
        made = scene(documents(NEW), {RAN: seen(RAN)})
        when: list[str] = []
        made.workspace.cancel = lambda run, reason: when.extend(made.titles)  # type: ignore[method-assign,misc]
        made.do(submit(made, NEW_RUN), SUPERSEDED)
        assert f"submit {NEW_RUN}" in when

    def test_a_cancellation_is_recorded_with_its_cause(self) -> None:
        made = scene(documents(), {RAN: seen(RAN)})
        made.do(Cancel(OLD_RUN, "expired", "it expired"))
        cancel = made.record(RAN).attempt.cancel
        assert cancel is not None
        assert (cancel.at, cancel.cause, cancel.why) == (NOW, "expired", "it expired")
        ended = made.workspace.get(OLD_RUN)
        assert ended is not None
        assert ended.reason == "it expired"

    def test_nothing_to_change_asks_for_nothing_and_writes_nothing(self) -> None:
        made = scene(documents(OLD), {RAN: seen(RAN)})
        made.workspace.outage = "nobody should ask"
        assert made.do(Keep(OLD_RUN, "it runs")) == []
        assert made.titles == []

    def test_a_heartbeat_is_written_with_every_change_and_alone_by_the_hour(self) -> None:
        made = scene(documents(OLD), {RAN: seen(RAN)})
        made.clock = NOW + timedelta(minutes=59)
        made.do(Keep(OLD_RUN, "it runs"))
        assert made.book.heartbeat.at == NOW
        made.clock = NOW + timedelta(hours=1)
        made.do(Keep(OLD_RUN, "it runs"))
        assert (made.titles, made.book.heartbeat.at) == (["heartbeat"], made.clock)
        made.clock = NOW + timedelta(hours=1, minutes=1)
        made.do(Cancel(OLD_RUN, "expired", "it expired"))
        assert made.book.heartbeat.at == made.clock

    def test_what_a_person_ordered_is_recorded_first(self) -> None:
        made = scene(documents(), {RAN: seen(RAN)})
        order = Order("max-cancels", NOW, "the cluster moves", "ada", number=3)
        made.do(Cancel(OLD_RUN, "drained", "why"), orders=[order])
        assert made.titles[0] == "ada orders max-cancels"
        assert any(path.startswith("orders/") for path in made.book.names)


class TestReadBeforeWrite:
    def test_a_run_that_is_there_already_is_not_written_again(self) -> None:
        made = starting(ONE)
        made.workspace.observe(seen(started(ONE)))
        made.workspace.submit = refuses  # type: ignore[method-assign]
        assert outcomes(made.do()) == [("submit", ONE_RUN, "done")]
        assert made.record(ONE).stage == "submitted"

    def test_another_payload_under_the_name_is_refused_loudly(self) -> None:
        made = starting(ONE)
        made.workspace.observe(replace(seen(started(ONE)), fingerprint="f" * 64))
        made.workspace.submit = refuses  # type: ignore[method-assign]
        (receipt,) = made.do()
        assert receipt.outcome == "failed"
        assert f"another payload under the name `{ONE_RUN}`" in receipt.detail
        assert made.record(ONE).failures[0].refused

    def test_after_the_deadline_nothing_is_submitted_and_no_failure_is_counted(self) -> None:
        made = starting(ONE)
        made.clock = NOW + DEADLINE
        (receipt,) = made.do()
        assert receipt.outcome == "failed"
        assert "the deadline of its reservation, 20:15 UTC, is over" in receipt.detail
        assert made.workspace.started == []
        assert (made.record(ONE).stage, made.record(ONE).failures) == ("reserved", ())

    def test_just_before_the_deadline_it_is(self) -> None:
        made = starting(ONE)
        made.clock = NOW + DEADLINE - timedelta(seconds=1)
        assert outcomes(made.do()) == [("submit", ONE_RUN, "done")]


def refuses(request: RunRequest) -> None:
    raise AssertionError(f"{request.run} was written")


class TestUnderAReservation:
    def test_what_was_reserved_for_before_is_submitted_under_the_same_record(self) -> None:
        made = starting(ONE)
        made.workspace.outage = "down for now"
        made.do()
        made.workspace.outage = ""
        first = made.record(ONE).attempt.record
        again = replace(submit(made, ONE_RUN), reserved=True)
        assert outcomes(made.do(again)) == [("submit", ONE_RUN, "done")]
        assert made.workspace.started[0].injected["ADMIT_RECORD"] == first
        assert [g.closed for g in made.record(ONE).generations] == [None]

    def test_a_forged_admission_record_is_not_submitted_under(self) -> None:
        made = starting(ONE)
        made.workspace.outage = "down for now"
        made.do()
        made.workspace.outage = ""
        forge(made, record_file(ONE_RUN, made.record(ONE).attempt.record), b"{}\n")
        (receipt,) = made.do(replace(submit(made, ONE_RUN), reserved=True))
        assert receipt.outcome == "failed"
        assert "is not the one that was reserved for" in receipt.detail
        assert made.workspace.started == []


def forge(made: Scene, path: str, content: bytes) -> None:
    """Write a file of the ledger as somebody with access to the branch would."""
    from controller.ledger.store import Change

    made.ledger.append([Change("forged", {path: content})], after=made.ledger.head, at=NOW)


class TestFailures:
    def test_a_failed_start_stops_only_itself_and_what_waits_for_it(self) -> None:
        made = scene(documents(NEW, ONE), {RAN: seen(RAN)})
        start, other = submit(made, NEW_RUN), submit(made, ONE_RUN)
        made.workspace.observe(replace(seen(RAN), run=NEW_RUN, fingerprint="f" * 64))
        receipts = made.do(start, other, SUPERSEDED)
        assert outcomes(receipts) == [
            ("submit", NEW_RUN, "failed"),
            ("submit", ONE_RUN, "done"),
            ("cancel", OLD_RUN, "held"),
        ]
        assert receipts[2].detail == f"`{NEW_RUN}`, which takes its place, was not started"

    def test_a_cancellation_waits_for_its_own_submission_not_for_another(self) -> None:
        made = scene(documents(NEW, ONE), {RAN: seen(RAN)})
        receipts = made.do(submit(made, ONE_RUN), SUPERSEDED)
        assert outcomes(receipts) == [("submit", ONE_RUN, "done"), ("cancel", OLD_RUN, "held")]

    def test_a_failed_cancellation_stops_only_itself_and_is_not_recorded(self) -> None:
        made = scene(documents(ONE), {RAN: seen(RAN), THIRD: None})
        receipts = made.do(DRAINED, Cancel(OLD_RUN, "drained", "why"), submit(made, ONE_RUN))
        assert [receipt.outcome for receipt in receipts] == ["failed", "done", "done"]
        assert receipts[0].detail == f"there is no run `{THIRD.run}`"
        assert made.record(THIRD).attempt.cancel is None

    @pytest.mark.parametrize(
        ("error", "refused"),
        [(ActionFailedError("no quota"), True), (UnavailableError("no answer"), False)],
    )
    def test_a_failed_submission_is_counted_and_says_whether_it_was_refused(
        self, error: AdmitError, refused: bool
    ) -> None:
        made = starting(ONE)

        def fails(request: RunRequest) -> None:
            raise error

        made.workspace.submit = fails  # type: ignore[method-assign]
        assert outcomes(made.do()) == [("submit", ONE_RUN, "failed")]
        (failure,) = made.record(ONE).failures
        assert (failure.why, failure.refused) == (str(error), refused)
        assert made.record(ONE).stage == "reserved"

    def test_a_bug_is_not_taken_for_a_failure(self) -> None:
        made = starting(ONE)

        def bug(run: RunName) -> None:
            raise KeyError(run)

        made.workspace.get = bug  # type: ignore[method-assign,assignment]
        with pytest.raises(KeyError):
            made.do()

    def test_with_a_brake_no_run_is_cancelled_and_the_rest_is_done(self) -> None:
        made = scene(documents(NEW), {RAN: seen(RAN), THIRD: seen(THIRD)})
        receipts = made.do(DRAINED, submit(made, NEW_RUN), SUPERSEDED, brake="too many")
        assert [receipt.outcome for receipt in receipts] == ["held", "done", "held"]
        held = {r.detail for r in receipts if r.outcome == "held"}
        assert held == {"the brake on cancellations holds"}

    def test_what_a_person_stopped_ends_in_spite_of_the_brake(self) -> None:
        made = scene(documents(), {RAN: seen(RAN)})
        receipts = made.do(Cancel(OLD_RUN, "stopped", "ada stopped it"), brake="too many")
        assert outcomes(receipts) == [("cancel", OLD_RUN, "done")]


class TestTheLedger:
    def test_who_loses_the_race_before_it_starts_anything_starts_nothing(self) -> None:
        made = starting(ONE)
        made.ledger.before_swap = lambda: forge(made, "heartbeat.json", b"{}")
        with pytest.raises(LostRaceError):
            made.do()
        assert made.workspace.started == []

    def test_an_outage_before_it_starts_anything_starts_nothing(self) -> None:
        made = starting(ONE)
        book_is_read = made.book
        made.ledger.outage = "the remote does not answer"
        with pytest.raises(UnavailableError):
            made.ledger.read(lambda path: False)
        made.ledger.outage = ""
        made.ledger.reply_lost = "the reply was lost"
        with pytest.raises(UnavailableError):
            made.do()
        assert made.workspace.started == []
        assert book_is_read.records == {}

    def test_an_outage_after_it_leaves_the_run_to_be_found_and_says_so(self) -> None:
        made = starting(ONE)
        real = made.workspace.submit

        def then_down(request: RunRequest) -> None:
            real(request)
            made.ledger.outage = "the remote does not answer"

        made.workspace.submit = then_down  # type: ignore[method-assign]
        receipts = made.do()
        assert outcomes(receipts) == [
            ("submit", ONE_RUN, "done"),
            ("record", made.ledger.place, "failed"),
        ]
        assert "found and recorded by the next pass" in receipts[1].detail

    def test_a_settlement_is_exact_and_has_what_came_of_the_run(self) -> None:
        over = seen(RAN, "Completed", ended_at=NOW)
        made = scene(documents(OLD), {RAN: over})
        made.outcomes[OLD_RUN] = Outcome("abc", "claims-bert", "7", "sha256:d1")
        made.case = replace(made.case, evidence=noticed(made.case.evidence))
        receipts = made.do(Settle(OLD_RUN, 16, "Completed, no attempt left"))
        assert outcomes(receipts) == [("settle", OLD_RUN, "done")]
        closed = made.record(RAN).last.closed
        assert closed is not None
        assert (closed.gpu_hours, closed.exact) == (16, True)
        assert closed.outcome == Outcome("abc", "claims-bert", "7", "sha256:d1")
        assert made.titles == [f"settle {OLD_RUN}: 16 of 960 GPU hours used"]

    def test_a_release_gives_the_reservation_back(self) -> None:
        waiting = started(OLD, attempts=(Attempt(1, sha256(b"why"), NOW, NOW + DEADLINE),))
        made = scene(documents(), {waiting: None})
        assert outcomes(made.do(Release(OLD_RUN, "never started"))) == [
            ("release", OLD_RUN, "done")
        ]
        assert made.record(waiting).stage == "released"


@pytest.mark.parametrize(
    ("action", "kind", "subject"),
    [
        (Repair(OLD_RUN, ("tags",), "why"), "repair", OLD_RUN),
        (ApplySchedule("nightly", 1.0, "why"), "apply-schedule", "nightly"),
        (DisableSchedule("nightly", "why"), "disable-schedule", "nightly"),
        (DeleteSchedule("nightly", "why"), "delete-schedule", "nightly"),
    ],
)
def test_what_no_workspace_can_do_yet_fails_and_says_so(
    action: Action, kind: str, subject: str
) -> None:
    receipt = Receipt(kind, subject, "failed", "no workspace of this version can do that")
    assert scene(documents()).do(action) == [receipt]

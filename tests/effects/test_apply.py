"""Doing a plan: in order, one receipt for each change, and no failure stops another action."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
from controller.decision.plan import Plan
from controller.documents.payload import RunRequest
from controller.effects.apply import apply
from controller.effects.receipts import Receipt
from controller.errors import CannotRunError
from controller.evidence.facts import ObservedRun
from controller.values import RunName
from tests.builders import JOB, NOW
from tests.decision.planning import (
    NEW,
    NEW_RUN,
    OLD,
    OLD_RUN,
    RAN,
    THREE_RUNS,
    WIDE,
    planned,
    run_of,
    seen,
    small,
)
from tests.fakes import FakeWorkspace

ONE, TWO = small(1), small(2)


def request(submit: Submit) -> RunRequest:
    manifest = {m.path: m for m in (ONE, TWO, NEW)}[submit.path]
    return RunRequest(submit.run, manifest.payload, tags={}, injected={})


def having(*runs: ObservedRun) -> FakeWorkspace:
    workspace = FakeWorkspace(lambda: NOW)
    for run in runs:
        workspace.observe(run)
    return workspace


def plan_of(*actions: Action, brake: str = "") -> Plan:
    return Plan("local:here", actions, {}, (), brake)


def states(workspace: FakeWorkspace) -> dict[RunName, str]:
    return {run.run: run.state for run in workspace.runs()}


def starts(*documents: object) -> tuple[Action, ...]:
    return planned(WIDE, *documents).actions  # type: ignore[arg-type]


def outcomes(receipts: Iterable[Receipt]) -> list[tuple[str, str, str]]:
    return [(receipt.action, receipt.run, receipt.outcome) for receipt in receipts]


def test_what_is_planned_is_done_and_each_change_has_a_receipt() -> None:
    workspace = having(seen(RAN), seen(THREE_RUNS[2]))
    drained = Cancel(run_of(THREE_RUNS[2]), "drained", "a hold drains")
    (submit,) = starts(NEW)
    superseded = Cancel(OLD_RUN, "superseded", "another is asked for", after=NEW_RUN)
    kept = Keep(RunName("other"), "it runs")
    withheld = Withhold(JOB, RunName("third"), "it is not met")
    plan = plan_of(drained, submit, superseded, kept, withheld)
    assert list(apply(plan, request, workspace)) == [
        Receipt("cancel", drained.run, "done", "a hold drains"),
        Receipt("submit", NEW_RUN, "done", "admitted by `bert-pretrain`, worst case 960 GPU hours"),
        Receipt("cancel", OLD_RUN, "done", "another is asked for"),
    ]
    ends = {drained.run: "CancelRequested", OLD_RUN: "CancelRequested"}
    assert states(workspace) == {**ends, NEW_RUN: "Running"}
    assert [started.payload for started in workspace.started] == [NEW.payload]


def test_the_reason_goes_with_a_cancellation() -> None:
    workspace = having(seen(RAN))
    list(apply(plan_of(Cancel(OLD_RUN, "expired", "it expired")), request, workspace))
    ended = workspace.get(OLD_RUN)
    assert ended is not None
    assert ended.reason == "it expired"


def test_a_failed_start_stops_only_itself_and_what_waits_for_it() -> None:
    workspace = having(seen(RAN), replace(seen(RAN), run=NEW_RUN, fingerprint="f" * 64))
    (submit,) = starts(NEW)
    waits = Cancel(OLD_RUN, "superseded", "why", after=NEW_RUN)
    receipts = list(apply(plan_of(submit, *starts(ONE), waits), request, workspace))
    assert outcomes(receipts) == [
        ("submit", NEW_RUN, "failed"),
        ("submit", run_of(ONE), "done"),
        ("cancel", OLD_RUN, "held"),
    ]
    assert receipts[0].detail == f"a job with the name `{NEW_RUN}` already exists"
    assert receipts[2].detail == f"`{NEW_RUN}`, which takes its place, was not started"
    assert states(workspace)[OLD_RUN] == "Running"


def test_a_cancellation_waits_for_its_own_submission_not_for_another() -> None:
    workspace = having(seen(RAN))
    waits = Cancel(OLD_RUN, "superseded", "why", after=NEW_RUN)
    receipts = apply(plan_of(*starts(ONE), waits), request, workspace)
    assert outcomes(receipts) == [("submit", run_of(ONE), "done"), ("cancel", OLD_RUN, "held")]


def test_a_failed_cancellation_stops_only_itself() -> None:
    gone = Cancel(RunName("gone"), "withdrawn", "why")
    workspace = having(seen(RAN))
    plan = plan_of(gone, Cancel(OLD_RUN, "drained", "why"), *starts(ONE))
    receipts = list(apply(plan, request, workspace))
    assert [receipt.outcome for receipt in receipts] == ["failed", "done", "done"]
    assert receipts[0].detail == "there is no run `gone`"


def test_a_request_that_cannot_be_made_stops_only_itself_and_says_what_to_do() -> None:
    def refuses(submit: Submit) -> RunRequest:
        if submit.run == run_of(ONE):
            raise CannotRunError("the image is gone", remedy="build it again")
        return request(submit)

    receipts = list(apply(plan_of(*starts(ONE, TWO)), refuses, having()))
    assert receipts[0] == Receipt(
        "submit", run_of(ONE), "failed", "the image is gone; build it again"
    )
    assert receipts[1].outcome == "done"


def test_an_outage_fails_every_action_one_by_one() -> None:
    workspace = having()
    workspace.outage = "no route to the workspace"
    receipts = apply(plan_of(*starts(ONE, TWO)), request, workspace)
    assert [r.detail for r in receipts] == ["no route to the workspace"] * 2


def test_a_bug_is_not_taken_for_a_failure() -> None:
    def bug(submit: Submit) -> RunRequest:
        raise KeyError(submit.path)

    with pytest.raises(KeyError):
        list(apply(plan_of(*starts(ONE)), bug, having()))


def test_with_a_brake_no_run_is_cancelled_and_the_rest_is_done() -> None:
    workspace = having(seen(RAN), seen(THREE_RUNS[2]))
    plan = plan_of(
        Cancel(run_of(THREE_RUNS[2]), "drained", "why"),
        *starts(NEW),
        Cancel(OLD_RUN, "superseded", "why", after=NEW_RUN),
        brake="too many",
    )
    receipts = list(apply(plan, request, workspace))
    assert [receipt.outcome for receipt in receipts] == ["held", "done", "held"]
    assert {r.detail for r in receipts if r.outcome == "held"} == {
        "the brake on cancellations holds"
    }
    assert set(states(workspace).values()) == {"Running"}


def test_nothing_to_change_asks_for_nothing() -> None:
    plan = planned(WIDE, OLD, ran={RAN: seen(RAN)})
    workspace = having()
    workspace.outage = "nobody should ask"
    assert list(apply(plan, request, workspace)) == []


def test_doing_the_same_plan_twice_starts_nothing_twice() -> None:
    workspace, plan = having(), plan_of(*starts(ONE))
    assert outcomes(apply(plan, request, workspace)) == outcomes(apply(plan, request, workspace))
    assert len(workspace.started) == 1


@pytest.mark.parametrize(
    ("action", "kind", "subject"),
    [
        (Settle(OLD_RUN, 1.0, "why"), "settle", OLD_RUN),
        (Release(OLD_RUN, "why"), "release", OLD_RUN),
        (Repair(OLD_RUN, ("tags",), "why"), "repair", OLD_RUN),
        (ApplySchedule("nightly", 1.0, "why"), "apply-schedule", "nightly"),
        (DisableSchedule("nightly", "why"), "disable-schedule", "nightly"),
        (DeleteSchedule("nightly", "why"), "delete-schedule", "nightly"),
    ],
)
def test_what_needs_the_ledger_fails_and_says_so(action: Action, kind: str, subject: str) -> None:
    receipt = Receipt(kind, subject, "failed", f"`{kind}` needs the ledger")
    assert list(apply(plan_of(action), request, having())) == [receipt]

"""Doing a plan: one action at a time, in order, one receipt each. A failure stops only its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn, Protocol

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
)
from controller.decision.plan import Plan, kind_of
from controller.documents.payload import RunRequest
from controller.effects.receipts import Receipt
from controller.errors import ActionFailedError, AdmitError
from controller.values import RunName

Ledgered = Settle | Release | Repair | ApplySchedule | DisableSchedule | DeleteSchedule
"""What cannot be done before there is a ledger."""

Change = Submit | Cancel | Ledgered


class Workspace(Protocol):
    """Where runs are started and ended. Both calls may be repeated without harm."""

    def submit(self, request: RunRequest) -> None:
        """Start a run under its name; one of that name and payload is success already."""
        ...

    def cancel(self, run: RunName, reason: str) -> None:
        """Ask that a run ends; one that is over is success already."""
        ...


def apply(
    plan: Plan, request: Callable[[Submit], RunRequest], workspace: Workspace
) -> Iterator[Receipt]:
    """Do what `plan` says and yield a receipt for each action that changes something.

    With a brake, no run is cancelled. A cancellation that waits for a submission is done only
    after that submission was.
    """
    started: set[RunName] = set()
    for action in plan.actions:
        if isinstance(action, Keep | Withhold):
            continue
        if isinstance(action, Cancel) and (why := _held(action, plan, started)):
            yield Receipt(kind_of(action), action.run, "held", why)
            continue
        receipt = _receipt(action, request, workspace)
        if isinstance(action, Submit) and receipt.outcome == "done":
            started.add(action.run)
        yield receipt


def _held(cancel: Cancel, plan: Plan, started: set[RunName]) -> str:
    """Return why a cancellation may not be done now, or ''."""
    if plan.brake:
        return "the brake on cancellations holds"
    if cancel.after is not None and cancel.after not in started:
        return f"`{cancel.after}`, which takes its place, was not started"
    return ""


def _receipt(
    action: Change, request: Callable[[Submit], RunRequest], workspace: Workspace
) -> Receipt:
    kind, subject = kind_of(action), _subject(action)
    try:
        _do(action, request, workspace)
    except AdmitError as error:
        said = f"{error}; {error.remedy}" if error.remedy else str(error)
        return Receipt(kind, subject, "failed", said)
    return Receipt(kind, subject, "done", action.why)


def _subject(action: Change) -> str:
    match action:
        case ApplySchedule() | DisableSchedule() | DeleteSchedule():
            return action.schedule
        case _:
            return action.run


def _do(action: Change, request: Callable[[Submit], RunRequest], workspace: Workspace) -> None:
    match action:
        case Submit():
            workspace.submit(request(action))
        case Cancel(run=run, why=why):
            workspace.cancel(run, why)
        case _:
            _refuse(action)


def _refuse(action: Ledgered) -> NoReturn:
    raise ActionFailedError(f"`{kind_of(action)}` needs the ledger")

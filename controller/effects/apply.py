"""Doing a plan: reserve, then submit, then record; one receipt an action.

What is to be spent is in the ledger before it is spent. Appending to the ledger is a
compare-and-swap: whoever loses it does nothing more, and the pass starts again from the new head.
A crash between any two steps leaves a state from which the next pass finishes the same work.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from controller.decision.actions import (
    ApplySchedule,
    Cancel,
    DeleteSchedule,
    DisableSchedule,
    Release,
    Repair,
    Settle,
    Submit,
)
from controller.decision.plan import kind_of
from controller.documents.payload import RunRequest
from controller.effects.opening import draft_seen, draft_start
from controller.effects.receipts import Receipt
from controller.effects.request import Case, request_from
from controller.errors import ActionFailedError, AdmitError, UnavailableError
from controller.evidence.facts import ObservedRun
from controller.ledger.book import Book, Heartbeat, Order, record_file
from controller.ledger.draft import Draft
from controller.ledger.records import (
    CancelAsked,
    Failure,
    Outcome,
    RunRecord,
    cancel_asked,
    failed,
    submitted,
)
from controller.ledger.store import Ledger
from controller.values import RunName, sha256

Scheduling = Repair | ApplySchedule | DisableSchedule | DeleteSchedule
"""What no workspace of this version can do."""
Change = Submit | Cancel | Settle | Release | Scheduling

HOURLY = timedelta(hours=1)
"""A heartbeat is written with every other change, and alone so often."""


class TooLateError(ActionFailedError):
    """The reservation's deadline is over; nothing was submitted."""


class Workspace(Protocol):
    """Where runs are started and ended. Every call may be repeated without harm."""

    def get(self, run: RunName) -> ObservedRun | None:
        """Return one run; None when there is none of that name."""
        ...

    def submit(self, request: RunRequest) -> None:
        """Start a run under its name; one of that name and payload is success already."""
        ...

    def cancel(self, run: RunName, reason: str) -> None:
        """Ask that a run ends; one that is over is success already."""
        ...


@dataclass(frozen=True, slots=True)
class Hands:
    """Everything that doing a plan may touch, and the clock that its deadlines are read from.

    `outcome` returns what the team's MLflow says came of a run, None where it does not say.
    """

    ledger: Ledger
    workspace: Workspace
    now: Callable[[], datetime]
    outcome: Callable[[RunRecord], Outcome | None]


@dataclass(slots=True)
class _Turn:
    """One plan being done: what is drafted, and the admission records of what it reserved."""

    case: Case
    hands: Hands
    draft: Draft
    contents: dict[RunName, bytes] = field(default_factory=dict)
    recorded: set[RunName] = field(default_factory=set)
    """The runs whose submission is drafted or written."""

    def flush(self) -> None:
        """Write what is drafted. Raises LostRaceError and UnavailableError."""
        self.draft.flush(self.hands.ledger, self.beat())

    def beat(self) -> Heartbeat:
        """Return the heartbeat of now."""
        surroundings = self.case.surroundings
        at, main = self.hands.now(), self.case.main
        return Heartbeat(at, main, surroundings.workspace, surroundings.controller_version)


def apply(
    case: Case, book: Book, hands: Hands, orders: Iterable[Order] = ()
) -> Generator[Receipt, None, tuple[RunRecord, ...]]:
    """Do the plan of `case`, which rests on `book`; yield a receipt for each change.

    With a brake, no run is cancelled but those that a person stopped. A cancellation that waits
    for a submission is done only after that submission is in the ledger.
    Returns every record as it is then. Raises LostRaceError: what is done is done, and what is
    not needs a new pass.
    """
    turn = _Turn(case, hands, Draft(book))
    refused = dict(_opened(turn, book, orders))
    turn.flush()
    for action in case.plan.actions:
        match action:
            case Settle() | Release():
                yield _done(action)
            case Cancel(after=None):
                yield _cancelled(turn, action)
            case Submit(run=run) if run in refused:
                yield refused[run]
            case Submit():
                yield _submitted(turn, action)
            case Repair() | ApplySchedule() | DisableSchedule() | DeleteSchedule():
                yield _impossible(action)
            case _:
                pass
    if (receipt := _written(turn)) is not None:
        yield receipt
        return turn.draft.records
    for action in case.plan.actions:
        if isinstance(action, Cancel) and action.after is not None:
            yield _cancelled(turn, action)
    if (receipt := _written(turn)) is not None:
        yield receipt
    return turn.draft.records


def _opened(turn: _Turn, book: Book, orders: Iterable[Order]) -> Iterator[tuple[RunName, Receipt]]:
    """Draft everything that is written before anything is done; yield the starts that cannot be."""
    plan = turn.case.plan
    for order in orders:
        turn.draft.order(order, f"{order.by} orders {order.what}")
    ended = {a.run for a in plan.actions if isinstance(a, Settle)}
    outcomes = {r.run: turn.hands.outcome(r) for r in turn.case.evidence.records if r.run in ended}
    draft_seen(turn.draft, turn.case, book, outcomes)
    for action in plan.actions:
        if not isinstance(action, Submit) or action.reserved:
            continue
        try:
            turn.contents[action.run] = draft_start(turn.draft, action, turn.case)
        except AdmitError as error:
            yield action.run, _failed(action, error)
    if not turn.draft.pending and turn.hands.now() - book.heartbeat.at >= HOURLY:
        turn.draft.beat(turn.beat())


def _written(turn: _Turn) -> Receipt | None:
    """Write what was done; where that is not possible, the next pass finds it in the workspace."""
    try:
        turn.flush()
    except UnavailableError as error:
        why = f"{error}; what was done is found and recorded by the next pass"
        return Receipt("record", turn.hands.ledger.place, "failed", why)
    return None


def _submitted(turn: _Turn, action: Submit) -> Receipt:
    manifest = turn.case.catalog.manifests[action.path]
    record = turn.draft.record(manifest.name, action.fingerprint)
    if record is None:
        raise AssertionError(f"{action.run} is submitted without a reservation")
    try:
        request = request_from(_content(turn, action.run, record), manifest)
        _start(turn, record, request)
    except AdmitError as error:
        refused = not isinstance(error, UnavailableError)
        if not isinstance(error, TooLateError):
            failure = Failure(turn.hands.now(), str(error), refused)
            turn.draft.put(failed(record, failure), f"fail to submit {action.run}", str(error))
        return _failed(action, error)
    turn.recorded.add(action.run)
    turn.draft.put(submitted(record, turn.hands.now()), f"submit {action.run}", action.why)
    return _done(action)


def _start(turn: _Turn, record: RunRecord, request: RunRequest) -> None:
    """Look, then start: what is there already was started by somebody who did not say so."""
    there = turn.hands.workspace.get(request.run)
    if there is not None and there.fingerprint != record.fingerprint:
        raise ActionFailedError(
            f"the workspace has another payload under the name `{request.run}`",
            remedy="find out who started it; to run this one, change `tags.rerun`",
        )
    if there is not None:
        return
    if turn.hands.now() >= record.attempt.deadline:
        raise TooLateError(
            f"the deadline of its reservation, {record.attempt.deadline:%H:%M} UTC, is over",
            remedy="nothing was submitted; a later pass reserves again",
        )
    turn.hands.workspace.submit(request)


def _content(turn: _Turn, run: RunName, record: RunRecord) -> bytes:
    """Return the admission record of an attempt, as it is in the ledger."""
    if run in turn.contents:
        return turn.contents[run]
    file = record_file(run, record.attempt.record)
    pages = turn.hands.ledger.read(lambda path: path == file, turn.draft.head)
    content = pages.files.get(file)
    if content is None or sha256(content) != record.attempt.record:
        raise ActionFailedError(
            f"the admission record of `{run}` is not the one that was reserved for",
            remedy="`admit ledger fsck` names the commit that broke it",
        )
    return content


def _cancelled(turn: _Turn, action: Cancel) -> Receipt:
    if why := _held(turn, action):
        return Receipt(kind_of(action), action.run, "held", why)
    try:
        turn.hands.workspace.cancel(action.run, action.why)
    except AdmitError as error:
        return _failed(action, error)
    record = next(r for r in turn.case.evidence.records if r.run == action.run)
    now = turn.draft.record(record.name, record.fingerprint) or record
    asked = CancelAsked(turn.hands.now(), action.cause, action.why)
    turn.draft.put(cancel_asked(now, asked), f"ask {action.run} to end: {action.cause}", action.why)
    return _done(action)


def _held(turn: _Turn, cancel: Cancel) -> str:
    """Return why a cancellation may not be done now, or ''."""
    if turn.case.plan.brake and cancel.cause != "stopped":
        return "the brake on cancellations holds"
    if cancel.after is not None and cancel.after not in turn.recorded:
        return f"`{cancel.after}`, which takes its place, was not started"
    return ""


def _done(action: Change) -> Receipt:
    return Receipt(kind_of(action), _subject(action), "done", action.why)


def _failed(action: Change, error: AdmitError) -> Receipt:
    said = f"{error}; {error.remedy}" if error.remedy else str(error)
    return Receipt(kind_of(action), _subject(action), "failed", said)


def _impossible(action: Scheduling) -> Receipt:
    why = "no workspace of this version can do that"
    return Receipt(kind_of(action), _subject(action), "failed", why)


def _subject(action: Change) -> str:
    match action:
        case ApplySchedule() | DisableSchedule() | DeleteSchedule():
            return action.schedule
        case _:
            return action.run

"""`stop`: end runs at once, whatever main says, and record it so that no later pass undoes it.

The workspace is asked first; then it is recorded who said so and why. Neither documents nor
approvals are read, and where the ledger cannot be had, runs are ended all the same.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from controller import __version__
from controller.decision.noticed import ours
from controller.effects.receipts import Done, Receipt
from controller.errors import AdmitError, UsageError
from controller.evidence.facts import ObservedRun, Phase
from controller.ledger.book import Book, Heartbeat, Order, read_book, wanted
from controller.ledger.draft import Draft
from controller.ledger.records import CancelAsked, RunRecord, Stop, cancel_asked, stopped, submitted
from controller.ledger.store import LostRaceError
from controller.passes import AHEAD, TURNS
from controller.report.outcome import Report
from controller.surveying.listing import attempts_of, is_tagged
from controller.values import RunName, listed
from controller.wiring import Workspace, World

_ATTEMPT = re.compile(r"-a[0-9]+\Z")
_NEAREST = 3

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stopped:
    """What was done; `unrecorded` is why the ledger does not say so, if it does not."""

    report: Report
    unrecorded: AdmitError | None = None


@dataclass(frozen=True, slots=True)
class _Ended:
    """What came of one run; `record` is what is to be written of it.

    `ordered`: something was done or is to be written, so that the order names it.
    """

    receipt: Receipt
    record: RunRecord | None = None
    ordered: bool = True


@dataclass(slots=True)
class _Hands:
    """The workspace, asked each thing once, however often the ledger is read again."""

    workspace: Workspace
    order: Order
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)

    @property
    def here(self) -> str:
        """The workspace's id; '' where it cannot say."""
        try:
            return self._once("id", "", lambda: self.workspace.id)
        except AdmitError:
            return ""

    def get(self, run: RunName) -> ObservedRun | None:
        """Return a run. Raises AdmitError."""
        return self._once("get", run, partial(self.workspace.get, run))

    def cancel(self, run: RunName) -> None:
        """Ask that a run ends. Raises AdmitError."""
        why = f"{self.order.by} stopped it: {self.order.reason}"
        self._once("cancel", run, partial(self.workspace.cancel, run, why))

    def cancelled(self, run: RunName) -> bool:
        """Whether the workspace was asked to end it, and agreed."""
        key = ("cancel", run)
        return key in self.answers and not isinstance(self.answers[key], AdmitError)

    def runs(self) -> Sequence[ObservedRun]:
        """Return every run there is. Raises AdmitError."""
        return self._once("list", "", self.workspace.runs)

    def _once(self, what: str, run: str, ask: Callable[[], T]) -> T:
        if (what, run) not in self.answers:
            try:
                self.answers[what, run] = ask()
            except AdmitError as error:
                self.answers[what, run] = error
        answer: T | AdmitError = self.answers[what, run]
        if isinstance(answer, AdmitError):
            raise answer
        return answer


def stop(world: World, run: str | None, reason: str) -> Stopped:
    """End `run`, or with None every run of ours, and record it.

    `run` is the name of any attempt, or the name without the attempt. Raises UsageError for one
    that neither the ledger nor the workspace knows, UnavailableError where the ledger does not
    know it and the workspace does not answer, NotARepositoryError.
    """
    world.git  # noqa: B018 - where there is no repository, nothing of this place is meant
    order = Order("stop", world.now(), _written(reason), _written(world.who))
    hands = _Hands(world.workspace, order)
    for turn in range(TURNS):
        try:
            book = read_book(world.ledger.read(wanted))
        except AdmitError as error:
            return _unrecorded(hands, _without_ledger(hands, run), error)
        ended = tuple(_all(hands, book) if run is None else _one(hands, book, run))
        try:
            _drafted(hands, book, ended).flush(world.ledger, _beat(book, order.at))
        except LostRaceError as error:
            if turn + 1 == TURNS:
                return _unrecorded(hands, ended, error)
            world.pause(turn)
        except AdmitError as error:
            return _unrecorded(hands, ended, error)
        else:
            return Stopped(_report(hands, ended))
    raise AssertionError("the last turn returns")


def _written(text: str) -> str:
    """Return a text of this process's surroundings as one that can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _all(hands: _Hands, book: Book) -> Iterator[_Ended]:
    """End every run that is open in the ledger, then every other active one with our tags."""
    going = {record.run for record in book.active}
    for record in book.active:
        yield _recorded(hands, record)
    yield from _listed(hands, lambda run: is_tagged(run) and run.run not in going)


def _one(hands: _Hands, book: Book, run: str) -> Iterator[_Ended]:
    known = attempts_of(book)
    if (attempt := known.get(RunName(run))) is not None:
        yield _recorded(hands, attempt.record)
        return
    there = hands.get(RunName(run))
    if there is None:
        near = difflib.get_close_matches(run, known, _NEAREST, 0.5)
        raise UsageError(
            f"`{run}` is no run that the ledger or the workspace knows",
            remedy=f"did you mean {listed(near)}?"
            if near
            else "`admit status` lists the runs; what never ran is withdrawn by its manifest",
        )
    if not is_tagged(there):
        raise UsageError(
            f"`{run}` has no tag of ours, and the ledger does not know it",
            remedy="whoever started it has to end it, in the workspace",
        )
    yield _unknown(hands, there.run)


def _without_ledger(hands: _Hands, run: str | None) -> tuple[_Ended, ...]:
    """End all of ours, or a run with whatever other attempts of it are active."""
    if run is None:
        return tuple(_listed(hands, is_tagged))
    family = _ATTEMPT.sub("", run)
    named = _unknown(hands, RunName(run))
    others = _listed(hands, lambda r: r.run != run and _ATTEMPT.sub("", r.run) == family)
    return (named, *others)


def _listed(hands: _Hands, chosen: Callable[[ObservedRun], bool]) -> Iterator[_Ended]:
    try:
        there = [run for run in hands.runs() if run.phase is Phase.ACTIVE and chosen(run)]
    except AdmitError as error:
        yield _Ended(_receipt("list", hands.here, "failed", error), ordered=False)
        return
    for run in sorted(there, key=lambda run: run.run):
        yield _unknown(hands, run.run)


def _unknown(hands: _Hands, run: RunName) -> _Ended:
    """End what the ledger does not have as going on."""
    try:
        hands.cancel(run)
    except AdmitError as error:
        return _Ended(_receipt("stop", run, "failed", error))
    return _Ended(_receipt("stop", run, "done", "the workspace was asked to end it"))


def _recorded(hands: _Hands, record: RunRecord) -> _Ended:
    """End what the ledger knows, by how far it has come."""
    if record.last.workspace != hands.here and record.active and hands.here:
        why = f"it is of another workspace, `{record.last.workspace}`, in which a pass ends it"
        return _Ended(_receipt("stop", record.run, "failed", why), _told(hands, record))
    match record.stage:
        case "submitted":
            return _cancelled(hands, record)
        case "reserved" | "released":
            return _not_started(hands, record)
        case "over":
            why = "it is over, and no attempt follows"
            return _Ended(_receipt("stop", record.run, "done", why), _told(hands, record))
        case "settled":
            return _settled(hands, record)


def _cancelled(hands: _Hands, record: RunRecord) -> _Ended:
    order, told = hands.order, _told(hands, record)
    try:
        hands.cancel(record.run)
    except AdmitError as error:
        why = f"{error}; it is recorded, and the next pass asks again"
        return _Ended(_receipt("stop", record.run, "failed", why), told)
    asked = cancel_asked(told, CancelAsked(order.at, "stopped", order.reason))
    return _Ended(_receipt("stop", record.run, "done", "the workspace was asked to end it"), asked)


def _not_started(hands: _Hands, record: RunRecord) -> _Ended:
    """End a run that somebody started without saying so; else see that nobody starts it."""
    run = record.run
    try:
        there = hands.get(run)
    except AdmitError as error:
        why = f"whether it runs could not be asked, it is recorded that it must not: {error}"
        told = _told(hands, record) if record.active else None
        return _Ended(_receipt("stop", run, "failed", why), told, record.active)
    if there is not None and ours(record, there):
        return _cancelled(hands, submitted(record, min(there.created_at, hands.order.at)))
    if not record.active:
        why = "nothing to stop: its reservation was given back, and there is no run"
        return _Ended(_receipt("stop", run, "done", why), ordered=False)
    why = "it was not started, and will not be"
    return _Ended(_receipt("stop", run, "done", why), _told(hands, record))


def _settled(hands: _Hands, record: RunRecord) -> _Ended:
    """End what runs although the ledger has closed it."""
    run = record.run
    try:
        there = hands.get(run)
    except AdmitError as error:
        why = f"it is settled; whether it runs all the same could not be asked: {error}"
        return _Ended(_receipt("stop", run, "failed", why), ordered=False)
    if hands.cancelled(run):
        return _Ended(_receipt("stop", run, "done", "the workspace was asked to end it"))
    if there is not None and ours(record, there) and there.phase is Phase.ACTIVE:
        return _unknown(hands, run)
    return _Ended(_receipt("stop", run, "done", "nothing to stop: it is settled"), ordered=False)


def _told(hands: _Hands, record: RunRecord) -> RunRecord:
    order = hands.order
    return stopped(record, Stop(order.at, order.reason, order.by))


def _drafted(hands: _Hands, book: Book, ended: Sequence[_Ended]) -> Draft:
    """Draft the order, and what it did to each run."""
    draft, order = Draft(book), hands.order
    runs = tuple(RunName(one.receipt.run) for one in ended if one.ordered)
    if runs:
        draft.order(replace(order, runs=runs), f"{order.by} orders stop")
    for record in (one.record for one in ended if one.record is not None):
        if record != book.records.get((record.name, record.fingerprint)):
            draft.put(record, f"stop {record.run}", order.reason)
    return draft


def _beat(book: Book, now: datetime) -> Heartbeat:
    """Return the heartbeat that goes with it: a wrong clock of this machine stops no pass."""
    beat = book.heartbeat
    at = now if beat.at <= now <= beat.at + AHEAD else beat.at
    return replace(beat, at=at, controller=__version__)


def _report(hands: _Hands, ended: Sequence[_Ended], *more: Receipt) -> Report:
    receipts = (*(one.receipt for one in ended), *more)
    return Report("stop", hands.order.at, receipts=receipts)


def _unrecorded(hands: _Hands, ended: Sequence[_Ended], error: AdmitError) -> Stopped:
    failed = _receipt("record", "ledger", "failed", error)
    return Stopped(_report(hands, ended, failed), error)


def _receipt(action: str, run: str, outcome: Done, why: AdmitError | str) -> Receipt:
    said = f"{why}; {why.remedy}" if isinstance(why, AdmitError) and why.remedy else str(why)
    return Receipt(action, run, outcome, said)

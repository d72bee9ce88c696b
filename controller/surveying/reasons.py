"""Why a recorded run stands as it does: the ledger's last words about it, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from controller.decision.endings import ENDS_WITHIN
from controller.evidence.facts import ObservedRun, Phase
from controller.ledger.book import Book
from controller.ledger.records import Attempt, Closed, RunRecord
from controller.report.words import counted, minute

_UNSEEN = {
    "vanished": "vanished: it was submitted, and the workspace says that it does not exist",
    "another payload": "the workspace has another payload under its name, and not what was started",
}


def is_overdue(record: RunRecord, observed: ObservedRun | None, now: datetime) -> bool:
    """Whether it was asked to end long ago, and nobody has seen it end."""
    cancel = record.attempt.cancel
    if cancel is None or record.stage != "submitted":
        return False
    ended = observed is not None and observed.phase is Phase.OVER
    return not ended and now - cancel.at > ENDS_WITHIN


def reasons(record: RunRecord, book: Book, doubt: str, *, late: bool) -> Iterator[str]:
    """Yield what is known about a run; `doubt` is why the workspace shows none of ours, or ''."""
    if (closed := record.last.closed) is not None:
        yield _closed(closed)
        return
    yield from _ended_by(record.attempt, late=late)
    if doubt:
        yield _UNSEEN.get(doubt) or f"its state could not be asked: {doubt}"
    if record.stage == "reserved" and record.attempt.stop is None:
        yield from _not_started(record)
    if (end := record.attempt.over) is not None:
        said = f": {end.reason}" if end.reason else ""
        yield f"over{', preempted' if end.preempted else ''}{said}; nothing more is decided yet"
    yield from _decided(record, book)


def _closed(closed: Closed) -> str:
    if (came := closed.outcome) is None:
        return closed.why
    model = f", `models:/{came.model}/{came.version}`" if came.model else ", no model"
    return f"{closed.why}; MLflow run `{came.mlflow_run}`{model}"


def _ended_by(attempt: Attempt, *, late: bool) -> Iterator[str]:
    if (stop := attempt.stop) is not None:
        yield f"{stop.by} stopped it at {minute(stop.at)} UTC: {stop.reason}"
    if (cancel := attempt.cancel) is not None:
        do = "; it has not ended since: end it in the workspace by hand" if late else ""
        why = f": {cancel.why}" if stop is None else ""
        yield f"asked to end at {minute(cancel.at)} UTC ({cancel.cause}){why}{do}"


def _not_started(record: RunRecord) -> Iterator[str]:
    yield f"not submitted yet; it may be until {minute(record.attempt.deadline)} UTC"
    if record.failures:
        times = counted(len(record.failures), "time")
        yield f"its submission failed {times}, last with: {record.failures[-1].why}"


def _decided(record: RunRecord, book: Book) -> Iterator[str]:
    """Yield the last decisions about it and its manifest, but for those that were done."""
    own, job = book.decisions.get(record.run), book.decisions.get(record.path)
    if own is not None and own.at >= record.started_at and own.action != "cancel":
        yield f"decided at {minute(own.at)} UTC to {own.action} it: {own.why}"
    waiting = job is not None and job.action == "withhold" and job.at >= record.started_at
    if job is not None and waiting and record.stage in ("reserved", "over"):
        yield f"withheld since {minute(job.at)} UTC: {job.why}"

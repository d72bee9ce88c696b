"""Which main and which ledger are looked at: as they are now, or as they were at some time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from controller.adapters.git_process import ShallowCloneError, UnknownRevisionError
from controller.documents.catalog import Catalog, is_document, read_catalog
from controller.errors import AdmitError, CannotRunError, UsageError
from controller.ledger.book import HEARTBEAT, Book, DamagedLedgerError, Heartbeat, page
from controller.ledger.book import read_book as book_of
from controller.ledger.book import wanted as wanted_of
from controller.ledger.store import Step
from controller.report.words import minute
from controller.values import CommitId
from controller.wiring import World

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9:]{5})?)?")
_FULL = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NOTHING_YET = "the ledger begins only at {}, so nothing was recorded of that moment"


@dataclass(frozen=True, slots=True)
class Moment:
    """The documents of one commit of main, and the ledger at one of its commits.

    `at` is the time that is asked about (UTC), and `past` whether that is not simply now. `said`
    is one sentence about both; `notes` are what is odd about them.
    """

    main: CommitId
    catalog: Catalog
    book: Book
    at: datetime
    said: str
    notes: tuple[str, ...] = ()
    past: bool = False


@dataclass(frozen=True, slots=True)
class _Mark:
    """One commit of the ledger: its time, and the main that its heartbeat names, if it has one."""

    commit: CommitId
    at: datetime
    main: str


def moment_of(world: World, at: str | None = None) -> Moment:
    """Return the moment that `at` names: a commit of main or a time; None: now.

    Raises UsageError for what names neither, MissingLedgerError and other AdmitErrors.
    """
    if at is None:
        return _now(world)
    time = time_of(at)
    if time is not None:
        return _at_time(world, time)
    try:
        return _at_commit(world, world.git.resolve(at))
    except UnknownRevisionError as error:
        remedy = f"{error.remedy}; or a time, as `2026-11-30` or `2026-11-30T20:00Z`"
        raise UsageError(str(error), remedy=remedy) from error


def time_of(text: str) -> datetime | None:
    """Return the time (UTC) that `text` is, None for what does not look like one.

    A day stands for its end. Raises UsageError for a day or an hour that there is not.
    """
    if not (shape := _TIME.fullmatch(text)):
        return None
    try:
        read = datetime.fromisoformat(text)
        read = read if read.tzinfo else read.replace(tzinfo=UTC)
        end = timedelta() if shape[1] else timedelta(days=1, seconds=-1)
        return read.astimezone(UTC) + end
    except (ValueError, OverflowError):
        remedy = "write a day, `2026-11-30`, or a time in UTC, `2026-11-30T20:00Z`"
        raise UsageError(f"`{text}` is no time that there is", remedy=remedy) from None


def documents_of(world: World, commit: CommitId) -> Catalog:
    """Return what a commit says. Files that were parsed before are not parsed again."""
    catalog = read_catalog(world.git.snapshot(commit, is_document, world.parses), world.parses)
    world.parses.save()
    return catalog


def commit_named(world: World, said: str) -> CommitId | None:
    """Return the commit that a text of the ledger names in full, if this clone has it."""
    if not _FULL.fullmatch(said):
        return None
    try:
        return world.git.resolve(said)
    except AdmitError:
        return None


def _now(world: World) -> Moment:
    book = book_of(world.ledger.read(wanted_of))
    main, beat = world.git.default_base(), book.heartbeat
    said = (
        f"main is {main[:12]} now; the ledger is at {book.head[:12]}, last written by a pass at "
        f"{minute(beat.at)} UTC over main {beat.main[:12]}"
    )
    notes = [*_odd(world, main, book), *_brake(book)]
    return Moment(main, documents_of(world, main), book, world.now(), said, tuple(notes))


def _odd(world: World, main: CommitId, book: Book) -> Iterator[str]:
    for anchor in dict.fromkeys((book.trust.root, book.heartbeat.main)):
        known = commit_named(world, anchor)
        try:
            fits = known is not None and world.git.on_line(main, known)
        except ShallowCloneError:
            continue
        if not fits:
            yield (
                f"main does not come after {anchor[:12]}, which the ledger trusts: "
                "no pass does anything until a person looks at it"
            )


def _brake(book: Book) -> Iterator[str]:
    """Yield that no run is cancelled, where a pass found too many to be."""
    brake = book.decisions.get("brake")
    if brake is not None and brake.action == "latched":
        yield f"since {minute(brake.at)} UTC no run is cancelled: {brake.why}"


def _at_commit(world: World, commit: CommitId) -> Moment:
    """The ledger is as a pass last left it over that commit, or as it was at the commit's time."""
    marks = _marks(world.ledger.steps())
    when = world.git.when(commit)
    over = [mark for mark in marks if mark.main == commit]
    if over:
        return _looking(world, commit, over[-1], over[-1].at, "as a pass over that commit left it")
    mark = _until(marks, when)
    if mark is not None:
        how = f"as it was at the time of that commit, {minute(when)} UTC: no pass wrote over it"
        return _looking(world, commit, mark, when, how)
    how = _NOTHING_YET.format(f"{minute(marks[0].at)} UTC")
    return _looking(world, commit, marks[0], when, how)


def _at_time(world: World, time: datetime) -> Moment:
    """The main is the one that the ledger's heartbeat names as it was then."""
    marks = _marks(world.ledger.steps())
    mark = _until(marks, time)
    if mark is None:
        main = world.git.commit_at(world.git.default_base(), time)
        if main is None:
            raise UsageError(
                f"there was neither a main nor a ledger at {minute(time)} UTC",
                remedy=f"name a time from {minute(marks[0].at)} UTC on, when the ledger begins",
            )
        how = _NOTHING_YET.format(f"{minute(marks[0].at)} UTC")
        return _looking(world, main, marks[0], time, how)
    beat = book_of(world.ledger.read(wanted_of, at=mark.commit)).heartbeat
    main = commit_named(world, beat.main)
    if main is None:
        raise CannotRunError(
            f"at {minute(time)} UTC the ledger names main {beat.main[:12]}, which is not here",
            remedy="`git fetch --unshallow` brings what is missing",
        )
    return _looking(world, main, mark, time, f"the last that was written until {minute(time)} UTC")


def _looking(world: World, main: CommitId, mark: _Mark, at: datetime, how: str) -> Moment:
    book = book_of(world.ledger.read(wanted_of, at=mark.commit))
    said = f"main was {main[:12]}; the ledger is at {mark.commit[:12]} of {minute(mark.at)} UTC"
    catalog, notes = documents_of(world, main), tuple(_brake(book))
    return Moment(main, catalog, book, at, f"{said}: {how}", notes, past=True)


def _marks(steps: Iterable[Step]) -> Sequence[_Mark]:
    marks = [_Mark(step.commit, step.at, _main(step)) for step in steps]
    if not marks:
        raise DamagedLedgerError("the ledger has no commit", remedy="`admit ledger fsck` says more")
    return marks


def _main(step: Step) -> str:
    if step.files.get(HEARTBEAT) is None:
        return ""
    try:
        return page(Heartbeat, HEARTBEAT, step.files).main
    except DamagedLedgerError:
        return ""


def _until(marks: Sequence[_Mark], time: datetime) -> _Mark | None:
    """Return the last commit not after `time`; None: the ledger began later.

    Whoever commits writes the time of it, and one may be odd. The line is cut where the fewest
    times are on the wrong side of the cut; of several such places, at the earliest.
    """
    wrong = best = sum(mark.at <= time for mark in marks)
    cut = 0
    for place, mark in enumerate(marks, 1):
        wrong += -1 if mark.at <= time else 1
        if wrong < best:
            best, cut = wrong, place
    return marks[cut - 1] if cut else None

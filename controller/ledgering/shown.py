"""What is in the ledger, to be read: all of it in short, or one run, admission or path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.documents.payload import run_name
from controller.errors import UsageError
from controller.ledger.book import (
    ADMISSIONS,
    DECISIONS,
    HEARTBEAT,
    ORDERS,
    POLICY,
    PROOFS,
    RUNS,
    TRUST,
    Account,
    Book,
    DamagedLedgerError,
    Order,
    account_file,
    page,
    read_book,
    run_file,
    wanted,
)
from controller.ledger.records import Attempt, Closed, Generation, RunRecord
from controller.ledger.store import Pages, Step
from controller.report.page import Page
from controller.report.words import hours, minute
from controller.values import AdmissionId, CommitId, nearest
from controller.wiring import World

LAST = 10
"""So many commits, and orders, are shown."""
_ATTEMPT = re.compile(r"-a[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class Shown:
    """What `show` prints: the lines, or the files they are from, at one head."""

    place: str
    head: CommitId
    lines: tuple[str, ...]
    files: Mapping[str, bytes | None]

    def as_json(self) -> str:
        """Return the files by their path, as they are, as one JSON document in ASCII."""
        files = {path: _parsed(content) for path, content in sorted(self.files.items())}
        data = {"place": self.place, "head": self.head, "files": files}
        text = json.dumps(data, indent=2, sort_keys=True)
        return text.replace("##[", "\\u0023#[")  # the log of a workflow must not obey it


def show(world: World, subject: str | None, *, width: int = 100) -> Shown:
    """Return what the ledger says, in short or about one subject: a run, an admission or a path.

    Raises MissingLedgerError, DamagedLedgerError, and UsageError for what it does not know.
    """
    sheet, place = Page(colour=False, width=width), world.ledger.place
    if subject is None:
        pages = world.ledger.read(lambda path: wanted(path) or path.startswith(ORDERS))
        lines = tuple(_summary(sheet, place, pages, _last_steps(world, pages.head)))
        keep = (TRUST, HEARTBEAT, POLICY)
        files = {p: c for p, c in pages.files.items() if p in keep or p.startswith(ADMISSIONS)}
        return Shown(place, pages.head, lines, files)
    names = world.ledger.read(lambda path: path.startswith(RUNS) or path == subject)
    paths = _paths_of(subject, names)
    pages = world.ledger.read(lambda path: path in paths, names.head)
    files = {path: pages.files[path] for path in sorted(paths)}
    lines = tuple(line for path in files for line in _file(sheet, path, files, names))
    return Shown(place, names.head, lines, files)


def _last_steps(world: World, head: CommitId) -> list[Step]:
    try:
        since = world.git.resolve(f"{head}~{LAST}")
    except UsageError:
        since = None
    return list(world.ledger.steps(since))[-LAST:]


def _paths_of(subject: str, pages: Pages) -> set[str]:
    """Return the files that are about a run, an admission or a path, or the file of that name."""
    if subject in pages.files:
        return {subject}
    id_ = AdmissionId(subject.removesuffix(".md").removeprefix(ADMISSIONS))
    run = f"{RUNS}{_ATTEMPT.sub('', subject)}.json"
    found = {run, account_file(id_), f"{DECISIONS}{subject}.json"} & pages.files.keys()
    found |= {path for path in pages.files if path.startswith(f"{PROOFS}{subject}/")}
    found |= {run_file(record) for record in _runs(pages) if record.path == subject}
    if not found:
        ends = {path.rpartition("/")[2].removesuffix(".json") for path in pages.files}
        near = nearest(subject, ends)
        raise UsageError(
            f"the ledger has nothing about `{subject}`",
            remedy=f"did you mean `{near}`?" if near else "`admit ledger show` lists what there is",
        )
    return found


def _runs(pages: Pages) -> list[RunRecord]:
    paths = sorted(path for path in pages.files if path.startswith(RUNS))
    return [page(RunRecord, path, pages.files) for path in paths]


def _summary(sheet: Page, place: str, pages: Pages, steps: Iterable[Step]) -> Iterator[str]:
    book = read_book(pages)
    trust, beat = book.trust, book.heartbeat
    yield from _facts(
        sheet,
        {
            "ledger": f"{place}, at {pages.head[:12]}",
            "trusts": f"main at {trust.root[:12]}, {_by(trust.at, trust.by)}",
            "heartbeat": f"{_utc(beat.at)}, by admit {beat.controller} over main at "
            f"{beat.main[:12]}, workspace {beat.workspace}",
            "policy": f"{book.policy.blob[:12]}, seen approved {_utc(book.policy.at)}"
            if book.policy
            else "none was seen approved yet",
        },
    )
    for title, rows, right in (
        (("admission", "granted", "reserved", "used", "free"), _accounts(book), (1, 2, 3, 4)),
        (("open run", "stage", "admission", "GPU hours", "since"), _open(book), (3,)),
        (("order", "by", "at", "why"), _orders(pages), ()),
        (("commit", "at", "title"), _commits(steps), ()),
    ):
        yield ""
        yield from sheet.table(title, rows or [("none", *[""] * (len(title) - 1))], right)


def _accounts(book: Book) -> list[tuple[str, ...]]:
    return [
        (id_, *map(hours, (a.granted, a.reserved, a.used, a.granted - a.reserved - a.used)))
        for id_, a in sorted(book.accounts.items())
    ]


def _open(book: Book) -> list[tuple[str, ...]]:
    return [
        (r.run, r.stage, r.admission, hours(r.charged), _utc(r.started_at))
        for r in sorted(book.active, key=lambda record: record.run)
    ]


def _orders(pages: Pages) -> list[tuple[str, ...]]:
    last = sorted(path for path in pages.files if path.startswith(ORDERS))[-LAST:]
    orders = [page(Order, path, pages.files) for path in last]
    return [(order.what, order.by, _utc(order.at), order.reason) for order in orders]


def _commits(steps: Iterable[Step]) -> list[tuple[str, ...]]:
    return [(step.commit[:12], _utc(step.at), step.title) for step in steps]


def _file(sheet: Page, path: str, files: Mapping[str, bytes | None], pages: Pages) -> Iterator[str]:
    """Yield a file as indented text; runs and accounts in words, any other as its fields."""
    yield sheet.line(("", path))
    try:
        lines = list(_words(path, files, pages))
    except DamagedLedgerError as error:
        lines = [(0, str(error)), *_fields(_parsed(files[path]))]
    for depth, text in lines:
        yield from sheet.row([("", "  " * (depth + 1))], text)


def _words(path: str, files: Mapping[str, bytes | None], pages: Pages) -> Lines:
    if path.startswith(RUNS):
        return _run(page(RunRecord, path, files))
    if path.startswith(ADMISSIONS):
        return _account(page(Account, path, files), _runs(pages))
    return _fields(_parsed(files[path]))


Lines = Iterator[tuple[int, str]]
"""How far each line is indented, and its text."""


def _account(account: Account, records: Iterable[RunRecord]) -> Lines:
    free = account.granted - account.reserved - account.used
    yield 0, f"owner {account.owner}, expires {account.expires}, bytes {account.blob[:12]}"
    amounts = f"{hours(account.used)} used, {hours(account.reserved)} set aside, {hours(free)} free"
    yield 0, f"{hours(account.granted)} GPU hours granted: {amounts}"
    for record in records:
        if any(generation.admission == account.id for generation in record.generations):
            yield 1, f"{record.run}: {record.stage}, {hours(record.charged)} GPU hours charged"


def _run(record: RunRecord) -> Lines:
    yield 0, f"{record.run}: {record.stage}, {hours(record.charged)} GPU hours charged"
    yield 0, f"payload {record.fingerprint}"
    for number, generation in enumerate(record.generations, 1):
        yield from _generation(number, generation, record)


def _generation(number: int, generation: Generation, record: RunRecord) -> Lines:
    g = generation
    yield 0, f"reservation {number}: {hours(g.gpu_hours)} GPU hours of {g.admission}, for {g.path}"
    size = f"{g.nodes} nodes of {g.gpus_per_node} GPUs for {g.timeout / 3600:g} h"
    yield 1, f"{size}, {g.retries} retries, in {g.workspace}"
    for attempt in g.attempts:
        yield 1, f"attempt {attempt.number}: {_name(record, attempt)}"
        for text in _attempt(attempt):
            yield 2, text
    if g.closed is not None:
        for text in _closed(g.closed):
            yield 1, text


def _attempt(attempt: Attempt) -> Iterator[str]:
    until = f"to be submitted before {_utc(attempt.deadline)}"
    yield f"{_utc(attempt.reserved_at)} set aside, {until}; record {attempt.record[:19]}"
    for failure in attempt.failures:
        how = "was refused" if failure.refused else "could not be made"
        yield f"{_utc(failure.at)} a submission {how}: {failure.why}"
    if attempt.submitted_at is not None:
        yield f"{_utc(attempt.submitted_at)} submitted"
    if attempt.stop is not None:
        yield f"{_utc(attempt.stop.at)} stopped by {attempt.stop.by}: {attempt.stop.reason}"
    if attempt.cancel is not None:
        asked = attempt.cancel
        yield f"{_utc(asked.at)} asked to end, {asked.cause}: {asked.why}"
    if (end := attempt.over) is not None:
        times = " to ".join(_utc(at) for at in (end.started_at, end.ended_at) if at is not None)
        what = f"over: {end.state}{', preempted' if end.preempted else ''}"
        how = "" if end.exact else " at most"
        yield f"{what}, {hours(end.gpu_hours)} GPU hours{how}{f', {times}' if times else ''}"
        if end.reason:
            yield f"it says: {end.reason}"


def _closed(closed: Closed) -> Iterator[str]:
    how = "" if closed.exact else " at most"
    used = f", {hours(closed.gpu_hours)} GPU hours{how}" if closed.how == "settled" else ""
    yield f"{_utc(closed.at)} {closed.how}{used}: {closed.why}"
    if (outcome := closed.outcome) is not None:
        model = f", models:/{outcome.model}/{outcome.version}" if outcome.model else ""
        trained = f", trained on {outcome.dataset}" if outcome.dataset else ""
        yield f"MLflow run {outcome.mlflow_run}{model}{trained}"


def _fields(data: Any, depth: int = 0) -> Lines:
    """Yield data as indented text."""
    items: Iterable[tuple[Any, Any]] = enumerate(data, 1) if isinstance(data, list) else ()
    items = data.items() if isinstance(data, dict) else items
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield depth, f"{key}:"
            yield from _fields(value, depth + 1)
        else:
            yield depth, f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
    if not isinstance(data, dict | list):
        yield depth, str(data)


def _facts(sheet: Page, facts: Mapping[str, str]) -> Iterator[str]:
    for name, text in facts.items():
        yield from sheet.row([("", f"{name:<10}")], text)


def _parsed(content: bytes | None) -> Any:
    """Return a file as data; as text where it is no JSON, None where it cannot be read."""
    if content is None:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")


def _name(record: RunRecord, attempt: Attempt) -> str:
    return run_name(record.name, record.fingerprint, attempt.number)


def _utc(at: datetime) -> str:
    return f"{minute(at)} UTC"


def _by(at: datetime, by: str) -> str:
    return f"since {_utc(at)}" + (f", by {by}" if by else "")

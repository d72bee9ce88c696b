"""`status`: every admission and run as the ledger has them, with what the workspace says of each.

Nothing that is broken outside the ledger is a reason to fail: what is not known is said to be so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from controller.decision.noticed import ours
from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.errors import AdmitError
from controller.evidence.facts import Answer, Known, ObservedRun, Phase, Unavailable
from controller.evidence.gather import admission_path, asked
from controller.ledger.account import balance, gpu_hours_used
from controller.ledger.book import Account, Book, read_book, wanted
from controller.ledger.records import RunRecord
from controller.passes import read_main
from controller.report.outcome import AdmissionLine, Report, RunLine, Unseen, WithheldLine
from controller.report.words import apart, counted, minute
from controller.surveying.reasons import is_overdue, reasons
from controller.values import AdmissionId, RepoPath, RunName, listed
from controller.wiring import World

_NAMED = 3
"""Files named before the rest is only counted."""

States = Mapping[RunName, Answer[ObservedRun | None]]


@dataclass(frozen=True, slots=True)
class _Main:
    """Main as far as it can be read; `why` it cannot, or ''."""

    commit: str
    catalog: Catalog | None
    why: str = ""


def status(world: World) -> Report:
    """Return what there is, from the ledger; the workspace is asked only for runs that are open.

    Raises MissingLedgerError, DamagedLedgerError, and UnavailableError for the ledger alone.
    """
    now, book = world.now(), read_book(world.ledger.read(wanted))
    main = _main(world, book)
    states, silent = _states(world, book)
    admissions = tuple(_admissions(book, main, states, now))
    return Report(
        command="status",
        asked_at=now,
        commit=main.commit,
        runs=tuple(_run(record, book, states, now) for record in book.records.values()),
        budgets={line.id: line.balance for line in admissions},
        admissions=admissions,
        withheld=tuple(_withheld(book, main.catalog)),
        notes=tuple(_notes(book, main, silent)),
    )


def _main(world: World, book: Book) -> _Main:
    try:
        commit = world.git.default_base()
        return _Main(commit, read_main(world, commit, book))
    except AdmitError as error:
        return _Main("", None, str(error))


def _states(world: World, book: Book) -> tuple[States, str]:
    """Return the answer about each run that may be going on, and why nobody could be asked."""
    going = [record for record in book.active if record.stage != "over"]
    try:
        workspace = world.workspace
        here = workspace.id
    except AdmitError as error:
        missing = Unavailable(str(error), world.now())
        return {record.run: missing for record in going}, str(error) if going else ""
    found: dict[RunName, Answer[ObservedRun | None]] = {}
    for record in going:
        if record.last.workspace != here:
            why = f"it is of another workspace, `{record.last.workspace}`"
            found[record.run] = Unavailable(why, world.now())
        else:
            found[record.run] = asked(partial(workspace.get, record.run), world.now)
    return found, ""


def _run(record: RunRecord, book: Book, states: States, now: datetime) -> RunLine:
    answer = states.get(record.run)
    observed = answer.value if isinstance(answer, Known) else None
    unseen: Unseen = "not known" if isinstance(answer, Unavailable) else ""
    if observed is None and isinstance(answer, Known) and record.stage == "submitted":
        unseen = "vanished"
    elif observed is not None and not ours(record, observed):
        observed, unseen = None, "another payload"
    late = is_overdue(record, observed, now)
    doubt = answer.why if isinstance(answer, Unavailable) else unseen
    why = tuple(reasons(record, book, doubt, late=late))
    return RunLine(record.run, record, observed, why, unseen, late)


def _admissions(book: Book, main: _Main, states: States, now: datetime) -> Iterator[AdmissionLine]:
    """Yield each admission that the ledger or main knows; the ledger's word comes first."""
    here = main.catalog.admissions if main.catalog else {}
    own: dict[AdmissionId, list[RunRecord]] = {id_: [] for id_ in {*book.accounts, *here}}
    for record in book.records.values():
        for id_ in {generation.admission for generation in record.generations}:
            own.setdefault(id_, []).append(record)
    for id_, records in sorted(own.items()):
        account, admission = book.accounts.get(id_), here.get(id_)
        owner, expires, granted = "", None, 0.0
        if account is not None:
            owner, expires, granted = account.owner, account.expires, account.granted
        elif admission is not None:
            granted = admission.grant.gpu_hours
            owner, expires = admission.owner, admission.expires
        beyond = sum(_beyond(r, states, now) for r in records if r.admission == id_)
        now_ = balance(id_, granted, records, beyond)
        yield AdmissionLine(id_, owner, expires, now_, _odd(id_, account, admission, main))


def _beyond(record: RunRecord, states: States, now: datetime) -> float:
    """Return the GPU hours that a run took beyond what is set aside for it, until now."""
    answer = states.get(record.run)
    observed = answer.value if isinstance(answer, Known) else None
    if record.stage != "submitted" or observed is None or observed.phase is not Phase.ACTIVE:
        return 0.0
    going = gpu_hours_used(record.nodes, record.gpus_per_node, observed.started_at, now)
    return max(0.0, record.last.spent + (going or 0.0) - record.reserved)


def _odd(
    id_: AdmissionId, account: Account | None, admission: Admission | None, main: _Main
) -> str:
    """Return in what main and the ledger differ about an admission."""
    if main.catalog is None:
        return ""
    if admission is None:
        broken = admission_path(id_) in main.catalog.broken
        what = "cannot be read on main" if broken else "is not on main any more"
        return f"it {what}; its last approved version is what counts for its runs"
    if account is None:
        return "no run was started from it yet; it is shown as main has it, approved or not"
    if account.blob != admission.blob:
        return "main has another version of it, which no pass has recorded as approved"
    return ""


def _withheld(book: Book, catalog: Catalog | None) -> Iterator[WithheldLine]:
    """Yield the manifests that are still on main and that the last pass about them withheld."""
    for subject, decision in book.decisions.items():
        path = RepoPath(subject)
        if decision.action == "withhold" and (catalog is None or _waits(path, catalog, book)):
            why = apart(decision.why, decision.rules)
            yield WithheldLine(path, decision.at, decision.rules, why)


def _waits(path: RepoPath, catalog: Catalog, book: Book) -> bool:
    """Whether a manifest is on main, and what it asks for neither runs nor has run."""
    if path not in catalog.snapshot.files or path in catalog.ran or path in catalog.parts:
        return False
    manifest = catalog.manifests.get(path)
    key = (manifest.name, manifest.payload.fingerprint) if manifest else None
    record = book.records.get(key) if key else None
    return record is None or record.stage not in ("submitted", "settled")


def _notes(book: Book, main: _Main, silent: str) -> Iterator[str]:
    beat = book.heartbeat
    moved = f"; main is {main.commit[:12]} now" if main.commit not in ("", beat.main) else ""
    said = f"as the ledger was last written, {minute(beat.at)} UTC, over main {beat.main[:12]}"
    yield said + moved
    if main.why:
        yield f"main cannot be read, so this is what the ledger alone says: {main.why}"
    if broken := sorted(main.catalog.broken if main.catalog else ()):
        more = f" and {len(broken) - _NAMED:,} more" if len(broken) > _NAMED else ""
        files = counted(len(broken), "file")
        yield f"{files} on main cannot be read: {listed(broken[:_NAMED])}{more}"
    if silent:
        yield f"the workspace could not be asked, so no state is known: {silent}"
    brake = book.decisions.get("brake")
    if brake is not None and brake.action == "latched":
        yield f"since {minute(brake.at)} UTC no run is cancelled: {brake.why}"

"""Asking for everything that a chain consists of: ledger, git, and online what is outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, cast

from controller import __version__
from controller.errors import AdmitError, UnavailableError
from controller.evidence.facts import Answer, Approval, Known, ObservedRun, Tracked, Unavailable
from controller.evidence.gather import Clock, asked
from controller.ledger.book import RECORDS, RUNS, TRUST, Trust, page, record_file
from controller.ledger.codec import MalformedError
from controller.ledger.records import RunRecord
from controller.ledger.store import Ledger, Pages
from controller.report.outcome import Report
from controller.values import RepoPath, RunName
from controller.verifying.admission_record import (
    DAMAGE,
    AdmissionRecord,
    read_admission_record,
)
from controller.verifying.approvals import file_of
from controller.verifying.chain import Chain
from controller.verifying.history import History, full
from controller.verifying.subject import (
    Named,
    is_there,
    made,
    model_named,
    name_of,
    named,
    read_record,
    unknown,
)
from controller.verifying.table import walk
from controller.wiring import World

T = TypeVar("T")

OFFLINE = "it was not asked: that takes `--online`"
_ATTEMPTS = 20
"""So many attempts of a run are asked for."""


class Models(Protocol):
    """The team's MLflow, as whoever begins with a model version asks it."""

    def version(self, model: str, version: str) -> Tracked | None:
        """Return what a registered model version says; None: there is none."""
        ...


@dataclass(frozen=True, slots=True)
class _Found:
    """What is walked: a run, and the model version from which it was found."""

    run: Named
    model: tuple[str, str] | None = None
    claims: tuple[RunName, ...] = ()
    version: Answer[Tracked | None] | None = None


def verify(world: World, subject: str, *, online: bool = False) -> Report:
    """Walk from a run, or from `models:/<name>/<version>`, back to who approved it.

    Offline that is the ledger as it was fetched last and git, with approvals that are kept in
    git. Raises UsageError for a subject that nobody knows, MissingLedgerError, and
    UnavailableError where the ledger cannot be read.
    """
    asked_at = world.now()
    runs = _ledger(world, online=online).read(lambda p: p == TRUST or p.startswith(RUNS))
    found = _found(world, subject, runs, online=online)
    chain = _chain(world, found, runs, online=online)
    said = chain.recorded
    commit = said.value.commit if isinstance(said, Known) else ""
    return Report(command="verify", asked_at=asked_at, commit=commit, edges=walk(chain))


def _found(world: World, subject: str, runs: Pages, *, online: bool) -> _Found:
    """Return the run that a subject means. Raises UsageError, UnavailableError."""
    model = model_named(subject)
    if model is None:
        name = named(subject)
        if name is None or not is_there(name, runs.files):
            raise unknown(subject, runs.files, online=online)
        return _Found(name)
    claims = tuple(run for version, run in made(runs.files) if version == model)
    tracking = cast(Models, world.tracking)
    version = _outside(world, lambda: tracking.version(*model), online=online)
    said = version.value if isinstance(version, Known) else None
    if not claims and said is None:
        if online and isinstance(version, Unavailable):
            raise UnavailableError(f"who made `{subject}` could not be asked: {version.why}")
        raise unknown(subject, runs.files, online=online)
    run = claims[0] if claims else RunName(said.run if said else "")
    return _Found(named(run) or Named(run, run, 1), model, claims, version)


def _chain(world: World, found: _Found, runs: Pages, *, online: bool) -> Chain:
    """Ask everything else that the edges of one run rest on."""
    run = found.run.run
    now, read = world.now, partial(_ledger(world, online=online).read, at=runs.head)
    record = _parsed(lambda: read_record(found.run.file, runs.files), now)
    trust = _parsed(lambda: page(Trust, TRUST, runs.files), now)
    file = _record_file(found, record, runs.files)
    records = read(lambda path: path == file).files
    recorded = _parsed(lambda: read_admission_record(_bytes(file, records)), now)
    git = History(world.git, now, recorded, trust)
    wanted = _proof_files(recorded)
    proofs = read(lambda path: path in wanted).files
    return Chain(
        run=run,
        number=found.run.number,
        model=found.model,
        claims=found.claims,
        controller=__version__,
        head=runs.head,
        record=record,
        content=_parsed(lambda: _bytes(file, records), now),
        recorded=recorded,
        trust=trust,
        proofs={path: proofs[path] for path in sorted(wanted & proofs.keys())},
        line=git.line,
        catalog=git.catalog,
        root_blobs=git.root_blobs,
        introductions=git.introductions,
        shown=_shown(world, git, online=online),
        observed=_observed(world, run, record, online=online),
        version=found.version or Unavailable(OFFLINE, now()),
        tracked=_outside(world, lambda: tuple(world.tracking.tracked(run)), online=online),
    )


def _record_file(
    found: _Found, record: Answer[RunRecord], files: Mapping[str, bytes | None]
) -> str:
    """Return the admission record that the attempt names; where that is damaged, any of the run."""
    if isinstance(record, Known):
        for attempt in record.value.last.attempts:
            if attempt.number == found.run.number:
                return record_file(found.run.run, attempt.record)
    folder = f"{RECORDS}{found.run.run}/"
    return min((path for path in files if path.startswith(folder)), default=folder)


def _ledger(world: World, *, online: bool) -> Ledger:
    return world.ledger if online else world.fetched_ledger


def _parsed(read: Callable[[], T], now: Clock) -> Answer[T]:
    """Return what the ledger says, or how it is damaged."""
    try:
        return Known(read(), now())
    except (AdmitError, MalformedError) as error:
        return Unavailable(str(error), now())
    except DAMAGE as error:
        return Unavailable(f"it is damaged: {type(error).__name__}", now())


def _bytes(file: str, files: Mapping[str, bytes | None]) -> bytes:
    if (content := files.get(file)) is not None:
        return content
    what = "is not a file that can be read" if file in files else "is not there"
    raise MalformedError(f"`{file}` of the ledger {what}")


def _proof_files(recorded: Answer[AdmissionRecord]) -> frozenset[str]:
    if isinstance(recorded, Unavailable):
        return frozenset()
    answers = recorded.value.evidence.approvals
    return frozenset(file_of(a.approval, a.asked_at) for a in answers if a.approval is not None)


def _outside(world: World, question: Callable[[], T], *, online: bool) -> Answer[T]:
    return asked(question, world.now) if online else Unavailable(OFFLINE, world.now())


def _shown(world: World, git: History, *, online: bool) -> Mapping[RepoPath, Answer[Approval]]:
    """Ask the host, which is git itself where it is the local one."""
    if isinstance(git.recorded, Unavailable) or isinstance(git.trust, Unavailable):
        return {}
    local = world.environ.get("ADMIT_HOST") == "local"
    paths, commit, root = git.documents, git.recorded.value.commit, git.trust.value.root
    answer = _outside(
        world, lambda: world.host(root).approvals(paths, full(commit)), online=online or local
    )
    return dict.fromkeys(paths, answer) if isinstance(answer, Unavailable) else answer.value


def _observed(
    world: World, run: RunName, record: Answer[RunRecord], *, online: bool
) -> dict[RunName, Answer[ObservedRun | None]]:
    """Ask the workspace for every attempt of the run."""
    if isinstance(record, Unavailable):
        return {}
    last = record.value.last
    attempts = [name_of(record.value, attempt.number) for attempt in last.attempts[:_ATTEMPTS]]
    return {
        name: _outside(world, partial(_look, world, name, last.workspace), online=online)
        for name in dict.fromkeys([run, *attempts])
    }


def _look(world: World, run: RunName, workspace: str) -> ObservedRun | None:
    if world.workspace.id != workspace:
        raise UnavailableError(f"`{run}` is of another workspace, `{workspace[:60]}`")
    return world.workspace.get(run)

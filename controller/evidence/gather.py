"""Asking the outside, and nowhere else: approvals, history, runs and measurements become facts.

What is asked grows with what is active or about to start, not with the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.documents.payload import run_name
from controller.documents.policy import POLICY, Policy
from controller.errors import AdmitError
from controller.evidence.approval import last_admission, last_policy
from controller.evidence.facts import (
    Answer,
    Approval,
    Evidence,
    Introduction,
    Known,
    MeasuredRun,
    ObservedRun,
    Tracked,
    Unavailable,
    Version,
)
from controller.ledger.book import Book
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, CommitId, RepoPath, RunName

T = TypeVar("T")

LATE = timedelta(days=1)
"""So long after its release a reservation is still watched for a run that shows up late."""
NOT_YET = "it is asked once every other rule is met"


class CodeHost(Protocol):
    """Who approved what."""

    def approvals(
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> Mapping[RepoPath, Answer[Approval]]:
        """Return what is known of the approval of each path's bytes, or removal, at a commit."""
        ...

    def versions(self, path: RepoPath, at: CommitId) -> Iterable[Version]:
        """Yield every version of a file that main had up to a commit, newest first."""
        ...


class History(Protocol):
    """What brought each path its present bytes."""

    def introductions(
        self, paths: Iterable[RepoPath], at: CommitId, root: CommitId | None = None
    ) -> Mapping[RepoPath, Introduction]:
        """Return the change on the first-parent line, from `root` on, that brought each path."""
        ...


class Workspace(Protocol):
    """Where runs live."""

    @property
    def id(self) -> str:
        """What tells this workspace from any other."""
        ...

    def get(self, run: RunName) -> ObservedRun | None:
        """Return one run; None when there is none of that name."""
        ...


class Tracking(Protocol):
    """The team's MLflow."""

    def measured(self, run_id: str) -> MeasuredRun | None:
        """Return a measured run; None when there is none of that id."""
        ...

    def tracked(self, run: RunName) -> Sequence[Tracked]:
        """Return every MLflow run that says it is of this run, the oldest first."""
        ...


Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Sources:
    """Everybody who is asked for one pass, and the clock that says when."""

    host: CodeHost
    history: History
    workspace: Workspace
    tracking: Tracking
    now: Clock


def asked(question: Callable[[], T], now: Clock) -> Answer[T]:
    """Return the answer to `question`, or why there is none."""
    try:
        return Known(question(), now())
    except AdmitError as error:
        return Unavailable(str(error), now())


def remembered(
    catalog: Catalog, at: CommitId, book: Book, history: History, now: Clock
) -> Evidence:
    """Return what is known of the documents of `at` without asking anybody: ledger and git."""
    asked_at = now()
    documents = documents_of(catalog)
    not_yet = Unavailable(NOT_YET, asked_at)
    brought = introductions_of(documents, at, history, now, book.trust.root)
    return Evidence(
        asked_at=asked_at,
        approvals=dict.fromkeys(documents, not_yet),
        introductions=brought,
        records=tuple(book.records.values()),
        runs={},
        measured={a.claim.run: not_yet for a in catalog.admissions.values() if a.claim.run},
        governing={},
        policy=_standing_policy(catalog, book, brought.get(POLICY), asked_at),
        sightings={
            RunName(subject): decision.at
            for subject, decision in book.decisions.items()
            if decision.code == "unapproved-withdrawal"
        },
        latched=(brake := book.decisions.get("brake")) is not None and brake.action == "latched",
    )


def gather(
    known: Evidence,
    catalog: Catalog,
    at: CommitId,
    book: Book,
    candidates: Collection[RepoPath],
    sources: Sources,
) -> Evidence:
    """Ask everything that judging and planning needs beyond what is `known` without asking.

    `candidates` are the manifests against which nothing stands but what has to be asked.
    """
    now, host = sources.now, sources.host
    active, late = book.active, _late(book, known.asked_at)
    starting = [catalog.manifests[path] for path in candidates]
    policy = known.policy
    if starting or (active and not isinstance(policy, Known)):
        policy = asked(lambda: last_policy(host.versions(POLICY, at)), now)
    paths = {*_behind(starting, catalog), *_gone(active, catalog)}
    approvals = host.approvals(sorted(paths), at) if paths else {}
    return Evidence(
        asked_at=known.asked_at,
        approvals={**known.approvals, **approvals},
        introductions=known.introductions,
        records=known.records,
        runs=_runs((*active, *late), starting, sources),
        measured={
            **known.measured,
            **measurements(_named(starting, catalog), sources.tracking, now),
        },
        governing=_governing(active, catalog, book, known, policy, at, sources),
        policy=policy,
        sightings=known.sightings,
        latched=known.latched,
    )


def documents_of(catalog: Catalog) -> list[RepoPath]:
    """Return the documents that starts rest on: policy, owners, admissions, manifests."""
    owners = [catalog.owners.path] if catalog.owners else []
    admissions = [admission.path for admission in catalog.admissions.values()]
    return [POLICY, *owners, *admissions, *catalog.manifests]


def admission_path(id_: AdmissionId) -> RepoPath:
    """Return the file of an admission, whether it is there or not."""
    return RepoPath(f"admissions/{id_}.md")


def introductions_of(
    paths: Iterable[RepoPath],
    at: CommitId,
    history: History,
    now: Clock,
    root: CommitId | None = None,
) -> dict[RepoPath, Answer[Introduction]]:
    """Ask what brought each of `paths` its present bytes; before `root` nothing judged."""
    answer = asked(lambda: history.introductions(paths, at, root), now)
    if isinstance(answer, Unavailable):
        return dict.fromkeys(paths, answer)
    return {path: Known(found, answer.asked_at) for path, found in answer.value.items()}


def measurements(
    admissions: Iterable[Admission], tracking: Tracking, now: Clock
) -> dict[str, Answer[MeasuredRun | None]]:
    """Ask for every run that an admission cites as its measurement, by MLflow run id."""
    ids = sorted({admission.claim.run for admission in admissions if admission.claim.run})
    return {id_: asked(partial(tracking.measured, id_), now) for id_ in ids}


def _standing_policy(
    catalog: Catalog, book: Book, brought: Answer[Introduction] | None, at: datetime
) -> Answer[Policy | None]:
    """Return the policy on main where the ledger has it as the last approved one."""
    policy, standing = catalog.policy, book.policy
    if policy is None or standing is None or standing.blob != policy.blob:
        return Unavailable("the policy on main is not the one last seen approved", at)
    if _same_change(standing.commit, brought):
        return Known(policy, at)
    return Unavailable("the policy on main is not the one last seen approved", at)


def _same_change(commit: CommitId | None, brought: Answer[Introduction] | None) -> bool:
    """Whether it came by the change that was seen approved: the same bytes can come back."""
    return isinstance(brought, Known) and brought.value.commit == commit


def _behind(starting: Iterable[Manifest], catalog: Catalog) -> set[RepoPath]:
    """Return every document that these starts rest on."""
    manifests = list(starting)
    if not manifests:
        return set()
    owners = [catalog.owners.path] if catalog.owners else []
    admissions = [admission.path for admission in _named(manifests, catalog)]
    return {POLICY, *owners, *admissions, *(manifest.path for manifest in manifests)}


def _named(starting: Iterable[Manifest], catalog: Catalog) -> list[Admission]:
    ids = sorted({manifest.admission for manifest in starting})
    return [a for id_ in ids if (a := catalog.admissions.get(AdmissionId(id_))) is not None]


def _gone(active: Iterable[RunRecord], catalog: Catalog) -> set[RepoPath]:
    """Return what active runs were started for and is not on main any more."""
    paths: set[RepoPath] = set()
    named: dict[str, list[RepoPath]] = {}
    for manifest in catalog.manifests.values():
        named.setdefault(manifest.name, []).append(manifest.path)
    for record in active:
        if record.admission not in catalog.admissions:
            paths.add(admission_path(record.admission))
        here = catalog.manifests.get(record.path)
        if record.path not in catalog.ran and (here is None or here.name != record.name):
            paths |= {record.path, *named.get(record.name, ())}
    return paths - set(catalog.broken)


def _late(book: Book, now: datetime) -> list[RunRecord]:
    return [
        record
        for record in book.records.values()
        if (closed := record.last.closed) is not None
        and closed.how == "released"
        and now - closed.at < LATE
    ]


def _runs(
    recorded: Iterable[RunRecord], starting: Iterable[Manifest], sources: Sources
) -> dict[RunName, Answer[ObservedRun | None]]:
    """Ask for each run by its name; nobody lists a workspace in a pass."""
    workspace, now = sources.workspace, sources.now
    found: dict[RunName, Answer[ObservedRun | None]] = {}
    for record in recorded:
        if record.last.workspace != workspace.id:
            why = f"it is of another workspace, `{record.last.workspace}`"
            found[record.run] = Unavailable(why, now())
        else:
            found[record.run] = asked(partial(workspace.get, record.run), now)
    for manifest in starting:
        name = run_name(manifest.name, manifest.payload.fingerprint)
        if name not in found:
            found[name] = asked(partial(workspace.get, name), now)
    return found


def _governing(
    active: Iterable[RunRecord],
    catalog: Catalog,
    book: Book,
    known: Evidence,
    policy: Answer[Policy | None],
    at: CommitId,
    sources: Sources,
) -> dict[AdmissionId, Answer[Admission | None]]:
    """Return the last approved version of every admission that has active runs.

    Where main has the version that the ledger has seen approved, nobody is asked.
    """
    found: dict[AdmissionId, Answer[Admission | None]] = {}
    for id_ in sorted({record.admission for record in active}):
        account, here = book.accounts.get(id_), catalog.admissions.get(id_)
        brought = known.introductions.get(admission_path(id_))
        seen = account.commit if account and here and account.blob == here.blob else None
        if here is not None and seen is not None and _same_change(seen, brought):
            found[id_] = Known(here, sources.now())
        elif not isinstance(policy, Known) or policy.value is None:
            found[id_] = Unavailable("no policy is known to be approved", sources.now())
        else:
            minimum = policy.value.minimum_approvals
            versions = partial(sources.host.versions, admission_path(id_), at)
            last = partial(_last, versions, minimum)
            found[id_] = asked(last, sources.now)
    return found


def _last(versions: Callable[[], Iterable[Version]], minimum: int) -> Admission | None:
    return last_admission(versions(), minimum)

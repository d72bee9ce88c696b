"""Judging a proposal: the documents of its tree, by the policy and owners of the trusted tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from controller.decision.balances import balances_of
from controller.decision.judge import judge_all
from controller.decision.rules import RULES
from controller.decision.verdict import Verdict
from controller.documents.catalog import Catalog, is_document, read_catalog
from controller.documents.owners import PLACES
from controller.documents.policy import POLICY
from controller.documents.snapshot import Snapshot
from controller.errors import UsageError
from controller.evidence.facts import (
    Answer,
    Approval,
    Evidence,
    Introduction,
    Known,
    MeasuredRun,
    Unavailable,
)
from controller.evidence.gather import documents_of, introductions_of, measurements
from controller.ledger.book import read_book, wanted
from controller.ledger.records import RunRecord
from controller.ledger.store import MissingLedgerError
from controller.passes import problems_of
from controller.report.outcome import Report
from controller.values import CommitId, RepoPath
from controller.wiring import World

ON_MERGE = "it is asked on merge"
_OUTSIDE = frozenset(rule.id for rule in RULES if rule.outside)


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be judged against what. `head` is None for the working tree."""

    base: CommitId
    head: CommitId | None
    require_approval: bool
    online: bool

    @property
    def deferred(self) -> frozenset[str]:
        """The rules whose open questions do not count here."""
        asked = {"owner-approval"} if self.require_approval else set()
        return _OUTSIDE - asked - ({"evidence-holds"} if self.online else set())


def question(
    world: World,
    *,
    base: str | None,
    head: str,
    worktree: bool,
    require_approval: bool,
    online: bool,
) -> Question:
    """Return the question that a command line asks. Raises UsageError when it makes no sense."""
    if worktree and require_approval:
        raise UsageError(
            "files that are not committed cannot have been approved",
            remedy="commit them, then use `--require-approval` without `--worktree`",
        )
    trusted = world.git.resolve(base) if base else world.git.default_base()
    commit = None if worktree else world.git.resolve(head)
    return Question(trusted, commit, require_approval, online)


def check(world: World, asked: Question) -> Report:
    """Return what merging the proposal would mean for every manifest and admission of it."""
    proposed = _proposed(world, asked.head)
    trusted = proposed if asked.head == asked.base else _trusted(world, asked.base)
    catalog = _judged_by(trusted, proposed)
    changed = _changed(world, asked, proposed)
    evidence = _evidence(world, asked, catalog, changed)
    verdicts = judge_all(catalog, catalog.policy, evidence) if catalog.policy else {}
    return Report(
        command="check",
        asked_at=evidence.asked_at,
        commit=asked.head or "",
        base=asked.base,
        problems=problems_of(catalog),
        verdicts=tuple(verdicts.values()),
        budgets=balances_of(catalog.admissions, evidence),
        counting=_counting(catalog, verdicts, evidence.records, changed),
        deferred=asked.deferred,
    )


def _proposed(world: World, commit: CommitId | None) -> Catalog:
    """Return what a commit, or the working tree, says. Files seen before are not parsed again."""
    parses = world.parses
    if commit is None:
        snapshot = world.git.worktree(is_document)
    else:
        snapshot = world.git.snapshot(commit, is_document, parses)
    catalog = read_catalog(snapshot, parses)
    parses.save()
    return catalog


def _trusted(world: World, base: CommitId) -> Catalog:
    """Return the policy and the owners of the trusted revision, and nothing else of it."""
    snapshot = world.git.snapshot(base, _judges)
    files = {path: blob for path, blob in snapshot.files.items() if _judges(path)}
    return read_catalog(Snapshot.of(base, files))


def _judges(path: str) -> bool:
    return path == POLICY or path in PLACES


def _judged_by(trusted: Catalog, proposed: Catalog) -> Catalog:
    """Return the proposal's documents with the trusted policy and owners, and all problems."""
    broken = {**trusted.broken, **proposed.broken}
    return replace(proposed, policy=trusted.policy, owners=trusted.owners, broken=broken)


def _changed(world: World, asked: Question, proposed: Catalog) -> frozenset[RepoPath]:
    """Return the paths that differ from where the proposal left the trusted branch."""
    if asked.head == asked.base:
        return frozenset()
    fork = world.git.merge_base(asked.base, asked.head or world.git.resolve("HEAD"))
    before = world.git.snapshot(fork or asked.base, lambda _: False).files
    after = proposed.snapshot.files
    return frozenset(
        path
        for path in {*before, *after}
        if path not in before
        or path not in after
        or (before[path].sha, before[path].mode) != (after[path].sha, after[path].mode)
    )


def _counting(
    catalog: Catalog,
    verdicts: Mapping[RepoPath, Verdict],
    records: Iterable[RunRecord],
    changed: frozenset[RepoPath],
) -> frozenset[RepoPath]:
    """A job counts until its run is recorded; an admission by itself only where it changes."""
    recorded = {(record.name, record.fingerprint) for record in records}
    jobs = {
        path
        for path, manifest in catalog.manifests.items()
        if (manifest.name, manifest.payload.fingerprint) not in recorded
    }
    return frozenset((jobs | changed) & set(verdicts))


def _evidence(
    world: World, asked: Question, catalog: Catalog, changed: frozenset[RepoPath]
) -> Evidence:
    asked_at = world.now()
    not_asked = Unavailable(ON_MERGE, asked_at)
    return Evidence(
        asked_at=asked_at,
        approvals=_approvals(world, asked, catalog, not_asked),
        introductions=_introductions(world, asked, catalog, changed, asked_at),
        records=_records(world),
        runs={},
        measured=_measured(world, asked, catalog, not_asked),
        governing={},
        policy=not_asked,
    )


def _records(world: World) -> tuple[RunRecord, ...]:
    """Return what the ledger has recorded, as far as this clone has it: nothing is fetched."""
    try:
        pages = world.fetched_ledger.read(wanted)
    except MissingLedgerError:
        return ()
    return tuple(read_book(pages).records.values())


def _approvals(
    world: World, asked: Question, catalog: Catalog, not_asked: Unavailable
) -> Mapping[RepoPath, Answer[Approval]]:
    paths = documents_of(catalog)
    if not asked.require_approval or asked.head is None:
        return dict.fromkeys(paths, not_asked)
    return world.host(world.trusted_root).approvals(paths, asked.head)


def _introductions(
    world: World,
    asked: Question,
    catalog: Catalog,
    changed: frozenset[RepoPath],
    asked_at: datetime,
) -> dict[RepoPath, Answer[Introduction]]:
    """What the proposal changes would be introduced now, by one change; the rest was before."""
    paths = documents_of(catalog)
    now: Callable[[], datetime] = lambda: asked_at  # noqa: E731 - one instant for all answers
    old = introductions_of(
        [p for p in paths if p not in changed], asked.base, world.git, now, world.trusted_root
    )
    here = Introduction(asked.head or CommitId(""), asked_at, tuple(sorted(changed)))
    return {**old, **{p: Known(here, asked_at) for p in paths if p in changed}}


def _measured(
    world: World, asked: Question, catalog: Catalog, not_asked: Unavailable
) -> Mapping[str, Answer[MeasuredRun | None]]:
    if asked.online:
        return measurements(catalog.admissions.values(), world.tracking, world.now)
    return {a.claim.run: not_asked for a in catalog.admissions.values() if a.claim.run}

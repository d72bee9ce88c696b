"""The evidence of a moment, put together from what passes recorded; nobody is asked anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from controller.documents.policy import POLICY, Policy
from controller.errors import AdmitError
from controller.evidence.facts import Answer, Approval, Evidence, Known, MeasuredRun, Unavailable
from controller.evidence.gather import NOT_YET, remembered
from controller.evidence.recorded import Recorded, RecordedPolicy
from controller.explain.moment import Moment, commit_named
from controller.explain.papers import Papers, approval_of, facts_in
from controller.values import BlobId, CommitId, RepoPath
from controller.wiring import World

NEVER = "no pass has recorded evidence of these bytes"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Facts:
    """Evidence as it was recorded, and since when: the newest answer about each document's bytes.

    `damaged` are the subjects of decisions whose evidence cannot be read.
    """

    evidence: Evidence
    seen: Mapping[RepoPath, datetime]
    damaged: tuple[str, ...] = ()


@dataclass(slots=True)
class _Gathered:
    """What was found so far about the documents that are there, whose bytes are `blobs`."""

    blobs: Mapping[RepoPath, BlobId]
    approvals: dict[RepoPath, Answer[Approval]] = field(default_factory=dict)
    measured: dict[str, Answer[MeasuredRun | None]] = field(default_factory=dict)
    policy: RecordedPolicy | None = None
    seen: dict[RepoPath, datetime] = field(default_factory=dict)

    def add(self, facts: Recorded, same: Collection[RepoPath]) -> None:
        """Add recorded facts. `same`: the documents that had these bytes when they were asked."""
        for said in facts.approvals:
            if said.approval is not None:
                self.approve(said.path, Known(said.approval, said.asked_at))
            elif said.path in same:
                self.approve(said.path, Unavailable(said.why, said.asked_at))
        for one in facts.measured:
            answer: Answer[MeasuredRun | None] = Known(one.run, one.asked_at)
            answer = Unavailable(one.why, one.asked_at) if one.why else answer
            self.measured[one.id] = _better(answer, self.measured.get(one.id))
        newer = self.policy is None or facts.policy.asked_at >= self.policy.asked_at
        if POLICY in same and newer:
            self.policy = facts.policy

    def approve(self, path: RepoPath, answer: Answer[Approval]) -> None:
        """Add an answer, if it is about the bytes that are there."""
        if isinstance(answer, Known):
            said = answer.value
            if said.path != path or said.blob is None or said.blob != self.blobs.get(path):
                return
        self.approvals[path] = _better(answer, self.approvals.get(path))
        self.seen[path] = max(answer.asked_at, self.seen.get(path, answer.asked_at))


def facts_of(world: World, moment: Moment, papers: Papers, about: Collection[str]) -> Facts:
    """Return the evidence that was recorded of the documents of a moment.

    `about` are the subjects of decisions that an answer counts from which names no bytes.
    """
    blobs = {path: blob.sha for path, blob in moment.catalog.snapshot.files.items()}
    found, damaged = _Gathered(blobs), list[str]()
    same: dict[CommitId, set[RepoPath]] = {}
    for decision in moment.book.decisions.values():
        if decision.evidence is None:
            continue
        if (facts := facts_in(decision.evidence)) is None:
            damaged.append(decision.subject)
            continue
        main = decision.main
        if decision.subject in about and main not in same:
            same[main] = _same(world, main, blobs)
        found.add(facts, same[main] if decision.subject in about else ())
    for record in papers.records.values():
        if record.facts is not None:
            there = {p for p, blob in record.blobs.items() if blobs.get(p) == blob}
            found.add(record.facts, there)
    for proof in papers.proofs:
        found.approve(proof.path, approval_of(proof))
    return Facts(_evidence(world, moment, found), found.seen, tuple(damaged))


def judged_at(facts: Facts, moment: Moment, subject: RepoPath) -> Evidence:
    """Return the evidence to judge a subject by: a past day is that of what was recorded."""
    at = facts.seen.get(subject, moment.at) if moment.past else moment.at
    return replace(facts.evidence, asked_at=at)


def _same(world: World, main: str, blobs: Mapping[RepoPath, BlobId]) -> set[RepoPath]:
    """Return the documents that had their present bytes in the main of a decision."""
    commit = commit_named(world, main)
    if commit is None:
        return set()
    try:
        files = world.git.snapshot(commit, lambda _: False).files
    except AdmitError:
        return set()
    return {path for path, blob in files.items() if blobs.get(path) == blob.sha}


def _better(new: Answer[T], old: Answer[T] | None) -> Answer[T]:
    """Return the newer answer; that nobody asked yet takes nothing back."""
    if old is None:
        return new
    for one, other in ((new, old), (old, new)):
        if isinstance(one, Unavailable) and one.why == NOT_YET and isinstance(other, Known):
            return other
    return new if new.asked_at >= old.asked_at else old


def _evidence(world: World, moment: Moment, found: _Gathered) -> Evidence:
    catalog, book = moment.catalog, moment.book
    bare = remembered(catalog, moment.main, book, world.git, lambda: moment.at)
    never = Unavailable(NEVER, moment.at)
    return replace(
        bare,
        approvals={path: found.approvals.get(path, never) for path in bare.approvals},
        measured={id_: found.measured.get(id_, never) for id_ in bare.measured},
        policy=_standing(bare.policy, found.policy, catalog.policy),
    )


def _standing(
    known: Answer[Policy | None], said: RecordedPolicy | None, here: Policy | None
) -> Answer[Policy | None]:
    """Return the last approved policy; of another than is there only bytes and number are kept."""
    if isinstance(known, Known) or said is None or said.why or here is None:
        return known
    if said.blob is None:
        return Known(None, said.asked_at)
    before = replace(here, blob=said.blob, minimum_approvals=said.minimum)
    return Known(before, said.asked_at)


def documents_behind(moment: Moment, paths: Iterable[RepoPath]) -> dict[RepoPath, BlobId | None]:
    """Return the bytes of those of `paths` that are there, and of what judges them."""
    files = moment.catalog.snapshot.files
    return {path: files[path].sha for path in _behind(moment, paths) if path in files}


def _behind(moment: Moment, paths: Iterable[RepoPath]) -> Iterator[RepoPath]:
    yield POLICY
    if moment.catalog.owners is not None:
        yield moment.catalog.owners.path
    yield from paths

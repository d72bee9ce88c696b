"""Everything that is known of one run and of what it rests on: bytes and facts, or why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from controller.documents.catalog import Catalog
from controller.documents.policy import POLICY
from controller.errors import AdmitError
from controller.evidence.facts import (
    Answer,
    Approval,
    Introduction,
    Known,
    ObservedRun,
    Tracked,
    Unavailable,
)
from controller.evidence.gather import admission_path
from controller.ledger.book import Trust
from controller.ledger.records import Attempt, Generation, Outcome, RunRecord
from controller.values import BlobId, CommitId, RepoPath, RunName
from controller.verifying.admission_record import AdmissionRecord

T = TypeVar("T")

Link = tuple[Literal["held", "broken", "not checked"], str]
"""What one edge comes to, and one sentence about it."""
Word = Literal["manifest", "admission", "policy", "CODEOWNERS"]
"""The documents that a start rests on."""


class UnreadError(AdmitError):
    """What an edge rests on is not known; the edge is not checked. `str()` says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """Where a commit is: in this clone at all, on main's line, and above the trusted root."""

    main: CommitId
    exists: bool
    on_main: bool
    after_root: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """One run, and every answer about what it rests on and what came of it.

    `model` is the (name, version) that was asked about, if one was; `claims` are the runs whose
    settled outcome in the ledger is that version. `controller` is this program's version.
    """

    run: RunName
    number: int
    model: tuple[str, str] | None
    claims: tuple[RunName, ...]
    controller: str
    head: CommitId
    record: Answer[RunRecord]
    content: Answer[bytes]
    """The bytes of the admission record."""
    recorded: Answer[AdmissionRecord]
    trust: Answer[Trust]
    proofs: Mapping[str, bytes | None]
    """By their path in the ledger; None where it is not a file that can be read."""
    line: Answer[Line]
    catalog: Answer[Catalog]
    """The documents of the recorded commit."""
    root_blobs: Answer[Mapping[RepoPath, BlobId]]
    """What the trusted root has."""
    introductions: Mapping[RepoPath, Answer[Introduction]]
    shown: Mapping[RepoPath, Answer[Approval]]
    """What the host shows of the approval of each document at the recorded commit."""
    observed: Mapping[RunName, Answer[ObservedRun | None]]
    version: Answer[Tracked | None]
    """The model version in MLflow."""
    tracked: Answer[tuple[Tracked, ...]]
    """Every MLflow run that says it is of this run."""

    @property
    def said(self) -> AdmissionRecord:
        """The admission record. Raises UnreadError."""
        return known(self.recorded)

    @property
    def generation(self) -> Generation:
        """The reservation that the attempt is of. Raises UnreadError."""
        return known(self.record).last

    @property
    def attempt(self) -> Attempt:
        """The attempt that the run is. Raises UnreadError."""
        for attempt in self.generation.attempts:
            if attempt.number == self.number:
                return attempt
        raise UnreadError(f"its ledger record has no attempt {self.number}")

    @property
    def is_last(self) -> bool:
        """Whether what came of the record came of this attempt. Raises UnreadError."""
        return known(self.record).attempt.number == self.number

    @property
    def outcome(self) -> Outcome | None:
        """What the ledger says came of the run. Raises UnreadError."""
        closed = self.generation.closed
        return closed.outcome if closed is not None and self.is_last else None

    def path_of(self, word: Word) -> RepoPath:
        """Return where a document is, or was. Raises UnreadError."""
        match word:
            case "manifest":
                return self.said.manifest
            case "admission":
                return admission_path(self.said.admission)
            case "policy":
                return POLICY
            case "CODEOWNERS":
                owners = known(self.catalog).owners
                if owners is None:
                    raise UnreadError(f"commit {self.said.commit[:12]} has no CODEOWNERS")
                return owners.path


def known(answer: Answer[T]) -> T:
    """Return the value of an answer. Raises UnreadError where there is none."""
    if isinstance(answer, Unavailable):
        raise UnreadError(answer.why)
    return answer.value


def seen(answers: Mapping[RunName, Answer[T]], run: RunName) -> T:
    """Return the value of one of several answers. Raises UnreadError."""
    if (answer := answers.get(run)) is None:
        raise UnreadError(f"`{run}` was not asked for")
    return known(answer)


def held(what: str) -> Link:
    """Return that an edge holds."""
    return "held", what


def broken(*faults: str) -> Link:
    """Return that an edge is broken, and by what."""
    return "broken", "; ".join(faults)


def unchecked(why: str) -> Link:
    """Return that an edge was not checked."""
    return "not checked", why


def is_known(answer: Answer[T]) -> bool:
    """Whether there is an answer."""
    return isinstance(answer, Known)


def short(digest: str) -> str:
    """Return the beginning of a digest or of an object id, enough to tell it by."""
    return digest[:19] if digest.startswith("sha256:") else digest[:12]

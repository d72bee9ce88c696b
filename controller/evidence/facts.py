"""Facts asked of the outside. `Unavailable` is an answer: we do not know, and here is why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Generic, TypeVar

from controller.documents.admission import Admission
from controller.documents.policy import Policy
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, BlobId, CommitId, RepoPath, RunName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """An answer, and when it was given (UTC)."""

    value: T
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The question could not be answered; `why` is a clause for a message."""

    why: str
    asked_at: datetime


Answer = Known[T] | Unavailable


@dataclass(frozen=True, slots=True)
class Approver:
    """Somebody who approved exactly these bytes, as an owner of the path at the time."""

    login: str
    at: datetime
    source: str
    """Where it can be looked up: a note's or a review's id."""


@dataclass(frozen=True, slots=True)
class Approval:
    """What is known of the approval of one path's bytes on main (`blob` None: of its removal)."""

    path: RepoPath
    blob: BlobId | None
    commit: CommitId
    """The commit that introduced the bytes, or removed the file."""
    owners: tuple[str, ...]
    """Who could approve: CODEOWNERS as it was before that change."""
    approvers: tuple[Approver, ...]
    refused: tuple[str, ...] = ()
    """Approvals that do not count, one clause each: "@bob is not an owner"."""
    trusted: bool = False
    """The bytes are those of the trusted root commit."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a file that main had, and what is known of its approval."""

    content: bytes
    approval: Approval


@dataclass(frozen=True, slots=True)
class Introduction:
    """The change on main that gave a path its present bytes."""

    commit: CommitId
    at: datetime
    changed: tuple[RepoPath, ...]
    """Every path that the same change touched."""
    root: bool = False


class Phase(Enum):
    """Our own grouping of Azure ML's job states; what is not known is active."""

    ACTIVE = "active"
    OVER = "over"


OVER_STATES = frozenset({"Completed", "Failed", "Canceled"})


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """One run as its workspace describes it. Times are UTC; `state` is Azure ML's own word."""

    run: RunName
    state: str
    fingerprint: str
    """'' when the workspace does not say."""
    tags: Mapping[str, str]
    nodes: int
    timeout: int | None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str = ""
    display_name: str = ""
    description: str = ""

    @property
    def phase(self) -> Phase:
        """Active is every state but Completed, Failed and Canceled."""
        return Phase.OVER if self.state in OVER_STATES else Phase.ACTIVE


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The run that an admission cites, as the team's MLflow has it. None: it does not say."""

    run_id: str
    status: str
    world_size: int | None
    samples_per_second: float | None
    workload_samples: float | None
    peak_gib: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was asked for one pass. What is missing from a mapping was not asked."""

    asked_at: datetime
    approvals: Mapping[RepoPath, Answer[Approval]]
    """Of documents on main, and of the removal of documents whose runs are active."""
    introductions: Mapping[RepoPath, Answer[Introduction]]
    records: tuple[RunRecord, ...]
    """Every run ever recorded."""
    runs: Mapping[RunName, Answer[ObservedRun | None]]
    """The state of each recorded run, and of each that could be started; None: no such run."""
    measured: Mapping[str, Answer[MeasuredRun | None]]
    """By MLflow run id."""
    governing: Mapping[AdmissionId, Answer[Admission | None]]
    """The last approved version of each admission that has active runs; None: there is none."""
    policy: Answer[Policy | None]
    """The last approved version of the policy."""

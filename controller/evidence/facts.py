"""Facts asked of the outside. `Unavailable` is an answer: we do not know, and here is why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType
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
    id: int | None = None
    """The host's own number of the person, where it has one: logins can be given away."""


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


STATES: Mapping[str, Phase] = MappingProxyType(
    {
        "NotStarted": Phase.ACTIVE,
        "Starting": Phase.ACTIVE,
        "Provisioning": Phase.ACTIVE,
        "Preparing": Phase.ACTIVE,
        "Queued": Phase.ACTIVE,
        "Running": Phase.ACTIVE,
        "Finalizing": Phase.ACTIVE,
        "CancelRequested": Phase.ACTIVE,
        "Completed": Phase.OVER,
        "Failed": Phase.OVER,
        "Canceled": Phase.OVER,
        "NotResponding": Phase.ACTIVE,
        "Paused": Phase.ACTIVE,
        "Unknown": Phase.ACTIVE,
    }
)
"""Azure ML's `JobStatus`, grouped by ourselves: its SDK takes NotResponding and Paused for the end,
although such a job "can go to any previous state" and is billed."""
OVER_STATES = frozenset(state for state, phase in STATES.items() if phase is Phase.OVER)
_STALLED = frozenset({"NotResponding", "Paused", "Unknown"})


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
    preempted: bool = False
    """It is over because its machine was taken away, not by its own doing."""
    record: str = ""
    """The digest of the admission record it was started with; '' when nobody says."""

    @property
    def phase(self) -> Phase:
        """Active is every state but Completed, Failed and Canceled, also one not in the table."""
        return STATES.get(self.state, Phase.ACTIVE)

    @property
    def strange(self) -> bool:
        """Whether the state says too little: a person should look."""
        return self.state not in STATES or self.state in _STALLED


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
class Tracked:
    """What the team's MLflow says came of a run. Everything in it was written by others."""

    mlflow_run: str
    status: str
    """Of the MLflow run, in MLflow's words; '' when the run is not there."""
    model: str
    """The registered model of which it made a version; '' when nothing was registered."""
    version: str
    dataset: str
    """Tag `dataset.digest`; like the next two '' when it is not there."""
    record: str
    """Tag `admit.record`."""
    run: str
    """Tag `admit.run`."""


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
    sightings: Mapping[RunName, datetime] = field(default_factory=dict)
    """Since when a withdrawal of a run has been seen that was positively not approved."""
    latched: bool = False
    """Whether the brake on cancellations was pulled by an earlier pass and nobody lifted it."""

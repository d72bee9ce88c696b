"""What a plan may contain: one frozen type an action, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from controller.values import AdmissionId, Fingerprint, RepoPath, RunName

Cause = Literal["withdrawn", "expired", "overspent", "superseded", "drained", "stopped"]
Doubt = Literal["", "not-asked", "vanished", "foreign", "unapproved-withdrawal", "in-doubt"]
"""What a Keep waits for, as far as a later pass has to know."""


@dataclass(frozen=True, slots=True)
class Submit:
    """Start `run`: reserve its worst case, record why it is admissible, then submit it.

    `reserved`: that was done before, and its deadline is open. A later `attempt` than the first is
    a retry out of the reservation of the first.
    """

    run: RunName
    path: RepoPath
    admission: AdmissionId
    fingerprint: Fingerprint
    gpu_hours: float
    why: str
    attempt: int = 1
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """End an active run. With `after`, only once the submission of that run is recorded."""

    run: RunName
    cause: Cause
    why: str
    after: RunName | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave an active run alone. `undecided`: because something could not be asked or proved.

    `overdue`: it was asked to end long ago and has not.
    """

    run: RunName
    why: str
    undecided: bool = False
    doubt: Doubt = ""
    overdue: bool = False


@dataclass(frozen=True, slots=True)
class Withhold:
    """Do not start what a manifest asks for. `findings` names the rules that are not met."""

    path: RepoPath
    run: RunName | None
    why: str
    findings: tuple[str, ...] = ()
    undecided: bool = False
    """Nothing is against it, but something is not known."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Make a reservation exact: the last attempt is over.

    `bound`: the workspace could not say how long an attempt took, so its time limit is charged.
    """

    run: RunName
    gpu_hours: float
    why: str
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """Give back a reservation that no run was ever started from."""

    run: RunName
    why: str


@dataclass(frozen=True, slots=True)
class Repair:
    """Put back tags, display name or description that somebody changed."""

    run: RunName
    fields: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class ApplySchedule:
    """Reserve a block of occurrences and enable the schedule."""

    schedule: str
    gpu_hours: float
    why: str


@dataclass(frozen=True, slots=True)
class DisableSchedule:
    """Stop a schedule from starting more."""

    schedule: str
    why: str


@dataclass(frozen=True, slots=True)
class DeleteSchedule:
    """Delete a schedule that is disabled."""

    schedule: str
    why: str


Action = (
    Submit
    | Cancel
    | Keep
    | Withhold
    | Settle
    | Release
    | Repair
    | ApplySchedule
    | DisableSchedule
    | DeleteSchedule
)


def changes(action: Action) -> bool:
    """Whether doing `action` would change something outside."""
    return not isinstance(action, Keep | Withhold)

"""The facts that one job was judged by, as values that can be kept and taken for evidence again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from controller.documents.policy import Policy
from controller.evidence.facts import (
    Answer,
    Approval,
    Evidence,
    Known,
    MeasuredRun,
    ObservedRun,
    Unavailable,
)
from controller.ledger.codec import as_data, from_data
from controller.values import BlobId, RepoPath, RunName

K = TypeVar("K", bound=str)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class RecordedApproval:
    """An answer about the approval of `path`; `why` there was none."""

    path: RepoPath
    asked_at: datetime
    approval: Approval | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class RecordedMeasure:
    """An answer about a measured run; neither `run` nor `why`: MLflow has no such run."""

    id: str
    asked_at: datetime
    run: MeasuredRun | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The state in which a workspace showed a run; neither `state` nor `why`: it has none."""

    run: RunName
    asked_at: datetime
    state: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class RecordedPolicy:
    """The last approved policy: its bytes (None: there is none), and how many must approve."""

    asked_at: datetime
    blob: BlobId | None = None
    minimum: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """All facts of one judgement. What brought the documents is not among them: git tells that."""

    asked_at: datetime
    policy: RecordedPolicy
    approvals: tuple[RecordedApproval, ...] = ()
    measured: tuple[RecordedMeasure, ...] = ()
    runs: tuple[RecordedRun, ...] = ()


def recorded(
    evidence: Evidence, paths: Iterable[RepoPath], measured: Iterable[str], runs: Iterable[RunName]
) -> Any:
    """Return, as JSON data, what `evidence` says of some documents, measurements and runs."""
    return as_data(
        Recorded(
            asked_at=evidence.asked_at,
            policy=_policy(evidence.policy),
            approvals=tuple(_approval(p, a) for p, a in _of(paths, evidence.approvals)),
            measured=tuple(_measure(m, a) for m, a in _of(measured, evidence.measured)),
            runs=tuple(_run(r, a) for r, a in _of(runs, evidence.runs)),
        )
    )


def recalled(data: Any) -> Recorded:
    """Return what `recorded` returned. Raises MalformedError."""
    return from_data(Recorded, data)


def as_evidence(facts: Recorded, bare: Evidence) -> Evidence:
    """Return `bare` with the recorded approvals and measurements in it, as of their time."""
    return replace(
        bare,
        asked_at=facts.asked_at,
        approvals={
            **bare.approvals,
            **{f.path: _answer(f.approval, f.why, f.asked_at) for f in facts.approvals},
        },
        measured={
            **bare.measured,
            **{
                f.id: Unavailable(f.why, f.asked_at) if f.why else Known(f.run, f.asked_at)
                for f in facts.measured
            },
        },
    )


def _of(wanted: Iterable[K], answers: Mapping[K, V]) -> Iterator[tuple[K, V]]:
    return ((key, answers[key]) for key in sorted(set(wanted)) if key in answers)


def _answer(approval: Approval | None, why: str, at: datetime) -> Answer[Approval]:
    if approval is None:
        return Unavailable(why or "it was not recorded", at)
    return Known(approval, at)


def _approval(path: RepoPath, answer: Answer[Approval]) -> RecordedApproval:
    if isinstance(answer, Unavailable):
        return RecordedApproval(path, answer.asked_at, why=answer.why)
    return RecordedApproval(path, answer.asked_at, answer.value)


def _measure(id_: str, answer: Answer[MeasuredRun | None]) -> RecordedMeasure:
    if isinstance(answer, Unavailable):
        return RecordedMeasure(id_, answer.asked_at, why=answer.why)
    return RecordedMeasure(id_, answer.asked_at, answer.value)


def _run(run: RunName, answer: Answer[ObservedRun | None]) -> RecordedRun:
    if isinstance(answer, Unavailable):
        return RecordedRun(run, answer.asked_at, why=answer.why)
    return RecordedRun(run, answer.asked_at, answer.value.state if answer.value else "")


def _policy(answer: Answer[Policy | None]) -> RecordedPolicy:
    if isinstance(answer, Unavailable):
        return RecordedPolicy(answer.asked_at, why=answer.why)
    if answer.value is None:
        return RecordedPolicy(answer.asked_at)
    policy = answer.value
    return RecordedPolicy(answer.asked_at, policy.blob, policy.minimum_approvals)

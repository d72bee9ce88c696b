"""Asking the outside, and nowhere else: approvals, history, runs and measurements become facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
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
    Phase,
    Unavailable,
    Version,
)
from controller.ledger.account import gpu_hours_used
from controller.ledger.records import RunRecord, record_from
from controller.values import AdmissionId, CommitId, RepoPath, RunName

T = TypeVar("T")


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
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> Mapping[RepoPath, Introduction]:
        """Return the change on the first-parent line that gave each path its bytes."""
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

    def runs(self) -> Sequence[ObservedRun]:
        """Return every run that carries our tags."""
        ...


class Tracking(Protocol):
    """The team's MLflow."""

    def measured(self, run_id: str) -> MeasuredRun | None:
        """Return a measured run; None when there is none of that id."""
        ...


Clock = Callable[[], datetime]


def asked(question: Callable[[], T], now: Clock) -> Answer[T]:
    """Return the answer to `question`, or why there is none."""
    try:
        return Known(question(), now())
    except AdmitError as error:
        return Unavailable(str(error), now())


def gather(
    catalog: Catalog,
    at: CommitId,
    *,
    host: CodeHost,
    history: History,
    workspace: Workspace,
    tracking: Tracking,
    now: Clock,
) -> Evidence:
    """Ask everything that judging and planning the documents of `at` needs."""
    asked_at = now()
    observed = asked(workspace.runs, now)
    records = records_of(observed.value) if isinstance(observed, Known) else ()
    judged = documents_of(catalog)
    policy = asked(lambda: last_policy(host.versions(POLICY, at)), now)
    active = [record for record in records if record.active]
    started = {p for r in active for p in (r.path, admission_path(r.admission))}
    return Evidence(
        asked_at=asked_at,
        approvals=host.approvals(sorted({*judged, *started}), at),
        introductions=introductions_of(judged, at, history, now),
        records=records,
        runs=_runs(catalog, workspace, observed, now),
        measured=measurements(_to_start(catalog, records), tracking, now),
        governing=_governing(records, policy, at, host, now),
        policy=policy,
    )


def records_of(observed: Iterable[ObservedRun]) -> tuple[RunRecord, ...]:
    """Return what the workspace itself remembers of our runs, by the tags they were given.

    A run without our tags, or with the tags of a run of another name, is not ours and is left
    out. The ledger will take the place of this.
    """
    found = ((run, record_from(run.tags, run.created_at)) for run in observed)
    return tuple(
        _closed(record, run)
        for run, record in found
        if record is not None and run.run == run_name(record.name, record.fingerprint)
    )


def _closed(record: RunRecord, run: ObservedRun) -> RunRecord:
    if run.phase is Phase.ACTIVE:
        return record
    return replace(record, used=gpu_hours_used(record, run.started_at, run.ended_at))


def documents_of(catalog: Catalog) -> list[RepoPath]:
    """Return the documents that starts rest on: policy, owners, admissions, manifests."""
    owners = [catalog.owners.path] if catalog.owners else []
    admissions = [admission.path for admission in catalog.admissions.values()]
    return [POLICY, *owners, *admissions, *catalog.manifests]


def admission_path(id_: AdmissionId) -> RepoPath:
    """Return the file of an admission, whether it is there or not."""
    return RepoPath(f"admissions/{id_}.md")


def introductions_of(
    paths: Iterable[RepoPath], at: CommitId, history: History, now: Clock
) -> dict[RepoPath, Answer[Introduction]]:
    """Ask what brought each of `paths` its present bytes."""
    answer = asked(lambda: history.introductions(paths, at), now)
    if isinstance(answer, Unavailable):
        return dict.fromkeys(paths, answer)
    return {path: Known(found, answer.asked_at) for path, found in answer.value.items()}


def _runs(
    catalog: Catalog,
    workspace: Workspace,
    observed: Answer[Sequence[ObservedRun]],
    now: Clock,
) -> dict[RunName, Answer[ObservedRun | None]]:
    names = [
        run_name(manifest.name, manifest.payload.fingerprint)
        for manifest in catalog.manifests.values()
        if manifest.name
    ]
    if isinstance(observed, Unavailable):
        return dict.fromkeys(names, observed)
    listed: dict[RunName, Answer[ObservedRun | None]] = {
        run.run: Known(run, observed.asked_at) for run in observed.value
    }
    for name in names:
        if name not in listed:
            listed[name] = asked(partial(workspace.get, name), now)
    return listed


def _to_start(catalog: Catalog, records: Iterable[RunRecord]) -> list[Admission]:
    """Return the admissions that a payload names which never ran: only their claims matter now."""
    ran = {(record.name, record.fingerprint) for record in records}
    named = {
        manifest.admission
        for manifest in catalog.manifests.values()
        if (manifest.name, manifest.payload.fingerprint) not in ran
    }
    return [admission for id_, admission in catalog.admissions.items() if id_ in named]


def measurements(
    admissions: Iterable[Admission], tracking: Tracking, now: Clock
) -> dict[str, Answer[MeasuredRun | None]]:
    """Ask for every run that an admission cites as its measurement, by MLflow run id."""
    ids = sorted({admission.claim.run for admission in admissions if admission.claim.run})
    return {id_: asked(partial(tracking.measured, id_), now) for id_ in ids}


def _governing(
    records: Iterable[RunRecord],
    policy: Answer[Policy | None],
    at: CommitId,
    host: CodeHost,
    now: Clock,
) -> dict[AdmissionId, Answer[Admission | None]]:
    """Return the last approved version of every admission that has active runs."""
    ids = sorted({record.admission for record in records if record.active})
    if not isinstance(policy, Known) or policy.value is None:
        return dict.fromkeys(ids, Unavailable("no policy is known to be approved", now()))
    minimum = policy.value.minimum_approvals

    def last(id_: AdmissionId) -> Admission | None:
        return last_admission(host.versions(admission_path(id_), at), minimum)

    return {id_: asked(partial(last, id_), now) for id_ in ids}

"""One pass over sound documents: what ran, what was asked, and the plan that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from controller.decision.actions import Action, Cancel, Keep, Submit, Withhold
from controller.decision.judge import judge_all
from controller.decision.noticed import noticed
from controller.decision.plan import Plan, make_plan
from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.documents.payload import run_name
from controller.evidence.facts import Evidence, Known, ObservedRun, Unavailable
from controller.ledger.records import DEADLINE, Attempt, Over, RunRecord, released
from controller.values import AdmissionId, RepoPath, RunName
from tests.builders import (
    JOB,
    NOW,
    WORKSPACE,
    approval,
    attempt,
    record,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    unavailable,
)

HOUR = timedelta(hours=1)
Seen = ObservedRun | None | Unavailable
"""What the workspace answers about one run; None: it does not exist."""


def newer(**changes: Any) -> Manifest:
    """Return the sound manifest with another payload: another run of the same name."""
    return sound_manifest(**{"rerun": "2", **changes})


def run_of(of: Manifest | RunRecord) -> RunName:
    """Return the name of the run of a manifest or a record."""
    if isinstance(of, Manifest):
        return run_name(of.name, of.payload.fingerprint)
    return of.run


def started(manifest: Manifest | None = None, **changes: Any) -> RunRecord:
    """Return the record of a run that was started an hour ago, with its worst case set aside."""
    manifest = manifest or sound_manifest()
    hours = manifest.spec.nodes * 8 * (manifest.spec.timeout or 0) / 3600 * 2
    return record(manifest, **{"started_at": NOW - HOUR, "reserved": hours, **changes})


def set_aside(manifest: Manifest | None = None, *, ago: timedelta, **changes: Any) -> RunRecord:
    """Return the record of a payload that was reserved for so long ago and not submitted."""
    only = tried(1, ago=ago, submitted_at=None)
    return started(manifest, **{"attempts": (only,), **changes})


def given_back(record: RunRecord) -> RunRecord:
    """Return the record with its reservation released a minute ago."""
    return released(record, NOW - MINUTE, "no run was started from it")


def tried(number: int, *, ago: timedelta, **changes: Any) -> Attempt:
    """Return an attempt that was reserved and submitted so long ago."""
    at = NOW - ago
    when = {"reserved_at": at, "deadline": at + DEADLINE, "submitted_at": at}
    return attempt(number, **{**when, **changes})


def seen(of: RunRecord, state: str = "Running", **changes: Any) -> ObservedRun:
    """Return the run of a record as a workspace shows it, running since it was reserved for."""
    at = of.attempt.reserved_at
    run = ObservedRun(
        run=run_of(of),
        state=state,
        fingerprint=of.fingerprint,
        tags={},
        nodes=of.nodes,
        timeout=108_000,
        created_at=at,
        started_at=at,
    )
    return replace(run, **changes)


def removal(path: str, *logins: str) -> dict[RepoPath, Any]:
    """Return the answer that `logins` approved the removal of `path`."""
    return {RepoPath(path): approval(path, *logins, blob=None)}


def asked(
    catalog: Catalog, ran: Mapping[RunRecord, Seen] | None = None, **changes: Any
) -> Evidence:
    """Return the evidence that everything is approved and that `ran` is what ran."""
    sound = sound_evidence(catalog)
    answers = {
        run_of(of): what if isinstance(what, Unavailable) else Known(what, NOW)
        for of, what in (ran or {}).items()
    }
    for field in ("approvals", "governing", "runs"):
        changes[field] = {**getattr(sound, field), **changes.get(field, {})}
    changes["runs"] = {**changes["runs"], **answers}
    return replace(sound, records=tuple(ran or ()), **changes)


def planned(
    *documents: Admission | Manifest,
    ran: Mapping[RunRecord, Seen] | None = None,
    max_cancels: int | None = None,
    now: datetime = NOW,
    catalog: Mapping[str, Any] | None = None,
    **evidence: Any,
) -> Plan:
    """Return the plan for `documents`; `evidence` are fields of Evidence, mappings added to."""
    read = sound_catalog(*documents, **(catalog or {}))
    return plan_of(read, asked(read, ran, asked_at=now, **evidence), max_cancels=max_cancels)


def plan_of(catalog: Catalog, evidence: Evidence, *, max_cancels: int | None = None) -> Plan:
    """Return the plan for what was read and asked; what ran is first brought up to that."""
    evidence = noticed(evidence)
    verdicts = judge_all(catalog, catalog.policy, evidence) if catalog.policy else {}
    return make_plan(catalog, verdicts, evidence, WORKSPACE, max_cancels=max_cancels)


def brief(actions: Iterable[Action]) -> list[tuple[Any, ...]]:
    """Return what is done to which run, without the reasons."""
    return [_brief(action) for action in actions]


def _brief(action: Action) -> tuple[Any, ...]:
    match action:
        case Submit():
            return "submit", action.run
        case Cancel(after=None):
            return "cancel", action.run, action.cause
        case Cancel():
            return "cancel", action.run, action.cause, action.after
        case Keep(undecided=True) | Withhold(undecided=True):
            return type(action).__name__.lower(), action.run, "undecided"
        case Keep():
            return "keep", action.run
        case Withhold():
            return "withhold", action.run, *action.findings
        case _:
            return type(action).__name__.lower(), action


def small(number: int, **more: Any) -> Any:
    """Return a manifest of a worst case of 200 GPU hours on one node."""
    fields = {"nodes": 1, "timeout": 45_000, "name": f"small-{number}", **more}
    return sound_manifest(f"jobs/bert/small-{number}.yml", **fields)


BERT = AdmissionId("bert-pretrain")
MINUTE = timedelta(minutes=1)
EVICTED = Over("Failed", 100.0, exact=True, reason="evicted", preempted=True)
PREEMPTED = tried(1, ago=10 * HOUR, over=EVICTED)
"""A first attempt that lost its machine after 100 GPU hours."""
GRANT = sound_admission()
WIDE = sound_admission(gpu_hours=2000, max_nodes=4)
"""It has room for two runs."""
OLD, NEW = sound_manifest(), newer()
OLD_RUN, NEW_RUN = run_of(OLD), run_of(NEW)
RAN = started(OLD)
RUNNING = {RAN: seen(RAN)}
DENIED = {JOB: approval(JOB)}
"""Nobody approved the manifest as it is now."""
DOUBTED = {JOB: unavailable()}
CANCELS = sound_admission(expires=date(2026, 11, 29), on_expiry="cancel")
FINISHES = sound_admission(expires=date(2026, 11, 29), on_expiry="finish")
"""Both expired yesterday."""
THREE_JOBS = tuple(small(number) for number in (1, 2, 3))
THREE_RUNS = tuple(started(j, started_at=NOW - n * HOUR) for n, j in enumerate(THREE_JOBS, 1))
"""Newest first; 8, 16 and 24 of 200 GPU hours each are spent."""
LOST = started(OLD, attempts=(PREEMPTED,))
"""Its only attempt so far was preempted after 100 of 960 GPU hours."""
WAITING = {LOST: seen(LOST, "Failed", preempted=True, ended_at=NOW)}

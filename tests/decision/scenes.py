"""Whole scenes: what is on main, was approved, is recorded, runs and could be asked.

Everything about a scene follows from its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from random import Random
from typing import Any

from controller.decision.judge import judge_all
from controller.decision.noticed import noticed
from controller.decision.plan import Plan, make_plan
from controller.decision.verdict import Verdict
from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.evidence.facts import Evidence, Known, ObservedRun
from controller.ledger.records import (
    CancelAsked,
    Closed,
    Failure,
    RunRecord,
    Stop,
    released,
    submitted,
)
from controller.values import AdmissionId, RepoPath, RunName
from tests.builders import (
    NOW,
    approval,
    hold,
    problem,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    sound_policy,
    unavailable,
)
from tests.decision.planning import EVICTED, HOUR, MINUTE, WORKSPACE, run_of, seen, started, tried

STATES = ("Running", "Queued", "CancelRequested", "Finalizing", "Hibernating", "Completed")
PASTS = (
    "running",
    "running",
    "running",
    "asked",
    "stopped",
    "reserved",
    "released",
    "preempted",
    "retried",
    "settled",
)
ADMISSIONS = ("a", "b", "c")


@dataclass(frozen=True)
class Scene:
    """What is on main, what was recorded and asked of it, and what the workspace has."""

    catalog: Catalog
    asked: Evidence
    runs: tuple[ObservedRun, ...]

    @cached_property
    def evidence(self) -> Evidence:
        """What was asked, with the records brought up to it."""
        return noticed(self.asked)

    @cached_property
    def verdicts(self) -> Mapping[RepoPath, Verdict]:
        policy = self.catalog.policy
        return judge_all(self.catalog, policy, self.evidence) if policy else {}

    @cached_property
    def plan(self) -> Plan:
        return make_plan(self.catalog, self.verdicts, self.evidence, WORKSPACE)

    def having(self, records: tuple[RunRecord, ...], runs: Mapping[RunName, ObservedRun]) -> Scene:
        """Return the same with other records and runs, all of them known."""
        names = {run_of(m) for m in self.catalog.manifests.values()} | {r.run for r in records}
        answers = {name: Known(runs.get(name), NOW) for name in sorted(names)}
        asked = replace(self.asked, records=records, runs=answers)
        return Scene(self.catalog, asked, tuple(runs.values()))


class Draw(Random):
    """What chooses everything of one scene."""

    def one_in(self, number: int) -> bool:
        return self.randrange(number) == 0

    def grant(self, id_: str) -> Admission:
        return sound_admission(
            id_,
            gpu_hours=self.choice([0, 100, 200.5, 300, 400, 600, 800, 1000]),
            max_nodes=self.randint(1, 8),
            retries=self.choice([0, 1, 1]),
            expires=date(2026, 11, 29) if self.one_in(6) else date(2027, 3, 31),
            on_expiry=self.choice(["finish", "cancel"]),
        )

    def manifest(self, number: int) -> Manifest:
        return sound_manifest(
            f"jobs/bert/{number}.yml",
            name="n0" if self.one_in(9) else f"n{number}",
            rerun=self.choice(["", "2"]),
            nodes=self.randint(1, 3),
            timeout=self.choice([11_250, 22_500, 45_000]),
            admission=self.choice(ADMISSIONS),
        )

    def past(self, of: Manifest) -> tuple[RunRecord, ObservedRun | None]:
        """Return the record of a payload, and what the workspace has of it."""
        ago = self.randint(1, 9) * HOUR
        match self.choice(PASTS):
            case "asked":
                asked = CancelAsked(NOW - self.choice([5, 90]) * MINUTE, "withdrawn", "it is gone")
                record = started(of, attempts=(tried(1, ago=ago, cancel=asked),))
            case "stopped":
                stop = Stop(NOW - MINUTE, "it diverges", "@ada")
                record = started(of, attempts=(tried(1, ago=ago, stop=stop),))
            case "reserved":
                return self.waiting(started(of, attempts=(self.fresh(1),)))
            case "released":
                held = started(of, attempts=(self.fresh(1),))
                return self.waiting(released(held, NOW - MINUTE, "no run was started from it"))
            case "preempted":
                lost = tried(1, ago=ago, over=replace(EVICTED, gpu_hours=1.0))
                return started(of, attempts=(lost,)), None
            case "retried":
                lost = tried(1, ago=ago, over=replace(EVICTED, gpu_hours=1.0))
                return self.waiting(started(of, attempts=(lost, self.fresh(2))))
            case "settled":
                ended = Closed("settled", NOW, "Completed, no attempt left", 1.0)
                return started(of, attempts=(tried(1, ago=ago),), closed=ended), None
            case _:
                record = started(of, attempts=(tried(1, ago=ago),))
        return record, self.run(record)

    def fresh(self, number: int) -> Any:
        """Return an attempt that nobody submitted, as far as is known."""
        failures = (Failure(NOW - 3 * MINUTE, "no quota", refused=True),) * self.choice(
            [0, 0, 1, 5]
        )
        ago = self.choice([2, 20, 40]) * MINUTE
        return tried(number, ago=ago, submitted_at=None, failures=failures)

    def waiting(self, record: RunRecord) -> tuple[RunRecord, ObservedRun | None]:
        """Return a record without a submission, of which there is a run all the same, or not."""
        return record, self.run(submitted(record, NOW)) if self.one_in(4) else None

    def run(self, record: RunRecord) -> ObservedRun:
        state = self.choice(STATES)
        over = {"ended_at": NOW, "preempted": self.one_in(3)} if state == "Completed" else {}
        begun = {"started_at": None} if state == "Queued" else {}
        return seen(record, state, **over, **begun)

    def approval(self, path: RepoPath, catalog: Catalog) -> Any:
        """Mostly that the bytes, or the removal, are approved; or are not; or nobody knows."""
        there: dict[str, Any] = {} if path in catalog.snapshot.files else {"blob": None}
        if self.one_in(15):
            return unavailable()
        return approval(path, *([] if self.one_in(15) else ["@ada"]), **there)

    def governing(self, id_: str, catalog: Catalog, approvals: Mapping[RepoPath, Any]) -> Any:
        """The version on main where that is approved, else another, or nobody knows."""
        now = {str(a.id): a for a in catalog.admissions.values()}.get(id_)
        answer = approvals[RepoPath(f"admissions/{id_}.md")]
        if now is not None and isinstance(answer, Known) and answer.value.approvers:
            return Known(now, NOW)
        return unavailable() if self.one_in(4) else Known(self.grant(id_), NOW)


@cache
def scene(number: int) -> Scene:
    """Return a scene in which everything could be asked of the workspace."""
    draw = Draw(number)
    held = hold(drain=draw.one_in(2)) if draw.one_in(12) else None
    admissions = [draw.grant(id_) for id_ in ADMISSIONS if not draw.one_in(8)]
    wanted = [draw.manifest(n) for n in range(5) if not draw.one_in(3)]
    past = [draw.manifest(n) for n in range(5) if draw.one_in(2)]
    gone = {m.path for m in past} - {m.path for m in wanted}
    catalog = sound_catalog(
        *admissions,
        *wanted,
        policy=sound_policy(hold=held, cancels_per_pass=draw.randint(0, 5)),
        broken={p: (problem(p),) for p in sorted(gone) if draw.one_in(5)},
        parts=[m.path for m in wanted if draw.one_in(12)],
    )
    sound = sound_evidence(catalog)
    paths = {*sound.approvals, *gone, *(RepoPath(f"admissions/{id_}.md") for id_ in ADMISSIONS)}
    approvals = {path: draw.approval(path, catalog) for path in sorted(paths)}
    governing = {AdmissionId(i): draw.governing(i, catalog, approvals) for i in ADMISSIONS}
    ran = [draw.past(m) for m in (*past, *wanted[: draw.randrange(3)])]
    records = {record.run.removesuffix("-a2"): (record, run) for record, run in ran}
    sightings = {r.run: NOW - HOUR for r, _ in records.values() if draw.one_in(3)}
    asked = replace(sound, approvals=approvals, governing=governing, sightings=sightings)
    runs = {run.run: run for _, run in records.values() if run}
    return Scene(catalog, asked, ()).having(tuple(r for r, _ in records.values()), runs)


@cache
def doubted(number: int) -> Scene:
    """Return a scene in which runs vanished or could not be asked, or a policy is missing."""
    draw, known = Draw(number), scene(number)
    odd: list[Any] = [Known(None, NOW), unavailable()]
    told = sorted(known.asked.runs.items())
    strange = {run: draw.choice(odd) if draw.one_in(9) else answer for run, answer in told}
    policy = unavailable() if draw.one_in(9) else known.asked.policy
    catalog = replace(known.catalog, policy=None) if draw.one_in(20) else known.catalog
    return Scene(catalog, replace(known.asked, runs=strange, policy=policy), known.runs)

"""What holds for every plan, whatever is on main, was approved, runs and could be asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decision.actions import Cancel, Keep, Settle, Submit, Withhold
from controller.decision.judge import judge_all
from controller.decision.plan import Plan, kind_of, make_plan
from controller.decision.verdict import Outcome, Verdict
from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.effects.apply import apply
from controller.effects.request import Surroundings, request_for
from controller.evidence.facts import Evidence, Known, ObservedRun
from controller.evidence.gather import records_of
from controller.values import AdmissionId, RepoPath
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
from tests.decision.planning import HOUR, WORKSPACE, run_of, seen, started
from tests.fakes import FakeWorkspace

EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True, database=None)
SLACK = 1e-6
"""GPU hours that sums of floats may be wrong by."""

STATES = ("Running", "Queued", "CancelRequested", "Finalizing", "Hibernating", "Completed")
ADMISSIONS = ("a", "b", "c")


@dataclass(frozen=True)
class Scene:
    """What is on main, what was asked of it, and what the workspace has."""

    catalog: Catalog
    evidence: Evidence
    runs: tuple[ObservedRun, ...]

    @cached_property
    def verdicts(self) -> Mapping[RepoPath, Verdict]:
        policy = self.catalog.policy
        return judge_all(self.catalog, policy, self.evidence) if policy else {}

    @cached_property
    def plan(self) -> Plan:
        return make_plan(self.catalog, self.verdicts, self.evidence, WORKSPACE)

    def having(self, runs: Iterable[ObservedRun]) -> Scene:
        """Return the same with other runs in the workspace, all of them known."""
        asked = {run_of(m): Known(None, NOW) for m in self.catalog.manifests.values()}
        found = {run.run: Known(run, NOW) for run in runs}
        records = records_of(run.value for run in found.values())
        evidence = replace(self.evidence, records=records, runs={**asked, **found})
        return Scene(self.catalog, evidence, tuple(runs))


class Draw(Random):
    """Everything about one scene follows from its number."""

    def one_in(self, number: int) -> bool:
        return self.randrange(number) == 0

    def grant(self, id_: str) -> Admission:
        return sound_admission(
            id_,
            gpu_hours=self.choice([0, 100, 200.5, 300, 400, 600, 800, 1000]),
            max_nodes=self.randint(1, 8),
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

    def run(self, of: Manifest) -> ObservedRun:
        record = started(of, started_at=NOW - self.randint(1, 9) * HOUR)
        state = self.choice(STATES)
        over = {"ended_at": NOW} if state == "Completed" else {}
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
    evidence = replace(sound, approvals=approvals, governing=governing)
    found = {run.run: run for run in map(draw.run, (*past, *wanted[: draw.randrange(3)]))}
    return Scene(catalog, evidence, ()).having(tuple(found.values()))


@cache
def doubted(number: int) -> Scene:
    """Return a scene in which runs vanished or could not be asked, or a policy is missing."""
    draw, known = Draw(number), scene(number)
    odd: list[Any] = [Known(None, NOW), unavailable()]
    told = sorted(known.evidence.runs.items())
    strange = {run: draw.choice(odd) if draw.one_in(9) else answer for run, answer in told}
    policy = unavailable() if draw.one_in(9) else known.evidence.policy
    catalog = replace(known.catalog, policy=None) if draw.one_in(20) else known.catalog
    return Scene(catalog, replace(known.evidence, runs=strange, policy=policy), known.runs)


NUMBERS = st.integers(0, 249)
SCENES, DOUBTED = NUMBERS.map(scene), NUMBERS.map(doubted)


@EXAMPLES
@given(DOUBTED)
def test_what_is_reserved_never_exceeds_what_is_free(case: Scene) -> None:
    plan, nodes, hours = case.plan, Counter[str](), Counter[str]()
    for submit in plan.actions:
        if isinstance(submit, Submit):
            hours[submit.admission] += submit.gpu_hours  # type: ignore[assignment]
            nodes[submit.admission] += case.catalog.manifests[submit.path].spec.nodes
    for id_, admission in case.catalog.admissions.items():
        balance = plan.balances[id_]
        if id_ in hours:
            assert hours[id_] <= balance.free + SLACK
            assert nodes[id_] + balance.nodes <= admission.grant.max_nodes


@EXAMPLES
@given(DOUBTED)
def test_a_start_exists_only_for_a_verdict_that_is_met(case: Scene) -> None:
    for action in case.plan.actions:
        if isinstance(action, Submit):
            verdict = case.verdicts[action.path]
            assert verdict.standing is Outcome.MET
            assert verdict.run == action.run
            assert case.evidence.runs[action.run] == Known(None, NOW)


@EXAMPLES
@given(DOUBTED)
def test_every_active_record_gets_exactly_one_ending(case: Scene) -> None:
    found = Counter(a.run for a in case.plan.actions if isinstance(a, Keep | Cancel | Settle))
    assert found == Counter(run_of(r) for r in case.evidence.records if r.active)


@EXAMPLES
@given(DOUBTED)
def test_every_manifest_that_never_ran_gets_exactly_one_start_or_withhold(case: Scene) -> None:
    ran = {(r.name, r.fingerprint) for r in case.evidence.records}
    never = (
        m.path
        for m in case.catalog.manifests.values()
        if (m.name, m.payload.fingerprint) not in ran and m.path not in case.catalog.parts
    )
    found = Counter(a.path for a in case.plan.actions if isinstance(a, Submit | Withhold))
    assert found == Counter(never)


@EXAMPLES
@given(DOUBTED)
def test_no_run_is_both_started_and_ended(case: Scene) -> None:
    actions = case.plan.actions
    submitted = {a.run for a in actions if isinstance(a, Submit)}
    ended = {a.run for a in actions if isinstance(a, Keep | Cancel | Settle)}
    assert not submitted & ended


@EXAMPLES
@given(DOUBTED)
def test_what_ends_by_itself_or_is_in_doubt_is_never_cancelled(case: Scene) -> None:
    for action in case.plan.actions:
        if isinstance(action, Cancel):
            answer = case.evidence.runs[action.run]
            assert isinstance(answer, Known)
            assert answer.value is not None
            assert answer.value.state in ("Running", "Queued", "Hibernating")
            assert action.after is None or any(
                isinstance(a, Submit) and a.run == action.after for a in case.plan.actions
            )


@EXAMPLES
@given(DOUBTED, st.randoms(use_true_random=False))
def test_planning_twice_gives_the_same_plan_whatever_the_order(case: Scene, random: Any) -> None:
    def shuffled(mapping: Mapping[Any, Any]) -> dict[Any, Any]:
        items = list(mapping.items())
        random.shuffle(items)
        return dict(items)

    catalog, evidence = case.catalog, case.evidence
    records = list(evidence.records)
    random.shuffle(records)
    names = ("approvals", "introductions", "runs", "governing")
    mixed = {name: shuffled(getattr(evidence, name)) for name in names}
    mapped = {name: shuffled(getattr(catalog, name)) for name in ("admissions", "manifests")}
    again = Scene(
        replace(catalog, **mapped), replace(evidence, records=tuple(records), **mixed), case.runs
    )
    assert again.plan == case.plan
    assert again.plan.digest == case.plan.digest


@EXAMPLES
@given(SCENES)
def test_after_doing_a_plan_only_what_waits_is_left_to_do(case: Scene) -> None:
    workspace = FakeWorkspace(lambda: NOW)
    for run in case.runs:
        workspace.observe(run)
    surroundings = Surroundings("0", WORKSPACE)

    def request(submit: Submit) -> Any:
        verdict = case.verdicts[submit.path]
        return request_for(submit, verdict, case.catalog, case.evidence, case.plan, surroundings)

    receipts = list(apply(case.plan, request, workspace))
    assert [(r.action, r.run) for r in receipts] == [
        (kind_of(a), getattr(a, "run", "")) for a in case.plan.changes
    ]
    waiting = {(r.action, r.run) for r in receipts if r.outcome == "held"}
    after = case.having(workspace.runs()).plan
    assert {(kind_of(a), getattr(a, "run", "")) for a in after.changes} == waiting
    assert bool(waiting) == bool(case.plan.brake)

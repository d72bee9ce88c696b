"""One report of each kind of command, made with plain constructors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from controller.decision.actions import (
    Action,
    ApplySchedule,
    Cancel,
    DeleteSchedule,
    DisableSchedule,
    Keep,
    Release,
    Repair,
    Settle,
    Submit,
    Withhold,
)
from controller.decision.cost import Cost
from controller.decision.plan import Plan
from controller.decision.verdict import Finding, Verdict, met, undecided, unmet
from controller.effects.receipts import Receipt
from controller.evidence.facts import ObservedRun
from controller.ledger.account import Balance
from controller.ledger.records import RunRecord
from controller.report.outcome import DriftLine, Report, RunLine
from controller.values import AdmissionId, Fingerprint, Location, Problem, RepoPath, RunName

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
BERT, T5, CLIP = (AdmissionId(name) for name in ("bert-pretrain", "t5-large", "clip"))
JOB = RepoPath("jobs/bert/pretrain.yml")
GRANT = RepoPath("admissions/bert-pretrain.md")
RUN = RunName("bert-pretrain-1f2e3d4c5b6a")
OLDER = RunName("bert-pretrain-0a1b2c3d4e5f")
T5_JOB, T5_RUN = RepoPath("jobs/t5.yml"), RunName("t5-large-99aabbccddee")
FINGERPRINT = Fingerprint("1f2e3d4c5b6a" + "0" * 52)
COST = Cost(960.0, 120.0, Decimal("3932.4"), "USD")
BUDGETS: Mapping[AdmissionId, Balance] = {
    T5: Balance(200.0, 0.0, 187.5, 0),
    BERT: Balance(1000.0, 160.0, 240.0, 2),
}
WORKSPACE = "azureml:acme/training/nlp"


def at(path: str, line: int = 0, column: int = 0) -> Location:
    return Location(RepoPath(path), line, column)


def some_met(path: RepoPath, number: int) -> tuple[Finding, ...]:
    rules = ("kind-allowed", "image-pinned", "compute-granted", "timeout-set", "name-unique")
    return tuple(
        met(rule, "3 of 3 are as they must be", at(path, 3 + n))
        for n, rule in enumerate(rules[:number])
    )


def job(*findings: Finding, path: RepoPath = JOB, run: RunName = RUN) -> Verdict:
    return Verdict(path, "job", BERT, run, findings, COST)


def grant(*findings: Finding, path: RepoPath = GRANT) -> Verdict:
    return Verdict(path, "admission", BERT, None, findings)


OVER_BUDGET = unmet(
    "gpu-budget",
    "the worst case is 960 GPU hours (2 nodes × 8 GPUs × 30 h × 2 attempts), and "
    "`bert-pretrain` has 600 of 1,000 free",
    at(JOB, 17),
    "lower `limits.timeout` to 18 h, or raise `gpu_hours` to at least 1,360 in a pull request",
)
NOT_PINNED = unmet(
    "image-pinned",
    "`acme.azurecr.io/train:latest` can become another image after the approval",
    at(JOB, 11),
    "`admit pin jobs/bert/pretrain.yml` writes the digest",
)
UNMEASURED = undecided(
    "claim-measured",
    "the run `runs:/3f2c` could not be asked: no answer in 10 s",
    at(GRANT, 21),
    "run `admit check --online` where the team's MLflow can be reached",
)
NOT_ASKED = undecided(
    "owner-approval", "the code host was not asked", at(JOB), "an owner approves the pull request"
)


def check() -> Report:
    """Denied: a broken file, a job that is not met, one that waits for its merge, and a met one."""
    return Report(
        "check",
        NOW,
        commit="4be1c0ffee" * 4,
        base="0ddba11" * 5 + "00000",
        verdicts=(
            job(OVER_BUDGET, *some_met(JOB, 4), NOT_ASKED, NOT_PINNED, UNMEASURED),
            job(*some_met(T5_JOB, 5), NOT_ASKED, path=T5_JOB, run=T5_RUN),
            grant(*some_met(GRANT, 3)),
            job(OVER_BUDGET, path=RepoPath("jobs/old.yml"), run=OLDER),
        ),
        budgets=BUDGETS,
        counting=frozenset({JOB, T5_JOB, GRANT}),
        deferred=frozenset({"owner-approval", "image-exists"}),
    )


def invalid() -> Report:
    """The same with two files that cannot be read."""
    problems = (
        Problem(
            "unknown-field",
            at("jobs/clip.yml", 14, 3),
            "`resources.instance_cuont` is not a field of a command job",
            "did you mean `instance_count`?",
        ),
        Problem("missing-file", at("admissions/policy.yml"), "there is no policy", ""),
    )
    return replace(check(), problems=problems)


ACTIONS: tuple[Action, ...] = (
    Settle(T5_RUN, 187.5, "Completed, no attempt left"),
    Release(RunName("t5-small-000000000000"), "its deadline passed and there is no run"),
    Cancel(RunName("clip-777777777777"), "expired", "`clip` expired on 2026-11-29"),
    Submit(RUN, JOB, BERT, FINGERPRINT, 960.0, "admitted by `bert-pretrain`, worst case 960"),
    Cancel(OLDER, "superseded", f"`{JOB}` asks for `{RUN}` now", RUN),
    Repair(T5_RUN, ("description", "tags.team"), "somebody changed them in the workspace"),
    DisableSchedule("nightly", "it changed"),
    ApplySchedule("nightly", 480.0, "10 occurrences of 48 GPU hours"),
    DeleteSchedule("weekly", "its manifest was withdrawn"),
    Keep(RunName("vit-121212121212"), "Running, admitted by `vit`"),
    Keep(RunName("vit-343434343434"), "its state could not be asked: no answer", undecided=True),
    Withhold(RepoPath("jobs/nobody.yml"), None, "admission-named: it names no admission"),
    Withhold(T5_JOB, T5_RUN, "gpu-budget: 12.5 of 200 free", ("gpu-budget", "expiry")),
    Withhold(
        RepoPath("jobs/w.yml"), RunName("w-1"), "it was not asked", ("claim",), undecided=True
    ),
)


def plan_of(*actions: Action, brake: str = "") -> Plan:
    return Plan(WORKSPACE, actions, BUDGETS, (), brake)


def plan() -> Report:
    """Every kind of action, one of its withheld jobs judged above."""
    reason = "the worst case is 960 GPU hours, and `t5-large` has 12.5 of 200 free"
    over = unmet("gpu-budget", reason, at(T5_JOB, 9), "raise `gpu_hours` in a pull request")
    expiry = unmet(
        "expiry", "`t5-large` expired on 2026-11-29", at("admissions/t5-large.md", 6), ""
    )
    not_met = job(over, expiry, path=T5_JOB, run=T5_RUN)
    return Report(
        "plan",
        NOW,
        commit="4be1c0ffee" * 4,
        verdicts=(job(*some_met(JOB, 5)), not_met),
        plan=plan_of(*ACTIONS),
        budgets=BUDGETS,
        counting=frozenset({JOB, T5_JOB}),
        planning=True,
    )


BRAKE = (
    "this pass would cancel 4 runs and may cancel 3, so it cancels none; "
    "look at them, then `admit reconcile --max-cancels 4 --reason TEXT`"
)


def reconcile() -> Report:
    """A start that was done, one that failed, and cancellations that a brake held."""
    return Report(
        "reconcile",
        NOW,
        commit="4be1c0ffee" * 4,
        verdicts=(job(*some_met(JOB, 5)), grant(*some_met(GRANT, 3))),
        plan=plan_of(ACTIONS[3], ACTIONS[2], ACTIONS[9], brake=BRAKE),
        receipts=(
            Receipt("submit", RUN, "done", "submitted, recorded as sha256:5ca1ab1e"),
            Receipt("submit", T5_RUN, "failed", "the workspace answered 409: QuotaExceeded"),
            Receipt("cancel", "clip-777777777777", "held", "the brake held"),
        ),
        brakes=(BRAKE,),
        budgets=BUDGETS,
        counting=frozenset({JOB, GRANT}),
    )


def record(name: str, used: float | None = None) -> RunRecord:
    return RunRecord(name, FINGERPRINT, BERT, JOB, 2, 8, 960.0, NOW.replace(hour=8), 1, used)


def observed(
    run: str, state: str, started_at: datetime | None = None, ended_at: datetime | None = None
) -> ObservedRun:
    created_at = NOW.replace(hour=9)
    name = RunName(run)
    return ObservedRun(
        name, state, FINGERPRINT, {}, 2, 108000, created_at, started_at, ended_at, "as asked"
    )


def status() -> Report:
    """Runs that are queued, running, over, not known and settled."""
    ten, three = NOW.replace(hour=10), NOW.replace(hour=15)
    return Report(
        "status",
        NOW,
        runs=(
            RunLine(RUN, record("bert-pretrain"), observed(RUN, "Running", ten)),
            RunLine(OLDER, record("bert-pretrain", 80.0), observed(OLDER, "Failed", ten, three)),
            RunLine(T5_RUN, record("t5-large"), observed(T5_RUN, "Queued")),
            RunLine("vit-343434343434", record("vit"), None),
            RunLine("vit-121212121212", record("vit", 1234.567), None),
        ),
        budgets={**BUDGETS, CLIP: Balance(100.0, 80.0, 40.0, 1)},
    )


def drift() -> Report:
    """A run that the ledger does not know, and a change that main asks for."""
    return Report(
        "drift",
        NOW,
        commit="4be1c0ffee" * 4,
        plan=plan_of(ACTIONS[5], ACTIONS[9]),
        drift=(
            DriftLine("mystery-000000000000", "orphan", "it has our tag and no record"),
            DriftLine("ws/gpu-cluster/alices-run", "not ours", "16 GPU hours so far"),
            DriftLine("vit-121212121212", "its description differs", ""),
        ),
        planning=True,
    )


def all_good() -> Report:
    """Three jobs and two admissions, all met, and nothing that would change."""
    jobs = [RepoPath(f"jobs/{n}.yml") for n in "abc"]
    grants = [RepoPath(f"admissions/{n}.md") for n in "ab"]
    return Report(
        "check",
        NOW,
        commit="4be1c0ffee" * 4,
        verdicts=(
            *(job(*some_met(path, 5), path=path) for path in jobs),
            *(grant(*some_met(path, 3), path=path) for path in grants),
        ),
        budgets=BUDGETS,
        counting=frozenset({*jobs, *grants}),
    )


SAMPLES = {
    "check": check,
    "invalid": invalid,
    "plan": plan,
    "reconcile": reconcile,
    "status": status,
    "drift": drift,
    "all-good": all_good,
}

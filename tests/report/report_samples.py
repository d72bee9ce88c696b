"""One report of each kind of command, made with plain constructors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
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
from controller.decision.verdict import Finding, Outcome, Verdict, met, undecided, unmet
from controller.effects.receipts import Receipt
from controller.evidence.facts import ObservedRun
from controller.ledger import records
from controller.ledger.account import Balance
from controller.ledger.records import (
    Attempt,
    CancelAsked,
    Closed,
    Generation,
    Over,
    RunRecord,
    Stop,
)
from controller.report.outcome import (
    AdmissionLine,
    DriftLine,
    Edge,
    Node,
    Report,
    RunLine,
    WithheldLine,
)
from controller.values import (
    AdmissionId,
    BlobId,
    Digest,
    Fingerprint,
    Location,
    Problem,
    RepoPath,
    RunName,
)

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


AGAIN, LATER = RunName(f"{RUN}-a2"), RunName(f"{RUN}-a3")
OVERDUE = (
    "CancelRequested; it was asked to end at 2026-11-30 18:00 UTC (expired), more than an hour "
    "ago: end it in the workspace by hand"
)
SILENT = "its state could not be asked: no answer"
TWO = "gpu-budget: the worst case is 960; 12.5 are free; expiry: `t5` expired on 2026-11-29"
ASKED = "claim-measured: no answer in 10 s; owner-approval: the code host answered 503"
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
    Keep(RunName("vit-343434343434"), SILENT, undecided=True, doubt="not-asked"),
    Withhold(RepoPath("jobs/nobody.yml"), None, "admission-named: it names no admission"),
    Withhold(T5_JOB, T5_RUN, "gpu-budget: 12.5 of 200 free", ("gpu-budget", "expiry")),
    Withhold(RepoPath("jobs/u.yml"), RunName("u-1"), TWO, ("gpu-budget", "expiry")),
    Withhold(RepoPath("jobs/v.yml"), None, ASKED, ("claim-measured", "owner-approval"), True),
    Submit(AGAIN, JOB, BERT, FINGERPRINT, 960.0, "attempt 2 of 3: the one before was preempted", 2),
    Submit(LATER, JOB, BERT, FINGERPRINT, 960.0, "reserved by `bert-pretrain`", 3, reserved=True),
    Settle(
        RunName("t5-small-111111111111"), 96.0, "vanished; its time limit has passed", bound=True
    ),
    Keep(RunName("vit-232323232323"), OVERDUE, overdue=True),
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


RECORD = Digest("sha256:" + "5ca1ab1e" * 8)
BEGAN = NOW.replace(hour=8)
FIRST = Attempt(1, RECORD, BEGAN, BEGAN + timedelta(minutes=15), submitted_at=BEGAN)
PREEMPTED = Over("Failed", 160.0, exact=True, preempted=True)


def record(
    name: str,
    used: float | None = None,
    *,
    last: Attempt | None = None,
    closed: Closed | None = None,
    admission: AdmissionId = BERT,
) -> RunRecord:
    """Return a run of two nodes of eight GPUs; with `used` it is settled."""
    only = last or FIRST
    if used is not None and closed is None:
        closed = Closed("settled", NOW.replace(hour=16), "Completed, no attempt left", used)
    attempts = tuple(
        replace(only, number=n, stop=None, cancel=None, over=PREEMPTED)
        for n in range(1, only.number)
    )
    generation = Generation(
        admission, JOB, BlobId("b" * 40), WORKSPACE, 2, 8, 108_000, 1, 960.0, (*attempts, only)
    )
    return RunRecord(name, FINGERPRINT, (replace(generation, closed=closed),))


def observed(
    run: str, state: str, started_at: datetime | None = None, ended_at: datetime | None = None
) -> ObservedRun:
    created_at = NOW.replace(hour=9)
    name = RunName(run)
    return ObservedRun(
        name, state, FINGERPRINT, {}, 2, 108000, created_at, started_at, ended_at, "as asked"
    )


def open_runs() -> tuple[RunLine, ...]:
    """Runs that are reserved, running, stopped, overdue and not known."""
    ten = NOW.replace(hour=10)
    late = replace(FIRST, cancel=CancelAsked(ten, "expired", "`clip` expired on 2026-11-29"))
    said = replace(FIRST, stop=Stop(ten, "the loss is NaN", "ada"))
    asked = replace(said, cancel=CancelAsked(ten, "stopped", "the loss is NaN"))
    waits = replace(FIRST, submitted_at=None)
    again = replace(FIRST, number=2)
    stopped = ("ada stopped it at 2026-11-30 10:00 UTC: the loss is NaN",)
    vit = AdmissionId("vit")
    return (
        RunLine(AGAIN, record("bert", last=again), observed(AGAIN, "Running", ten)),
        RunLine("bert-reserved", record("b", last=waits), None, ("not submitted yet",)),
        RunLine("bert-stopped", record("b", last=asked), observed("x", "Running", ten), stopped),
        RunLine(
            "clip-777777777777",
            record("clip", last=late, admission=CLIP),
            observed("clip", "CancelRequested", ten),
            ("asked to end at 2026-11-30 10:00 UTC (expired): `clip` expired on 2026-11-29",),
            overdue=True,
        ),
        RunLine("vit-343434343434", record("vit", admission=vit), None, (SILENT,), "not known"),
    )


def closed_runs() -> tuple[RunLine, ...]:
    """Twelve that are closed: ten alike, one at its bound, one that was given back."""
    outcome = records.Outcome("3f2c9a", "claims-bert", "7", "sha256:d1")
    end = "Completed, no attempt left"
    why = (f"{end}; MLflow run `3f2c9a`, `models:/claims-bert/7`",)
    lines = [
        RunLine(f"bert-{n:012}", record("bert", last=done, closed=closed), None, why)
        for n in range(10)
        for ended in [NOW.replace(hour=9, minute=n)]
        for done in [replace(FIRST, over=Over("Completed", 80.0, True, BEGAN, ended, "as asked"))]
        for closed in [Closed("settled", NOW, end, 80.0, True, outcome)]
    ]
    bound = Closed("settled", NOW, "vanished; its time limit has passed", 480, exact=False)
    given = Closed("released", NOW.replace(hour=17), "no run was started from its reservation")
    waits = replace(FIRST, submitted_at=None)
    lines.append(RunLine("bert-bound", record("b", closed=bound), None, (bound.why,)))
    lines.append(RunLine("bert-given", record("b", last=waits, closed=given), None, (given.why,)))
    return tuple(lines)


def status() -> Report:
    """Admissions that are open, expired and unknown, with every kind of run, and what waits."""
    day = date(2027, 3, 31)
    return Report(
        "status",
        NOW,
        commit="4be1c0ffee" * 4,
        runs=(*open_runs(), *closed_runs()),
        budgets={**BUDGETS, CLIP: Balance(100.0, 80.0, 40.0, 1)},
        admissions=(
            AdmissionLine(BERT, "@acme/nlp", day, BUDGETS[BERT]),
            AdmissionLine(CLIP, "@acme/vision", date(2026, 11, 29), Balance(100.0, 80.0, 40.0, 1)),
            AdmissionLine(T5, "@acme/nlp", NOW.date(), BUDGETS[T5], "it is not on main any more"),
        ),
        withheld=(
            WithheldLine(
                T5_JOB,
                NOW.replace(hour=7),
                ("gpu-budget", "expiry"),
                ("gpu-budget: the worst case is 960; 12.5 are free", "expiry: it expired"),
            ),
        ),
        notes=("as the ledger was last written, 2026-11-30 19:45 UTC, over main 4be1c0ffee4b",),
    )


def verify() -> Report:
    """A chain with an edge that is broken and one that was not checked."""
    return Report(
        "verify",
        NOW,
        commit="4be1c0ffee" * 4,
        edges=(
            Edge("model version → run", "held", f"`models:/claims-bert/7` says `{RUN}`"),
            Edge("run → ledger record", "held", "reserved at 2026-11-30 08:00 UTC"),
            Edge(
                "attempt → admission record",
                "broken",
                "the ledger has `sha256:5ca1ab1e`, and the file comes to `sha256:0ddba11`: "
                "somebody wrote over it",
            ),
            Edge("run → workspace", "not checked", "it was not asked: that takes `--online`"),
        ),
    )


def verified() -> Report:
    """The same without the broken one."""
    return replace(verify(), edges=tuple(e for e in verify().edges if e.outcome != "broken"))


def explain() -> Report:
    """What is looked at, and why a job is withheld, over what it rests on."""
    over = Node(f"`gpu-budget`: {OVER_BUDGET.reason}", Outcome.UNMET)
    unknown = Node("`owner-approval`: no pass has recorded it", Outcome.UNDECIDED)
    met_rules = Node("21 rules are met", Outcome.MET)
    reserved = Node("reserved 960 GPU hours", None, (Node("submitted at 2026-11-30 08:00 UTC"),))
    run = Node(f"run `{OLDER}`: settled", None, (reserved,))
    return Report(
        "explain",
        NOW,
        commit="4be1c0ffee" * 4,
        tree=(
            Node("main is 4be1c0ffee4b now; the ledger is at 0ddba11"),
            Node(f"job `{JOB}`: withheld", Outcome.UNMET, (over, unknown, met_rules, run)),
        ),
    )


def stop() -> Report:
    """One run that is ended, one that could not be, and no ledger to say so."""
    return Report(
        "stop",
        NOW,
        receipts=(
            Receipt("stop", RUN, "done", "the workspace was asked to end it"),
            Receipt("stop", T5_RUN, "failed", "the workspace answered 503"),
            Receipt("record", "ledger", "failed", "there is no ledger: `admit ledger init`"),
        ),
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
    "verify": verify,
    "verified": verified,
    "explain": explain,
    "stop": stop,
    "drift": drift,
    "all-good": all_good,
}

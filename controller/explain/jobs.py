"""One job as a tree: its verdict over what was recorded, its runs, and the last decision."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from controller.decision.judge import Docket, judge_job
from controller.decision.verdict import Outcome, Verdict
from controller.documents.manifest import Manifest
from controller.explain.facts import (
    NEVER,
    Facts,
    documents_behind,
    facts_of,
    judged_at,
)
from controller.explain.moment import Moment
from controller.explain.papers import papers_of
from controller.explain.runs import decided, run_node, standing_of
from controller.explain.subjects import Job
from controller.explain.verdicts import STANDS, because_of, rules_of
from controller.ledger.records import RunRecord
from controller.report.outcome import Node
from controller.report.words import hours, minute, money
from controller.values import AdmissionId, RepoPath, listed
from controller.wiring import World


def job_node(world: World, job: Job, moment: Moment, *, verbose: bool) -> Node:
    """Return what is known of a job: whether it may start and why, what ran, what was decided."""
    runs = runs_of(job, moment)
    manifest = moment.catalog.manifests.get(job.path)
    documents = documents_behind(moment, _paths(job, manifest, moment))
    papers = papers_of(world, moment, runs, documents)
    children: list[Node] = []
    text, outcome = _not_judged(job, moment), Outcome.UNDECIDED
    if not text and manifest is not None:
        about = {job.path, *(record.run for record in runs)}
        facts = facts_of(world, moment, papers, about)
        verdict = verdict_of(manifest, facts, moment)
        text, outcome = _stands(verdict, runs, manifest), verdict.standing
        children += evidence_nodes([job.path, *documents], facts, moment, about)
        children += rules_of(verdict, verbose=verbose)
    children += _broken(job.path, moment)
    children += [run_node(record, moment, papers, verbose=verbose) for record in runs]
    if not runs:
        children.append(Node("the ledger has no run of it"))
    nothing = "no pass has decided anything about it that it kept"
    children.append(decided(moment.book.decisions.get(job.path), moment, nothing))
    return Node(f"job `{job.path}`: {text}", outcome, tuple(children))


def runs_of(job: Job, moment: Moment) -> list[RunRecord]:
    """Return the recorded runs of a job, by its name or its path, the newest first."""
    records = moment.book.records.values()
    own = [r for r in records if r.path == job.path or (job.name and r.name == job.name)]
    return sorted(own, key=lambda record: record.started_at, reverse=True)


def verdict_of(manifest: Manifest, facts: Facts, moment: Moment) -> Verdict:
    """Judge one job by the policy that is there, over what was recorded."""
    policy, evidence = moment.catalog.policy, judged_at(facts, moment, manifest.path)
    if policy is None:
        return Verdict(manifest.path, "job", None, None, ())
    return judge_job(Docket.of(moment.catalog, policy, evidence).job_case(manifest))


def evidence_nodes(
    documents: Sequence[RepoPath], facts: Facts, moment: Moment, about: Collection[str] = ()
) -> Iterator[Node]:
    """Yield what the judgement of the first of `documents` rests on, and what was never recorded.

    `about` are the subjects of decisions that belong to it.
    """
    path, *_ = documents
    if never := [p for p in dict.fromkeys(documents) if p not in facts.seen]:
        text = f"{NEVER}: {listed(never)}; the rules that need it are undecided"
        yield Node(text, Outcome.UNDECIDED)
    if path in facts.seen:
        day = "" if moment.past else "; what depends on the day is judged by today"
        yield Node(f"judged by evidence recorded at {minute(facts.seen[path])} UTC{day}")
    for subject in sorted({*facts.damaged} & {*about}):
        text = f"the evidence of the last decision about `{subject}` is damaged, and left out"
        yield Node(text, Outcome.UNDECIDED)


def _paths(job: Job, manifest: Manifest | None, moment: Moment) -> Iterator[RepoPath]:
    yield job.path
    admission = moment.catalog.admissions.get(AdmissionId(manifest.admission if manifest else ""))
    if admission is not None:
        yield admission.path


def _not_judged(job: Job, moment: Moment) -> str:
    """Return why there is no verdict on it, or ''."""
    catalog = moment.catalog
    if job.path in catalog.broken:
        return "broken, so nothing starts from it and nothing that it started ends for that"
    if job.path not in catalog.manifests:
        return f"not on main {moment.main[:12]}"
    if job.path in catalog.parts:
        return "a part of another job, never submitted on its own"
    if catalog.policy is None:
        return "not judged: there is no sound policy"
    return ""


def _broken(path: RepoPath, moment: Moment) -> Iterator[Node]:
    for problem in moment.catalog.broken.get(path, ()):
        do = (Node(f"do: {problem.remedy}"),) if problem.remedy else ()
        yield Node(f"{problem.where}: {problem.message}", Outcome.UNMET, do)


def _stands(verdict: Verdict, runs: list[RunRecord], manifest: Manifest) -> str:
    """Return what follows from a verdict: nothing, where its payload has run already."""
    cost = verdict.cost
    worst = f", worst case {hours(cost.gpu_hours)} GPU hours, {money(cost)}" if cost else ""
    key = (manifest.name, manifest.payload.fingerprint)
    own = [r for r in runs if (r.name, r.fingerprint) == key]
    if own and own[0].stage not in ("reserved", "released"):
        said = f"`{own[0].run}` is its run: {standing_of(own[0])}"
        return f"{said}; judged again it is {because_of(verdict)}"
    if verdict.standing is Outcome.MET:
        return f"every rule is met, it may start{worst}"
    rules = dict.fromkeys(f.rule for f in sorted(verdict.against, key=lambda f: -f.outcome))
    return f"withheld, {STANDS[verdict.standing]}: {listed(rules)}{worst}"

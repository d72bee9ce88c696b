"""What would change if a policy, owners and admissions were merged: verdicts and active runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from controller.decision.actions import Cancel
from controller.decision.judge import judge_all
from controller.decision.plan import Plan, make_plan
from controller.decision.verdict import Outcome, Verdict
from controller.documents.catalog import Catalog
from controller.evidence.facts import Evidence
from controller.evidence.gather import admission_path
from controller.explain.answer import looked_at, only_refusals
from controller.explain.compared import Changed, changed_verdicts
from controller.explain.facts import documents_behind, facts_of
from controller.explain.moment import Moment, moment_of
from controller.explain.papers import papers_of
from controller.explain.proposal import Proposal, given, proposal_of
from controller.explain.subjects import Grant, Job, Run, subjects_of
from controller.explain.supposed import as_last_seen
from controller.ledger.records import RunRecord
from controller.passes import problems_of
from controller.report.outcome import DriftLine, Node, Report
from controller.report.words import counted
from controller.values import RepoPath, RunName
from controller.wiring import World


@dataclass(frozen=True, slots=True)
class _Judged:
    """One tree of documents with the evidence of it, every verdict, and what would be done."""

    catalog: Catalog
    verdicts: Mapping[RepoPath, Verdict]
    plan: Plan


def simulated(world: World, rev: str, word: str | None = None, at: str | None = None) -> Report:
    """Return what would change if what `rev` changes of policy, owners and admissions were merged.

    `word` narrows what is shown to what it names. Raises UsageError for what names nothing, and
    MissingLedgerError without a ledger.
    """
    with only_refusals():
        moment = moment_of(world, at)
        proposal = proposal_of(world, moment, rev)
        before, after = _both(world, moment, proposal)
        shown = None if word is None else _shown(word, moment)
        return _report(world, moment, proposal, before, after, shown)


def _both(world: World, moment: Moment, proposal: Proposal) -> tuple[_Judged, _Judged]:
    catalog = moment.catalog
    paths = [*catalog.manifests, *(a.path for a in catalog.admissions.values())]
    papers = papers_of(world, moment, _newest(moment), documents_behind(moment, paths))
    facts = facts_of(world, moment, papers, {*moment.book.decisions})
    before = replace(as_last_seen(facts.evidence, moment), asked_at=moment.at)
    after = given(before, proposal)
    return _judged(catalog, before, moment), _judged(proposal.catalog, after, moment)


def _newest(moment: Moment) -> list[RunRecord]:
    """Return the newest run of each admission: its record says what was measured."""
    records = sorted(moment.book.records.values(), key=lambda r: (r.started_at, r.run))
    return [*{record.admission: record for record in records}.values()]


def _judged(catalog: Catalog, evidence: Evidence, moment: Moment) -> _Judged:
    verdicts = judge_all(catalog, catalog.policy, evidence) if catalog.policy else {}
    plan = make_plan(catalog, verdicts, evidence, moment.book.heartbeat.workspace)
    return _Judged(catalog, verdicts, plan)


def _shown(word: str, moment: Moment) -> frozenset[str]:
    """Return the paths and runs that `word` is about."""
    found: set[str] = set()
    for subject in subjects_of(word, moment):
        match subject:
            case Job(path=path):
                found |= {path, *(r.run for r in _records(moment) if r.path == path)}
            case Grant(id=id_):
                jobs = {m.path for m in moment.catalog.manifests.values() if m.admission == id_}
                runs = {r.run for r in _records(moment) if r.admission == id_}
                found |= {admission_path(id_), *jobs, *runs}
            case Run(record=record):
                found |= {record.path, record.run}
    return frozenset(found)


def _records(moment: Moment) -> Sequence[RunRecord]:
    return tuple(moment.book.records.values())


def _report(
    world: World,
    moment: Moment,
    proposal: Proposal,
    before: _Judged,
    after: _Judged,
    shown: frozenset[str] | None,
) -> Report:
    over, here = _over(moment), moment.catalog.snapshot.files
    asked = [
        path
        for path in before.verdicts.keys() | after.verdicts.keys()
        if path in here and path not in over and (shown is None or path in shown)
    ]
    old, new = (
        {path: verdicts[path] for path in asked if path in verdicts}
        for verdicts in (before.verdicts, after.verdicts)
    )
    changed = [*changed_verdicts(old, new, proposal.catalog)]
    cancels = [c for c in _cancels(before.plan, after.plan) if shown is None or c.run in shown]
    tree = (
        looked_at(moment),
        proposal.node,
        _verdicts(changed, len(asked), len(over)),
        _runs(cancels, after.plan, moment),
    )
    lines = [DriftLine(c.subject, c.what, c.why) for c in changed]
    lines += [DriftLine(c.run, f"would be cancelled ({c.cause})", c.why) for c in cancels]
    return Report(
        "explain",
        world.now(),
        commit=proposal.commit,
        base=moment.main,
        problems=problems_of(proposal.catalog) if proposal.catalog.policy is None else (),
        drift=tuple(lines),
        tree=tree,
    )


def _over(moment: Moment) -> frozenset[RepoPath]:
    """Return the manifests whose payload has run and is settled: nothing follows from them."""
    settled = {(r.name, r.fingerprint) for r in moment.book.records.values() if r.settled}
    return frozenset(
        path
        for path, manifest in moment.catalog.manifests.items()
        if (manifest.name, manifest.payload.fingerprint) in settled
    )


def _cancels(before: Plan, after: Plan) -> Iterator[Cancel]:
    there: set[RunName] = {action.run for action in before.actions if isinstance(action, Cancel)}
    for action in after.actions:
        if isinstance(action, Cancel) and action.run not in there:
            yield action


def _verdicts(changed: Sequence[Changed], asked: int, over: int) -> Node:
    """Return every verdict that changes, and how many change how."""
    worse = sum(change.worse for change in changed)
    better = sum(change.better for change in changed)
    other = len(changed) - worse - better
    text = (
        f"{counted(asked, 'subject')} judged: {worse:,} newly withheld, {better:,} newly met, "
        f"{f'{other:,} changed otherwise, ' if other else ''}{asked - len(changed):,} unchanged"
    )
    nodes = [change.node for change in changed]
    if over:
        nodes.append(Node(f"{counted(over, 'job')} ran and settled: nothing follows from them"))
    return Node(text, None, tuple(nodes))


def _runs(cancels: Sequence[Cancel], plan: Plan, moment: Moment) -> Node:
    """Return which active runs would be cancelled, as the last pass saw them."""
    active = len(moment.book.active)
    text = (
        f"{len(cancels):,} of {counted(active, 'active run')} would be cancelled, "
        "as the last pass saw them"
    )
    nodes = [Node(f"`{c.run}`, {c.cause}: {c.why}", Outcome.UNMET) for c in cancels]
    if cancels and plan.brake:
        nodes.append(Node(f"the brake would hold: {plan.brake}", Outcome.UNDECIDED))
    return Node(text, None, tuple(nodes))

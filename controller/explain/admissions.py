"""One admission as a tree: its last approved version, its balance, its jobs, who approved it."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decision.judge import judge_all
from controller.decision.verdict import Outcome, Verdict
from controller.evidence.gather import admission_path
from controller.explain.facts import documents_behind, facts_of, judged_at
from controller.explain.jobs import evidence_nodes
from controller.explain.moment import Moment
from controller.explain.papers import Papers, approval_of, papers_of
from controller.explain.runs import approved_node, standing_of
from controller.explain.subjects import Grant
from controller.explain.verdicts import because_of, rules_of
from controller.ledger.account import balance
from controller.ledger.book import PROOFS
from controller.ledger.records import Generation, RunRecord
from controller.report.outcome import Node
from controller.report.words import counted, hours, minute
from controller.values import AdmissionId, RepoPath
from controller.wiring import World


def admission_node(world: World, grant: Grant, moment: Moment, *, verbose: bool) -> Node:
    """Return what is known of an admission."""
    path, catalog = admission_path(grant.id), moment.catalog
    jobs = [m.path for m in catalog.manifests.values() if m.admission == grant.id]
    runs = [r for r in moment.book.records.values() if r.admission == grant.id]
    documents = documents_behind(moment, [*jobs])
    papers = papers_of(world, moment, _measured(runs), {**documents, path: None})
    about = {*jobs, *(record.run for record in runs)}
    facts = facts_of(world, moment, papers, about)
    verdicts = (
        judge_all(catalog, catalog.policy, judged_at(facts, moment, path)) if catalog.policy else {}
    )
    own = verdicts.get(path)
    children = [_version(grant.id, moment)]
    if own is not None:
        children += evidence_nodes([path, *documents_behind(moment, [path])], facts, moment, about)
        children += rules_of(own, verbose=verbose)
    for problem in catalog.broken.get(path, ()):
        children.append(Node(f"{problem.where}: {problem.message}", Outcome.UNMET))
    children.append(_balance(grant.id, moment))
    children.append(_jobs(jobs, verdicts, moment))
    children.append(_proofs(path, papers, moment))
    outcome = own.standing if own else Outcome.UNDECIDED
    return Node(f"admission `{grant.id}`: {_stands(own, path, moment)}", outcome, tuple(children))


def _measured(runs: list[RunRecord]) -> list[RunRecord]:
    """Return the newest run, whose record says what was measured for the admission."""
    return sorted(runs, key=lambda record: record.started_at)[-1:]


def _stands(own: Verdict | None, path: RepoPath, moment: Moment) -> str:
    if own is not None:
        return because_of(own)
    if path in moment.catalog.broken:
        return "broken; its active runs go on under its last approved version"
    if path in moment.catalog.snapshot.files:
        return "not judged: there is no sound policy"
    return f"not on main {moment.main[:12]}"


def _version(id_: AdmissionId, moment: Moment) -> Node:
    account, here = moment.book.accounts.get(id_), moment.catalog.admissions.get(id_)
    if account is None:
        return Node("no pass has seen a version of it approved", Outcome.UNDECIDED)
    same = here is not None and here.blob == account.blob
    which = "those on main" if same else "not those on main"
    return Node(
        f"last approved version: bytes {account.blob[:12]}, {which}; owner {account.owner}, "
        f"expires {account.expires}, grants {hours(account.granted)} GPU hours"
    )


def _balance(id_: AdmissionId, moment: Moment) -> Node:
    """Return its account by what main grants, else by what was approved last, run by run."""
    account, here = moment.book.accounts.get(id_), moment.catalog.admissions.get(id_)
    granted = here.grant.gpu_hours if here else account.granted if account else 0.0
    records = sorted(moment.book.records.values(), key=lambda r: (r.started_at, r.run))
    now = balance(id_, granted, records)
    text = (
        f"{hours(now.granted)} GPU hours granted, {hours(now.reserved)} set aside, "
        f"{hours(now.used)} used, {hours(now.free)} free; {counted(now.nodes, 'node')} in use"
    )
    lines = (_line(r, g) for r in records for g in r.generations if g.admission == id_)
    return Node(text, None, tuple(lines) or (Node("nothing was ever charged to it"),))


def _line(record: RunRecord, generation: Generation) -> Node:
    run, closed = record.run, generation.closed
    if closed is None:
        nodes = counted(record.nodes, "node")
        return Node(f"`{run}` holds {hours(record.reserved)} and {nodes}: {record.stage}")
    if closed.how == "released":
        return Node(f"`{run}` gave back {hours(generation.gpu_hours)}: {closed.why}")
    return Node(f"`{run}` used {hours(closed.gpu_hours)}: {closed.why}")


def _jobs(jobs: list[RepoPath], verdicts: Mapping[RepoPath, Verdict], moment: Moment) -> Node:
    """Return how each manifest stands that names it; what ran is not judged as a start."""
    ran = {(r.name, r.fingerprint): r for r in moment.book.records.values()}
    nodes = []
    for path in sorted(jobs):
        manifest, verdict = moment.catalog.manifests[path], verdicts.get(path)
        record = ran.get((manifest.name, manifest.payload.fingerprint))
        if record is not None and record.stage not in ("reserved", "released"):
            nodes.append(Node(f"`{path}`: `{record.run}`, {standing_of(record)}"))
        elif verdict is not None:
            nodes.append(Node(f"`{path}`: {because_of(verdict)}", verdict.standing))
        else:
            nodes.append(Node(f"`{path}`: not judged", Outcome.UNDECIDED))
    return Node(f"{counted(len(jobs), 'job')} on main by it", None, tuple(nodes))


def _proofs(path: RepoPath, papers: Papers, moment: Moment) -> Node:
    """Return who approved which of its versions, as proved when something was started by it."""
    blob = moment.catalog.snapshot.files.get(path)
    nodes = [
        Node(why, Outcome.UNDECIDED)
        for file, why in sorted(papers.damaged.items())
        if file.startswith(f"{PROOFS}{path}/")
    ]
    for proof in sorted(papers.proofs, key=lambda proof: proof.at, reverse=True):
        if proof.path == path:
            here = ", on main now" if blob is not None and proof.blob == blob.sha else ""
            said = approved_node(approval_of(proof).value)
            proved = f"{said.text}; proved at {minute(proof.at)} UTC{here}"
            nodes.append(Node(proved, Outcome.MET))
    if not nodes:
        return Node("the ledger has no proof that it was approved: nothing was started by it")
    return Node("approved, as the ledger has proved it", None, tuple(nodes))

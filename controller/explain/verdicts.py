"""A verdict as a tree: the documents that it is about, and each rule with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.decision.verdict import Found, Outcome, Verdict, worst
from controller.documents.owners import PLACES
from controller.documents.policy import POLICY
from controller.report.outcome import Node
from controller.report.words import counted
from controller.values import RepoPath

STANDS = {Outcome.MET: "met", Outcome.UNDECIDED: "undecided", Outcome.UNMET: "not met"}


def rules_of(verdict: Verdict, *, verbose: bool) -> Iterator[Node]:
    """Yield one node for each document that a rule points at: what is against first."""
    groups: dict[RepoPath, list[Found]] = {}
    for finding in verdict.findings:
        groups.setdefault(finding.where.path, []).append(finding)
    ordered = sorted(groups, key=lambda p: (-worst(groups[p]), p != verdict.subject, p))
    for path, findings in ((path, groups[path]) for path in ordered):
        against = [f for f in findings if f.outcome is not Outcome.MET]
        said = counted(len(findings), "rule")
        rest = (
            f", {len(against):,} of them not met or undecided" if against else ", all of them met"
        )
        text = f"{_kind(path)} `{path}`: {said}{rest}"
        yield Node(text, worst(findings), tuple(findings_of(findings, verbose=verbose)))


def findings_of(findings: Iterable[Found], *, verbose: bool) -> Iterator[Node]:
    """Yield what is against first, the worst before; what is met is counted, or told if asked."""
    ordered = sorted(findings, key=lambda finding: -finding.outcome)
    met = [f for f in ordered if f.outcome is Outcome.MET]
    for finding in ordered:
        if finding.outcome is not Outcome.MET:
            do = (Node(f"do: {finding.remedy}"),) if finding.remedy else ()
            yield Node(f"`{finding.rule}` ({finding.where}): {finding.reason}", finding.outcome, do)
    if verbose:
        yield from (Node(f"`{f.rule}`: {f.reason}", Outcome.MET) for f in met)
    elif met:
        yield Node(f"{counted(len(met), 'rule is', 'rules are')} met", Outcome.MET)


def because_of(verdict: Verdict) -> str:
    """Return how a subject stands, and the first thing against it."""
    first = next(iter(sorted(verdict.against, key=lambda f: -f.outcome)), None)
    stands = STANDS[verdict.standing]
    return f"{stands}, `{first.rule}`: {first.reason}" if first else stands


def _kind(path: RepoPath) -> str:
    if path == POLICY:
        return "policy"
    if path in PLACES:
        return "owners"
    return "admission" if path.startswith("admissions/") else "manifest"

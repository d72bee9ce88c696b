"""How one set of verdicts differs from another: which subject, by which rules, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.decision.rules import JOB_RULES
from controller.decision.verdict import Found, Outcome, Verdict
from controller.documents.catalog import Catalog
from controller.explain.verdicts import STANDS
from controller.report.outcome import Node
from controller.values import RepoPath

_Key = tuple[str, str]
"""What a rule was asked about (the admission, the job) and the rule."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One subject whose verdict differs; None: nobody judges it, or would judge it any more."""

    subject: RepoPath
    before: Outcome | None
    after: Outcome | None
    rules: tuple[str, ...]
    """One clause for each rule whose answer differs: the rule, from what to what, and why."""

    @property
    def worse(self) -> bool:
        """Whether a start is withheld for it that was not, or for more than before."""
        was = Outcome.MET if self.before is None else self.before
        return self.after is None or self.after > was

    @property
    def better(self) -> bool:
        """Whether every rule is met now, and was not before."""
        return self.after is Outcome.MET and self.before is not Outcome.MET

    @property
    def what(self) -> str:
        """From what to what."""
        return f"{_stands(self.before)} -> {_stands(self.after)}"

    @property
    def why(self) -> str:
        """Every rule that differs."""
        return "; ".join(self.rules)

    @property
    def node(self) -> Node:
        """It as a tree."""
        rules = tuple(Node(rule) for rule in self.rules)
        return Node(f"`{self.subject}`: {self.what}", self.after, rules)


def changed_verdicts(
    before: Mapping[RepoPath, Verdict], after: Mapping[RepoPath, Verdict], proposed: Catalog
) -> Iterator[Changed]:
    """Yield each subject that is judged otherwise in `after` than in `before`."""
    for subject in sorted(before.keys() | after.keys()):
        old, new = before.get(subject), after.get(subject)
        if old is None or new is None:
            was, now = (None if v is None else v.standing for v in (old, new))
            why = "there was no sound policy" if new else _gone(subject, proposed)
            yield Changed(subject, was, now, (why,))
        elif rules := tuple(_differing(old, new)):
            yield Changed(subject, old.standing, new.standing, rules)


def _stands(outcome: Outcome | None) -> str:
    return "not judged" if outcome is None else STANDS[outcome]


def _gone(subject: RepoPath, proposed: Catalog) -> str:
    if subject in proposed.broken:
        problem = proposed.broken[subject][0]
        return f"it is broken: {problem.where}: {problem.message}"
    if subject not in proposed.snapshot.files:
        return "it is removed"
    return "there is no sound policy to judge it by"


def _differing(old: Verdict, new: Verdict) -> Iterator[str]:
    was = _by_rule(old)
    for key, finding in _by_rule(new).items():
        there = was.get(key)
        if there is not None and there.outcome is not finding.outcome:
            change = f"{STANDS[there.outcome]} -> {STANDS[finding.outcome]}"
            yield f"`{finding.rule}` {change}: {finding.reason}"


def _by_rule(verdict: Verdict) -> dict[_Key, Found]:
    """Return each finding by what was asked: two rules are asked about admission and job alike."""
    if verdict.kind == "admission":
        return {("admission", f.rule): f for f in verdict.findings}
    own = len(verdict.findings) - len(JOB_RULES)
    admitted, job = verdict.findings[:own], verdict.findings[own:]
    return {
        **{("admission", f.rule): f for f in admitted},
        **{("job", f.rule): f for f in job},
    }

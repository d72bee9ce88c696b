"""What one rule answers, and what all of them together say of one subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from controller.decision.cost import Cost
from controller.decision.index import Index
from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.documents.policy import Policy
from controller.evidence.facts import Evidence
from controller.ledger.account import Balance
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, Location, RepoPath, RunName


class Outcome(IntEnum):
    """One rule's answer. The order is of severity: the worst of several is the greatest."""

    MET = 0
    UNDECIDED = 1
    UNMET = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule's answer about one subject: why, where, and what to do ('' when met)."""

    rule: str
    outcome: Outcome
    reason: str
    where: Location
    remedy: str = ""


class Document(Protocol):
    """A sound document that knows where its fields stand."""

    def locate(self, pointer: str) -> Location:
        """Return the place of a field (a JSON pointer)."""
        ...


class Met(NamedTuple):
    """The finding that a rule is met, with its place not looked up yet.

    Nearly every answer about nearly every job is this one, and hardly one of them is read: a
    tuple costs a fifth of a finding and its place.
    """

    rule: str
    reason: str
    document: Document
    pointer: str

    @property
    def outcome(self) -> Outcome:
        """It is met."""
        return Outcome.MET

    @property
    def where(self) -> Location:
        """The place of the field that the rule looked at."""
        return self.document.locate(self.pointer)

    @property
    def remedy(self) -> str:
        """Nothing is to be done."""
        return ""


Found = Finding | Met
"""One rule's answer; both kinds are read alike."""


def met(rule: str, reason: str, where: Location) -> Finding:
    """Return the finding that `rule` is met."""
    return Finding(rule, Outcome.MET, reason, where)


def unmet(rule: str, reason: str, where: Location, remedy: str) -> Finding:
    """Return the finding that `rule` is not met, and what to do."""
    return Finding(rule, Outcome.UNMET, reason, where, remedy)


def undecided(rule: str, reason: str, where: Location, remedy: str) -> Finding:
    """Return the finding that `rule` could not be decided, and what to do."""
    return Finding(rule, Outcome.UNDECIDED, reason, where, remedy)


def worst(findings: Iterable[Found]) -> Outcome:
    """Return the worst outcome; emptiness is not a yes, so none at all is UNDECIDED."""
    return max((finding.outcome for finding in findings), default=Outcome.UNDECIDED)


@dataclass(frozen=True, slots=True)
class AdmissionCase:
    """Everything the rules may look at to judge one admission."""

    admission: Admission
    policy: Policy
    catalog: Catalog
    evidence: Evidence
    index: Index


@dataclass(frozen=True, slots=True)
class JobCase:
    """Everything the rules may look at to judge one manifest.

    `admission` is None when the manifest names none, or none that is sound. `balance` and the
    nodes in it are net of `own`, this payload's own record, if it has one.
    """

    manifest: Manifest
    admission: Admission | None
    policy: Policy
    catalog: Catalog
    evidence: Evidence
    index: Index
    balance: Balance | None
    own: RunRecord | None
    cost: Cost | None
    """The worst case; None when the compute target or the time limit is not known."""


C = TypeVar("C", contravariant=True)


@dataclass(frozen=True, slots=True)
class Rule(Generic[C]):
    """One row of the table of rules. `outside`: it needs an answer that only a merge asks for."""

    id: str
    judge: Callable[[C], Finding | Met]
    outside: bool = False


@dataclass(frozen=True)
class Verdict:
    """All findings about one subject. A job's include those about its admission."""

    subject: RepoPath
    kind: Literal["job", "admission"]
    admission: AdmissionId | None
    run: RunName | None
    findings: tuple[Found, ...]
    cost: Cost | None = None

    @cached_property
    def against(self) -> tuple[Finding, ...]:
        """The findings that are not MET."""
        return tuple(
            [f for f in self.findings if type(f) is Finding and f.outcome is not Outcome.MET]
        )

    @property
    def standing(self) -> Outcome:
        """The worst outcome of its findings."""
        return worst(self.against or self.findings[:1])

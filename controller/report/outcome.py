"""One report of one command, and the one exit code that it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum
from typing import Literal

from controller.decision.actions import Keep, Withhold
from controller.decision.plan import Plan
from controller.decision.verdict import Outcome, Verdict
from controller.effects.receipts import Receipt
from controller.evidence.facts import ObservedRun
from controller.ledger.account import Balance
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, Problem, RepoPath


class ExitCode(IntEnum):
    """What a command's exit means; the same everywhere."""

    SETTLED = 0
    BUG = 1
    USAGE = 2
    INVALID = 3
    DENIED = 4
    UNDECIDED = 5
    DRIFT = 6
    INCOMPLETE = 7
    COULD_NOT_RUN = 8


_FIRST = (
    ExitCode.COULD_NOT_RUN,
    ExitCode.INVALID,
    ExitCode.DENIED,
    ExitCode.UNDECIDED,
    ExitCode.INCOMPLETE,
    ExitCode.DRIFT,
)
"""If several hold, the first of these is the exit."""


Unseen = Literal["", "not known", "vanished", "another payload"]
"""What an open run is instead of a state of the workspace, where that shows none of ours."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One recorded run as `status` shows it; `why` are the reasons for how it stands.

    `observed` is None where the workspace was not asked, and where `unseen` says what it shows
    instead. `overdue`: it was asked to end long ago and has not.
    """

    run: str
    record: RunRecord
    observed: ObservedRun | None
    why: tuple[str, ...] = ()
    unseen: Unseen = ""
    overdue: bool = False


@dataclass(frozen=True, slots=True)
class AdmissionLine:
    """One admission as `status` shows it: what the ledger has as its last approved version.

    `expires` None: nobody can say. `note` says what is odd about it.
    """

    id: AdmissionId
    owner: str
    expires: date | None
    balance: Balance
    note: str = ""


@dataclass(frozen=True, slots=True)
class WithheldLine:
    """A merged job that no pass started, since when, and a reason for each of its `rules`."""

    path: RepoPath
    since: datetime
    rules: tuple[str, ...]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """One link of the chain from a model or a run back to who approved it."""

    name: str
    outcome: Literal["held", "broken", "not checked"]
    what: str


@dataclass(frozen=True, slots=True)
class Node:
    """One sentence of an explanation, and what it rests on."""

    text: str
    outcome: Outcome | None = None
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class DriftLine:
    """One way in which the workspace differs from main."""

    subject: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one command has to say. Keys that it has nothing for are empty.

    `counting` are the subjects whose verdict decides the exit; other verdicts are only shown.
    `deferred` are the rules whose UNDECIDED findings do not count: they are asked on merge.
    `planning` says that the plan's changes are still to be done, which is drift.
    `brakes` are sentences about what was held back. `edges` are what `verify` walked, `tree` is
    what `explain` tells, `admissions` and `withheld` what `status` knows of each. `notes` are
    sentences that change no exit.
    """

    command: str
    asked_at: datetime
    commit: str = ""
    base: str = ""
    problems: tuple[Problem, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    plan: Plan | None = None
    receipts: tuple[Receipt, ...] = ()
    runs: tuple[RunLine, ...] = ()
    drift: tuple[DriftLine, ...] = ()
    brakes: tuple[str, ...] = ()
    budgets: Mapping[AdmissionId, Balance] = field(default_factory=dict)
    counting: frozenset[RepoPath] = frozenset()
    deferred: frozenset[str] = frozenset()
    planning: bool = False
    admissions: tuple[AdmissionLine, ...] = ()
    withheld: tuple[WithheldLine, ...] = ()
    edges: tuple[Edge, ...] = ()
    tree: tuple[Node, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit(self) -> ExitCode:
        """The first of everything that holds, in the order of `_FIRST`."""
        holding = set(self._holding())
        return next((code for code in _FIRST if code in holding), ExitCode.SETTLED)

    def _holding(self) -> Iterator[ExitCode]:
        if self.problems:
            yield ExitCode.INVALID
        for verdict in self.verdicts:
            if verdict.subject in self.counting:
                yield from self._against(verdict)
        if self.plan is not None:
            yield from self._planned(self.plan)
        if any(edge.outcome == "broken" for edge in self.edges):
            yield ExitCode.DENIED
        if self.brakes or any(receipt.outcome != "done" for receipt in self.receipts):
            yield ExitCode.INCOMPLETE
        if self.drift:
            yield ExitCode.DRIFT

    def _against(self, verdict: Verdict) -> Iterator[ExitCode]:
        if not verdict.findings:
            yield ExitCode.UNDECIDED
        for finding in verdict.against:
            if finding.outcome is Outcome.UNMET:
                yield ExitCode.DENIED
            elif finding.outcome is Outcome.UNDECIDED and finding.rule not in self.deferred:
                yield ExitCode.UNDECIDED

    def _planned(self, plan: Plan) -> Iterator[ExitCode]:
        for action in plan.actions:
            match action:
                case Withhold(undecided=False):
                    yield ExitCode.DENIED
                case Withhold() | Keep(undecided=True):
                    yield ExitCode.UNDECIDED
                case Keep(overdue=True):
                    yield ExitCode.INCOMPLETE
                case _:
                    pass
        if self.planning and plan.changes:
            yield ExitCode.DRIFT

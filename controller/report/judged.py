"""Which subjects a report counts, and how each of them stands once deferred rules are set apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from controller.decision.verdict import Finding, Found, Outcome, Verdict
from controller.report.outcome import ExitCode, Report


@dataclass(frozen=True, slots=True)
class Judged:
    """One verdict, its findings parted by what they mean for the exit.

    `against` are those that are not met, UNMET before UNDECIDED; `deferred` are asked on merge.
    """

    verdict: Verdict
    against: tuple[Finding, ...]
    deferred: tuple[Finding, ...]

    @property
    def met(self) -> tuple[Found, ...]:
        """The findings that are met."""
        return tuple(f for f in self.verdict.findings if f.outcome is Outcome.MET)

    @property
    def standing(self) -> Outcome:
        """The verdict's standing without what is asked on merge; no finding is not a yes."""
        if self.against:
            return self.against[0].outcome
        return Outcome.MET if self.verdict.findings else Outcome.UNDECIDED

    @property
    def waits(self) -> bool:
        """Whether all that is missing is asked on merge."""
        return self.standing is Outcome.MET and bool(self.deferred)


@dataclass(frozen=True, slots=True)
class Standings:
    """All verdicts of a report in the order of paths; `shown` ones change no exit."""

    exit: ExitCode
    counting: tuple[Judged, ...]
    shown: tuple[Judged, ...]
    against: tuple[Judged, ...]
    """Those of `counting` that are not met."""

    def number(self, outcome: Outcome) -> int:
        """Return how many counting subjects stand so."""
        return sum(judged.standing is outcome for judged in self.counting)

    def deferred(self) -> list[tuple[str, int]]:
        """Return each rule that is asked on merge, with the number of counting subjects."""
        return sorted(Counter(f.rule for j in self.counting for f in j.deferred).items())


def standings(report: Report) -> Standings:
    """Return the verdicts of `report`, sorted and parted, with its exit."""
    counting: list[Judged] = []
    shown: list[Judged] = []
    for verdict in sorted(report.verdicts, key=lambda verdict: verdict.subject):
        judged = _judged(verdict, report.deferred)
        (counting if verdict.subject in report.counting else shown).append(judged)
    against = (judged for judged in counting if judged.standing is not Outcome.MET)
    return Standings(report.exit, tuple(counting), tuple(shown), tuple(against))


def _judged(verdict: Verdict, asked_on_merge: Iterable[str]) -> Judged:
    rest = verdict.against
    if not rest:
        return Judged(verdict, (), ())
    unmet = [f for f in rest if f.outcome is Outcome.UNMET]
    open_ = [f for f in rest if f.outcome is Outcome.UNDECIDED]
    deferred = tuple(f for f in open_ if f.rule in asked_on_merge)
    decisive = tuple(f for f in open_ if f.rule not in asked_on_merge)
    return Judged(verdict, (*unmet, *decisive), deferred)

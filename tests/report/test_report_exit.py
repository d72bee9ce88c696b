"""One exit code: what each of them follows from, and which wins."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from report_samples import (
    ACTIONS,
    JOB,
    NOT_ASKED,
    NOW,
    OVER_BUDGET,
    RUN,
    UNMEASURED,
    at,
    job,
    plan_of,
    some_met,
)

from controller.decision.actions import Action, Keep, Withhold
from controller.decision.verdict import Finding
from controller.effects.receipts import Done, Receipt
from controller.report.closing import WORDS
from controller.report.outcome import DriftLine, Edge, ExitCode, Report, WithheldLine
from controller.values import Problem, RepoPath

GOOD = Report("check", NOW, verdicts=(job(*some_met(JOB, 3)),), counting=frozenset({JOB}))


def judging(*findings: Finding, deferred: str = "", counting: bool = True) -> Report:
    counted = frozenset({JOB} if counting else ())
    return replace(
        GOOD, verdicts=(job(*findings),), counting=counted, deferred=frozenset({deferred})
    )


def planning(*actions: Action, to_do: bool = True) -> Report:
    return replace(GOOD, plan=plan_of(*actions), planning=to_do)


def done(outcome: Done) -> Report:
    return replace(GOOD, receipts=(Receipt("submit", RUN, outcome, ""),))


WITHHELD = Withhold(RepoPath("jobs/x.yml"), None, "expired")
WAITING = Withhold(RepoPath("jobs/x.yml"), None, "not asked", undecided=True)
PROBLEM = Problem("unknown-field", at(JOB, 3, 1), "no", "yes")

CASES = {
    "everything is met": (GOOD, ExitCode.SETTLED),
    "nothing was judged": (Report("status", NOW), ExitCode.SETTLED),
    "a document is broken": (replace(GOOD, problems=(PROBLEM,)), ExitCode.INVALID),
    "a rule is not met": (judging(OVER_BUDGET), ExitCode.DENIED),
    "a rule is not met, and not counted": (
        judging(OVER_BUDGET, counting=False),
        ExitCode.SETTLED,
    ),
    "an unmet rule that would be deferred": (
        judging(OVER_BUDGET, deferred="gpu-budget"),
        ExitCode.DENIED,
    ),
    "a rule is undecided": (judging(UNMEASURED), ExitCode.UNDECIDED),
    "a rule is asked on merge": (
        judging(NOT_ASKED, deferred="owner-approval"),
        ExitCode.SETTLED,
    ),
    "no rule was asked": (judging(), ExitCode.UNDECIDED),
    "a merged job is withheld": (planning(WITHHELD), ExitCode.DENIED),
    "a start waits for an answer": (planning(WAITING), ExitCode.UNDECIDED),
    "a run is kept in doubt": (
        planning(Keep(RUN, "no answer", undecided=True)),
        ExitCode.UNDECIDED,
    ),
    "a run is kept": (planning(Keep(RUN, "Running")), ExitCode.SETTLED),
    "a run was asked to end long ago": (
        planning(Keep(RUN, "CancelRequested", overdue=True)),
        ExitCode.INCOMPLETE,
    ),
    "an edge is broken": (
        replace(GOOD, edges=(Edge("a", "held", ""), Edge("b", "broken", ""))),
        ExitCode.DENIED,
    ),
    "an edge was not checked": (
        replace(GOOD, edges=(Edge("a", "not checked", ""),)),
        ExitCode.SETTLED,
    ),
    "there is a note, and a job that an earlier pass withheld": (
        replace(GOOD, notes=("x",), withheld=(WithheldLine(JOB, NOW, (), ("x",)),)),
        ExitCode.SETTLED,
    ),
    "a change is to be done": (planning(ACTIONS[3]), ExitCode.DRIFT),
    "a change was planned and done": (planning(ACTIONS[3], to_do=False), ExitCode.SETTLED),
    "the workspace differs": (replace(GOOD, drift=(DriftLine("x", "orphan", ""),)), ExitCode.DRIFT),
    "an action was done": (done("done"), ExitCode.SETTLED),
    "an action failed": (done("failed"), ExitCode.INCOMPLETE),
    "an action was held": (done("held"), ExitCode.INCOMPLETE),
    "a brake held": (replace(GOOD, brakes=("too many",)), ExitCode.INCOMPLETE),
}


@pytest.mark.parametrize("case", CASES)
def test_the_exit_of_a_report_in_which(case: str) -> None:
    report, expected = CASES[case]
    assert report.exit is expected


HOLDING: dict[ExitCode, Report] = {
    ExitCode.INVALID: replace(GOOD, problems=(PROBLEM,)),
    ExitCode.DENIED: replace(GOOD, verdicts=(job(OVER_BUDGET),)),
    ExitCode.UNDECIDED: planning(WAITING, to_do=False),
    ExitCode.INCOMPLETE: replace(GOOD, brakes=("too many",)),
    ExitCode.DRIFT: replace(GOOD, drift=(DriftLine("x", "orphan", ""),)),
}
"""One report for each code, in the order in which they win: 3 4 5 7 6 (8 is an exception)."""


def together(first: Report, second: Report) -> Report:
    return replace(
        first,
        problems=first.problems + second.problems,
        verdicts=first.verdicts if first.verdicts != GOOD.verdicts else second.verdicts,
        plan=first.plan or second.plan,
        brakes=first.brakes + second.brakes,
        drift=first.drift + second.drift,
    )


@pytest.mark.parametrize(("first", "second"), list(combinations(HOLDING, 2)))
def test_of_two_that_hold_the_earlier_of_3_4_5_7_6_wins(first: ExitCode, second: ExitCode) -> None:
    assert [int(code) for code in HOLDING] == [3, 4, 5, 7, 6]
    assert HOLDING[second].exit is second
    assert together(HOLDING[first], HOLDING[second]).exit is first
    assert together(HOLDING[second], HOLDING[first]).exit is first


def test_every_exit_has_words_of_its_own() -> None:
    assert set(WORDS) == set(ExitCode)
    assert len(set(WORDS.values())) == len(ExitCode)
    assert [int(code) for code in ExitCode] == list(range(9))

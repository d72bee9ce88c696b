"""The one sentence that says what a report's exit means."""

from __future__ import annotations

from collections.abc import Iterator

from controller.decision.actions import Keep, Withhold
from controller.decision.verdict import Outcome
from controller.report.judged import Standings
from controller.report.outcome import ExitCode, Report
from controller.report.words import brakes, counted, together

WORDS: dict[ExitCode, str] = {
    ExitCode.SETTLED: "settled",
    ExitCode.BUG: "a bug",
    ExitCode.USAGE: "wrong arguments",
    ExitCode.INVALID: "invalid",
    ExitCode.DENIED: "denied",
    ExitCode.UNDECIDED: "undecided",
    ExitCode.DRIFT: "drift",
    ExitCode.INCOMPLETE: "incomplete",
    ExitCode.COULD_NOT_RUN: "could not run",
}
"""Every exit in the words that a person reads, also where an exception ended the command."""


def closing(report: Report, judged: Standings) -> str:
    """Return `denied: 1 of 3 subjects does not meet its rules (exit 4)`."""
    said = ", ".join(_said(report, judged))
    number = f"(exit {judged.exit:d})" if judged.exit else ""
    return f"{WORDS[judged.exit]}: {said} {number}".rstrip()


def _said(report: Report, judged: Standings) -> Iterator[str]:
    match judged.exit:
        case ExitCode.INVALID:
            return _invalid(report)
        case ExitCode.DENIED:
            return _denied(report, judged)
        case ExitCode.UNDECIDED:
            return _undecided(report, judged)
        case ExitCode.INCOMPLETE:
            return _incomplete(report)
        case ExitCode.DRIFT:
            return _drift(report)
        case _:  # the others come from exceptions, which have a message of their own
            return _settled(report, judged)


def _settled(report: Report, judged: Standings) -> Iterator[str]:
    match report.command:
        case "status":
            return _surveyed(report)
        case "verify":
            return _walked(report)
        case "explain":
            return _told(report)
        case "stop":
            return _stopped(report)
        case _:
            return _done(report, judged)


def _surveyed(report: Report) -> Iterator[str]:
    if report.admissions:
        yield counted(len(report.admissions), "admission")
    if report.runs:
        active = sum(line.record.active for line in report.runs)
        yield f"{counted(len(report.runs), 'run')}, {active:,} active"
    if number := len(report.withheld):
        yield counted(number, "merged job is withheld", "merged jobs are withheld")
    if not (report.admissions or report.runs or report.withheld):
        yield "no admission and no run yet"


def _walked(report: Report) -> Iterator[str]:
    outcomes = [edge.outcome for edge in report.edges]
    if held := outcomes.count("held"):
        one = "the one edge that was checked holds"
        yield one if held == 1 else f"all {held:,} edges that were checked hold"
    else:
        yield "no edge was checked"
    if held and (number := outcomes.count("not checked")):
        yield counted(number, "was not checked", "were not checked")


def _told(report: Report) -> Iterator[str]:
    simulated = bool(report.base)
    yield (
        "no verdict would change, and no run would be cancelled"
        if simulated
        else "told from git and the ledger, nobody else was asked"
    )


def _stopped(report: Report) -> Iterator[str]:
    number = sum(receipt.action == "stop" for receipt in report.receipts)
    yield counted(number, "run is stopped", "runs are stopped") if number else "nothing to stop"


def _done(report: Report, judged: Standings) -> Iterator[str]:
    kinds = [verdict.kind for verdict in report.verdicts]
    seen = [counted(kinds.count(k), k) for k in ("job", "admission") if k in kinds]
    if seen:
        yield f"{together(seen)} judged"
    actions = () if report.plan is None else report.plan.actions
    if kept := sum(isinstance(action, Keep) for action in actions):
        yield f"{counted(kept, 'run')} kept"
    waiting = () if report.plan is None or report.receipts else report.plan.changes
    if waiting:
        yield f"{counted(len(waiting), 'change')} would follow"
    if report.receipts:
        yield f"{counted(len(report.receipts), 'action')} done"
    elif report.command == "check" and seen and not actions:
        failing = sum(j.standing is not Outcome.MET for j in judged.shown)
        others = counted(failing, "subject that does not count", "subjects that do not count")
        yield f"rules are against {others}" if failing else "no rule is against it"
    elif not waiting:
        yield "nothing to do"


def _invalid(report: Report) -> Iterator[str]:
    files = {problem.where.path for problem in report.problems}
    yield f"{counted(len(report.problems), 'problem')} in {counted(len(files), 'file')}"


def _denied(report: Report, judged: Standings) -> Iterator[str]:
    if unmet := judged.number(Outcome.UNMET):
        subjects = counted(len(judged.counting), "subject")
        rest = "does not meet its rules" if unmet == 1 else "do not meet their rules"
        yield f"{unmet:,} of {subjects} {rest}"
    if broken := sum(edge.outcome == "broken" for edge in report.edges):
        rest = "is broken" if broken == 1 else "are broken"
        yield f"{broken:,} of {counted(len(report.edges), 'edge')} {rest}"
    if withheld := _withheld(report, undecided=False):
        yield counted(withheld, "merged job is withheld", "merged jobs are withheld")


def _undecided(report: Report, judged: Standings) -> Iterator[str]:
    if doubtful := judged.number(Outcome.UNDECIDED):
        yield f"{doubtful:,} of {counted(len(judged.counting), 'subject')} could not be decided"
    if waiting := _withheld(report, undecided=True):
        yield counted(waiting, "start waits for an answer", "starts wait for an answer")
    actions = () if report.plan is None else report.plan.actions
    if kept := sum(isinstance(action, Keep) and action.undecided for action in actions):
        yield counted(kept, "run is kept in doubt", "runs are kept in doubt")


def _drift(report: Report) -> Iterator[str]:
    changes = report.plan.changes if report.plan is not None and report.planning else ()
    if changes:
        yield counted(len(changes), "change is to be done", "changes are to be done")
    if report.drift and report.command == "explain":
        yield f"{counted(len(report.drift), 'thing')} would change if it were merged"
    elif report.drift:
        yield f"{counted(len(report.drift), 'difference')} from main"


def _incomplete(report: Report) -> Iterator[str]:
    outcomes = [receipt.outcome for receipt in report.receipts]
    if report.command == "stop":
        yield from _not_stopped(report)
    elif failed := outcomes.count("failed"):
        yield f"{counted(failed, 'action')} failed"
    actions = () if report.plan is None else report.plan.actions
    if late := sum(isinstance(action, Keep) and action.overdue for action in actions):
        one = "run was asked to end long ago and has not"
        yield counted(late, one, "runs were asked to end long ago and have not")
    if held := outcomes.count("held"):
        yield counted(held, "action was held back", "actions were held back")
    if pulled := len(brakes(report)):
        yield counted(pulled, "brake holds", "brakes hold")


def _not_stopped(report: Report) -> Iterator[str]:
    outcomes = [r.outcome for r in report.receipts if r.action == "stop"]
    failed = {r.action for r in report.receipts if r.outcome == "failed"}
    if number := outcomes.count("failed"):
        yield f"{number:,} of {counted(len(outcomes), 'run')} could not be stopped"
    if "list" in failed:
        yield "what else there is could not be asked"
    if "record" in failed:
        yield "it is not recorded"


def _withheld(report: Report, *, undecided: bool) -> int:
    actions = () if report.plan is None else report.plan.actions
    return sum(isinstance(a, Withhold) and a.undecided is undecided for a in actions)

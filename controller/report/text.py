"""The report as a person reads it in a terminal: what is wrong first, one closing line last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.decision.actions import Action, Keep, Withhold
from controller.decision.plan import kind_of
from controller.decision.verdict import Found, Outcome
from controller.report import sections, words
from controller.report.closing import WORDS, closing
from controller.report.judged import Judged, Standings, standings
from controller.report.outcome import ExitCode, Report
from controller.report.page import BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW, Page, Span, aligned
from controller.report.sections import MARKS
from controller.values import Location, RepoPath, by_place, listed

_VERBS = {
    "submit": GREEN,
    "apply-schedule": GREEN,
    "cancel": RED,
    "delete-schedule": RED,
    "disable-schedule": RED,
    "withhold": YELLOW,
    "keep": DIM,
}
_RECEIPTS = {"done": GREEN, "failed": RED, "held": YELLOW}
_EXITS = {ExitCode.SETTLED: GREEN, ExitCode.UNDECIDED: YELLOW, ExitCode.DRIFT: YELLOW}
_BAR = 20
_NAMED = 3
"""Subjects named before the rest is only counted."""


def render(report: Report, *, colour: bool, width: int, verbose: bool = False) -> str:
    """Return `report` for a terminal of `width` columns, with a newline at the end.

    Met rules are counted, and listed only when `verbose`; so are the runs that a plan keeps.
    """
    page = Page(colour=colour, width=width)
    judged = standings(report)
    parts = (
        _problems(page, report),
        *(_verdict(page, subject, verbose=verbose) for subject in _listed(judged, verbose=verbose)),
        _starts(page, report, judged),
        _notes(page, judged, verbose=verbose),
        _plan(page, report, judged, verbose=verbose),
        _receipts(page, report),
        sections.walked(page, report.edges),
        *(sections.told(page, node) for node in report.tree),
        sections.surveyed(page, report),
        sections.withheld(page, report),
        () if _all_is_well(report, judged) and not verbose else _budgets(page, report),
        _drift(page, report),
        sections.noted(page, report.notes),
        _brakes(page, report),
        _closing(page, report, judged),
    )
    return "\n\n".join(text for part in parts if (text := "\n".join(part))) + "\n"


def _all_is_well(report: Report, judged: Standings) -> bool:
    """Whether this judged something, and has nothing to show for it but that it is met."""
    quiet = judged.exit is ExitCode.SETTLED and not (report.receipts or report.runs)
    return quiet and bool(report.verdicts)


def _problems(page: Page, report: Report) -> Iterator[str]:
    for problem in by_place(report.problems):
        lead = [(BOLD, f"{_place(problem.where)}: "), (RED, f"{problem.code}: ")]
        yield from page.row(lead, problem.message, hang=2)
        if problem.remedy:
            yield from page.row([(DIM, "  fix: ")], problem.remedy)


def _place(where: Location) -> str:
    return f"{where}:{where.column}" if where.line and where.column else str(where)


def _listed(judged: Standings, *, verbose: bool) -> Iterable[Judged]:
    return (*judged.counting, *judged.shown) if verbose else judged.against


def _verdict(page: Page, judged: Judged, *, verbose: bool) -> Iterator[str]:
    verdict = judged.verdict
    title: list[Span] = [(BOLD, verdict.subject)]
    if verdict.run is not None:
        title.append((PLAIN, f"  {verdict.run}"))
    if verdict.cost is not None:
        hours = words.hours(verdict.cost.gpu_hours)
        title.append((DIM, f"  {hours} GPU hours, {words.money(verdict.cost)}"))
    yield page.line(*title)
    for finding in judged.against:
        yield from _finding(page, finding)
    if not verdict.findings:
        yield page.line((YELLOW, "  ? "), (PLAIN, "no rule was asked"))
    if verbose:
        for finding in judged.deferred:
            yield from page.row(
                [(DIM, f"  · {finding.rule}  ")], f"asked on merge: {finding.reason}"
            )
        for held in judged.met:
            yield from page.row(_rule(held), held.reason)
    elif judged.met:
        yield page.line((DIM, f"  {words.counted(len(judged.met), 'rule')} met"))


def _finding(page: Page, finding: Found) -> Iterator[str]:
    yield from page.row(_rule(finding), finding.reason)
    if finding.where.path:
        yield page.line((DIM, "      at "), (CYAN, str(finding.where)))
    if finding.remedy:
        yield from page.row([(DIM, "      do: ")], finding.remedy)


def _rule(finding: Found) -> list[Span]:
    style, mark = MARKS[finding.outcome]
    return [(style, f"  {mark} {finding.rule}  ")]


def _starts(page: Page, report: Report, judged: Standings) -> Iterator[str]:
    """What merging a proposal would start, as far as nothing is against it."""
    if report.command != "check":
        return
    ready = [j.verdict for j in judged.counting if j.standing is Outcome.MET and j.verdict.cost]
    for verdict in ready[:_NAMED]:
        if verdict.cost is not None:
            hours, price = words.hours(verdict.cost.gpu_hours), words.money(verdict.cost)
            text = f"merging this would start {verdict.run}: {hours} GPU hours, {price} at most"
            yield from page.row([(DIM, "· ")], text)
    if len(ready) > _NAMED:
        yield page.line((DIM, "· "), (PLAIN, f"and {len(ready) - _NAMED:,} more"))


def _notes(page: Page, judged: Standings, *, verbose: bool) -> Iterator[str]:
    """What a reader may want to know of the subjects that have no section of their own."""
    met = judged.number(Outcome.MET)
    if judged.against and met and not verbose:
        others = words.counted(met, "other subject meets its", "other subjects meet their")
        yield page.line((GREEN, "✓ "), (PLAIN, f"{others} rules"))
    if deferred := judged.deferred():
        rules = ", ".join(f"{rule} ({number:,})" for rule, number in deferred)
        yield from page.row([(DIM, "· ")], f"asked on merge: {rules}")
    failing = [j.verdict.subject for j in judged.shown if j.standing is not Outcome.MET]
    if judged.counting and failing and not verbose:
        more = f" and {len(failing) - _NAMED:,} more" if len(failing) > _NAMED else ""
        text = f"not met, and not counted: {', '.join(failing[:_NAMED])}{more}"
        yield from page.row([(DIM, "· ")], text)


def _plan(page: Page, report: Report, judged: Standings, *, verbose: bool) -> Iterator[str]:
    plan = report.plan
    if plan is None:
        return
    shown = [action for action in plan.actions if verbose or not _quiet(action)]
    if not shown:
        return
    yield from page.row([(BOLD, "plan ")], f"for {plan.workspace} {plan.digest}", hang=2)
    told = {j.verdict.subject for j in judged.against}
    kinds = [kind_of(action) for action in shown]
    verbs, names = aligned(kinds), aligned(map(words.subject, shown))
    for action, kind, verb, name in zip(shown, kinds, verbs, names, strict=True):
        lead = [(_style(action, kind), f"  {verb}  "), (PLAIN, f"{name}  ")]
        yield from page.rows(lead, _why(action, told))
    if len(shown) < len(plan.actions):
        kept = words.counted(len(plan.actions) - len(shown), "run")
        yield page.line((DIM, f"  {'keep':<{len(verbs[0])}}  {kept} as before"))


def _quiet(action: Action) -> bool:
    """Whether nobody has to look at it: a run that simply goes on."""
    return isinstance(action, Keep) and not (action.undecided or action.overdue)


def _style(action: Action, kind: str) -> str:
    overdue = isinstance(action, Keep) and action.overdue
    return RED if overdue else _VERBS.get(kind, PLAIN)


def _why(action: Action, told: set[RepoPath]) -> tuple[str, ...]:
    """Return the reasons; for what was told in full above, only the names of its rules."""
    if isinstance(action, Withhold) and action.path in told and action.findings:
        return (f"{listed(action.findings)}, as above",)
    return words.reasons(action)


def _receipts(page: Page, report: Report) -> Iterator[str]:
    if report.receipts:
        yield page.line((BOLD, "receipts"))
    verbs, names = (
        aligned(r.action for r in report.receipts),
        aligned(r.run for r in report.receipts),
    )
    for receipt, verb, name in zip(report.receipts, verbs, names, strict=True):
        outcome = (_RECEIPTS[receipt.outcome], f"  {receipt.outcome:<6}  ")
        yield from page.row([outcome, (PLAIN, f"{verb}  {name}  ")], receipt.detail)


def _budgets(page: Page, report: Report) -> Iterator[str]:
    if not report.budgets or report.admissions:  # these show the same amounts
        return
    rows = []
    for id_, balance in sorted(report.budgets.items()):
        numbers = (balance.granted, balance.reserved, balance.used, balance.free)
        bar = _bar(balance.granted, balance.used, balance.reserved)
        rows.append((id_, *map(words.hours, numbers), bar))
    yield page.line((BOLD, "budgets"), (DIM, " in GPU hours"))
    head = ("admission", "granted", "reserved", "used", "free", "")
    yield from page.table(head, rows, right={1, 2, 3, 4})


def _bar(granted: float, used: float, reserved: float) -> str:
    """Return what is used, set aside and free as one bar; full when overspent."""
    whole = max(granted, used + reserved)
    if not whole:
        return "░" * _BAR
    solid = round(_BAR * used / whole)
    taken = round(_BAR * (used + reserved) / whole)
    return "█" * solid + "▒" * (taken - solid) + "░" * (_BAR - taken)


def _drift(page: Page, report: Report) -> Iterator[str]:
    if report.drift:
        yield page.line((BOLD, "drift"))
    lines = sorted(report.drift, key=lambda line: (line.subject, line.what, line.why))
    for line, name in zip(lines, aligned(line.subject for line in lines), strict=True):
        lead = [(YELLOW, "  ~ "), (PLAIN, f"{name}  ")]
        yield from page.row(lead, words.told(line.what, line.why))


def _brakes(page: Page, report: Report) -> Iterator[str]:
    for sentence in words.brakes(report):
        yield from page.row([(YELLOW, "brake: ")], sentence, hang=2)


def _closing(page: Page, report: Report, judged: Standings) -> Iterator[str]:
    word = WORDS[judged.exit]
    lead = [(_EXITS.get(judged.exit, RED), word)]
    yield from page.row(lead, closing(report, judged).removeprefix(word), hang=2)

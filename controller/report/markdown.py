"""The report as a comment on a pull request: bounded, and dead to mentions, links and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from controller.decision.plan import kind_of
from controller.decision.verdict import Found, Outcome
from controller.report import words
from controller.report.closing import closing
from controller.report.judged import Judged, Standings, standings
from controller.report.outcome import Report
from controller.report.safe import code, inline
from controller.values import by_place

MOST = 60_000
"""Characters of the whole comment; GitHub takes 65,536."""
_FOR_THE_CUT = 1_000
_MARKS = {Outcome.MET: "✓", Outcome.UNDECIDED: "?", Outcome.UNMET: "✗"}
_STANDINGS = {Outcome.MET: "met", Outcome.UNDECIDED: "undecided", Outcome.UNMET: "not met"}


@dataclass(frozen=True, slots=True)
class _Section:
    """Rows between a head and a tail. Those of the lowest `rank` get room first.

    No line begins with echoed text: there a digit, a dash or four spaces would be markup.
    """

    rank: int
    noun: str
    total: int
    head: str
    rows: Iterable[str] = field(repr=False)
    tail: str = ""


def render(report: Report) -> str:
    """Return `report` as GitHub Markdown of at most `MOST` characters, and says what it cut."""
    judged = standings(report)
    sections = [section for section in _sections(report, judged) if section.total]
    headline = _headline(report, judged)
    kept = _fitting(sections, MOST - _FOR_THE_CUT - len(headline))
    blocks = [headline]
    for section, rows in zip(sections, kept, strict=True):
        if rows:
            blocks.append(f"{section.head}{''.join(rows)}{section.tail}")
    if cut := _cut(sections, kept):
        blocks.append(f"Cut to {MOST:,} characters: {cut}; `--format text` prints all.\n")
    return "\n".join(blocks)


def _headline(report: Report, judged: Standings) -> str:
    mark = "✓" if not judged.exit else "✗"
    revisions = (("of", report.commit), ("against", report.base))
    facts = [code(f"admit {report.command}")]
    facts += [f"{what} {code(revision)}" for what, revision in revisions if revision]
    facts.append(f"asked at {words.utc(report.asked_at)}")
    return f"### {mark} {closing(report, judged)}\n\n{', '.join(facts)}\n"


def _fitting(sections: Sequence[_Section], room: int) -> list[list[str]]:
    """Return the rows of each section for which there is room, in the order of ranks."""
    room -= sum(len(section.head) + len(section.tail) + 1 for section in sections)
    kept: list[list[str]] = [[] for _ in sections]
    for at in sorted(range(len(sections)), key=lambda at: sections[at].rank):
        for row in sections[at].rows:
            if len(row) > room:
                break
            room -= len(row)
            kept[at].append(row)
    return kept


def _cut(sections: Sequence[_Section], kept: Sequence[Sequence[str]]) -> str:
    missing = [
        f"{section.total - len(rows):,} of {section.total:,} {section.noun}"
        for section, rows in zip(sections, kept, strict=True)
        if len(rows) < section.total
    ]
    return f"{words.together(missing)} are not shown" if missing else ""


def _sections(report: Report, judged: Standings) -> Iterator[_Section]:
    brakes, against, deferred = words.brakes(report), judged.against, judged.deferred()
    yield _Section(0, "brakes", len(brakes), "", (f"- brake: {inline(b)}\n" for b in brakes))
    head = "#### Problems\n\n"
    yield _Section(0, "problems", len(report.problems), head, _problems(report))
    yield _subjects(judged)
    number = sum(max(1, len(j.against)) for j in against)
    yield _Section(1, "findings", number, "#### What is not met\n\n", _against(against))
    asked = "; ".join(f"{code(rule)} of {words.counted(n, 'subject')}" for rule, n in deferred)
    yield _Section(1, "notes", len(deferred) and 1, "", (f"Asked on merge: {asked}.\n",))
    yield _met((*judged.counting, *judged.shown))
    yield _plan(report)
    yield from _lists(report)


def _problems(report: Report) -> Iterator[str]:
    for problem in by_place(report.problems):
        remedy = f"\n  **Fix:** {inline(problem.remedy)}" if problem.remedy else ""
        place = code(str(problem.where))
        yield f"- ✗ {code(problem.code)} at {place}: {inline(problem.message)}{remedy}\n"


def _subjects(judged: Standings) -> _Section:
    counting = [(subject, "") for subject in judged.counting]
    shown = [(subject, ", not counted") for subject in judged.shown]
    rows = sorted((*counting, *shown), key=lambda row: -row[0].standing)
    lines = (_subject(subject, note) for subject, note in rows)
    head = _table("subject", "standing", "run", "GPU hours", "price", right=("GPU hours", "price"))
    return _Section(4, "subjects", len(rows), head, lines)


def _subject(judged: Judged, note: str) -> str:
    verdict, cost = judged.verdict, judged.verdict.cost
    waits = ", rest asked on merge" if judged.waits else ""
    standing = f"{_MARKS[judged.standing]} {_STANDINGS[judged.standing]}{waits}{note}"
    price = inline(words.money(cost)) if cost else ""
    hours = words.hours(cost.gpu_hours) if cost else ""
    return _cells(code(verdict.subject), standing, code(verdict.run or ""), hours, price)


def _against(against: Iterable[Judged]) -> Iterator[str]:
    for judged in against:
        subject = judged.verdict.subject
        for finding in judged.against:
            yield _finding(subject, finding)
        if not judged.against:
            yield f"- ? {code(subject)}: no rule was asked\n"


def _finding(subject: str, finding: Found) -> str:
    owner = f" for {code(subject)}" if finding.where.path != subject else ""
    remedy = f"\n  **Do:** {inline(finding.remedy)}" if finding.remedy else ""
    place = f" at {code(str(finding.where))}" if finding.where.path else ""
    rule = f"{_MARKS[finding.outcome]} {code(finding.rule)}"
    return f"- {rule}{place}{owner}: {inline(finding.reason)}{remedy}\n"


def _plan(report: Report) -> _Section:
    plan = report.plan
    if plan is None:
        return _Section(2, "actions", 0, "", ())
    title = f"#### Plan\n\n{code(plan.digest)} for {code(plan.workspace)}\n\n"
    rows = (
        _cells(kind_of(action), code(words.subject(action)), inline(words.because(action)))
        for action in plan.actions
    )
    head = title + _table("action", "run", "why")
    return _Section(2, "actions", len(plan.actions), head, rows)


def _lists(report: Report) -> Iterator[_Section]:
    receipts = report.receipts
    rows = (_cells(r.outcome, code(r.action), code(r.run), inline(r.detail)) for r in receipts)
    head = "#### Receipts\n\n" + _table("outcome", "action", "run", "detail")
    yield _Section(2, "receipts", len(receipts), head, rows)
    drift = sorted(report.drift, key=lambda line: (line.subject, line.what, line.why))
    rows = (f"- ≠ {code(d.subject)}: {inline(words.told(d.what, d.why))}\n" for d in drift)
    yield _Section(2, "differences", len(drift), "#### Drift\n\n", rows)
    yield _Section(3, "runs", len(report.runs), _RUNS, _runs(report))
    yield _Section(3, "budgets", len(report.budgets), _BUDGETS, _budgets(report))


def _runs(report: Report) -> Iterator[str]:
    for line in sorted(report.runs, key=lambda line: line.run):
        record = line.record
        hours = ("≤ " if record.active else "") + words.hours(record.charged)
        shape, since = f"{record.nodes} × {record.gpus_per_node}", words.utc(words.since(line))
        yield _cells(code(line.run), inline(words.state(line)), shape, hours, since)


def _budgets(report: Report) -> Iterator[str]:
    for id_, balance in sorted(report.budgets.items()):
        numbers = (balance.granted, balance.reserved, balance.used, balance.free)
        yield _cells(code(id_), *map(words.hours, numbers))


def _met(subjects: Iterable[Judged]) -> _Section:
    known = [judged for judged in subjects if judged.met]
    total = sum(len(judged.met) for judged in known)
    head = f"<details><summary>{words.counted(total, 'rule')} met</summary>\n\n"
    rows = (
        f"- ✓ {code(finding.rule)} of {code(judged.verdict.subject)}: {inline(finding.reason)}\n"
        for judged in known
        for finding in judged.met
    )
    return _Section(9, "met rules", total, head, rows, "\n</details>\n")


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _table(*names: str, right: Sequence[str] = ()) -> str:
    return _cells(*names) + _cells(*("--:" if name in right else "---" for name in names))


_NUMBERS = ("nodes × GPUs", "GPU hours", "granted", "reserved", "used", "free")
_RUNS = "#### Runs\n\n" + _table("run", "state", *_NUMBERS[:2], "since", right=_NUMBERS)
_BUDGETS = "#### Budgets in GPU hours\n\n" + _table("admission", *_NUMBERS[2:], right=_NUMBERS)

"""The report as a comment on a pull request: bounded, and dead to mentions, links and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from controller.decision.plan import kind_of
from controller.decision.verdict import Found, Outcome
from controller.report import words
from controller.report.closing import closing
from controller.report.judged import Judged, Standings, standings
from controller.report.markdown_lists import MARKS, Section, cells, lists, table
from controller.report.outcome import Report
from controller.report.safe import code, inline
from controller.values import by_place

MOST = 60_000
"""Characters of the whole comment; GitHub takes 65,536."""
_FOR_THE_CUT = 1_000
_STANDINGS = {Outcome.MET: "met", Outcome.UNDECIDED: "undecided", Outcome.UNMET: "not met"}


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


def _fitting(sections: Sequence[Section], room: int) -> list[list[str]]:
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


def _cut(sections: Sequence[Section], kept: Sequence[Sequence[str]]) -> str:
    missing = [
        f"{section.total - len(rows):,} of {section.total:,} {section.noun}"
        for section, rows in zip(sections, kept, strict=True)
        if len(rows) < section.total
    ]
    return f"{words.together(missing)} are not shown" if missing else ""


def _sections(report: Report, judged: Standings) -> Iterator[Section]:
    brakes, against, deferred = words.brakes(report), judged.against, judged.deferred()
    yield Section(0, "brakes", len(brakes), "", (f"- brake: {inline(b)}\n" for b in brakes))
    head = "#### Problems\n\n"
    yield Section(0, "problems", len(report.problems), head, _problems(report))
    yield _subjects(judged)
    number = sum(max(1, len(j.against)) for j in against)
    yield Section(1, "findings", number, "#### What is not met\n\n", _against(against))
    asked = "; ".join(f"{code(rule)} of {words.counted(n, 'subject')}" for rule, n in deferred)
    yield Section(1, "notes", len(deferred) and 1, "", (f"Asked on merge: {asked}.\n",))
    yield _met((*judged.counting, *judged.shown))
    yield _plan(report)
    yield from lists(report)


def _problems(report: Report) -> Iterator[str]:
    for problem in by_place(report.problems):
        remedy = f"\n  **Fix:** {inline(problem.remedy)}" if problem.remedy else ""
        place = code(str(problem.where))
        yield f"- ✗ {code(problem.code)} at {place}: {inline(problem.message)}{remedy}\n"


def _subjects(judged: Standings) -> Section:
    counting = [(subject, "") for subject in judged.counting]
    shown = [(subject, ", not counted") for subject in judged.shown]
    rows = sorted((*counting, *shown), key=lambda row: -row[0].standing)
    lines = (_subject(subject, note) for subject, note in rows)
    head = table("subject", "standing", "run", "GPU hours", "price", right=("GPU hours", "price"))
    return Section(4, "subjects", len(rows), head, lines)


def _subject(judged: Judged, note: str) -> str:
    verdict, cost = judged.verdict, judged.verdict.cost
    waits = ", rest asked on merge" if judged.waits else ""
    standing = f"{MARKS[judged.standing]} {_STANDINGS[judged.standing]}{waits}{note}"
    price = inline(words.money(cost)) if cost else ""
    hours = words.hours(cost.gpu_hours) if cost else ""
    return cells(code(verdict.subject), standing, code(verdict.run or ""), hours, price)


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
    rule = f"{MARKS[finding.outcome]} {code(finding.rule)}"
    return f"- {rule}{place}{owner}: {inline(finding.reason)}{remedy}\n"


def _plan(report: Report) -> Section:
    plan = report.plan
    if plan is None:
        return Section(2, "actions", 0, "", ())
    title = f"#### Plan\n\n{code(plan.digest)} for {code(plan.workspace)}\n\n"
    rows = (
        cells(kind_of(action), code(words.subject(action)), inline(words.because(action)))
        for action in plan.actions
    )
    head = title + table("action", "run", "why")
    return Section(2, "actions", len(plan.actions), head, rows)


def _met(subjects: Iterable[Judged]) -> Section:
    known = [judged for judged in subjects if judged.met]
    total = sum(len(judged.met) for judged in known)
    head = f"<details><summary>{words.counted(total, 'rule')} met</summary>\n\n"
    rows = (
        f"- ✓ {code(finding.rule)} of {code(judged.verdict.subject)}: {inline(finding.reason)}\n"
        for judged in known
        for finding in judged.met
    )
    return Section(9, "met rules", total, head, rows, "\n</details>\n")

"""The lists and tables of a report that are no verdicts, as parts of a Markdown comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from controller.decision.verdict import Outcome
from controller.report import words
from controller.report.grouped import groups
from controller.report.outcome import AdmissionLine, Node, Report, RunLine
from controller.report.safe import code, inline

MARKS = {Outcome.MET: "✓", Outcome.UNDECIDED: "?", Outcome.UNMET: "✗"}
_EDGES = {"held": "✓", "broken": "✗", "not checked": "·"}
_NUMBERS = ("nodes × GPUs", "GPU hours", "granted", "reserved", "used", "free")


@dataclass(frozen=True, slots=True)
class Section:
    """Rows between a head and a tail. Those of the lowest `rank` get room first.

    No line begins with echoed text: there a digit, a dash or four spaces would be markup.
    """

    rank: int
    noun: str
    total: int
    head: str
    rows: Iterable[str] = field(repr=False)
    tail: str = ""


def cells(*texts: str) -> str:
    """Return one row of a table."""
    return f"| {' | '.join(texts)} |\n"


def table(*names: str, right: Sequence[str] = ()) -> str:
    """Return the head of a table; the columns in `right` are flush right."""
    return cells(*names) + cells(*("--:" if name in right else "---" for name in names))


def lists(report: Report) -> Iterator[Section]:
    """Yield what was done, walked, told and found, in the order of the page."""
    receipts = report.receipts
    rows = (cells(r.outcome, code(r.action), code(r.run), inline(r.detail)) for r in receipts)
    head = "#### Receipts\n\n" + table("outcome", "action", "run", "detail")
    yield Section(2, "receipts", len(receipts), head, rows)
    edges = report.edges
    rows = (
        f"- {_EDGES[e.outcome]} {inline(e.name)}, {e.outcome}: {inline(e.what)}\n" for e in edges
    )
    yield Section(1, "edges", len(edges), "#### Edges\n\n", rows)
    nodes = [row for node in report.tree for row in _told(node)]
    yield Section(1, "sentences", len(nodes), "#### Explanation\n\n", nodes)
    yield from _survey(report)
    drift = sorted(report.drift, key=lambda line: (line.subject, line.what, line.why))
    rows = (f"- ≠ {code(d.subject)}: {inline(words.told(d.what, d.why))}\n" for d in drift)
    yield Section(2, "differences", len(drift), "#### Drift\n\n", rows)
    notes = report.notes
    yield Section(2, "notes", len(notes), "", (f"- note: {inline(note)}\n" for note in notes))


def _survey(report: Report) -> Iterator[Section]:
    admissions = sorted(report.admissions, key=lambda line: line.id)
    rows = (_admission(line, report) for line in admissions)
    yield Section(2, "admissions", len(admissions), _ADMISSIONS, rows)
    shown = [line for group in groups(report) for line in group.runs]
    more = len(report.runs) - len(shown)
    tail = f"\nAnd {more:,} more that are closed.\n" if more else ""
    yield Section(3, "runs", len(shown), _RUNS, map(_run, shown), tail)
    waiting = sorted(report.withheld, key=lambda line: line.path)
    rows = (
        f"- · {code(line.path)} since {words.utc(line.since)}: {inline('; '.join(line.why))}\n"
        for line in waiting
    )
    yield Section(2, "withheld jobs", len(waiting), "#### Withheld\n\n", rows)
    budgets = {} if report.admissions else report.budgets
    yield Section(3, "budgets", len(budgets), _BUDGETS, _budgets(report))


def _told(node: Node, depth: int = 0) -> Iterator[str]:
    mark = "" if node.outcome is None else f"{MARKS[node.outcome]} "
    yield f"{'  ' * depth}- {mark or '· '}{inline(node.text)}\n"
    for child in node.children:
        yield from _told(child, depth + 1)


def _admission(line: AdmissionLine, report: Report) -> str:
    balance = line.balance
    numbers = (balance.granted, balance.reserved, balance.used, balance.free)
    expires = words.expiry(line.expires, report.asked_at)
    owner, note = inline(line.owner), inline(line.note)
    return cells(code(line.id), owner, *map(words.hours, numbers), expires, note)


def _run(line: RunLine) -> str:
    record = line.record
    shape = f"{record.nodes} × {record.gpus_per_node}"
    late = "**overdue** " if line.overdue else ""
    return cells(
        code(line.run),
        code(record.admission),
        inline(words.standing(line)),
        words.attempt(line),
        shape,
        words.charged(line),
        words.utc(words.since(line)),
        late + inline("; ".join(line.why)),
    )


def _budgets(report: Report) -> Iterator[str]:
    for id_, balance in sorted(report.budgets.items()):
        numbers = (balance.granted, balance.reserved, balance.used, balance.free)
        yield cells(code(id_), *map(words.hours, numbers))


_ADMISSIONS = "#### Admissions in GPU hours\n\n" + table(
    "admission", "owner", *_NUMBERS[2:], "expires", "note", right=_NUMBERS
)
_RUNS = "#### Runs\n\n" + table(
    "run", "admission", "standing", "attempt", *_NUMBERS[:2], "since", "why", right=_NUMBERS
)
_BUDGETS = "#### Budgets in GPU hours\n\n" + table("admission", *_NUMBERS[2:], right=_NUMBERS)

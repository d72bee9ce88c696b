"""What only `status`, `verify` and `explain` have to show, as sections for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.decision.verdict import Outcome
from controller.report import words
from controller.report.grouped import Group, groups
from controller.report.outcome import AdmissionLine, Edge, Node, Report, RunLine
from controller.report.page import BOLD, DIM, GREEN, PLAIN, RED, YELLOW, Page, Span, aligned

MARKS: dict[Outcome, Span] = {
    Outcome.MET: (GREEN, "✓"),
    Outcome.UNDECIDED: (YELLOW, "?"),
    Outcome.UNMET: (RED, "✗"),
}
_NO_MARK: Span = (DIM, "·")
_EDGES: dict[str, Span] = {"held": (GREEN, "✓"), "broken": (RED, "✗"), "not checked": _NO_MARK}
_ADMISSIONS = ("admission", "owner", "granted", "reserved", "used", "free", "expires")
_RUNS = ("run", "standing", "attempt", "GPUs", "GPU hours", "since (UTC)")


def surveyed(page: Page, report: Report) -> Iterator[str]:
    """Yield every admission and, below it, its runs, each with the reasons for how it stands."""
    found = groups(report)
    if not found:
        return
    yield page.line((BOLD, "admissions" if report.admissions else "runs"), (DIM, " in GPU hours"))
    known = [group.admission for group in found if group.admission is not None]
    cells = (_admission(line, report) for line in known)
    own = page.table(_ADMISSIONS, cells, right={2, 3, 4, 5})
    shown = [line for group in found for line in group.runs]
    runs = page.table(_RUNS, (_run(line) for line in shown), right={4}, indent=4)
    heads = (next(own), next(runs))
    yield from (head for head, rows in zip(heads, (known, shown), strict=True) if rows)
    for group in found:
        if group.admission is None and known:
            yield page.line((DIM, "  of admissions that nobody knows"))
        yield from _group(page, group, own, runs)


def _group(page: Page, group: Group, own: Iterator[str], runs: Iterator[str]) -> Iterator[str]:
    if group.admission is not None:
        yield next(own)
        if group.admission.note:
            yield from page.row([(YELLOW, "    ! ")], group.admission.note)
    for line in group.runs:
        yield next(runs)
        for why in line.why:
            lead = (RED, "      ! ") if line.overdue else (DIM, "      ")
            yield from page.row([lead], why)
    if group.more:
        yield page.line((DIM, f"    and {group.more:,} more that are closed"))


def _admission(line: AdmissionLine, report: Report) -> tuple[str, ...]:
    balance = line.balance
    amounts = (balance.granted, balance.reserved, balance.used, balance.free)
    expires = words.expiry(line.expires, report.asked_at)
    return (line.id, line.owner, *map(words.hours, amounts), expires)


def _run(line: RunLine) -> tuple[str, ...]:
    size = f"{line.record.nodes} × {line.record.gpus_per_node}"
    since = words.minute(words.since(line))
    return (line.run, words.standing(line), words.attempt(line), size, words.charged(line), since)


def withheld(page: Page, report: Report) -> Iterator[str]:
    """Yield every merged job that no pass started, with a line for each rule."""
    if report.withheld:
        yield page.line((BOLD, "withheld"), (DIM, " since (UTC)"))
    lines = sorted(report.withheld, key=lambda line: line.path)
    for line, path in zip(lines, aligned(line.path for line in lines), strict=True):
        yield page.line((YELLOW, f"  {path}  "), (PLAIN, words.minute(line.since)))
        for why in line.why:
            yield from page.row([(DIM, "      ")], why)


def walked(page: Page, edges: Iterable[Edge]) -> Iterator[str]:
    """Yield each edge with its mark, in the order in which they were walked."""
    edges = tuple(edges)
    if edges:
        yield page.line((BOLD, "edges"))
    for edge, name in zip(edges, aligned(edge.name for edge in edges), strict=True):
        style, mark = _EDGES[edge.outcome]
        said = f"not checked: {edge.what}" if edge.outcome == "not checked" else edge.what
        yield from page.row([(style, f"  {mark} "), (PLAIN, f"{name}  ")], said)


def told(page: Page, node: Node, depth: int = 0) -> Iterator[str]:
    """Yield a sentence, and below it what it rests on."""
    style, mark = _NO_MARK if node.outcome is None else MARKS[node.outcome]
    yield from page.row([(style, f"{'  ' * depth}{mark} ")], node.text)
    for child in node.children:
        yield from told(page, child, depth + 1)


def noted(page: Page, notes: Iterable[str]) -> Iterator[str]:
    """Yield the sentences that change no exit."""
    for note in notes:
        yield from page.row([_NO_MARK, (PLAIN, " ")], note)

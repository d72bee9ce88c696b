"""The recorded runs of a report below the admissions they are charged to, the newest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from controller.report.outcome import AdmissionLine, Report, RunLine
from controller.report.words import since

NEWEST = 10
"""So many of an admission's runs that are closed are shown; the others are counted."""


@dataclass(frozen=True, slots=True)
class Group:
    """One admission (None: of whose nothing is known) with its runs; `more` are not shown."""

    admission: AdmissionLine | None
    runs: tuple[RunLine, ...]
    more: int = 0


def groups(report: Report) -> tuple[Group, ...]:
    """Return the admissions by their ids; at the end the runs of those that are not there."""
    own: dict[str, list[RunLine]] = {line.id: [] for line in report.admissions}
    others: list[RunLine] = []
    for run in report.runs:
        own.get(run.record.admission, others).append(run)
    known = sorted(report.admissions, key=lambda line: line.id)
    found = [_group(line, own[line.id]) for line in known]
    return (*found, _group(None, others)) if others else tuple(found)


def _group(admission: AdmissionLine | None, runs: Iterable[RunLine]) -> Group:
    """Every open run is shown, before those that are closed."""
    newest = sorted(sorted(runs, key=lambda line: line.run), key=since, reverse=True)
    going = [line for line in newest if line.record.active]
    closed = [line for line in newest if not line.record.active]
    return Group(admission, (*going, *closed[:NEWEST]), max(0, len(closed) - NEWEST))

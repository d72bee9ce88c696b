"""`drift`: what a pass would do now, and what the workspace has that the ledger has not.

The only command that lists a workspace. Names prove nothing: they say whom to ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from controller.decision.actions import Keep
from controller.decision.noticed import ours
from controller.documents.catalog import Catalog
from controller.documents.payload import run_name
from controller.effects.request import TAG_PREFIX
from controller.evidence.facts import Known, ObservedRun, Phase
from controller.ledger.account import gpu_hours_used
from controller.ledger.book import Book
from controller.ledger.records import Attempt, Generation, RunRecord
from controller.passes import View, report_of, view
from controller.report.outcome import DriftLine, Report
from controller.report.words import counted, hours, minute
from controller.values import RunName
from controller.wiring import World

_RUN = re.compile(r"(?P<name>.+)-[0-9a-f]{12}(?:-a[0-9]+)?", re.DOTALL)

Whose = Literal["orphan", "not ours"]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt of a record, by the name that it has in the workspace."""

    record: RunRecord
    generation: Generation
    attempt: Attempt

    @property
    def ended(self) -> str:
        """Why the ledger does not count it as going on, or ''."""
        if (closed := self.generation.closed) is not None:
            return f"{closed.how} it at {minute(closed.at)} UTC"
        if (end := self.attempt.over) is not None:
            return f"has its end: {end.state}"
        return ""


def drift(world: World) -> Report:
    """Return in what the workspace differs from what main asks for and the ledger says.

    Raises what a pass raises, and UnavailableError where the workspace cannot be listed.
    """
    seen = view(world)
    there = sorted(world.workspace.runs(), key=lambda run: run.run)
    now, here = world.now(), world.workspace.id
    known = attempts_of(seen.book)
    names = {record.name for record in seen.book.records.values()} | seen.case.catalog.names
    lines: list[DriftLine] = []
    gone: list[ObservedRun] = []
    for run in there:
        if (attempt := known.get(run.run)) is not None:
            lines += _known(run, attempt, now)
        elif run.phase is Phase.ACTIVE:
            lines.append(_unknown(run, whose(run, names), seen.case.catalog, now))
        elif whose(run, names) == "orphan":
            gone.append(run)
    lines += _recorded(seen, here)
    report = report_of("drift", seen, planning=True)
    return replace(report, drift=tuple(lines), notes=tuple(_over(gone, now)))


def attempts_of(book: Book) -> Mapping[RunName, _Attempt]:
    """Return every attempt that the ledger knows, by its name; of two of one name, the later."""
    return {
        run_name(record.name, record.fingerprint, attempt.number): _Attempt(
            record, generation, attempt
        )
        for record in book.records.values()
        for generation in record.generations
        for attempt in generation.attempts
    }


def whose(run: ObservedRun, names: Iterable[str]) -> Whose:
    """Return whether a run that the ledger does not know says by a tag or its name to be ours."""
    found = _RUN.fullmatch(run.run)
    tagged = is_tagged(run)
    return "orphan" if tagged or (found and found["name"] in set(names)) else "not ours"


def is_tagged(run: ObservedRun) -> bool:
    """Whether it has a tag that only the controller writes."""
    return any(tag.startswith(TAG_PREFIX) for tag in run.tags)


def _known(run: ObservedRun, known: _Attempt, now: datetime) -> Iterator[DriftLine]:
    """Yield what is odd about a run whose name the ledger knows."""
    if run.phase is not Phase.ACTIVE:
        return
    if not ours(known.record, run):
        what = f"{run.state}, under the name of what `{known.record.path}` asked for"
        yield DriftLine(run.run, "another payload", f"{what}, {_so_far(run, None, now)}")
        return
    if known.ended:
        so_far = _so_far(run, known.generation.gpus_per_node, now)
        yield DriftLine(run.run, "late", f"{run.state}, {so_far}; the ledger {known.ended}")
    if run.strange:
        why = f"`{run.state}` says too little, a person should look; it counts as active"
        yield DriftLine(run.run, "strange state", why)


def _unknown(run: ObservedRun, which: Whose, catalog: Catalog, now: datetime) -> DriftLine:
    so_far = _so_far(run, _gpus(run, catalog), now)
    return DriftLine(run.run, which, f"{run.state}, {so_far}, and the ledger does not know it")


def _recorded(seen: View, here: str) -> Iterator[DriftLine]:
    """Yield what is odd about open records, whatever the workspace lists."""
    evidence = seen.case.evidence
    for record in evidence.records:
        if record.active and record.last.workspace != here:
            why = f"it is recorded in `{record.last.workspace}`, and this is `{here}`"
            yield DriftLine(record.run, "another workspace", why)
            continue
        answer = evidence.runs.get(record.run)
        gone = isinstance(answer, Known) and answer.value is None
        if gone and record.stage == "submitted":
            at = minute(record.attempt.submitted_at or record.attempt.reserved_at)
            why = f"submitted at {at} UTC, and the workspace says that it does not exist"
            yield DriftLine(record.run, "vanished", why)
    for action in seen.case.plan.actions:
        if isinstance(action, Keep) and action.overdue:
            yield DriftLine(action.run, "overdue", action.why)


def _over(gone: list[ObservedRun], now: datetime) -> Iterator[str]:
    """Yield that there were runs of which the ledger never knew: no difference any more."""
    if gone:
        took = sum(gpu_hours_used(r.nodes, 1, r.started_at, r.ended_at or now) or 0 for r in gone)
        runs = counted(len(gone), "run that is over says", "runs that are over say")
        yield (
            f"{runs} by tag or name to be ours, and the ledger does not know of it: "
            f"{hours(took)} node hours, charged to nobody"
        )


def _so_far(run: ObservedRun, gpus: int | None, now: datetime) -> str:
    """Return what a run has taken: GPU hours where the GPUs of its nodes are known."""
    took = gpu_hours_used(run.nodes, gpus or 1, run.started_at, run.ended_at or now)
    if took is None:
        return f"not started yet, on {counted(run.nodes, 'node')}"
    return f"{hours(took)} {'GPU' if gpus else 'node'} hours so far"


def _gpus(run: ObservedRun, catalog: Catalog) -> int | None:
    """Return the GPUs of its nodes: by its manifest's target, else if all targets have as many."""
    targets = catalog.policy.compute if catalog.policy else {}
    found = _RUN.fullmatch(run.run)
    for manifest in catalog.manifests.values() if found else ():
        if found and manifest.name == found["name"] and manifest.spec.compute in targets:
            return targets[manifest.spec.compute].gpus_per_node
    numbers = {target.gpus_per_node for target in targets.values()}
    return numbers.pop() if len(numbers) == 1 else None

"""What becomes of runs whose manifest asks for another payload now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import assert_never

from controller.decision.actions import Cancel, Keep, Submit, Withhold
from controller.decision.starts import Room, Wish, rooms
from controller.decision.table import Active, Ending, Table, leaves
from controller.evidence.facts import Known
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, RunName

ENDING_TAKES = timedelta(minutes=10)
"""So long a cancelled run may go on spending what a new one would have to count on."""


def superseded(
    active: Mapping[RunName, Active], out: Mapping[RunName, Ending], table: Table
) -> Iterator[Keep | Cancel]:
    """Yield a Keep or a Cancel for each of those that does not end anyway.

    Two manifests of one name do not say which payload is wanted: nothing follows from them.
    """
    left = _left_by_starts(table)
    named: dict[str, list[Active]] = {}
    for run in sorted(active):
        named.setdefault(active[run].record.name, []).append(active[run])
    for name in sorted(named.keys() & table.asked.keys()):
        wish, *others = table.asked[name]
        wanted = wish.manifest.payload.fingerprint
        older = [a for a in named[name] if a.record.fingerprint != wanted]
        if others or not older:
            continue
        making_room = _making_room(wish, older, out, left, table)
        for one in older:
            if not leaves(one, out):
                yield _replaced(one, wish, table, makes_room=one in making_room)


def _left_by_starts(table: Table) -> dict[AdmissionId, Room]:
    """Return what every admission has left when the starts of this pass are done."""
    left = rooms(table.catalog, table.balances)
    records = {(r.name, r.fingerprint): r for r in table.evidence.records if r.active}
    for wish in table.wishes:
        if not isinstance(start := wish.follows, Submit):
            continue
        left[start.admission].take(start.gpu_hours, wish.manifest.spec.nodes)
        there = records.get((wish.manifest.name, start.fingerprint))
        if there is not None and there.admission == start.admission:  # what it holds already
            left[start.admission].take(-there.reserved, -there.nodes)
    return left


def _making_room(
    wish: Wish,
    older: Sequence[Active],
    out: Mapping[RunName, Ending],
    left: dict[AdmissionId, Room],
    table: Table,
) -> Sequence[Active]:
    """Return which of the `older` have to end so that the new one fits, and take its room.

    None of them when it would not fit all the same, or fits once those have ended that do anyway.
    """
    admission, cost, spec = wish.verdict.admission, wish.verdict.cost, wish.manifest.spec
    target = table.catalog.policy.compute.get(spec.compute) if table.catalog.policy else None
    if not wish.waits_for_room or admission is None or cost is None or target is None:
        return ()
    if spec.nodes > target.max_nodes:
        return ()
    own = [a for a in older if a.record.admission == admission]
    leaving = [a for a in own if leaves(a, out)]
    by = table.evidence.asked_at + ENDING_TAKES
    for ending in (leaving, own):
        room = Room(left[admission].gpu_hours, left[admission].nodes)
        for run in ending:
            room.take(-run.gives_back(by), -run.record.nodes)
        if room.holds(cost.gpu_hours, spec.nodes):
            room.take(cost.gpu_hours, spec.nodes)
            left[admission] = room
            return [a for a in ending if a not in leaving]
    return ()


def _replaced(active: Active, wish: Wish, table: Table, *, makes_room: bool) -> Keep | Cancel:
    asks = f"`{wish.manifest.path}` asks for"
    match wish.follows:
        case Submit(run=newer):
            return Cancel(active.run, "superseded", f"{asks} `{newer}` now", newer)
        case Withhold(run=newer) if makes_room:
            why = f"{asks} `{newer}` now, which needs what this run holds"
            return Cancel(active.run, "superseded", why)
        case Withhold():
            return Keep(active.run, f"{asks} another run now, which is withheld")
        case RunRecord() as record:
            return _replaced_before(active, record, wish, table)
        case never:
            assert_never(never)


def _replaced_before(active: Active, record: RunRecord, wish: Wish, table: Table) -> Keep | Cancel:
    """Main went back to what ran before, or its submission is recorded and this still runs."""
    newer = record.run
    asks = f"`{wish.manifest.path}` asks for `{newer}` now"
    if not wish.approved:
        why = f"{asks}, and that change is not proved approved"
        return Keep(active.run, why, undecided=True, doubt="in-doubt")
    if not record.active:
        return Cancel(active.run, "superseded", f"{asks}, which is settled")
    answer = table.evidence.runs.get(newer)
    if isinstance(answer, Known) and answer.value is not None:
        return Cancel(active.run, "superseded", f"{asks}, which was submitted")
    why = f"{asks}, of which the workspace does not say that it is there"
    return Keep(active.run, why, undecided=True, doubt="in-doubt")

"""Which runs end because more is used and set aside than their admission grants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.decision.actions import Cancel, Settle, Submit
from controller.decision.starts import SLACK
from controller.decision.table import Active, Ending, Table, leaves
from controller.documents.admission import Admission
from controller.evidence.facts import Known
from controller.ledger.account import Balance
from controller.ledger.records import RunRecord
from controller.values import RunName


def overspent(
    active: Mapping[RunName, Active], out: Mapping[RunName, Ending], table: Table
) -> Iterator[Cancel]:
    """Yield the newest starts first until what is used and set aside fits the grant.

    The grant is that of the last approved version; where that is not known, nothing ends.
    """
    for id_ in sorted({a.record.admission for a in active.values()}):
        match table.evidence.governing.get(id_):
            case Known(value=Admission() as admission):
                yield from _down_to(admission, active, out, table)
            case _:
                pass


def _down_to(
    admission: Admission,
    active: Mapping[RunName, Active],
    out: Mapping[RunName, Ending],
    table: Table,
) -> Iterator[Cancel]:
    """Count what is over or ends anyway as it will be, then end the newest until it fits.

    A run whose state is not known may be over: no older one ends for what it might give back. Nor
    for what is left of a reservation that no run is started from in this pass.
    """
    evidence, balance = table.evidence, table.balances[admission.id]
    granted, committed = admission.grant.gpu_hours, balance.used + balance.reserved
    line: list[tuple[RunRecord, RunName]] = []
    for record in evidence.records:
        if record.admission != admission.id or not record.active:
            continue
        run = record.run
        if isinstance(settle := out.get(run), Settle):
            committed += settle.gpu_hours - record.reserved
        elif record.stage != "submitted" and not _starts(record, table):
            committed -= record.reserved - record.last.spent
        elif run in active and leaves(active[run], out):
            committed -= active[run].gives_back(evidence.asked_at)
        elif run in active or not isinstance(evidence.runs.get(run), Known):
            line.append((record, run))
    for record, run in sorted(line, key=lambda r: (r[0].started_at, r[1]), reverse=True):
        if committed <= granted + SLACK:
            break
        if run in active:
            yield _cancel(active[run], balance, granted)
            committed -= active[run].gives_back(evidence.asked_at)
        else:
            committed -= record.reserved


def _starts(record: RunRecord, table: Table) -> bool:
    wish = table.by_key.get((record.name, record.fingerprint))
    return wish is not None and isinstance(wish.follows, Submit)


def _cancel(active: Active, balance: Balance, granted: float) -> Cancel:
    why = (
        f"{balance.used:g} GPU hours are used and {balance.reserved:g} set aside, "
        f"`{active.record.admission}` grants {granted:g}; the newest start ends first"
    )
    return Cancel(active.run, "overspent", why)

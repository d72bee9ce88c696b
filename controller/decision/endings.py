"""What every recorded run has to expect: to be kept, cancelled or settled, and why."""

from __future__ import annotations

from datetime import date

from controller.decision.actions import Cancel, Keep, Settle
from controller.decision.overspending import overspent
from controller.decision.superseding import superseded
from controller.decision.table import Active, Ending, Table
from controller.decision.withdrawal import admission_gone, manifest_gone
from controller.documents.admission import Admission
from controller.documents.payload import run_name
from controller.documents.policy import Hold
from controller.evidence.facts import Evidence, Known, Phase, Unavailable
from controller.ledger.account import gpu_hours_used
from controller.ledger.records import RunRecord
from controller.values import RunName


def endings(table: Table) -> tuple[Ending, ...]:
    """Return one action for each recorded run that is not settled, in the order of run names."""
    out: dict[RunName, Ending] = {}
    active: dict[RunName, Active] = {}
    for record in table.evidence.records:
        if not record.active:
            continue
        run = run_name(record.name, record.fingerprint, record.attempts)
        match _observed(run, record, table.evidence):
            case Active() as found:
                active[run] = found
                out[run] = _ending(found, table)
            case known:
                out[run] = known
    for ending in superseded(active, out, table):
        out[ending.run] = _stronger(out[ending.run], ending)
    for cancel in overspent(active, out, table):
        out[cancel.run] = cancel
    return tuple(out[run] for run in sorted(out))


def _observed(run: RunName, record: RunRecord, evidence: Evidence) -> Active | Keep | Settle:
    answer = evidence.runs.get(run)
    if not isinstance(answer, Known):
        why = f"could not be asked: {answer.why}" if answer else "was not asked"
        return Keep(run, f"its state {why}", undecided=True)
    observed = answer.value
    if observed is None:
        why = "vanished: it was submitted, and the workspace says that it does not exist"
        return Keep(run, why, undecided=True)
    if observed.phase is Phase.OVER:
        used = gpu_hours_used(record, observed.started_at, observed.ended_at)
        return Settle(run, used, f"{observed.state}, no attempt left")
    return Active(run, record, observed)


def _ending(active: Active, table: Table) -> Ending:
    """Return what its own documents say of it. The first row wins, but Cancel beats Keep."""
    state = active.observed.state
    if active.ending:
        return Keep(active.run, f"it is ending already: {state}")
    ending: Ending = Keep(active.run, f"{state}, admitted by `{active.record.admission}`")
    for row in (_drained, _expired, manifest_gone, admission_gone):
        if (found := row(active, table)) is not None:
            ending = _stronger(ending, found)
    return ending


def _stronger(standing: Ending, other: Ending) -> Ending:
    """Return `other`, unless it is a Keep that something stronger stands against."""
    strength = [
        0 if not isinstance(e, Keep) else 1 if e.undecided else 2 for e in (standing, other)
    ]
    return standing if strength[0] < strength[1] else other


def _expired(active: Active, table: Table) -> Keep | Cancel | None:
    id_ = active.record.admission
    match table.evidence.governing.get(id_):
        case Known(value=Admission() as admission):
            pass
        case answer:
            doubt = answer.why if isinstance(answer, Unavailable) else "none was found"
            why = f"the last approved version of `{id_}`, which governs it, is not known: {doubt}"
            return Keep(active.run, why, undecided=True)
    if table.today <= admission.expires:
        return None
    said = f"`{id_}` expired on {admission.expires}"
    if admission.grant.on_expiry == "finish":
        return Keep(active.run, f"{said}; `on_expiry: finish` lets it end by itself")
    return Cancel(active.run, "expired", f"{said} with `on_expiry: cancel`")


def in_force(hold: Hold, today: date) -> bool:
    """Whether `hold` holds on the UTC day `today`."""
    return hold.until is None or today <= hold.until


def _drained(active: Active, table: Table) -> Cancel | None:
    hold = table.policy.hold if table.policy else None
    if hold is None or not hold.drain or not in_force(hold, table.today):
        return None
    return Cancel(active.run, "drained", f"a hold with `drain` is in force: {hold.reason}")

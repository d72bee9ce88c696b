"""The accounts of all admissions, as they stand while runs are going on."""

from __future__ import annotations

from collections.abc import Mapping

from controller.documents.admission import Admission
from controller.evidence.facts import Evidence, Known, Phase
from controller.ledger.account import Balance, balance
from controller.ledger.records import RunRecord
from controller.values import AdmissionId


def balances_of(
    admissions: Mapping[AdmissionId, Admission], evidence: Evidence
) -> dict[AdmissionId, Balance]:
    """Return a balance for each admission on main, and for each that has records.

    Each account gets its own records only: ten thousand of both are a hundred million looks.
    """
    own: dict[AdmissionId, list[RunRecord]] = {id_: [] for id_ in admissions}
    for record in evidence.records:
        for id_ in {generation.admission for generation in record.generations}:
            own.setdefault(id_, []).append(record)
    granted = {id_: admission.grant.gpu_hours for id_, admission in admissions.items()}
    return {
        id_: balance(id_, granted.get(id_, 0.0), records, _overrun(id_, records, evidence))
        for id_, records in sorted(own.items())
    }


def _overrun(id_: AdmissionId, records: list[RunRecord], evidence: Evidence) -> float:
    """Return the GPU hours that active runs took beyond their reservations, until now."""
    beyond = 0.0
    for record in records:
        if record.active and record.admission == id_:
            beyond += max(0.0, record.last.spent + _going(record, evidence) - record.reserved)
    return beyond


def _going(record: RunRecord, evidence: Evidence) -> float:
    """Return what the attempt that is running has come to."""
    answer = evidence.runs.get(record.run)
    if record.stage != "submitted" or not isinstance(answer, Known) or answer.value is None:
        return 0.0
    run = answer.value
    if run.phase is not Phase.ACTIVE or run.started_at is None:
        return 0.0
    hours = max(0.0, (evidence.asked_at - run.started_at).total_seconds()) / 3600
    return hours * record.nodes * record.gpus_per_node

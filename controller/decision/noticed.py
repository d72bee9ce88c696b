"""What the workspace shows of recorded runs that the records do not say yet: starts and ends."""

from __future__ import annotations

from dataclasses import replace

from controller.evidence.facts import Evidence, Known, ObservedRun, Phase
from controller.ledger.account import gpu_hours_used
from controller.ledger.records import Over, RunRecord, over, submitted


def noticed(evidence: Evidence) -> Evidence:
    """Return `evidence` with its records brought up to what its runs show.

    A run that exists was submitted, whatever became of whoever submitted it; also one that shows
    up after its reservation was released. It is charged, then judged like any other.
    """
    return replace(evidence, records=tuple(_seen(r, evidence) for r in evidence.records))


def ours(record: RunRecord, observed: ObservedRun) -> bool:
    """Whether a run of that name is the one that was recorded, and not somebody else's."""
    return observed.fingerprint == record.fingerprint


def _seen(record: RunRecord, evidence: Evidence) -> RunRecord:
    answer = evidence.runs.get(record.run)
    if not isinstance(answer, Known) or answer.value is None or not ours(record, answer.value):
        return record
    observed = answer.value
    if record.stage in ("reserved", "released"):
        record = submitted(record, min(observed.created_at, evidence.asked_at))
    if record.stage == "submitted" and observed.phase is Phase.OVER:
        record = over(record, _end(record, observed))
    return record


def _end(record: RunRecord, observed: ObservedRun) -> Over:
    """Return how it ended; charged its bound where the workspace cannot say how long it took."""
    last, started, ended = record.last, observed.started_at, observed.ended_at
    hours = gpu_hours_used(last.nodes, last.gpus_per_node, started, ended)
    return Over(
        state=observed.state,
        gpu_hours=last.bound if hours is None else hours,
        exact=hours is not None,
        started_at=started,
        ended_at=ended,
        reason=observed.reason,
        preempted=observed.preempted and record.attempt.cancel is None,
    )

"""The account of one admission: granted, set aside, used and free GPU hours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from controller.ledger.records import RunRecord
from controller.values import AdmissionId


@dataclass(frozen=True, slots=True)
class Balance:
    """GPU hours of one admission. `free` is negative when more is committed than was granted."""

    granted: float
    reserved: float
    used: float
    nodes: int
    """Nodes that its active runs hold."""

    @property
    def free(self) -> float:
        """GPU hours that a new run may reserve."""
        return self.granted - self.reserved - self.used


def balance(admission: AdmissionId, granted: float, records: Iterable[RunRecord]) -> Balance:
    """Return the balance of `admission` over everything that was ever charged to it."""
    own = [record for record in records if record.admission == admission]
    active = [record for record in own if record.active]
    return Balance(
        granted=granted,
        reserved=sum(record.reserved for record in active),
        used=sum(record.used or 0.0 for record in own),
        nodes=sum(record.nodes for record in active),
    )


def gpu_hours_used(
    record: RunRecord, started_at: datetime | None, ended_at: datetime | None
) -> float:
    """Return what a run that is over came to, by its workspace's own times (UTC).

    The whole reservation where the workspace cannot say when the run started or ended.
    """
    if started_at is None or ended_at is None:
        return record.reserved
    hours = max(0.0, (ended_at - started_at).total_seconds()) / 3600
    return hours * record.nodes * record.gpus_per_node

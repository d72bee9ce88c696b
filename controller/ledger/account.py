"""The account of one admission: granted, set aside, used and free GPU hours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from controller.ledger.records import RunRecord
from controller.values import AdmissionId

DIGITS = 9
"""Decimals of a GPU hour that a sum of floats is good for: 4 microseconds of one GPU."""


@dataclass(frozen=True, slots=True)
class Balance:
    """GPU hours of one admission. `free` is negative when more is committed than was granted."""

    granted: float
    reserved: float
    used: float
    nodes: int
    """Nodes that its active runs hold."""
    overrun: float = 0.0
    """So much of `reserved` is what active runs took beyond what was set aside for them."""

    @property
    def free(self) -> float:
        """GPU hours that a new run may reserve."""
        return round(self.granted - self.reserved - self.used, DIGITS)


def balance(
    admission: AdmissionId, granted: float, records: Iterable[RunRecord], overrun: float = 0.0
) -> Balance:
    """Return the balance of `admission` over everything that was ever charged to it.

    `overrun`: GPU hours that its active runs have taken already beyond what was set aside.
    """
    reserved = used = 0.0
    nodes = 0
    for record in records:
        for generation in record.generations:
            if generation.admission != admission:
                continue
            if generation.closed is not None:
                used += generation.closed.gpu_hours
            else:
                reserved += record.reserved
                nodes += record.nodes
    return Balance(
        granted=granted,
        reserved=round(reserved + overrun, DIGITS),
        used=round(used, DIGITS),
        nodes=nodes,
        overrun=round(overrun, DIGITS),
    )


def gpu_hours_used(
    nodes: int, gpus_per_node: int, started_at: datetime | None, ended_at: datetime | None
) -> float | None:
    """Return what an attempt that is over came to, by its workspace's own times (UTC).

    None where the workspace cannot say when it started or ended.
    """
    if started_at is None or ended_at is None:
        return None
    return max(0.0, (ended_at - started_at).total_seconds()) / 3600 * nodes * gpus_per_node


def hours(value: float) -> str:
    """Return GPU hours for people: `1,234.5` for 1234.5, `960` for 960.0, `<0.01` for less."""
    text = f"{value:,.2f}".rstrip("0").rstrip(".")
    if text in ("0", "-0"):
        return "<0.01" if value > 0 else "0"
    return text

"""What is remembered of each run: frozen values with one canonical JSON spelling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from controller.values import AdmissionId, Fingerprint, RepoPath


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One (name, fingerprint), all its attempts included. It belongs to `admission` for ever.

    `reserved` is the worst case in GPU hours, set aside before the start; `used` is what it came
    to, None until the last attempt is over and its times are known.
    """

    name: str
    fingerprint: Fingerprint
    admission: AdmissionId
    path: RepoPath
    nodes: int
    gpus_per_node: int
    reserved: float
    started_at: datetime
    attempts: int = 1
    used: float | None = None

    @property
    def charged(self) -> float:
        """GPU hours that count against the admission now."""
        return self.reserved if self.used is None else self.used

    @property
    def active(self) -> bool:
        """Whether it still holds nodes and its reservation."""
        return self.used is None


TAG_PREFIX = "admit."


def tags_of(record: RunRecord) -> dict[str, str]:
    """Return the tags by which a workspace itself remembers what a run was started for."""
    return {
        TAG_PREFIX + "name": record.name,
        TAG_PREFIX + "fingerprint": record.fingerprint,
        TAG_PREFIX + "admission": record.admission,
        TAG_PREFIX + "path": record.path,
        TAG_PREFIX + "nodes": str(record.nodes),
        TAG_PREFIX + "gpus_per_node": str(record.gpus_per_node),
        TAG_PREFIX + "gpu_hours": repr(record.reserved),
    }


def record_from(tags: Mapping[str, str], started_at: datetime) -> RunRecord | None:
    """Return the record that `tags_of` wrote; None when these are not its tags."""
    try:
        record = RunRecord(
            name=tags[TAG_PREFIX + "name"],
            fingerprint=Fingerprint(tags[TAG_PREFIX + "fingerprint"]),
            admission=AdmissionId(tags[TAG_PREFIX + "admission"]),
            path=RepoPath(tags[TAG_PREFIX + "path"]),
            nodes=int(tags[TAG_PREFIX + "nodes"]),
            gpus_per_node=int(tags[TAG_PREFIX + "gpus_per_node"]),
            reserved=float(tags[TAG_PREFIX + "gpu_hours"]),
            started_at=started_at,
        )
    except (KeyError, ValueError):
        return None
    sound = math.isfinite(record.reserved) and record.reserved >= 0
    return record if sound and record.nodes > 0 and record.gpus_per_node > 0 else None

"""The policy: `admissions/policy.yml`, the team's limits, baseline and table of compute targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal

from controller.documents.admission import day_problems, mode_problem
from controller.documents.positions import located
from controller.documents.shape import shape_problems
from controller.documents.snapshot import Blob
from controller.documents.yaml import Dialect, Document, read_yaml
from controller.values import BlobId, Location, Problem, RepoPath, by_place

POLICY = RepoPath("admissions/policy.yml")
_DIALECT = Dialect(dates=frozenset({"/hold/until"}))


@dataclass(frozen=True, slots=True)
class Limits:
    """The first three are for an admission, `min_gpus` for a job, `cancels_per_pass` for a pass."""

    admission_days: int
    gpu_hours: float
    max_nodes: int
    min_gpus: int
    cancels_per_pass: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """Where training runs without an admission."""

    name: str
    gpus: int
    gpu_memory_gib: float


@dataclass(frozen=True, slots=True)
class ComputeTarget:
    """A cluster as the policy knows it. The price is for one node and one hour."""

    vm_size: str
    gpus_per_node: int
    gpu_memory_gib: float
    max_nodes: int
    price_per_node_hour: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Hold:
    """No run starts, up to and including the UTC day `until`; with `drain`, running ones end."""

    reason: str
    until: date | None
    drain: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """A sound policy."""

    blob: BlobId
    minimum_approvals: int
    manifest_approvals: int
    limits: Limits
    kinds: tuple[str, ...]
    registries: tuple[str, ...]
    code: Literal["image", "snapshot"]
    baseline: Baseline
    compute: Mapping[str, ComputeTarget]
    hold: Hold | None
    positions: Mapping[str, int]

    def locate(self, pointer: str) -> Location:
        """Return the place of a field (a JSON pointer)."""
        return located(self.positions, POLICY, pointer)


def read_policy(blob: Blob) -> Policy | tuple[Problem, ...]:
    """Return what the file says, or everything that is wrong with it. Nothing is raised."""
    if (problem := mode_problem(POLICY, blob.mode, "policy")) is not None:
        return (problem,)
    document = read_yaml(blob.content or b"", POLICY, _DIALECT)
    problems = [*document.problems, *shape_problems(document, "policy")]
    problems += _hold_problems(document)
    return by_place(problems) if problems else _policy(document, blob.sha)


def _hold_problems(document: Document) -> tuple[Problem, ...]:
    hold: Any = document.data.get("hold") if isinstance(document.data, dict) else None
    until = hold.get("until") if isinstance(hold, dict) else None
    return tuple(day_problems(document, "/hold/until", until))


def _policy(document: Document, blob: BlobId) -> Policy:
    """Return the policy that a document of the right shape says."""
    fields: Any = document.data
    limits, baseline = fields["limits"], fields["baseline"]
    return Policy(
        blob=blob,
        minimum_approvals=int(fields["approvals"]["minimum"]),
        manifest_approvals=int(fields["approvals"]["manifests"]),
        limits=Limits(
            admission_days=int(limits["admission_days"]),
            gpu_hours=float(limits["gpu_hours"]),
            max_nodes=int(limits["max_nodes"]),
            min_gpus=int(limits["min_gpus"]),
            cancels_per_pass=int(limits["cancels_per_pass"]),
        ),
        kinds=tuple(fields["kinds"]),
        registries=tuple(fields["registries"]),
        code=fields["code"],
        baseline=Baseline(
            name=baseline["name"],
            gpus=int(baseline["gpus"]),
            gpu_memory_gib=float(baseline["gpu_memory_gib"]),
        ),
        compute={name: _target(target) for name, target in fields["compute"].items()},
        hold=_hold(fields.get("hold")),
        positions=document.positions,
    )


def _target(fields: Any) -> ComputeTarget:
    return ComputeTarget(
        vm_size=fields["vm_size"],
        gpus_per_node=int(fields["gpus_per_node"]),
        gpu_memory_gib=float(fields["gpu_memory_gib"]),
        max_nodes=int(fields["max_nodes"]),
        # The shortest text of a float is the text written, up to 15 digits: 32.77 stays 32.77.
        price_per_node_hour=Decimal(str(fields["price_per_node_hour"])),
        currency=fields["currency"],
    )


def _hold(fields: Any) -> Hold | None:
    if fields is None:
        return None
    until = fields.get("until")
    return Hold(
        reason=fields["reason"],
        until=date.fromisoformat(until) if until is not None else None,
        drain=fields.get("drain", False),
    )

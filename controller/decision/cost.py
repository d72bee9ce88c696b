"""The worst case of a payload: GPU hours and money, by kind."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from controller.documents.kinds.command import CommandJob
from controller.documents.manifest import Spec
from controller.documents.policy import Policy

_HOUR = 3600
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Cost:
    """The most that a run can come to, all attempts included."""

    gpu_hours: float
    node_hours: float
    amount: Decimal
    currency: str


def worst_case(spec: Spec, policy: Policy, retries: int) -> Cost | None:
    """Return the worst case of `spec`, with `retries` attempts after the first.

    None when the policy does not know its compute target, or when it has no time limit.
    """
    match spec:
        case CommandJob():
            return _command(spec, policy, retries)


def _command(job: CommandJob, policy: Policy, retries: int) -> Cost | None:
    """Nodes x GPUs a node x time limit x attempts: a node is paid for whole, used or not."""
    target = policy.compute.get(job.compute)
    if target is None or job.timeout is None:
        return None
    # Whole seconds until the one division at the end: nothing is rounded twice.
    node_seconds = job.nodes * job.timeout * (1 + retries)
    amount = target.price_per_node_hour * node_seconds / _HOUR
    return Cost(
        gpu_hours=node_seconds * target.gpus_per_node / _HOUR,
        node_hours=node_seconds / _HOUR,
        amount=amount.quantize(_CENT, ROUND_HALF_UP),
        currency=target.currency,
    )

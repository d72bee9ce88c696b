"""What several rules say alike: numbers of things, and that what they need is itself missing."""

from __future__ import annotations

from controller.decision.verdict import Finding, undecided
from controller.values import Location


def no_admission(rule: str, where: Location) -> Finding:
    """Return the answer of a rule that needs a grant to one job that has none."""
    return undecided(rule, "there is no grant to hold it against", where, "meet `admission-exists`")


def no_target(rule: str, compute: str, where: Location) -> Finding:
    """Return the answer of a rule that needs to know a compute target that the policy does not."""
    reason = f"the policy does not know the GPUs of `{compute}`"
    return undecided(rule, reason, where, "meet `compute-known`")


def counted(number: int, noun: str) -> str:
    """Return `1 node` or `2 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

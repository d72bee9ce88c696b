"""When a run may start: not after the admission's last day, and not while starts are on hold."""

from __future__ import annotations

from datetime import UTC

from controller.decision.rules.phrases import counted
from controller.decision.verdict import AdmissionCase, Finding, JobCase, Met, met, unmet


def admission_current(case: AdmissionCase) -> Finding:
    """Today, in UTC, is not after the last day on which a run may start."""
    admission = case.admission
    where, today = admission.locate("/expires"), case.evidence.asked_at.astimezone(UTC).date()
    left = (admission.expires - today).days
    if left >= 0:
        reason = f"today is {today}, the last day is {admission.expires}, in {counted(left, 'day')}"
        return met("admission-current", reason, where)
    reason = f"it expired on {admission.expires}, {counted(-left, 'day')} before {today}"
    remedy = "set a later `expires` and have that approved, or remove the admission and its jobs"
    return unmet("admission-current", reason, where, remedy)


def not_on_hold(case: JobCase) -> Finding | Met:
    """The policy does not hold back all starts today, in UTC."""
    policy, hold = case.policy, case.policy.hold
    if hold is None:
        return Met("not-on-hold", "the policy holds nothing back", policy, "/hold")
    today = case.evidence.asked_at.astimezone(UTC).date()
    if hold.until is not None and hold.until < today:
        reason = f"the hold ended on {hold.until}, before {today}"
        return Met("not-on-hold", reason, policy, "/hold")
    until = f"up to and including {hold.until}" if hold.until else "until it is lifted"
    reason = f"every start is on hold {until}: {hold.reason}"
    remedy = "wait, or lift the hold: `hold: null` in the policy"
    return unmet("not-on-hold", reason, policy.locate("/hold"), remedy)

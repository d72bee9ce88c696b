"""Which kinds of job may run at all: those that the policy and the grant both enable."""

from __future__ import annotations

from controller.decision.rules.phrases import no_admission
from controller.decision.verdict import Finding, JobCase, Met, unmet
from controller.values import listed


def kind_enabled(case: JobCase) -> Finding | Met:
    """The policy enables the job's kind, and the grant names it."""
    manifest, admission = case.manifest, case.admission
    kind = manifest.kind
    if kind not in case.policy.kinds:
        reason = f"the policy enables {listed(case.policy.kinds)}, not `{kind}`"
        remedy = f"add `{kind}` to the policy's `kinds` first, in a pull request of its own"
        return unmet("kind-enabled", reason, manifest.locate("/type"), remedy)
    if admission is None:
        return no_admission("kind-enabled", manifest.locate("/type"))
    if kind not in admission.grant.kinds:
        reason = f"`{admission.id}` grants {listed(admission.grant.kinds)}, not `{kind}`"
        remedy = f"add `{kind}` to `grant.kinds` and have that approved"
        return unmet("kind-enabled", reason, manifest.locate("/type"), remedy)
    reason = f"the policy and `{admission.id}` enable `{kind}`"
    return Met("kind-enabled", reason, manifest, "/type")

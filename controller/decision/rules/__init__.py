"""The table of rules, in the order in which reports show them; README.md has a heading for each."""

from __future__ import annotations

from controller.decision.rules.approval import owner_approval, separate_concerns
from controller.decision.rules.budget import gpu_budget, grant_within_limits, resumable, timeout_set
from controller.decision.rules.claims import evidence_holds
from controller.decision.rules.compute import (
    compute_granted,
    compute_known,
    needs_multi_gpu,
    nodes_granted,
    one_launcher,
)
from controller.decision.rules.documents import (
    admission_exists,
    job_granted,
    name_set,
    name_unique,
)
from controller.decision.rules.images import image_granted, image_pinned
from controller.decision.rules.kinds import kind_enabled
from controller.decision.rules.sources import code_contained, inputs_pinned, no_asset_registration
from controller.decision.rules.surroundings import (
    managed_identity,
    no_interactive_service,
    no_plain_secret,
    no_privileged_container,
    no_tracking_override,
)
from controller.decision.rules.time import admission_current, not_on_hold
from controller.decision.verdict import AdmissionCase, JobCase, Rule

OWNER_APPROVAL: Rule[AdmissionCase | JobCase] = Rule("owner-approval", owner_approval, outside=True)
SEPARATE_CONCERNS: Rule[AdmissionCase | JobCase] = Rule("separate-concerns", separate_concerns)

ADMISSION_RULES: tuple[Rule[AdmissionCase], ...] = (
    OWNER_APPROVAL,
    SEPARATE_CONCERNS,
    Rule("admission-current", admission_current),
    Rule("grant-within-limits", grant_within_limits),
    Rule("evidence-holds", evidence_holds, outside=True),
)
"""Judged once for an admission; the findings are part of the verdict of each of its jobs."""

JOB_RULES: tuple[Rule[JobCase], ...] = (
    OWNER_APPROVAL,
    SEPARATE_CONCERNS,
    Rule("admission-exists", admission_exists),
    Rule("job-granted", job_granted),
    Rule("kind-enabled", kind_enabled),
    Rule("needs-multi-gpu", needs_multi_gpu),
    Rule("image-pinned", image_pinned),
    Rule("image-granted", image_granted),
    Rule("inputs-pinned", inputs_pinned),
    Rule("no-asset-registration", no_asset_registration),
    Rule("code-contained", code_contained),
    Rule("compute-known", compute_known),
    Rule("compute-granted", compute_granted),
    Rule("nodes-granted", nodes_granted),
    Rule("timeout-set", timeout_set),
    Rule("gpu-budget", gpu_budget),
    Rule("name-set", name_set),
    Rule("name-unique", name_unique),
    Rule("resumable", resumable),
    Rule("no-tracking-override", no_tracking_override),
    Rule("no-plain-secret", no_plain_secret),
    Rule("no-privileged-container", no_privileged_container),
    Rule("no-interactive-service", no_interactive_service),
    Rule("managed-identity", managed_identity),
    Rule("one-launcher", one_launcher),
    Rule("not-on-hold", not_on_hold),
)

_ROWS: tuple[Rule[AdmissionCase] | Rule[JobCase], ...] = (*ADMISSION_RULES, *JOB_RULES)
RULES = tuple({rule.id: rule for rule in _ROWS}.values())
"""Every rule once: two of them judge admissions and jobs alike."""

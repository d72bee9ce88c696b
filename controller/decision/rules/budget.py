"""What it may cost: the policy's limits on a grant, a time limit, GPU hours, and retries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date

from controller.decision.rules.phrases import counted, no_admission, no_target
from controller.decision.verdict import AdmissionCase, Finding, JobCase, Met, met, undecided, unmet
from controller.documents.kinds.command import CommandJob
from controller.evidence.facts import Unavailable
from controller.values import listed

_OUTPUT = re.compile(r"\$\{\{\s*outputs\.(\w+)\s*\}\}")


def grant_within_limits(case: AdmissionCase) -> Finding:
    """The grant asks for no more than the policy lets any admission have."""
    admission, limits = case.admission, case.policy.limits
    if excess := list(_excess(case)):
        pointer = excess[0][0]
        reason = "; ".join(said for _, said in excess)
        remedy = "ask for less, or change the policy first, in a pull request of its own"
        return unmet("grant-within-limits", reason, admission.locate(pointer), remedy)
    where = admission.locate("/expires")
    since = _introduced(case)
    if isinstance(since, Unavailable):
        reason = f"from which day `admission_days` count is not known: {since.why}"
        remedy = "fetch the whole history (`git fetch --unshallow`) and ask again"
        return undecided("grant-within-limits", reason, where, remedy)
    days = (admission.expires - since).days
    said = f"{counted(days, 'day')} from {since} to {admission.expires}, the policy allows"
    if days > limits.admission_days:
        last = date.fromordinal(since.toordinal() + limits.admission_days)
        remedy = f"write `expires: {last}` or earlier"
        return unmet("grant-within-limits", f"{said} {limits.admission_days}", where, remedy)
    grant = admission.grant
    reason = (
        f"{grant.gpu_hours:g} of {limits.gpu_hours:g} GPU hours, "
        f"{grant.max_nodes} of {limits.max_nodes} nodes, {days} of {limits.admission_days} days"
    )
    return met("grant-within-limits", reason, where)


def _excess(case: AdmissionCase) -> Iterator[tuple[str, str]]:
    """Yield each field of the grant that the policy does not allow, and why."""
    grant, policy = case.admission.grant, case.policy
    if grant.gpu_hours > policy.limits.gpu_hours:
        allowed = f"the policy allows {policy.limits.gpu_hours:g}"
        yield "/grant/gpu_hours", f"{grant.gpu_hours:g} GPU hours, {allowed}"
    if grant.max_nodes > policy.limits.max_nodes:
        allowed = f"the policy allows {policy.limits.max_nodes}"
        yield "/grant/max_nodes", f"{grant.max_nodes} nodes, {allowed}"
    if unknown := [kind for kind in grant.kinds if kind not in policy.kinds]:
        yield "/grant/kinds", f"the policy does not enable {listed(unknown)}"
    if unknown := [name for name in grant.compute if name not in policy.compute]:
        yield "/grant/compute", f"the policy does not know {listed(unknown)}"


def _introduced(case: AdmissionCase) -> date | Unavailable:
    """Return the UTC day of the introducing commit; today while it is only proposed.

    Whoever commits writes the day of it: one in the future counts as today.
    """
    today = case.evidence.asked_at.astimezone(UTC).date()
    answer = case.evidence.introductions.get(case.admission.path)
    match answer:
        case None:
            return today
        case Unavailable():
            return answer
        case _:
            return min(today, answer.value.at.astimezone(UTC).date())


def timeout_set(case: JobCase) -> Finding | Met:
    """The job has a time limit: without one, no worst case."""
    manifest, timeout = case.manifest, case.manifest.spec.timeout
    if timeout is not None:
        reason = f"each attempt ends after {timeout / 3600:g} h"
        return Met("timeout-set", reason, manifest, "/limits/timeout")
    where = manifest.locate("/limits/timeout")
    reason = "it has no time limit, so it could run for ever and has no worst case"
    return unmet("timeout-set", reason, where, "add `limits: {timeout: <seconds>}`")


def gpu_budget(case: JobCase) -> Finding | Met:
    """The worst case, all attempts included, fits what is free of the admission's GPU hours."""
    manifest, admission, balance, cost = case.manifest, case.admission, case.balance, case.cost
    field = "/limits/timeout"
    if admission is None or balance is None:
        return no_admission("gpu-budget", manifest.locate(field))
    job = manifest.spec
    target = case.policy.compute.get(job.compute)
    if target is None:
        return no_target("gpu-budget", job.compute, manifest.locate(field))
    if cost is None:
        reason = "without a time limit there is no worst case"
        return undecided("gpu-budget", reason, manifest.locate(field), "meet `timeout-set`")
    said = f"worst case {cost.gpu_hours:g} GPU hours, {balance.free:g} are free"
    if cost.gpu_hours <= balance.free:
        return Met("gpu-budget", f"{said}; {cost.amount} {cost.currency}", manifest, field)
    attempts = 1 + admission.grant.retries
    product = f"{job.nodes} x {target.gpus_per_node} x {cost.node_hours / job.nodes / attempts:g} h"
    reason = (
        f"worst case {product} x {attempts} = {cost.gpu_hours:g} GPU hours; {balance.free:g} of "
        f"the {balance.granted:g} that `{admission.id}` grants are free"
    )
    seconds = int(balance.free * 3600 / (job.nodes * target.gpus_per_node * attempts or 1))
    fitting = f"lower `limits.timeout` to {seconds}, " if seconds > 0 else ""
    remedy = f"{fitting}ask for fewer nodes, or raise `grant.gpu_hours` and have that approved"
    return unmet("gpu-budget", reason, manifest.locate(field), remedy)


def resumable(case: JobCase) -> Finding | Met:
    """Where retries are granted, the next attempt finds the checkpoints of the one before."""
    manifest, admission = case.manifest, case.admission
    if admission is None:
        return no_admission("resumable", manifest.locate("/outputs"))
    if admission.grant.retries == 0:
        return Met("resumable", f"`{admission.id}` grants no retries", manifest, "/outputs")
    if key := _checkpoints(manifest.spec):
        reason = f"every attempt finds output `{key}` at the same path"
        return Met("resumable", reason, manifest, f"/outputs/{key}/path")
    reason = (
        f"`{admission.id}` lets it be tried again ({admission.grant.retries} x), and no "
        "output that the command writes to stays where the next one finds it"
    )
    remedy = (
        "give an output a `path` of its own without `${{...}}` and a mode that is not `upload`, "
        "and use it in `command` as `${{outputs.<key>}}`; or grant no retries"
    )
    return unmet("resumable", reason, manifest.locate("/outputs"), remedy)


def _checkpoints(job: CommandJob) -> str:
    """Return the first output that outlives an attempt and that the command uses; '' for none.

    What Azure ML chooses itself (`outputs/`, a path with `${{name}}`) is another place for each
    attempt, and `upload` copies only after the last moment.
    See https://github.com/Azure/MachineLearningNotebooks/issues/1575
    """
    used = set(_OUTPUT.findall(job.command))
    for key, output in job.outputs.items():
        if key in used and output.path and "${{" not in output.path and output.mode != "upload":
            return key
    return ""

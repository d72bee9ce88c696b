"""Whether the numbers by which an admission says that the baseline is not enough hold."""

from __future__ import annotations

from controller.decision.memory import (
    BYTE_STATES,
    PRECISIONS,
    STATES,
    bytes_per_parameter,
    required_gib,
)
from controller.decision.verdict import AdmissionCase, Finding, met, undecided, unmet
from controller.documents.admission import OutOfMemory, TooSlow
from controller.evidence.facts import MeasuredRun, Unavailable
from controller.values import Location, listed

AGREEMENT = 0.10
"""A claimed number and a measured one agree within this part of the claimed one.

Warm-up, evaluation and checkpoints move the rate of an honest run by a few percent."""
CEILING = 0.85
"""A run that ran out of memory had reached this part of the GPU's memory.

The allocation that failed is not in the peak, and the driver and CUDA contexts keep some."""

_RULE = "evidence-holds"
_MEASURE = "measure a run on the baseline that ends as FINISHED and cite it: `runs:/<run id>`"


def evidence_holds(case: AdmissionCase) -> Finding:
    """The claim, computed again against the policy's baseline and the measured run, holds."""
    claim = case.admission.claim
    match claim:
        case TooSlow():
            return _too_slow(case, claim)
        case OutOfMemory():
            return _out_of_memory(case, claim)


def _too_slow(case: AdmissionCase, claim: TooSlow) -> Finding:
    admission, baseline = case.admission, case.policy.baseline
    said = f"{claim.hours:g} h on the baseline, the deadline is {claim.deadline_hours:g} h"
    where = admission.locate("/evidence/hours")
    if claim.hours <= claim.deadline_hours:
        remedy = f"use the baseline, {baseline.name}: it meets the deadline"
        return unmet(_RULE, said, where, remedy)
    run = _measured(case)
    if isinstance(run, Finding):
        return run
    at = admission.locate("/evidence/run")
    if run.status != "FINISHED":
        return unmet(_RULE, f"run `{run.run_id}` is {run.status}, not FINISHED", at, _MEASURE)
    if not run.samples_per_second or not run.workload_samples or run.samples_per_second < 0:
        reason = f"run `{run.run_id}` has no `samples_per_second` and `workload_samples` to compare"
        return unmet(_RULE, reason, at, "measure again with a program that logs both")
    hours = run.workload_samples / run.samples_per_second / 3600
    measured = (
        f"run `{run.run_id}` needs {hours:.3g} h "
        f"({run.workload_samples:g} samples at {run.samples_per_second:g} a second)"
    )
    if abs(hours - claim.hours) > AGREEMENT * claim.hours:
        reason = f"{claim.hours:g} h are claimed, but {measured}: more than 10 % apart"
        return unmet(_RULE, reason, where, f"write `hours: {hours:.3g}`, or cite the run you mean")
    return met(_RULE, f"{said}; {measured}", where)


def _out_of_memory(case: AdmissionCase, claim: OutOfMemory) -> Finding:
    admission, baseline = case.admission, case.policy.baseline
    each = bytes_per_parameter(claim.precision, claim.optimizer)
    if each is None:
        return _unknown_word(case, claim)
    there = baseline.gpus * baseline.gpu_memory_gib
    needed = required_gib(claim.parameters, each, claim.activation_gib)
    where = admission.locate("/evidence/parameters")
    said = (
        f"{claim.parameters:g} parameters x {each} bytes + {claim.activation_gib:g} GiB = "
        f"{needed:.1f} GiB, the baseline has {there:g}"
    )
    if needed <= there:
        return unmet(_RULE, said, where, f"use the baseline, {baseline.name}: it is large enough")
    if fault := _implausible_peak(claim.peak_gib, baseline.gpu_memory_gib):
        remedy = "write the peak that the run reported when it ran out of memory"
        return unmet(_RULE, fault, admission.locate("/evidence/peak_gib"), remedy)
    if not claim.run:
        return met(_RULE, f"{said}; a peak of {claim.peak_gib:g} GiB was seen", where)
    run = _measured(case)
    return run if isinstance(run, Finding) else _peak(case, claim, run, said)


def _peak(case: AdmissionCase, claim: OutOfMemory, run: MeasuredRun, said: str) -> Finding:
    where = case.admission.locate("/evidence/peak_gib")
    if run.peak_gib is None:
        reason = f"run `{run.run_id}` has no `peak_gib` to compare"
        at = case.admission.locate("/evidence/run")
        return unmet(_RULE, reason, at, "measure again with a program that logs it")
    measured = f"run `{run.run_id}` reached {run.peak_gib:g} GiB"
    if abs(run.peak_gib - claim.peak_gib) > AGREEMENT * claim.peak_gib:
        reason = (
            f"a peak of {claim.peak_gib:g} GiB is claimed, but {measured}: more than 10 % apart"
        )
        remedy = f"write `peak_gib: {run.peak_gib:g}`, or cite the run you mean"
        return unmet(_RULE, reason, where, remedy)
    return met(_RULE, f"{said}; {measured}", case.admission.locate("/evidence/parameters"))


def _implausible_peak(peak: float, memory: float) -> str:
    if peak > memory:
        return f"a peak of {peak:g} GiB is more than the {memory:g} GiB of a baseline GPU"
    if peak < CEILING * memory:
        return (
            f"a peak of {peak:g} GiB is less than 85 % of the {memory:g} GiB of a baseline GPU: "
            "it did not run out"
        )
    return ""


def _unknown_word(case: AdmissionCase, claim: OutOfMemory) -> Finding:
    if claim.precision not in PRECISIONS:
        field, word, known = "precision", claim.precision, listed(PRECISIONS)
    else:
        field, word, known = "optimizer", claim.optimizer, listed([*STATES, *BYTE_STATES])
    where = case.admission.locate(f"/evidence/{field}")
    reason = f"how many bytes `{field}: {word}` takes is not known"
    return unmet(_RULE, reason, where, f"write one of {known}")


def _measured(case: AdmissionCase) -> MeasuredRun | Finding:
    """Return the cited run, measured on no more than the baseline, or why it says nothing."""
    cited = case.admission.claim.run
    where = case.admission.locate("/evidence/run")
    match case.evidence.measured.get(cited):
        case None:
            return _not_asked(cited, "it was not asked", where)
        case Unavailable(why=why):
            return _not_asked(cited, why, where)
        case answer:
            run = answer.value
    if run is None:
        return unmet(_RULE, f"the team's MLflow has no run `{cited}`", where, _MEASURE)
    gpus = case.policy.baseline.gpus
    if run.world_size is None or run.world_size > gpus:
        size = (
            "says not on how many GPUs it ran"
            if run.world_size is None
            else (f"ran on {run.world_size} GPUs")
        )
        reason = f"run `{cited}` {size}, the baseline has {gpus}"
        return unmet(_RULE, reason, where, _MEASURE)
    return run


def _not_asked(run: str, why: str, where: Location) -> Finding:
    reason = f"what run `{run}` measured is not known: {why}"
    return undecided(
        _RULE, reason, where, "nothing to change in the file; the next pass asks again"
    )

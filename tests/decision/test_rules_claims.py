"""The numbers by which an admission says that the baseline is not enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controller.decision.memory import BYTE_STATES, PRECISIONS, STATES, bytes_per_parameter
from controller.decision.verdict import AdmissionCase, Outcome, met, undecided, unmet
from controller.documents.admission import Claim
from controller.documents.shape import schema
from controller.evidence.facts import Answer, Known, MeasuredRun
from tests.builders import (
    NOW,
    RUN,
    admission_case,
    baseline,
    measured,
    out_of_memory,
    sound_admission,
    sound_policy,
    too_slow,
    unavailable,
)
from tests.decision.examples import Example, in_admission, judged, parametrized

RULE = "evidence-holds"
MEASURE = "measure a run on the baseline that ends as FINISHED and cite it: `runs:/<run id>`"
AGAIN = "nothing to change in the file; the next pass asks again"
SLOW = "410 h on the baseline, the deadline is 96 h"
RATE = "(1.845e+07 samples at 12.5 a second)"
LARGE = "7e+09 parameters x 16 bytes + 12 GiB = 116.3 GiB, the baseline has 80"


def claiming(
    claim: Claim, run: Answer[MeasuredRun | None] | None = None, **policy: object
) -> AdmissionCase:
    answers = {RUN: run} if run else {RUN: measured()}
    return admission_case(
        admission=sound_admission(claim=claim), policy=sound_policy(**policy), measured=answers
    )


EXAMPLES = [
    Example(
        "the deadline is missed, and the measured rate says the same",
        admission_case(),
        met(RULE, f"{SLOW}; run `{RUN}` needs 410 h {RATE}", in_admission(20)),
    ),
    Example(
        "the baseline meets the deadline, which needs no measured run",
        claiming(too_slow(hours=96), unavailable()),
        unmet(
            RULE,
            "96 h on the baseline, the deadline is 96 h",
            in_admission(20),
            "use the baseline, single-node training on Container Apps: it meets the deadline",
        ),
    ),
    Example(
        "the measured rate says something else",
        claiming(too_slow(), measured(samples_per_second=25)),
        unmet(
            RULE,
            f"410 h are claimed, but run `{RUN}` needs 205 h (1.845e+07 samples at 25 a "
            "second): more than 10 % apart",
            in_admission(20),
            "write `hours: 205`, or cite the run you mean",
        ),
    ),
    Example(
        "the measured run was on more GPUs than the baseline has",
        claiming(too_slow(), measured(world_size=4)),
        unmet(RULE, f"run `{RUN}` ran on 4 GPUs, the baseline has 1", in_admission(19), MEASURE),
    ),
    Example(
        "the measured run does not say on how many GPUs it was",
        claiming(too_slow(), measured(world_size=None)),
        unmet(
            RULE,
            f"run `{RUN}` says not on how many GPUs it ran, the baseline has 1",
            in_admission(19),
            MEASURE,
        ),
    ),
    Example(
        "the measured run failed",
        claiming(too_slow(), measured(status="FAILED")),
        unmet(RULE, f"run `{RUN}` is FAILED, not FINISHED", in_admission(19), MEASURE),
    ),
    Example(
        "the measured run logged no rate",
        claiming(too_slow(), measured(samples_per_second=None)),
        unmet(
            RULE,
            f"run `{RUN}` has no `samples_per_second` and `workload_samples` to compare",
            in_admission(19),
            "measure again with a program that logs both",
        ),
    ),
    Example(
        "there is no such run",
        claiming(too_slow(), Known(None, NOW)),
        unmet(RULE, f"the team's MLflow has no run `{RUN}`", in_admission(19), MEASURE),
    ),
    Example(
        "MLflow does not answer",
        claiming(too_slow(), unavailable("asked on merge")),
        undecided(
            RULE, f"what run `{RUN}` measured is not known: asked on merge", in_admission(19), AGAIN
        ),
    ),
    Example(
        "nobody asked MLflow",
        admission_case(measured={}),
        undecided(
            RULE,
            f"what run `{RUN}` measured is not known: it was not asked",
            in_admission(19),
            AGAIN,
        ),
    ),
    Example(
        "the model does not fit, and the measured peak says that it ran out",
        claiming(out_of_memory()),
        met(RULE, f"{LARGE}; run `{RUN}` reached 78.5 GiB", in_admission(17)),
    ),
    Example(
        "the model does not fit, and no run is cited",
        claiming(out_of_memory(run=""), unavailable()),
        met(RULE, f"{LARGE}; a peak of 78.5 GiB was seen", in_admission(17)),
    ),
    Example(
        "the model fits",
        claiming(out_of_memory(parameters=1e9)),
        unmet(
            RULE,
            "1e+09 parameters x 16 bytes + 12 GiB = 26.9 GiB, the baseline has 80",
            in_admission(17),
            "use the baseline, single-node training on Container Apps: it is large enough",
        ),
    ),
    Example(
        "the model fits all GPUs of the baseline",
        claiming(out_of_memory(), baseline=baseline(gpus=2)),
        unmet(
            RULE,
            "7e+09 parameters x 16 bytes + 12 GiB = 116.3 GiB, the baseline has 160",
            in_admission(17),
            "use the baseline, single-node training on Container Apps: it is large enough",
        ),
    ),
    Example(
        "the claimed peak is far from the ceiling",
        claiming(out_of_memory(peak_gib=67.9)),
        unmet(
            RULE,
            "a peak of 67.9 GiB is less than 85 % of the 80 GiB of a baseline GPU: it did not run "
            "out",
            in_admission(17),
            "write the peak that the run reported when it ran out of memory",
        ),
    ),
    Example(
        "the claimed peak is more than there is",
        claiming(out_of_memory(peak_gib=80.5)),
        unmet(
            RULE,
            "a peak of 80.5 GiB is more than the 80 GiB of a baseline GPU",
            in_admission(17),
            "write the peak that the run reported when it ran out of memory",
        ),
    ),
    Example(
        "the measured peak says something else",
        claiming(out_of_memory(), measured(peak_gib=40)),
        unmet(
            RULE,
            f"a peak of 78.5 GiB is claimed, but run `{RUN}` reached 40 GiB: more than 10 % apart",
            in_admission(17),
            "write `peak_gib: 40`, or cite the run you mean",
        ),
    ),
    Example(
        "the measured run logged no peak",
        claiming(out_of_memory(), measured(peak_gib=None)),
        unmet(
            RULE,
            f"run `{RUN}` has no `peak_gib` to compare",
            in_admission(19),
            "measure again with a program that logs it",
        ),
    ),
    Example(
        "the run that ran out of memory is not known",
        claiming(out_of_memory(), unavailable()),
        undecided(
            RULE,
            f"what run `{RUN}` measured is not known: the host answered 503",
            in_admission(19),
            AGAIN,
        ),
    ),
    Example(
        "an optimizer of which nobody knows the states",
        claiming(out_of_memory(optimizer="shampoo")),
        unmet(
            RULE,
            "how many bytes `optimizer: shampoo` takes is not known",
            in_admission(17),
            "write one of `adam`, `adamw`, `sgd`, `sgd_momentum`, `adafactor`, `adam8bit`",
        ),
    ),
    Example(
        "a precision of which nobody knows the width",
        claiming(out_of_memory(precision="int4")),
        unmet(
            RULE,
            "how many bytes `precision: int4` takes is not known",
            in_admission(17),
            "write one of `fp32`, `fp16_mixed`, `bf16_mixed`, `bf16`",
        ),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


@pytest.mark.parametrize(
    "hours, outcome",
    [
        (372.8, Outcome.MET),
        (372.7, Outcome.UNMET),
        (455.5, Outcome.MET),
        (455.6, Outcome.UNMET),
    ],
)
def test_hours_agree_within_ten_percent_of_the_claim(hours: float, outcome: Outcome) -> None:
    assert judged(claiming(too_slow(hours=hours)), RULE).outcome is outcome


@pytest.mark.parametrize("samples", [{"workload_samples": 0}, {"samples_per_second": -1}])
def test_a_rate_that_is_none_is_not_compared(samples: dict[str, float]) -> None:
    assert judged(claiming(too_slow(), measured(**samples)), RULE).outcome is Outcome.UNMET


@pytest.mark.parametrize("status", ["FAILED", "KILLED", "RUNNING"])
def test_a_run_that_ran_out_of_memory_need_not_have_finished(status: str) -> None:
    assert judged(claiming(out_of_memory(), measured(status=status)), RULE).outcome is Outcome.MET


@pytest.mark.parametrize(
    "precision, optimizer, expected",
    [
        ("fp16_mixed", "adam", 2 + 2 + 12),
        ("bf16_mixed", "adamw", 2 + 2 + 12),
        ("fp32", "adamw", 4 + 4 + 8),
        ("fp32", "sgd", 4 + 4),
        ("fp16_mixed", "sgd_momentum", 2 + 2 + 4 + 4),
        ("bf16", "adamw", 2 + 2 + 4),
        ("bf16_mixed", "adam8bit", 2 + 2 + 4 + 2),
        ("bf16", "adam8bit", 2 + 2 + 2),
        ("bf16_mixed", "adafactor", 2 + 2 + 4),
        ("bf16_mixed", "Adam", None),
        ("bf8", "adam", None),
    ],
)
def test_bytes_a_parameter_are_those_of_the_table(
    precision: str, optimizer: str, expected: int | None
) -> None:
    assert bytes_per_parameter(precision, optimizer) == expected


def test_the_tables_know_every_word_that_an_admission_may_use() -> None:
    words = [set(at["enum"]) for at in _properties(schema("admission")) if "enum" in at]
    assert set(PRECISIONS) in words
    assert {*STATES, *BYTE_STATES} in words


def _properties(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every description of a field in a JSON schema."""
    if isinstance(node, dict):
        yield node
        for inner in node.values():
            yield from _properties(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _properties(inner)

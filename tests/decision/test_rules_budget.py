"""The policy's limits, time limits, GPU hours, retries, expiry and holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from controller.decision.verdict import Outcome, met, undecided, unmet
from controller.documents.kinds.command import Output
from tests.builders import (
    ADMISSION,
    NOW,
    admission_case,
    command_job,
    hold,
    introduction,
    job_case,
    record,
    sound_admission,
    sound_manifest,
    sound_policy,
    target,
    unavailable,
)
from tests.decision.examples import (
    Example,
    in_admission,
    in_job,
    in_policy,
    judged,
    parametrized,
)

LESS = "ask for less, or change the policy first, in a pull request of its own"
UNADMITTED = sound_manifest(admission="")
NO_GRANT = ("there is no grant to hold it against", "meet `admission-exists`")
OTHER = sound_manifest("jobs/bert/other.yml", name="other")

EXAMPLES = [
    Example(
        "a grant within all limits",
        admission_case(),
        met(
            "grant-within-limits",
            "1000 of 2000 GPU hours, 2 of 16 nodes, 150 of 180 days",
            in_admission(6),
        ),
    ),
    Example(
        "more of everything than the policy allows",
        admission_case(
            admission=sound_admission(
                gpu_hours=2000.5, max_nodes=17, kinds=("command", "sweep"), compute=("a", "b")
            )
        ),
        unmet(
            "grant-within-limits",
            "2000.5 GPU hours, the policy allows 2000; 17 nodes, the policy allows 16; "
            "the policy does not enable `sweep`; the policy does not know `a`, `b`",
            in_admission(13),
            LESS,
        ),
    ),
    Example(
        "only a compute target that the policy does not know",
        admission_case(admission=sound_admission(compute=("h100",))),
        unmet("grant-within-limits", "the policy does not know `h100`", in_admission(11), LESS),
    ),
    Example(
        "one day more than the policy allows, from the day it came to main",
        admission_case(admission=sound_admission(expires=date(2027, 5, 1))),
        unmet(
            "grant-within-limits",
            "181 days from 2026-11-01 to 2027-05-01, the policy allows 180",
            in_admission(6),
            "write `expires: 2027-04-30` or earlier",
        ),
    ),
    Example(
        "only proposed, so that the days count from today",
        admission_case(admission=sound_admission(expires=date(2027, 5, 29)), introductions={}),
        met(
            "grant-within-limits",
            "1000 of 2000 GPU hours, 2 of 16 nodes, 180 of 180 days",
            in_admission(6),
        ),
    ),
    Example(
        "a commit that says it is of the future, so that the days count from today",
        admission_case(
            admission=sound_admission(expires=date(2027, 5, 30)),
            introductions={ADMISSION: introduction(at=NOW + timedelta(days=90))},
        ),
        unmet(
            "grant-within-limits",
            "181 days from 2026-11-30 to 2027-05-30, the policy allows 180",
            in_admission(6),
            "write `expires: 2027-05-29` or earlier",
        ),
    ),
    Example(
        "the day it came to main is not known",
        admission_case(introductions={ADMISSION: unavailable("the clone is shallow")}),
        undecided(
            "grant-within-limits",
            "from which day `admission_days` count is not known: the clone is shallow",
            in_admission(6),
            "fetch the whole history (`git fetch --unshallow`) and ask again",
        ),
    ),
    Example(
        "a time limit",
        job_case(),
        met("timeout-set", "each attempt ends after 30 h", in_job(15)),
    ),
    Example(
        "no time limit",
        job_case(manifest=sound_manifest(timeout=None)),
        unmet(
            "timeout-set",
            "it has no time limit, so it could run for ever and has no worst case",
            in_job(15),
            "add `limits: {timeout: <seconds>}`",
        ),
    ),
    Example(
        "the worst case fits what is free",
        job_case(),
        met(
            "gpu-budget",
            "worst case 960 GPU hours, 1000 are free; 3932.40 USD",
            in_job(15),
        ),
    ),
    Example(
        "the worst case is exactly what is free",
        job_case(records=(record(OTHER, used=40.0),)),
        met(
            "gpu-budget",
            "worst case 960 GPU hours, 960 are free; 3932.40 USD",
            in_job(15),
        ),
    ),
    Example(
        "its own reservation is not held against it",
        job_case(records=(record(),)),
        met(
            "gpu-budget",
            "worst case 960 GPU hours, 1000 are free; 3932.40 USD",
            in_job(15),
        ),
    ),
    Example(
        "another run has set aside too much",
        job_case(records=(record(OTHER, reserved=200.0),)),
        unmet(
            "gpu-budget",
            "worst case 2 x 8 x 30 h x 2 = 960 GPU hours; 800 of the 1000 that "
            "`bert-pretrain` grants are free",
            in_job(15),
            "lower `limits.timeout` to 90000, ask for fewer nodes, or raise `grant.gpu_hours` "
            "and have that approved",
        ),
    ),
    Example(
        "nothing is free",
        job_case(records=(record(OTHER, used=1000.0),)),
        unmet(
            "gpu-budget",
            "worst case 2 x 8 x 30 h x 2 = 960 GPU hours; 0 of the 1000 that "
            "`bert-pretrain` grants are free",
            in_job(15),
            "ask for fewer nodes, or raise `grant.gpu_hours` and have that approved",
        ),
    ),
    Example(
        "no time limit, so no worst case",
        job_case(manifest=sound_manifest(timeout=None)),
        undecided(
            "gpu-budget",
            "without a time limit there is no worst case",
            in_job(15),
            "meet `timeout-set`",
        ),
    ),
    Example(
        "unknown GPUs, so no worst case",
        job_case(manifest=sound_manifest(compute="local")),
        undecided(
            "gpu-budget",
            "the policy does not know the GPUs of `local`",
            in_job(15),
            "meet `compute-known`",
        ),
    ),
    Example(
        "there is no grant to pay it from",
        job_case(manifest=UNADMITTED),
        undecided("gpu-budget", NO_GRANT[0], in_job(15), NO_GRANT[1]),
    ),
    Example(
        "the command writes to an output that stays",
        job_case(),
        met("resumable", "every attempt finds output `checkpoints` at the same path", in_job(9)),
    ),
    Example(
        "no retries, so nothing has to be found",
        job_case(admission=sound_admission(retries=0), manifest=sound_manifest(outputs={})),
        met("resumable", "`bert-pretrain` grants no retries", in_job(8)),
    ),
    Example(
        "retries and no output",
        job_case(manifest=sound_manifest(outputs={})),
        unmet(
            "resumable",
            "`bert-pretrain` lets it be tried again (1 x), and no output that the command "
            "writes to stays where the next one finds it",
            in_job(8),
            "give an output a `path` of its own without `${{...}}` and a mode that is not "
            "`upload`, and use it in `command` as `${{outputs.<key>}}`; or grant no retries",
        ),
    ),
    Example(
        "there is no grant, so no retries are known",
        job_case(manifest=UNADMITTED),
        undecided("resumable", NO_GRANT[0], in_job(8), NO_GRANT[1]),
    ),
    Example(
        "before the last day",
        admission_case(),
        met(
            "admission-current",
            "today is 2026-11-30, the last day is 2027-03-31, in 121 days",
            in_admission(6),
        ),
    ),
    Example(
        "on the last day",
        admission_case(admission=sound_admission(expires=date(2026, 11, 30))),
        met(
            "admission-current",
            "today is 2026-11-30, the last day is 2026-11-30, in 0 days",
            in_admission(6),
        ),
    ),
    Example(
        "on the day after",
        admission_case(admission=sound_admission(expires=date(2026, 11, 29))),
        unmet(
            "admission-current",
            "it expired on 2026-11-29, 1 day before 2026-11-30",
            in_admission(6),
            "set a later `expires` and have that approved, or remove the admission and its jobs",
        ),
    ),
    Example(
        "no hold",
        job_case(),
        met("not-on-hold", "the policy holds nothing back", in_policy(10)),
    ),
    Example(
        "a hold until it is lifted",
        job_case(policy=sound_policy(hold=hold())),
        unmet(
            "not-on-hold",
            "every start is on hold until it is lifted: quota is being moved",
            in_policy(10),
            "wait, or lift the hold: `hold: null` in the policy",
        ),
    ),
    Example(
        "a hold on its last day",
        job_case(policy=sound_policy(hold=hold(until=date(2026, 11, 30)))),
        unmet(
            "not-on-hold",
            "every start is on hold up to and including 2026-11-30: quota is being moved",
            in_policy(10),
            "wait, or lift the hold: `hold: null` in the policy",
        ),
    ),
    Example(
        "a hold that is over",
        job_case(policy=sound_policy(hold=hold(until=date(2026, 11, 29)))),
        met("not-on-hold", "the hold ended on 2026-11-29, before 2026-11-30", in_policy(10)),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


def test_days_are_utc_wherever_the_commit_was_made() -> None:
    """Midnight of the first in Tokyo is the last of October in UTC: one day more."""
    tokyo = timezone(timedelta(hours=9))
    brought = introduction(ADMISSION, at=datetime(2026, 11, 1, 0, 30, tzinfo=tokyo))
    case = admission_case(
        admission=sound_admission(expires=date(2027, 4, 30)), introductions={ADMISSION: brought}
    )
    found = judged(case, "grant-within-limits")
    assert found.reason == "181 days from 2026-10-31 to 2027-04-30, the policy allows 180"


def test_today_is_utc_wherever_the_pass_runs() -> None:
    west = NOW.astimezone(timezone(timedelta(hours=-8)))
    late = west.replace(hour=23)
    assert late.date() == date(2026, 11, 30)
    assert late.astimezone(UTC).date() == date(2026, 12, 1)
    case = admission_case(admission=sound_admission(expires=date(2026, 11, 30)), asked_at=late)
    assert judged(case, "admission-current").outcome is Outcome.UNMET


def test_a_reservation_of_no_gpu_hours_needs_none() -> None:
    policy = sound_policy(compute={"gpu-cluster": target(gpus_per_node=0)})
    case = job_case(policy=policy, records=(record(OTHER, used=1000.0),))
    assert judged(case, "gpu-budget").outcome is Outcome.MET


def test_an_overdrawn_admission_pays_for_nothing() -> None:
    policy = sound_policy(compute={"gpu-cluster": target(gpus_per_node=0)})
    case = job_case(policy=policy, records=(record(OTHER, used=1001.0),))
    assert judged(case, "gpu-budget").outcome is Outcome.UNMET


@pytest.mark.parametrize(
    "output",
    [
        Output(),
        Output(path="azureml://datastores/training/paths/${{name}}/checkpoints"),
        Output(path="azureml://datastores/training/paths/bert", mode="upload"),
    ],
)
def test_an_output_that_is_another_place_for_each_attempt_does_not_resume(output: Output) -> None:
    case = job_case(manifest=sound_manifest(outputs={"checkpoints": output}))
    assert judged(case, "resumable").outcome is Outcome.UNMET


def test_an_output_that_the_command_does_not_use_does_not_resume() -> None:
    job = command_job()
    unused = replace(job, command=job.command.replace("outputs.checkpoints", "outputs.other"))
    assert judged(job_case(manifest=sound_manifest(spec=unused)), "resumable").outcome is (
        Outcome.UNMET
    )

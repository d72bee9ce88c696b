"""What exactly is submitted: the judged payload, tags, the injected block and the record of why."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from controller.decision.actions import Submit
from controller.decision.judge import judge_all
from controller.decision.plan import Plan, make_plan
from controller.decision.verdict import Verdict
from controller.documents.catalog import Catalog
from controller.documents.kinds.command import RegisteredEnvironment
from controller.documents.payload import INJECTED, RunRequest
from controller.documents.policy import POLICY
from controller.effects.request import Surroundings, request_for
from controller.evidence.facts import Evidence
from controller.ledger.records import record_from
from controller.values import canonical_json, sha256
from tests.builders import (
    ADMISSION,
    BEFORE,
    BROUGHT,
    CODEOWNERS,
    COMMIT,
    DATASET,
    IMAGE,
    JOB,
    NOW,
    blob_of,
    record,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    sound_policy,
    unavailable,
)
from tests.decision.planning import run_of

PLACE = Surroundings("1.2.3", "local:here", "https://mlflow.example.com", "postgresql://db/results")
JOB_OF_THESE = sound_manifest(
    tags={"admission": "bert-pretrain", "team": "nlp", "admit.gpu_hours": "0"},
    display_name="BERT",
    description="Claims",
)


def submitted(
    catalog: Catalog | None = None, place: Surroundings = PLACE, **evidence: Any
) -> tuple[RunRequest, Plan, Evidence]:
    """Return the one submission that follows, with its plan and evidence."""
    catalog = catalog or sound_catalog(sound_admission(), JOB_OF_THESE)
    known = sound_evidence(catalog)
    verdicts = judge_all(catalog, sound_policy(), known)
    plan = make_plan(catalog, verdicts, known, "local:here")
    (submit,) = plan.actions
    assert isinstance(submit, Submit)
    seen = replace(known, **evidence)
    return request_for(submit, verdicts[JOB], catalog, seen, plan, place), plan, seen


def test_the_payload_is_the_object_that_was_judged() -> None:
    request, *_ = submitted()
    assert request.payload is JOB_OF_THESE.payload
    assert request.run == f"bert-pretrain-{JOB_OF_THESE.payload.fingerprint[:12]}"
    assert (request.display_name, request.description) == ("BERT", "Claims")


def test_the_injected_block_is_all_of_the_listed_variables_and_nothing_else() -> None:
    request, *_ = submitted()
    assert tuple(request.injected) == INJECTED
    assert request.injected == {
        "ADMIT_RUN": request.run,
        "ADMIT_ADMISSION": "bert-pretrain",
        "ADMIT_COMMIT": COMMIT,
        "ADMIT_RECORD": sha256(request.record),
        "ADMIT_DATASET_DIGEST": DATASET,
        "ADMIT_IMAGE": IMAGE,
        "ADMIT_MODEL": "claims-bert",
        "ADMIT_MLFLOW_TRACKING_URI": "https://mlflow.example.com",
        "ADMIT_RESULTS_URL": "postgresql://db/results",
    }


def test_what_has_no_value_is_left_out_of_the_block() -> None:
    image = RegisteredEnvironment("azureml:train:3")
    job = sound_manifest(dataset="", environment=image)
    catalog = sound_catalog(sound_admission(), job)
    worktree = replace(catalog, snapshot=replace(catalog.snapshot, commit=None))
    submit = Submit(run_of(job), JOB, sound_admission().id, job.payload.fingerprint, 1.0, "why")
    plan = Plan("local:here", (submit,), {}, ())
    silent = Verdict(JOB, "job", submit.admission, submit.run, ())
    place = Surroundings("1.2.3", "local:here")
    request = request_for(submit, silent, worktree, sound_evidence(worktree), plan, place)
    assert set(request.injected) == {
        "ADMIT_RUN",
        "ADMIT_ADMISSION",
        "ADMIT_RECORD",
        "ADMIT_MODEL",
    }


def test_no_secret_has_a_way_into_it() -> None:
    assert [field.name for field in fields(Surroundings)] == [
        "controller_version",
        "workspace",
        "mlflow_uri",
        "results_url",
    ]
    reference = "keyvault://team/hf-token"
    job = sound_manifest(environment_variables={"HF_TOKEN": reference})
    request, *_ = submitted(sound_catalog(sound_admission(), job))
    assert reference not in json.dumps([dict(request.injected), dict(request.tags)])


def test_the_tags_are_the_manifest_s_own_and_ours_which_win() -> None:
    request, *_ = submitted()
    assert request.tags["team"] == "nlp"
    assert request.tags["admission"] == "bert-pretrain"
    assert record_from(request.tags, NOW) == record(JOB_OF_THESE, started_at=NOW)


def test_the_record_is_everything_that_made_the_run_admissible() -> None:
    request, plan, evidence = submitted(
        approvals={**submitted()[2].approvals, POLICY: unavailable()}
    )
    found = json.loads(request.record)
    assert canonical_json(found) == request.record
    by = [[login, f"note-{login}", BEFORE.isoformat()] for login in ("@ada", "@lin")]
    approved = {
        path: {"blob": blob_of(path), "commit": BROUGHT, "trusted": False, "by": by}
        for path in (JOB, ADMISSION, CODEOWNERS)
    }
    findings = found.pop("findings")
    assert found == {
        "schema": 1,
        "run": request.run,
        "fingerprint": JOB_OF_THESE.payload.fingerprint,
        "payload": json.loads(canonical_json(JOB_OF_THESE.payload.content)),
        "image": IMAGE,
        "commit": COMMIT,
        "blobs": {path: blob_of(path) for path in (JOB, ADMISSION, POLICY, CODEOWNERS)},
        "approvals": {**approved, POLICY: None},
        "gpu_hours": 960,
        "asked_at": evidence.asked_at.isoformat(),
        "controller": "1.2.3",
        "workspace": "local:here",
        "plan": plan.digest,
    }
    assert {outcome for _, outcome, _ in findings} == {"MET"}
    title = sound_admission().title
    assert ["admission-exists", "MET", f"admitted by `{ADMISSION}`: {title}"] in findings


def test_the_same_facts_give_the_same_record() -> None:
    assert submitted()[0] == submitted()[0]


@pytest.mark.parametrize(
    "other",
    [
        Surroundings("1.2.4", "local:here"),
        Surroundings("1.2.3", "local:there"),
    ],
)
def test_another_place_gives_another_record(other: Surroundings) -> None:
    assert submitted(place=other)[0].record != submitted()[0].record

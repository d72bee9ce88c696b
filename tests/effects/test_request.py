"""What exactly is submitted: the judged payload, tags, the injected block and the record of why."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from controller.decision.actions import Submit
from controller.documents.catalog import Catalog
from controller.documents.kinds.command import RegisteredEnvironment
from controller.documents.payload import INJECTED, RunRequest
from controller.documents.policy import POLICY
from controller.effects.request import (
    Case,
    Surroundings,
    account_of,
    admission_record,
    generation,
    proofs,
    request_from,
)
from controller.errors import CannotRunError
from controller.evidence.recorded import recalled
from controller.ledger.book import ProvedBy
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
    RUN,
    WORKSPACE,
    attempt,
    blob_of,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    unavailable,
)
from tests.effects.doing import PLACE, case_of

JOB_OF_THESE = sound_manifest(
    tags={"admission": "bert-pretrain", "team": "nlp", "admit.record": "forged"},
    display_name="BERT",
    description="Claims",
)


def case(
    catalog: Catalog | None = None, place: Surroundings = PLACE, **evidence: Any
) -> tuple[Submit, Case]:
    """Return the one start that follows, and what it follows from."""
    catalog = catalog or sound_catalog(sound_admission(), JOB_OF_THESE)
    concluded = case_of(catalog, sound_evidence(catalog), place)
    (submit,) = concluded.plan.actions
    assert isinstance(submit, Submit)
    return submit, replace(concluded, evidence=replace(concluded.evidence, **evidence))


def submitted(*args: Any, **more: Any) -> RunRequest:
    submit, concluded = case(*args, **more)
    manifest = concluded.catalog.manifests[submit.path]
    return request_from(admission_record(submit, concluded), manifest)


def test_the_payload_is_the_object_that_was_judged() -> None:
    request = submitted()
    assert request.payload is JOB_OF_THESE.payload
    assert request.run == f"bert-pretrain-{JOB_OF_THESE.payload.fingerprint[:12]}"
    assert (request.display_name, request.description) == ("BERT", "Claims")


def test_the_injected_block_is_all_of_the_listed_variables_and_nothing_else() -> None:
    request = submitted()
    assert set(request.injected) == set(INJECTED)
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
    job = sound_manifest(dataset="", environment=RegisteredEnvironment("azureml:train:3"))
    submit, concluded = case()
    catalog = sound_catalog(sound_admission(), job)
    bare = replace(
        concluded,
        catalog=replace(catalog, snapshot=replace(catalog.snapshot, commit=None)),
        surroundings=Surroundings("1.2.3", WORKSPACE),
    )
    record = admission_record(replace(submit, fingerprint=job.payload.fingerprint), bare)
    assert set(request_from(record, job).injected) == {
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
    request = submitted(sound_catalog(sound_admission(), job))
    assert reference not in json.dumps([dict(request.injected), dict(request.tags)])


def test_the_tags_are_the_manifest_s_own_and_ours_which_win() -> None:
    request = submitted()
    assert request.tags == {
        "team": "nlp",
        "admission": "bert-pretrain",
        "admit.name": "bert-pretrain",
        "admit.fingerprint": JOB_OF_THESE.payload.fingerprint,
        "admit.admission": "bert-pretrain",
        "admit.record": sha256(request.record),
    }


def test_the_record_is_everything_that_made_the_run_admissible() -> None:
    approvals = {**sound_evidence(sound_catalog(sound_admission(), JOB_OF_THESE)).approvals}
    submit, concluded = case(approvals={**approvals, POLICY: unavailable()})
    content = admission_record(submit, concluded)
    found = json.loads(content)
    assert canonical_json(found) + b"\n" == content
    findings, facts = found.pop("findings"), recalled(found.pop("evidence"))
    injected = found.pop("injected")
    assert found == {
        "schema": 1,
        "run": submit.run,
        "name": "bert-pretrain",
        "attempt": 1,
        "fingerprint": JOB_OF_THESE.payload.fingerprint,
        "admission": "bert-pretrain",
        "payload": json.loads(canonical_json(JOB_OF_THESE.payload.content)),
        "image": IMAGE,
        "commit": COMMIT,
        "manifest": JOB,
        "blobs": {path: blob_of(path) for path in (JOB, ADMISSION, POLICY, CODEOWNERS)},
        "gpu_hours": 960,
        "price": "3932.40 USD",
        "controller": "1.2.3",
        "workspace": WORKSPACE,
        "plan": concluded.plan.digest,
    }
    assert "ADMIT_RECORD" not in injected
    assert {outcome for _, outcome, _ in findings} == {"MET"}
    title = sound_admission().title
    assert ["admission-exists", "MET", f"admitted by `{ADMISSION}`: {title}"] in findings
    answers = {fact.path: fact for fact in facts.approvals}
    assert set(answers) == {JOB, ADMISSION, POLICY, CODEOWNERS}
    assert answers[POLICY].why == "the host answered 503"
    approval = answers[JOB].approval
    assert approval is not None
    assert [a.login for a in approval.approvers] == ["@ada", "@lin"]
    assert [fact.id for fact in facts.measured] == [RUN]
    assert [(fact.run, fact.state) for fact in facts.runs] == [(submit.run, "")]


def test_the_same_facts_give_the_same_record() -> None:
    assert submitted() == submitted()


@pytest.mark.parametrize(
    "other", [Surroundings("1.2.4", WORKSPACE), Surroundings("1.2.3", "local:there")]
)
def test_another_place_gives_another_record(other: Surroundings) -> None:
    assert submitted(place=other).record != submitted().record


def test_a_record_of_another_payload_is_not_submitted_under() -> None:
    submit, concluded = case()
    other = sound_manifest(rerun="2")
    with pytest.raises(CannotRunError, match="is of another payload than"):
        request_from(admission_record(submit, concluded), other)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"run": 1}', b"[" * 100_000, b"\xff", b'{"run":"a"}']
)
def test_a_damaged_record_is_refused(content: bytes) -> None:
    with pytest.raises(CannotRunError, match="is damaged"):
        request_from(content, JOB_OF_THESE)


def test_the_reservation_is_the_worst_case_of_all_attempts() -> None:
    submit, concluded = case()
    made = generation(submit, concluded, attempt())
    assert (made.nodes, made.gpus_per_node, made.timeout, made.retries) == (2, 8, 108_000, 1)
    assert (made.gpu_hours, made.bound) == (960, 480)
    assert (made.admission, made.path, made.blob) == ("bert-pretrain", JOB, JOB_OF_THESE.blob)


def test_a_payload_that_depends_on_other_files_is_always_read_again() -> None:
    job = replace(JOB_OF_THESE, paths={"/code": "src"})
    submit, concluded = case(sound_catalog(sound_admission(), job))
    assert generation(submit, concluded, attempt()).blob == ""


def test_what_proved_each_document_is_kept() -> None:
    submit, concluded = case()
    found = {proof.path: proof for proof in proofs(submit, concluded)}
    assert set(found) == {JOB, ADMISSION, POLICY, CODEOWNERS}
    proof = found[ADMISSION]
    assert (proof.blob, proof.commit, proof.at) == (blob_of(ADMISSION), BROUGHT, NOW)
    by = ProvedBy("@ada", BEFORE, "note-@ada"), ProvedBy("@lin", BEFORE, "note-@lin")
    assert proof.by == by


def test_an_account_begins_with_what_was_granted() -> None:
    account = account_of(sound_admission())
    assert (account.id, account.owner, account.granted) == ("bert-pretrain", "@acme/nlp", 1000)
    assert (account.reserved, account.used) == (0, 0)

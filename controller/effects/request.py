"""What exactly is submitted for one `Submit`, and the record of why it was admissible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.decision.actions import Submit
from controller.decision.plan import Plan
from controller.decision.verdict import Verdict
from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.documents.kinds.command import Image
from controller.documents.manifest import Manifest
from controller.documents.payload import RunRequest
from controller.evidence.facts import Answer, Approval, Evidence, Known
from controller.ledger.records import RunRecord, tags_of
from controller.values import Json, RepoPath, canonical_json, sha256


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of the place a pass runs in is part of what it submits. URLs carry no credentials."""

    controller_version: str
    workspace: str
    mlflow_uri: str = ""
    results_url: str = ""


def request_for(
    submit: Submit,
    verdict: Verdict,
    catalog: Catalog,
    evidence: Evidence,
    plan: Plan,
    surroundings: Surroundings,
) -> RunRequest:
    """Return the complete submission: the judged payload, our tags, the injected block, why."""
    manifest = catalog.manifests[submit.path]
    admission = catalog.admissions[submit.admission]
    record = canonical_json(
        _admission_record(submit, verdict, catalog, evidence, plan, surroundings)
    )
    injected = {
        "ADMIT_RUN": submit.run,
        "ADMIT_ADMISSION": admission.id,
        "ADMIT_COMMIT": catalog.snapshot.commit or "",
        "ADMIT_RECORD": sha256(record),
        "ADMIT_DATASET_DIGEST": manifest.payload.dataset,
        "ADMIT_IMAGE": _image(manifest),
        "ADMIT_MODEL": admission.model,
        "ADMIT_MLFLOW_TRACKING_URI": surroundings.mlflow_uri,
        "ADMIT_RESULTS_URL": surroundings.results_url,
    }
    return RunRequest(
        run=submit.run,
        payload=manifest.payload,
        tags={**manifest.tags, **tags_of(_run_record(submit, manifest, catalog, evidence))},
        injected={key: value for key, value in injected.items() if value},
        display_name=manifest.display_name,
        description=manifest.description,
        record=record,
    )


def _run_record(
    submit: Submit, manifest: Manifest, catalog: Catalog, evidence: Evidence
) -> RunRecord:
    target = catalog.policy.compute[manifest.spec.compute] if catalog.policy else None
    return RunRecord(
        name=manifest.name,
        fingerprint=submit.fingerprint,
        admission=submit.admission,
        path=submit.path,
        nodes=manifest.spec.nodes,
        gpus_per_node=target.gpus_per_node if target else 0,
        reserved=submit.gpu_hours,
        started_at=evidence.asked_at,
    )


def _admission_record(
    submit: Submit,
    verdict: Verdict,
    catalog: Catalog,
    evidence: Evidence,
    plan: Plan,
    surroundings: Surroundings,
) -> Json:
    """Everything that made the run admissible, as data; its digest goes with the run."""
    manifest = catalog.manifests[submit.path]
    admission = catalog.admissions[submit.admission]
    return {
        "schema": 1,
        "run": submit.run,
        "fingerprint": submit.fingerprint,
        "payload": manifest.payload.content,
        "image": _image(manifest),
        "commit": catalog.snapshot.commit or "",
        "blobs": _blobs(manifest, admission, catalog),
        "approvals": _approvals(manifest, admission, catalog, evidence.approvals),
        "findings": [[f.rule, f.outcome.name, f.reason] for f in verdict.findings],
        "gpu_hours": submit.gpu_hours,
        "asked_at": evidence.asked_at.isoformat(),
        "controller": surroundings.controller_version,
        "workspace": surroundings.workspace,
        "plan": plan.digest,
    }


def _rests_on(manifest: Manifest, admission: Admission, catalog: Catalog) -> list[RepoPath]:
    owners = [catalog.owners.path] if catalog.owners else []
    return [manifest.path, admission.path, RepoPath("admissions/policy.yml"), *owners]


def _blobs(manifest: Manifest, admission: Admission, catalog: Catalog) -> dict[str, Json]:
    files = catalog.snapshot.files
    return {p: files[p].sha for p in _rests_on(manifest, admission, catalog) if p in files}


def _approvals(
    manifest: Manifest,
    admission: Admission,
    catalog: Catalog,
    approvals: Mapping[RepoPath, Answer[Approval]],
) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for path in _rests_on(manifest, admission, catalog):
        match approvals.get(path):
            case Known(value=approval):
                out[path] = {
                    "blob": approval.blob,
                    "commit": approval.commit,
                    "trusted": approval.trusted,
                    "by": [[a.login, a.source, a.at.isoformat()] for a in approval.approvers],
                }
            case _:
                out[path] = None
    return out


def _image(manifest: Manifest) -> str:
    environment = manifest.spec.environment
    return environment.reference if isinstance(environment, Image) else ""

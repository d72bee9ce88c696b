"""What exactly is submitted for one `Submit`, and the record of why it was admissible."""

from __future__ import annotations

import json
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
from controller.errors import CannotRunError
from controller.evidence.facts import Evidence, Known
from controller.evidence.recorded import recorded
from controller.ledger.book import Account, Proof, ProvedBy
from controller.ledger.codec import SCHEMA
from controller.ledger.records import Attempt, Generation
from controller.values import (
    AdmissionId,
    BlobId,
    CommitId,
    Json,
    RepoPath,
    RunName,
    canonical_json,
    sha256,
)

TAG_PREFIX = "admit."


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of the place a pass runs in is part of what it submits. URLs carry no credentials."""

    controller_version: str
    workspace: str
    mlflow_uri: str = ""
    results_url: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """What one pass saw and decided, from which its submissions follow."""

    catalog: Catalog
    evidence: Evidence
    verdicts: Mapping[RepoPath, Verdict]
    plan: Plan
    surroundings: Surroundings

    @property
    def main(self) -> CommitId:
        """The commit of main that the pass read."""
        return self.catalog.snapshot.commit or CommitId("")

    def admission_of(self, path: RepoPath) -> Admission | None:
        """Return the admission that a manifest names, if both are sound."""
        manifest = self.catalog.manifests.get(path)
        id_ = AdmissionId(manifest.admission) if manifest else None
        return self.catalog.admissions.get(id_) if id_ else None


def admission_record(submit: Submit, case: Case) -> bytes:
    """Return everything that makes the run admissible, as the file of which a digest goes with it.

    Also the injected block, but for that digest: a submission can be made again from here.
    """
    manifest = case.catalog.manifests[submit.path]
    admission = case.catalog.admissions[submit.admission]
    files = case.catalog.snapshot.files
    paths = _rests_on(manifest, admission, case.catalog)
    cost = case.verdicts[submit.path].cost
    content: Json = {
        "schema": SCHEMA,
        "run": submit.run,
        "name": manifest.name,
        "fingerprint": submit.fingerprint,
        "attempt": submit.attempt,
        "admission": admission.id,
        "payload": manifest.payload.content,
        "image": _image(manifest),
        "commit": case.catalog.snapshot.commit or "",
        "manifest": manifest.path,
        "blobs": {path: files[path].sha for path in paths if path in files},
        "evidence": recorded(
            case.evidence, paths, [admission.claim.run] if admission.claim.run else [], [submit.run]
        ),
        "findings": [
            [f.rule, f.outcome.name, f.reason] for f in case.verdicts[submit.path].findings
        ],
        "gpu_hours": submit.gpu_hours,
        "price": f"{cost.amount} {cost.currency}" if cost else "",
        "controller": case.surroundings.controller_version,
        "workspace": case.surroundings.workspace,
        "plan": case.plan.digest,
        "injected": _injected(submit, manifest, admission, case),
    }
    return canonical_json(content) + b"\n"


def request_from(record: bytes, manifest: Manifest) -> RunRequest:
    """Return the submission that an admission record stands for: that payload, under that name.

    Raises CannotRunError where it is the record of another payload.
    """
    try:
        said = json.loads(record)
        run, fingerprint = RunName(said["run"]), said["fingerprint"]
        injected = {str(key): str(value) for key, value in said["injected"].items()}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CannotRunError(
            f"the admission record of a run of `{manifest.path}` is damaged",
            remedy="`admit ledger fsck` names the commit that broke it",
        ) from error
    if fingerprint != manifest.payload.fingerprint:
        raise CannotRunError(
            f"the admission record of `{run}` is of another payload than `{manifest.path}` has now",
            remedy="`admit ledger fsck` names the commit that broke it",
        )
    digest = sha256(record)
    tags = {
        "name": manifest.name,
        "fingerprint": fingerprint,
        "admission": injected.get("ADMIT_ADMISSION", ""),
        "record": digest,
    }
    return RunRequest(
        run=run,
        payload=manifest.payload,
        tags={**manifest.tags, **{TAG_PREFIX + key: value for key, value in tags.items()}},
        injected={**injected, "ADMIT_RECORD": digest},
        display_name=manifest.display_name,
        description=manifest.description,
        record=record,
    )


def generation(submit: Submit, case: Case, attempt: Attempt) -> Generation:
    """Return the reservation for a first attempt."""
    manifest = case.catalog.manifests[submit.path]
    policy, spec = case.catalog.policy, manifest.spec
    target = policy.compute.get(spec.compute) if policy else None
    return Generation(
        admission=submit.admission,
        path=submit.path,
        blob=BlobId("") if manifest.paths else manifest.blob,
        workspace=case.surroundings.workspace,
        nodes=spec.nodes,
        gpus_per_node=target.gpus_per_node if target else 0,
        timeout=spec.timeout or 0,
        retries=case.catalog.admissions[submit.admission].grant.retries,
        gpu_hours=submit.gpu_hours,
        attempts=(attempt,),
    )


def brought_by(path: RepoPath, blob: BlobId, case: Case) -> CommitId | None:
    """Return the change on main that brought these bytes; None where main has others now."""
    there = case.catalog.snapshot.files.get(path)
    answer = case.evidence.introductions.get(path)
    if there is None or there.sha != blob or not isinstance(answer, Known):
        return None
    return answer.value.commit


def account_of(admission: Admission, commit: CommitId | None = None) -> Account:
    """Return an approved version of an admission as the ledger keeps it."""
    return Account(
        id=admission.id,
        blob=admission.blob,
        owner=admission.owner,
        expires=admission.expires,
        granted=admission.grant.gpu_hours,
        commit=commit,
    )


def proofs(submit: Submit, case: Case) -> list[Proof]:
    """Return what proved each document that the start rests on."""
    manifest = case.catalog.manifests[submit.path]
    admission = case.catalog.admissions[submit.admission]
    found = []
    for path in _rests_on(manifest, admission, case.catalog):
        answer = case.evidence.approvals.get(path)
        approval = getattr(answer, "value", None)
        if approval is None:
            continue
        by = tuple(ProvedBy(a.login, a.at, a.source, a.id) for a in approval.approvers)
        at, trusted = case.evidence.asked_at, approval.trusted
        found.append(Proof(path, approval.blob, approval.commit, approval.owners, by, at, trusted))
    return found


def _rests_on(manifest: Manifest, admission: Admission, catalog: Catalog) -> list[RepoPath]:
    owners = [catalog.owners.path] if catalog.owners else []
    return [manifest.path, admission.path, RepoPath("admissions/policy.yml"), *owners]


def _injected(
    submit: Submit, manifest: Manifest, admission: Admission, case: Case
) -> dict[str, str]:
    injected = {
        "ADMIT_RUN": submit.run,
        "ADMIT_ADMISSION": admission.id,
        "ADMIT_COMMIT": case.catalog.snapshot.commit or "",
        "ADMIT_DATASET_DIGEST": manifest.payload.dataset,
        "ADMIT_IMAGE": _image(manifest),
        "ADMIT_MODEL": admission.model,
        "ADMIT_MLFLOW_TRACKING_URI": case.surroundings.mlflow_uri,
        "ADMIT_RESULTS_URL": case.surroundings.results_url,
    }
    return {key: value for key, value in injected.items() if value}


def _image(manifest: Manifest) -> str:
    environment = manifest.spec.environment
    return environment.reference if isinstance(environment, Image) else ""

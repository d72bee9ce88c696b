"""Sound values to start a test from: one builder each, and one difference to what it returns.

Everything is the example of the design: two nodes of eight GPUs for thirty hours, admitted by
`bert-pretrain`, approved by @ada and @lin. A builder takes the fields of what it builds, and of
what is inside: `sound_manifest(name="other", nodes=4)`, `sound_admission(gpu_hours=10)`,
`sound_policy(min_gpus=8, hold=hold())`; then `job_case(manifest=..., policy=...)` fills in the
rest: documents that are all there, approved, introduced by the change before, and nothing ran yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from controller.decision.judge import Docket
from controller.decision.verdict import AdmissionCase, JobCase
from controller.documents.admission import Admission, Grant, OutOfMemory, TooSlow
from controller.documents.catalog import Catalog
from controller.documents.kinds.command import (
    CommandJob,
    DataInput,
    Distribution,
    Image,
    Output,
)
from controller.documents.manifest import Manifest
from controller.documents.owners import Owners
from controller.documents.payload import Payload, run_name
from controller.documents.policy import POLICY, Baseline, ComputeTarget, Hold, Limits, Policy
from controller.documents.snapshot import REGULAR, Blob, Snapshot
from controller.evidence.facts import (
    Answer,
    Approval,
    Approver,
    Evidence,
    Introduction,
    Known,
    MeasuredRun,
    Unavailable,
)
from controller.ledger.records import (
    DEADLINE,
    Attempt,
    Closed,
    Generation,
    Over,
    RunRecord,
)
from controller.values import (
    AdmissionId,
    BlobId,
    CommitId,
    Fingerprint,
    Location,
    Problem,
    RepoPath,
    sha256,
)

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
"""When everything was asked."""
BEFORE = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
"""When everything was introduced."""
COMMIT = CommitId("c0ffee" + "0" * 34)
BROUGHT = CommitId("1f2e3d4c5b6a" + "0" * 28)
"""The change that introduced the documents."""
HEX = "3b4c" * 16
IMAGE = f"acme.azurecr.io/train@sha256:{HEX}"
DATASET = f"sha256:{'d1' * 32}"
WORKSPACE = "local:here"
RUN = "3f2c9a"
"""The measured run in the team's MLflow."""

ADMISSION = RepoPath("admissions/bert-pretrain.md")
JOB = RepoPath("jobs/bert/pretrain.yml")
CODEOWNERS = RepoPath(".github/CODEOWNERS")


def position(line: int, column: int = 1) -> int:
    """Return a position as documents keep it."""
    return line << 20 | column


JOB_LINES: Mapping[str, int] = {
    "": 1,
    "/type": 2,
    "/name": 3,
    "/experiment_name": 4,
    "/command": 5,
    "/inputs": 6,
    "/inputs/data": 7,
    "/inputs/data/path": 7,
    "/outputs": 8,
    "/outputs/checkpoints": 9,
    "/outputs/checkpoints/path": 9,
    "/environment": 10,
    "/environment/image": 11,
    "/compute": 12,
    "/resources": 13,
    "/resources/instance_count": 13,
    "/distribution": 14,
    "/distribution/process_count_per_instance": 14,
    "/limits": 15,
    "/limits/timeout": 15,
    "/tags": 16,
    "/tags/admission": 16,
    "/tags/dataset": 16,
}
"""The lines of the design's `jobs/bert/pretrain.yml`; a field that is not there is looked up in
what it would be in, as in a file."""

ADMISSION_LINES: Mapping[str, int] = {
    "": 2,
    "/admission": 2,
    "/expires": 6,
    "/grant": 7,
    "/grant/kinds": 8,
    "/grant/jobs": 9,
    "/grant/images": 10,
    "/grant/compute": 11,
    "/grant/max_nodes": 12,
    "/grant/gpu_hours": 13,
    "/grant/retries": 14,
    "/evidence": 17,
    "/evidence/outcome": 18,
    "/evidence/run": 19,
    "/evidence/hours": 20,
    "/evidence/deadline_hours": 21,
}

POLICY_LINES: Mapping[str, int] = {"": 1, "/kinds": 4, "/compute": 8, "/hold": 10}


def command_job(**changes: Any) -> CommandJob:
    """Return a sound job, but for `changes`."""
    job = CommandJob(
        command="python -m train.train_distributed --data ${{inputs.data}} "
        "--checkpoints ${{outputs.checkpoints}} --epochs 3",
        environment=Image(IMAGE),
        compute="gpu-cluster",
        nodes=2,
        distribution=Distribution("pytorch", 8),
        timeout=108_000,
        inputs={"data": DataInput("uri_folder", "azureml:claims:7")},
        outputs={
            "checkpoints": Output(
                path="azureml://datastores/training/paths/bert-pretrain/checkpoints"
            )
        },
        environment_variables={},
        services={},
        experiment_name="claims-bert",
    )
    return replace(job, **changes)


def sound_manifest(path: str = JOB, **changes: Any) -> Manifest:
    """Return a sound manifest; `changes` may be fields of the manifest, the job or the payload.

    Its blob and its fingerprint follow from what it says.
    """
    inside, own = _split(changes, CommandJob)
    of_payload = {key: own.pop(key) for key in ("rerun", "dataset") if key in own}
    job = own.pop("spec", None) or command_job(**inside)
    payload = Payload("command", asdict(job), dataset=DATASET)
    manifest = Manifest(
        path=RepoPath(path),
        blob=blob_of(path),
        kind="command",
        name="bert-pretrain",
        admission="bert-pretrain",
        spec=job,
        payload=replace(payload, **of_payload),
        tags={},
        display_name="",
        description="",
        positions={pointer: position(line) for pointer, line in JOB_LINES.items()},
    )
    return replace(manifest, **own)


def too_slow(**changes: Any) -> TooSlow:
    """Return the claim that 410 hours miss a deadline of 96."""
    return replace(TooSlow(run=RUN, hours=410, deadline_hours=96), **changes)


def out_of_memory(**changes: Any) -> OutOfMemory:
    """Return the claim that seven billion parameters do not fit 80 GiB."""
    claim = OutOfMemory(
        run=RUN,
        parameters=7e9,
        precision="bf16_mixed",
        optimizer="adamw",
        activation_gib=12,
        peak_gib=78.5,
    )
    return replace(claim, **changes)


def sound_admission(id: str = "bert-pretrain", **changes: Any) -> Admission:  # noqa: A002
    """Return a sound admission; `changes` may be fields of the admission or of its grant."""
    inside, own = _split(changes, Grant)
    grant = Grant(
        kinds=("command",),
        jobs=("jobs/bert/*.yml",),
        images=("acme.azurecr.io/train",),
        compute=("gpu-cluster",),
        max_nodes=2,
        gpu_hours=1000,
        retries=1,
    )
    path = RepoPath(f"admissions/{id}.md")
    admission = Admission(
        path=path,
        blob=blob_of(path),
        id=AdmissionId(id),
        title="Pretrain BERT-base on the claims corpus",
        owner="@acme/nlp",
        model="claims-bert",
        expires=date(2027, 3, 31),
        grant=replace(grant, **inside),
        claim=too_slow(),
        words={},
        positions={pointer: position(line) for pointer, line in ADMISSION_LINES.items()},
    )
    return replace(admission, **own)


def target(**changes: Any) -> ComputeTarget:
    """Return a cluster of four nodes of eight GPUs, 32.77 USD an hour each."""
    cluster = ComputeTarget(
        vm_size="Standard_ND96amsr_A100_v4",
        gpus_per_node=8,
        gpu_memory_gib=80,
        max_nodes=4,
        price_per_node_hour=Decimal("32.77"),
        currency="USD",
    )
    return replace(cluster, **changes)


def baseline(**changes: Any) -> Baseline:
    """Return a baseline of one GPU."""
    one = Baseline("single-node training on Container Apps", gpus=1, gpu_memory_gib=80)
    return replace(one, **changes)


def hold(**changes: Any) -> Hold:
    """Return a hold that is in force until it is lifted."""
    return replace(Hold(reason="quota is being moved", until=None, drain=False), **changes)


def sound_policy(**changes: Any) -> Policy:
    """Return a sound policy; `changes` may be fields of the policy or of its limits."""
    inside, own = _split(changes, Limits)
    limits = Limits(
        admission_days=180, gpu_hours=2000, max_nodes=16, min_gpus=2, cancels_per_pass=3
    )
    policy = Policy(
        blob=blob_of(POLICY),
        minimum_approvals=1,
        manifest_approvals=1,
        limits=replace(limits, **inside),
        kinds=("command",),
        registries=("acme.azurecr.io",),
        code="image",
        baseline=baseline(),
        compute={"gpu-cluster": target()},
        hold=None,
        positions={pointer: position(line) for pointer, line in POLICY_LINES.items()},
    )
    return replace(policy, **own)


def sound_catalog(
    *documents: Admission | Manifest,
    policy: Policy | None = None,
    owners: Owners | None = None,
    broken: Mapping[RepoPath, tuple[Problem, ...]] | None = None,
    files: Mapping[str, str] | None = None,
    parts: Iterable[RepoPath] = (),
) -> Catalog:
    """Return the catalog of `documents`, a policy and CODEOWNERS, all of them sound.

    `files` are others of the snapshot, with their modes.
    """
    policy = policy or sound_policy()
    owners = owners or Owners(CODEOWNERS, ())
    found = {document.path: Blob(REGULAR, document.blob) for document in documents}
    found |= {POLICY: Blob(REGULAR, policy.blob), owners.path: Blob(REGULAR, blob_of(owners.path))}
    others = {RepoPath(p): Blob(mode, blob_of(p)) for p, mode in (files or {}).items()}
    return Catalog(
        snapshot=Snapshot.of(COMMIT, found | others),
        policy=policy,
        owners=owners,
        admissions={d.id: d for d in documents if isinstance(d, Admission)},
        manifests={d.path: d for d in documents if isinstance(d, Manifest)},
        broken=broken or {},
        parts=frozenset(parts),
    )


def approval(path: str, *logins: str, **changes: Any) -> Known[Approval]:
    """Return the answer that `logins` approved the bytes that `path` has here."""
    approvers = tuple(Approver(login, BEFORE, f"note-{login}") for login in logins)
    known = Approval(RepoPath(path), blob_of(path), BROUGHT, ("@acme/nlp",), approvers)
    return Known(replace(known, **changes), NOW)


def introduction(*changed: str, **changes: Any) -> Known[Introduction]:
    """Return the answer that one change, which touched `changed`, brought a document."""
    paths = tuple(RepoPath(path) for path in changed)
    return Known(replace(Introduction(BROUGHT, BEFORE, paths), **changes), NOW)


def measured(**changes: Any) -> Known[MeasuredRun | None]:
    """Return the run of 12.5 samples a second, one GPU and a peak of 78.5 GiB: 410 hours."""
    run = MeasuredRun(
        run_id=RUN,
        status="FINISHED",
        world_size=1,
        samples_per_second=12.5,
        workload_samples=18_450_000,
        peak_gib=78.5,
    )
    return Known(replace(run, **changes), NOW)


def unavailable(why: str = "the host answered 503") -> Unavailable:
    """Return the answer that there is none."""
    return Unavailable(why, NOW)


def sound_evidence(catalog: Catalog, **changes: Any) -> Evidence:
    """Return evidence that everything in `catalog` is approved, and that nothing ran yet."""
    owners = [catalog.owners.path] if catalog.owners else []
    admissions = [admission.path for admission in catalog.admissions.values()]
    paths = [POLICY, *owners, *admissions, *catalog.manifests]
    brought = introduction(*admissions, *catalog.manifests)
    policy: Answer[Policy | None] = Known(catalog.policy, NOW)
    evidence = Evidence(
        asked_at=NOW,
        approvals={path: approval(path, "@ada", "@lin") for path in paths},
        introductions=dict.fromkeys([*admissions, *catalog.manifests], brought),
        records=(),
        runs={
            run_name(m.name, m.payload.fingerprint): Known(None, NOW)
            for m in catalog.manifests.values()
        },
        measured={RUN: measured()},
        governing={id_: Known(a, NOW) for id_, a in catalog.admissions.items()},
        policy=policy,
    )
    return replace(evidence, **changes)


def attempt(number: int = 1, **changes: Any) -> Attempt:
    """Return an attempt that was reserved and submitted when everything was introduced."""
    started = Attempt(
        number=number,
        record=sha256(b"why"),
        reserved_at=BEFORE,
        deadline=BEFORE + DEADLINE,
        submitted_at=BEFORE,
    )
    return replace(started, **changes)


def record(
    manifest: Manifest | None = None,
    *,
    name: str | None = None,
    fingerprint: str | None = None,
    reserved: float = 960,
    started_at: datetime = BEFORE,
    used: float | None = None,
    attempts: tuple[Attempt, ...] | None = None,
    **changes: Any,
) -> RunRecord:
    """Return the record of a manifest's run as it is while the run is active.

    `changes` are fields of its one generation; with `used` it is settled.
    """
    manifest = manifest or sound_manifest()
    only = attempt(reserved_at=started_at, deadline=started_at + DEADLINE, submitted_at=started_at)
    ended = None
    if used is not None:
        only = replace(only, over=Over("Completed", used, exact=True))
        ended = Closed("settled", NOW, "Completed, no attempt left", used)
    generation = Generation(
        admission=AdmissionId(manifest.admission),
        path=manifest.path,
        blob=manifest.blob,
        workspace=WORKSPACE,
        nodes=manifest.spec.nodes,
        gpus_per_node=8,
        timeout=manifest.spec.timeout or 0,
        retries=1,
        gpu_hours=reserved,
        attempts=attempts or (only,),
        closed=ended,
    )
    key = Fingerprint(fingerprint or manifest.payload.fingerprint)
    return RunRecord(name or manifest.name, key, (replace(generation, **changes),))


def job_case(
    *,
    manifest: Manifest | None = None,
    admission: Admission | None = None,
    policy: Policy | None = None,
    catalog: Catalog | None = None,
    **evidence: Any,
) -> JobCase:
    """Return the case of `manifest` among sound documents; `evidence` are fields of Evidence."""
    manifest = manifest or sound_manifest()
    docket = _docket(manifest, admission, policy, catalog, evidence)
    return docket.job_case(manifest)


def admission_case(
    *,
    admission: Admission | None = None,
    policy: Policy | None = None,
    catalog: Catalog | None = None,
    **evidence: Any,
) -> AdmissionCase:
    """Return the case of `admission` among sound documents; `evidence` are fields of Evidence."""
    admission = admission or sound_admission()
    docket = _docket(sound_manifest(), admission, policy, catalog, evidence)
    return docket.admission_case(admission)


def problem(path: str, line: int = 3, message: str = "it is broken") -> Problem:
    """Return a problem of a file."""
    return Problem("wrong-type", Location(RepoPath(path), line, 1), message, "mend it")


def blob_of(path: str) -> BlobId:
    """Return the one blob id that a file at `path` has in these tests."""
    return BlobId(hashlib.sha1(path.encode()).hexdigest())


def _docket(
    manifest: Manifest,
    admission: Admission | None,
    policy: Policy | None,
    catalog: Catalog | None,
    evidence: Mapping[str, Any],
) -> Docket:
    policy = policy or sound_policy()
    admission = admission or sound_admission()
    catalog = catalog or sound_catalog(admission, manifest, policy=policy)
    return Docket.of(catalog, policy, sound_evidence(catalog, **evidence))


def _split(changes: Mapping[str, Any], of: type[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell the changes that are fields of `of` from the others."""
    names = {field.name for field in fields(of)}
    inside = {key: value for key, value in changes.items() if key in names}
    return inside, {key: value for key, value in changes.items() if key not in names}

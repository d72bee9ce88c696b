"""The repository's own admission, policy, job and CODEOWNERS are sound and fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.documents.admission import (
    MINIMUM_WORDS,
    SECTIONS,
    Admission,
    TooSlow,
    read_admission,
)
from controller.documents.owners import PLACES, kind_of_owner, read_owners
from controller.documents.policy import POLICY, Policy, read_policy
from controller.documents.shape import schema
from controller.documents.snapshot import REGULAR, Blob
from controller.values import BlobId, RepoPath

ROOT = Path(__file__).resolve().parents[2]
ADMISSION = RepoPath("admissions/bert-pretrain.md")
JOB = RepoPath("jobs/bert/pretrain.yml")


def blob(path: RepoPath) -> Blob:
    return Blob(REGULAR, BlobId("b" * 40), (ROOT / path).read_bytes())


def admission() -> Admission:
    found = read_admission(ADMISSION, blob(ADMISSION))
    assert isinstance(found, Admission), found
    return found


def policy() -> Policy:
    found = read_policy(blob(POLICY))
    assert isinstance(found, Policy), found
    return found


def test_the_admission_is_sound_and_says_why_at_length() -> None:
    assert set(admission().words) == set(SECTIONS)
    assert min(admission().words.values()) >= 2 * MINIMUM_WORDS
    assert isinstance(admission().claim, TooSlow)


def test_the_policy_allows_what_the_admission_grants() -> None:
    grant, limits = admission().grant, policy().limits
    assert grant.max_nodes <= limits.max_nodes
    assert grant.gpu_hours <= limits.gpu_hours
    assert set(grant.kinds) <= set(policy().kinds)
    assert set(grant.compute) <= set(policy().compute)
    assert {image.split("/")[0] for image in grant.images} <= set(policy().registries)


def test_the_job_is_sound_and_its_worst_case_is_what_the_justification_says() -> None:
    from controller.documents.manifest import Manifest, read_manifest

    manifest = read_manifest(JOB, blob(JOB))
    assert isinstance(manifest, Manifest), manifest
    job, grant, target = manifest.spec, admission().grant, policy().compute["gpu-cluster"]
    assert (manifest.admission, manifest.name) == (admission().id, "bert-pretrain")
    assert grant.allows_job(JOB)
    assert (job.nodes, job.timeout, job.compute) == (2, 30 * 3600, "gpu-cluster")
    assert job.environment.reference.split("@")[0] in grant.images
    assert job.distribution is not None
    assert job.distribution.processes == target.gpus_per_node
    node_hours = job.nodes * 30 * (1 + grant.retries)
    assert node_hours * target.gpus_per_node == 960 <= grant.gpu_hours
    price = target.price_per_node_hour * node_hours
    assert f"{price:,.2f} {target.currency}" == "3,932.40 USD"
    assert "960 GPU hours and 3,932.40 USD" in (ROOT / ADMISSION).read_text("utf-8")


def test_every_part_of_the_gate_has_owners() -> None:
    owners = read_owners(PLACES[0], blob(PLACES[0]))
    assert owners.problems == ()
    for path in (ADMISSION, POLICY, JOB, *PLACES, ".github/workflows/x.yml", "controller/cli.py"):
        found = owners.of(path)
        assert found
        assert {kind_of_owner(owner) for owner in found} == {"team"}
    assert admission().owner in (owners.of(JOB) or ())


@pytest.mark.parametrize(
    ("path", "line", "name"), [(ADMISSION, 1, "admission"), (POLICY, 0, "policy")]
)
def test_editors_find_the_schema(path: RepoPath, line: int, name: str) -> None:
    first = (ROOT / path).read_text("utf-8").splitlines()[line]
    comment, _, relative = first.partition("$schema=")
    assert comment == "# yaml-language-server: "
    file = (ROOT / path).parent / relative
    assert file.resolve() == ROOT / "controller/documents/schemas" / f"{name}.schema.json"


def test_the_page_names_every_field_section_and_bound() -> None:
    page = (ROOT / "admissions" / "README.md").read_text("utf-8")
    published = schema("admission")
    fields = [*published["properties"], *published["properties"]["grant"]["properties"]]
    for claim in ("too_slow", "out_of_memory"):
        fields += published["$defs"][claim]["properties"]
    memory = published["$defs"]["out_of_memory"]["properties"]
    fields += [*memory["precision"]["enum"], *memory["optimizer"]["enum"], "too_slow"]
    assert [field for field in fields if f"`{field}`" not in page] == []
    assert [title for title in SECTIONS if f"`## {title}`" not in page] == []
    assert f"at least {MINIMUM_WORDS} words" in page

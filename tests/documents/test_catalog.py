"""The catalog: what one commit says, and what is broken beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest

from controller.documents.catalog import Catalog, is_document, read_catalog
from controller.documents.policy import POLICY
from controller.documents.snapshot import Blob, Snapshot
from controller.values import BlobId, Location, Problem, RepoPath

WORDS = "because the measured run on one node misses the date by far, as the table shows in full. "
ADMISSION = """\
---
admission: {id}
title: Pretrain
owner: "@acme/nlp"
model: claims-bert
expires: 2027-03-31
grant:
  kinds: [command]
  jobs: ["jobs/*.yml"]
  images: [acme.azurecr.io/train]
  compute: [gpu-cluster]
  max_nodes: 2
  gpu_hours: 1000
  retries: 1
evidence: {{outcome: too_slow, run: "runs:/3f2c", hours: 410, deadline_hours: 96}}
---
""" + "".join(
    f"## {title}\n{WORDS * 3}\n"
    for title in (
        "Why one node is not enough",
        "What was measured",
        "Alternatives considered",
        "Cost and stop condition",
    )
)
POLICY_TEXT = """\
version: 1
approvals: {minimum: 1, manifests: 1}
limits: {admission_days: 180, gpu_hours: 2000, max_nodes: 16, min_gpus: 2, cancels_per_pass: 3}
kinds: [command]
registries: [acme.azurecr.io]
code: image
baseline: {name: one node, gpus: 1, gpu_memory_gib: 80}
compute:
  gpu-cluster:
    {vm_size: V, gpus_per_node: 8, gpu_memory_gib: 80, max_nodes: 4,
     price_per_node_hour: 3, currency: USD}
hold: null
"""
JOB = "name: {name}\ncommand: python train.py\nenvironment: {{image: acme.azurecr.io/t:1}}\n"


def blob(content: str, mode: str = "100644") -> Blob:
    raw = content.encode()
    return Blob(mode, BlobId(hashlib.sha1(raw, usedforsecurity=False).hexdigest()), raw)


def job(extra: str = "", name: str = "t1") -> str:
    return JOB.format(name=name) + extra


def snapshot(files: Mapping[str, str | Blob]) -> Snapshot:
    blobs = {
        RepoPath(path): blob(content) if isinstance(content, str) else content
        for path, content in files.items()
    }
    return Snapshot.of(None, blobs)


def catalog(files: Mapping[str, str | Blob]) -> Catalog:
    return read_catalog(snapshot(files))


def broken(found: Catalog) -> dict[str, list[tuple[int, str]]]:
    return {
        path: [(problem.where.line, problem.code) for problem in problems]
        for path, problems in found.broken.items()
    }


def messages(found: Catalog, path: str) -> list[str]:
    return [f"{p.message}; {p.remedy}" for p in found.broken[RepoPath(path)]]


def test_everything_sound_is_in_the_catalog() -> None:
    found = catalog(
        {
            "admissions/bert.md": ADMISSION.format(id="bert"),
            "admissions/README.md": "not an admission",
            "admissions/old/bert.md": "not an admission either",
            "admissions/policy.yml": POLICY_TEXT,
            ".github/CODEOWNERS": "* @ada\n",
            "jobs/a.yml": job(name="a"),
            "jobs/deep/down/b.yaml": job(name="b"),
            "jobs/notes.txt": "no job",
            "src/c.yml": "no job",
        }
    )
    assert broken(found) == {}
    assert list(found.admissions) == ["bert"]
    assert {path: m.name for path, m in found.manifests.items()} == {
        "jobs/a.yml": "a",
        "jobs/deep/down/b.yaml": "b",
    }
    assert found.policy is not None
    assert found.owners is not None
    assert found.owners.of("jobs/a.yml") == ("@ada",)
    assert found.parts == frozenset()


def test_an_empty_commit_says_nothing() -> None:
    found = catalog({})
    assert (found.policy, found.owners) == (None, None)
    assert (found.admissions, found.manifests, found.broken) == ({}, {}, {})


def test_a_broken_file_hides_no_other() -> None:
    found = catalog(
        {
            "admissions/bert.md": "no front matter",
            "admissions/gpt.md": ADMISSION.format(id="gpt"),
            "admissions/policy.yml": "version: 2\n",
            "jobs/a.yml": "a: b\n",
            "jobs/b.yml": job("status: Running\n"),
            "jobs/c.yml": job(),
        }
    )
    assert list(found.admissions) == ["gpt"]
    assert list(found.manifests) == ["jobs/c.yml"]
    assert found.policy is None
    assert set(found.broken) == {"admissions/bert.md", POLICY, "jobs/a.yml", "jobs/b.yml"}
    assert broken(found)["jobs/b.yml"] == [(4, "read-only-field")]


@pytest.mark.parametrize(
    "first, second",
    [
        (".github/CODEOWNERS", "CODEOWNERS"),
        (".github/CODEOWNERS", "docs/CODEOWNERS"),
        ("CODEOWNERS", "docs/CODEOWNERS"),
    ],
)
def test_the_first_codeowners_counts(first: str, second: str) -> None:
    owners = catalog({second: "* @second\n", first: "* @first\n"}).owners
    assert owners is not None
    assert (owners.path, owners.of("a")) == (first, ("@first",))


def test_the_first_codeowners_counts_even_if_it_cannot_be_read() -> None:
    owners = catalog(
        {".github/CODEOWNERS": Blob("100644", BlobId("a" * 40)), "CODEOWNERS": "* @a\n"}
    ).owners
    assert owners is not None
    assert owners.of("a") is None
    assert [problem.code for problem in owners.problems] == ["too-large"]


@pytest.mark.parametrize(
    "path", ["jobs/a.yml", "jobs/b/c.yaml", "admissions/a.md", POLICY, "CODEOWNERS"]
)
def test_a_document_needs_its_content(path: str) -> None:
    assert is_document(path)


@pytest.mark.parametrize(
    "path",
    ["jobs/a.md", "a.yml", "admissions/a/b.md", "admissions/README.md", "admissions/a.yml", "jobs"],
)
def test_what_is_no_document_needs_none(path: str) -> None:
    assert not is_document(path)


@pytest.mark.parametrize("mode", ["120000", "160000"])
@pytest.mark.parametrize("path", ["jobs/a.yml", "admissions/a.md", POLICY])
def test_a_link_is_no_document(path: str, mode: str) -> None:
    found = catalog({path: blob("../elsewhere", mode)})
    assert broken(found) == {path: [(0, "not-a-file")]}
    assert f"mode {mode}" in messages(found, path)[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [("jobs/a.yml", job()), ("admissions/a.md", ADMISSION.format(id="a")), (POLICY, POLICY_TEXT)],
)
def test_an_executable_document_is_refused_because_nobody_can_approve_it(
    path: str, text: str
) -> None:
    (problem,) = catalog({path: blob(text, "100755")}).broken[RepoPath(path)]
    assert problem == Problem(
        "not-a-file",
        Location(RepoPath(path)),
        "the file is executable (mode 100755), so that nobody can approve it",
        f"run `chmod -x {path}`, or `git update-index --chmod=-x {path}`",
    )


@pytest.mark.parametrize("path", ["jobs/a.yml", "admissions/a.md", POLICY])
def test_a_document_without_its_bytes_is_broken(path: str) -> None:
    found = catalog({path: Blob("100644", BlobId("a" * 40))})
    assert broken(found) == {path: [(0, "too-large")]}


@pytest.mark.parametrize(
    "one, other",
    [
        ("jobs/a.yml", "jobs/A.yml"),
        ("jobs/x/a.yml", "jobs/X/a.yml"),
        ("admissions/a.md", "admissions/A.md"),
        ("jobs/ä.yml", "jobs/a\u0308.yml"),
        ("jobs/straße.yml", "jobs/strasse.yml"),
    ],
)
def test_names_that_differ_in_letter_case_only_are_both_refused(one: str, other: str) -> None:
    found = catalog({one: job(), other: job(name="t2"), "jobs/c.yml": job(name="t3")})
    assert list(found.manifests) == ["jobs/c.yml"]
    for path, twin in ((one, other), (other, one)):
        said = f"the file's name is that of `{twin}` but for the letter case"
        assert any(message.startswith(said) for message in messages(found, path))


def test_a_second_policy_in_another_case_takes_the_first_one_out() -> None:
    found = catalog({POLICY: POLICY_TEXT, "admissions/Policy.yml": POLICY_TEXT})
    assert found.policy is None
    assert broken(found)[POLICY] == [(0, "bad-name")]


@pytest.mark.parametrize(
    "path", ["jobs/a.YML", "jobs/a.Yaml", "admissions/a.MD", "admissions/POLICY.yml"]
)
def test_a_name_that_ends_in_capitals_is_not_passed_over(path: str) -> None:
    found = catalog({path: job()})
    assert broken(found) == {path: [(0, "bad-name")]}
    assert "lower case" in messages(found, path)[0]


@pytest.mark.parametrize(
    "path, character",
    [
        ("jobs/a\u200b.yml", "U+200B ZERO WIDTH SPACE"),
        ("jobs/a\u202e.yml", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("jobs/a\n.yml", "U+000A"),
        ("jobs/a\u00a0b.yml", "U+00A0 NO-BREAK SPACE"),
        ("jobs/a\udcff.yml", "U+DCFF"),
        ("admissions/a\u2066.md", "U+2066"),
    ],
)
def test_a_name_that_cannot_be_seen_is_refused(path: str, character: str) -> None:
    found = catalog({path: job()})
    assert not found.manifests
    assert "invisible-character" in {problem.code for problem in found.broken[RepoPath(path)]}
    assert any(character in message for message in messages(found, path))


def test_a_name_in_another_script_is_a_name() -> None:
    assert list(catalog({"jobs/训练.yml": job()}).manifests) == ["jobs/训练.yml"]


def test_the_problems_of_a_name_and_of_a_file_are_said_together() -> None:
    found = catalog({"jobs/a\u200b.yml": "type: sweep\n"})
    assert broken(found) == {
        "jobs/a\u200b.yml": [(0, "invisible-character"), (1, "unsupported-kind")]
    }

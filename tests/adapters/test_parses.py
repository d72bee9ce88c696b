from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from controller import documents
from controller.adapters import parses as module
from controller.adapters.git import Git
from controller.adapters.parses import NAME, FileParses, _header
from controller.documents.catalog import is_document, read_catalog
from controller.documents.manifest import Manifest, read_manifest
from controller.documents.snapshot import Blob
from controller.values import BlobId
from tests.adapters.scratch import Scratch, path

JOB = """\
type: command
name: {name}
command: echo ${{{{inputs.lr}}}}
inputs: {{lr: 0.1}}
environment:
  image: acme.azurecr.io/train@sha256:{digest}
compute: azureml:gpu-cluster
limits: {{timeout: 60}}
tags: {{admission: a, owner: "ü"}}
"""


def text(name: str) -> str:
    return JOB.format(name=name, digest="0" * 64)


def manifest(repo: Scratch, name: str) -> Manifest:
    sha = repo.run("hash-object", "--stdin", stdin=text(name).encode())
    found = read_manifest(
        path(f"jobs/{name}.yml"), Blob("100644", BlobId(sha), text(name).encode())
    )
    assert isinstance(found, Manifest)
    return found


@pytest.fixture
def kept(repo: Scratch) -> Manifest:
    """A manifest that is in the file."""
    made = manifest(repo, "a")
    parses = FileParses(repo.adapter)
    parses.put(made)
    assert parses.save()
    return made


def file_of(repo: Scratch) -> Path:
    return repo.adapter.private_path(NAME)


def test_what_was_put_comes_back_equal_under_any_path(repo: Scratch, kept: Manifest) -> None:
    parses = FileParses(repo.adapter)
    assert kept.blob in parses
    assert parses.get(kept.path, kept.blob) == kept
    elsewhere = path("jobs/elsewhere.yml")
    assert parses.get(elsewhere, kept.blob) == replace(kept, path=elsewhere)
    assert "0" * 40 not in parses
    assert parses.get(kept.path, BlobId("0" * 40)) is None


def test_it_lies_in_the_git_directory_where_no_commit_can_bring_it(
    repo: Scratch, kept: Manifest
) -> None:
    assert file_of(repo) == repo.root / ".git" / NAME
    assert stat.S_IMODE(file_of(repo).stat().st_mode) == 0o600
    assert repo.run("status", "--porcelain", "--ignored") == ""
    repo.commit({"x": "1"})
    repo.run("worktree", "add", "--quiet", str(repo.root.parent / "other"))
    other = Git(repo.root.parent / "other")
    assert other.private_path(NAME).is_relative_to(repo.root / ".git")


def test_a_catalog_read_with_it_is_the_one_read_without(repo: Scratch) -> None:
    repo.commit({f"jobs/{name}.yml": text(name) for name in ("a", "b")})
    repo.commit({"jobs/broken.yml": "type: command\n"})
    plain = read_catalog(repo.adapter.snapshot("HEAD", is_document))
    for _ in range(2):
        parses = FileParses(repo.adapter)
        snapshot = repo.adapter.snapshot("HEAD", is_document, parses)
        catalog = read_catalog(snapshot, parses)
        assert parses.save()
        assert catalog.manifests == plain.manifests
        assert catalog.broken == plain.broken
    assert snapshot.files[path("jobs/a.yml")].content is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"gpu-cluster", b"gpu-clusteR"),
        lambda content: content + b"x",
        lambda content: b"\xff\x00" * 100,
        lambda content: content.replace(b"admit parses ", b"admit parses 9"),
        lambda content: content.split(b"\n", 1)[1],
    ],
)
def test_whatever_is_damaged_was_never_there_and_is_written_anew(
    repo: Scratch, kept: Manifest, damage: object
) -> None:
    assert callable(damage)
    file_of(repo).write_bytes(damage(file_of(repo).read_bytes()))
    parses = FileParses(repo.adapter)
    assert kept.blob not in parses
    assert parses.get(kept.path, kept.blob) is None
    parses.put(kept)
    assert parses.save()
    assert FileParses(repo.adapter).get(kept.path, kept.blob) == kept


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"null",
        b"{",
        b'[0,[],{"kind":"sweep"}]',
        b"[99,[],{}]",
        b'[0,[1],{"kind":"command"}]',
        b"[" * 10_000,
    ],
)
def test_a_sound_file_with_a_line_that_means_nothing_is_a_miss(
    repo: Scratch, kept: Manifest, line: bytes
) -> None:
    body = b"[[]]\n%s\t%s\n" % (kept.blob.encode(), line)
    file_of(repo).write_bytes(module._header(body) + body)
    parses = FileParses(repo.adapter)
    assert kept.blob not in parses
    assert parses.get(kept.path, kept.blob) is None


def test_another_version_of_the_program_forgets_it(
    repo: Scratch, kept: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "__version__", "9.9")
    assert kept.blob not in FileParses(repo.adapter)


def test_a_program_that_was_edited_forgets_it(
    repo: Scratch, kept: Manifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "documents"
    source.mkdir()
    (source / "manifest.py").write_text("one")
    monkeypatch.setattr(documents, "__path__", [str(source)])
    parses = FileParses(repo.adapter)
    parses.put(kept)
    parses.save()
    assert kept.blob in FileParses(repo.adapter)
    (source / "manifest.py").write_text("other")
    assert kept.blob not in FileParses(repo.adapter)


def test_nothing_new_writes_nothing(repo: Scratch, kept: Manifest) -> None:
    os.utime(file_of(repo), (1, 1))
    parses = FileParses(repo.adapter)
    parses.get(kept.path, kept.blob)
    assert parses.save()
    assert file_of(repo).stat().st_mtime == 1


def test_what_no_commit_uses_is_dropped_when_it_grows(
    repo: Scratch, kept: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SPARE", 1)
    names = ("b", "c", "d")
    made = {name: manifest(repo, name) for name in names}
    for name in names:
        parses = FileParses(repo.adapter)
        parses.put(made[name])
        parses.save()
    parses = FileParses(repo.adapter)
    assert [made[name].blob in parses for name in names] == [False, False, True]
    assert kept.blob not in parses
    assert parses.get(made["d"].path, made["d"].blob) == made["d"]


def test_a_file_that_is_too_large_is_neither_read_nor_written(
    repo: Scratch, kept: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMIT", 100)
    parses = FileParses(repo.adapter)
    assert kept.blob not in parses
    parses.put(kept)
    before = file_of(repo).read_bytes()
    assert not parses.save()
    assert file_of(repo).read_bytes() == before


def test_where_nothing_can_be_written_the_work_goes_on(repo: Scratch) -> None:
    (repo.root / ".git/admit").write_text("in the way")
    parses = FileParses(repo.adapter)
    made = manifest(repo, "a")
    parses.put(made)
    assert parses.get(made.path, made.blob) == made
    assert not parses.save()
    assert list((repo.root / ".git").glob("**/parses.*")) == []


def test_outside_a_repository_nothing_is_remembered(tmp_path: Path) -> None:
    parses = FileParses(Git(tmp_path))
    assert "0" * 40 not in parses
    assert parses.save()


@pytest.mark.parametrize("first", ["[" * 100_000, "null", "5", "[1]", "[null]", "[[[]]]"])
def test_a_first_line_that_lists_no_pointers_is_nothing(repo: Scratch, first: str) -> None:
    file = repo.adapter.private_path(NAME)
    file.parent.mkdir(parents=True, exist_ok=True)
    body = first.encode() + b"\n" + b"0" * 40 + b"\t[0,[],{}]\n"
    file.write_bytes(_header(body) + body)
    parses = FileParses(repo.adapter)
    made = manifest(repo, "a")
    assert BlobId("0" * 40) not in parses
    assert parses.get(made.path, BlobId("0" * 40)) is None
    parses.put(made)
    assert parses.save()
    assert FileParses(repo.adapter).get(made.path, made.blob) == made

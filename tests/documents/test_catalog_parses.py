"""What is remembered of manifests saves work and decides nothing."""

from __future__ import annotations

from test_catalog import blob, broken, job, snapshot

from controller.documents.catalog import read_catalog
from controller.documents.manifest import Manifest, from_data, to_data
from controller.documents.snapshot import Blob
from controller.values import BlobId, RepoPath


class Remembered:
    """Parses kept as JSON, by blob id."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, object]] = {}
        self.asked: list[str] = []

    def get(self, path: RepoPath, blob: BlobId) -> Manifest | None:
        self.asked.append(path)
        found = self.kept.get(blob)
        return None if found is None else from_data(path, blob, found)

    def put(self, manifest: Manifest) -> None:
        self.kept[manifest.blob] = to_data(manifest)


def test_what_is_remembered_is_not_parsed_again() -> None:
    files: dict[str, str | Blob] = {
        "jobs/a.yml": job("code: src\n"),
        "jobs/b.yml": "a: b\n",
        "jobs/src/train.py": "pass",
    }
    parses = Remembered()
    first = read_catalog(snapshot(files), parses)
    assert list(parses.kept) == [blob(job("code: src\n")).sha]
    unread = Blob("100644", blob(job("code: src\n")).sha)
    again = read_catalog(snapshot({**files, "jobs/a.yml": unread}), parses)
    assert again.manifests == first.manifests
    assert again.broken == first.broken
    assert parses.asked == ["jobs/a.yml", "jobs/b.yml"] * 2


def test_what_is_remembered_at_one_path_is_known_at_another() -> None:
    parses = Remembered()
    read_catalog(snapshot({"jobs/a.yml": job()}), parses)
    (manifest,) = read_catalog(snapshot({"jobs/x/b.yml": job()}), parses).manifests.values()
    assert (manifest.path, manifest.locate("/name").path) == ("jobs/x/b.yml", "jobs/x/b.yml")


def test_a_remembered_manifest_is_checked_against_the_commit() -> None:
    parses = Remembered()
    read_catalog(snapshot({"jobs/a.yml": job("code: src\n"), "jobs/src/train.py": "pass"}), parses)
    found = read_catalog(snapshot({"jobs/a.yml": job("code: src\n")}), parses)
    assert broken(found) == {"jobs/a.yml": [(4, "missing-path")]}


def test_a_link_is_refused_whatever_is_remembered() -> None:
    parses = Remembered()
    read_catalog(snapshot({"jobs/a.yml": job()}), parses)
    found = read_catalog(snapshot({"jobs/a.yml": blob(job(), "120000")}), parses)
    assert broken(found) == {"jobs/a.yml": [(0, "not-a-file")]}

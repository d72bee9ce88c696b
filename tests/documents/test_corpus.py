"""Real job files of others, where they lie beside the repository: each fix is named."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest

from controller.documents.manifest import Manifest, read_manifest
from controller.documents.snapshot import Blob
from controller.values import BlobId, Problem, RepoPath

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "azureml"
LEGACY = "legacy-or-invalid-schema"
FIXES = {
    "command-004": ["write `compute: azureml:<name>`", "write `process_count_per_instance`"],
    "command-005": ["write `compute: azureml:<name>`", "`code: ./src`", "under `environment`"],
    "command-008": ["write `compute: azureml:<name>`", "`code: ./src`"],
    "command-011": ["write `compute: azureml:<name>`"],
    "command-012": ["`worker_count`"],
    "command-014": ["write `process_count_per_instance`", "add `type`"],
    "command-015": ["write `pytorch`"],
    "command-029": ["write `compute: azureml:<name>`"],
    "command-031": ["supported: `command`"],
    "command-032": ["write `${{inputs.test1}}`", "write `path: azureml:<name>:<version>`"],
    "command-037": ["write `type`"],
    "command-039": ["under `environment`"],
    "command-041": ["under `environment`"],
    "command-043": ["`code: ./src`"],
}
"""What the file of that number must be told, among the rest."""


def files() -> list[tuple[str, str, str]]:
    with (CORPUS / "corpus.csv").open(newline="") as content:
        return [(row["file"], row["kind"], row["sdk_class"]) for row in csv.DictReader(content)]


FILES = files()


def read(file: str, content: bytes | None = None) -> Manifest | tuple[Problem, ...]:
    raw = (CORPUS / file).read_bytes() if content is None else content
    return read_manifest(RepoPath(f"jobs/{file}"), Blob("100644", BlobId("0" * 40), raw))


def verdict(found: Manifest | tuple[Problem, ...]) -> list[tuple[str, int]] | str:
    if isinstance(found, Manifest):
        return found.payload.fingerprint
    return [(problem.code, problem.where.line) for problem in found]


@pytest.mark.parametrize("file, kind, sdk", FILES)
def test_a_real_file_is_read_in_no_time_and_in_one_way(file: str, kind: str, sdk: str) -> None:
    started = time.perf_counter()
    found = read(file)
    assert time.perf_counter() - started < 1
    content = (CORPUS / file).read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    for other in (content, content.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + content):
        assert verdict(read(file, other)) == verdict(found)


@pytest.mark.parametrize(
    "file", [file for file, kind, sdk in FILES if kind == "command" and sdk.startswith("loads")]
)
def test_a_command_that_azure_loads_is_sound(file: str) -> None:
    found = read(file)
    if file.startswith("command-007"):  # its environment is another file, which is not followed
        assert verdict(found) == [("bad-value", 11)]
    else:
        assert isinstance(found, Manifest), found


@pytest.mark.parametrize("file, kind, sdk", [row for row in FILES if row[1] != "command"])
def test_another_kind_is_refused_by_name(file: str, kind: str, sdk: str) -> None:
    found = read(file)
    assert not isinstance(found, Manifest)
    codes = {problem.code for problem in found}
    assert codes & {"unsupported-kind", "yaml-syntax"}, found


@pytest.mark.parametrize("file, kind, sdk", FILES)
def test_every_problem_has_a_line_and_a_fix(file: str, kind: str, sdk: str) -> None:
    found = read(file)
    for problem in () if isinstance(found, Manifest) else found:
        assert problem.where.line > 0
        assert problem.remedy


@pytest.mark.parametrize("number, fixes", FIXES.items())
def test_an_old_dialect_is_told_what_replaced_it(number: str, fixes: list[str]) -> None:
    (file,) = [file for file, _, _ in FILES if file.startswith(number)]
    found = read(file)
    assert not isinstance(found, Manifest)
    remedies = " | ".join(problem.remedy for problem in found)
    for fix in fixes:
        assert fix in remedies


@pytest.mark.parametrize("file", [file for file, _, sdk in FILES if sdk == "yaml-unparsable"])
def test_what_is_no_yaml_has_a_line_and_a_column(file: str) -> None:
    found = read(file)
    assert not isinstance(found, Manifest)
    assert [problem.code for problem in found] == ["yaml-syntax"]
    assert found[0].where.column > 0

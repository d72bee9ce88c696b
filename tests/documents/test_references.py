"""What a job refers to in its commit: it is there, and it is in the fingerprint."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from test_catalog import blob, broken, catalog, job, messages, snapshot

from controller.documents.references import code_digests
from controller.documents.snapshot import Blob


@pytest.mark.parametrize(
    "extra, line, field, place",
    [
        ("code: ./nope\n", 4, "code", "jobs/nope"),
        ("code: ../nope\n", 4, "code", "nope"),
        ("inputs:\n  d: {path: ./nope}\n", 5, "inputs.d.path", "jobs/nope"),
        ("inputs:\n  d:\n    path: file:nope\n", 6, "inputs.d.path", "jobs/nope"),
    ],
)
def test_a_path_that_is_not_there_is_named_where_it_is_written(
    extra: str, line: int, field: str, place: str
) -> None:
    found = catalog({"jobs/a.yml": job(extra), "jobs/src/train.py": "pass", "jobs/b.yml": job()})
    assert broken(found) == {"jobs/a.yml": [(line, "missing-path")]}
    (message,) = messages(found, "jobs/a.yml")
    assert message.startswith(f"`{field}` is `")
    assert f"there is no `{place}` in this commit" in message
    assert list(found.manifests) == ["jobs/b.yml"]


def test_every_missing_path_of_a_file_is_named() -> None:
    content = (
        "command: a\nenvironment:\n  build: {path: docker}\ncode: src\n"
        "inputs: {d: {path: data}, e: {path: here}}\n"
    )
    conda = "command: a\nenvironment:\n  image: i\n  conda_file: env.yml\n"
    found = catalog({"jobs/a.yml": content, "jobs/b.yml": conda, "jobs/here/x": ""})
    assert broken(found) == {
        "jobs/a.yml": [(3, "missing-path"), (4, "missing-path"), (5, "missing-path")],
        "jobs/b.yml": [(4, "missing-path")],
    }


@pytest.mark.parametrize(
    "path", ["..", "../..", "../../x", "/etc", "./src", "src/", "src/train.py"]
)
def test_what_is_there_or_outside_is_a_rule_s_to_judge(path: str) -> None:
    found = catalog({"jobs/a.yml": job(f"code: {path}\n"), "jobs/src/train.py": "pass"})
    assert list(found.manifests) == ["jobs/a.yml"]


CODE = {"jobs/src/train.py": "pass", "jobs/src/lib/a.py": "a", "jobs/srcs.py": "no"}


def code(files: Mapping[str, str | Blob], extra: str = "code: ./src\n") -> str | None:
    (manifest,) = catalog({"jobs/a.yml": job(extra), **files}).manifests.values()
    return manifest.payload.code


def test_the_code_tree_is_in_the_payload() -> None:
    files: dict[str, str | Blob] = {**CODE}
    assert code(files) == code_digests(snapshot(files), ["jobs/src"])["jobs/src"]
    assert code(files, "") is None
    assert code(files, "code: azureml:c:1\n") is None
    assert code(files, "code: ..\n") is not None
    assert code(files, "code: ../..\n") is None


@pytest.mark.parametrize(
    "change",
    [
        {"jobs/src/train.py": "pass\n"},
        {"jobs/src/train.py": blob("pass", "100755")},
        {"jobs/src/new.py": ""},
        {"jobs/src/lib/a.py": blob("a", "120000")},
    ],
)
def test_any_change_of_the_code_is_another_payload(change: Mapping[str, str | Blob]) -> None:
    assert code({**CODE, **change}) != code({**CODE})


@pytest.mark.parametrize(
    "change", [{"jobs/srcs.py": "x"}, {"jobs/src.py": ""}, {"jobs/src-b/a": ""}]
)
def test_what_is_beside_the_code_is_no_part_of_it(change: Mapping[str, str]) -> None:
    assert code({**CODE, **change}) == code({**CODE})


def test_the_same_code_elsewhere_has_the_same_digest() -> None:
    files = snapshot({"a/x.py": "1", "b/x.py": "1", "c/y.py": "1"})
    digests = code_digests(files, ["a", "b", "c", "a/x.py", ""])
    assert digests["a"] == digests["b"]
    assert len(set(digests.values())) == 3  # `a/x.py` alone is what `a` has


def test_local_data_and_environments_are_in_the_payload_too() -> None:
    files = {"jobs/src/a.py": "a", "jobs/data/x": "1"}
    extra = "code: src\ninputs: {d: {path: data}}\n"
    assert code(files, extra) != code(files)
    assert code(files, extra) != code({**files, "jobs/data/x": "2"}, extra)
    assert code(files, extra) != code({**files, "jobs/src/a.py": "b"}, extra)
    assert code(files, "inputs: {d: {path: data}}\n") is not None


def test_two_jobs_of_one_folder_have_one_digest() -> None:
    found = catalog({"jobs/a.yml": job("code: src\n"), "jobs/b.yml": job("code: ./src\n"), **CODE})
    one, other = (manifest.payload.code for manifest in found.manifests.values())
    assert one == other != None  # noqa: E711

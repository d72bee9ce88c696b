from __future__ import annotations

from pathlib import Path

import pytest

from controller.adapters.git import Git
from controller.adapters.git_objects import LIMIT
from controller.adapters.git_process import (
    GitFailedError,
    NotARepositoryError,
    Runner,
    UnknownRevisionError,
)
from controller.documents.snapshot import Blob
from controller.values import BlobId
from tests.adapters.scratch import Scratch, path


def everything(_: str) -> bool:
    return True


def nothing(_: str) -> bool:
    return False


# What a revision is


def test_a_branch_a_tag_and_a_short_id_name_the_same_commit(repo: Scratch) -> None:
    commit = repo.commit({"a": "1"})
    repo.run("tag", "-a", "v1", "-m", "one")
    names = ("main", "v1", "HEAD", commit[:9], "main@{0}")
    assert {repo.adapter.resolve(name) for name in names} == {commit}


@pytest.mark.parametrize(
    "rev",
    [
        "",
        "-h",
        "--all",
        "gone",
        "HEAD^",
        "^HEAD",
        "HEAD..HEAD",
        "HEAD:a",
        "a\0b",
        "0" * 40,
        "HEAD\n",
    ],
)
def test_what_names_no_commit_is_refused_with_a_remedy(repo: Scratch, rev: str) -> None:
    repo.commit({"a": "1"})
    with pytest.raises(UnknownRevisionError, match="names no commit") as error:
        repo.adapter.resolve(rev)
    assert "git fetch" in error.value.remedy


def test_a_folder_that_is_no_repository_is_named(tmp_path: Path, repo: Scratch) -> None:
    with pytest.raises(
        NotARepositoryError, match="cannot be read as a git work tree: fatal: not a"
    ):
        Git(tmp_path).resolve("HEAD")
    with pytest.raises(NotARepositoryError, match="is not a folder"):
        Git(tmp_path / "gone").resolve("HEAD")


def test_a_folder_below_the_root_stands_for_the_whole_repository(repo: Scratch) -> None:
    repo.commit({"jobs/a.yml": "1"})
    below = Git(repo.root / "jobs")
    assert below.root == repo.root
    assert list(below.snapshot("HEAD", nothing).files) == ["jobs/a.yml"]
    assert list(below.worktree(nothing).files) == ["jobs/a.yml"]


def test_the_main_line_is_the_remote_one_where_there_is_one(repo: Scratch) -> None:
    with pytest.raises(UnknownRevisionError, match="neither `origin/main` nor `main`"):
        repo.adapter.default_base()
    repo.commit({"a": "1"})
    assert repo.adapter.default_base() == repo.adapter.resolve("main")
    repo.run("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.commit({"a": "2"})
    assert repo.adapter.default_base() == repo.adapter.resolve("origin/main")


def test_remotes_are_named(repo: Scratch) -> None:
    assert repo.adapter.remotes() == ()
    for name in ("upstream", "origin"):
        repo.run("remote", "add", name, f"https://example.com/{name}")
    assert repo.adapter.remotes() == ("origin", "upstream")


def test_git_sees_neither_another_callers_repository_nor_replaced_objects(
    repo: Scratch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit = repo.commit({"a": "true\n"})
    other = repo.run("hash-object", "-w", "--stdin", stdin=b"false\n")
    repo.run("replace", repo.blob("HEAD:a"), other)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    snapshot = repo.adapter.snapshot(commit, everything)
    assert snapshot.files[path("a")].content == b"true\n"


def test_a_process_that_takes_too_long_is_ended(repo: Scratch) -> None:
    repo.commit({"a": "1"})
    runner = Runner(repo.root, seconds=0.2)
    assert runner.root == repo.root
    slow = ("-c", "alias.wait=!sleep 5", "wait")
    with pytest.raises(GitFailedError, match=r"took longer than 0\.2 s"):
        runner.run(*slow)
    with (
        pytest.raises(GitFailedError, match="took too long"),
        runner.piped(*slow, lines=[]) as pipe,
    ):
        pipe.output.read()


# The files of a commit


def test_a_snapshot_has_modes_ids_and_the_wanted_content(repo: Scratch) -> None:
    repo.write({"jobs/a.yml": "a\n", "run.sh": "#!\n", "b": "b"})
    (repo.root / "run.sh").chmod(0o755)
    (repo.root / "link").symlink_to("jobs/a.yml")
    commit = repo.commit()
    repo.run("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    repo.committed()
    snapshot = repo.adapter.snapshot("HEAD", lambda name: name != "b")
    assert snapshot.commit == repo.head()
    assert snapshot.files == {
        "b": Blob("100644", BlobId(repo.blob("HEAD:b"))),
        "jobs/a.yml": Blob("100644", BlobId(repo.blob("HEAD:jobs/a.yml")), b"a\n"),
        "link": Blob("120000", BlobId(repo.blob("HEAD:link")), b"jobs/a.yml"),
        "run.sh": Blob("100755", BlobId(repo.blob("HEAD:run.sh")), b"#!\n"),
        "sub": Blob("160000", BlobId(commit)),
    }
    assert snapshot.folders == {"", "jobs"}


def test_a_path_may_have_any_bytes(repo: Scratch) -> None:
    names = ["a\nb", "c\td", 'q"uote', "ünï", ":(top)x", "-n", "jobs/*.yml", "bad-\udcff"]
    for name in names:
        repo.write({name: name.encode("utf-8", "surrogateescape")})
    commit = repo.commit()
    snapshot = repo.adapter.snapshot("HEAD", everything)
    assert sorted(snapshot.files) == sorted(names)
    for name, blob in snapshot.files.items():
        assert blob.content == name.encode("utf-8", "surrogateescape")
    assert repo.adapter.worktree(everything).files == snapshot.files
    assert set(repo.adapter.introductions(snapshot.files, commit)) == set(names)


def test_content_that_is_known_already_is_not_read(repo: Scratch) -> None:
    repo.commit({"a": "a", "b": "b", "c": "a"})
    known = BlobId(repo.blob("HEAD:a"))
    files = repo.adapter.snapshot("HEAD", everything, {known}).files
    assert {name: blob.content for name, blob in files.items()} == {"a": None, "b": b"b", "c": None}


def test_a_blob_that_is_too_large_has_no_content_and_hides_no_other(repo: Scratch) -> None:
    repo.commit({"a": b"a", "just": b"x" * LIMIT, "large": b"x" * (LIMIT + 1), "z": b"z"})
    for snapshot in (repo.adapter.snapshot("HEAD", everything), repo.adapter.worktree(everything)):
        sizes = {
            n: None if b.content is None else len(b.content) for n, b in snapshot.files.items()
        }
        assert sizes == {"a": 1, "just": LIMIT, "large": None, "z": 1}


def test_a_blob_that_git_lost_is_an_error_and_not_an_empty_file(repo: Scratch) -> None:
    repo.commit({"a": "a"})
    sha = repo.blob("HEAD:a")
    (repo.root / ".git/objects" / sha[:2] / sha[2:]).unlink()
    with pytest.raises(GitFailedError, match=f"git does not have the blob {sha}"):
        repo.adapter.snapshot("HEAD", everything)


def test_a_repository_of_sha256_works_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Scratch(tmp_path / "new", monkeypatch, "--object-format=sha256")
    commit = repo.commit({"a": "a", "CODEOWNERS": "* @ada"})
    repo.write({"b": "b"})
    assert len(commit) == 64
    assert repo.adapter.snapshot("HEAD", everything).files[path("a")].content == b"a"
    assert repo.adapter.worktree(everything).files[path("b")].sha == repo.run("hash-object", "b")
    owners = repo.adapter.files_at([commit], [path("CODEOWNERS")])
    assert owners[commit][path("CODEOWNERS")].content == b"* @ada"
    later = repo.commit({"b": "b"})
    assert repo.adapter.on_line(later, commit)
    assert not repo.adapter.on_line(commit, later)

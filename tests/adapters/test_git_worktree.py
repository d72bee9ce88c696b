from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from controller.errors import UnavailableError
from tests.adapters.scratch import Scratch, path


def everything(_: str) -> bool:
    return True


def nothing(_: str) -> bool:
    return False


def test_the_worktree_is_tracked_and_untracked_files_without_the_ignored(repo: Scratch) -> None:
    repo.commit({"same": "1", "edited": "1", "gone": "1", "mode": "1", ".gitignore": "*.log\n"})
    repo.write({"edited": "2", "new/file": "3", "x.log": "4", "staged": "5"})
    (repo.root / "gone").unlink()
    (repo.root / "mode").chmod(0o755)
    (repo.root / "link").symlink_to("/etc/passwd")
    repo.run("add", "staged")
    repo.run("init", "--quiet", "nested")
    os.mkfifo(repo.root / "pipe")
    snapshot = repo.adapter.worktree(lambda name: name != "same")
    shown = {name: (blob.mode, blob.content) for name, blob in snapshot.files.items()}
    assert snapshot.commit is None
    assert shown == {
        ".gitignore": ("100644", b"*.log\n"),
        "edited": ("100644", b"2"),
        "link": ("120000", b"/etc/passwd"),
        "mode": ("100755", b"1"),
        "nested": ("160000", None),
        "new/file": ("100644", b"3"),
        "same": ("100644", None),
        "staged": ("100644", b"5"),
    }
    for name in ("edited", "same", "new/file"):
        assert snapshot.files[path(name)].sha == repo.run("hash-object", name)


def test_a_committed_tree_reads_the_same_from_git_and_from_disk(repo: Scratch) -> None:
    repo.commit({"a": "1", "jobs/b.yml": "2"})
    committed = repo.adapter.snapshot("HEAD", everything)
    assert repo.adapter.worktree(everything).files == committed.files


def test_a_file_behind_a_filter_is_read_as_git_has_it(repo: Scratch) -> None:
    repo.commit({".gitattributes": "*.yml text eol=crlf\n", "a.yml": "a\nb\n", "c.yml": "c\n"})
    for name in ("a.yml", "c.yml"):
        (repo.root / name).unlink()
    repo.run("checkout", "--", ".")
    assert (repo.root / "a.yml").read_bytes() == b"a\r\nb\r\n"
    assert (
        repo.adapter.worktree(everything).files == repo.adapter.snapshot("HEAD", everything).files
    )


def test_what_is_neither_file_nor_link_is_not_there(repo: Scratch) -> None:
    repo.commit({"a": "1", "b": "1"})
    (repo.root / "a").unlink()
    os.mkfifo(repo.root / "a")
    (repo.root / "b").unlink()
    folder = os.open(repo.root, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{folder}/b" if Path("/proc").is_dir() else "b")
        assert repo.adapter.worktree(everything).files == {}
    os.close(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_an_error(repo: Scratch) -> None:
    repo.write({"a": "1"})
    (repo.root / "a").chmod(0)
    with pytest.raises(UnavailableError, match="`a` cannot be read: Permission denied"):
        repo.adapter.worktree(everything)


def test_reading_the_worktree_writes_nothing(repo: Scratch) -> None:
    repo.commit({"a": "1"})
    os.utime(repo.root / "a", (1, 1))
    index = repo.root / ".git/index"
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    repo.adapter.worktree(everything)
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before

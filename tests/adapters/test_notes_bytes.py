from __future__ import annotations

import json
import subprocess
import sys

import pytest

from controller.adapters.notes import LocalHost
from controller.adapters.notes_store import REF
from controller.values import RepoPath
from tests.adapters.notes_examples import JOB, LATER, OWNERS, known, line, logins, noted
from tests.adapters.scratch import NOON, Scratch


@pytest.mark.parametrize(
    "hostile",
    [
        b"\xff\xfe\x00",
        b"null",
        b"[" * 5_000,
        b'{"at":1}',
        b"{" + b'"path":' * 9_000,
        b'{"at":"2026-11-30T12:00:00Z","blob":null,"commit":"\\ud800","login":"a","path":"x"}',
        b"approved by @ada",
    ],
)
def test_a_line_that_is_no_approval_is_ignored_and_said(
    repo: Scratch, host: LocalHost, hostile: bytes
) -> None:
    commit = repo.commit({"jobs/a.yml": "1"})
    noted(repo, commit, hostile + b"\n" + line(repo) + b"\n" + hostile)
    found = known(host, JOB, commit)
    assert logins(found) == ["ada"]
    said = f"2 lines of the note on {commit[:12]} cannot be read as an approval of it"
    assert found.refused == (said,)


@pytest.mark.parametrize(
    "other",
    [
        {"commit": "0" * 40},
        {"login": "ada\nlin"},
        {"login": "\x1b[2J"},
        {"at": "yesterday"},
        {"extra": "1"},
        {"path": None},
    ],
    ids=str,
)
def test_a_line_must_say_exactly_what_it_is_bound_to(
    repo: Scratch, host: LocalHost, other: dict[str, str | None]
) -> None:
    commit = repo.commit({"jobs/a.yml": "1"})
    noted(repo, commit, line(repo, **other))
    found = known(host, JOB, commit)
    assert logins(found) == []
    said = f"1 line of the note on {commit[:12]} cannot be read as an approval of it"
    assert found.refused == (said,)


def test_another_spelling_of_an_approval_is_none(repo: Scratch, host: LocalHost) -> None:
    commit = repo.commit({"jobs/a.yml": "1"})
    noted(repo, commit, json.dumps(json.loads(line(repo))).encode())
    assert logins(known(host, JOB, commit)) == []


def test_an_approval_of_other_bytes_or_another_path_does_not_count(
    repo: Scratch, host: LocalHost
) -> None:
    commit = repo.commit({"jobs/a.yml": "1", "jobs/b.yml": "2"})
    lines = [
        line(repo, blob=repo.blob("HEAD:jobs/b.yml"), login="lin"),
        line(repo, blob=None),
        line(repo, path="jobs/b.yml"),
    ]
    noted(repo, commit, b"\n".join(lines))
    found = known(host, JOB, commit)
    assert logins(found) == []
    assert found.refused == ("@lin approved other bytes", "@ada approved other bytes")


def test_notes_that_git_spread_over_folders_are_read_and_added_to(
    repo: Scratch, host: LocalHost
) -> None:
    commit = repo.commit({"jobs/a.yml": "1"})
    blob = repo.run("hash-object", "-w", "--stdin", stdin=line(repo))
    inner = repo.run("mktree", stdin=f"100644 blob {blob}\t{commit[2:]}".encode())
    entries = f"040000 tree {inner}\t{commit[:2]}\n100644 blob {blob}\tREADME"
    outer = repo.run("mktree", stdin=entries.encode())
    repo.run("update-ref", REF, repo.run("commit-tree", outer, "-m", "spread"))
    assert logins(known(host, JOB, commit)) == ["ada"]
    host.approve(JOB, "ada", NOON)
    host.approve(JOB, "lin", NOON)
    assert logins(known(host, JOB, commit)) == ["ada", "lin"]
    assert "README" in repo.run("ls-tree", "--name-only", REF).split()


def test_git_notes_shows_what_was_approved(repo: Scratch, host: LocalHost) -> None:
    commit = repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "lin", NOON)
    host.approve(JOB, "ada", NOON)
    lines = repo.run("notes", f"--ref={REF}", "show", commit).encode().split(b"\n")
    assert lines == [line(repo, login="lin"), line(repo)]
    assert repo.run("log", "--format=%s", REF).split("\n") == [
        "ada approves jobs/a.yml",
        "lin approves jobs/a.yml",
    ]


def test_an_approval_made_twice_is_one(repo: Scratch, host: LocalHost) -> None:
    repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "ada", NOON)
    before = repo.blob(REF)
    host.approve(JOB, "Ada", LATER)
    assert repo.blob(REF) == before


def test_approvals_made_at_once_all_survive(repo: Scratch, host: LocalHost) -> None:
    names = [f"user{n}" for n in range(4)]
    repo.commit({OWNERS: f"* {' '.join('@' + name for name in names)}\n"})
    host.approve(RepoPath(OWNERS), "ada", NOON)
    commit = repo.commit({"jobs/a.yml": "1"})
    program = (
        "import sys; from datetime import datetime, UTC; from pathlib import Path\n"
        "from controller.adapters.git import Git; from controller.adapters.notes import LocalHost\n"
        "host = LocalHost(Git(Path(sys.argv[1])))\n"
        "sys.stdin.readline()\n"
        "host.approve('jobs/a.yml', sys.argv[2], datetime(2026, 11, 30, 12, tzinfo=UTC))\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, repo.root, name], stdin=subprocess.PIPE)
        for name in names
    ]
    for process in started:
        process.communicate(b"go\n", timeout=60)
    assert [process.returncode for process in started] == [0] * len(names)
    assert sorted(logins(known(host, JOB, commit))) == names

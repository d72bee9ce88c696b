"""A scratch repository of real git, and waiting with a bound."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controller.adapters.git import Git
from controller.values import CommitId, RepoPath

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
START = int(NOON.timestamp())


def path(text: str) -> RepoPath:
    return RepoPath(text)


class Scratch:
    """A repository of its own, with nobody's configuration. Each commit is a minute later."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, *init: str) -> None:
        self.root = root
        root.mkdir()
        monkeypatch.setenv("HOME", str(root.parent))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        self.minutes = 0
        self.run("init", "--quiet", "--template=", "--initial-branch=main", *init)
        self.adapter = Git(root)

    def run(self, *args: str, stdin: bytes = b"", code: int = 0) -> str:
        stamp = f"{START + 60 * self.minutes} +0000"
        who = {
            f"GIT_{role}_{field}": value
            for role in ("AUTHOR", "COMMITTER")
            for field, value in (("NAME", "Ada"), ("EMAIL", "ada@acme.invalid"), ("DATE", stamp))
        }
        done = subprocess.run(
            ["git", *args],
            cwd=self.root,
            env={**os.environ, **who},
            input=stdin,
            capture_output=True,
        )
        assert done.returncode == code, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self, files: Mapping[str, str | bytes | None] | None = None) -> CommitId:
        """Write (None: remove) files, and commit everything that lies there."""
        for name, content in (files or {}).items():
            if content is None:
                (self.root / name).unlink()
            else:
                self.write({name: content})
        self.run("add", "--all")
        return self.committed()

    def committed(self) -> CommitId:
        self.minutes += 1
        self.run("commit", "--quiet", "--allow-empty", "-m", f"change {self.minutes}")
        return self.head()

    def merge(self, branch: str, *options: str) -> CommitId:
        self.minutes += 1
        self.run("merge", "--quiet", "--no-ff", "-m", f"merge {self.minutes}", *options, branch)
        return self.head()

    def switch(self, branch: str, *start: str) -> None:
        self.run("switch", "--quiet", "--create", branch, *start)

    def back(self, branch: str = "main") -> None:
        self.run("switch", "--quiet", branch)

    def head(self) -> CommitId:
        return CommitId(self.run("rev-parse", "HEAD"))

    def blob(self, at: str) -> str:
        return self.run("rev-parse", at)


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until `condition` holds; fail when it does not within the bound."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)

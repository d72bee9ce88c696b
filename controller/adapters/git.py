"""One repository, read through the git command line. Nothing here writes to it.

Paths that are not UTF-8 come as Python's surrogates, as from `os.fsdecode`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from controller.adapters import git_diffs, git_history
from controller.adapters.git_objects import contents, files_of
from controller.adapters.git_process import Runner, UnknownRevisionError
from controller.adapters.git_worktree import worktree_files
from controller.documents.snapshot import SUBMODULE, Blob, Snapshot
from controller.evidence.facts import Introduction
from controller.values import BlobId, CommitId, RepoPath

ORIGIN = "refs/remotes/origin/main"
MAIN = "refs/heads/main"
"""In full: a tag or a branch named `main` or `origin/main` must not take its place."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


class Git:
    """The repository whose work tree `root` is in. Any method may raise an AdmitError."""

    def __init__(self, root: Path) -> None:
        self.runner = Runner(root)
        self._resolved: set[str] = set()
        self._private: dict[str, Path] = {}

    @property
    def root(self) -> Path:
        """The top of the work tree."""
        return self.runner.root

    def resolve(self, rev: str) -> CommitId:
        """Return the commit that `rev` names. Raises UnknownRevisionError."""
        if rev in self._resolved:  # an id that is known to be a commit stays one
            return CommitId(rev)
        if rev and not rev.startswith(("-", "^")) and "\0" not in rev:
            args = ("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}")
            code, output, _ = self.runner.attempt(*args)
            found = output.decode("utf-8", "replace").strip()
            if code == 0 and _COMMIT.match(found):
                self._resolved.add(found)
                return CommitId(found)
        remedy = "name a commit, branch or tag of this clone; `git fetch` brings what is missing"
        if self.runner.shallow:
            remedy = "this clone is shallow: `git fetch --unshallow`, or `fetch-depth: 0`"
        raise UnknownRevisionError(f"`{rev}` names no commit of `{self.root}`", remedy=remedy)

    def default_base(self) -> CommitId:
        """Return the end of the main line: `origin/main` where there is one, else `main`."""
        for name in (ORIGIN, MAIN):
            try:
                return self.resolve(name)
            except UnknownRevisionError:
                continue
        raise UnknownRevisionError(
            f"`{self.root}` has neither `origin/main` nor `main`",
            remedy="commit to `main` first, or name a revision where the command takes one",
        )

    def merge_base(self, one: str, other: str) -> CommitId | None:
        """Return the commit from which both have come; None when they share no history."""
        args = ("merge-base", self.resolve(one), self.resolve(other))
        code, output, _ = self.runner.attempt(*args)
        if code > 1:
            self.runner.run(*args)
        return CommitId(output.decode().split("\n")[0]) if code == 0 else None

    def on_line(self, at: CommitId, commit: CommitId) -> bool:
        """Whether `commit` is on the first-parent line of `at`. Raises ShallowCloneError."""
        return git_history.on_line(self.runner, at, commit)

    def commit_at(self, line_of: CommitId, at: datetime) -> CommitId | None:
        """Return what was the end of a first-parent line at a time; None before it began.

        That is the newest commit such that neither it nor any below it is dated after `at`. So
        one that is dated back does not come before what it followed; one that is dated ahead
        hides, until its date, itself and what followed it. Raises ShallowCloneError.
        """
        return git_history.commit_at(self.runner, line_of, at)

    def when(self, commit: CommitId) -> datetime:
        """Return the committer's time (UTC), cut to what a date can be."""
        output = self.runner.run("rev-list", "--no-walk", "--timestamp", self.resolve(commit))
        return git_history.time_of(int(output.split()[0]))

    def remotes(self) -> tuple[str, ...]:
        """Return the names of the configured remotes, sorted."""
        names = self.runner.run("remote").decode("utf-8", "surrogateescape")
        return tuple(sorted(names.splitlines()))

    def snapshot(
        self, rev: str, wanted: Callable[[str], bool], have: Container[BlobId] = ()
    ) -> Snapshot:
        """Return the files of a commit, with the content of those that are `wanted`.

        Without content are: blobs in `have`, those of more than 4 MiB, and submodules.
        """
        commit = self.resolve(rev)
        files = files_of(self.runner, commit)
        missing = [
            path
            for path, blob in files.items()
            if wanted(path) and blob.mode != SUBMODULE and blob.sha not in have
        ]
        found = contents(self.runner, (files[path].sha for path in missing))
        for path in missing:
            blob = files[path]
            files[path] = Blob(blob.mode, blob.sha, found.get(blob.sha))
        return Snapshot.of(commit, files)

    def worktree(self, wanted: Callable[[str], bool]) -> Snapshot:
        """Return the files as they lie: tracked and untracked, but not the ignored ones."""
        return Snapshot.of(None, worktree_files(self.runner, wanted))

    def introductions(
        self, paths: Iterable[RepoPath], at: CommitId, root: CommitId | None = None
    ) -> dict[RepoPath, Introduction]:
        """Return the change on the first-parent line that gave each path its bytes.

        Or that removed it. A path that never was is left out. What came with the trusted `root`,
        or before it, came with the root. Raises ShallowCloneError, and OtherHistoryError where the
        root is not on that line.
        """
        return git_history.introductions(self.runner, paths, at, root)

    def files_at(
        self, commits: Iterable[CommitId], paths: Sequence[RepoPath]
    ) -> dict[CommitId, dict[RepoPath, Blob]]:
        """Return which of a few `paths` each commit has, with their content."""
        found = git_diffs.files_at(self.runner, commits, paths)
        blobs = (blob for files in found.values() for blob in files.values())
        bytes_of = contents(self.runner, (b.sha for b in blobs if b.mode != SUBMODULE))
        return {
            commit: {p: replace(b, content=bytes_of.get(b.sha)) for p, b in files.items()}
            for commit, files in found.items()
        }

    def private_path(self, name: str) -> Path:
        """Return a path inside the git directory, which no commit can bring along."""
        if name not in self._private:
            output = self.runner.run("rev-parse", "--git-path", name)
            said = output.decode("utf-8", "surrogateescape").removesuffix("\n")
            self._private[name] = self.root / said
        return self._private[name]

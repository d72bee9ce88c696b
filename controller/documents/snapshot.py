"""The files of one commit: names, modes and bytes, as git has them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controller.values import BlobId, CommitId, RepoPath

REGULAR = "100644"
EXECUTABLE = "100755"
SYMLINK = "120000"
SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class Blob:
    """One file. `content` is None where the reader did not ask for its bytes."""

    mode: str
    sha: BlobId
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every file of one commit, or of the working tree (then `commit` is None), by path."""

    commit: CommitId | None
    files: Mapping[RepoPath, Blob]
    folders: frozenset[str]

    @classmethod
    def of(cls, commit: CommitId | None, files: Mapping[RepoPath, Blob]) -> Snapshot:
        """Return the snapshot of `files`; its folders follow from their names."""
        return cls(commit, files, _folders(files))

    def exists(self, path: str) -> bool:
        """Whether `path` is a file or a folder here; '' is the root."""
        return path in self.files or path in self.folders

    def below(self, folder: str) -> dict[RepoPath, Blob]:
        """Return the files below `folder`; all of them for ''."""
        prefix = folder + "/" if folder else ""
        return {path: blob for path, blob in self.files.items() if path.startswith(prefix)}


def joined(folder: str, relative: str) -> str | None:
    """Return `relative`, as written in a file of `folder`, as a path of the repository.

    None when it leaves the repository; '' is its root.
    """
    path = posixpath.normpath(posixpath.join(folder, relative))
    if path.startswith(("/", "../")) or path == "..":
        return None
    return "" if path == "." else path


def _folders(paths: Iterable[str]) -> frozenset[str]:
    folders = {""}
    for path in paths:
        parent = posixpath.dirname(path)
        while parent not in folders:
            folders.add(parent)
            parent = posixpath.dirname(parent)
    return frozenset(folders)

"""The files of a commit and the bytes of its blobs, each in one git process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO

from controller.adapters.git_process import GitFailedError, Runner
from controller.documents.snapshot import Blob
from controller.values import BlobId, CommitId, RepoPath

LIMIT = 4 << 20
"""Bytes: the content of a larger blob is not read."""
_CHUNK = 1 << 20


def files_of(git: Runner, commit: CommitId, *below: str) -> dict[RepoPath, Blob]:
    """Return every file of a commit, or those at or below the paths given, without content."""
    output = git.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *below)
    found = {}
    for entry in os.fsdecode(output).split("\0")[:-1]:
        about, path = entry.split("\t", 1)
        mode, _, sha = about.split(" ")
        found[RepoPath(path)] = Blob(mode, BlobId(sha))
    return found


def contents(git: Runner, blobs: Iterable[BlobId]) -> dict[BlobId, bytes]:
    """Return the bytes of each blob. One of more than LIMIT bytes is not among them."""
    asked = list(dict.fromkeys(blobs))
    if not asked:
        return {}
    lines = [f"{blob}\n".encode() for blob in asked]
    with git.piped("cat-file", "--batch", "--buffer", lines=lines) as pipe:
        return dict(_batch(pipe.output, asked))


def _batch(output: IO[bytes], asked: list[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
    for blob in asked:
        header = output.readline().split()
        if len(header) != 3 or header[1] != b"blob":
            message = f"git does not have the blob {blob}"
            raise GitFailedError(message, remedy="`git fsck` and `git fetch` may help")
        size = int(header[2])
        if size <= LIMIT:
            content = output.read(size + 1)
            if len(content) != size + 1:
                raise GitFailedError(f"git ended within the blob {blob}", remedy="try again")
            yield blob, content[:-1]
        else:
            _skip(output, size + 1)


def _skip(output: IO[bytes], size: int) -> None:
    while size > 0 and (chunk := output.read(min(size, _CHUNK))):
        size -= len(chunk)

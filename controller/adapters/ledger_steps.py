"""What each commit of the ledger is and has changed, along one line and in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import IO, TypeGuard

from controller.adapters.git_diffs import Changes, diffs_of
from controller.adapters.git_history import time_of
from controller.adapters.git_objects import LIMIT, contents
from controller.adapters.git_process import GitFailedError, Runner, ShallowCloneError
from controller.documents.snapshot import REGULAR, Blob
from controller.ledger.store import Step
from controller.values import CommitId

_COMMITS = 256
"""So many commits are looked up at once."""
_FILES = 1000
"""About so many files are held at once."""
_TIME = re.compile(rb"(?<![0-9])(-?[0-9]{1,18})(?: [+-][0-9]+)?[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class _About:
    parents: tuple[CommitId, ...]
    at: datetime
    title: str


def line_of(git: Runner, head: CommitId) -> list[CommitId]:
    """Return the commits from the first to `head`, along first parents."""
    output = git.run("rev-list", "--first-parent", head)
    return [CommitId(name) for name in reversed(output.decode("ascii").split())]


def steps_of(git: Runner, line: Sequence[CommitId], begin: int) -> Iterator[Step]:
    """Yield the commits of a line from index `begin` on, with the files that each changed.

    Raises ShallowCloneError where the first of the line has parents that are not here.
    """
    for first in range(begin, len(line), _COMMITS):
        batch = line[first : first + _COMMITS]
        before = [line[first - 1] if first else None, *batch]
        abouts = _abouts(git, batch)
        changed = [
            changes for _, changes in diffs_of(git, list(zip(batch, before, strict=False)), ())
        ]
        if first == 0 and abouts[0].parents:
            message = (
                f"`{git.root}` is a shallow clone: the ledger before {batch[0][:12]} is not here"
            )
            raise ShallowCloneError(message, remedy="`git fetch --unshallow`")
        for start, end in _groups(changed):
            files = _with_content(git, changed[start:end])
            for commit, about, found in zip(
                batch[start:end], abouts[start:end], files, strict=True
            ):
                yield Step(commit, about.parents, about.at, about.title, found)


def _abouts(git: Runner, commits: Sequence[CommitId]) -> list[_About]:
    """Return what each commit says of itself, from its own bytes: no date or text is trusted."""
    lines = [f"{commit}\n".encode() for commit in commits]
    with git.piped("cat-file", "--batch", "--buffer", lines=lines) as pipe:
        return [_about(_raw(pipe.output, commit)) for commit in commits]


def _raw(output: IO[bytes], commit: CommitId) -> bytes:
    header = output.readline().split()
    if len(header) != 3 or header[1] != b"commit" or int(header[2]) > LIMIT:
        message = f"the commit {commit} of the ledger cannot be read"
        raise GitFailedError(message, remedy="`git fsck` may say more")
    size = int(header[2])
    content = output.read(size + 1)
    if len(content) != size + 1:
        raise GitFailedError(f"git ended within the commit {commit}", remedy="try again")
    return content[:-1]


def _about(raw: bytes) -> _About:
    head, _, message = raw.partition(b"\n\n")
    _, *lines = head.split(b"\n")
    parents = []
    for line in lines:
        if not line.startswith(b"parent "):
            break
        parents.append(CommitId(line[7:].decode("ascii", "replace")))
    said = next((line for line in lines if line.startswith(b"committer ")), b"")
    found = _TIME.search(said)
    title = message.lstrip(b"\n").partition(b"\n")[0].decode("utf-8", "replace")
    return _About(tuple(parents), time_of(int(found[1]) if found else 0), title)


def _groups(changed: Sequence[Changes]) -> Iterator[tuple[int, int]]:
    """Yield ranges of commits that have about _FILES files together; a large one is alone."""
    edges, files = [0], 0
    for index, changes in enumerate(changed):
        if files and files + len(changes) > _FILES:
            edges.append(index)
            files = 0
        files += len(changes)
    return pairwise([*edges, len(changed)])


def _with_content(git: Runner, changed: Sequence[Changes]) -> list[Mapping[str, bytes | None]]:
    blobs = (blob for changes in changed for blob in changes.values())
    found = contents(git, (blob.sha for blob in blobs if _readable(blob)))
    return [
        {path: found.get(blob.sha) if _readable(blob) else None for path, blob in changes.items()}
        for changes in changed
    ]


def _readable(blob: Blob | None) -> TypeGuard[Blob]:
    return blob is not None and blob.mode == REGULAR

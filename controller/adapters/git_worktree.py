"""The files of a working tree as they lie: tracked and untracked, but not the ignored ones."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from controller.adapters.git_objects import LIMIT, contents
from controller.adapters.git_process import Runner
from controller.documents.snapshot import EXECUTABLE, REGULAR, SUBMODULE, SYMLINK, Blob
from controller.errors import UnavailableError
from controller.values import BlobId, RepoPath

_CHUNK = 1 << 18


def worktree_files(git: Runner, wanted: Callable[[str], bool]) -> dict[RepoPath, Blob]:
    """Return every file below the root that git would record, with its mode and id.

    The bytes of a changed file are those on disk: no clean filter and no line-ending conversion
    is applied. Only `wanted` files of at most LIMIT bytes have their content.
    """
    index = _index(git)
    changed = _changed(git)
    found: dict[RepoPath, Blob] = {}
    for path in sorted({*index, *_untracked(git)}):
        recorded = index.get(path)
        if recorded is None or (path in changed and recorded.mode != SUBMODULE):
            blob = _on_disk(git, path, wanted=wanted(path))
            if blob is not None:
                found[path] = blob
        else:
            found[path] = recorded
    unchanged = [
        path
        for path, blob in found.items()
        if blob is index.get(path) and blob.mode != SUBMODULE and wanted(path)
    ]
    return found | _with_content(git, {path: found[path] for path in unchanged})


def _with_content(git: Runner, recorded: dict[RepoPath, Blob]) -> dict[RepoPath, Blob]:
    """Return unchanged files with their bytes: from the disk, or else from the index's blobs.

    The two differ where a filter, or a sparse checkout, stands between them.
    """
    found = {}
    for path, blob in recorded.items():
        lying = _on_disk(git, path, wanted=True)
        if lying is not None and lying.sha == blob.sha:
            found[path] = replace(blob, content=lying.content)
    missing = {path: blob for path, blob in recorded.items() if path not in found}
    stored = contents(git, (blob.sha for blob in missing.values()))
    filled = {p: replace(blob, content=stored.get(blob.sha)) for p, blob in missing.items()}
    return found | filled


def _on_disk(git: Runner, path: str, *, wanted: bool) -> Blob | None:
    """Return the file as it lies; None for what git would not record."""
    whole = f"{git.root}/{path}"
    try:
        file = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENXIO):  # ENXIO: a socket
            return None
        if error.errno == errno.ELOOP:
            target = os.fsencode(Path(whole).readlink())
            return Blob(SYMLINK, _blob_id(git, [target], len(target)), target if wanted else None)
        message = f"`{path}` cannot be read: {error.strerror}"
        raise UnavailableError(message, remedy="make it readable, or let git ignore it") from error
    try:
        return _opened(git, file, wanted=wanted)
    finally:
        os.close(file)


def _opened(git: Runner, file: int, *, wanted: bool) -> Blob | None:
    status = os.fstat(file)
    if stat.S_ISDIR(status.st_mode):
        return Blob(SUBMODULE, BlobId("0" * 40))
    if not stat.S_ISREG(status.st_mode):
        return None
    mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR
    if not wanted or status.st_size > LIMIT:
        return Blob(mode, _blob_id(git, _chunks(file), status.st_size))
    content = b"".join(_chunks(file))
    return Blob(mode, _blob_id(git, [content], len(content)), content)


def _chunks(file: int) -> Iterator[bytes]:
    while chunk := os.read(file, _CHUNK):
        yield chunk


def _blob_id(git: Runner, chunks: Iterable[bytes], size: int) -> BlobId:
    digest = hashlib.new(git.object_format, b"blob %d\0" % size, usedforsecurity=False)
    for chunk in chunks:
        digest.update(chunk)
    return BlobId(digest.hexdigest())


def _index(git: Runner) -> dict[RepoPath, Blob]:
    """Return what the index has; of an unmerged path, any one of its versions."""
    found = {}
    for entry in _entries(git.run("ls-files", "-z", "-s", "--cached")):
        about, path = entry.split("\t", 1)
        mode, sha, _ = about.split(" ")
        found[RepoPath(path)] = Blob(mode, BlobId(sha))
    return found


def _changed(git: Runner) -> set[str]:
    """Return tracked paths whose file is not what the index has, as far as git can tell cheaply."""
    output = git.run("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
    return set(_entries(output))


def _untracked(git: Runner) -> set[RepoPath]:
    output = git.run("ls-files", "-z", "--others", "--exclude-standard")
    return {RepoPath(path.removesuffix("/")) for path in _entries(output)}


def _entries(output: bytes) -> list[str]:
    return [os.fsdecode(entry) for entry in output.split(b"\0") if entry]

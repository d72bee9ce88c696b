"""What a manifest refers to in its own repository: whether it is there, and what it contains."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from controller.documents.manifest import Manifest
from controller.documents.snapshot import Snapshot, joined
from controller.values import Digest, Problem, RepoPath, canonical_json, sha256


def local_place(manifest: Manifest, pointer: str) -> str | None:
    """Return the path of the repository that `paths[pointer]` means; None when it is outside."""
    written = manifest.paths[pointer].removeprefix("file:")
    return joined(posixpath.dirname(manifest.path), written)


def missing_paths(manifest: Manifest, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield a problem for each path inside the repository that the commit does not have.

    What is outside is the rule `code-contained`'s to refuse.
    """
    for pointer, written in manifest.paths.items():
        place = local_place(manifest, pointer)
        if place is None or snapshot.exists(place):
            continue
        field = pointer[1:].replace("/", ".")
        message = f"`{field}` is `{written}`, and there is no `{place}` in this commit"
        remedy = "add it, or correct the path, which starts from the folder of this file"
        yield Problem("missing-path", manifest.locate(pointer), message, remedy)


def code_digests(snapshot: Snapshot, places: Iterable[str]) -> dict[str, Digest]:
    """Return the digest of each folder or file: mode, path in it and blob id of each file."""
    paths = sorted(snapshot.files)
    return {place: _digest(snapshot, paths, place) for place in places}


def payload_code(manifest: Manifest, digests: Mapping[str, Digest]) -> Digest | None:
    """Return the digest of everything local that a job needs; None when it needs nothing.

    A job whose only local path is `code:` has the digest of that folder; if data or an
    environment are local too, they count, each at its field.
    """
    found = {
        pointer: digests[place]
        for pointer in manifest.paths
        if (place := local_place(manifest, pointer)) is not None
    }
    if not found or list(found) == ["/code"]:
        return found.get("/code")
    return sha256(canonical_json(found))


def _digest(snapshot: Snapshot, paths: Sequence[RepoPath], place: str) -> Digest:
    files = snapshot.files
    if place in files:
        inside = [(posixpath.basename(place), files[RepoPath(place)])]
    else:
        prefix = f"{place}/" if place else ""
        inside = []
        for path in paths[bisect_left(paths, prefix) :]:
            if not path.startswith(prefix):
                break
            inside.append((path[len(prefix) :], files[path]))
    return sha256(canonical_json([[blob.mode, name, blob.sha] for name, blob in inside]))

"""Everything that one commit says: what is sound, and what is broken beside it."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from controller.documents.admission import Admission, mode_problem, read_admission
from controller.documents.characters import NOT_IN_YAML, named
from controller.documents.manifest import Manifest, read_manifest
from controller.documents.owners import PLACES, Owners, read_owners
from controller.documents.policy import POLICY, Policy, read_policy
from controller.documents.references import (
    code_digests,
    local_place,
    missing_paths,
    payload_code,
)
from controller.documents.snapshot import REGULAR, Blob, Snapshot
from controller.values import (
    AdmissionId,
    BlobId,
    Fingerprint,
    Location,
    Problem,
    RepoPath,
    by_place,
)

ADMISSIONS = "admissions/"
JOBS = "jobs/"
_README = "admissions/README.md"


class Parses(Protocol):
    """What is remembered of manifests that were parsed before: an optimisation, never a verdict.

    A parse depends on the bytes and on this program alone, so that a blob id and a version of the
    program are a complete key. It may forget anything at any time. `manifest.to_data` and
    `from_data` turn a manifest into JSON and back. Only sound manifests are ever put; a reader of
    files may then leave the content of a remembered blob out (`Blob.content` is None), because no
    other document can be sound with the same bytes.
    """

    def get(self, path: RepoPath, blob: BlobId) -> Manifest | None:
        """Return the manifest that `read_manifest` would return for these bytes at `path`.

        Exactly that: without the digest of its code, which depends on other files.
        """
        ...

    def put(self, manifest: Manifest) -> None:
        """Remember what `read_manifest` returned."""
        ...


@dataclass(frozen=True, slots=True)
class Ran:
    """What is known of a manifest whose bytes were run and are settled: nothing follows from it."""

    name: str
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Catalog:
    """The documents of one snapshot. A file is in `broken` or sound, never both.

    `parts` are manifests that another manifest refers to: never submitted on their own. `ran` are
    manifests that were not read again, because they have the bytes of a settled run.
    """

    snapshot: Snapshot
    policy: Policy | None
    owners: Owners | None
    admissions: Mapping[AdmissionId, Admission]
    manifests: Mapping[RepoPath, Manifest]
    broken: Mapping[RepoPath, tuple[Problem, ...]]
    parts: frozenset[RepoPath] = frozenset()
    ran: Mapping[RepoPath, Ran] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The name of every sound manifest, read or not read again."""
        read = (manifest.name for manifest in self.manifests.values())
        return frozenset({*read, *(ran.name for ran in self.ran.values())})


def is_document(path: str) -> bool:
    """Whether a file at `path` is one that `read_catalog` reads, so that its content is needed."""
    return _is_manifest(path) or _is_admission(path) or path == POLICY or path in PLACES


def read_catalog(
    snapshot: Snapshot,
    parses: Parses | None = None,
    ran: Mapping[tuple[RepoPath, BlobId], Ran] | None = None,
) -> Catalog:
    """Return every document of `snapshot`. A broken one hides no other; nothing is raised.

    A manifest whose path and bytes are in `ran` is not read again.
    """
    names = _names(snapshot.files)
    over = {} if ran is None else _over(snapshot, names, ran)
    admissions: dict[AdmissionId, Admission] = {}
    manifests: dict[RepoPath, Manifest] = {}
    broken = {path: list(problems) for path, problems in names.items()}
    policy: Policy | None = None
    for path in filter(is_document, snapshot.files):
        if path in PLACES or path in over:
            continue
        match _document(path, snapshot.files[path], parses):
            case Manifest() as manifest if path not in broken:
                manifests[path] = manifest
            case Admission() as admission if path not in broken:
                admissions[admission.id] = admission
            case Policy() as sound if path not in broken:
                policy = sound
            case tuple() as problems:
                broken.setdefault(path, []).extend(problems)
    broken.update(_complete(snapshot, manifests))
    return Catalog(
        snapshot=snapshot,
        policy=policy,
        owners=_owners(snapshot),
        admissions=admissions,
        manifests=manifests,
        broken={path: by_place(problems) for path, problems in broken.items()},
        ran=over,
    )


def _over(
    snapshot: Snapshot,
    unfit: Container[RepoPath],
    ran: Mapping[tuple[RepoPath, BlobId], Ran],
) -> dict[RepoPath, Ran]:
    there = ((path, blob, ran.get((path, blob.sha))) for path, blob in snapshot.files.items())
    return {
        path: known
        for path, blob, known in there
        if known is not None and blob.mode == REGULAR and path not in unfit and _is_manifest(path)
    }


def _is_manifest(path: str) -> bool:
    return path.startswith(JOBS) and path.endswith((".yml", ".yaml"))


def _is_admission(path: str) -> bool:
    if not path.startswith(ADMISSIONS) or not path.endswith(".md") or path == _README:
        return False
    return "/" not in path[len(ADMISSIONS) :]


def _document(
    path: RepoPath, blob: Blob, parses: Parses | None
) -> Manifest | Admission | Policy | tuple[Problem, ...]:
    if (problem := mode_problem(path, blob.mode, "file")) is not None:
        return (problem,)
    if _is_manifest(path):
        return _manifest(path, blob, parses)
    if blob.content is None:
        return (_unread(path),)
    return read_policy(blob) if path == POLICY else read_admission(path, blob)


def _manifest(path: RepoPath, blob: Blob, parses: Parses | None) -> Manifest | tuple[Problem, ...]:
    if parses is not None and (known := parses.get(path, blob.sha)) is not None:
        return known
    if blob.content is None:
        return (_unread(path),)
    found = read_manifest(path, blob)
    if parses is not None and isinstance(found, Manifest):
        parses.put(found)
    return found


def _unread(path: RepoPath) -> Problem:
    message = "the file was not read: it is too large, or it has the bytes of a job"
    return Problem("too-large", Location(path), message, "write one document here, and a short one")


def _owners(snapshot: Snapshot) -> Owners | None:
    for path in PLACES:
        blob = snapshot.files.get(path)
        if blob is not None:
            if blob.mode == REGULAR and blob.content is None:
                return Owners(path, (_unread(path),))
            return read_owners(path, blob)
    return None


def _complete(
    snapshot: Snapshot, manifests: dict[RepoPath, Manifest]
) -> dict[RepoPath, list[Problem]]:
    """Give each manifest the digest of what is local; take out and return what lacks a path."""
    local = [manifest for manifest in manifests.values() if manifest.paths]
    missing = {m.path: found for m in local if (found := list(missing_paths(m, snapshot)))}
    for path in missing:
        del manifests[path]
    sound = [manifest for manifest in local if manifest.path not in missing]
    places = {local_place(manifest, pointer) for manifest in sound for pointer in manifest.paths}
    if not places:
        return missing
    digests = code_digests(snapshot, (place for place in places if place is not None))
    for manifest in sound:
        payload = replace(manifest.payload, code=payload_code(manifest, digests))
        manifests[manifest.path] = replace(manifest, payload=payload)
    return missing


def _names(paths: Iterable[RepoPath]) -> dict[RepoPath, list[Problem]]:
    """Return what is wrong with the name of each document, and of what looks like one."""
    alike: dict[str, list[RepoPath]] = {}
    for path in paths:
        folded = path.casefold()
        if folded.startswith((ADMISSIONS, JOBS)):
            alike.setdefault(unicodedata.normalize("NFKC", folded), []).append(path)
    found = {}
    for folded, names in alike.items():
        for path in names:
            if problems := list(_name_problems(path, folded, names)):
                found[path] = problems
    return found


def _name_problems(path: RepoPath, folded: str, names: list[RepoPath]) -> Iterator[Problem]:
    where = Location(path)
    if not is_document(path):
        if path != _README and is_document(folded) and path.startswith((ADMISSIONS, JOBS)):
            base = posixpath.basename(path)
            message = f"`{base}` would be a document but for the letter case of its name"
            yield Problem("bad-name", where, message, "write the end of its name in lower case")
        return
    if any(part.casefold() in ("", ".", "..", ".git") for part in path.split("/")):
        message = "a folder of the file's path has a name that git does not check out"
        yield Problem("bad-name", where, message, "rename the folder")
    if not path.isascii() or not path.isprintable():
        unseen = NOT_IN_YAML.search(path)
        odd = unseen.group() if unseen else next((c for c in path if not c.isprintable()), "")
        if odd:
            message = f"the file's name contains {named(odd)}, which a reviewer cannot see"
            yield Problem("invisible-character", where, message, "rename the file without it")
    for other in names:
        if other != path:
            message = f"the file's name is that of `{other}` but for the letter case"
            yield Problem("bad-name", where, message, "rename or remove one of the two")

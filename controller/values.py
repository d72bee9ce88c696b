"""What everything else is made of: names, places, problems, digests and canonical JSON."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NewType

RepoPath = NewType("RepoPath", str)
"""A path inside the repository: relative, `/` between its parts, no `.` or `..`."""
BlobId = NewType("BlobId", str)
"""Git's object id of a file's bytes, in hex."""
CommitId = NewType("CommitId", str)
Digest = NewType("Digest", str)
"""`sha256:` and 64 hex digits."""
AdmissionId = NewType("AdmissionId", str)
Fingerprint = NewType("Fingerprint", str)
"""64 hex digits: the SHA-256 of a payload."""
RunName = NewType("RunName", str)
"""`<manifest name>-<first 12 hex of the fingerprint>[-a<attempt>]`."""

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None
"""JSON as data. Mappings have text keys; numbers are finite."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file of the repository. Lines and columns count from 1; 0: the whole file."""

    path: RepoPath
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a document cannot be understood: one stable code, one place, one sentence, one fix."""

    code: str
    where: Location
    message: str
    remedy: str


def by_place(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems once each, in the order a reader meets them."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda p: (p.where.path, p.where.line, p.where.column, p.code)))


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical_json(value: Json) -> bytes:
    """Return the one spelling of `value`: keys sorted, no blanks, UTF-8, no NaN or infinity."""
    return _CANONICAL.encode(value).encode("utf-8")


def sha256(content: bytes) -> Digest:
    """Return the digest of `content`."""
    return Digest("sha256:" + hashlib.sha256(content).hexdigest())


def writable(text: str) -> str:
    """Return what somebody typed as text that can be written: bytes that are none are spelled."""
    return text.encode("utf-8", "backslashreplace").decode()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was probably meant to be, if one is near enough."""
    found = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return found[0] if found else None


def listed(words: Iterable[str]) -> str:
    """Return `words` as one phrase of a message: `a`, `b`, `c`."""
    return ", ".join(f"`{word}`" for word in words)

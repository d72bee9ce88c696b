"""What is remembered of manifests parsed before, in the git directory: safe to delete at any time.

One file of text: a header with this program's version and a checksum, a list of the sets of fields
that occur, then one line a blob: its id and its JSON. It is data, and nothing in it is run; what
is damaged was never there. It lies inside the git directory, where no commit can bring it along.
Verdicts are never kept.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import yaml

from controller import __version__, documents
from controller.adapters.git import Git
from controller.documents.manifest import Manifest, from_data, to_data
from controller.errors import AdmitError
from controller.values import BlobId, RepoPath

NAME = "admit/parses.v1"
LIMIT = 256 << 20
"""Bytes: a larger file is neither read nor written."""
_SPARE = 1_000
"""So many parses, and as many again as are in use, are kept for other commits."""


class FileParses:
    """The parses of one repository. It is read when it is first asked, and written by `save`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lines: dict[BlobId, bytes] | None = None
        self._shapes: list[list[str]] = []
        self._read: dict[BlobId, Manifest] = {}
        self._new: dict[BlobId, Manifest] = {}
        self._used: set[BlobId] = set()

    def __contains__(self, blob: object) -> bool:
        """Whether `get` will answer for this blob."""
        return self._manifest(BlobId(str(blob))) is not None

    def get(self, path: RepoPath, blob: BlobId) -> Manifest | None:
        """Return the manifest that these bytes were, as one at `path`."""
        found = self._manifest(blob)
        if found is None:
            return None
        self._used.add(blob)
        return replace(found, path=path)

    def put(self, manifest: Manifest) -> None:
        """Remember a manifest as `read_manifest` returned it."""
        self._new[manifest.blob] = manifest
        self._used.add(manifest.blob)

    def save(self) -> bool:
        """Write what is new, and drop most of what no commit seems to use; False if it cannot be.

        A cache that cannot be written is no reason to stop.
        """
        if not self._new:
            return True
        lines = dict(self._stored())
        shapes = {tuple(shape): number for number, shape in enumerate(self._shapes)}
        lines |= {blob: _packed(manifest, shapes) for blob, manifest in self._new.items()}
        if len(lines) > 2 * len(self._used) + _SPARE:
            shapes = {}
            used = {**self._read, **self._new}
            lines = {blob: _packed(used[blob], shapes) for blob in sorted(self._used)}
        packed = (b"%s\t%s\n" % (blob.encode(), line) for blob, line in lines.items())
        body = json.dumps(list(shapes)).encode() + b"\n" + b"".join(packed)
        if len(body) > LIMIT:
            return False
        try:
            _write(self._git.private_path(NAME), _header(body) + body)
        except (OSError, AdmitError):
            return False
        return True

    def _manifest(self, blob: BlobId) -> Manifest | None:
        if blob in self._new:
            return self._new[blob]
        if blob not in self._read and (line := self._stored().get(blob)) is not None:
            try:
                self._read[blob] = _unpacked(blob, line, self._shapes)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                del self._stored()[blob]
        return self._read.get(blob)

    def _stored(self) -> dict[BlobId, bytes]:
        if self._lines is None:
            try:
                self._shapes, self._lines = _stored(self._git.private_path(NAME))
            except (OSError, AdmitError, ValueError, RecursionError):
                self._shapes, self._lines = [], {}
        return self._lines


def _packed(manifest: Manifest, shapes: dict[tuple[str, ...], int]) -> bytes:
    fields = to_data(manifest)
    positions = fields.pop("positions")
    shape = shapes.setdefault(tuple(positions), len(shapes))
    packed = [shape, list(positions.values()), fields]
    return json.dumps(packed, separators=(",", ":")).encode()


def _unpacked(blob: BlobId, line: bytes, shapes: list[list[str]]) -> Manifest:
    shape, lines, fields = json.loads(line)
    positions = dict(zip(shapes[shape], lines, strict=True))
    return from_data(RepoPath(""), blob, {**fields, "positions": positions})


def _stored(file: Path) -> tuple[list[list[str]], dict[BlobId, bytes]]:
    if file.stat().st_size > LIMIT:
        return [], {}
    header, newline, body = file.read_bytes().partition(b"\n")
    if header + newline != _header(body):
        return [], {}
    first, *rest = body.split(b"\n")
    pairs = (line.split(b"\t", 1) for line in rest if line)
    shapes = json.loads(first)
    if not _are_shapes(shapes):
        return [], {}
    return shapes, {BlobId(blob.decode("ascii")): line for blob, line in pairs}


def _are_shapes(found: object) -> bool:
    return isinstance(found, list) and all(
        isinstance(shape, list) and all(isinstance(name, str) for name in shape) for shape in found
    )


def _header(body: bytes) -> bytes:
    return f"admit parses {_version()} {zlib.crc32(body):08x} {len(body)}\n".encode()


def _version() -> str:
    """Return what a parse depends on besides the bytes: this program as installed, and YAML's."""
    source = Path(next(iter(documents.__path__)))
    stats = [
        (str(file.relative_to(source)), status.st_size, status.st_mtime_ns)
        for file in sorted(source.rglob("*"))
        if file.suffix in (".py", ".json") and (status := file.stat())
    ]
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{__version__}-{zlib.crc32(repr(stats).encode()):08x}-{python}-{yaml.__version__}"


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix="parses.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise

"""One manifest: `jobs/**/*.yml`, a job in Azure ML's own YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.documents.kinds import command
from controller.documents.kinds.command import CommandJob, command_job, local_paths
from controller.documents.kinds.command_body import command_body
from controller.documents.kinds.command_checks import READ_ONLY, command_checks
from controller.documents.payload import Payload
from controller.documents.positions import located
from controller.documents.shape import shape_problems
from controller.documents.snapshot import Blob
from controller.documents.yaml import Dialect, Document, read_yaml
from controller.values import BlobId, Json, Location, Problem, RepoPath, by_place, listed, nearest

Spec = CommandJob  # the union of kinds: sweep, pipeline and schedule come beside it


@dataclass(frozen=True, slots=True)
class Manifest:
    """A sound manifest. `name` and `admission` are '' when the file does not say.

    A tag without a value has the text ''.
    """

    path: RepoPath
    blob: BlobId
    kind: str
    name: str
    admission: str
    spec: Spec
    payload: Payload
    tags: Mapping[str, str]
    display_name: str
    description: str
    positions: Mapping[str, int]
    paths: Mapping[str, str] = field(default_factory=dict)
    """Every path of the repository that the job needs, as written, by its JSON pointer."""

    def locate(self, pointer: str) -> Location:
        """Return the place of a field (a JSON pointer), or of what it would be in."""
        return located(self.positions, self.path, pointer)


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of job is read: its published schema, and what comes before and after."""

    schema: str
    exponents: frozenset[str]
    """Pointers under which an unquoted `1e-3` is a number to every reader."""
    read_only: re.Pattern[str]
    """Pointers of what only Azure ML may set."""
    checks: Callable[[Document], Iterable[Problem]]
    body: Callable[[Mapping[str, Any]], Mapping[str, Json]]
    """The canonical body of a sound document."""
    spec: Callable[[Mapping[str, Any]], Spec]
    """The job that a canonical body describes."""
    paths: Callable[[Mapping[str, Any]], Mapping[str, str]]
    """The local paths of a canonical body."""


KINDS: Mapping[str, Kind] = {
    "command": Kind(
        schema=command.SCHEMA,
        exponents=command.EXPONENTS,
        read_only=READ_ONLY,
        checks=command_checks,
        body=command_body,
        spec=command_job,
        paths=local_paths,
    ),
}
"""Every kind of job that can be admitted, by `type`; a job without `type` is a command."""

_DIALECT = Dialect(exponents=frozenset().union(*(kind.exponents for kind in KINDS.values())))
# The fields by which a document without `type` shows what it is.
_SHOWN_BY: Mapping[str, frozenset[str]] = {
    "schedule": frozenset({"trigger", "create_job"}),
    "sweep": frozenset({"sampling_algorithm", "search_space", "algorithm", "trial"}),
    "pipeline": frozenset({"jobs"}),
}


def read_manifest(path: RepoPath, blob: Blob) -> Manifest | tuple[Problem, ...]:
    """Return the job of one file, or everything that is wrong with it. Nothing is raised."""
    document = read_yaml(blob.content or b"", path, _DIALECT)
    if not isinstance(document.data, Mapping) and document.problems:
        return document.problems
    named = _kind(document)
    if isinstance(named, Problem):
        # Whether a scalar is ambiguous depends on what its field is for.
        others = (p for p in document.problems if p.code != "ambiguous-scalar")
        return by_place((*others, named))
    kind = KINDS[named]
    found = [*document.problems, *_shape(document, kind)]
    if isinstance(document.data, Mapping):
        found += kind.checks(document)
    return by_place(found) if found else _manifest(document, blob.sha, named)


def to_data(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest as JSON, without its path, its blob and the digest of its code."""
    return {
        "kind": manifest.kind,
        "name": manifest.name,
        "body": manifest.payload.body,
        "tags": manifest.tags,
        "display_name": manifest.display_name,
        "description": manifest.description,
        "positions": manifest.positions,
        "fingerprint": manifest.payload.fingerprint,
    }


def from_data(path: RepoPath, blob: BlobId, data: Mapping[str, Any]) -> Manifest:
    """Return the manifest that `to_data` of the same version of this program made `data` of."""
    kind, body, tags = data["kind"], data["body"], data["tags"]
    payload = Payload(kind, body, None, tags.get("rerun", ""), tags.get("dataset", ""))
    if "fingerprint" in data:
        # As if the property had been asked already: of ten thousand, it takes a third of a second.
        vars(payload)["fingerprint"] = data["fingerprint"]
    return Manifest(
        path=path,
        blob=blob,
        kind=kind,
        name=data["name"],
        admission=tags.get("admission", ""),
        spec=KINDS[kind].spec(body),
        payload=payload,
        tags=tags,
        display_name=data["display_name"],
        description=data["description"],
        positions=data["positions"],
        paths=KINDS[kind].paths(body),
    )


def _manifest(document: Document, blob: BlobId, kind: str) -> Manifest:
    fields: Any = document.data
    get = fields.get
    data = {
        "kind": kind,
        "name": get("name", ""),
        "body": KINDS[kind].body(fields),
        "tags": {name: value or "" for name, value in get("tags", {}).items()},
        "display_name": get("display_name", ""),
        "description": get("description", ""),
        "positions": document.positions,
    }
    return from_data(document.path, blob, data)


def _kind(document: Document) -> str | Problem:
    """Return the kind of job that a document means to be, or why there is no such kind here."""
    fields = document.data
    if not isinstance(fields, Mapping):
        return "command"  # whatever it is, its shape is wrong
    if "is_deterministic" in fields:
        return _unsupported(document, "/is_deterministic", "this is a component, and no job")
    if "type" not in fields:
        for kind, marks in _SHOWN_BY.items():
            if not marks.isdisjoint(fields):
                return _unsupported(document, "", f"this is a {kind}, which is not supported")
        return "command"
    said = fields["type"]
    if "/type" in document.faulty:
        return "command"
    if isinstance(said, str) and said in KINDS:
        return said
    where = document.locate("/type")
    if said is None:
        message = "`type` is empty"
        return Problem("null", where, message, "write `type: command`, or remove the line")
    if not isinstance(said, str):
        return Problem("wrong-type", where, "`type` is not text", "write `type: command`")
    return _unsupported(document, "/type", f"`type` is `{said}`, which is not supported", said)


def _unsupported(document: Document, pointer: str, message: str, said: str = "") -> Problem:
    near = nearest(said, KINDS)
    remedy = f"did you mean `{near}`?" if near else f"supported: {listed(KINDS)}"
    return Problem("unsupported-kind", document.locate(pointer), message, remedy)


def _shape(document: Document, kind: Kind) -> Iterable[Problem]:
    """Yield what differs from the schema, and call by its name what only Azure ML may set."""
    problems = shape_problems(document, kind.schema)
    if not problems:
        return ()
    read_only = {
        document.locate(pointer): pointer[1:].replace("/", ".")
        for pointer in document.positions
        if kind.read_only.match(pointer)
    }
    return [
        replace(p, code="read-only-field", message=f"`{read_only[p.where]}` is read-only")
        if p.code == "unknown-field" and p.where in read_only
        else p
        for p in problems
    ]

"""The admission records and proofs of the ledger: what may be damaged is told, never raised."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from controller.documents.payload import run_name
from controller.evidence.facts import Approval, Approver, Known
from controller.evidence.recorded import Recorded, recalled
from controller.explain.moment import Moment
from controller.ledger.book import PROOFS, DamagedLedgerError, Proof, page, proof_file, record_file
from controller.ledger.codec import MalformedError, from_data
from controller.ledger.records import Attempt, Generation, RunRecord
from controller.values import BlobId, Digest, RepoPath, RunName, sha256
from controller.wiring import World

UNREADABLE = (MalformedError, ArithmeticError, UnicodeError, RecursionError)
"""What hostile values of the right JSON can still come to."""


@dataclass(frozen=True, slots=True)
class Record:
    """What of an admission record is told: what made one attempt admissible."""

    commit: str
    manifest: RepoPath
    blobs: Mapping[RepoPath, str]
    evidence: Any
    findings: tuple[tuple[str, ...], ...]
    gpu_hours: float
    price: str
    controller: str
    facts: Recorded | None = None
    """`evidence`, if it can be read."""


@dataclass(frozen=True, slots=True)
class Papers:
    """Some admission records by digest, some proofs, and a sentence for each that is damaged."""

    records: Mapping[Digest, Record] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()
    damaged: Mapping[str, str] = field(default_factory=dict)
    """By the file of the ledger."""


def attempts_of(record: RunRecord) -> Iterator[tuple[Generation, Attempt, RunName]]:
    """Yield every attempt of a record with its reservation and its name, the oldest first."""
    for generation in record.generations:
        for attempt in generation.attempts:
            yield generation, attempt, run_name(record.name, record.fingerprint, attempt.number)


def papers_of(
    world: World,
    moment: Moment,
    records: Iterable[RunRecord],
    documents: Mapping[RepoPath, BlobId | None],
) -> Papers:
    """Read the admission records of some runs, and the proofs of some documents.

    Of a document with a blob only the proofs of these bytes are read, of one with None all.
    """
    names = moment.book.names
    digests = {attempt.record: run for record in records for _, attempt, run in attempts_of(record)}
    asked = {record_file(run, digest) for digest, run in digests.items()} & names
    proofs = {name for name in names if name.startswith(PROOFS) and _is_of(name, documents)}
    if not asked and not proofs:
        return Papers(damaged=dict(_missing(digests, names)))
    wanted = asked | proofs
    files = world.ledger.read(lambda path: path in wanted, at=moment.book.head).files
    found: dict[Digest, Record] = {}
    damaged = dict(_missing(digests, names))
    for digest, run in digests.items():
        match _record(run, digest, files):
            case Record() as sound:
                found[digest] = sound
            case str() as why if record_file(run, digest) in names:
                damaged[record_file(run, digest)] = why
    sound_proofs = tuple(_proofs(sorted(proofs), files, damaged))
    return Papers(found, sound_proofs, damaged)


def approval_of(proof: Proof) -> Known[Approval]:
    """Return the answer that a proof stands for."""
    by = tuple(Approver(p.login, p.at, p.source, p.id) for p in proof.by)
    said = Approval(proof.path, proof.blob, proof.commit, proof.owners, by, trusted=proof.trusted)
    return Known(said, proof.at)


def facts_in(evidence: object) -> Recorded | None:
    """Return recorded evidence as facts; None for what is damaged."""
    try:
        return recalled(evidence)
    except UNREADABLE:
        return None


def _missing(digests: Mapping[Digest, RunName], names: frozenset[str]) -> Iterator[tuple[str, str]]:
    for digest, run in digests.items():
        file = record_file(run, digest)
        if file not in names:
            yield file, f"the admission record of `{run}` is not in the ledger"


def _is_of(name: str, documents: Mapping[RepoPath, BlobId | None]) -> bool:
    path, _, version = name.removeprefix(PROOFS).rpartition("/")
    if RepoPath(path) not in documents:
        return False
    blob = documents[RepoPath(path)]
    return blob is None or version.startswith(f"{blob}-")


def _record(run: RunName, digest: Digest, files: Mapping[str, bytes | None]) -> Record | str:
    content = files.get(record_file(run, digest))
    if content is None or sha256(content) != digest:
        return f"the admission record of `{run}` is not the one that was reserved for"
    try:
        said = json.loads(content)
        told = {f.name: said[f.name] for f in fields(Record) if f.name != "facts"}
        read = from_data(Record, told)
        facts = facts_in(read.evidence)
    except (ValueError, LookupError, TypeError, *UNREADABLE):
        return f"the admission record of `{run}` is damaged"
    if any(len(finding) != 3 for finding in read.findings):
        return f"the admission record of `{run}` is damaged"
    return replace(read, facts=facts)


def _proofs(
    names: Iterable[str], files: Mapping[str, bytes | None], damaged: dict[str, str]
) -> Iterator[Proof]:
    for name in names:
        try:
            proof = page(Proof, name, files)
        except (DamagedLedgerError, *UNREADABLE):
            damaged[name] = f"the proof `{name}` of the ledger is damaged"
            continue
        if proof_file(proof) == name:
            yield proof
        else:
            damaged[name] = f"`{name}` of the ledger is the proof of something else"

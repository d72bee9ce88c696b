"""What the ledger says as a whole: its files as values, read strictly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, TypeVar

from controller.documents.payload import run_name
from controller.errors import CannotRunError
from controller.ledger.codec import MalformedError, decoded
from controller.ledger.records import Key, RunRecord
from controller.ledger.store import Pages
from controller.values import AdmissionId, BlobId, CommitId, Digest, RepoPath, RunName

TRUST = "ledger.json"
HEARTBEAT = "heartbeat.json"
POLICY = "policy.json"
RUNS, RECORDS, PROOFS = "runs/", "records/", "proofs/"
ADMISSIONS, DECISIONS, ORDERS = "admissions/", "decisions/", "orders/"

_COMMIT = re.compile(r"[0-9A-Za-z]{1,64}")

T = TypeVar("T")


class DamagedLedgerError(CannotRunError):
    """A file of the ledger cannot be read as what it should be."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What the ledger was begun with: the commit of main whose policy and owners are trusted."""

    root: CommitId
    at: datetime
    by: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The last pass that wrote: when, over which main, in which workspace."""

    at: datetime
    main: CommitId
    workspace: str
    controller: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The last approved version of the policy: its bytes, and the change on main that brought them.

    `commit` is None where main has other bytes now.
    """

    blob: BlobId
    at: datetime
    commit: CommitId | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """One admission: its last approved version, and its balance in GPU hours.

    `commit` is the change on main that brought it; None where main has other bytes now.
    """

    id: AdmissionId
    blob: BlobId
    owner: str
    expires: date
    granted: float
    reserved: float = 0.0
    used: float = 0.0
    commit: CommitId | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a pass decided about a run, a manifest or the brake, until another decides otherwise.

    `code` tells decisions of one action apart; `blob` are the bytes of a manifest that it is
    about; `evidence` are the facts it rests on, as recorded.
    """

    subject: str
    action: str
    code: str
    why: str
    at: datetime
    main: CommitId
    rules: tuple[str, ...] = ()
    blob: BlobId | None = None
    evidence: Any = None


@dataclass(frozen=True, slots=True)
class Order:
    """What a person told the controller to do against its own caution, and why."""

    what: Literal["stop", "max-cancels", "accept-clock", "trust"]
    at: datetime
    reason: str
    by: str
    runs: tuple[RunName, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class ProvedBy:
    """One approval that counted. `id` is the host's own number of the person, where it has one."""

    login: str
    at: datetime
    source: str
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """That the bytes of a path (`blob` None: its removal) were approved, and by whom."""

    path: RepoPath
    blob: BlobId | None
    commit: CommitId
    owners: tuple[str, ...]
    by: tuple[ProvedBy, ...]
    at: datetime
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Book:
    """The ledger at one head. Admission records and proofs are known by name only."""

    head: CommitId
    trust: Trust
    heartbeat: Heartbeat
    records: Mapping[Key, RunRecord]
    accounts: Mapping[AdmissionId, Account]
    decisions: Mapping[str, Decision]
    policy: Standing | None
    names: frozenset[str]
    """Every file there is."""

    @property
    def active(self) -> tuple[RunRecord, ...]:
        """The records that are not closed, by name."""
        return tuple(record for record in self.records.values() if record.active)


def wanted(path: str) -> bool:
    """Whether a pass needs the content of a file: records and proofs are many, and not needed."""
    return not path.startswith((RECORDS, PROOFS, ORDERS))


def read_book(pages: Pages) -> Book:
    """Return the ledger as values. Raises DamagedLedgerError for what is not as it was written."""
    files = pages.files
    records = {
        (record.name, record.fingerprint): record
        for record in _all(RunRecord, RUNS, files, lambda r: run_file(r) if _in_order(r) else "")
    }
    trust, beat = page(Trust, TRUST, files), page(Heartbeat, HEARTBEAT, files)
    for path, commit in ((TRUST, trust.root), (HEARTBEAT, beat.main)):
        if not _COMMIT.fullmatch(commit):
            raise DamagedLedgerError(
                f"`{path}` of the ledger names {commit!a}, which is no commit",
                remedy="`admit ledger fsck` names the commit that broke it",
            )
    return Book(
        head=pages.head,
        trust=trust,
        heartbeat=beat,
        records=dict(sorted(records.items())),
        accounts={a.id: a for a in _all(Account, ADMISSIONS, files, lambda a: account_file(a.id))},
        decisions={
            d.subject: d
            for d in _all(Decision, DECISIONS, files, lambda d: decision_file(d.subject))
        },
        policy=page(Standing, POLICY, files) if POLICY in files else None,
        names=frozenset(files),
    )


def page(type_: type[T], path: str, files: Mapping[str, bytes | None]) -> T:
    """Return one file of the ledger as a value. Raises DamagedLedgerError."""
    content = files.get(path)
    if content is None:
        raise DamagedLedgerError(
            f"the ledger has no `{path}` that can be read",
            remedy="`admit ledger fsck` names the commit that broke it",
        )
    try:
        return decoded(type_, content)
    except MalformedError as error:
        raise DamagedLedgerError(
            f"`{path}` of the ledger is damaged: {error}",
            remedy="`admit ledger fsck` names the commit that broke it",
        ) from error


def run_file(record: RunRecord) -> str:
    """Return where a record is kept."""
    return f"{RUNS}{run_name(record.name, record.fingerprint)}.json"


def record_file(run: RunName, digest: Digest) -> str:
    """Return where the admission record of an attempt is kept.

    By its digest, too: what was released and reserved again has another record, of the same run.
    """
    return f"{RECORDS}{run}/{digest.removeprefix('sha256:')[:12]}.json"


def account_file(id_: AdmissionId) -> str:
    """Return where an admission's last approved version and balance are kept."""
    return f"{ADMISSIONS}{id_}.json"


def decision_file(subject: str) -> str:
    """Return where the last decision about a subject is kept."""
    return f"{DECISIONS}{_apart(subject)}.json"


def proof_file(proof: Proof) -> str:
    """Return where a proof is kept."""
    return f"{PROOFS}{_apart(proof.path + '/')}{proof.blob or 'removed'}-{proof.commit}.json"


def order_file(order: Order) -> str:
    """Return where an order is kept."""
    return f"{ORDERS}{order.at.strftime('%Y%m%dT%H%M%S.%fZ')}-{order.what}.json"


def _apart(path: str) -> str:
    """Return `path` with no folder that ends as files do: no name is ever a file and a folder."""
    return path.replace("%", "%25").replace(".json/", ".json%2F")


def _all(
    type_: type[T], folder: str, files: Mapping[str, bytes | None], kept: Callable[[T], str]
) -> Iterator[T]:
    """Yield every value of a folder; `kept` says where one of that content belongs."""
    for path in _below(folder, files):
        value = page(type_, path, files)
        if kept(value) != path:
            raise DamagedLedgerError(
                f"`{path}` of the ledger holds what does not belong there",
                remedy="`admit ledger fsck` names the commit that broke it",
            )
        yield value


def _in_order(record: RunRecord) -> bool:
    """Whether it is what the steps from one to the next can make: nothing is counted twice."""
    *before, last = record.generations or (None,)
    if last is None or any(g.closed is None or g.closed.how != "released" for g in before):
        return False
    return all(
        attempts and [a.number for a in attempts] == list(range(1, len(attempts) + 1))
        for attempts in (generation.attempts for generation in record.generations)
    )


def _below(folder: str, files: Iterable[str]) -> list[str]:
    return sorted(path for path in files if path.startswith(folder))

"""The ledger as far as it was walked: what the next commit is held against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from controller.documents.payload import run_name
from controller.ledger.account import Balance, balance
from controller.ledger.book import (
    ADMISSIONS,
    DECISIONS,
    HEARTBEAT,
    RECORDS,
    RUNS,
    Account,
    Decision,
    Heartbeat,
    page,
    record_file,
)
from controller.ledger.codec import SCHEMA
from controller.ledger.records import RunRecord
from controller.ledger.store import Pages
from controller.values import AdmissionId, CommitId, Digest, canonical_json, sha256

BEFORE = -1
"""The index of the commit of what was before the walk began, or never."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What is remembered of an admission record: its digest, and whose hours it is about."""

    digest: Digest
    admission: str


@dataclass(slots=True)
class Charged:
    """GPU hours that the runs of one admission come to."""

    reserved: float = 0.0
    used: float = 0.0


@dataclass(slots=True)
class Trail:
    """What was said so far, and by how many commits; commits are counted from the walk's first."""

    head: CommitId | None = None
    commits: int = 0
    """All there are up to the head."""
    walked: int = 0
    title: str = ""
    at: datetime | None = None
    """The title and time of the head, where it was walked."""
    names: set[str] = field(default_factory=set)
    heartbeat: Heartbeat | None = None
    beaten: int = BEFORE
    """Which commit the heartbeat is of."""
    accepted: int = BEFORE
    """Which commit was the last with an order to accept the clock."""
    records: dict[str, RunRecord] = field(default_factory=dict)
    grounds: dict[str, Grounds] = field(default_factory=dict)
    accounts: dict[AdmissionId, Account] = field(default_factory=dict)
    charged: dict[AdmissionId, Charged] = field(default_factory=dict)
    decided: dict[str, tuple[datetime, int]] = field(default_factory=dict)
    """When each last decision was made, and in which commit."""

    def put(self, path: str, record: RunRecord) -> set[AdmissionId]:
        """Take a run's record in place of the one before; return whose charges it changes."""
        touched = set()
        for sign, said in ((-1, self.records.get(path)), (1, record)):
            for id_, reserved, used in _charges(said):
                now = self.charged.setdefault(id_, Charged())
                now.reserved += sign * reserved
                now.used += sign * used
                touched.add(id_)
        self.records[path] = record
        return touched

    def recomputed(self) -> Iterator[tuple[Account, Balance]]:
        """Yield every account, and the balance of its runs counted from scratch."""
        own: dict[AdmissionId, list[RunRecord]] = {id_: [] for id_ in self.accounts}
        for record in self.records.values():
            for id_ in {generation.admission for generation in record.generations}:
                own.setdefault(id_, []).append(record)
        for id_, account in sorted(self.accounts.items()):
            yield account, balance(id_, account.granted, own[id_])

    def ground(self, pages: Pages) -> None:
        """Take the admission records whose content `pages` has, but for those that are none."""
        for path, content in pages.files.items():
            if path.startswith(RECORDS) and content is not None:
                grounds = read_grounds(path, content)
                if isinstance(grounds, Grounds):
                    self.grounds[path] = grounds

    def ungrounded(self) -> frozenset[str]:
        """Return the admission records that no run's record names, and nobody has read."""
        records = (path for path in self.names if path.startswith(RECORDS))
        return frozenset(path for path in records if path not in self.grounds)


def trail_at(pages: Pages, commits: int) -> Trail:
    """Return the ledger at a head that was found sound, after so many commits, to go on from.

    It is believed, not checked. Raises DamagedLedgerError where it cannot be read.
    """
    files = pages.files
    trail = Trail(pages.head, commits, names=set(files))
    trail.heartbeat = page(Heartbeat, HEARTBEAT, files)
    for path in sorted(files):
        if path.startswith(RUNS):
            record = page(RunRecord, path, files)
            trail.put(path, record)
            trail.grounds |= dict(grounds_of(record))
        elif path.startswith(ADMISSIONS):
            account = page(Account, path, files)
            trail.accounts[account.id] = account
        elif path.startswith(DECISIONS):
            decision = page(Decision, path, files)
            trail.decided[decision.subject] = (decision.at, BEFORE)
    return trail


def grounds_of(record: RunRecord) -> Iterator[tuple[str, Grounds]]:
    """Yield, for each attempt, where its admission record has to be, and what that has to say."""
    for generation in record.generations:
        for attempt in generation.attempts:
            run = run_name(record.name, record.fingerprint, attempt.number)
            yield (
                record_file(run, attempt.record),
                Grounds(attempt.record, generation.admission),
            )


def read_grounds(path: str, content: bytes) -> Grounds | str:
    """Return what an admission record at `path` says, or why it is not the one of that run."""
    digest = sha256(content)
    try:
        said = json.loads(content)
        spelled = canonical_json(said) + b"\n" == content
        payload = sha256(canonical_json(said["payload"])).removeprefix("sha256:")
        run = run_name(said["name"], said["fingerprint"], said["attempt"])
        schema, own, admission = said["schema"], said["run"], said["admission"]
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return "it is not an admission record"
    if schema != SCHEMA or not spelled or not isinstance(admission, str):
        return "it is not an admission record in its one canonical spelling"
    if own != run or not path.startswith(f"{RECORDS}{run}/"):
        return f"it is the admission record of `{own}`"
    if payload != said["fingerprint"]:
        return "its payload has another fingerprint than it says"
    if record_file(run, digest) != path:
        return "it has another digest than its name"
    return Grounds(digest, admission)


def _charges(record: RunRecord | None) -> Iterator[tuple[AdmissionId, float, float]]:
    """Yield what each reservation counts for: whose, GPU hours set aside, GPU hours used."""
    for generation in record.generations if record else ():
        if generation.closed is None:
            yield generation.admission, max(generation.gpu_hours, generation.spent), 0.0
        else:
            yield generation.admission, 0.0, generation.closed.gpu_hours

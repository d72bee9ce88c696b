"""A sound ledger written by the real writer, in memory, for tests that then break it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Literal, Protocol

from controller.documents.payload import run_name
from controller.ledger import records as steps
from controller.ledger.book import (
    Account,
    Decision,
    Heartbeat,
    Order,
    Proof,
    ProvedBy,
    Standing,
    Trust,
    order_file,
    proof_file,
    read_book,
    record_file,
    wanted,
)
from controller.ledger.codec import encoded
from controller.ledger.draft import Draft, begun
from controller.ledger.records import (
    DEADLINE,
    MARGIN,
    Attempt,
    CancelAsked,
    Failure,
    Generation,
    Over,
    RunRecord,
    Stop,
)
from controller.ledger.store import Change, Ledger, Log, Step
from controller.values import (
    AdmissionId,
    BlobId,
    CommitId,
    Fingerprint,
    Json,
    RepoPath,
    canonical_json,
    sha256,
)
from tests.builders import NOW
from tests.fake_ledger import MemoryLedger

ROOT = CommitId("ab" * 20)
OTHER = CommitId("cd" * 20)
BLOB = BlobId("ef" * 20)
POLICY = RepoPath("admissions/policy.yml")
MINUTE = timedelta(minutes=1)
GRANTED = 1000.0


def fingerprint(name: str) -> Fingerprint:
    """Return the fingerprint of the payload that the run of this name has."""
    return Fingerprint(hashlib.sha256(canonical_json({"job": name})).hexdigest())


def key(name: str) -> str:
    """Return the file of the run of this name."""
    return f"runs/{run_name(name, fingerprint(name))}.json"


def grounds(name: str, admission: str, attempt: int = 1, at: datetime = NOW) -> bytes:
    """Return an admission record, as far as the audit reads it, and a time."""
    content: Json = {
        "at": at.isoformat(),
        "schema": 1,
        "run": run_name(name, fingerprint(name), attempt),
        "name": name,
        "fingerprint": fingerprint(name),
        "attempt": attempt,
        "admission": admission,
        "payload": {"job": name},
    }
    return canonical_json(content) + b"\n"


class Store(Ledger, Log, Protocol):
    """Both sides of a ledger."""


class Story:
    """A ledger that is written by drafts. Every verb is one commit and one minute."""

    def __init__(self, ledger: Store | None = None) -> None:
        self.ledger: Store = MemoryLedger() if ledger is None else ledger
        self.now: datetime = NOW
        first = begun(ROOT, self.now, by="ada", workspace="local:here", controller="1")
        self.ledger.append([first], after=None, at=self.now)
        self.draft = Draft(read_book(self.ledger.read(wanted)))

    @property
    def steps(self) -> list[Step]:
        return list(self.ledger.steps())

    def record(self, name: str) -> RunRecord:
        found = self.draft.record(name, fingerprint(name))
        assert found is not None
        return found

    def flush(self) -> None:
        beat = Heartbeat(self.now, ROOT, "local:here", "1")
        self.draft.flush(self.ledger, beat)
        self.now += MINUTE

    def admit(self, id_: str = "digits", granted: float = GRANTED) -> None:
        account = Account(AdmissionId(id_), BLOB, "@ada", date(2027, 3, 31), granted)
        self.draft.approve(account, f"see {id_} approved with {granted:g}")
        if self.draft.pending:
            self.flush()

    def policy(self, blob: BlobId) -> None:
        self.draft.trust(Standing(blob, self.now), "see another policy approved")
        self.flush()

    def reserve(self, name: str, admission: str = "digits", **changes: Any) -> None:
        """Set aside two nodes of eight GPUs for an hour, and for one retry."""
        content = grounds(name, admission, at=self.now)
        attempt = Attempt(1, sha256(content), self.now, self.now + DEADLINE)
        generation = Generation(
            admission=AdmissionId(admission),
            path=RepoPath(f"jobs/{name}.yml"),
            blob=BLOB,
            workspace="local:here",
            nodes=2,
            gpus_per_node=8,
            timeout=3600,
            retries=1,
            gpu_hours=32.0,
            attempts=(attempt,),
        )
        there = self.draft.record(name, fingerprint(name))
        new = replace(generation, **changes)
        record = steps.reserved(there, name, fingerprint(name), new)
        self.draft.put(
            record, f"reserve {name}", "why", {**self._proof(), record_at(content): content}
        )
        self.flush()

    def again(self, name: str) -> None:
        """Prepare another attempt; again the same, where it was not submitted in time."""
        record = self.record(name)
        late = record.stage == "reserved"
        if late:
            self.now = record.attempt.deadline + MARGIN + MINUTE
        number = record.attempts + (not late)
        content = grounds(name, record.admission, number, self.now)
        attempt = Attempt(number, sha256(content), self.now, self.now + DEADLINE)
        tried = steps.tried_again(record, attempt)
        self.draft.put(tried, f"prepare {name}", "why", {record_at(content): content})
        self.flush()

    def put(self, verb: str, name: str, *doing: Callable[[RunRecord], RunRecord]) -> None:
        """Do one or more steps of a run in one commit."""
        record = self.record(name)
        for do in doing:
            record = do(record)
        self.draft.put(record, f"{verb} {name}", "why")
        self.flush()

    def submit(self, name: str) -> None:
        self.put("submit", name, self.submitted)

    def fail(self, name: str) -> None:
        failure = Failure(self.now, "quota", refused=True)
        self.put("fail", name, lambda r: steps.failed(r, failure))

    def cancel(self, name: str) -> None:
        asked = CancelAsked(self.now, "expired", "it expired")
        self.put("cancel", name, lambda r: steps.cancel_asked(r, asked))

    def stop(self, name: str) -> None:
        self.put("stop", name, lambda r: steps.stopped(r, Stop(self.now, "enough", "ada")))

    def end(self, name: str, hours: float = 4.0, *, preempted: bool = False) -> None:
        self.put("end", name, self.over(hours, preempted=preempted))

    def settle(self, name: str) -> None:
        self.put("settle", name, self.settled)

    def release(self, name: str) -> None:
        self.put("release", name, lambda r: steps.released(r, self.now, "it was never started"))

    def submitted(self, record: RunRecord) -> RunRecord:
        return steps.submitted(record, self.now)

    def over(self, hours: float, *, preempted: bool = False) -> Callable[[RunRecord], RunRecord]:
        end = Over("Failed" if preempted else "Completed", hours, True, preempted=preempted)
        return lambda record: steps.over(record, end)

    def settled(self, record: RunRecord) -> RunRecord:
        return steps.settled(record, self.now, "no attempt left", exact=True)

    def decide(self, subject: str, action: str, code: str = "") -> None:
        self.draft.decide([Decision(subject, action, code, "why", self.now, ROOT)])
        self.flush()

    def order(self, what: Literal["stop", "max-cancels", "accept-clock", "trust"]) -> None:
        self.draft.order(Order(what, self.now, "I know better", "ada"), f"ada orders {what}")
        self.flush()

    def trust(self, root: CommitId) -> None:
        """Trust another commit of main, as `admit ledger init --again` does."""
        order = Order("trust", self.now, "main was rewritten", "ada")
        trust = Trust(root, self.now, "ada")
        files = {order_file(order): encoded(order), "ledger.json": encoded(trust)}
        head = self.ledger.append(
            [Change("trust another", files)], after=self.draft.head, at=self.now
        )
        self.draft.head = head
        self.now += MINUTE

    def _proof(self) -> Mapping[str, bytes]:
        by = (ProvedBy("lin", self.now, "note"),)
        proof = Proof(POLICY, BLOB, ROOT, ("@lin",), by, self.now)
        return {proof_file(proof): encoded(proof)}


def record_at(content: bytes) -> str:
    """Return where an admission record is kept."""
    return record_file(json.loads(content)["run"], sha256(content))


def told(ledger: Store | None = None) -> Story:
    """Return a ledger in which everything that may be written was written."""
    story = Story(ledger)
    story.policy(BLOB)
    story.admit()
    story.admit("other", 64.0)
    story.decide("jobs/one.yml", "withhold")
    story.reserve("one")
    story.fail("one")
    story.submit("one")
    story.end("one", preempted=True)
    story.again("one")
    story.again("one")
    story.submit("one")
    story.cancel("one")
    story.end("one", 8.0)
    story.settle("one")
    story.decide("jobs/one.yml", "submit")
    story.reserve("two", "other")
    story.release("two")
    story.put("late", "two", story.submitted, story.over(40.0))
    story.settle("two")
    story.reserve("three")
    story.release("three")
    story.reserve("three", "other", nodes=1, gpus_per_node=1, gpu_hours=2.0)
    story.submit("three")
    story.stop("three")
    story.order("max-cancels")
    story.trust(OTHER)
    story.now -= 60 * MINUTE
    story.order("accept-clock")
    story.decide("jobs/one.yml", "withhold", "again")
    story.admit("digits", 1.0)
    story.reserve("four", "other", nodes=1, gpus_per_node=1, gpu_hours=2.0)
    story.put("run", "four", story.submitted, story.over(0.5), story.settled)
    return story

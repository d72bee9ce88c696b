"""What is remembered of each run: frozen values, and the only steps from one to the next.

One record for each (name, fingerprint). Its generations are reservations: a new one is made only
after the one before was released. The attempts of a generation share its reservation.

    reserved -> submitted -> over -> (next attempt) ... -> settled
    reserved -> released -> reserved again
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from controller.documents.payload import run_name
from controller.values import AdmissionId, BlobId, Digest, Fingerprint, RepoPath, RunName

DEADLINE = timedelta(minutes=15)
"""So long after its reservation a run may be submitted."""
MARGIN = timedelta(minutes=10)
"""So long after the deadline a reservation stays: clocks differ, and a submission takes time."""

Key = tuple[str, Fingerprint]
"""What a record is of: the name of a manifest, and the fingerprint of its payload."""

Stage = Literal["reserved", "submitted", "over", "released", "settled"]


class OutOfOrderError(ValueError):
    """A step that cannot follow from what a record says."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A submission that failed. `refused`: the workspace said no; else it could not be asked."""

    at: datetime
    why: str
    refused: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """Somebody said `admit stop`: the attempt is to end, whatever main says."""

    at: datetime
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """The workspace was asked to end the run."""

    at: datetime
    cause: str
    why: str


@dataclass(frozen=True, slots=True)
class Over:
    """How an attempt ended, and what it came to. `exact`: by the workspace's own times."""

    state: str
    gpu_hours: float
    exact: bool
    started_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str = ""
    preempted: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission: `record` is the digest of its admission record, which is also in the run."""

    number: int
    record: Digest
    reserved_at: datetime
    deadline: datetime
    failures: tuple[Failure, ...] = ()
    submitted_at: datetime | None = None
    stop: Stop | None = None
    cancel: CancelAsked | None = None
    over: Over | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the team's MLflow says came of a run; '' for what it does not say."""

    mlflow_run: str
    model: str = ""
    version: str = ""
    dataset: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    """The end of a generation: given back unused, or made exact.

    `outcome` is None where MLflow had nothing or could not be asked.
    """

    how: Literal["released", "settled"]
    at: datetime
    why: str
    gpu_hours: float = 0.0
    exact: bool = True
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """One reservation of an admission, for all attempts of a payload.

    `gpu_hours` is the worst case, `timeout` the limit of one attempt in seconds, `retries` how
    many attempts after the first it covers. `blob` are the bytes of the manifest at `path`.
    """

    admission: AdmissionId
    path: RepoPath
    blob: BlobId
    workspace: str
    nodes: int
    gpus_per_node: int
    timeout: int
    retries: int
    gpu_hours: float
    attempts: tuple[Attempt, ...]
    closed: Closed | None = None

    @property
    def bound(self) -> float:
        """The GPU hours of one attempt that runs into its time limit."""
        return self.nodes * self.gpus_per_node * self.timeout / 3600

    @property
    def spent(self) -> float:
        """The GPU hours of the attempts that are over."""
        return sum(attempt.over.gpu_hours for attempt in self.attempts if attempt.over)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One (name, fingerprint), all its attempts included.

    It belongs to the admission that reserved for it, for ever; again released, to the next one.
    """

    name: str
    fingerprint: Fingerprint
    generations: tuple[Generation, ...]

    @property
    def last(self) -> Generation:
        """The generation that counts."""
        return self.generations[-1]

    @property
    def attempt(self) -> Attempt:
        """The attempt that counts."""
        return self.generations[-1].attempts[-1]

    @property
    def run(self) -> RunName:
        """The name of that attempt in the workspace."""
        return run_name(self.name, self.fingerprint, self.attempt.number)

    @property
    def stage(self) -> Stage:
        """How far it has come."""
        if (closed := self.last.closed) is not None:
            return closed.how
        if self.attempt.over is not None:
            return "over"
        return "reserved" if self.attempt.submitted_at is None else "submitted"

    @property
    def admission(self) -> AdmissionId:
        """The admission that it is charged to."""
        return self.last.admission

    @property
    def path(self) -> RepoPath:
        """The manifest that it was started for."""
        return self.last.path

    @property
    def nodes(self) -> int:
        """The nodes it runs on."""
        return self.last.nodes

    @property
    def gpus_per_node(self) -> int:
        """The GPUs of each of them."""
        return self.last.gpus_per_node

    @property
    def reserved(self) -> float:
        """GPU hours set aside; more, where the attempts that are over came to more."""
        return max(self.last.gpu_hours, self.last.spent)

    @property
    def started_at(self) -> datetime:
        """When its hours were set aside."""
        return self.last.attempts[0].reserved_at

    @property
    def attempts(self) -> int:
        """The number of the attempt that counts, from 1."""
        return self.attempt.number

    @property
    def active(self) -> bool:
        """Whether it still holds nodes and its reservation."""
        return self.last.closed is None

    @property
    def settled(self) -> bool:
        """Whether it is over for good."""
        return self.last.closed is not None and self.last.closed.how == "settled"

    @property
    def used(self) -> float | None:
        """What it came to in GPU hours; None until that is certain."""
        return None if self.last.closed is None else self.last.closed.gpu_hours

    @property
    def charged(self) -> float:
        """GPU hours that count against the admission now."""
        return self.reserved if self.used is None else self.used

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The submissions that failed since the last that did not, the oldest first."""
        found: list[Failure] = []
        for attempt in (a for g in self.generations for a in g.attempts):
            found = [] if attempt.submitted_at else [*found, *attempt.failures]
        return tuple(found)


def reserved(before: RunRecord | None, name: str, fp: Fingerprint, new: Generation) -> RunRecord:
    """Return the record with a new reservation; the one before, if any, was released."""
    if before is None:
        return RunRecord(name, fp, (new,))
    if (before.name, before.fingerprint) != (name, fp) or before.stage != "released":
        raise OutOfOrderError(f"`{before.run}` is {before.stage}, so nothing more is set aside")
    return replace(before, generations=(*before.generations, new))


def tried_again(record: RunRecord, attempt: Attempt) -> RunRecord:
    """Return the record with one more attempt out of the same reservation.

    It takes the place of a retry that was never submitted, whose failures it keeps.
    """
    before = record.last.attempts
    if record.stage == "reserved" and len(before) > 1:
        attempt = replace(attempt, failures=(*before[-1].failures, *attempt.failures))
        before = before[:-1]
    elif record.stage != "over":
        raise OutOfOrderError(f"`{record.run}` is {record.stage}, so it is not tried again")
    if attempt.number != before[-1].number + 1:
        raise OutOfOrderError(f"`{record.run}` is not followed by attempt {attempt.number}")
    return _with_last(record, lambda g: replace(g, attempts=(*before, attempt)))


def failed(record: RunRecord, failure: Failure) -> RunRecord:
    """Return the record with one more failed submission."""
    _must_be(record, "reserved")
    return _with_attempt(record, lambda a: replace(a, failures=(*a.failures, failure)))


def submitted(record: RunRecord, at: datetime) -> RunRecord:
    """Return the record with its submission. A run that shows up after its release is charged."""
    if record.stage == "released":
        late = replace(record.last, closed=None)
        record = replace(record, generations=(*record.generations, late))
    _must_be(record, "reserved")
    return _with_attempt(record, lambda a: replace(a, submitted_at=at))


def stopped(record: RunRecord, stop: Stop) -> RunRecord:
    """Return the record with somebody's word that it is to end. The first word stays."""
    _must_be(record, "reserved", "submitted", "over")
    return _with_attempt(record, lambda a: a if a.stop else replace(a, stop=stop))


def cancel_asked(record: RunRecord, cancel: CancelAsked) -> RunRecord:
    """Return the record with the request to end its run. The first request stays."""
    _must_be(record, "submitted")
    return _with_attempt(record, lambda a: a if a.cancel else replace(a, cancel=cancel))


def over(record: RunRecord, end: Over) -> RunRecord:
    """Return the record with the end of its attempt."""
    _must_be(record, "submitted")
    return _with_attempt(record, lambda a: replace(a, over=end))


def released(record: RunRecord, at: datetime, why: str) -> RunRecord:
    """Return the record with its reservation given back: no run was ever started from it."""
    _must_be(record, "reserved")
    if len(record.last.attempts) > 1:
        raise OutOfOrderError(f"`{record.run}` is a retry: its reservation is used in part")
    return _with_last(record, lambda g: replace(g, closed=Closed("released", at, why)))


def settled(
    record: RunRecord, at: datetime, why: str, *, exact: bool, outcome: Outcome | None = None
) -> RunRecord:
    """Return the record made exact: what its attempts came to, and nothing is set aside more.

    An attempt that was submitted and is not over is charged its bound.
    """
    _must_be(record, "reserved", "submitted", "over")
    hours = record.last.spent + (record.last.bound if record.stage == "submitted" else 0.0)
    closed = Closed("settled", at, why, hours, exact, outcome)
    return _with_last(record, lambda g: replace(g, closed=closed))


def _must_be(record: RunRecord, *stages: Stage) -> None:
    if record.stage not in stages:
        raise OutOfOrderError(f"`{record.run}` is {record.stage}")


def _with_last(record: RunRecord, change: Callable[[Generation], Generation]) -> RunRecord:
    changed = change(record.last)
    return replace(record, generations=(*record.generations[:-1], changed))


def _with_attempt(record: RunRecord, change: Callable[[Attempt], Attempt]) -> RunRecord:
    def in_last(last: Generation) -> Generation:
        return replace(last, attempts=(*last.attempts[:-1], change(last.attempts[-1])))

    return _with_last(record, in_last)

"""What each kind of file of the ledger is held to, in a commit and against what was said before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from controller.ledger import book
from controller.ledger.audit_runs import follows, sets_aside, sound
from controller.ledger.audit_trail import Trail, grounds_of, read_grounds
from controller.ledger.book import Account, Decision, Heartbeat, Order, Proof, Standing, Trust
from controller.ledger.codec import MalformedError, decoded
from controller.ledger.records import RunRecord
from controller.values import AdmissionId

SKEW = timedelta(minutes=2)
"""Clocks may differ by so much."""

_ONLY_ONCE = "it is changed, and may be written only once"

T = TypeVar("T")


@dataclass(slots=True)
class Turn:
    """One commit being looked at: which of the walk it is, and what it is found to bring."""

    index: int
    orders: set[str] = field(default_factory=set)
    """The kinds of orders."""
    touched: set[AdmissionId] = field(default_factory=set)
    """The admissions whose account or charges it changes."""
    reserving: set[AdmissionId] = field(default_factory=set)
    """The admissions of which it sets GPU hours aside."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that a commit adds or changes. Its rule takes it into the trail if it is sound."""

    trail: Trail
    turn: Turn
    path: str
    content: bytes

    @property
    def there(self) -> bool:
        """Whether an earlier commit has written it."""
        return self.path in self.trail.names

    def read(self, type_: type[T]) -> T | str:
        """Return the value that it is, or why it is none."""
        try:
            return decoded(type_, self.content)
        except MalformedError as error:
            return f"it is damaged: {error}"

    def is_at(self, path: str) -> str:
        """Return why it is not where what it says belongs, or ''."""
        return "" if self.path == path else f"it says that it is `{path}`"


def _order(file: File) -> str:
    order = file.read(Order)
    if isinstance(order, str):
        return order
    if file.there:
        return _ONLY_ONCE
    file.turn.orders.add(order.what)
    if order.what == "accept-clock":
        file.trail.accepted = file.turn.index
    return file.is_at(book.order_file(order))


def _trust(file: File) -> str:
    if isinstance(trust := file.read(Trust), str):
        return trust
    if file.there and "trust" not in file.turn.orders:
        return "another commit of main is trusted, and no order `trust` came with it"
    return ""


def _heartbeat(file: File) -> str:
    new, last = file.read(Heartbeat), file.trail.heartbeat
    if isinstance(new, str):
        return new
    if last is not None and new.at < last.at - SKEW and file.trail.accepted <= file.trail.beaten:
        return f"it went back from {_time(last.at)} to {_time(new.at)}, and nobody accepted that"
    file.trail.heartbeat, file.trail.beaten = new, file.turn.index
    return ""


def _policy(file: File) -> str:
    standing = file.read(Standing)
    return standing if isinstance(standing, str) else ""


def _record(file: File) -> str:
    if file.there:
        return _ONLY_ONCE
    grounds = read_grounds(file.path, file.content)
    if isinstance(grounds, str):
        return grounds
    file.trail.grounds[file.path] = grounds
    return ""


def _proof(file: File) -> str:
    if file.there:
        return _ONLY_ONCE
    proof = file.read(Proof)
    return proof if isinstance(proof, str) else file.is_at(book.proof_file(proof))


def _account(file: File) -> str:
    account = file.read(Account)
    if isinstance(account, str):
        return account
    if why := file.is_at(book.account_file(account.id)):
        return why
    if min(account.granted, account.reserved, account.used) < 0:
        return "it has a negative amount"
    file.trail.accounts[account.id] = account
    file.turn.touched.add(account.id)
    return ""


def _run(file: File) -> str:
    record, before = file.read(RunRecord), file.trail.records.get(file.path)
    if isinstance(record, str):
        return record
    if why := sound(record) or follows(before, record) or file.is_at(book.run_file(record)):
        return why
    for path, needed in grounds_of(record):
        grounds = file.trail.grounds.get(path)
        if grounds is None:
            return f"`{path}`, its admission record, is not there"
        if grounds.digest != needed.digest:
            return f"`{path}` is not the admission record that it names"
        if grounds.admission != needed.admission:
            said = f"its admission record is about `{grounds.admission}`"
            return f"it is charged to `{needed.admission}`, and {said}"
    file.turn.touched |= file.trail.put(file.path, record)
    if sets_aside(before, record):
        file.turn.reserving.add(record.admission)
    return ""


def _decision(file: File) -> str:
    decision = file.read(Decision)
    if isinstance(decision, str):
        return decision
    if why := file.is_at(book.decision_file(decision.subject)):
        return why
    at, index = file.trail.decided.get(decision.subject, (decision.at, file.turn.index))
    if decision.at < at - SKEW and file.trail.accepted <= index:
        return f"a decision of {_time(at)} is replaced by an older one of {_time(decision.at)}"
    file.trail.decided[decision.subject] = (decision.at, file.turn.index)
    return ""


_Rule = Callable[[File], str]
_KINDS: Mapping[str, _Rule] = {
    book.ORDERS: _order,
    book.TRUST: _trust,
    book.HEARTBEAT: _heartbeat,
    book.POLICY: _policy,
    book.RECORDS: _record,
    book.PROOFS: _proof,
    book.ADMISSIONS: _account,
    book.RUNS: _run,
    book.DECISIONS: _decision,
}
"""The rule of every kind of file, in the order in which they rest on one another."""
_RULES = (*_KINDS.values(),)
_RANKS = {kind: rank for rank, kind in enumerate(_KINDS)}


def in_order(paths: Iterable[str]) -> list[tuple[str, _Rule | None]]:
    """Return the files of a commit with their rules; first those of which no ledger has any."""
    ranked = sorted((_RANKS.get(_kind_of(path), -1), path) for path in paths)
    return [(path, _RULES[rank] if rank >= 0 else None) for rank, path in ranked]


def _kind_of(path: str) -> str:
    folder, slash, _ = path.partition("/")
    return folder + slash


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"

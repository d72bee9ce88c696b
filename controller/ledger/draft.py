"""What is to be written next: changes in order, over the ledger as it will be with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from controller.ledger import book as pages
from controller.ledger.account import balance
from controller.ledger.book import Account, Book, Decision, Heartbeat, Order, Standing
from controller.ledger.codec import encoded
from controller.ledger.records import Key, RunRecord
from controller.ledger.store import Change, Ledger
from controller.values import AdmissionId, CommitId, Fingerprint

_NAMED = 20
"""So many decisions are named in the body of one commit; the others are counted."""


class Draft:
    """The ledger on top of one head, and what is not written yet.

    Appending is a compare-and-swap: where somebody else came first, everything that was drafted
    rests on an old head, and the whole draft is void.
    """

    def __init__(self, book: Book) -> None:
        self.head: CommitId = book.head
        self._records = dict(book.records)
        self._accounts = dict(book.accounts)
        self._decisions = dict(book.decisions)
        self._policy = book.policy
        self._files = set(book.names)
        self._pending: list[Change] = []
        self._own: dict[AdmissionId, dict[Key, RunRecord]] = {}
        for key, record in self._records.items():
            self._belongs(key, record)

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """Every record, as drafted."""
        return tuple(self._records.values())

    @property
    def pending(self) -> bool:
        """Whether anything is to be written."""
        return bool(self._pending)

    def record(self, name: str, fingerprint: Fingerprint) -> RunRecord | None:
        """Return the record of a payload, as drafted."""
        return self._records.get((name, fingerprint))

    def put(
        self, record: RunRecord, title: str, body: str = "", more: Mapping[str, bytes] | None = None
    ) -> None:
        """Draft a change of one run, with the balance of its admission as it is after it.

        `more` are files that go with it; one that is there already is not written again.
        """
        key = (record.name, record.fingerprint)
        self._records[key] = record
        self._belongs(key, record)
        files = {pages.run_file(record): encoded(record)}
        account = self._accounts.get(record.admission)
        if account is not None:
            files |= self._account(account)
        files |= {p: content for p, content in (more or {}).items() if p not in self._files}
        self._write(title, files, body)

    def approve(self, account: Account, title: str, body: str = "") -> None:
        """Draft another last approved version of an admission; its balance is worked out here."""
        there = self._accounts.get(account.id)
        if there is not None and _version(there) == _version(account):
            return
        self._write(title, self._account(account), body)

    def trust(self, policy: Standing, title: str) -> None:
        """Draft another last approved version of the policy."""
        before = self._policy
        if before is None or (before.blob, before.commit) != (policy.blob, policy.commit):
            self._policy = policy
            self._write(title, {pages.POLICY: encoded(policy)})

    def decide(self, decisions: Sequence[Decision]) -> None:
        """Draft those of `decisions` that differ from the last ones, as one change."""
        new = [d for d in decisions if _differs(d, self._decisions.get(d.subject))]
        if not new:
            return
        self._decisions |= {decision.subject: decision for decision in new}
        files = {pages.decision_file(d.subject): encoded(d) for d in new}
        lines = [f"{d.action} {d.subject}: {d.why}" for d in new]
        more = [f"and {len(lines) - _NAMED} more"] if len(lines) > _NAMED else []
        one = f"decide: {new[0].action} {new[0].subject}"
        title = one if len(new) == 1 else f"decide about {len(new)} subjects"
        self._write(title, files, "\n\n".join(lines[:_NAMED] + more))

    def order(self, order: Order, title: str) -> None:
        """Draft what a person said."""
        self._write(title, {pages.order_file(order): encoded(order)}, order.reason)

    def flush(self, ledger: Ledger, beat: Heartbeat) -> None:
        """Append everything drafted, and the heartbeat with it; all of it or nothing.

        Raises LostRaceError and UnavailableError. With nothing drafted, nothing is done.
        """
        if not self._pending:
            return
        *first, last = self._pending
        files = {**last.files, pages.HEARTBEAT: encoded(beat)}
        self.head = ledger.append([*first, replace(last, files=files)], after=self.head, at=beat.at)
        self._pending = []

    def beat(self, beat: Heartbeat) -> None:
        """Draft a heartbeat alone."""
        self._write("heartbeat", {pages.HEARTBEAT: encoded(beat)})

    def _belongs(self, key: Key, record: RunRecord) -> None:
        for generation in record.generations:
            self._own.setdefault(generation.admission, {})[key] = record

    def _account(self, account: Account) -> dict[str, bytes]:
        own = self._own.get(account.id, {}).values()
        now = balance(account.id, account.granted, own)
        account = replace(account, reserved=now.reserved, used=now.used)
        self._accounts[account.id] = account
        return {pages.account_file(account.id): encoded(account)}

    def _write(self, title: str, files: Mapping[str, bytes], body: str = "") -> None:
        self._files.update(files)
        self._pending.append(Change(title, files, body))


def begun(root: CommitId, at: datetime, *, by: str, workspace: str, controller: str) -> Change:
    """Return the first commit of a ledger that trusts `root`."""
    trust = pages.Trust(root, at, by)
    beat = Heartbeat(at, root, workspace, controller)
    files = {pages.TRUST: encoded(trust), pages.HEARTBEAT: encoded(beat)}
    return Change(f"begin the ledger, trusting {root[:12]}", files)


def _version(account: Account) -> Any:
    return replace(account, reserved=0.0, used=0.0)


def _differs(new: Decision, last: Decision | None) -> bool:
    """Whether another decision was made; reasons alone may count days or hours."""
    if last is None:
        return True
    return (new.action, new.code, new.rules, new.blob) != (
        last.action,
        last.code,
        last.rules,
        last.blob,
    )

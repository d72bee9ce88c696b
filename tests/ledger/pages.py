"""A ledger as files: everything that a pass reads of it, sound."""

from __future__ import annotations

from datetime import date
from typing import Any

from controller.ledger.book import (
    HEARTBEAT,
    POLICY,
    TRUST,
    Account,
    Book,
    Decision,
    Heartbeat,
    Standing,
    Trust,
    account_file,
    decision_file,
    read_book,
    run_file,
)
from controller.ledger.codec import encoded
from controller.ledger.records import RunRecord
from controller.ledger.store import Pages
from controller.values import AdmissionId, BlobId, CommitId
from tests.builders import NOW, record

HEAD, MAIN, ROOT = CommitId("head"), CommitId("c0ffee"), CommitId("0007")
BERT = AdmissionId("bert-pretrain")
RAN = record()
TRUSTED = Trust(ROOT, NOW, "@ada")
BEAT = Heartbeat(NOW, MAIN, "local:here", "0.1.0")
ACCOUNT = Account(BERT, BlobId("b10b"), "@acme/nlp", date(2027, 3, 31), 1000.0, 960.0, 0.0)
APPROVED = Standing(BlobId("90"), NOW)
KEPT = Decision("jobs/bert/pretrain.yml", "withhold", "", "why", NOW, MAIN, ("timeout-set",))


def files(*values: RunRecord | Account | Decision, **others: Any) -> dict[str, bytes | None]:
    """Return the files of a ledger in which `values` are kept; `others` change single files."""
    kept: dict[str, bytes | None] = {TRUST: encoded(TRUSTED), HEARTBEAT: encoded(BEAT)}
    for value in values:
        match value:
            case RunRecord():
                kept[run_file(value)] = encoded(value)
            case Account():
                kept[account_file(value.id)] = encoded(value)
            case Decision():
                kept[decision_file(value.subject)] = encoded(value)
    return kept | others


FULL = files(RAN, ACCOUNT, KEPT) | {POLICY: encoded(APPROVED)}


def book(*values: RunRecord | Account | Decision, **others: Any) -> Book:
    """Return that ledger as values."""
    return read_book(Pages(HEAD, files(*values, **others)))

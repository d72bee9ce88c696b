"""Whether the ledger's commits are what passes write: the first that is not, and why.

Every commit follows the one before and only adds to what was said; what an account says is what
its runs come to; nothing was set aside that was not free. The cost of a commit grows with what it
changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from controller.ledger import book
from controller.ledger.audit_files import File, Turn, in_order
from controller.ledger.audit_runs import TOLERANCE
from controller.ledger.audit_trail import Trail
from controller.ledger.book import Account
from controller.ledger.store import Step
from controller.values import AdmissionId, CommitId

RULES = 1
"""The version of the rules: what was found sound by another is looked at again."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The first commit that breaks a rule, with which file (''; it is the commit), and how."""

    commit: CommitId
    title: str
    at: datetime | None
    path: str
    why: str
    before: CommitId | None
    """The commit before it, which is sound."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What the sound part of the ledger has; hours are GPU hours."""

    commits: int
    runs: int
    admissions: int
    reserved: float
    used: float


@dataclass(frozen=True, slots=True)
class Audited:
    """What a walk has found; `head` is the last sound commit."""

    head: CommitId | None
    totals: Totals
    broken: Broken | None = None


def audit(steps: Iterable[Step], trail: Trail | None = None) -> Audited:
    """Walk commits, the oldest first, from the beginning or from where a `trail` ends.

    `trail` is used up. At the end every account is counted from scratch, too.
    """
    trail = trail or Trail()
    for step in steps:
        for path, why in _against(step, trail):
            broken = Broken(step.commit, step.title, step.at, path, why, trail.head)
            return Audited(trail.head, _totals(trail), broken)
        trail.head, trail.title, trail.at = step.commit, step.title, step.at
        trail.commits += 1
        trail.walked += 1
    return Audited(trail.head, _totals(trail), _recounted(trail))


def _against(step: Step, trail: Trail) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a commit, and take it into the trail as far as it is not."""
    if why := _misplaced(step, trail):
        yield "", why
    turn = Turn(trail.walked)
    for path, rule in in_order(step.files):
        content = step.files[path]
        if rule is None:
            yield path, "it is no file of a ledger"
        elif content is None:
            yield path, "it was removed, or is no plain file that can be read"
        elif why := rule(File(trail, turn, path, content)):
            yield path, why
        trail.names.add(path)
    for id_ in sorted(turn.touched):
        if why := _miscounted(id_, trail, reserving=id_ in turn.reserving):
            yield book.account_file(id_), why


def _misplaced(step: Step, trail: Trail) -> str:
    if trail.head is not None:
        if step.parents == (trail.head,):
            return ""
        many = f"it has {len(step.parents)} parents; a ledger has one line"
        return many if len(step.parents) > 1 else "it does not follow the commit before it"
    if step.parents:
        return "it is the first commit of the ledger, and has a parent"
    missing = [name for name in (book.TRUST, book.HEARTBEAT) if name not in step.files]
    return f"it is the first commit of the ledger, and has no `{missing[0]}`" if missing else ""


def _miscounted(id_: AdmissionId, trail: Trail, *, reserving: bool) -> str:
    account, charged = trail.accounts.get(id_), trail.charged.get(id_)
    reserved, used = (charged.reserved, charged.used) if charged else (0.0, 0.0)
    if account is None:
        return "it is not there, and runs are charged to it"
    if why := _differs(account, reserved, used):
        return why
    if reserving and reserved + used > account.granted + TOLERANCE:
        return (
            f"GPU hours were set aside that were not free: {used:g} are used and {reserved:g} set "
            f"aside, and {account.granted:g} are granted"
        )
    return ""


def _differs(account: Account, reserved: float, used: float) -> str:
    apart = max(abs(account.reserved - reserved), abs(account.used - used))
    if apart <= TOLERANCE:
        return ""
    return (
        f"it says that {account.used:g} GPU hours are used and {account.reserved:g} set aside; "
        f"its runs come to {used:g} and {reserved:g}"
    )


def _recounted(trail: Trail) -> Broken | None:
    """Return the first account that is not what its runs come to when all of them are counted."""
    if trail.head is None:
        return None
    for account, counted in trail.recomputed():
        if why := _differs(account, counted.reserved, counted.used):
            path = book.account_file(account.id)
            return Broken(trail.head, trail.title, trail.at, path, why, None)
    return None


def _totals(trail: Trail) -> Totals:
    return Totals(
        commits=trail.commits,
        runs=len(trail.records),
        admissions=len(trail.accounts),
        reserved=sum(c.reserved for c in trail.charged.values()),
        used=sum(c.used for c in trail.charged.values()),
    )

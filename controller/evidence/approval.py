"""Whether the bytes of a file on main were approved: yes, no, or not known. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from controller.documents.admission import Admission, read_admission
from controller.documents.policy import Policy, read_policy
from controller.documents.snapshot import REGULAR, Blob
from controller.evidence.facts import Answer, Approval, Known, Version
from controller.values import BlobId


class Proof(Enum):
    """What the facts say of one file's bytes, or of its removal."""

    PROVED = "proved"
    UNPROVED = "unproved"
    """Positively: the facts are complete and they are not enough."""
    UNKNOWN = "unknown"


def proof(answer: Answer[Approval] | None, minimum: int, *, may_trust: bool = False) -> Proof:
    """Return what `answer` proves where `minimum` different owners must have approved.

    `may_trust`: the bytes of the trusted root count as approved (the policy and CODEOWNERS only).
    Where nobody has to approve, nothing has to be known.
    """
    if minimum <= 0:
        return Proof.PROVED
    if not isinstance(answer, Known):
        return Proof.UNKNOWN
    enough = _enough(answer.value, minimum, may_trust=may_trust)
    return Proof.PROVED if enough else Proof.UNPROVED


def voices(approval: Approval) -> int:
    """Return how many people approved: one is one, however often and in whatever case."""
    return len({approver.login.lstrip("@").lower() for approver in approval.approvers})


def last_policy(versions: Iterable[Version]) -> Policy | None:
    """Return the newest of `versions` (newest first) that was approved; None: there is none.

    A policy is approved by as many as it asks for itself, and as many as the last approved one
    before it asks for: nobody can lower the number alone.
    """
    standing: Policy | None = None
    for version in reversed(list(versions)):
        read = read_policy(_blob(version))
        if not isinstance(read, Policy):
            continue
        before = standing.minimum_approvals if standing else 1
        needed = max(before, read.minimum_approvals)
        if _enough(version.approval, needed, may_trust=True):
            standing = read
    return standing


def last_admission(versions: Iterable[Version], minimum: int) -> Admission | None:
    """Return the newest of `versions` (newest first) that `minimum` owners approved.

    One that cannot be read is passed over: a broken edit shields nothing from the grant and the
    expiry approved before it. None when there is none.
    """
    for version in versions:
        if _enough(version.approval, minimum, may_trust=False):
            read = read_admission(version.approval.path, _blob(version))
            if isinstance(read, Admission):
                return read
    return None


def _enough(approval: Approval, minimum: int, *, may_trust: bool) -> bool:
    return (may_trust and approval.trusted) or voices(approval) >= max(minimum, 1)


def _blob(version: Version) -> Blob:
    return Blob(REGULAR, version.approval.blob or BlobId(""), version.content)

"""The edges to people: who approved each document, by the ledger and by the host."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from controller.documents.owners import kind_of_owner
from controller.evidence.facts import Approval, Approver
from controller.evidence.recorded import RecordedApproval
from controller.ledger.book import Proof, ProvedBy, proof_file
from controller.ledger.codec import MalformedError, decoded
from controller.verifying.chain import (
    Chain,
    Link,
    UnreadError,
    Word,
    broken,
    held,
    known,
    short,
    unchecked,
)

TRUSTED: tuple[Word, ...] = ("policy", "CODEOWNERS")
"""The documents whose bytes in the trusted root count as approved."""


def proved(word: Word, chain: Chain) -> Link:
    """Enough owners approved these bytes, and the ledger keeps the proof of it."""
    minimum = _minimum(word, chain)
    if minimum == 0:
        return held("the policy of that commit asks for no approval of manifests")
    path = chain.path_of(word)
    answer = _recorded(word, chain)
    if answer is None or answer.approval is None:
        why = answer.why if answer and answer.why else "nobody was asked"
        return broken(f"whether `{path}` was approved was not known at the time: {why}")
    approval = answer.approval
    if approval.path != path or approval.blob != chain.said.blobs.get(path):
        return broken(
            f"the recorded approval of `{path}` is of {short(approval.blob or 'nothing')}"
        )
    if fault := _in_ledger(chain, answer, approval):
        return broken(fault)
    if approval.trusted and word in TRUSTED:
        return _by_root(chain, approval)
    return _by_owners(approval, minimum)


def _minimum(word: Word, chain: Chain) -> int:
    policy = known(chain.catalog).policy
    if policy is None:
        raise UnreadError("how many must approve is not known: the commit has no sound policy")
    return policy.manifest_approvals if word == "manifest" else policy.minimum_approvals


def _recorded(word: Word, chain: Chain) -> RecordedApproval | None:
    path = chain.path_of(word)
    return next((a for a in chain.said.evidence.approvals if a.path == path), None)


def _in_ledger(chain: Chain, answer: RecordedApproval, approval: Approval) -> str:
    """Return what is wrong with the proof that the ledger keeps of an approval, or ''.

    It is written once. Of one that an earlier start wrote, the people may since have become
    others; not all of them, and not whose the path is.
    """
    file = file_of(approval, answer.asked_at)
    if file not in chain.proofs:
        return f"the ledger has no `{file}`"
    try:
        proof = decoded(Proof, chain.proofs[file] or b"")
    except MalformedError as error:
        return f"`{file}` of the ledger is damaged: {error}"
    there = (proof.path, proof.blob, proof.commit, proof.owners)
    if there != (approval.path, approval.blob, approval.commit, approval.owners):
        return f"`{file}` is of other bytes, another commit or other owners than the record says"
    people, said = _people(proof.by), _people(approval.approvers)
    same = (people, proof.trusted) == (said, approval.trusted)
    if not same and (proof.at == chain.said.evidence.asked_at or (said and not people & said)):
        names, others = _names(approval.approvers), _names(proof.by)
        return f"`{file}` says that {others} approved, and the admission record that {names} did"
    return ""


def file_of(approval: Approval, at: datetime) -> str:
    """Return where the ledger keeps the proof of an approval."""
    return proof_file(Proof(approval.path, approval.blob, approval.commit, (), (), at))


def _by_root(chain: Chain, approval: Approval) -> Link:
    root = short(known(chain.trust).root)
    if known(chain.root_blobs).get(approval.path) != approval.blob:
        return broken(f"`{approval.path}` is recorded as trusted, and {root} has other bytes of it")
    return held(f"`{approval.path}` has the bytes of the trusted root {root}")


def _by_owners(approval: Approval, minimum: int) -> Link:
    """Return whether enough of those who approved were owners; of a team by its recorded word."""
    strangers = [a for a in approval.approvers if not _may(a, approval.owners)]
    if strangers:
        owners = ", ".join(approval.owners) or "nobody"
        return broken(f"{_names(strangers)} approved `{approval.path}`, which {owners} owns")
    count = len({_login(a) for a in approval.approvers})
    told = f"{count} of {minimum} owner approvals of {short(approval.blob or '')}"
    if count < minimum:
        return broken(f"{told}: {_names(approval.approvers)}")
    by, where = _names(approval.approvers), ", ".join(a.source for a in approval.approvers)
    return held(f"{told}, brought by {short(approval.commit)}: {by} ({where})")


def shown(word: Word, chain: Chain) -> Link:
    """The host still shows those approvals."""
    if _minimum(word, chain) == 0:
        return unchecked("the policy of that commit asks for no approval of manifests")
    path, answer = chain.path_of(word), _recorded(word, chain)
    if answer is None or answer.approval is None:
        raise UnreadError(f"the admission record has no approval of `{path}`")
    if path not in chain.shown:
        raise UnreadError("the host was not asked")
    now, then = known(chain.shown[path]), answer.approval
    if now.blob != then.blob:
        return broken(f"the host shows `{path}` as {short(now.blob or 'removed')} in that commit")
    if then.trusted and now.trusted and word in TRUSTED:
        return held(f"to the host `{path}` has the bytes of the trusted root")
    still = {_login(a) for a in now.approvers}
    gone = [a for a in then.approvers if _login(a) not in still]
    if gone:
        why = f"; {', '.join(now.refused)}" if now.refused else ""
        return broken(f"the host shows no approval of `{path}` by {_names(gone)} any more{why}")
    if not then.approvers:
        return broken(f"the host does not show `{path}` as the trusted root's")
    return held(f"the host shows the approval of `{path}` by {_names(then.approvers)}")


def _may(approver: Approver, owners: Iterable[str]) -> bool:
    """Whether somebody could approve: as a named user, or maybe as one of a team or an address."""
    return any(
        kind_of_owner(owner) != "user" or owner.removeprefix("@").casefold() == _login(approver)
        for owner in owners
    )


def _login(person: Approver | ProvedBy) -> str:
    return person.login.removeprefix("@").casefold()


def _people(people: Iterable[Approver | ProvedBy]) -> set[tuple[str, str, int | None]]:
    return {(_login(person), person.source, person.id) for person in people}


def _names(people: Iterable[Approver | ProvedBy]) -> str:
    names = {"@" + person.login.removeprefix("@") for person in people}
    return ", ".join(sorted(names)) or "nobody"


manifest_proved, manifest_shown = partial(proved, "manifest"), partial(shown, "manifest")
admission_proved, admission_shown = partial(proved, "admission"), partial(shown, "admission")
policy_proved, policy_shown = partial(proved, "policy"), partial(shown, "policy")
owners_proved, owners_shown = partial(proved, "CODEOWNERS"), partial(shown, "CODEOWNERS")

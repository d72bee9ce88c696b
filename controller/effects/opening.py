"""What a pass drafts for the ledger before it touches anything: what it saw and will do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from controller.decision.actions import Action, Cancel, Keep, Release, Settle, Submit, Withhold
from controller.decision.plan import kind_of
from controller.documents.admission import Admission
from controller.documents.policy import POLICY
from controller.effects.request import (
    Case,
    account_of,
    admission_record,
    brought_by,
    generation,
    proofs,
)
from controller.evidence.facts import Known
from controller.evidence.recorded import recorded
from controller.ledger.account import hours
from controller.ledger.book import Book, Decision, Standing, proof_file, record_file
from controller.ledger.codec import encoded
from controller.ledger.draft import Draft
from controller.ledger.records import (
    DEADLINE,
    Attempt,
    Outcome,
    RunRecord,
    released,
    reserved,
    settled,
    tried_again,
)
from controller.values import BlobId, RepoPath, RunName, sha256

BRAKE = "brake"
"""The subject of the decisions about the brake on cancellations."""


def draft_seen(
    draft: Draft, case: Case, book: Book, outcomes: Mapping[RunName, Outcome | None]
) -> None:
    """Draft what the workspace showed, what ended, what was approved last, what was decided."""
    ending = {a.run: a for a in case.plan.actions if isinstance(a, Settle | Release)}
    for record in case.evidence.records:
        before = book.records.get((record.name, record.fingerprint))
        match ending.get(record.run):
            case Settle() as action:
                _settle(draft, record, action, case, outcomes.get(record.run))
            case Release() as action:
                title = (
                    f"release {hours(record.reserved)} GPU hours of {record.admission}: "
                    f"{record.run} was never started"
                )
                draft.put(released(record, case.evidence.asked_at, action.why), title, action.why)
            case None if record != before:
                draft.put(record, _noticed(record))
            case None:
                pass
    _approved(draft, case)
    draft.decide([*_decisions(case, book)])


def draft_start(draft: Draft, submit: Submit, case: Case) -> bytes:
    """Draft the reservation and the admission record of a start, or of another attempt.

    Returns the admission record.
    """
    manifest = case.catalog.manifests[submit.path]
    content, now = admission_record(submit, case), case.evidence.asked_at
    attempt = Attempt(submit.attempt, sha256(content), now, now + DEADLINE)
    admission = case.catalog.admissions[submit.admission]
    commit = brought_by(admission.path, admission.blob, case)
    draft.approve(account_of(admission, commit), f"see {admission.path} approved")
    files = {record_file(submit.run, attempt.record): content}
    files |= {proof_file(proof): encoded(proof) for proof in proofs(submit, case)}
    there = draft.record(manifest.name, submit.fingerprint)
    if submit.attempt > 1 and there is not None:
        title = f"prepare attempt {submit.attempt} as {submit.run}"
        draft.put(tried_again(there, attempt), title, submit.why, files)
        return content
    title = f"reserve {hours(submit.gpu_hours)} GPU hours of {submit.admission} for {submit.run}"
    new = generation(submit, case, attempt)
    record = reserved(there, manifest.name, submit.fingerprint, new)
    draft.put(record, title, submit.why, files)
    return content


def _settle(
    draft: Draft, record: RunRecord, action: Settle, case: Case, outcome: Outcome | None
) -> None:
    at, exact = case.evidence.asked_at, not action.bound
    done = settled(record, at, action.why, exact=exact, outcome=outcome)
    used = f"{hours(done.charged)} of {hours(record.reserved)} GPU hours used"
    draft.put(done, f"settle {record.run}: {used}", action.why)


def _noticed(record: RunRecord) -> str:
    end = record.attempt.over
    return f"see {record.run} {f'over: {end.state}' if end else 'submitted'}"


def _approved(draft: Draft, case: Case) -> None:
    """Draft the last approved versions as far as they are known now."""
    evidence = case.evidence
    if isinstance(evidence.policy, Known) and (policy := evidence.policy.value) is not None:
        commit = brought_by(POLICY, policy.blob, case)
        standing = Standing(policy.blob, evidence.asked_at, commit)
        draft.trust(standing, f"see {POLICY} approved")
    for _, answer in sorted(evidence.governing.items()):
        if isinstance(answer, Known) and isinstance(answer.value, Admission):
            version = answer.value
            account = account_of(version, brought_by(version.path, version.blob, case))
            draft.approve(account, f"see {version.path} approved")


def _decisions(case: Case, book: Book) -> Iterator[Decision]:
    """Yield what was decided about each run and manifest, and about the brake.

    A run that is simply kept, and a start, need no word unless something else was said before.
    """
    for action in case.plan.actions:
        match action:
            case Keep(run=run, undecided=False) if run not in book.decisions:
                continue
            case Submit(path=path) if path not in book.decisions:
                continue
            case Keep() | Cancel() | Submit() | Withhold():
                yield _decision(action, case)
            case _:
                continue
    if case.plan.latch == "latched":
        yield _about_brake("latched", case.plan.brake, case)
    elif case.plan.latch == "lifted":
        yield _about_brake("lifted", "somebody looked, and said how many may be cancelled", case)


def _decision(action: Keep | Cancel | Submit | Withhold, case: Case) -> Decision:
    plain = Decision(
        subject=action.path if isinstance(action, Submit | Withhold) else action.run,
        action=kind_of(action),
        code="",
        why=action.why,
        at=case.evidence.asked_at,
        main=case.main,
        evidence=_facts(action, case),
    )
    match action:
        case Keep():
            return replace(plain, code="overdue" if action.overdue else action.doubt)
        case Cancel():
            return replace(plain, code=action.cause)
        case Withhold():
            return replace(plain, rules=action.findings, blob=_blob(action.path, case))
        case Submit():
            return replace(plain, blob=_blob(action.path, case))


def _blob(path: RepoPath, case: Case) -> BlobId | None:
    manifest = case.catalog.manifests.get(path)
    return manifest.blob if manifest else None


def _facts(action: Action, case: Case) -> object:
    """Return the facts that an action rests on, as they are kept."""
    paths: set[RepoPath] = {RepoPath("admissions/policy.yml")}
    if case.catalog.owners:
        paths.add(case.catalog.owners.path)
    measured: list[str] = []
    run = getattr(action, "run", None)
    if isinstance(action, Submit | Withhold):
        paths.add(action.path)
        admission = case.admission_of(action.path)
        if admission is not None:
            paths.add(admission.path)
            measured = [admission.claim.run or ""]
    for record in case.evidence.records:
        if record.run == run:
            paths |= {record.path, RepoPath(f"admissions/{record.admission}.md")}
    return recorded(case.evidence, paths, measured, [run] if run else [])


def _about_brake(action: str, why: str, case: Case) -> Decision:
    return Decision(BRAKE, action, "", why, case.evidence.asked_at, case.main)

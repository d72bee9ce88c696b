"""Who stands behind the bytes: approvals by owners, and changes that judge themselves."""

from __future__ import annotations

from functools import lru_cache

from controller.decision.verdict import (
    AdmissionCase,
    Finding,
    JobCase,
    Outcome,
    met,
    undecided,
    unmet,
)
from controller.documents.owners import Owners
from controller.documents.policy import POLICY
from controller.evidence.facts import Answer, Approval, Evidence, Introduction, Known, Unavailable
from controller.values import BlobId, Location, RepoPath, listed

_CACHED = 1024
_SHOWN = 3
"""So many paths are named in a message; the others are counted."""


def owner_approval(case: AdmissionCase | JobCase) -> Finding:
    """An admission, the policy and CODEOWNERS are approved; so is the manifest of a job.

    A job's verdict has both findings: its admission's, which is judged once, and its own.
    """
    match case:
        case AdmissionCase():
            return _together([_admission(case), _policy(case), _owners(case)])
        case JobCase():
            return _manifest(case)


def separate_concerns(case: AdmissionCase | JobCase) -> Finding:
    """The change that introduced a document did not touch what judges it."""
    match case:
        case AdmissionCase():
            path = case.admission.path
        case JobCase():
            path = case.manifest.path
    where = Location(path)
    match case.evidence.introductions.get(path):
        case None:
            return _unknown_change("it was not asked", where)
        case Unavailable(why=why):
            return _unknown_change(why, where)
        case answer:
            return _concerns(answer.value, case.index.judging[answer.value.commit], where)


def _concerns(change: Introduction, judging: tuple[RepoPath, ...], where: Location) -> Finding:
    if change.root:
        reason = "it came with the first commit, before which nothing judged"
        return met("separate-concerns", reason, where)
    if not judging:
        reason = f"commit {change.commit[:12]} brought it and touched nothing that judges"
        return met("separate-concerns", reason, where)
    reason = f"commit {change.commit[:12]} brought it and changed {_few(judging)}, which judges it"
    remedy = (
        "merge what judges (`controller/`, `.github/`, CODEOWNERS, the policy) first, "
        "in a pull request of its own; then change this file again"
    )
    return unmet("separate-concerns", reason, where, remedy)


def _unknown_change(why: str, where: Location) -> Finding:
    reason = f"which change brought it is not known: {why}"
    remedy = "fetch the whole history (`git fetch --unshallow`) and ask again"
    return undecided("separate-concerns", reason, where, remedy)


def _few(paths: tuple[RepoPath, ...]) -> str:
    rest = len(paths) - _SHOWN
    return listed(paths[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _together(findings: list[Finding]) -> Finding:
    """Return one finding for several documents: the worst outcome, its reasons, its first place."""
    standing = max(finding.outcome for finding in findings)
    worst = [finding for finding in findings if finding.outcome is standing]
    reason = "; ".join(f"`{f.where.path}`: {f.reason}" for f in worst)
    remedies = "; ".join(dict.fromkeys(f.remedy for f in worst if f.remedy))
    return Finding("owner-approval", standing, reason, worst[0].where, remedies)


def _admission(case: AdmissionCase) -> Finding:
    admission, minimum = case.admission, case.policy.minimum_approvals
    return _approved(case.evidence, admission.path, admission.blob, minimum, may_trust=False)


def _policy(case: AdmissionCase) -> Finding:
    """By its own number of owners, and by that of the last approved policy before it."""
    policy, last = case.policy, case.evidence.policy
    found = _approved(case.evidence, POLICY, policy.blob, policy.minimum_approvals, may_trust=True)
    if found.outcome is not Outcome.MET or not isinstance(last, Known):
        return found
    if last.value is not None and last.value.blob == policy.blob:
        return found
    before = f", which asked for {last.value.minimum_approvals}" if last.value else ""
    reason = f"{found.reason}, but not by as many as the last approved policy{before}, asks for"
    remedy = (
        "have the change of the policy approved by as many owners as the policy before asks for"
    )
    return unmet("owner-approval", reason, Location(POLICY), remedy)


def _owners(case: AdmissionCase) -> Finding:
    owners = case.catalog.owners
    if owners is None:
        reason = "there is no CODEOWNERS, so nobody could approve"
        remedy = "write `.github/CODEOWNERS` and name the owners of `admissions/` and `jobs/`"
        return unmet("owner-approval", reason, Location(RepoPath(".github/CODEOWNERS")), remedy)
    if owners.problems:
        return _faulty(owners)
    blob = case.catalog.snapshot.files[owners.path].sha
    minimum = case.policy.minimum_approvals
    return _approved(case.evidence, owners.path, blob, minimum, may_trust=True)


def _faulty(owners: Owners) -> Finding:
    first, rest = owners.problems[0], len(owners.problems) - 1
    more = f" (and {rest} more)" if rest else ""
    reason = f"line {first.where.line} is one that GitHub ignores: {first.message}{more}"
    return unmet("owner-approval", reason, first.where, first.remedy)


def _manifest(case: JobCase) -> Finding:
    manifest, minimum = case.manifest, case.policy.manifest_approvals
    if minimum == 0:
        reason = "the policy asks for no approval of manifests"
        return met("owner-approval", reason, Location(manifest.path))
    return _approved(case.evidence, manifest.path, manifest.blob, minimum, may_trust=False)


def _approved(
    evidence: Evidence, path: RepoPath, blob: BlobId, minimum: int, *, may_trust: bool
) -> Finding:
    answer: Answer[Approval] | None = evidence.approvals.get(path)
    match answer:
        case None:
            return _unknown("it was not asked", path)
        case Unavailable(why=why):
            return _unknown(why, path)
    approval = answer.value
    if approval.blob != blob:
        return _unknown("the answer is about other bytes", path)
    if approval.trusted and may_trust:
        return met("owner-approval", "these are the bytes of the trusted root", Location(path))
    count, said = _told(tuple([a.login for a in approval.approvers]), minimum)
    if count >= minimum:
        return met("owner-approval", said, Location(path))
    return _short(approval, said)


@lru_cache(_CACHED)
def _told(logins: tuple[str, ...], minimum: int) -> tuple[int, str]:
    """Return how many people approved, and that as a clause.

    One person is one approval, however often and in whatever case the login comes.
    """
    people = {login.lstrip("@").lower(): "@" + login.lstrip("@") for login in logins}
    names = ": " + ", ".join(sorted(people.values())) if people else ""
    return len(people), f"{len(people)} of {minimum} owner approvals of these bytes{names}"


def _short(approval: Approval, said: str) -> Finding:
    where = Location(approval.path)
    if approval.refused:
        said += f"; these do not count: {', '.join(approval.refused)}"
    if not approval.owners:
        said += "; CODEOWNERS named nobody who could approve it"
        remedy = (
            f"name an owner of `{approval.path}` in CODEOWNERS, and have that approved; the first "
            "CODEOWNERS counts only in the first commit of main"
        )
        return unmet("owner-approval", said, where, remedy)
    owners = ", ".join(approval.owners)
    remedy = f"ask {owners} to approve `{approval.path}` as it is now"
    return unmet("owner-approval", f"{said}; {owners} could approve", where, remedy)


def _unknown(why: str, path: RepoPath) -> Finding:
    reason = f"whether these bytes were approved is not known: {why}"
    remedy = "nothing to change in the file; the next pass asks again"
    return undecided("owner-approval", reason, Location(path), remedy)

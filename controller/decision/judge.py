"""What all rules together say of every admission and every sound manifest of a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.decision.balances import balances_of
from controller.decision.cost import worst_case
from controller.decision.index import Index
from controller.decision.rules import ADMISSION_RULES, JOB_RULES
from controller.decision.verdict import (
    AdmissionCase,
    Found,
    JobCase,
    Verdict,
)
from controller.documents.admission import Admission
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.documents.payload import run_name
from controller.documents.policy import Policy
from controller.evidence.facts import Evidence
from controller.ledger.account import DIGITS, Balance
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, Fingerprint, RepoPath


def judge_admission(case: AdmissionCase) -> tuple[Found, ...]:
    """Return what every rule for admissions says of one of them."""
    return tuple([rule.judge(case) for rule in ADMISSION_RULES])


def judge_job(case: JobCase) -> Verdict:
    """Return the verdict on one manifest: what is said of its admission, then of itself."""
    admitted: tuple[Found, ...] = ()
    if case.admission is not None:
        admitted = judge_admission(
            AdmissionCase(case.admission, case.policy, case.catalog, case.evidence, case.index)
        )
    return _job_verdict(case, admitted)


def judge_all(catalog: Catalog, policy: Policy, evidence: Evidence) -> Mapping[RepoPath, Verdict]:
    """Return a verdict for each sound admission and manifest, by path, sorted.

    Files that are broken have problems and no verdict; parts of other manifests have neither.
    """
    docket = Docket.of(catalog, policy, evidence)
    shared: dict[str, tuple[Found, ...]] = {}
    verdicts: dict[RepoPath, Verdict] = {}
    for id_, admission in catalog.admissions.items():
        shared[id_] = judge_admission(docket.admission_case(admission))
        verdicts[admission.path] = Verdict(admission.path, "admission", id_, None, shared[id_])
    for path, manifest in catalog.manifests.items():
        if path not in catalog.parts:
            admitted = shared.get(manifest.admission, ())
            verdicts[path] = _job_verdict(docket.job_case(manifest), admitted)
    return dict(sorted(verdicts.items()))


@dataclass(frozen=True, slots=True)
class Docket:
    """The cases of one commit, with everything that they share prepared once."""

    catalog: Catalog
    policy: Policy
    evidence: Evidence
    index: Index
    balances: Mapping[AdmissionId, Balance]
    records: Mapping[tuple[str, Fingerprint], RunRecord]

    @classmethod
    def of(cls, catalog: Catalog, policy: Policy, evidence: Evidence) -> Docket:
        """Return the docket of `catalog`, judged by `policy` over `evidence`."""
        return cls(
            catalog=catalog,
            policy=policy,
            evidence=evidence,
            index=Index.of(catalog, evidence),
            balances=balances_of(catalog.admissions, evidence),
            records={(record.name, record.fingerprint): record for record in evidence.records},
        )

    def admission_case(self, admission: Admission) -> AdmissionCase:
        """Return the case of one admission."""
        return AdmissionCase(admission, self.policy, self.catalog, self.evidence, self.index)

    def job_case(self, manifest: Manifest) -> JobCase:
        """Return the case of one manifest; what its own payload holds is not held against it."""
        id_ = AdmissionId(manifest.admission)
        admission = self.catalog.admissions.get(id_)
        own = self.records.get((manifest.name, manifest.payload.fingerprint))
        account = self.balances.get(id_)
        if account is not None and own is not None and own.admission == id_:
            account = _without(account, own)
        retries = admission.grant.retries if admission else 0
        return JobCase(
            manifest=manifest,
            admission=admission,
            policy=self.policy,
            catalog=self.catalog,
            evidence=self.evidence,
            index=self.index,
            balance=account,
            own=own,
            cost=worst_case(manifest.spec, self.policy, retries),
        )


def _job_verdict(case: JobCase, admitted: tuple[Found, ...]) -> Verdict:
    manifest = case.manifest
    return Verdict(
        subject=manifest.path,
        kind="job",
        admission=case.admission.id if case.admission else None,
        run=run_name(manifest.name, manifest.payload.fingerprint) if manifest.name else None,
        findings=(*admitted, *[rule.judge(case) for rule in JOB_RULES]),
        cost=case.cost,
    )


def _without(account: Balance, own: RunRecord) -> Balance:
    """Return `account` as it would be if `own` had never been charged to it."""
    if own.active:
        reserved = round(account.reserved - own.reserved, DIGITS)
        return replace(account, reserved=reserved, nodes=account.nodes - own.nodes)
    return replace(account, used=round(account.used - own.charged, DIGITS))

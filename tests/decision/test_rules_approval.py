"""Approvals by owners, and changes that touch the judge and the judged."""

from __future__ import annotations

from dataclasses import replace

from controller.decision.verdict import AdmissionCase, JobCase, Outcome, met, undecided, unmet
from controller.documents.owners import Owners
from controller.documents.policy import POLICY
from controller.evidence.facts import Answer, Approval, Known
from controller.values import BlobId, Location, RepoPath
from tests.builders import (
    ADMISSION,
    CODEOWNERS,
    JOB,
    NOW,
    admission_case,
    approval,
    blob_of,
    introduction,
    job_case,
    problem,
    sound_admission,
    sound_catalog,
    sound_policy,
    unavailable,
)
from tests.decision.examples import Example, judged, parametrized

BOTH = "2 of 1 owner approvals of these bytes: @ada, @lin"
AGAIN = "nothing to change in the file; the next pass asks again"
RULE = "owner-approval"


def manifest_with(answer: Answer[Approval], **policy: int) -> JobCase:
    return job_case(policy=sound_policy(**policy), approvals={JOB: answer})


def admission_with(**answers: Answer[Approval]) -> AdmissionCase:
    sound: dict[RepoPath, Answer[Approval]] = {
        path: approval(path, "@ada") for path in (ADMISSION, POLICY, CODEOWNERS)
    }
    named = {"admission": ADMISSION, "policy": POLICY, "owners": CODEOWNERS}
    return admission_case(approvals=sound | {named[key]: a for key, a in answers.items()})


def of_owners(owners: Owners | None) -> AdmissionCase:
    catalog = sound_catalog(sound_admission(), owners=owners)
    return admission_case(catalog=catalog)


def without_owners() -> AdmissionCase:
    case = admission_case()
    return replace(case, catalog=replace(case.catalog, owners=None))


EXAMPLES = [
    Example(
        "two owners approved the manifest, one is needed",
        job_case(),
        met(RULE, BOTH, Location(JOB)),
    ),
    Example(
        "the policy asks for no approval of manifests",
        job_case(policy=sound_policy(manifest_approvals=0), approvals={}),
        met(RULE, "the policy asks for no approval of manifests", Location(JOB)),
    ),
    Example(
        "one owner approved, two are needed",
        manifest_with(
            approval(JOB, "@ada", owners=("@acme/nlp", "@lin"), refused=("@bob is not an owner",)),
            manifest_approvals=2,
        ),
        unmet(
            RULE,
            "1 of 2 owner approvals of these bytes: @ada; these do not count: @bob is not an "
            "owner; @acme/nlp, @lin could approve",
            Location(JOB),
            f"ask @acme/nlp, @lin to approve `{JOB}` as it is now",
        ),
    ),
    Example(
        "the same owner approved twice, in two spellings, two are needed",
        manifest_with(approval(JOB, "@ada", "Ada"), manifest_approvals=2),
        unmet(
            RULE,
            "1 of 2 owner approvals of these bytes: @Ada; @acme/nlp could approve",
            Location(JOB),
            f"ask @acme/nlp to approve `{JOB}` as it is now",
        ),
    ),
    Example(
        "CODEOWNERS names nobody for the manifest",
        manifest_with(approval(JOB, owners=())),
        unmet(
            RULE,
            "0 of 1 owner approvals of these bytes; CODEOWNERS named nobody who could approve it",
            Location(JOB),
            f"name an owner of `{JOB}` in CODEOWNERS, and have that approved; the first CODEOWNERS "
            "counts only in the first commit of main",
        ),
    ),
    Example(
        "a manifest is not approved by being in the trusted root",
        manifest_with(approval(JOB, trusted=True)),
        unmet(
            RULE,
            "0 of 1 owner approvals of these bytes; @acme/nlp could approve",
            Location(JOB),
            f"ask @acme/nlp to approve `{JOB}` as it is now",
        ),
    ),
    Example(
        "the host does not answer",
        manifest_with(unavailable()),
        undecided(
            RULE,
            "whether these bytes were approved is not known: the host answered 503",
            Location(JOB),
            AGAIN,
        ),
    ),
    Example(
        "the host was not asked about the manifest",
        job_case(approvals={}),
        undecided(
            RULE,
            "whether these bytes were approved is not known: it was not asked",
            Location(JOB),
            AGAIN,
        ),
    ),
    Example(
        "the answer is about the bytes before an edit",
        manifest_with(approval(JOB, "@ada", blob=BlobId("0" * 40))),
        undecided(
            RULE,
            "whether these bytes were approved is not known: the answer is about other bytes",
            Location(JOB),
            AGAIN,
        ),
    ),
    Example(
        "the admission is approved, the policy and CODEOWNERS are the trusted root's",
        admission_with(
            policy=approval(POLICY, trusted=True), owners=approval(CODEOWNERS, trusted=True)
        ),
        met(
            RULE,
            f"`{ADMISSION}`: 1 of 1 owner approvals of these bytes: @ada; "
            f"`{POLICY}`: these are the bytes of the trusted root; "
            f"`{CODEOWNERS}`: these are the bytes of the trusted root",
            Location(ADMISSION),
        ),
    ),
    Example(
        "the admission and the policy are not approved",
        admission_with(
            admission=approval(ADMISSION, trusted=True), policy=approval(POLICY, owners=("@lin",))
        ),
        unmet(
            RULE,
            f"`{ADMISSION}`: 0 of 1 owner approvals of these bytes; @acme/nlp could approve; "
            f"`{POLICY}`: 0 of 1 owner approvals of these bytes; @lin could approve",
            Location(ADMISSION),
            f"ask @acme/nlp to approve `{ADMISSION}` as it is now; "
            f"ask @lin to approve `{POLICY}` as it is now",
        ),
    ),
    Example(
        "nothing is against it, but the policy's approval is not known",
        admission_with(policy=unavailable()),
        undecided(
            RULE,
            f"`{POLICY}`: whether these bytes were approved is not known: the host answered 503",
            Location(POLICY),
            AGAIN,
        ),
    ),
    Example(
        "there is no CODEOWNERS",
        without_owners(),
        unmet(
            RULE,
            f"`{CODEOWNERS}`: there is no CODEOWNERS, so nobody could approve",
            Location(CODEOWNERS),
            f"write `{CODEOWNERS}` and name the owners of `admissions/` and `jobs/`",
        ),
    ),
    Example(
        "CODEOWNERS has a line that GitHub ignores",
        of_owners(Owners(CODEOWNERS, (problem(CODEOWNERS, 4, "`- @lin` names nothing"),))),
        unmet(
            RULE,
            f"`{CODEOWNERS}`: line 4 is one that GitHub ignores: `- @lin` names nothing",
            Location(CODEOWNERS, 4, 1),
            "mend it",
        ),
    ),
    Example(
        "CODEOWNERS has two such lines",
        of_owners(Owners(CODEOWNERS, (problem(CODEOWNERS, 4), problem(CODEOWNERS, 6)))),
        unmet(
            RULE,
            f"`{CODEOWNERS}`: line 4 is one that GitHub ignores: it is broken (and 1 more)",
            Location(CODEOWNERS, 4, 1),
            "mend it",
        ),
    ),
]

ALONE = "commit 1f2e3d4c5b6a brought it and touched nothing that judges"
FIRST = (
    "merge what judges (`controller/`, `.github/`, CODEOWNERS, the policy) first, "
    "in a pull request of its own; then change this file again"
)
FETCH = "fetch the whole history (`git fetch --unshallow`) and ask again"


def brought_with(*paths: str, **changes: bool) -> JobCase:
    return job_case(introductions={JOB: introduction(JOB, *paths, **changes)})


EXAMPLES += [
    Example(
        "the manifest came with its admission and with training code",
        brought_with(ADMISSION, "train/model.py", "docs/controller/x.md"),
        met("separate-concerns", ALONE, Location(JOB)),
    ),
    Example(
        "the manifest came with a change of the policy",
        brought_with(POLICY),
        unmet(
            "separate-concerns",
            f"commit 1f2e3d4c5b6a brought it and changed `{POLICY}`, which judges it",
            Location(JOB),
            FIRST,
        ),
    ),
    Example(
        "the manifest came with changes of everything that judges",
        brought_with(
            "controller/cli.py", ".github/workflows/a.yml", "CODEOWNERS", "docs/CODEOWNERS"
        ),
        unmet(
            "separate-concerns",
            "commit 1f2e3d4c5b6a brought it and changed `.github/workflows/a.yml`, `CODEOWNERS`, "
            "`controller/cli.py` and 1 more, which judges it",
            Location(JOB),
            FIRST,
        ),
    ),
    Example(
        "the manifest came with the first commit",
        brought_with(POLICY, root=True),
        met(
            "separate-concerns",
            "it came with the first commit, before which nothing judged",
            Location(JOB),
        ),
    ),
    Example(
        "the history is not there",
        job_case(introductions={JOB: unavailable("the clone is shallow")}),
        undecided(
            "separate-concerns",
            "which change brought it is not known: the clone is shallow",
            Location(JOB),
            FETCH,
        ),
    ),
    Example(
        "the history was not asked",
        job_case(introductions={}),
        undecided(
            "separate-concerns",
            "which change brought it is not known: it was not asked",
            Location(JOB),
            FETCH,
        ),
    ),
    Example(
        "the admission came alone",
        admission_case(),
        met("separate-concerns", ALONE, Location(ADMISSION)),
    ),
    Example(
        "the admission came with CODEOWNERS",
        admission_case(introductions={ADMISSION: introduction(ADMISSION, CODEOWNERS)}),
        unmet(
            "separate-concerns",
            f"commit 1f2e3d4c5b6a brought it and changed `{CODEOWNERS}`, which judges it",
            Location(ADMISSION),
            FIRST,
        ),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


def test_an_approval_is_of_the_bytes_that_the_snapshot_has() -> None:
    stale = approval(CODEOWNERS, "@ada", blob=blob_of("another"))
    found = judged(admission_with(owners=stale), RULE)
    assert found.reason == (
        f"`{CODEOWNERS}`: whether these bytes were approved is not known: "
        "the answer is about other bytes"
    )


def test_a_policy_that_fewer_approved_than_the_one_before_asks_for_is_not_approved() -> None:
    strict = replace(sound_policy(minimum_approvals=2), blob=BlobId("b" * 40))
    case = admission_case()
    case = replace(case, evidence=replace(case.evidence, policy=Known(strict, NOW)))
    found = judged(case, RULE)
    assert found.outcome is Outcome.UNMET
    assert "not by as many as the last approved policy, which asked for 2" in found.reason

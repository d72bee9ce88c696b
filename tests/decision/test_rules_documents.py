"""The admission of a job, the kinds that are enabled, and the job's own name."""

from __future__ import annotations

from controller.decision.verdict import met, undecided, unmet
from controller.values import Location, RepoPath
from tests.builders import (
    ADMISSION,
    JOB,
    job_case,
    problem,
    sound_admission,
    sound_catalog,
    sound_manifest,
    sound_policy,
)
from tests.decision.examples import Example, in_admission, in_job, judged, parametrized

NO_GRANT = "there is no grant to hold it against"
UNADMITTED = sound_manifest(admission="")
MISSPELT = sound_manifest(admission="bert-pretrian")

EXAMPLES = [
    Example(
        "the admission is there",
        job_case(),
        met(
            "admission-exists",
            f"admitted by `{ADMISSION}`: Pretrain BERT-base on the claims corpus",
            in_job(16),
        ),
    ),
    Example(
        "the manifest names none",
        job_case(manifest=UNADMITTED),
        unmet(
            "admission-exists",
            "it names no admission",
            in_job(16),
            "write `tags: {admission: <id>}` and `admissions/<id>.md`, which says why",
        ),
    ),
    Example(
        "the name is misspelt",
        job_case(manifest=MISSPELT),
        unmet(
            "admission-exists",
            "there is no admission `bert-pretrian`",
            in_job(16),
            "did you mean `bert-pretrain`? Otherwise write `admissions/bert-pretrian.md`",
        ),
    ),
    Example(
        "there is nothing like it",
        job_case(manifest=sound_manifest(admission="vision")),
        unmet(
            "admission-exists",
            "there is no admission `vision`",
            in_job(16),
            "write `admissions/vision.md`",
        ),
    ),
    Example(
        "the admission is broken",
        job_case(
            catalog=sound_catalog(sound_manifest(), broken={ADMISSION: (problem(ADMISSION),)})
        ),
        unmet(
            "admission-exists", f"`{ADMISSION}:3` is broken: it is broken", in_job(16), "mend it"
        ),
    ),
    Example(
        "a pattern of the grant matches",
        job_case(),
        met("job-granted", f"`bert-pretrain` grants `{JOB}`", in_admission(9)),
    ),
    Example(
        "no pattern matches",
        job_case(admission=sound_admission(jobs=("jobs/vision/*.yml", "jobs/*.yml"))),
        unmet(
            "job-granted",
            f"`bert-pretrain` grants `jobs/vision/*.yml`, `jobs/*.yml`, which `{JOB}` does not "
            "match",
            in_admission(9),
            f"move the manifest, or add `{JOB}` to `grant.jobs` and have that approved",
        ),
    ),
    Example(
        "there is no grant",
        job_case(manifest=UNADMITTED),
        undecided("job-granted", NO_GRANT, in_job(16), "meet `admission-exists`"),
    ),
    Example(
        "the policy and the grant enable the kind",
        job_case(),
        met("kind-enabled", "the policy and `bert-pretrain` enable `command`", in_job(2)),
    ),
    Example(
        "the policy does not",
        job_case(policy=sound_policy(kinds=("sweep", "pipeline"))),
        unmet(
            "kind-enabled",
            "the policy enables `sweep`, `pipeline`, not `command`",
            in_job(2),
            "add `command` to the policy's `kinds` first, in a pull request of its own",
        ),
    ),
    Example(
        "the grant does not",
        job_case(admission=sound_admission(kinds=("sweep",))),
        unmet(
            "kind-enabled",
            "`bert-pretrain` grants `sweep`, not `command`",
            in_job(2),
            "add `command` to `grant.kinds` and have that approved",
        ),
    ),
    Example(
        "the policy enables the kind and there is no grant",
        job_case(manifest=UNADMITTED),
        undecided("kind-enabled", NO_GRANT, in_job(2), "meet `admission-exists`"),
    ),
    Example("the job has a name", job_case(), met("name-set", "named `bert-pretrain`", in_job(3))),
    Example(
        "the job has none",
        job_case(manifest=sound_manifest(name="")),
        unmet(
            "name-set",
            "it has no name, and Azure ML would make up another at every submission",
            in_job(3),
            "add a name, for example `name: pretrain`",
        ),
    ),
    Example(
        "no other job has the name",
        job_case(),
        met("name-unique", "no other manifest is named `bert-pretrain`", in_job(3)),
    ),
    Example(
        "two others have it",
        job_case(
            catalog=sound_catalog(
                sound_admission(),
                sound_manifest("jobs/b.yml"),
                sound_manifest(),
                sound_manifest("jobs/a.yml"),
            )
        ),
        unmet(
            "name-unique",
            "`bert-pretrain` is also the name of `jobs/a.yml`, `jobs/b.yml`",
            in_job(3),
            "give each manifest a name of its own",
        ),
    ),
    Example(
        "a part of another manifest has it, which is never submitted",
        job_case(
            catalog=sound_catalog(
                sound_manifest(), sound_manifest("jobs/part.yml"), parts=[RepoPath("jobs/part.yml")]
            )
        ),
        met("name-unique", "no other manifest is named `bert-pretrain`", in_job(3)),
    ),
    Example(
        "two jobs have no name, which is not the same one",
        job_case(
            manifest=sound_manifest(name=""),
            catalog=sound_catalog(sound_manifest("jobs/b.yml", name=""), sound_manifest(name="")),
        ),
        undecided("name-unique", "it has no name to compare", in_job(3), "meet `name-set`"),
    ),
    Example(
        "the longest name that leaves room for the second attempt",
        job_case(manifest=sound_manifest(name="n" * 239)),
        met("name-unique", f"no other manifest is named `{'n' * 239}`", in_job(3)),
    ),
    Example(
        "ten attempts need one character more",
        job_case(manifest=sound_manifest(name="n" * 239), admission=sound_admission(retries=9)),
        unmet(
            "name-unique",
            "239 characters and 17 of suffix are more than 255",
            in_job(3),
            "shorten the name to 238 characters",
        ),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


def test_a_place_is_in_the_file_that_has_to_change() -> None:
    assert judged(job_case(), "job-granted").where == Location(ADMISSION, 9, 1)

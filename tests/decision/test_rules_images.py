"""The image: one set of bytes, from a registry and a repository that are allowed."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decision.verdict import JobCase, Outcome, met, undecided, unmet
from controller.documents.kinds.command import Image, RegisteredEnvironment
from tests.builders import HEX, job_case, sound_admission, sound_manifest, sound_policy
from tests.decision.examples import Example, in_job, judged, parametrized

PIN = "write `environment: {image: <repository>@sha256:<64 hex digits>}`"


def running(reference: str, **others: Any) -> JobCase:
    return job_case(manifest=sound_manifest(environment=Image(reference)), **others)


EXAMPLES = [
    Example(
        "a repository and a digest",
        job_case(),
        met("image-pinned", "pinned to sha256:3b4c3b4c3b4c", in_job(11)),
    ),
    Example(
        "a tag",
        running("acme.azurecr.io/train:1.4"),
        unmet(
            "image-pinned",
            "`acme.azurecr.io/train:1.4` is a tag, which can be moved to another image",
            in_job(11),
            PIN,
        ),
    ),
    Example(
        "a tag and a digest",
        running(f"acme.azurecr.io:5000/train:1.4@sha256:{HEX}"),
        unmet(
            "image-pinned",
            f"`acme.azurecr.io:5000/train:1.4@sha256:{HEX}` has a tag and a digest; only the "
            "digest counts, and readers see both",
            in_job(11),
            "remove `:1.4`",
        ),
    ),
    Example(
        "a digest that is cut off",
        running("acme.azurecr.io/train@sha256:3b4c"),
        unmet("image-pinned", "`sha256:3b4c` is not a SHA-256 digest", in_job(11), PIN),
    ),
    Example(
        "capitals in the repository",
        running(f"acme.azurecr.io/Train@sha256:{HEX}"),
        unmet(
            "image-pinned",
            "`acme.azurecr.io/Train` has capitals; repository paths are lower case",
            in_job(11),
            "write `acme.azurecr.io/train` if that is its name in the registry",
        ),
    ),
    Example(
        "no repository at all",
        running(f"https://acme.azurecr.io/train@sha256:{HEX}"),
        unmet(
            "image-pinned",
            "`https://acme.azurecr.io/train` is not the name of a repository",
            in_job(11),
            PIN,
        ),
    ),
    Example(
        "a registered environment",
        job_case(manifest=sound_manifest(environment=RegisteredEnvironment("azureml:train:4"))),
        unmet(
            "image-pinned",
            "`azureml:train:4` is a registered environment; those are not resolved yet",
            in_job(10),
            PIN,
        ),
    ),
    Example(
        "an image that is built at the start",
        job_case(manifest=sound_manifest(environment=Image("", builds=True))),
        unmet(
            "image-pinned",
            "the image would be built when the job starts, so nobody knows what runs",
            in_job(10),
            "build and push it once, then " + PIN.removeprefix("write "),
        ),
    ),
    Example(
        "the grant names the repository, the policy its registry",
        job_case(),
        met("image-granted", "`bert-pretrain` grants `acme.azurecr.io/train`", in_job(11)),
    ),
    Example(
        "another repository of the same registry",
        running(f"acme.azurecr.io/train/nightly@sha256:{HEX}"),
        unmet(
            "image-granted",
            "`bert-pretrain` grants `acme.azurecr.io/train`, not `acme.azurecr.io/train/nightly`",
            in_job(11),
            "use one of them, or add `acme.azurecr.io/train/nightly` to `grant.images` and have "
            "that approved",
        ),
    ),
    Example(
        "another registry, whatever the grant says",
        running(
            f"evil.example/train@sha256:{HEX}",
            admission=sound_admission(images=("evil.example/train",)),
        ),
        unmet(
            "image-granted",
            "`evil.example` is not one of the policy's registries, `acme.azurecr.io`",
            in_job(11),
            "push the image to `acme.azurecr.io` and pin it there",
        ),
    ),
    Example(
        "a repository without a registry is Docker Hub's",
        running(f"pytorch/pytorch@sha256:{HEX}"),
        unmet(
            "image-granted",
            "`docker.io` is not one of the policy's registries, `acme.azurecr.io`",
            in_job(11),
            "push the image to `acme.azurecr.io` and pin it there",
        ),
    ),
    Example(
        "a registry with a port",
        running(
            f"localhost:5000/train@sha256:{HEX}",
            admission=sound_admission(images=("localhost:5000/train",)),
            policy=sound_policy(registries=("localhost:5000",)),
        ),
        met("image-granted", "`bert-pretrain` grants `localhost:5000/train`", in_job(11)),
    ),
    Example(
        "there is no grant",
        job_case(manifest=sound_manifest(admission="")),
        undecided(
            "image-granted",
            "there is no grant to hold it against",
            in_job(11),
            "meet `admission-exists`",
        ),
    ),
    Example(
        "a registered environment may have any image",
        job_case(manifest=sound_manifest(environment=RegisteredEnvironment("azureml:train:4"))),
        undecided(
            "image-granted",
            "which repository the image comes from is not known",
            in_job(11),
            "meet `image-pinned`",
        ),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


@pytest.mark.parametrize(
    "reference",
    [
        f"train@sha256:{HEX}",
        f"a.b-c.io/x/y_z/w__v/u--t.s@sha256:{HEX}",
        f"localhost/train@sha256:{HEX}",
        f"REGISTRY.example:5000/train@sha256:{HEX}",
    ],
)
def test_a_reference_that_registries_accept_is_pinned(reference: str) -> None:
    assert judged(running(reference), "image-pinned").outcome is Outcome.MET


@pytest.mark.parametrize(
    "reference",
    [
        "",
        f"@sha256:{HEX}",
        f"acme.azurecr.io/train@sha256:{HEX.upper()}",
        f"acme.azurecr.io/train@sha256:{HEX}\n",
        f"acme.azurecr.io/train@sha512:{HEX * 2}",
        f"acme.azurecr.io/train@sha256:{HEX}@sha256:{HEX}",
        f"acme.azurecr.io//train@sha256:{HEX}",
        f"acme.azurecr.io/-train@sha256:{HEX}",
        f" acme.azurecr.io/train@sha256:{HEX}",
        "${{inputs.image}}",
    ],
)
def test_what_is_not_one_set_of_bytes_is_not_pinned(reference: str) -> None:
    assert judged(running(reference), "image-pinned").outcome is Outcome.UNMET

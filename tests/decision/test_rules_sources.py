"""Data by version, code that was reviewed, no assets on the side."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decision.verdict import JobCase, Outcome, met, unmet
from controller.documents.kinds.command import DataInput, Literal, Output
from controller.documents.snapshot import REGULAR, SUBMODULE, SYMLINK
from tests.builders import (
    DATASET,
    job_case,
    sound_admission,
    sound_catalog,
    sound_manifest,
    sound_policy,
)
from tests.decision.examples import Example, in_job, judged, parametrized

PIN = (
    "write `azureml:<name>:<version>`, or give the contents' digest as "
    "`tags: {dataset: sha256:<64 hex digits>}`"
)
PLAIN = "keep the code in a folder of its own with at most 2000 plain files"
BAKE = "bake it into the image and remove `code`"
SNAPSHOT = sound_policy(code="snapshot")
URL = "https://acme.blob.core.windows.net/claims/"


def reading(*paths: str, dataset: str = DATASET, **others: Any) -> JobCase:
    inputs = {f"data{n or ''}": DataInput("uri_folder", path) for n, path in enumerate(paths)}
    return job_case(manifest=sound_manifest(inputs=inputs, dataset=dataset), **others)


def coded(code: str, files: dict[str, str] | None = None, *, snapshot: bool = True) -> JobCase:
    manifest = sound_manifest(code=code)
    policy = SNAPSHOT if snapshot else sound_policy()
    catalog = sound_catalog(sound_admission(), manifest, policy=policy, files=files)
    return job_case(manifest=manifest, policy=policy, catalog=catalog)


def local(path: str, files: dict[str, str] | None = None) -> JobCase:
    manifest = sound_manifest(inputs={"data": DataInput("uri_folder", path)})
    catalog = sound_catalog(sound_admission(), manifest, policy=SNAPSHOT, files=files)
    return job_case(manifest=manifest, policy=SNAPSHOT, catalog=catalog)


EXAMPLES = [
    Example(
        "a data asset by version",
        job_case(),
        met("inputs-pinned", "1 data asset by version", in_job(6)),
    ),
    Example(
        "a literal and no data",
        job_case(manifest=sound_manifest(inputs={"epochs": Literal("3")})),
        met("inputs-pinned", "0 data assets by version", in_job(6)),
    ),
    Example(
        "the latest version, whichever that is",
        reading("azureml:claims@latest"),
        unmet("inputs-pinned", "input `data` names no version of an asset", in_job(7), PIN),
    ),
    Example(
        "a URL whose contents have a digest",
        reading(URL),
        met("inputs-pinned", "`tags.dataset` has the digest of input `data`", in_job(16)),
    ),
    Example(
        "a URL whose contents have none",
        reading(URL, dataset=""),
        unmet("inputs-pinned", "input `data` is a place whose contents can change", in_job(7), PIN),
    ),
    Example(
        "a URL, and text that is no digest",
        reading("azureml://datastores/training/paths/claims/", dataset="sha256:latest"),
        unmet("inputs-pinned", "input `data` is a place whose contents can change", in_job(7), PIN),
    ),
    Example(
        "two URLs and one digest",
        reading(URL, "abfss://claims@acme.dfs.core.windows.net/"),
        unmet(
            "inputs-pinned",
            "input `data1` can change, and `tags.dataset` digests one input only",
            in_job(6),
            PIN,
        ),
    ),
    Example(
        "a URL of something else",
        reading("file:///etc/"),
        unmet(
            "inputs-pinned",
            "input `data` is neither an asset nor a URL of Azure storage",
            in_job(7),
            PIN,
        ),
    ),
    Example(
        "a local path where code is in the image",
        reading("../../data"),
        unmet(
            "inputs-pinned",
            "input `data` is a local path, and the policy has `code: image`",
            in_job(7),
            PIN,
        ),
    ),
    Example(
        "a local path of this commit where snapshots are allowed",
        local("../../data", {"data/a.csv": REGULAR}),
        met("inputs-pinned", "0 data assets by version", in_job(6)),
    ),
    Example(
        "a local path that is not in this commit",
        local("../../data"),
        unmet(
            "inputs-pinned",
            "input `data` is no file or folder of this repository",
            in_job(7),
            PIN,
        ),
    ),
    Example(
        "a local path with a symbolic link in it",
        local("../../data", {"data/a.csv": SYMLINK}),
        unmet(
            "inputs-pinned",
            "input `data` has the symbolic link `data/a.csv`, whose contents are elsewhere",
            in_job(7),
            PIN,
        ),
    ),
    Example(
        "outputs without names",
        job_case(),
        met("no-asset-registration", "no output registers an asset", in_job(8)),
    ),
    Example(
        "an output with a name",
        job_case(manifest=sound_manifest(outputs={"checkpoints": Output(name="ckpt")})),
        unmet(
            "no-asset-registration",
            "output `checkpoints` would register a data asset when the job ends",
            in_job(9),
            "remove its `name` and `version`; a `path` keeps the files",
        ),
    ),
    Example(
        "an output that is a data asset",
        job_case(manifest=sound_manifest(outputs={"checkpoints": Output(path="azureml:claims:7")})),
        unmet(
            "no-asset-registration",
            "output `checkpoints` would be written over a data asset that others may have pinned",
            in_job(9),
            "write `azureml://datastores/<name>/paths/<path>`",
        ),
    ),
    Example(
        "no code but the image's",
        job_case(),
        met("code-contained", "no code beside what is in the image", in_job(1)),
    ),
    Example(
        "a folder of code where it belongs into the image",
        coded("../../src", snapshot=False),
        unmet(
            "code-contained",
            "the policy has `code: image`: code is in the image, whose digest is approved",
            in_job(1),
            BAKE,
        ),
    ),
    Example(
        "a folder of code in this commit",
        coded("../../src", {"src/train.py": REGULAR, "src-old/link": SYMLINK}),
        met("code-contained", "`src` of this commit", in_job(1)),
    ),
    Example(
        "one file of code",
        coded("train.py", {"jobs/bert/train.py": REGULAR}),
        met("code-contained", "`jobs/bert/train.py` of this commit", in_job(1)),
    ),
    Example(
        "code from elsewhere",
        coded("azureml:code:1"),
        unmet(
            "code-contained",
            "`code` comes from elsewhere, so this commit does not say what runs",
            in_job(1),
            BAKE,
        ),
    ),
    Example(
        "code outside the repository",
        coded("../../.."),
        unmet("code-contained", "`code` leaves the repository", in_job(1), PLAIN),
    ),
    Example(
        "the whole repository",
        coded("../.."),
        unmet("code-contained", "`code` is the whole repository", in_job(1), PLAIN),
    ),
    Example(
        "code that is not there",
        coded("src"),
        unmet(
            "code-contained",
            "`code` is `jobs/bert/src`, which is not in this commit",
            in_job(1),
            PLAIN,
        ),
    ),
    Example(
        "a symbolic link in the code",
        coded("src", {"jobs/bert/src/a.py": REGULAR, "jobs/bert/src/data": SYMLINK}),
        unmet(
            "code-contained",
            "`code` has the symbolic link `jobs/bert/src/data`, whose contents are elsewhere",
            in_job(1),
            PLAIN,
        ),
    ),
    Example(
        "the code is a symbolic link",
        coded("src", {"jobs/bert/src": SYMLINK}),
        unmet(
            "code-contained",
            "`code` has the symbolic link `jobs/bert/src`, whose contents are elsewhere",
            in_job(1),
            PLAIN,
        ),
    ),
    Example(
        "a submodule in the code",
        coded("src", {"jobs/bert/src/lib": SUBMODULE}),
        unmet(
            "code-contained",
            "`code` has the submodule `jobs/bert/src/lib`, whose contents are elsewhere",
            in_job(1),
            PLAIN,
        ),
    ),
    Example(
        "more files than source has",
        coded("src", {f"jobs/bert/src/{n}.py": REGULAR for n in range(2001)}),
        unmet("code-contained", "`code` has 2001 files, more than 2000", in_job(1), PLAIN),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


WORKSPACE = (
    "subscriptions/s-1/resourceGroups/rg/providers/Microsoft.MachineLearningServices/workspaces/w"
)


@pytest.mark.parametrize(
    "path",
    [
        "azureml:claims:7",
        "azureml:claims-2026.1_b:2026-11-30",
        "azureml://registries/acme/data/claims/versions/7",
        "azureml://registries/acme/models/bert/versions/3",
        "azureml://subscriptions/s-1/resourcegroups/rg/workspaces/w/data/claims/versions/7",
        f"azureml:/{WORKSPACE}/data/claims/versions/7",
    ],
)
def test_an_asset_at_one_version_is_pinned(path: str) -> None:
    assert judged(reading(path, dataset=""), "inputs-pinned").outcome is Outcome.MET


@pytest.mark.parametrize(
    "path",
    [
        "azureml:claims",
        "azureml:claims:",
        "azureml:claims:latest",
        "azureml:claims:7@latest",
        "azureml://registries/acme/data/claims/labels/latest",
        "azureml://registries/acme/data/claims/versions/latest",
        "azureml://datastores/d/paths/data/claims/versions/7",
        f"azureml://{WORKSPACE}/datastores/d/paths/data/claims/versions/7",
        "wasbs://c@acme.blob.core.windows.net/claims",
        "adl://acme.azuredatalakestore.net/claims",
        "http://acme.example/claims",
    ],
)
def test_what_can_change_is_not_pinned(path: str) -> None:
    assert judged(reading(path, dataset=""), "inputs-pinned").outcome is Outcome.UNMET


@pytest.mark.parametrize(
    "path",
    [
        "azureml://datastores/d/paths/claims/",
        f"azureml://{WORKSPACE}/datastores/d/paths/claims/",
        "wasbs://c@acme.blob.core.windows.net/claims",
        "adl://acme.azuredatalakestore.net/claims",
    ],
)
def test_one_place_whose_contents_have_a_digest_is_pinned(path: str) -> None:
    assert judged(reading(path), "inputs-pinned").outcome is Outcome.MET


@pytest.mark.parametrize(
    "code", ["https://github.com/acme/x.git", "git@github.com:acme/x.git", "C:\\src", "git+ssh://x"]
)
def test_code_from_elsewhere_is_refused_under_either_policy(code: str) -> None:
    for snapshot in (True, False):
        found = judged(coded(code, snapshot=snapshot), "code-contained")
        assert found.reason == "`code` comes from elsewhere, so this commit does not say what runs"


@pytest.mark.parametrize("path", ["../../..", "/etc", "../.."])
def test_local_data_outside_or_all_of_the_repository_is_refused(path: str) -> None:
    found = judged(local(path), "inputs-pinned")
    assert found.reason == "input `data` is no file or folder of this repository"


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("azureml:claims@latest", Outcome.UNMET),
        (f"azureml:/{WORKSPACE}/data/claims/versions/7", Outcome.UNMET),
        ("azureml://registries/acme/data/claims/versions/7", Outcome.UNMET),
        ("azureml://datastores/training/paths/claims", Outcome.MET),
        ("", Outcome.MET),
    ],
)
def test_an_output_is_a_place_and_no_asset(path: str, outcome: Outcome) -> None:
    case = job_case(manifest=sound_manifest(outputs={"checkpoints": Output(path=path)}))
    assert judged(case, "no-asset-registration").outcome is outcome

"""What a job accepts as arguments and environment, and the sentence for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from train.config import config_from
from train.errors import RefusedError

BLOCK = {
    "ADMIT_RUN": "bert-0123456789ab",
    "ADMIT_ADMISSION": "bert",
    "ADMIT_COMMIT": "a" * 40,
    "ADMIT_RECORD": "sha256:" + "1" * 64,
    "ADMIT_DATASET_DIGEST": "sha256:" + "2" * 64,
    "ADMIT_IMAGE": "acme.azurecr.io/train@sha256:" + "3" * 64,
    "ADMIT_MODEL": "claims-bert",
    "ADMIT_MLFLOW_TRACKING_URI": "https://mlflow.acme.example",
    "ADMIT_RESULTS_URL": "postgresql+psycopg://trainer@db.acme.example/results",
}
ARGUMENTS = ["--data", "in", "--checkpoints", "out"]


def test_an_admitted_run_has_defaults_and_its_own_checkpoints() -> None:
    config = config_from(ARGUMENTS, BLOCK)
    assert (config.epochs, config.batch, config.lr, config.seed) == (3, 64, 3e-3, 7)
    assert config.experiment == "admit"
    assert config.checkpoints == Path("out/bert-0123456789ab")
    assert config.admitted is not None
    assert config.admitted.image == BLOCK["ADMIT_IMAGE"]


def test_a_retry_after_preemption_resumes_from_the_checkpoints_of_the_first_attempt() -> None:
    config = config_from(ARGUMENTS, {**BLOCK, "ADMIT_RUN": "bert-0123456789ab-a2"})
    assert config.checkpoints == Path("out/bert-0123456789ab")


def test_a_measurement_needs_no_injected_block() -> None:
    config = config_from(["--data", "in", "--measure-steps", "20"], {})
    assert (config.admitted, config.tracking_uri, config.expected_digest) == (None, "", "")
    assert (config.measure_steps, config.experiment) == (20, "measurements")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--epochs", "0"], "`--epochs`: `0` is not a whole number above zero"),
        (["--batch", "1e3"], "`--batch`: `1e3` is not a whole number above zero"),
        (["--lr", "nan"], "`--lr`: `nan` is not a number above zero"),
        (["--seed", "-1"], "`--seed`: `-1` is not a whole number from 0 to 999999999"),
        (["--epochs"], "`--epochs`: expected one argument"),
        (["--epoch", "3"], "`--epoch` is not an argument of this program"),
        (["--pause", "1"], "`--pause` is not an argument of this program"),
    ],
)
def test_a_wrong_argument_is_refused(arguments: list[str], sentence: str) -> None:
    with pytest.raises(RefusedError) as refused:
        config_from([*ARGUMENTS, *arguments], BLOCK)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("left_out", ["--data", "--checkpoints"])
def test_a_missing_folder_is_refused(left_out: str) -> None:
    at = ARGUMENTS.index(left_out)
    with pytest.raises(RefusedError, match=f"`{left_out}` is missing"):
        config_from(ARGUMENTS[:at] + ARGUMENTS[at + 2 :], BLOCK)


def test_every_missing_variable_is_named_at_once() -> None:
    some = {k: v for k, v in BLOCK.items() if k not in ("ADMIT_RECORD", "ADMIT_RESULTS_URL")}
    with pytest.raises(RefusedError) as refused:
        config_from(ARGUMENTS, some)
    assert str(refused.value) == (
        "this is no admitted run, its environment lacks `ADMIT_RECORD`, `ADMIT_RESULTS_URL`"
    )


@pytest.mark.parametrize(
    "name, value, part",
    [
        ("ADMIT_RUN", "a' or '1", "`ADMIT_RUN` is `a' or '1`, which does not match"),
        ("ADMIT_RUN", "../up", "`ADMIT_RUN` is `../up`, which does not match"),
        ("ADMIT_COMMIT", "main", "`ADMIT_COMMIT` is `main`, which does not match"),
        ("ADMIT_DATASET_DIGEST", "sha256:12", "`ADMIT_DATASET_DIGEST` is `sha256:12`"),
        ("ADMIT_IMAGE", "acme.azurecr.io/train:1", "`ADMIT_IMAGE` is `acme.azurecr.io/train:1`"),
        ("ADMIT_MLFLOW_TRACKING_URI", "azureml://x", "must start with one of `http://`"),
        ("ADMIT_RESULTS_URL", "keyvault://kv/results", "must start with one of `postgresql://`"),
    ],
)
def test_a_wrong_value_of_the_block_is_refused(name: str, value: str, part: str) -> None:
    with pytest.raises(RefusedError) as refused:
        config_from(ARGUMENTS, {**BLOCK, name: value})
    assert part in str(refused.value)


@pytest.mark.parametrize(
    "name, value",
    [
        ("ADMIT_MLFLOW_TRACKING_URI", "https://token-5ecret@mlflow.acme.example"),
        ("ADMIT_RESULTS_URL", "postgresql://me:5ecret@db/results"),
        ("ADMIT_RESULTS_URL", "postgresql://db/results?password=5ecret"),
    ],
)
def test_a_url_with_credentials_is_refused_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(RefusedError) as refused:
        config_from(ARGUMENTS, {**BLOCK, name: value})
    assert str(refused.value) == f"`{name}` contains credentials, which a job is never given"

"""What this job was asked to do: its arguments and the environment that the controller injected."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from train.admitted import Admitted, admitted_from, value_from
from train.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Config:
    """Arguments and environment of one job.

    Just one of `admitted` and `measure_steps` is None. Only a measurement may have no
    `tracking_uri` (nobody is told) or `expected_digest` (any data will do): they are "" then.
    """

    data: Path
    checkpoints: Path
    epochs: int
    batch: int
    lr: float
    seed: int
    experiment: str
    tracking_uri: str
    expected_digest: str
    measure_steps: int | None
    admitted: Admitted | None


def config_from(argv: Sequence[str], environ: Mapping[str, str]) -> Config:
    """Read `argv` (without the program) and the injected block; RefusedError for a wrong value."""
    given = _arguments(argv)
    measuring = given.measure_steps is not None
    admitted = None if measuring else admitted_from(environ)
    if given.data is None:
        raise RefusedError("`--data` is missing: the folder that holds digits.npz, or that file")
    if given.checkpoints is None and not measuring:
        raise RefusedError("`--checkpoints` is missing: a folder that outlives the job")
    return Config(
        data=given.data,
        epochs=given.epochs,
        batch=given.batch,
        lr=given.lr,
        seed=given.seed,
        experiment="measurements" if measuring else given.experiment,
        tracking_uri=value_from(environ, "ADMIT_MLFLOW_TRACKING_URI"),
        expected_digest=value_from(environ, "ADMIT_DATASET_DIGEST"),
        checkpoints=(given.checkpoints or Path()) / (admitted.lineage if admitted else ""),
        measure_steps=given.measure_steps,
        admitted=admitted,
    )


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "train.train_distributed", exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("--data", type=Path, help="folder with digits.npz, or that file")
    parser.add_argument("--checkpoints", type=Path, help="folder that outlives the job")
    parser.add_argument("--epochs", type=_count, default=3)
    parser.add_argument("--batch", type=_count, default=64, help="samples a step, over all ranks")
    parser.add_argument("--lr", type=_rate, default=3e-3)
    parser.add_argument("--seed", type=_seed, default=7)
    parser.add_argument("--experiment", default="admit", help="experiment in the team's MLflow")
    parser.add_argument("--measure-steps", type=_count, help="only measure so many steps")
    try:
        given, unknown = parser.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise RefusedError(f"`{error.argument_name}`: {error.message}") from error
    if unknown:
        raise RefusedError(f"`{unknown[0]}` is not an argument of this program")
    return given


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above zero")
    return int(text)


def _seed(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from 0 to 999999999")
    return int(text)


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above zero")
    return value

"""What the team's MLflow and results database are told, by global rank 0 alone.

Only `tracking` asks who leads. The other ranks get an object with the same methods that does
nothing, and never import mlflow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from train.config import Config
from train.data import Dataset
from train.facts import facts_of
from train.mlflow_run import End, open_run
from train.ranks import Ranks


class Tracker(Protocol):
    """What a run tells. Only the leader's does anything."""

    @property
    def address(self) -> str:
        """`runs:/<id>`, by which an admission cites it; "" when nobody is told."""

    def begin(self) -> str:
        """Open the run for writing and return the state that it was in."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Keep metrics of one step, to be sent in batches; steps sent before are left out."""

    def flush(self) -> None:
        """Send what was kept."""

    def finish(
        self, network: nn.Module, example: NDArray[np.float32], /, *, loss: float, accuracy: float
    ) -> str:
        """Register `network`, write the final row, end the run; return the model's address."""

    def end(self, status: End) -> None:
        """Bring the run and its row into their terminal state, unless they are."""


class Silent:
    """The tracker of every rank but the leader, and of a measurement that nobody tracks."""

    @property
    def address(self) -> str:
        """No address."""
        return ""

    def begin(self) -> str:
        """Do nothing."""
        return "RUNNING"

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""

    def finish(self, _network: nn.Module, _example: NDArray[np.float32], /, **_score: float) -> str:
        """Do nothing."""
        return ""

    def end(self, status: End) -> None:
        """Do nothing."""


def tracking(config: Config, ranks: Ranks, dataset: Dataset) -> Tracker:
    """Return this rank's tracker; every rank raises TrainError if the leader's cannot open."""
    forget_azure(os.environ)
    trackers: list[Tracker] = []
    if uri := config.tracking_uri:
        facts = facts_of(config, ranks, dataset)
        ranks.leader_does(lambda: trackers.append(open_run(uri, facts)))
    return trackers[0] if trackers else Silent()


def forget_azure(environ: MutableMapping[str, str]) -> None:
    """Remove every MLFLOW_* variable, on every rank and before mlflow can be imported.

    Azure ML injects its own server, run and token; mlflow would send that token to ours
    (https://github.com/zenml-io/zenml/issues/4407).
    """
    for name in [name for name in environ if name.startswith("MLFLOW_")]:
        del environ[name]
    environ.update(
        MLFLOW_DISABLE_TELEMETRY="true",
        MLFLOW_LOGGING_LEVEL="WARNING",
        MLFLOW_HTTP_REQUEST_TIMEOUT="20",
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="3",
        MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT="true",
        GIT_PYTHON_REFRESH="quiet",
    )

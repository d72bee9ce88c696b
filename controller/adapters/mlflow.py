"""The team's MLflow, as far as the controller reads it: the measured run that an admission cites.

Source of the calls: MLflow's REST client (`MlflowClient.get_run`), 3.x.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.errors import UnavailableError
from controller.evidence.facts import MeasuredRun

TIMEOUT_SECONDS = 20
RETRIES = 2
CREDENTIALS = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")
"""The team gives them with `ADMIT_` before the name; a job never sees them."""


@dataclass(frozen=True, slots=True)
class NoTracking:
    """Used where no tracking server is configured: everything asked of it is not known."""

    why: str

    def measured(self, run_id: str) -> MeasuredRun | None:
        """Raise UnavailableError."""
        raise UnavailableError(f"run `{run_id}`: {self.why}")


@dataclass(frozen=True, slots=True)
class MlflowTracking:
    """Reads runs from an MLflow tracking server or database.

    `credentials` are the values of `MLFLOW_TRACKING_USERNAME`, `_PASSWORD` and `_TOKEN`.
    """

    uri: str
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: int = RETRIES

    def measured(self, run_id: str) -> MeasuredRun | None:
        """Return the run as measured; None when the server says that there is none.

        Raises UnavailableError when the server cannot be asked.
        """
        self._configure()
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        try:
            found = MlflowClient(tracking_uri=self.uri, registry_uri=self.uri).get_run(run_id)
        except MlflowException as error:
            if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                return None
            raise UnavailableError(f"MLflow could not be asked for run `{run_id}`") from error
        return measured_from(run_id, found.info.status, found.data.params, found.data.metrics)

    def _configure(self) -> None:
        """MLflow takes these from the environment alone: ours, and none that lay there."""
        for name in CREDENTIALS:
            os.environ.pop(name, None)
        os.environ.update(self.credentials)
        os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = str(TIMEOUT_SECONDS)
        os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = str(self.retries)
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"


def measured_from(
    run_id: str, status: str, params: Mapping[str, Any], metrics: Mapping[str, Any]
) -> MeasuredRun:
    """Return the facts in a run's params and metrics; what is not a finite number is None."""
    world = _number(params.get("world_size"))
    return MeasuredRun(
        run_id=run_id,
        status=status,
        world_size=int(world) if world is not None else None,
        samples_per_second=_number(metrics.get("samples_per_second")),
        workload_samples=_number(params.get("workload_samples")),
        peak_gib=_number(metrics.get("peak_gib")),
    )


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # refused just below
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None

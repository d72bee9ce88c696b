"""The leader's tracker: one run in the team's MLflow, and its row in the results database."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from train import results
from train.errors import RefusedError, TrainError
from train.facts import Facts, row_of
from train.registry import register

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Run

End = Literal["FINISHED", "FAILED", "KILLED"]
FLUSH_SECONDS, FLUSH_METRICS = 10.0, 900
LAST_STEP = "global_step"
MAY_CHANGE = ("nodes", "world_size")
"""Params that a retry may have other values of: the first ones stay in the tracker."""


class MlflowRun:
    """One run, open for writing. Every write can be repeated without a second effect."""

    def __init__(self, client: MlflowClient, run: Run, facts: Facts) -> None:
        self._client, self._run, self._facts = client, run, facts
        self._id = str(run.info.run_id)
        self._sent_before = int(run.data.metrics.get(LAST_STEP, 0))
        self._kept: list[Metric] = []
        self._flushed = time.monotonic()
        self._ended = False
        self._row = row_of(facts, self._id)

    @property
    def address(self) -> str:
        """`runs:/<id>`, by which an admission cites it."""
        return f"runs:/{self._id}"

    def begin(self) -> str:
        """Send the params and mark the run and its row RUNNING, unless it is FINISHED."""
        from mlflow.entities import Param

        before = str(self._run.info.status)
        known, params = self._run.data.params, self._facts.params
        if before == "FINISHED":
            self._ended = True  # nothing about it changes any more
            return before
        for name in sorted(params.keys() & known.keys()):
            if name not in MAY_CHANGE and known[name] != params[name]:
                raise RefusedError(
                    f"`{name}` is {params[name]}, but the run began with {known[name]}"
                )
        new = [Param(name, value) for name, value in params.items() if name not in known]
        self._client.log_batch(self._id, params=new)
        self._client.update_run(self._id, status="RUNNING")
        self._write_row("RUNNING", self._row)
        return before

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Keep metrics of one optimizer step, sent some seconds or some hundred metrics later."""
        from mlflow.entities import Metric

        if step > self._sent_before:
            now = int(time.time() * 1000)
            self._kept += [Metric(name, value, now, step) for name, value in metrics.items()]
        waited = time.monotonic() - self._flushed
        if waited > FLUSH_SECONDS or len(self._kept) >= FLUSH_METRICS:
            self.flush()

    def flush(self) -> None:
        """Send what was kept, and with it the step that it goes up to."""
        from mlflow.entities import Metric

        if self._kept:
            last = self._kept[-1]
            mark = Metric(LAST_STEP, last.step, last.timestamp, last.step)
            self._client.log_batch(self._id, metrics=[*self._kept, mark])
            self._kept.clear()
        self._flushed = time.monotonic()

    def finish(
        self, network: nn.Module, example: NDArray[np.float32], *, loss: float, accuracy: float
    ) -> str:
        """Register the model, write the final row, mark the run FINISHED: in this order.

        Stopped between any two of them, the next attempt does the rest. A measurement has no row
        and registers nothing.
        """
        self.flush()
        if self._row is None:
            return ""
        name, tags = self._row.model, self._facts.tags
        version = register(self._client, self._id, name, tags, network, example)
        done = replace(self._row, model_version=version, loss=loss, accuracy=accuracy)
        self._write_row("FINISHED", done)
        self._client.set_terminated(self._id, "FINISHED")
        self._ended = True
        return f"models:/{name}/{version}"

    def end(self, status: End) -> None:
        """End the run and its row, once; each is tried although the other fails."""
        if self._ended:
            return
        self._ended = True
        with ExitStack() as tried:
            tried.callback(self._client.set_terminated, self._id, status)
            tried.callback(self._write_row, status, self._row)
            tried.callback(self.flush)

    def _write_row(self, status: str, row: results.Row | None) -> None:
        if row and self._facts.admitted:
            ended = None if status == "RUNNING" else datetime.now(UTC)
            row = replace(row, status=status, ended_at=ended)
            results.write(self._facts.admitted.results_url, row)


def open_run(uri: str, facts: Facts) -> MlflowRun:
    """Find or make the run in the MLflow at `uri`; TrainError says why it cannot be opened."""
    from mlflow import MlflowClient

    try:
        # both named: a client told one address looks for the other in the environment
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        return MlflowRun(client, _find_or_create(client, facts), facts)
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise TrainError(f"the tracker at {uri} cannot be opened: {why}") from error


def _find_or_create(client: MlflowClient, facts: Facts) -> Run:
    experiment = experiment_id(client, facts.experiment)
    name = facts.admitted.run if facts.admitted else None
    if name:
        found = client.search_runs([experiment], f"tags.`admit.run` = '{name}'", max_results=2)
        if len(found) > 1:
            raise TrainError(f"the tracker has more than one run of `{name}`")
        if found:
            return found[0]
    return client.create_run(experiment, run_name=name, tags=dict(facts.tags))


def experiment_id(client: MlflowClient, name: str) -> str:
    """Return the id of the experiment, made now if need be; another job may make it meanwhile."""
    from mlflow.exceptions import MlflowException

    if found := client.get_experiment_by_name(name):
        return str(found.experiment_id)
    try:
        return str(client.create_experiment(name))
    except MlflowException as error:
        made = client.get_experiment_by_name(name)
        if error.error_code != "RESOURCE_ALREADY_EXISTS" or made is None:
            raise
        return str(made.experiment_id)

"""The team's MLflow, as far as the controller reads it: measured runs, and what came of our own.

Source of the calls: MLflow's REST client (`MlflowClient`), 3.x. Whoever can write to the server can
write anything into tags: they are shown and compared, and nothing is believed for their sake.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from controller.errors import AdmitError, UnavailableError
from controller.evidence.facts import MeasuredRun, Tracked
from controller.values import RunName

if TYPE_CHECKING:
    from mlflow import MlflowClient

T = TypeVar("T")

TIMEOUT_SECONDS = 20
RETRIES = 2
CREDENTIALS = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")
"""The team gives them with `ADMIT_` before the name; a job never sees them."""
EXPERIMENTS, RUNS, VERSIONS = 10_000, 20, 20
"""More experiments, runs of one name, or versions made by one run than these are not searched."""
TEXT_LIMIT = 512
"""Characters that are kept of what others wrote."""

_PAGE, _PAGES = 1000, 20
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}\Z")
_MISSING = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")


@dataclass(frozen=True, slots=True)
class NoTracking:
    """Used where no tracking server is configured: everything asked of it is not known."""

    why: str

    def measured(self, run_id: str) -> MeasuredRun | None:
        """Raise UnavailableError."""
        raise UnavailableError(f"run `{run_id}`: {self.why}")

    def tracked(self, run: RunName) -> tuple[Tracked, ...]:
        """Raise UnavailableError."""
        raise UnavailableError(f"run `{run}`: {self.why}")

    def version(self, model: str, version: str) -> Tracked | None:
        """Raise UnavailableError."""
        raise UnavailableError(f"version {version} of `{model}`: {self.why}")


@dataclass(frozen=True, slots=True)
class MlflowTracking:
    """Reads runs from an MLflow tracking server or database.

    `credentials` are the values of `MLFLOW_TRACKING_USERNAME`, `_PASSWORD` and `_TOKEN`. Every
    method raises UnavailableError when the server cannot be asked.
    """

    uri: str
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: int = RETRIES

    def measured(self, run_id: str) -> MeasuredRun | None:
        """Return the run as measured; None when the server says that there is none."""
        with self._asked(f"run `{run_id}`") as client:
            found = _found(lambda: client.get_run(run_id))
            if found is None:
                return None
            return measured_from(run_id, found.info.status, found.data.params, found.data.metrics)

    def tracked(self, run: RunName) -> tuple[Tracked, ...]:
        """Return every MLflow run that says it is of `run`, the oldest first.

        One that made several model versions is there once for each of them.
        """
        if not _RUN.match(run):  # it would be part of a filter, and no run has such a name
            return ()
        with self._asked(f"what came of `{run}`") as client:
            return tuple(
                tracked_from(found.info.run_id, found.info.status, found.data.tags, made)
                for found in _runs_of(client, run)
                for made in _versions_of(client, found.info.run_id) or [None]
            )

    def version(self, model: str, version: str) -> Tracked | None:
        """Return what a registered model version says; None when the server says it has none.

        The tags are those of the version; the status is that of the run that made it.
        """
        with self._asked(f"version {version} of `{model}`") as client:
            made = _found(lambda: client.get_model_version(model, version))
            if made is None:
                return None
            run_id = str(made.run_id or "")
            by = _found(lambda: client.get_run(run_id)) if run_id else None
            return tracked_from(run_id, by.info.status if by else "", made.tags, made)

    @contextmanager
    def _asked(self, what: str) -> Iterator[MlflowClient]:
        self._configure()
        from mlflow import MlflowClient

        try:
            yield MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)
        except AdmitError:
            raise
        except Exception as error:  # also of protobuf, SQLAlchemy and urllib: MLflow lets them out
            message = f"MLflow could not be asked for {what}"
            remedy = "see that the server at `ADMIT_MLFLOW_TRACKING_URI` answers, then try again"
            raise UnavailableError(message, remedy=remedy) from error

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


def tracked_from(mlflow_run: object, status: object, tags: object, made: Any) -> Tracked:
    """Return the facts in the tags of a run or of a version; `made` is None or the version."""
    said = tags if isinstance(tags, Mapping) else {}
    return Tracked(
        mlflow_run=_text(mlflow_run),
        status=_text(status),
        model=_text(made.name) if made else "",
        version=_text(str(made.version)) if made else "",
        dataset=_text(said.get("dataset.digest")),
        record=_text(said.get("admit.record")),
        run=_text(said.get("admit.run")),
    )


def _runs_of(client: MlflowClient, run: RunName) -> list[Any]:
    def experiments(token: str | None) -> Any:
        return client.search_experiments(max_results=_PAGE, page_token=token)

    ids = [str(one.experiment_id) for one in _all(experiments, EXPERIMENTS, "experiments")]

    def runs(token: str | None) -> Any:
        wanted, oldest = f"tags.`admit.run` = '{run}'", ["attributes.start_time ASC"]
        return client.search_runs(ids, wanted, max_results=RUNS, order_by=oldest, page_token=token)

    found = _all(runs, RUNS, f"runs of `{run}`") if ids else []
    # asked again: some databases take `Tiny-1` and `tiny-1` for the same
    return [one for one in found if one.data.tags.get("admit.run") == run]


def _versions_of(client: MlflowClient, run_id: str) -> list[Any]:
    def versions(token: str | None) -> Any:
        wanted = f"run_id = '{run_id}'"
        return client.search_model_versions(wanted, max_results=VERSIONS, page_token=token)

    found = _all(versions, VERSIONS, f"model versions of run `{run_id}`")
    return sorted(found, key=lambda made: (made.creation_timestamp or 0, made.name))


def _all(ask: Callable[[str | None], Any], limit: int, what: str) -> list[Any]:
    """Return every result of a search. Raises UnavailableError for more than `limit`."""
    found: list[Any] = []
    token: str | None = None
    for _ in range(_PAGES):
        page = ask(token)
        found += page
        token = page.token
        if len(found) > limit:
            break
        if not token:
            return found
    message = f"MLflow has more than {limit} {what}"
    raise UnavailableError(message, remedy="look at the server: that many are not read")


def _found(ask: Callable[[], T]) -> T | None:
    """Return the answer; None when the server says that there is no such thing."""
    from mlflow.exceptions import MlflowException

    try:
        return ask()
    except MlflowException as error:
        if error.error_code in _MISSING:
            return None
        raise


def _text(value: object) -> str:
    return value[:TEXT_LIMIT] if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # refused just below
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None

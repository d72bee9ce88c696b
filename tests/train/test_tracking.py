"""One rank tells the team's tracker, and Azure's own tracker is out of the way."""

from __future__ import annotations

from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from train.errors import RefusedError
from train.facts import Facts
from train.mlflow_run import experiment_id, open_run
from train.tracking import forget_azure

if TYPE_CHECKING:
    from conftest import Site

FACTS = Facts("units", None, {"epochs": "3", "world_size": "2"}, {"dataset.digest": "sha256:0"})


def test_every_mlflow_variable_is_cleared_and_only_ours_are_set() -> None:
    environ = {"MLFLOW_TRACKING_TOKEN": "t", "MLFLOW_NEW_IN_2030": "x", "HOME": "/"}
    forget_azure(environ)
    assert environ == {
        "HOME": "/",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "GIT_PYTHON_REFRESH": "quiet",
    }


def test_an_experiment_that_another_job_makes_meanwhile_is_used() -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS

    class Server:
        """An MLflow in which somebody else is faster by one call."""

        def __init__(self) -> None:
            self.experiments: dict[str, str] = {}

        def get_experiment_by_name(self, name: str) -> object:
            found = self.experiments.get(name)
            return type("Experiment", (), {"experiment_id": found}) if found else None

        def create_experiment(self, name: str) -> str:
            self.experiments[name] = "41"
            raise MlflowException("exists", RESOURCE_ALREADY_EXISTS)

    assert experiment_id(Server(), "admit") == "41"  # type: ignore[arg-type]


def test_a_run_found_again_keeps_its_params_and_refuses_other_work(site: Site) -> None:
    from mlflow import MlflowClient

    run = open_run(site.tracking_uri, FACTS)
    run.begin()
    client = MlflowClient(site.tracking_uri, site.tracking_uri)
    experiment = client.get_experiment_by_name("units")
    [found] = client.search_runs([experiment.experiment_id])
    more_ranks = {"epochs": "3", "world_size": "4"}
    again = type(run)(client, found, replace(FACTS, params=more_ranks))
    assert again.begin() == "RUNNING"
    assert client.get_run(found.info.run_id).data.params == FACTS.params
    other_work = type(run)(client, found, replace(FACTS, params={"epochs": "4"}))
    with pytest.raises(RefusedError, match="`epochs` is 4, but the run began with 3"):
        other_work.begin()


def test_steps_that_the_tracker_has_are_not_sent_again_and_the_end_is_told_once(
    site: Site,
) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(site.tracking_uri, site.tracking_uri)
    first = open_run(site.tracking_uri, replace(FACTS, experiment="resumed"))
    for step in (1, 2, 3):
        first.log(step, {"loss": 1 / step})
    first.flush()
    experiment = client.get_experiment_by_name("resumed")
    [found] = client.search_runs([experiment.experiment_id])
    resumed = type(first)(client, found, FACTS)
    for step in (2, 3, 4):
        resumed.log(step, {"loss": 1 / step})
    resumed.end("KILLED")
    resumed.end("FAILED")
    history = client.get_metric_history(found.info.run_id, "loss")
    assert [metric.step for metric in history] == [1, 2, 3, 4]
    assert client.get_run(found.info.run_id).info.status == "KILLED"


@pytest.mark.train
def test_a_tracker_that_refuses_us_stops_every_rank_and_never_sees_azures_token(
    site: Site,
) -> None:
    seen: list[str | None] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(401)
            self.end_headers()

        do_POST = do_GET  # noqa: N815  (the server's word)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_port}"
        block = site.block("refused", ADMIT_MLFLOW_TRACKING_URI=uri)
        ranks = site.run(site.job(), block, ranks=2)
        server.shutdown()
    for rank in ranks:
        assert rank.code == 70
        assert rank.out == ""
        assert rank.err.startswith(f"error: the tracker at {uri} cannot be opened: ")
        assert rank.err.count("\n") == 1
    assert seen
    assert set(seen) == {None}
    assert site.checkpoints("refused") == []

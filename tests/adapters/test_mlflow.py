"""The measured run, read from a real MLflow store."""

from __future__ import annotations

import base64
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from controller.adapters.mlflow import MlflowTracking, NoTracking, measured_from
from controller.errors import UnavailableError
from controller.evidence.facts import MeasuredRun


@pytest.mark.train
def test_a_run_is_read_as_it_was_logged_and_another_id_is_no_run(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    client = MlflowClient(uri)
    run = client.create_run(client.create_experiment("measurements")).info.run_id
    client.log_param(run, "world_size", 1)
    client.log_param(run, "workload_samples", 8628)
    client.log_metric(run, "samples_per_second", 3000.5)
    client.set_terminated(run, "FINISHED")
    tracking = MlflowTracking(uri)
    assert tracking.measured(run) == MeasuredRun(run, "FINISHED", 1, 3000.5, 8628.0, None)
    assert tracking.measured("0" * 32) is None


def test_a_server_that_does_not_answer_is_not_known() -> None:
    with pytest.raises(UnavailableError, match="could not be asked for run `abc`"):
        MlflowTracking("http://127.0.0.1:9", retries=0).measured("abc")


def test_without_a_server_nothing_is_known() -> None:
    with pytest.raises(UnavailableError, match="run `abc`: nobody said where"):
        NoTracking("nobody said where").measured("abc")


@pytest.mark.parametrize("text", ["nan", "inf", "many", "", None])
def test_what_is_not_a_finite_number_is_not_said(text: str | None) -> None:
    found = measured_from("abc", "FINISHED", {"world_size": text}, {"peak_gib": text})
    assert found == MeasuredRun("abc", "FINISHED", None, None, None, None)


def test_the_credentials_are_the_team_s_and_none_that_lay_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Authorization", ""))
            self.send_response(404)
            self.end_headers()
            self.wfile.write(b'{"error_code": "RESOURCE_DOES_NOT_EXIST"}')

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "another-server-s")
    server = HTTPServer(("127.0.0.1", 0), Server)
    Thread(target=server.serve_forever, daemon=True).start()
    credentials = {"MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_PASSWORD": "hunter2"}
    tracking = MlflowTracking(f"http://127.0.0.1:{server.server_port}", credentials)
    try:
        assert tracking.measured("abc") is None
    finally:
        server.shutdown()
        server.server_close()
        for name in credentials:
            os.environ.pop(name, None)
    assert asked == ["Basic " + base64.b64encode(b"ada:hunter2").decode()]
    assert "hunter2" not in repr(tracking)

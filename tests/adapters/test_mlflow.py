"""The measured run, read from a real MLflow store."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from controller.adapters.mlflow import (
    RUNS,
    TEXT_LIMIT,
    VERSIONS,
    MlflowTracking,
    NoTracking,
    measured_from,
    tracked_from,
)
from controller.errors import UnavailableError
from controller.evidence.facts import MeasuredRun, Tracked
from controller.values import RunName

if TYPE_CHECKING:
    from mlflow import MlflowClient

RUN = RunName("bert-0123456789ab")
RECORD, DATASET = "sha256:" + "1" * 64, "sha256:" + "2" * 64
TAGS = {"admit.run": RUN, "admit.record": RECORD, "dataset.digest": DATASET}


class Team:
    """A team's MLflow in a folder, and what a training program does to it."""

    def __init__(self, folder: Path) -> None:
        from mlflow import MlflowClient

        self.uri = f"sqlite:///{folder}/mlflow.db"
        self.client: MlflowClient = MlflowClient(self.uri, self.uri)
        self.tracking = MlflowTracking(self.uri)

    def ran(
        self, experiment: str, tags: dict[str, str], status: str = "FINISHED", at: int = 0
    ) -> str:
        found = self.client.get_experiment_by_name(experiment)
        id_ = found.experiment_id if found else self.client.create_experiment(experiment)
        run = str(self.client.create_run(id_, start_time=at, tags=tags).info.run_id)
        self.client.set_terminated(run, status)
        return run

    def registered(self, model: str, run: str, tags: dict[str, str]) -> str:
        if not self.client.search_registered_models(f"name = '{model}'"):
            self.client.create_registered_model(model)
        made = self.client.create_model_version(model, f"s3://team/{run}", run_id=run, tags=tags)
        return str(made.version)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an MLflow that has its tables: making them takes seconds."""
    folder = tmp_path_factory.mktemp("mlflow")
    Team(folder).client.search_experiments()
    return folder


@pytest.fixture
def team(empty: Path, tmp_path: Path) -> Iterator[Team]:
    (tmp_path / "mlflow.db").write_bytes((empty / "mlflow.db").read_bytes())
    return Team(tmp_path)


@pytest.mark.train
def test_a_run_is_read_as_it_was_logged_and_another_id_is_no_run(team: Team) -> None:
    client = team.client
    run = client.create_run(client.create_experiment("measurements")).info.run_id
    client.log_param(run, "world_size", 1)
    client.log_param(run, "workload_samples", 8628)
    client.log_metric(run, "samples_per_second", 3000.5)
    client.set_terminated(run, "FINISHED")
    assert team.tracking.measured(run) == MeasuredRun(run, "FINISHED", 1, 3000.5, 8628.0, None)
    assert team.tracking.measured("0" * 32) is None


@pytest.mark.train
def test_what_came_of_a_run_is_found_in_any_experiment_the_oldest_first(team: Team) -> None:
    late = team.ran("b", TAGS, "FINISHED", at=2000)
    team.ran("a", {**TAGS, "admit.run": "bert-0123456789ab-a2"})
    team.ran("a", {"dataset.digest": DATASET})
    first = team.ran("a", TAGS, "KILLED", at=1000)
    version = team.registered("claims-bert", late, {})
    assert team.tracking.tracked(RUN) == (
        Tracked(first, "KILLED", "", "", DATASET, RECORD, RUN),
        Tracked(late, "FINISHED", "claims-bert", version, DATASET, RECORD, RUN),
    )
    assert team.tracking.tracked(RunName("bert-0123456789ab-a3")) == ()


@pytest.mark.train
def test_a_run_that_made_two_versions_is_there_for_each(team: Team) -> None:
    run = team.ran("a", {"admit.run": RUN})
    versions = [team.registered("claims-bert", run, TAGS) for _ in range(2)]
    assert versions == ["1", "2"]
    assert team.tracking.tracked(RUN) == tuple(
        Tracked(run, "FINISHED", "claims-bert", version, "", "", RUN) for version in versions
    )


@pytest.mark.train
def test_a_version_says_what_its_own_tags_say(team: Team) -> None:
    run = team.ran("a", {"admit.run": "another", "admit.record": "another"})
    version = team.registered("claims-bert", run, TAGS)
    bare = team.registered("claims-bert", run, {})
    found = Tracked(run, "FINISHED", "claims-bert", version, DATASET, RECORD, RUN)
    assert team.tracking.version("claims-bert", version) == found
    nothing = Tracked(run, "FINISHED", "claims-bert", bare, "", "", "")
    assert team.tracking.version("claims-bert", bare) == nothing


@pytest.mark.train
@pytest.mark.parametrize("model, version", [("other", "1"), ("claims-bert", "2"), ("", "1")])
def test_a_version_that_is_not_there_is_none(team: Team, model: str, version: str) -> None:
    team.registered("claims-bert", team.ran("a", TAGS), TAGS)
    assert team.tracking.version(model, version) is None
    assert team.tracking.version("claims-bert", "latest") is None


@pytest.mark.train
def test_a_version_whose_run_is_gone_has_no_status(team: Team) -> None:
    version = team.registered("claims-bert", "0" * 32, TAGS)
    found = team.tracking.version("claims-bert", version)
    assert found == Tracked("0" * 32, "", "claims-bert", version, DATASET, RECORD, RUN)


@pytest.mark.train
def test_more_than_is_read_is_not_taken_for_all_of_it(team: Team) -> None:
    run = team.ran("a", TAGS)
    for _ in range(VERSIONS):
        team.registered("claims-bert", run, TAGS)
    assert len(team.tracking.tracked(RUN)) == VERSIONS
    team.registered("claims-bert", run, TAGS)
    with pytest.raises(UnavailableError, match=f"more than 20 model versions of run `{run}`"):
        team.tracking.tracked(RUN)
    other = RunName("other-1")
    for _ in range(RUNS):
        team.ran("b", {"admit.run": other})
    assert len(team.tracking.tracked(other)) == RUNS
    team.ran("c", {"admit.run": other})
    with pytest.raises(UnavailableError, match="more than 20 runs of `other-1`"):
        team.tracking.tracked(other)


@pytest.mark.train
def test_what_is_no_name_of_a_run_is_no_part_of_a_filter(team: Team) -> None:
    team.ran("a", TAGS)
    for name in ("", "x' OR tags.a != 'b", "x\n", "a" * 256):
        assert team.tracking.tracked(RunName(name)) == ()


@pytest.mark.parametrize(
    "value, kept",
    [("x" * 600, "x" * TEXT_LIMIT), ("x" * 512, "x" * 512), (7, ""), (None, ""), (b"x", "")],
)
def test_tags_that_are_no_text_are_not_said_and_long_ones_are_cut(value: Any, kept: str) -> None:
    made = SimpleNamespace(name=value, version=3)
    tags = dict.fromkeys(TAGS, value)
    assert tracked_from(value, value, tags, made) == Tracked(
        kept, kept, kept, "3", kept, kept, kept
    )
    assert tracked_from("id", "FAILED", value, None) == Tracked("id", "FAILED", "", "", "", "", "")


def test_a_server_that_does_not_answer_is_not_known() -> None:
    tracking = MlflowTracking("http://127.0.0.1:9", retries=0)
    with pytest.raises(UnavailableError, match="could not be asked for run `abc`") as error:
        tracking.measured("abc")
    assert "`ADMIT_MLFLOW_TRACKING_URI`" in error.value.remedy
    with pytest.raises(UnavailableError, match="could not be asked for what came of `bert-01"):
        tracking.tracked(RUN)
    with pytest.raises(UnavailableError, match="could not be asked for version 3 of `claims`"):
        tracking.version("claims", "3")


def test_without_a_server_nothing_is_known() -> None:
    tracking = NoTracking("nobody said where")
    with pytest.raises(UnavailableError, match="run `abc`: nobody said where"):
        tracking.measured("abc")
    with pytest.raises(UnavailableError, match="run `bert-0123456789ab`: nobody said where"):
        tracking.tracked(RUN)
    with pytest.raises(UnavailableError, match="version 3 of `claims`: nobody said where"):
        tracking.version("claims", "3")


@pytest.mark.parametrize("text", ["nan", "inf", "many", "", None])
def test_what_is_not_a_finite_number_is_not_said(text: str | None) -> None:
    found = measured_from("abc", "FINISHED", {"world_size": text}, {"peak_gib": text})
    assert found == MeasuredRun("abc", "FINISHED", None, None, None, None)


class Answering:
    """A server that gives every question the same answer, and keeps what it was sent."""

    def __init__(self, status: int, body: bytes) -> None:
        asked = self.asked = []  # type: list[str]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.headers.get("Authorization", ""))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Nothing on the terminal."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Answering:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.parametrize(
    "status, body",
    [
        (200, b"<html>"),
        (200, b'{"run": 3, "experiments": 3, "model_version": 3}'),
        (403, b'{"error_code": "PERMISSION_DENIED"}'),
        (500, b""),
    ],
)
def test_a_server_that_answers_nonsense_or_refuses_is_not_known(status: int, body: bytes) -> None:
    with Answering(status, body) as server:
        tracking = MlflowTracking(server.uri, retries=0)
        for question in (
            lambda: tracking.measured("abc"),
            lambda: tracking.tracked(RUN),
            lambda: tracking.version("claims", "3"),
        ):
            with pytest.raises(UnavailableError, match="could not be asked for"):
                question()


@pytest.mark.train
@pytest.mark.parametrize("address", ["{folder}/mlflow.db", "http://[::1"])
def test_a_database_or_an_address_that_is_broken_is_not_known(tmp_path: Path, address: str) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 500)
    uri = address.format(folder=f"sqlite:///{tmp_path}")
    with pytest.raises(UnavailableError, match="could not be asked for what came of"):
        MlflowTracking(uri).tracked(RUN)


def test_a_database_that_takes_upper_case_for_lower_case_finds_no_other_run() -> None:
    run = {"info": {"run_id": "a"}, "data": {"tags": [{"key": "admit.run", "value": RUN.upper()}]}}
    answer = {"experiments": [{"experiment_id": "1"}], "runs": [run]}
    with Answering(200, json.dumps(answer).encode()) as server:
        tracking = MlflowTracking(server.uri)
        assert tracking.tracked(RUN) == ()
        assert len(tracking.tracked(RunName(RUN.upper()))) == 1


def test_a_search_that_never_ends_is_given_up() -> None:
    with Answering(200, b'{"experiments": [], "next_page_token": "more"}') as server:
        with pytest.raises(UnavailableError, match="more than 10000 experiments"):
            MlflowTracking(server.uri).tracked(RUN)
        assert len(server.asked) == 20


def test_the_credentials_are_the_team_s_and_none_that_lay_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "another-server-s")
    credentials = {"MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_PASSWORD": "hunter2"}
    with Answering(404, b'{"error_code": "RESOURCE_DOES_NOT_EXIST"}') as server:
        tracking = MlflowTracking(server.uri, credentials)
        try:
            assert tracking.measured("abc") is None
        finally:
            for name in credentials:
                os.environ.pop(name, None)
    assert server.asked == ["Basic " + base64.b64encode(b"ada:hunter2").decode()]
    assert "hunter2" not in repr(tracking)

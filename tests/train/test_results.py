"""One row for a run, however often it is written."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.dialects import postgresql

from train.errors import TrainError
from train.results import Row, upsert, write

ROW = Row(
    run="bert-0123456789ab",
    admission="bert",
    commit_sha="a" * 40,
    record="sha256:" + "1" * 64,
    dataset_digest="sha256:" + "2" * 64,
    image="acme.azurecr.io/train@sha256:" + "3" * 64,
    model="claims-bert",
    mlflow_run_id="f" * 32,
    world_size=2,
    started_at=datetime(2026, 11, 30, 20, tzinfo=UTC),
)


def test_a_run_keeps_one_row_and_the_time_it_was_first_started(tmp_path: Path) -> None:
    url, later = f"sqlite:///{tmp_path}/results.db", datetime(2026, 12, 1, tzinfo=UTC)
    write(url, ROW)
    ends = {"status": "FINISHED", "model_version": "4", "loss": 0.5, "accuracy": 0.9}
    write(url, replace(ROW, started_at=later, ended_at=later, world_size=4, **ends))
    with sqlite3.connect(tmp_path / "results.db") as connection:
        columns = "run, status, model_version, loss, accuracy, world_size, started_at, ended_at"
        rows = connection.execute(f"select {columns} from training_runs").fetchall()
    began, ended = "2026-11-30 20:00:00.000000", "2026-12-01 00:00:00.000000"
    assert rows == [("bert-0123456789ab", "FINISHED", "4", 0.5, 0.9, 4, began, ended)]


def test_postgresql_gets_an_upsert_of_its_own() -> None:
    dialect = postgresql.dialect()
    statement = str(upsert(dialect, ROW).compile(dialect=dialect))
    assert "ON CONFLICT (run) DO UPDATE SET" in statement
    assert "started_at =" not in statement.partition("DO UPDATE")[2]


def test_a_database_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TrainError) as failed:
        write(f"sqlite:///{tmp_path}/nowhere/results.db", ROW)
    assert str(failed.value) == (
        "the results row of `bert-0123456789ab` cannot be written: "
        "(sqlite3.OperationalError) unable to open database file"
    )

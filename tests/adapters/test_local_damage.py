"""What is damaged is said in one sentence, and what cannot be charged exactly is charged whole."""

from __future__ import annotations

import sqlite3
import sys
from datetime import UTC, datetime, timedelta

import pytest

from controller.adapters.local import START_WITHIN
from controller.adapters.local_job import CannotLaunchError
from controller.errors import ActionFailedError, UnavailableError
from tests.adapters.local_examples import RUN, Local, record_only
from tests.adapters.local_requests import request


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tags", "x"),
        ("tags", "[]"),
        ("tags", "[" * 100_000),
        ("launch", "x"),
        ("launch", "{}"),
        ("created_at", "yesterday"),
        ("created_at", "2026-11-30T12:00:00"),
        ("started_at", "yesterday"),
        ("ended_at", "2026-11-30T12:00:00"),
        ("state", b"\xff"),
        ("preempted", "maybe"),
        ("preempted", 2),
        ("record", b"\xff"),
    ],
)
def test_a_damaged_row_is_said_to_be_damaged(local: Local, column: str, value: object) -> None:
    local.ran(request())
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute(f"UPDATE runs SET {column} = ?", (value,))
    with pytest.raises(UnavailableError, match="remembers of `tiny-1` is damaged"):
        local.workspace.runs()
    with pytest.raises(UnavailableError, match="is damaged"):
        local.workspace.get(RUN)
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("DELETE FROM runs")


@pytest.mark.parametrize("launch", ["x", "{}"])
def test_the_logs_of_a_damaged_row_are_said_to_be_damaged(local: Local, launch: str) -> None:
    local.ran(request())
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("UPDATE runs SET launch = ?", (launch,))
    with pytest.raises(UnavailableError, match="remembers of `tiny-1` is damaged"):
        local.workspace.logs(RUN)
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("DELETE FROM runs")


def test_a_workspace_without_its_id_is_said_to_be_damaged(local: Local) -> None:
    local.workspace.runs()
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("DELETE FROM workspace")
    with pytest.raises(UnavailableError, match="has lost its id"):
        _ = local.workspace.id


@pytest.mark.parametrize("place", ["runs", "runs/tiny-1", "runs/tiny-1/work"])
def test_a_run_whose_folder_cannot_be_made_is_not_remembered_as_run(
    local: Local, place: str
) -> None:
    local.workspace.runs()
    (local.state / place).parent.mkdir(parents=True, exist_ok=True)
    (local.state / place).write_text("in the way")
    with pytest.raises(ActionFailedError, match="the folder of `tiny-1` cannot be made") as error:
        local.workspace.submit(request())
    assert f"`{local.state / place}`" in error.value.remedy
    assert local.workspace.get(RUN) is None
    (local.state / place).unlink()
    assert local.ran(request()).state == "Completed"


def test_a_job_that_ends_its_supervisor_is_charged_from_its_start(local: Local) -> None:
    local.clock.time = datetime.now(UTC) + timedelta(hours=1)  # when it is noticed
    local.workspace.submit(request(command="kill -9 $PPID; sleep 60"))
    run = local.over()
    assert (run.state, run.reason, run.preempted) == ("Failed", "its supervisor was lost", True)
    assert run.started_at is not None
    assert run.ended_at == local.clock.time
    assert timedelta(minutes=59) < run.ended_at - run.started_at <= timedelta(hours=1)


def test_a_run_of_which_nothing_was_launched_took_no_time(local: Local) -> None:
    record_only(local, request())
    local.workspace.cancel(RUN, "withdrawn")
    run = local.seen()
    assert run.started_at == run.ended_at is not None


def test_a_run_that_nobody_started_took_no_time(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_only(local, request())
    monkeypatch.setattr(sys, "executable", "/bin/false")
    local.clock.time += START_WITHIN
    run = local.seen()
    assert (run.state, run.started_at, run.ended_at) == (
        "Failed",
        local.clock.time,
        local.clock.time,
    )


def test_an_output_cannot_overwrite_a_data_asset(local: Local) -> None:
    asked = request(outputs={"model": {"type": "uri_folder", "path": "azureml:cifar:1"}})
    with pytest.raises(CannotLaunchError, match="is a data asset, which others have pinned"):
        local.workspace.submit(asked)

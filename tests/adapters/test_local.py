from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controller.adapters.local import (
    LocalWorkspace,
    NoSuchRunError,
)
from controller.adapters.local_process import Process, alive, end, identified
from controller.documents.payload import INJECTED
from controller.errors import CannotRunError, UnavailableError
from controller.evidence.facts import ObservedRun
from tests.adapters.local_examples import FOREVER, RUN, Local, folder
from tests.adapters.local_requests import request
from tests.adapters.scratch import NOON

# What a run is


def test_a_run_that_succeeds_is_completed_and_says_everything_it_was_given(local: Local) -> None:
    asked = request(command="echo hello; echo oops >&2", tags={"admission": "a"}, nodes=2)
    run = local.ran(asked)
    assert run.started_at is not None
    assert run.ended_at is not None
    assert run.started_at <= run.ended_at <= datetime.now(UTC)
    assert run == ObservedRun(
        run=RUN,
        state="Completed",
        fingerprint=asked.payload.fingerprint,
        tags={"admission": "a"},
        nodes=2,
        timeout=120,
        created_at=NOON,
        started_at=run.started_at,
        ended_at=run.ended_at,
    )
    assert local.log() == "hello\noops\n"
    assert local.log(1) == "hello\noops\n"


def test_a_rank_that_fails_ends_the_others_and_the_run(local: Local) -> None:
    command = f'if [ "$RANK" = 1 ]; then exit 3; fi; {FOREVER}'
    run = local.ran(request(command=command, nodes=2, processes=1))
    assert (run.state, run.reason) == ("Failed", "rank 1 exited with 3")
    run = local.ran(request("tiny-2", "kill -9 $$"))
    assert (run.state, run.reason) == ("Failed", "rank 0 was ended by SIGKILL")


def test_every_process_knows_its_place_as_azure_ml_says_it(local: Local) -> None:
    command = "echo $RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"
    local.ran(request(command=command, nodes=2, processes=2))
    said = [local.log(rank).split() for rank in range(4)]
    port = said[0][4]
    assert port.startswith("127.0.0.1:")
    assert said == [
        ["0", "0", "0", "4", port],
        ["1", "1", "0", "4", port],
        ["2", "0", "1", "4", port],
        ["3", "1", "1", "4", port],
    ]


def test_without_a_distribution_there_is_one_process_a_node_and_no_rank(local: Local) -> None:
    assert local.printed('echo "[$RANK$WORLD_SIZE$MASTER_ADDR]"', nodes=2) == "[]\n"
    assert local.log(1) == "[]\n"
    with pytest.raises(NoSuchRunError, match="`tiny-1` has no rank 2") as error:
        local.workspace.logs(RUN, 2)
    assert error.value.remedy == "its ranks are 0 to 1"


def test_nothing_of_the_controllers_environment_reaches_a_job(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a secret")
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "a secret")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "a secret")
    monkeypatch.setenv("PYTHONPATH", "/controllers/own")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    injected = {name: f"value of {name}" for name in INJECTED}
    printed = local.printed(
        "env -0",
        injected=injected,
        environment_variables={"OWN": "1", "ADMIT_RUN": "mine", "MLFLOW_RUN_ID": "mine"},
        inputs={"lr": "1e-3"},
        experiment_name="claims",
        processes=1,
    )
    found = dict(entry.split("=", 1) for entry in printed.split("\0") if "=" in entry)
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert {key: value for key, value in found.items() if key not in shell} == {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TZ": "UTC",
        "OMP_NUM_THREADS": "1",
        "OWN": "1",
        **injected,
        "RANK": "0",
        "LOCAL_RANK": "0",
        "NODE_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": found["MASTER_PORT"],
        "AZUREML_RUN_ID": RUN,
        "AZUREML_RUN_TOKEN": "local-stand-in",
        "AZUREML_RUN_TOKEN_EXPIRY": "0",
        "AZUREML_EXPERIMENT_ID": "claims",
        "AZUREML_EXPERIMENT_NAME": "claims",
        "AZUREML_ARM_SUBSCRIPTION": "00000000-0000-0000-0000-000000000000",
        "AZUREML_ARM_RESOURCEGROUP": "local",
        "AZUREML_ARM_WORKSPACE_NAME": "local",
        "AZUREML_ARM_PROJECT_NAME": "claims",
        "AZUREML_SERVICE_ENDPOINT": "https://azureml.invalid",
        "AZUREML_WORKSPACE_ID": local.workspace.id,
        "AZUREML_PARAMETER_lr": "1e-3",
        "MLFLOW_TRACKING_URI": "azureml://azureml.invalid/mlflow/v1.0",
        "MLFLOW_TRACKING_TOKEN": "local-stand-in",
        "MLFLOW_RUN_ID": RUN,
        "MLFLOW_EXPERIMENT_ID": "claims",
        "MLFLOW_EXPERIMENT_NAME": "claims",
    }


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_the_supervisor_has_no_secret_either(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a secret")
    local.workspace.submit(request(command=FOREVER))
    local.started()
    environment = Path(f"/proc/{local.supervisor().pid}/environ").read_bytes()
    assert b"GITHUB_TOKEN" not in environment
    assert "a secret" not in (local.state / "workspace.db").read_bytes().decode("latin-1")


# The state


def test_a_workspace_has_one_id_for_ever_and_another_has_another(tmp_path: Path) -> None:
    one, other = Local(tmp_path / "one"), Local(tmp_path / "deep/er/other")
    assert one.workspace.id == LocalWorkspace(tmp_path / "one", NOON.now).id
    assert one.workspace.id != other.workspace.id
    assert one.workspace.id.startswith("local-")
    assert folder(tmp_path / "deep") == "0o700"


def test_runs_are_listed_by_name(local: Local) -> None:
    for run in ("b-1", "a-1", "c-1"):
        local.workspace.submit(request(run))
    assert [run.run for run in local.workspace.runs()] == ["a-1", "b-1", "c-1"]


def test_a_damaged_state_is_said_and_not_taken_for_an_empty_one(local: Local) -> None:
    local.ran(request())
    for name in ("workspace.db-wal", "workspace.db-shm"):
        (local.state / name).unlink(missing_ok=True)
    good = (local.state / "workspace.db").read_bytes()
    (local.state / "workspace.db").write_bytes(b"no database" * 500)
    with pytest.raises(UnavailableError, match="file is not a database") as error:
        local.workspace.runs()
    assert "move it away" in error.value.remedy
    (local.state / "workspace.db").write_bytes(good)


def test_a_state_of_a_newer_version_is_refused(local: Local) -> None:
    assert local.workspace.id
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("PRAGMA user_version = 3")
    with pytest.raises(CannotRunError, match="newer version"):
        local.workspace.runs()
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("PRAGMA user_version = 2")


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnavailableError, match="cannot be made"):
        LocalWorkspace(tmp_path / "file/state", NOON.now).runs()


def test_a_supervisor_needs_no_installed_package() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-P",
            "-X",
            "importtime",
            "-c",
            "import controller.adapters.local_run",
        ],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )
    own = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert {name for name in own if name.startswith("controller.")} == {
        "controller.adapters",
        "controller.adapters.local_launch",
        "controller.adapters.local_places",
        "controller.adapters.local_process",
        "controller.adapters.local_run",
        "controller.adapters.local_store",
        "controller.errors",
        "controller.values",
    }


def test_ending_a_process_whose_number_is_another_processs_does_nothing() -> None:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        end([Process(process.pid, "another")], frozenset(), 0.1)
        assert process.poll() is None
        real = identified(process.pid)
        assert real is not None
        end([real], frozenset(), 5)
        assert not alive(real)


def test_tags_are_json_and_nothing_else(local: Local) -> None:
    local.workspace.submit(request(tags={"admission": "ü", "x": "'; DROP TABLE runs; --"}))
    row = local.store.row(RUN)
    assert row is not None
    assert json.loads(row.tags) == {"admission": "ü", "x": "'; DROP TABLE runs; --"}

"""A state that an older version wrote is brought to this one, and nothing of it is lost."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from controller.adapters.local_process import identified
from controller.adapters.local_store import Store
from controller.errors import CannotRunError
from controller.values import sha256
from tests.adapters.local_examples import Local

# What version 1 left after a run that ended, one that failed and one that was not started yet.
VERSION_1 = """
PRAGMA journal_mode = WAL;
CREATE TABLE workspace (id TEXT NOT NULL);
INSERT INTO workspace VALUES ('local-5777f32a0c5679a14edba8f705d5932e');
CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    launch TEXT NOT NULL,
    record TEXT NOT NULL,
    tags TEXT NOT NULL,
    display_name TEXT NOT NULL,
    description TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT,
    pid INTEGER,
    pid_started TEXT
);
CREATE TABLE ranks (
    run TEXT NOT NULL,
    rank INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL,
    PRIMARY KEY (run, rank)
);
INSERT INTO runs VALUES (
    'done-1', '0f81991b78858ee447afadf2f766827e7f763aa85b233eba151d054795dce8bf',
    '{"command": "true", "distributed": false, "environment": {"AZUREML_RUN_ID": "done-1",'
    || ' "AZUREML_WORKSPACE_ID": "local-5777f32a0c5679a14edba8f705d5932e"}, "grace": 0.5,'
    || ' "inputs": [], "literals": {}, "nodes": 1, "outputs": [], "processes": 1,'
    || ' "run": "done-1", "timeout": 120}',
    '{"why":"ü"}', '{"admission": "a"}', '', '', 'Completed', '',
    '2026-11-30T12:00:00+00:00', '2026-11-30T12:00:01+00:00', '2026-11-30T12:00:02+00:00',
    6959, '14ea330f-f36c-4325-a366-ccd248908f61:1542061'
);
INSERT INTO runs SELECT
    'failed-1', fingerprint, replace(launch, 'done-1', 'failed-1'), '', '{}', '', '', 'Failed',
    'rank 0 exited with 3', created_at, started_at, ended_at, 7019,
    '14ea330f-f36c-4325-a366-ccd248908f61:1542084' FROM runs;
INSERT INTO runs SELECT
    'waiting-1', fingerprint, replace(launch, 'done-1', 'waiting-1'), '', '{}', '', '',
    'NotStarted', '', created_at, NULL, NULL, NULL, NULL FROM runs WHERE run = 'done-1';
INSERT INTO ranks VALUES ('done-1', 0, 6965, ''), ('failed-1', 0, 7022, '');
PRAGMA user_version = 1;
"""


@pytest.fixture
def old(tmp_path: Path) -> Local:
    local = Local(tmp_path / "state")
    local.state.mkdir(mode=0o700)
    with closing(sqlite3.connect(local.state / "workspace.db")) as db:
        db.executescript(VERSION_1)
    return local


def version(local: Local) -> int:
    with closing(sqlite3.connect(local.state / "workspace.db")) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_a_state_of_version_1_is_read_and_written_on(old: Local) -> None:
    assert version(old) == 1
    runs = old.workspace.runs()
    assert [(run.run, run.state, run.reason, run.preempted, run.record) for run in runs] == [
        ("done-1", "Completed", "", False, sha256('{"why":"ü"}'.encode())),
        ("failed-1", "Failed", "rank 0 exited with 3", False, ""),
        ("waiting-1", "NotStarted", "", False, ""),
    ]
    assert version(old) == 2
    assert old.workspace.id == "local-5777f32a0c5679a14edba8f705d5932e"
    old.workspace.cancel(runs[2].run, "withdrawn")
    assert old.seen("waiting-1").state == "Canceled"


def test_a_migrated_state_has_the_columns_of_a_new_one(old: Local, tmp_path: Path) -> None:
    new = Local(tmp_path / "new")
    assert old.workspace.id != new.workspace.id
    shapes = []
    for local in (old, new):
        with closing(sqlite3.connect(local.state / "workspace.db")) as db:
            shapes.append([db.execute(f"PRAGMA table_info({t})").fetchall() for t in TABLES])
    assert shapes[0] == shapes[1]


TABLES = ("workspace", "runs", "ranks")


def test_several_processes_that_find_an_old_state_migrate_it_once(old: Local) -> None:
    with ThreadPoolExecutor(8) as several:
        found = list(several.map(lambda _: len(Store(old.state).rows()), range(16)))
    assert found == [3] * 16


def test_a_state_whose_runs_an_older_version_still_watches_is_left_to_it(old: Local) -> None:
    own = identified(os.getpid())
    assert own is not None
    active = "UPDATE runs SET state = ?, pid = ?, pid_started = ? WHERE run = 'done-1'"
    with closing(sqlite3.connect(old.state / "workspace.db", isolation_level=None)) as db:
        db.execute(active, ("Running", own.pid, own.started))
    with pytest.raises(CannotRunError, match="which still runs `done-1`") as error:
        old.workspace.runs()
    assert error.value.remedy == "let it end, or cancel it with that version"
    assert version(old) == 1
    with closing(sqlite3.connect(old.state / "workspace.db", isolation_level=None)) as db:
        db.execute(active, ("Running", own.pid, "before the boot"))
    assert (old.seen("done-1").state, old.seen("done-1").preempted) == ("Failed", True)
    assert version(old) == 2

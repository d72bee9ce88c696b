"""The state of the local workspace: one row a run in SQLite, moved from state to state.

Every move names the states it may come from, and the database decides: of two processes that try
the same, one succeeds. The standard library is enough for it, so that a supervisor starts fast.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from datetime import datetime
from pathlib import Path

from controller.adapters.local_process import Process, alive
from controller.errors import CannotRunError, UnavailableError
from controller.values import RunName

NOT_STARTED = "NotStarted"
STARTING = "Starting"
RUNNING = "Running"
CANCEL_REQUESTED = "CancelRequested"
SUPERVISED = (STARTING, RUNNING, CANCEL_REQUESTED)
"""The states, in Azure ML's words, in which a supervisor must be alive."""

_VERSION = 2
_WAIT = 10.0
_SCHEMA = """
CREATE TABLE workspace (id TEXT NOT NULL);
INSERT INTO workspace VALUES ('local-' || lower(hex(randomblob(16))));
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
    pid_started TEXT,
    preempted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE ranks (
    run TEXT NOT NULL,
    rank INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL,
    PRIMARY KEY (run, rank)
);
"""
_COLUMNS = (
    "run, fingerprint, launch, record, tags, display_name, description, state, reason,"
    " created_at, started_at, ended_at, pid, pid_started, preempted"
)
_FROM_VERSION_1 = "ALTER TABLE runs ADD COLUMN preempted INTEGER NOT NULL DEFAULT 0"
_INSERTED = 10
"""So many of the columns, up to `created_at`, are known when a run is recorded."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `launch`, `record` and `tags` are JSON; times are ISO 8601 in UTC."""

    run: RunName
    fingerprint: str
    launch: str
    record: str
    tags: str
    display_name: str
    description: str
    state: str
    reason: str
    created_at: str
    started_at: str | None = None
    ended_at: str | None = None
    pid: int | None = None
    pid_started: str | None = None
    preempted: int = 0

    @property
    def supervisor(self) -> Process | None:
        """The process that watches over the run."""
        return None if self.pid is None else Process(self.pid, self.pid_started or "")


class Store:
    """The database of one state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "workspace.db"

    @property
    def id(self) -> str:
        """What tells this workspace from any other."""
        with self._open() as db:
            found = db.execute("SELECT id FROM workspace").fetchone()
        if found is None:
            raise UnavailableError(
                f"`{self._file}` is damaged: the workspace has lost its id",
                remedy="move the file away; what it remembers is lost",
            )
        return str(found[0])

    def insert(self, row: Row) -> bool:
        """Add a run that is not there; False when one of its name is."""
        columns = _COLUMNS.split(", ")[:_INSERTED]
        marks = ", ".join("?" * len(columns))
        statement = f"INSERT OR IGNORE INTO runs ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        with self._open() as db:
            done = db.execute(statement, astuple(row)[:_INSERTED])
            return done.rowcount == 1

    def row(self, run: str) -> Row | None:
        """Return one run."""
        with self._open() as db:
            found = db.execute(f"SELECT {_COLUMNS} FROM runs WHERE run = ?", (run,)).fetchone()  # noqa: S608
            return Row(*found) if found else None

    def rows(self) -> list[Row]:
        """Return all runs, by name."""
        with self._open() as db:
            return [Row(*r) for r in db.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY run")]  # noqa: S608

    def claim(self, run: str, supervisor: Process) -> bool:
        """Make `supervisor` the one that starts the run; False when it has one or is over."""
        with self._open() as db:
            done = db.execute(
                "UPDATE runs SET state = ?, pid = ?, pid_started = ? WHERE run = ? AND state = ?",
                (STARTING, supervisor.pid, supervisor.started, run, NOT_STARTED),
            )
            return done.rowcount == 1

    def launching(self, run: str, at: datetime) -> None:
        """Say that from now on processes of the run may exist: it is charged from here."""
        with self._open() as db:
            db.execute("UPDATE runs SET started_at = ? WHERE run = ?", (at.isoformat(), run))

    def running(self, run: str, at: datetime) -> None:
        """Say that all ranks run. A cancellation that was asked for meanwhile stays."""
        with self._open() as db:
            db.execute(
                "UPDATE runs SET started_at = COALESCE(started_at, ?),"
                " state = CASE state WHEN ? THEN ? ELSE state END WHERE run = ?",
                (at.isoformat(), STARTING, RUNNING, run),
            )

    def request_cancel(self, run: str, reason: str) -> None:
        """Ask the supervisor to end a run. The first reason stays."""
        with self._open() as db:
            db.execute(
                "UPDATE runs SET state = ?, reason = ? WHERE run = ? AND state IN (?, ?)",
                (CANCEL_REQUESTED, reason, run, STARTING, RUNNING),
            )

    def finish(
        self, run: str, state: str, reason: str, at: datetime, come_from: Sequence[str]
    ) -> bool:
        """End a run that is in one of the states `come_from`; False when it is not.

        One of which nothing was ever launched took no time: it started when it ended.
        """
        marks = ", ".join("?" * len(come_from))
        with self._open() as db:
            done = db.execute(
                "UPDATE runs SET state = ?, reason = ?, ended_at = ?,"  # noqa: S608
                f" started_at = COALESCE(started_at, ?) WHERE run = ? AND state IN ({marks})",
                (state, reason, at.isoformat(), at.isoformat(), run, *come_from),
            )
            return done.rowcount == 1

    def lose(self, run: str, reason: str, at: datetime) -> None:
        """End a run whose machine was taken away: preempted, or canceled where that was asked.

        In one statement: a cancellation that is asked for meanwhile is either seen or too late.
        """
        asked = f"state = '{CANCEL_REQUESTED}'"
        with self._open() as db:
            db.execute(
                "UPDATE runs SET"  # noqa: S608
                f" state = CASE WHEN {asked} THEN 'Canceled' ELSE 'Failed' END,"
                f" reason = CASE WHEN {asked} THEN reason || '; ' || ? ELSE ? END,"
                f" preempted = NOT {asked}, ended_at = ?, started_at = COALESCE(started_at, ?)"
                f" WHERE run = ? AND state IN {SUPERVISED}",
                (reason, reason, at.isoformat(), at.isoformat(), run),
            )

    def add_rank(self, run: str, rank: int, process: Process) -> None:
        """Remember a process of the run."""
        with self._open() as db:
            values = (run, rank, process.pid, process.started)
            db.execute("INSERT INTO ranks VALUES (?, ?, ?, ?)", values)

    def ranks(self, run: str) -> list[Process]:
        """Return the processes of a run."""
        with self._open() as db:
            query = "SELECT pid, pid_started FROM ranks WHERE run = ? ORDER BY rank"
            return [Process(*found) for found in db.execute(query, (run,))]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Connect for one statement. Raises UnavailableError; CannotRunError for a newer file, and
        for an older one that is still in use.

        A connection a call costs a millisecond, and nothing is left open when a process is killed.
        """
        try:
            with closing(sqlite3.connect(self._file, timeout=_WAIT, isolation_level=None)) as db:
                if self._version(db) < _VERSION:
                    self._renew(db)
                yield db
        except sqlite3.Error as error:
            message = f"the state of the local workspace, `{self._file}`, cannot be used: {error}"
            remedy = "see that the folder is writable; if the file is damaged, move it away"
            raise UnavailableError(message, remedy=remedy) from error

    def _version(self, db: sqlite3.Connection) -> int:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version > _VERSION:
            message = f"`{self._file}` was written by a newer version of admit"
            raise CannotRunError(message, remedy="use that version")
        return version

    def _renew(self, db: sqlite3.Connection) -> None:
        """Bring a new or an older file to this version. Of two processes at once, one does it."""
        _use_wal(db)
        db.execute("BEGIN IMMEDIATE")
        version = self._version(db)
        if version == 0:
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
        elif version == 1:
            self._refuse_while_active(db)
            db.execute(_FROM_VERSION_1)
        db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")

    def _refuse_while_active(self, db: sqlite3.Connection) -> None:
        # A supervisor of the older version could not read the file any more, and would end its run.
        query = f"SELECT run, pid, pid_started FROM runs WHERE state IN {SUPERVISED} ORDER BY run"  # noqa: S608
        for run, pid, started in db.execute(query).fetchall():
            if pid is not None and alive(Process(pid, started or "")):
                message = (
                    f"`{self._file}` is of an older version of admit, which still runs `{run}`"
                )
                raise CannotRunError(message, remedy="let it end, or cancel it with that version")


def _use_wal(db: sqlite3.Connection) -> None:
    # Two processes that switch a new file at once: SQLite refuses one without waiting.
    deadline = time.monotonic() + _WAIT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return

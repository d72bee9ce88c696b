"""A local workspace in a test, and what is asked of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from controller.adapters.local import (
    LocalWorkspace,
)
from controller.adapters.local_job import launch_of
from controller.adapters.local_places import Places
from controller.adapters.local_process import Process, identified
from controller.adapters.local_store import Store
from controller.documents.payload import RunRequest
from controller.evidence.facts import ObservedRun, Phase
from controller.values import RunName
from tests.adapters.local_requests import request
from tests.adapters.scratch import NOON, eventually

RUN = RunName("tiny-1")
FOREVER = "echo started; trap 'echo asked; exit 1' TERM; while :; do sleep 0.05; done"


class Clock:
    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> datetime:
        return self.time


class Local:
    """A workspace with a clock that stands still, and what a test asks of it."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.clock = Clock()
        self.workspace = LocalWorkspace(state, self.clock, grace=0.5)
        self.store = Store(state)

    def seen(self, run: str = RUN) -> ObservedRun:
        found = self.workspace.get(RunName(run))
        assert found is not None
        return found

    def over(self, run: str = RUN) -> ObservedRun:
        eventually(lambda: self.seen(run).phase is Phase.OVER)
        return self.seen(run)

    def ran(self, asked: RunRequest) -> ObservedRun:
        self.workspace.submit(asked)
        return self.over(asked.run)

    def log(self, rank: int = 0, run: str = RUN) -> str:
        return self.workspace.logs(RunName(run), rank).read_text()

    def started(self, rank: int = 0, run: str = RUN) -> None:
        """Wait until a rank of a FOREVER job has begun."""
        log = self.workspace.logs(RunName(run), rank)
        eventually(lambda: log.exists() and "started" in log.read_text())

    def printed(self, command: str, **fields: Any) -> str:
        assert self.ran(request(command=command, **fields)).state == "Completed"
        return self.log()

    def halted(self, run: str = RUN) -> int:
        """Stop the supervisor of a run where it does not hold the database; return its number."""
        eventually(lambda: self.seen(run).state == "Running")
        pid = self.supervisor(run).pid

        def halt() -> bool:
            os.kill(pid, signal.SIGSTOP)
            eventually(lambda: _stopped(pid))
            if self._writable():
                return True
            os.kill(pid, signal.SIGCONT)
            return False

        eventually(halt)
        return pid

    def _writable(self) -> bool:
        try:
            with closing(sqlite3.connect(self.state / "workspace.db", timeout=0)) as db:
                db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True

    def supervisor(self, run: str = RUN) -> Process:
        row = self.store.row(run)
        assert row is not None
        assert row.supervisor is not None
        return row.supervisor


def _stopped(pid: int) -> bool:
    shown = subprocess.run(("ps", "-o", "stat=", "-p", str(pid)), capture_output=True, check=True)
    return shown.stdout.startswith(b"T")


def gone(pid: int) -> bool:
    return identified(pid) is None


def folder(path: Path) -> str:
    """Return the mode of a folder."""
    return oct(stat.S_IMODE(path.stat().st_mode))


def record_only(local: Local, asked: RunRequest) -> None:
    """Do what a submitter does before it is killed: the record, but not the start."""
    launch = launch_of(asked, Places(local.state), local.workspace.id, 0.5)
    local.workspace._make_run_folders(asked.run)
    local.workspace._insert(asked, launch)

"""The local workspace: runs are processes of this machine, described in Azure ML's words.

The image is recorded, not pulled. Below the state folder, all of it private (0700):

    workspace.db                 one row a run (SQLite)
    data/<name>/<version>/       data assets: `azureml:<name>:<version>`
    datastores/<name>/<path>     `azureml://datastores/<name>/paths/<path>`
    runs/<run>/work              the working directory of all ranks
    runs/<run>/logs/             rank-<n>.txt, and supervisor.txt
    runs/<run>/outputs/<name>/   outputs that have no path of their own
    runs/<run>/record.json       the admission record, as submitted

Each run has a supervisor (`local_run`), a process of its own that goes on when this one ends.
Whoever asks for a run that has none yet, although it was recorded a second ago, starts one; whoever
asks for a run whose supervisor is gone ends what it left and finds the run Failed, preempted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import controller
from controller.adapters.local_job import launch_of
from controller.adapters.local_launch import Launch
from controller.adapters.local_places import Places, make_private
from controller.adapters.local_process import alive, end
from controller.adapters.local_run import marks
from controller.adapters.local_store import (
    CANCEL_REQUESTED,
    NOT_STARTED,
    SUPERVISED,
    Row,
    Store,
)
from controller.documents.payload import RunRequest
from controller.errors import ActionFailedError, UnavailableError
from controller.evidence.facts import OVER_STATES, ObservedRun
from controller.values import RunName, sha256

START_AFTER = timedelta(seconds=1)
"""A run that was recorded so long ago and has no supervisor lost its submitter."""
START_WITHIN = timedelta(seconds=60)
"""A run whose supervisor still cannot be started after this time has Failed."""
_SPAWN_SECONDS = 30.0


class NameTakenError(ActionFailedError):
    """Another payload runs, or ran, under the name: as Azure ML refuses it."""


class NoSuchRunError(ActionFailedError):
    """The workspace has no run of that name."""


class LocalWorkspace:
    """The runs of one state folder. Several processes of one machine may use it at once."""

    def __init__(self, state_dir: Path, now: Callable[[], datetime], *, grace: float = 5.0) -> None:
        self._places = Places(state_dir.absolute())
        self._store = Store(self._places.state_dir)
        self._now = now
        self._grace = grace

    @property
    def id(self) -> str:
        """What tells this workspace from any other, for as long as its folder exists."""
        self._make_folder()
        return self._store.id

    def get(self, run: RunName) -> ObservedRun | None:
        """Return one run as it is now; None when there is none of that name."""
        self._make_folder()
        row = self._store.row(run)
        return None if row is None else self._told(row)

    def runs(self) -> tuple[ObservedRun, ...]:
        """Return every run, by name."""
        self._make_folder()
        return tuple(self._told(row) for row in self._store.rows())

    def submit(self, request: RunRequest) -> None:
        """Start a run under its name; one of that name and payload is success already.

        Raises NameTakenError for another payload, CannotLaunchError for what does not run here.
        """
        launch = launch_of(request, self._places, self.id, self._grace)
        self._make_run_folders(request.run)
        self._insert(request, launch)
        row = self._store.row(request.run)
        if row is not None and row.state == NOT_STARTED:
            self._start(request.run)

    def cancel(self, run: RunName, reason: str) -> None:
        """Ask that a run ends; one that is over is success already. Raises NoSuchRunError."""
        self._make_folder()
        if self._store.row(run) is None:
            raise _no_such(run)
        if not self._store.finish(run, "Canceled", reason, self._now(), (NOT_STARTED,)):
            self._store.request_cancel(run, reason)
            self.get(run)  # without a supervisor, nobody else would end it

    def logs(self, run: RunName, rank: int = 0) -> Path:
        """Return the file of what a rank prints; it appears when the rank starts.

        Raises NoSuchRunError, also for a rank that the run does not have.
        """
        self._make_folder()
        row = self._store.row(run)
        if row is None:
            raise _no_such(run)
        with self._sound(row):
            ranks = Launch.from_json(row.launch).ranks
        if not 0 <= rank < ranks:
            message = f"`{run}` has no rank {rank}"
            raise NoSuchRunError(message, remedy=f"its ranks are 0 to {ranks - 1}")
        return self._places.log(run, rank)

    def _insert(self, request: RunRequest, launch: Launch) -> None:
        """Record the run, or find it recorded. Of two processes at once, one inserts."""
        fingerprint = request.payload.fingerprint
        row = Row(
            run=request.run,
            fingerprint=fingerprint,
            launch=launch.to_json(),
            record=request.record.decode(),
            tags=json.dumps(dict(request.tags), sort_keys=True),
            display_name=request.display_name,
            description=request.description,
            state=NOT_STARTED,
            reason="",
            created_at=self._now().isoformat(),
        )
        if self._store.insert(row):
            return
        there = self._store.row(request.run)
        if there is None or there.fingerprint != fingerprint:
            # The words are Azure ML's (MicrosoftDocs/azure-docs#122250).
            message = (
                f"a job with the name `{request.run}` already exists, and what it runs cannot be"
                " changed; only description, tags, displayName, properties and isArchived can"
            )
            raise NameTakenError(message, remedy="use a different name, or change `tags.rerun`")

    def _make_run_folders(self, run: RunName) -> None:
        """Before the run is recorded: what cannot be started must not be remembered as run."""
        try:
            make_private(self._places.work(run))
            make_private(self._places.supervisor_log(run).parent)
        except OSError as error:
            message = f"the folder of `{run}` cannot be made: {error.strerror}"
            remedy = f"look at `{error.filename}`, then submit again"
            raise ActionFailedError(message, remedy=remedy) from error

    def _start(self, run: RunName) -> None:
        """Start a supervisor. One that comes second finds the run claimed, and leaves."""
        log = self._places.supervisor_log(run)
        package = Path(next(iter(controller.__path__))).parent
        # -S: a supervisor needs no installed package, and starts twice as fast without.
        command = (sys.executable, "-S", "-P", "-m", "controller.adapters.local_run")
        try:
            with log.open("ab") as out:
                subprocess.run(
                    (*command, str(self._places.state_dir), run),
                    cwd=self._places.state_dir,
                    env={"PATH": os.defpath, "PYTHONPATH": str(package)},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    timeout=_SPAWN_SECONDS,
                    check=True,
                )
        except (OSError, subprocess.SubprocessError) as error:
            message = f"the supervisor of `{run}` could not be started: {error}"
            raise ActionFailedError(message, remedy=f"see `{log}`, then submit again") from error

    def _told(self, row: Row) -> ObservedRun:
        with self._sound(row):
            return _observed(self._seen(row))

    @contextmanager
    def _sound(self, row: Row) -> Iterator[None]:
        """Say that a row is damaged where reading it fails."""
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            message = f"what the local workspace remembers of `{row.run}` is damaged"
            remedy = f"look at its row in `{self._places.state_dir}/workspace.db`"
            raise UnavailableError(message, remedy=remedy) from error

    def _seen(self, row: Row) -> Row:
        """Return a run as it is, after starting or ending it if nobody watches over it."""
        if row.state == NOT_STARTED:
            age = self._now() - datetime.fromisoformat(row.created_at)
            if timedelta(0) <= age < START_AFTER:
                return row
            try:
                self._start(row.run)
            except ActionFailedError:
                if age >= START_WITHIN:  # before that, whoever looks next tries again
                    reason = f"it could not be started within {START_WITHIN.seconds} s"
                    self._store.finish(row.run, "Failed", reason, self._now(), (NOT_STARTED,))
        elif row.state in SUPERVISED and row.supervisor and not alive(row.supervisor):
            self._end_lost(row)
        else:
            return row
        return self._store.row(row.run) or row

    def _end_lost(self, row: Row) -> None:
        launch = Launch.from_json(row.launch)
        end(self._store.ranks(row.run), marks(launch), launch.grace)
        self._store.lose(row.run, "its supervisor was lost", self._now())

    def _make_folder(self) -> None:
        folder = self._places.state_dir
        try:
            make_private(folder)
            if not (folder / ".gitignore").exists():
                (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            message = f"the state folder `{folder}` cannot be made: {error.strerror}"
            raise UnavailableError(message, remedy="set `ADMIT_STATE_DIR`") from error


def _no_such(run: RunName) -> NoSuchRunError:
    return NoSuchRunError(f"there is no run `{run}`", remedy="`admit status` lists the runs")


def _instant(text: str | None) -> datetime | None:
    """Return a time with its zone. Raises ValueError for one without."""
    at = datetime.fromisoformat(text) if text else None
    if at is not None and at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return at


def _observed(row: Row) -> ObservedRun:
    launch = Launch.from_json(row.launch)
    created, tags = _instant(row.created_at), json.loads(row.tags)
    state: object = row.state  # SQLite keeps whatever was put there
    if created is None or not isinstance(state, str) or not isinstance(tags, dict):
        raise ValueError(row.run)
    if row.preempted not in (0, 1):
        raise ValueError(row.preempted)
    return ObservedRun(
        run=row.run,
        state=row.state,
        fingerprint=row.fingerprint,
        tags=tags,
        nodes=launch.nodes,
        timeout=launch.timeout,
        created_at=created,
        started_at=_instant(row.started_at),
        ended_at=_instant(row.ended_at),
        reason=row.reason if row.state in OVER_STATES or row.state == CANCEL_REQUESTED else "",
        display_name=row.display_name,
        description=row.description,
        preempted=bool(row.preempted),
        record=sha256(row.record.encode()) if row.record else "",
    )

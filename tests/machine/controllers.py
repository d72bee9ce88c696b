"""Controllers that stop before every step outside, so that a test decides what happens in between.

Each runs the production pass in a thread of its own; only one of them ever runs at a time, so that
an interleaving is a list of choices and can be played again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from controller import passes
from controller.documents.payload import RunRequest
from controller.errors import AdmitError, UnavailableError
from controller.evidence.facts import ObservedRun
from controller.ledger.records import MARGIN
from controller.ledger.store import Change, Pages
from controller.values import CommitId, RunName
from tests.machine.repository import FakeWorld

Fault = Literal["", "crash before", "crash after", "no answer", "lost reply", "twice"]
FAULTS: tuple[Fault, ...] = ("", "crash before", "crash after", "no answer", "lost reply", "twice")
WAIT = 60.0

T = TypeVar("T")


class CrashError(BaseException):
    """The process ends here: nothing of it may catch this."""


class Controller:
    """One process that reconciles. `skew` is how wrong its clock is."""

    def __init__(self, world: FakeWorld, skew: timedelta = timedelta()) -> None:
        self.world = world
        self.skew = skew
        self.pending = ""
        """The step that it waits to do; '' when no pass is going on."""
        self.outcome: Any = None
        """What the last pass returned, or the AdmitError it raised, or a crash."""
        self._looked: dict[RunName, ObservedRun | None] = {}
        self._fault: Fault = ""
        self._go = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    def now(self) -> datetime:
        return self.world.now() + self.skew

    def begin(self) -> None:
        """Start a pass, up to its first step."""
        assert not self.pending
        self._looked = {}
        self._thread = threading.Thread(target=self._pass, daemon=True)
        self._thread.start()
        self._until_it_waits()

    def step(self, fault: Fault = "") -> None:
        """Let it do the step that it waits for, as `fault` wants it, up to its next."""
        assert self.pending
        self._fault = fault
        self._go.release()
        self._until_it_waits()

    def finish(self) -> None:
        """Let it do all its steps."""
        for _ in range(10_000):
            if not self.pending:
                return
            self.step()
        raise AssertionError("the pass does not end")

    def _until_it_waits(self) -> None:
        assert self._paused.acquire(timeout=WAIT), "a pass neither waits nor ends"
        if not self.pending and self._thread is not None:
            self._thread.join(WAIT)
        if isinstance(self.outcome, BaseException) and not isinstance(
            self.outcome, AdmitError | CrashError
        ):
            raise self.outcome

    def _pass(self) -> None:
        try:
            self.outcome = passes.reconcile(self.world.seen_by(self))  # type: ignore[arg-type]
        except BaseException as error:  # noqa: BLE001 - it is looked at by the test
            self.outcome = error
        self.pending = ""
        self._paused.release()

    def _outside(self, name: str, do: Callable[[], T]) -> T:
        self.pending = name
        began = self.world.now()
        self._paused.release()
        self._go.acquire()
        if self._fault == "crash before":
            raise CrashError
        # No submission is in flight for longer than the margin: its connection would have ended.
        late = name.startswith("submit") and self.world.now() - began > MARGIN
        if self._fault == "no answer" or late:
            raise UnavailableError("no answer")
        found = do()
        if self._fault == "crash after":
            raise CrashError
        if self._fault == "lost reply":
            raise UnavailableError("the reply was lost")
        if self._fault == "twice":
            self._again(do)
        return found

    @staticmethod
    def _again(do: Callable[[], Any]) -> None:
        with suppress(AdmitError):
            do()

    # What the pass sees as its ledger and its workspace.

    @property
    def place(self) -> str:
        return "`admit-ledger`"

    def read(self, wanted: Callable[[str], bool], at: CommitId | None = None) -> Pages:
        return self._outside("read the ledger", lambda: self.world.ledger.read(wanted, at))

    def append(
        self, changes: Sequence[Change], *, after: CommitId | None, at: datetime
    ) -> CommitId:
        self._looked = {}
        return self._outside(
            "append: " + "; ".join(change.title for change in changes),
            lambda: self.world.ledger.append(changes, after=after, at=at),
        )

    @property
    def id(self) -> str:
        return self.world.workspace.id

    def get(self, run: RunName) -> ObservedRun | None:
        found = self._outside(f"get {run}", lambda: self.world.workspace.get(run))
        self._looked[run] = found
        return found

    def submit(self, request: RunRequest) -> None:
        assert request.run in self._looked, "nobody looked before this was written"
        assert self._looked[request.run] is None, "it was there, and was written all the same"
        self._outside(f"submit {request.run}", lambda: self.world.start(request))

    def cancel(self, run: RunName, reason: str) -> None:
        self._outside(f"cancel {run}", lambda: self.world.workspace.cancel(run, reason))

"""Small stateful stand-ins. Each passes the conformance suite of what it stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from controller.documents.kinds.command import command_job
from controller.documents.payload import RunRequest
from controller.errors import ActionFailedError, UnavailableError
from controller.evidence.facts import ObservedRun, Phase
from controller.values import RunName, sha256


class FakeWorkspace:
    """A workspace in memory. Runs start at once, and end when the test says so."""

    def __init__(self, now: Callable[[], datetime], id_: str = "fake") -> None:
        self._now = now
        self._runs: dict[RunName, ObservedRun] = {}
        self.id = id_
        self.started: list[RunRequest] = []
        """Every request that started a run, in order."""
        self.outage = ""
        """Why nothing can be asked or done; '' when all is well."""
        self.asked: list[RunName] = []
        """Every run that was asked for by its name, in order."""
        self.listed = 0
        """So often all runs were asked for."""

    def get(self, run: RunName) -> ObservedRun | None:
        self.asked.append(run)
        self._reach()
        return self._runs.get(run)

    def runs(self) -> tuple[ObservedRun, ...]:
        self.listed += 1
        self._reach()
        return tuple(self._runs[run] for run in sorted(self._runs))

    def submit(self, request: RunRequest) -> None:
        self._reach()
        fingerprint = request.payload.fingerprint
        if (there := self._runs.get(request.run)) is not None:
            if there.fingerprint != fingerprint:
                raise ActionFailedError(f"a job with the name `{request.run}` already exists")
            return
        job = command_job(request.payload.body)
        self.started.append(request)
        self._runs[request.run] = ObservedRun(
            run=request.run,
            state="Running",
            fingerprint=fingerprint,
            tags=dict(request.tags),
            nodes=job.nodes,
            timeout=job.timeout,
            created_at=self._now(),
            started_at=self._now(),
            display_name=request.display_name,
            description=request.description,
            record=sha256(request.record) if request.record else "",
        )

    def cancel(self, run: RunName, reason: str) -> None:
        self._reach()
        there = self._runs.get(run)
        if there is None:
            raise ActionFailedError(f"there is no run `{run}`")
        if there.phase is Phase.ACTIVE and there.state != "CancelRequested":
            self._runs[run] = replace(there, state="CancelRequested", reason=reason)

    def end(
        self,
        run: RunName,
        state: str = "Completed",
        reason: str = "",
        *,
        preempted: bool = False,
    ) -> None:
        """Let an active run end; one whose cancellation was asked for is then Canceled."""
        there = self._runs[run]
        if there.state == "CancelRequested":
            state, reason, preempted = "Canceled", there.reason, False
        self._runs[run] = replace(
            there, state=state, reason=reason, ended_at=self._now(), preempted=preempted
        )

    def observe(self, run: ObservedRun) -> None:
        """Put a run there, or change it, as somebody else would."""
        self._runs[run.run] = run

    def _reach(self) -> None:
        if self.outage:
            raise UnavailableError(self.outage)

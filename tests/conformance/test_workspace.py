"""What every workspace does, whatever runs it: the fake keeps to it as the real ones do."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from controller.adapters.local import LocalWorkspace
from controller.adapters.local_store import Store
from controller.documents.payload import RunRequest
from controller.errors import ActionFailedError
from controller.evidence.facts import ObservedRun, Phase
from controller.values import RunName, sha256
from tests.adapters.local_requests import request
from tests.adapters.scratch import NOON, eventually
from tests.fakes import FakeWorkspace

RUN = RunName("tiny-1")
RECORD = '{"why":"für alle"}\n'.encode()


class Workspace(Protocol):
    """What the stages ask of a workspace, all of it."""

    @property
    def id(self) -> str: ...
    def get(self, run: RunName) -> ObservedRun | None: ...
    def runs(self) -> Sequence[ObservedRun]: ...
    def submit(self, request: RunRequest) -> None: ...
    def cancel(self, run: RunName, reason: str) -> None: ...


class Subject:
    """A workspace, a job that runs until it is let go, the way to let it, and to take it away."""

    def __init__(
        self,
        workspace: Workspace,
        command: str,
        let_go: Callable[[], None],
        take_away: Callable[[], None],
    ) -> None:
        self.workspace = workspace
        self.let_go = let_go
        self.take_away = take_away
        tags = {"admission": "a", "admit.name": "tiny"}
        self.asked = request(command=command, nodes=2, tags=tags, record=RECORD)

    def seen(self) -> ObservedRun:
        found = self.workspace.get(RUN)
        assert found is not None
        return found

    def started(self) -> None:
        self.workspace.submit(self.asked)
        eventually(lambda: self.seen().state == "Running")

    def over(self) -> ObservedRun:
        self.let_go()
        eventually(lambda: self.seen().phase is Phase.OVER)
        return self.seen()


def fake(_: Path) -> Subject:
    workspace = FakeWorkspace(lambda: NOON)

    def let_go() -> None:
        for run in workspace.runs():
            if run.phase is Phase.ACTIVE:
                workspace.end(run.run)

    def take_away() -> None:
        workspace.end(RUN, "Failed", "its machine was taken away", preempted=True)

    return Subject(workspace, "true", let_go, take_away)


def local(folder: Path) -> Subject:
    gate = folder / "gate"
    command = f"until [ -e {gate} ]; do sleep 0.05; done"
    workspace = LocalWorkspace(folder / "state", lambda: NOON, grace=0.5)

    def take_away() -> None:
        row = Store(folder / "state").row(RUN)
        assert row is not None
        assert row.supervisor is not None
        with suppress(ProcessLookupError):
            os.kill(row.supervisor.pid, signal.SIGKILL)

    return Subject(workspace, command, gate.touch, take_away)


WORKSPACES = (fake, local)


@pytest.fixture(params=WORKSPACES, ids=lambda make: make.__name__)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    subject: Subject = request.param(tmp_path)
    yield subject
    if subject.workspace.get(RUN) is not None:
        subject.over()


def test_it_has_one_id(subject: Subject) -> None:
    assert subject.workspace.id
    assert subject.workspace.id == subject.workspace.id


def test_a_run_that_was_never_submitted_is_not_there(subject: Subject) -> None:
    assert subject.workspace.get(RUN) is None
    assert list(subject.workspace.runs()) == []


def test_a_submitted_run_is_active_and_carries_what_was_asked(subject: Subject) -> None:
    subject.started()
    run = subject.seen()
    assert run.phase is Phase.ACTIVE
    assert (run.run, run.fingerprint) == (RUN, subject.asked.payload.fingerprint)
    assert (run.tags, run.nodes, run.timeout) == (subject.asked.tags, 2, 120)
    assert run.created_at == NOON
    assert run.started_at is not None
    assert run.started_at.utcoffset() is not None
    assert (run.ended_at, run.reason) == (None, "")
    assert [one.run for one in subject.workspace.runs()] == [RUN]


def test_a_run_that_ends_is_completed(subject: Subject) -> None:
    subject.started()
    run = subject.over()
    assert (run.state, run.reason, run.preempted) == ("Completed", "", False)
    assert run.ended_at is not None


def test_a_run_has_the_digest_of_the_record_it_was_started_with(subject: Subject) -> None:
    subject.started()
    assert subject.seen().record == sha256(RECORD)
    subject.workspace.submit(replace(subject.asked, record=b"another"))
    assert subject.seen().record == sha256(RECORD)
    subject.workspace.submit(request("bare-1"))
    bare = next(run for run in subject.workspace.runs() if run.run == "bare-1")
    assert bare.record == ""
    subject.let_go()
    eventually(lambda: all(run.phase is Phase.OVER for run in subject.workspace.runs()))


def test_a_run_whose_machine_was_taken_away_has_failed_and_is_preempted(subject: Subject) -> None:
    subject.started()
    assert not subject.seen().preempted
    subject.take_away()
    eventually(lambda: subject.seen().phase is Phase.OVER)
    run = subject.seen()
    assert (run.state, run.preempted) == ("Failed", True)
    assert run.reason
    assert run.ended_at is not None
    assert subject.workspace.runs() == (run,)


def test_the_same_payload_again_changes_nothing(subject: Subject) -> None:
    subject.started()
    running = subject.seen()
    subject.workspace.submit(subject.asked)
    assert subject.seen() == running
    assert len(subject.workspace.runs()) == 1
    ended = subject.over()
    subject.workspace.submit(subject.asked)
    assert subject.seen() == ended


def test_another_payload_under_the_name_is_refused(subject: Subject) -> None:
    subject.started()
    other = request(command="echo other")
    with pytest.raises(ActionFailedError, match="already exists"):
        subject.workspace.submit(other)
    assert subject.seen().fingerprint == subject.asked.payload.fingerprint


def test_a_cancelled_run_ends_as_canceled_for_the_first_reason(subject: Subject) -> None:
    subject.started()
    subject.workspace.cancel(RUN, "withdrawn")
    assert subject.seen().state in ("CancelRequested", "Canceled")
    assert subject.seen().reason == "withdrawn"
    subject.workspace.cancel(RUN, "again")
    if not isinstance(subject.workspace, FakeWorkspace):
        eventually(lambda: subject.seen().phase is Phase.OVER)
    run = subject.over()
    assert (run.state, run.reason, run.preempted) == ("Canceled", "withdrawn", False)
    assert run.ended_at is not None


def test_a_cancelled_run_whose_machine_is_taken_away_is_canceled(subject: Subject) -> None:
    subject.started()
    subject.workspace.cancel(RUN, "withdrawn")
    if subject.seen().phase is Phase.ACTIVE:
        subject.take_away()
        eventually(lambda: subject.seen().phase is Phase.OVER)
    run = subject.seen()
    assert (run.state, run.preempted) == ("Canceled", False)
    assert run.reason.startswith("withdrawn")


def test_cancelling_what_is_over_changes_nothing(subject: Subject) -> None:
    subject.started()
    ended = subject.over()
    subject.workspace.cancel(RUN, "too late")
    assert subject.seen() == ended


def test_cancelling_what_is_not_there_fails(subject: Subject) -> None:
    with pytest.raises(ActionFailedError, match="no run `tiny-1`"):
        subject.workspace.cancel(RUN, "why")


def test_runs_come_sorted_by_name(subject: Subject) -> None:
    for name in ("b-1", "a-1", "c-1"):
        subject.workspace.submit(request(name))
    assert [run.run for run in subject.workspace.runs()] == ["a-1", "b-1", "c-1"]
    subject.let_go()
    eventually(lambda: all(run.phase is Phase.OVER for run in subject.workspace.runs()))

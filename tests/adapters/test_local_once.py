from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controller.adapters.local import (
    START_AFTER,
    START_WITHIN,
    LocalWorkspace,
    NameTakenError,
)
from controller.errors import ActionFailedError
from tests.adapters.local_examples import FOREVER, RUN, Local, record_only
from tests.adapters.local_requests import request
from tests.adapters.scratch import NOON, eventually


def test_the_same_payload_again_is_success_without_a_second_start(local: Local) -> None:
    asked = request(command="echo once >> ../../../starts")
    assert local.ran(asked).state == "Completed"
    before = local.seen()
    local.workspace.submit(asked)
    assert local.seen() == before
    assert (local.state / "starts").read_text() == "once\n"


def test_another_payload_under_the_name_is_refused_in_azure_mls_words(local: Local) -> None:
    local.ran(request())
    before = local.seen()
    with pytest.raises(NameTakenError, match=r"`tiny-1` already exists.* only description, tags"):
        local.workspace.submit(request(command="false"))
    assert local.seen() == before


SUBMIT = """
import json, sys
from datetime import datetime, UTC
from pathlib import Path
from controller.adapters.local import LocalWorkspace
from tests.adapters.local_requests import request
workspace = LocalWorkspace(Path(sys.argv[1]), lambda: datetime.now(UTC), grace=0.5)
asked = request(command=sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
workspace.submit(asked)
"""


def submitter(state: Path, command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SUBMIT, state, command],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_of_several_submitters_at_once_one_starts_the_run(local: Local) -> None:
    several = [submitter(local.state, "echo once >> ../../../starts") for _ in range(3)]
    for process in several:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in several:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in several:
        process.communicate(timeout=60)
    assert [process.returncode for process in several] == [0, 0, 0]
    assert local.over().state == "Completed"
    assert (local.state / "starts").read_text() == "once\n"


def test_a_run_goes_on_when_its_submitter_ends(local: Local) -> None:
    process = submitter(local.state, FOREVER)
    process.communicate(b"go\n", timeout=60)
    local.started()  # its rank has begun; that all have is written a moment later
    eventually(lambda: local.seen().state == "Running")
    assert os.getsid(local.supervisor().pid) == local.supervisor().pid


def test_a_run_that_was_recorded_but_not_started_is_started_once_by_the_next_submission(
    local: Local,
) -> None:
    asked = request(command="echo once >> ../../../starts")
    record_only(local, asked)
    assert local.seen().state == "NotStarted"
    for _ in range(2):
        local.workspace.submit(asked)
    assert local.over().state == "Completed"
    assert (local.state / "starts").read_text() == "once\n"


KILLED = (
    """
import os, signal, sys
def kill(event, args):
    if event == "subprocess.Popen":
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill)
"""
    + SUBMIT
)


def test_a_run_whose_submitter_is_killed_before_the_start_runs_once_for_all_who_look(
    local: Local,
) -> None:
    command = [sys.executable, "-c", KILLED, local.state, "echo once >> ../../../starts"]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], input=b"go\n", timeout=60)
    assert killed.returncode == -signal.SIGKILL
    row = local.store.row(RUN)
    assert row is not None
    assert (row.state, row.pid) == ("NotStarted", None)

    def look(_: int) -> None:
        workspace = LocalWorkspace(local.state, lambda: datetime.now(UTC), grace=0.5)
        eventually(lambda: (seen := workspace.get(RUN)) is not None and seen.state == "Completed")

    with ThreadPoolExecutor() as several:
        list(several.map(look, range(3)))
    assert (local.state / "starts").read_text() == "once\n"
    (run,) = local.workspace.runs()
    assert (run.state, run.preempted) == ("Completed", False)


def by_name(local: Local) -> None:
    local.workspace.get(RUN)


def by_listing(local: Local) -> None:
    local.workspace.runs()


@pytest.mark.parametrize("look", [by_name, by_listing])
@pytest.mark.parametrize("age", [START_AFTER, START_WITHIN, timedelta(days=2), -START_AFTER])
def test_a_run_that_was_recorded_but_not_started_is_started_by_whoever_looks(
    local: Local, look: Callable[[Local], None], age: timedelta
) -> None:
    record_only(local, request(command="echo once >> ../../../starts"))
    local.clock.time = NOON + age
    look(local)
    local.clock.time = NOON  # from here on looking starts nothing
    assert local.over().state == "Completed"
    assert (local.state / "starts").read_text() == "once\n"


def test_a_submitter_has_a_moment_to_start_what_it_recorded(local: Local) -> None:
    record_only(local, request())
    local.clock.time = NOON + START_AFTER - timedelta(milliseconds=1)
    assert local.seen().state == "NotStarted"
    assert local.workspace.runs()[0].state == "NotStarted"
    assert not (local.state / f"runs/{RUN}/logs/supervisor.txt").exists()


def test_a_run_that_nobody_could_start_has_failed_after_a_while(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_only(local, request())
    monkeypatch.setattr(sys, "executable", "/bin/false")
    local.clock.time = NOON + START_WITHIN - timedelta(seconds=1)
    assert local.seen().state == "NotStarted"
    local.clock.time = NOON + START_WITHIN
    (run,) = local.workspace.runs()
    assert (run.state, run.reason) == (
        "Failed",
        "it could not be started within 60 s",
    )
    assert (run.ended_at, run.preempted) == (local.clock.time, False)


def test_a_second_supervisor_leaves_the_run_alone(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    first = local.supervisor()
    local.workspace._start(RUN)
    assert local.supervisor() == first
    assert local.log() == "started\n"


def test_a_supervisor_that_cannot_be_started_can_be_started_later(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ActionFailedError, match="supervisor of `tiny-1` could not be started"):
        local.workspace.submit(request())
    assert local.seen().state == "NotStarted"
    monkeypatch.undo()
    assert local.ran(request()).state == "Completed"

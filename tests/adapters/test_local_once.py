from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from controller.adapters.local import (
    START_WITHIN,
    NameTakenError,
)
from controller.errors import ActionFailedError
from tests.adapters.local_examples import FOREVER, RUN, Local, record_only
from tests.adapters.local_requests import request
from tests.adapters.scratch import NOON


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
    local.started()
    assert local.seen().state == "Running"
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


def test_a_run_that_nobody_started_has_failed_after_a_while(local: Local) -> None:
    record_only(local, request())
    local.clock.time = NOON + START_WITHIN - timedelta(seconds=1)
    assert local.seen().state == "NotStarted"
    local.clock.time = NOON + START_WITHIN
    (run,) = local.workspace.runs()
    assert (run.state, run.reason) == ("Failed", "it was not started: its submitter ended before")
    assert run.ended_at == local.clock.time


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

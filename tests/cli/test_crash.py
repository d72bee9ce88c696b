"""A controller that is killed between any two steps: the next pass finishes the same work, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.ledger.book import read_book, wanted
from controller.ledger.records import RunRecord
from controller.wiring import world_from
from tests.adapters.scratch import eventually
from tests.cli.conftest import Scratch
from tests.cli.test_flow import in_days, merge, stop

PROGRAM = """
import os, signal, sys
from controller.adapters.ledger_git import GitLedger
from controller.adapters.local import LocalWorkspace
from controller.cli import main

owner, name, when, nth = sys.argv[1:5]
owner = {"ledger": GitLedger, "workspace": LocalWorkspace}[owner]
real, calls = getattr(owner, name), []

def deadly(*args, **more):
    calls.append(name)
    last = len(calls) == int(nth)
    if last and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    found = real(*args, **more)
    if last:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

setattr(owner, name, deadly)
sys.exit(main(sys.argv[5:]))
"""
STEPS = [
    ("ledger", "read", 1),
    ("workspace", "get", 1),
    ("ledger", "append", 1),
    ("workspace", "get", 2),
    ("workspace", "submit", 1),
    ("workspace", "_insert", 1),
    ("workspace", "_start", 1),
    ("ledger", "append", 2),
]


@pytest.fixture
def merged(scratch: Scratch, admission: Callable[[str], str], tmp_path: Path) -> Scratch:
    """A main that asks for a run, which writes one line to a file when it starts."""
    scratch.git("switch", "--quiet", "-c", "proposal")
    scratch.write("admissions/digits.md", admission(in_days(30)))
    scratch.job("digits", f"[ $RANK != 0 ] || echo started >> {tmp_path}/started; sleep 60")
    scratch.commit("admit digits")
    scratch.approve("admissions/digits.md", "jobs/digits.yml")
    merge(scratch, "proposal")
    return scratch


def killed(scratch: Scratch, *step: str) -> None:
    """Make a pass that ends by SIGKILL at a step."""
    command = [sys.executable, "-c", PROGRAM, *step, "--repo", str(scratch.root), "reconcile"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


def record(scratch: Scratch) -> RunRecord:
    book = read_book(world_from(os.environ, scratch.root).ledger.read(wanted))
    (found,) = book.records.values()
    return found


def started(folder: Path) -> int:
    file = folder / "started"
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("owner", "name", "nth"), STEPS)
def test_a_pass_that_is_killed_at_a_step_is_finished_by_the_next_and_the_run_starts_once(
    merged: Scratch, tmp_path: Path, owner: str, name: str, nth: int, when: str
) -> None:
    killed(merged, owner, name, when, str(nth))
    assert merged.admit("reconcile") == 0, merged.out + merged.err
    world = world_from(os.environ, merged.root)
    # Whoever looks at a run that was recorded, and whose submitter died, starts it.
    eventually(lambda: bool(world.workspace.runs()) and started(tmp_path) == 1)
    assert merged.admit("reconcile") == 0, merged.out + merged.err
    assert record(merged).stage == "submitted"
    assert len(record(merged).generations) == 1
    assert [run.run for run in world.workspace.runs()] == [record(merged).run]
    stop(merged)
    assert started(tmp_path) == 1
    assert merged.admit("ledger", "fsck") == 0, merged.out + merged.err


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("owner", "name"), [("workspace", "cancel"), ("ledger", "append")])
def test_a_cancellation_that_is_killed_is_finished_by_the_next_pass(
    merged: Scratch, owner: str, name: str, when: str
) -> None:
    assert merged.admit("reconcile") == 0
    merged.until("Running")
    merged.git("rm", "--quiet", "jobs/digits.yml")
    merged.commit("withdraw")
    merged.approve("jobs/digits.yml")
    killed(merged, owner, name, when, "1")
    assert merged.admit("reconcile") == 0, merged.out + merged.err
    merged.until("Canceled")
    assert merged.admit("reconcile") == 0
    end = record(merged)
    assert end.settled
    assert end.attempt.over is not None
    assert end.attempt.over.state == "Canceled"
    assert merged.admit("status", "--format", "json") == 0
    assert [run["run"] for run in json.loads(merged.out)["runs"]] == [end.run]
    assert merged.admit("ledger", "fsck") == 0, merged.out + merged.err

from __future__ import annotations

import os
import signal
import sqlite3
from datetime import timedelta

import pytest

from controller.adapters.local import (
    NoSuchRunError,
)
from controller.adapters.local_process import alive, identified
from tests.adapters.local_examples import FOREVER, RUN, Local, gone, record_only
from tests.adapters.local_requests import request
from tests.adapters.scratch import NOON, eventually


def test_a_cancelled_run_ends_with_all_its_processes(local: Local) -> None:
    # The first child leaves its process group, the second ignores SIGTERM.
    command = (
        "setsid sleep 1000 & echo $!; (trap '' TERM; while :; do sleep 0.05; done) & echo $!; "
        + FOREVER
    )
    local.workspace.submit(request(command=command, nodes=2))
    local.started(0)
    local.started(1)
    pids = [int(word) for rank in (0, 1) for word in local.log(rank).split() if word.isdigit()]
    assert len(pids) == 4
    assert not any(gone(pid) for pid in pids)
    local.workspace.cancel(RUN, "withdrawn")
    assert local.seen().state in ("CancelRequested", "Canceled")
    run = local.over()
    assert (run.state, run.reason) == ("Canceled", "withdrawn")
    assert all(gone(pid) for pid in pids)
    assert "asked" in local.log()
    eventually(lambda: not alive(local.supervisor()))


def test_cancelling_again_keeps_the_first_reason_and_what_is_over_stays(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    local.workspace.cancel(RUN, "first")
    local.workspace.cancel(RUN, "second")
    assert local.over().reason == "first"
    before = local.seen()
    local.workspace.cancel(RUN, "third")
    assert local.seen() == before


def test_a_run_that_was_not_started_is_cancelled_at_once(local: Local) -> None:
    asked = request(command="echo once >> ../../../starts")
    record_only(local, asked)
    local.workspace.cancel(RUN, "withdrawn")
    assert (local.seen().state, local.seen().ended_at) == ("Canceled", NOON)
    local.workspace.submit(asked)
    assert local.seen().state == "Canceled"
    assert not (local.state / "starts").exists()


def test_a_run_that_is_not_there_is_named(local: Local) -> None:
    assert local.workspace.get(RUN) is None
    with pytest.raises(NoSuchRunError, match="no run `tiny-1`"):
        local.workspace.cancel(RUN, "why")
    with pytest.raises(NoSuchRunError, match="no run `tiny-1`"):
        local.workspace.logs(RUN)


def test_the_time_limit_ends_the_whole_run(local: Local) -> None:
    command = f"sleep 1000 & echo $!; {FOREVER}"
    run = local.ran(request(command=command, timeout=1))
    assert (run.state, run.reason) == ("Failed", "time limit of 1 s")
    assert run.started_at is not None
    assert run.ended_at is not None
    assert run.ended_at - run.started_at >= timedelta(seconds=1)
    assert gone(int(local.log().split()[0]))


def test_what_a_finished_rank_leaves_behind_is_ended(local: Local) -> None:
    printed = local.printed("sleep 1000 & echo $!")
    assert gone(int(printed))


def test_a_supervisor_that_is_killed_is_noticed_and_its_processes_are_ended(local: Local) -> None:
    command = f"setsid sleep 1000 & echo $!; {FOREVER}"
    local.workspace.submit(request(command=command, nodes=2))
    local.started(0)
    local.started(1)
    pids = [process.pid for process in local.store.ranks(RUN)]
    pids += [int(local.log(rank).split()[0]) for rank in (0, 1)]
    os.kill(local.supervisor().pid, signal.SIGKILL)
    eventually(lambda: not alive(local.supervisor()))
    local.clock.time = NOON + timedelta(hours=1)
    run = local.seen()
    assert (run.state, run.reason) == ("Failed", "its supervisor was lost")
    assert run.ended_at == local.clock.time
    assert all(gone(pid) for pid in pids)


def test_a_cancelled_run_without_a_supervisor_is_ended_by_who_cancels(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    os.kill(local.supervisor().pid, signal.SIGKILL)
    eventually(lambda: not alive(local.supervisor()))
    local.workspace.cancel(RUN, "withdrawn")
    assert local.seen().state == "Canceled"
    assert local.seen().reason == "withdrawn; its supervisor was lost"
    assert all(gone(process.pid) for process in local.store.ranks(RUN))


def test_after_a_boot_the_same_number_is_another_process(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    real = local.supervisor()
    os.kill(real.pid, signal.SIGSTOP)  # it would see its rank end, and say so first
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("UPDATE runs SET pid = ?, pid_started = 'before the boot'", (os.getpid(),))
        db.execute("UPDATE ranks SET pid = ?, pid_started = 'before the boot'", (os.getpid(),))
    assert local.seen().reason == "its supervisor was lost"
    assert identified(os.getpid()) is not None
    os.kill(real.pid, signal.SIGKILL)
    eventually(lambda: not alive(real))


def test_a_supervisor_that_is_told_to_stop_ends_its_run(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    os.kill(local.supervisor().pid, signal.SIGTERM)
    run = local.over()
    assert (run.state, run.reason) == ("Failed", "its supervisor was told to stop (SIGTERM)")


def test_a_shell_that_cannot_be_started_fails_the_run(local: Local) -> None:
    run = local.ran(request(command="echo " + "x" * 3_000_000))
    assert run.state == "Failed"
    assert "its supervisor failed: [Errno 7] Argument list too long" in run.reason
    log = local.state / f"runs/{RUN}/logs/supervisor.txt"
    assert "Traceback" in log.read_text()


def test_the_supervisor_says_what_it_did(local: Local) -> None:
    local.ran(request(command="exit 2"))
    log = (local.state / f"runs/{RUN}/logs/supervisor.txt").read_text().splitlines()
    assert [" ".join(line.split()[1:]) for line in log] == [
        f"rank 0 is process {local.store.ranks(RUN)[0].pid}",
        "tiny-1 is Failed: rank 0 exited with 2",
    ]

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from datetime import timedelta

import pytest

from controller.adapters.local import (
    NoSuchRunError,
)
from controller.adapters.local_launch import Launch
from controller.adapters.local_process import Process, alive, identified
from controller.adapters.local_run import Ending, _watched
from controller.adapters.local_store import SUPERVISED
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
    assert (run.state, run.reason, run.preempted) == ("Failed", "time limit of 1 s", False)
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
    assert (run.state, run.reason, run.preempted) == ("Failed", "its supervisor was lost", True)
    assert run.ended_at == local.clock.time
    assert all(gone(pid) for pid in pids)


def test_a_cancelled_run_without_a_supervisor_is_ended_by_who_cancels(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    os.kill(local.supervisor().pid, signal.SIGKILL)
    eventually(lambda: not alive(local.supervisor()))
    local.workspace.cancel(RUN, "withdrawn")
    assert (local.seen().state, local.seen().preempted) == ("Canceled", False)
    assert local.seen().reason == "withdrawn; its supervisor was lost"
    assert all(gone(process.pid) for process in local.store.ranks(RUN))


def test_after_a_boot_the_same_number_is_another_process(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    real = local.supervisor()
    local.halted()  # it would see its rank end, and say so first
    with sqlite3.connect(local.state / "workspace.db") as db:
        db.execute("UPDATE runs SET pid = ?, pid_started = 'before the boot'", (os.getpid(),))
        db.execute("UPDATE ranks SET pid = ?, pid_started = 'before the boot'", (os.getpid(),))
    assert (local.seen().reason, local.seen().preempted) == ("its supervisor was lost", True)
    assert identified(os.getpid()) is not None
    os.kill(real.pid, signal.SIGKILL)
    eventually(lambda: not alive(real))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_supervisor_that_is_told_to_stop_ends_its_run(
    local: Local, number: signal.Signals
) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    os.kill(local.supervisor().pid, number)
    run = local.over()
    reason = f"its supervisor was told to stop ({number.name})"
    assert (run.state, run.reason, run.preempted) == ("Failed", reason, True)
    assert "asked" in local.log()


def test_a_shutdown_that_a_rank_obeys_first_is_no_failure_of_the_rank(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    supervisor = local.halted()
    (rank,) = local.store.ranks(RUN)
    os.kill(rank.pid, signal.SIGTERM)
    eventually(lambda: gone(rank.pid))
    os.kill(supervisor, signal.SIGTERM)
    os.kill(supervisor, signal.SIGCONT)
    run = local.over()
    reason = "its supervisor was told to stop (SIGTERM)"
    assert (run.state, run.reason, run.preempted) == ("Failed", reason, True)


def test_a_supervisor_that_hears_of_a_shutdown_after_its_rank_waits_for_it() -> None:
    with subprocess.Popen(["false"]) as rank:
        rank.wait()
    launch = Launch(RUN, "false", {}, (), (), {}, 1, 1, False, None, 0.5)
    heard = time.monotonic() + 0.05
    told = Ending("Failed", "told", preempted=True)
    assert _watched([rank], launch, lambda: told if time.monotonic() > heard else None) == told
    canceled = Ending("Canceled", "withdrawn")
    failed = Ending("Failed", "rank 0 exited with 1")
    assert _watched([rank], launch, lambda: canceled) == failed


def test_a_run_that_was_cancelled_before_the_shutdown_is_canceled(local: Local) -> None:
    local.workspace.submit(request(command=FOREVER))
    local.started()
    supervisor = local.halted()
    local.workspace.cancel(RUN, "withdrawn")
    os.kill(supervisor, signal.SIGTERM)
    os.kill(supervisor, signal.SIGCONT)
    run = local.over()
    assert (run.state, run.preempted) == ("Canceled", False)
    assert run.reason.partition(";")[0] == "withdrawn"


def test_a_run_is_lost_but_where_its_cancellation_was_asked_for_or_it_is_over(
    local: Local,
) -> None:
    own, later = Process(1, "nobody's"), NOON + timedelta(hours=1)
    for run in ("lost-1", "asked-1", "over-1", "waiting-1"):
        record_only(local, request(run))
    for run in ("lost-1", "asked-1", "over-1"):
        assert local.store.claim(run, own)
    local.store.request_cancel("asked-1", "withdrawn")
    local.store.finish("over-1", "Failed", "rank 0 exited with 1", NOON, SUPERVISED)
    for run in ("lost-1", "asked-1", "over-1", "waiting-1"):
        local.store.lose(run, "told to stop", later)
    assert [(r.state, r.reason, r.preempted, r.ended_at) for r in local.workspace.runs()] == [
        ("Canceled", "withdrawn; told to stop", False, later),
        ("Failed", "told to stop", True, later),
        ("Failed", "rank 0 exited with 1", False, NOON),
        ("NotStarted", "", False, None),
    ]


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

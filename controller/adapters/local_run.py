"""The supervisor of one local run: `python -m controller.adapters.local_run STATE RUN`.

It leaves the process that starts it at once, claims the run (of two supervisors one succeeds),
starts its ranks, watches them, and ends them all: when one fails, when the time limit is over,
when a cancellation is asked for, and when it is told to stop itself. Only the standard library
and small modules are imported, so that it starts fast.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from controller.adapters.local_launch import (
    Launch,
    MissingDataError,
    free_port,
    prepared,
    rank_environment,
)
from controller.adapters.local_places import Places, make_private
from controller.adapters.local_process import Process, end, identified
from controller.adapters.local_store import CANCEL_REQUESTED, SUPERVISED, Store
from controller.errors import UnavailableError

_TICK = 0.1


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, in Azure ML's words, and why."""

    state: str
    reason: str
    preempted: bool = False
    """The machine was taken away."""


def main(state: str, run: str) -> None:
    """Supervise one run, detached from whoever called; return at once in the caller."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.umask(0o077)
    own = identified(os.getpid())
    store = Store(Path(state))
    if own is not None and store.claim(run, own):
        _supervise(store, Places(Path(state)), run)


def _supervise(store: Store, places: Places, run: str) -> None:
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: told.append(received))
    # A handler, for what is ignored would be ignored by the ranks too.
    signal.signal(signal.SIGHUP, lambda *_: None)
    row = store.row(run)
    if row is None:
        return
    places.record(run).write_text(row.record, encoding="utf-8")
    launch = Launch.from_json(row.launch)
    leaders: list[Process] = []
    ending = Ending("Failed", "its supervisor was interrupted")
    try:
        command = prepared(launch, make_private)
        store.launching(run, datetime.now(UTC))
        ranks = _started(launch, places, command, lambda pid: _noted(store, run, pid, leaders))
        store.running(run, datetime.now(UTC))
        ending = _watched(ranks, launch, lambda: _asked(store, run, told))
    except MissingDataError as error:
        ending = Ending("Failed", str(error))
    except Exception as error:  # noqa: BLE001 - whatever it was, the run has to say so
        traceback.print_exc()
        ending = Ending("Failed", f"its supervisor failed: {error}")
    finally:
        say(f"{run} is {ending.state}: {ending.reason or 'all ranks succeeded'}")
        end(leaders, marks(launch), launch.grace)
        if ending.preempted:
            store.lose(run, ending.reason, datetime.now(UTC))
        else:
            store.finish(run, ending.state, ending.reason, datetime.now(UTC), SUPERVISED)


def marks(launch: Launch) -> frozenset[bytes]:
    """Return the entries of the environment that tell the processes of this run."""
    names = ("AZUREML_RUN_ID", "AZUREML_WORKSPACE_ID")
    return frozenset(f"{name}={launch.environment[name]}".encode() for name in names)


def say(message: str) -> None:
    """Write a line to the supervisor's log."""
    sys.stderr.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {message}\n")
    sys.stderr.flush()


def _started(
    launch: Launch, places: Places, command: str, note: Callable[[int], None]
) -> list[subprocess.Popen[bytes]]:
    """Start every rank, each with its log and at the head of its own process group."""
    port = free_port() if launch.distributed else 0
    ranks = []
    with ExitStack() as stack:
        for rank in range(launch.ranks):
            log = stack.enter_context(places.log(launch.run, rank).open("ab"))
            process = subprocess.Popen(
                ("/bin/sh", "-c", command),
                cwd=places.work(launch.run),
                env=rank_environment(launch, rank, port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            note(process.pid)
            ranks.append(process)
            say(f"rank {rank} is process {process.pid}")
    return ranks


def _noted(store: Store, run: str, pid: int, leaders: list[Process]) -> None:
    # What has ended already has no start any more, but its group may have members.
    process = identified(pid) or Process(pid, "")
    leaders.append(process)
    store.add_rank(run, len(leaders) - 1, process)


def _asked(store: Store, run: str, told: Sequence[int]) -> Ending | None:
    """Return how the run is to end because somebody asked for it."""
    if told:
        name = signal.Signals(told[0]).name
        return Ending("Failed", f"its supervisor was told to stop ({name})", preempted=True)
    try:
        row = store.row(run)
    except UnavailableError as error:  # a run does not end for want of an answer
        say(str(error))
        return None
    if row is not None and row.state == CANCEL_REQUESTED:
        return Ending("Canceled", row.reason)
    return None


def _watched(
    ranks: Sequence[subprocess.Popen[bytes]], launch: Launch, asked: Callable[[], Ending | None]
) -> Ending:
    """Wait until the run is to end, and return how."""
    deadline = time.monotonic() + launch.timeout if launch.timeout else None
    while True:
        codes = [process.poll() for process in ranks]
        failed = next((rank for rank, code in enumerate(codes) if code), None)
        if failed is not None:
            time.sleep(_TICK)  # a shutdown tells ranks and supervisor at once, in any order
            if (ending := asked()) is not None and ending.preempted:
                return ending
            return Ending("Failed", f"rank {failed} {_described(codes[failed] or 0)}")
        if all(code == 0 for code in codes):
            return Ending("Completed", "")
        if deadline is not None and time.monotonic() >= deadline:
            return Ending("Failed", f"time limit of {launch.timeout} s")
        if (ending := asked()) is not None:
            return ending
        time.sleep(_TICK)


def _described(code: int) -> str:
    if code > 0:
        return f"exited with {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


if __name__ == "__main__":
    main(*sys.argv[1:])

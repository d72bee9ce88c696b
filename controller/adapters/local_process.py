"""Processes of this machine: which one exactly, whether it lives, and ending it with its group."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICK = 0.05


@dataclass(frozen=True, slots=True)
class Process:
    """One process. Its number is used again after it, and after a boot: `started` tells which."""

    pid: int
    started: str


def identified(pid: int) -> Process | None:
    """Return the process of that number; None when there is none or it has ended (a zombie)."""
    started = _started(pid)
    return Process(pid, started) if started else None


def alive(process: Process) -> bool:
    """Whether that very process is still running."""
    return identified(process.pid) == process


def end(leaders: Iterable[Process], marks: frozenset[bytes], grace: float) -> None:
    """End every process group led by one of `leaders`, and every process marked as theirs.

    They are asked with SIGTERM and, `grace` seconds later, made to. `marks` are entries of the
    environment: with all of them a process is a descendant, whatever group it is in (Linux only).
    """
    groups = frozenset(process.pid for process in leaders if _ours(process))
    _signal(groups, marks, signal.SIGTERM)
    _wait(lambda: not _members(groups, marks), grace)
    for _ in range(20):  # what is being forked while it is being killed needs another turn
        if not _members(groups, marks):
            return
        _signal(groups, marks, signal.SIGKILL)
        _wait(lambda: not _members(groups, marks), 0.5)


def _ours(process: Process) -> bool:
    """Whether the group of that number is still the one that `process` led.

    The number is not given to a new process as long as the group has a member.
    """
    found = identified(process.pid)
    return found is None or found == process


def _signal(groups: frozenset[int], marks: frozenset[bytes], number: signal.Signals) -> None:
    strays = [pid for pid, group in _members(groups, marks) if group not in groups]
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in strays:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _members(groups: frozenset[int], marks: frozenset[bytes]) -> list[tuple[int, int]]:
    """Return the number and group of every living process of these groups, or so marked.

    Without /proc only the groups are known, and are shown as (group, group).
    """
    if not _PROC.is_dir():
        return [(group, group) for group in groups if _exists(group)]
    found = []
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        fields = _stat(int(entry.name))
        # A zombie is over: whether anybody waits for it is not our affair.
        if fields and fields[0] not in "ZX":
            group = int(fields[2])
            if group in groups or _has(entry.name, marks):
                found.append((int(entry.name), group))
    return found


def _exists(group: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(group, os.WNOHANG)
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):  # macOS forbids what only zombies are in
        return False
    return True


def _has(pid: str, marks: frozenset[bytes]) -> bool:
    if not marks:
        return False
    try:
        return marks <= set((_PROC / pid / "environ").read_bytes().split(b"\0"))
    except OSError:
        return False


def _stat(pid: int) -> list[str]:
    """Return the fields of proc(5) `stat` from the state on; [] when there is no such process."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name before it may contain anything


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(_TICK)


def _started(pid: int) -> str:
    """Return when a process began, as a text that no other process of that number shares."""
    if _PROC.is_dir():
        fields = _stat(pid)
        if not fields or fields[0] in "ZX":
            return ""
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{fields[19]}"
    shown = subprocess.run(
        ("ps", "-o", "stat=,lstart=", "-p", str(pid)), capture_output=True, text=True, check=False
    ).stdout.split(None, 1)
    return shown[1].strip() if len(shown) == 2 and "Z" not in shown[0] else ""

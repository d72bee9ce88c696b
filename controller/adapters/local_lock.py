"""One pass at a time over one state folder: two at once could spend the same budget twice."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.errors import CannotRunError, UnavailableError

_POLL = 0.1


@contextmanager
def exclusively(folder: Path, *, seconds: float = 60.0) -> Iterator[None]:
    """Hold the lock of `folder`. The kernel gives it back when the process ends, however it ends.

    Raises CannotRunError when another process still holds it after so many seconds, and
    UnavailableError where nothing can be locked.
    """
    handle = _opened(folder)
    try:
        _lock(handle, folder, time.monotonic() + seconds)
        yield
    finally:
        os.close(handle)


def _opened(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(folder / "pass.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unlockable(folder, error) from error


def _unlockable(folder: Path, error: OSError) -> UnavailableError:
    message = f"`{folder}/pass.lock` cannot be locked: {error.strerror}"
    return UnavailableError(message, remedy="use a state folder on a disk of this machine")


def _lock(handle: int, folder: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise CannotRunError(
                    f"another pass holds `{folder}`", remedy="let it end, then run this again"
                ) from None
            time.sleep(_POLL)
        except OSError as error:
            raise _unlockable(folder, error) from error
        else:
            return

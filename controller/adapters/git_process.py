"""How git is run: bounded, without hooks, pager, replacements or another caller's repository."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import IO, cast

from controller.errors import CannotRunError, UnavailableError, UsageError

SECONDS = 120.0
"""The longest that one git process may take."""

_OPTIONS = (
    "--no-pager",
    "--literal-pathspecs",
    "--no-replace-objects",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
)
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSH_COMMAND")
"""Of git's own variables: how the user reaches git, not which repository another caller meant."""
_KEPT_BEGINNINGS = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_ASKPASS")
_SET = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_GRAFT_FILE": os.devnull,
}


class NotARepositoryError(CannotRunError):
    """The folder is not a work tree that git may read."""


class UnknownRevisionError(UsageError):
    """No commit has that name here."""


class ShallowCloneError(CannotRunError):
    """The clone lacks history, so that nothing can be said about what introduced a file."""


class GitFailedError(UnavailableError):
    """Git ended with an error, or took too long."""


@dataclass
class Pipe:
    """The output of a git process that is fed from another thread."""

    output: BufferedReader
    stopped: bool = field(default=False, init=False)

    def stop(self) -> None:
        """Say that the rest of the output is not needed."""
        self.stopped = True


class Runner:
    """Git in one work tree. Paths go in and out as git's own bytes."""

    def __init__(self, root: Path, *, seconds: float = SECONDS) -> None:
        self._given = root
        self._seconds = seconds

    def run(
        self, *args: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> bytes:
        """Return what `git args` prints. Raises GitFailedError."""
        code, output, said = self.attempt(*args, stdin=stdin, environment=environment)
        if code:
            raise _failed(args, said)
        return output

    def attempt(
        self, *args: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, bytes]:
        """Return the exit code, output and error output of `git args`."""
        return self._finished(args, self.root, stdin, environment or {})

    @contextmanager
    def piped(self, *args: str, lines: Iterable[bytes]) -> Iterator[Pipe]:
        """Run `git args` with `lines` as its input while its output is being read."""
        with tempfile.TemporaryFile() as said:
            process = _spawned(args, self.root, {}, said)
            feeder = threading.Thread(target=_feed, args=(process.stdin, lines), daemon=True)
            watchdog = threading.Timer(self._seconds, _kill, (process,))
            watchdog.daemon = True
            feeder.start()
            watchdog.start()
            pipe = Pipe(cast("BufferedReader", process.stdout))
            completed = False
            try:
                yield pipe
                completed = not pipe.stopped
            finally:
                if not completed:
                    _kill(process)
                code = process.wait()
                watchdog.cancel()
                feeder.join()
                pipe.output.close()
            said.seek(0)
            if completed and code:
                raise _failed(args, said.read(4096))

    @property
    def root(self) -> Path:
        """The top of the work tree."""
        return self._place[2]

    @property
    def shallow(self) -> bool:
        """Whether history is cut off."""
        return self._place[0] == "true"

    @property
    def object_format(self) -> str:
        """`sha1` or `sha256`."""
        return self._place[1]

    @cached_property
    def _place(self) -> tuple[str, str, Path]:
        remedy = "run it in a clone of the repository, or name one with `--repo`"
        if not self._given.is_dir():
            raise NotARepositoryError(f"`{self._given}` is not a folder", remedy=remedy)
        args = ("--is-shallow-repository", "--show-object-format", "--show-toplevel")
        code, output, said = self._finished(("rev-parse", *args), self._given, b"", {})
        if code:
            why = _first_line(said)
            message = f"`{self._given}` cannot be read as a git work tree: {why}"
            raise NotARepositoryError(message, remedy=remedy)
        shallow, form, root = output.split(b"\n", 2)
        return shallow.decode(), form.decode(), Path(os.fsdecode(root.removesuffix(b"\n")))

    def _finished(
        self, args: tuple[str, ...], folder: Path, stdin: bytes, environment: Mapping[str, str]
    ) -> tuple[int, bytes, bytes]:
        process = _spawned(args, folder, environment, subprocess.PIPE)
        try:
            output, said = process.communicate(stdin, timeout=self._seconds)
        except BaseException as error:
            _kill(process)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                message = f"`git {args[0]}` took longer than {self._seconds:g} s"
                raise GitFailedError(message, remedy="try again") from error
            raise
        return process.returncode, output, said


def _spawned(
    args: tuple[str, ...], folder: Path, environment: Mapping[str, str], errors: IO[bytes] | int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            ("git", *_OPTIONS, *args),
            cwd=folder,
            env=_environment(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=1 << 16,
            process_group=0,
        )
    except FileNotFoundError as error:
        raise CannotRunError("git is not installed", remedy="install git 2.30+") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git, and whatever it started: each of them holds the other end of our pipe."""
    if process.returncode is None:  # else its number may be another's by now
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
    }
    return kept | _SET | dict(more)


def _feed(stdin: IO[bytes], lines: Iterable[bytes]) -> None:
    # Whoever reads less than everything ends the process; then the pipe breaks, as it should.
    with suppress(BrokenPipeError, ConnectionResetError), stdin:
        stdin.writelines(lines)


def _failed(args: tuple[str, ...], said: bytes) -> GitFailedError:
    why = _first_line(said) or "it ended without a word, or took too long"
    return GitFailedError(f"`git {args[0]}` failed: {why}", remedy="`git fsck` may say more")


def _first_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return next((line for line in lines if not line.startswith("hint:")), "")

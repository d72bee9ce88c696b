"""How the ledger's commits are written: any number of them, by one git process."""

from __future__ import annotations

import os
import re
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from controller.adapters.git_diffs import diffs_of
from controller.adapters.git_objects import LIMIT
from controller.adapters.git_process import GitFailedError, Runner
from controller.errors import AdmitError, CannotRunError
from controller.ledger.store import Change
from controller.values import CommitId

IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "admit"), ("EMAIL", "admit@admit.invalid"))
}
_SIGNATURE = "admit <admit@admit.invalid>"
_WRITING = "refs/admit/writing/"
_UNTITLED = "untitled"

_QUOTED = re.compile(rb'[\x00-\x1f"\\\x7f]')
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})


def check(changes: Sequence[Change]) -> None:
    """Refuse what cannot be written: no change at all, or a path that git or a clone would refuse.

    Raises ValueError, and CannotRunError when a file is too large to be read again, or a change
    needs one name as a file and as a folder.
    """
    if not changes:
        raise ValueError("there is nothing to append")
    for change in changes:
        folders: set[str] = set()
        for path, content in change.files.items():
            folders.update(folders_of(path))
            if len(content) > LIMIT:
                message = f"`{path}` has more than {LIMIT} bytes, too many for a file of the ledger"
                raise CannotRunError(message, remedy="make what it records smaller")
        for path in change.files:
            if path in folders:
                raise clash(path)


def folders_of(path: str) -> list[str]:
    """Return the folders that a file of the ledger is in. Raises ValueError for a bad path."""
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)
    if bad or b"\0" in os.fsencode(path):
        raise ValueError(f"`{path!r}` is not the path of a file in the ledger")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def clash(path: str) -> CannotRunError:
    """Return the error of a file whose place something else has."""
    message = f"`{path}` cannot be written to the ledger: one name would be a file and a folder"
    return CannotRunError(message, remedy="rename the file in the repository that it stands for")


def title_of(change: Change) -> str:
    """Return the title as it is written: one line, and nothing in it that cannot be seen."""
    seen = _seen(" ".join(change.title.split()))  # line ends first: they are not seen either
    return " ".join(seen.split()) or _UNTITLED


@contextmanager
def written(
    git: Runner, changes: Sequence[Change], after: CommitId | None, at: datetime
) -> Iterator[CommitId]:
    """Write one commit a change on top of `after`, and yield the last of them.

    Inside the block git keeps them; whoever wants them for good points a reference at them.
    Raises GitFailedError, and CannotRunError when one of them would take a file away.
    """
    reference = _WRITING + secrets.token_hex(16)
    stream = _stream(reference, changes, after, at)
    # Where names are told apart without case, git would write `A` into a file named `a`.
    args = ("-c", "core.ignorecase=false", "fast-import", "--quiet", "--done", "--date-format=raw")
    try:
        code, output, said = git.attempt(*args, stdin=stream, environment=IDENTITY)
        commits = [CommitId(name) for name in output.decode("ascii", "replace").split()]
        if code or len(commits) != len(changes):
            why = said.decode("utf-8", "replace").strip().partition("\n")[0]
            message = f"`git fast-import` could not write the commits of the ledger: {why}"
            raise GitFailedError(message, remedy="`git fsck` and `df` may say more; then try again")
        _hold_what_was_asked(git, changes, after, commits)
        yield commits[-1]
    finally:
        with suppress(AdmitError):  # it is only a name too many, and the commits may be published
            git.attempt("update-ref", "--no-deref", "-d", reference, environment=IDENTITY)


def _stream(
    reference: str, changes: Sequence[Change], after: CommitId | None, at: datetime
) -> bytes:
    """Return what git-fast-import(1) reads."""
    who = f"{_SIGNATURE} {int(at.timestamp())} +0000"
    parts = []
    for number, change in enumerate(changes, 1):
        head = f"commit {reference}\nmark :{number}\nauthor {who}\ncommitter {who}\n"
        parts += [head.encode(), *_data(_message(change))]
        if number == 1 and after is not None:
            parts.append(f"from {after}\n".encode())
        for path, content in sorted(change.files.items()):
            quoted = _QUOTED.sub(lambda found: b"\\%03o" % found[0][0], os.fsencode(path))
            parts += [b'M 100644 inline "%s"\n' % quoted, *_data(content)]
        parts.append(b"\n")
    parts += [b"get-mark :%d\n" % number for number in range(1, len(changes) + 1)]
    return b"".join([*parts, b"done\n"])


def _data(content: bytes) -> tuple[bytes, bytes, bytes]:
    return b"data %d\n" % len(content), content, b"\n"


def _message(change: Change) -> bytes:
    body = "\n".join(_seen(line.rstrip()) for line in change.body.splitlines()).strip("\n")
    text = f"{title_of(change)}\n\n{body}\n" if body else f"{title_of(change)}\n"
    return text.encode("utf-8")


def _seen(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c for c in line.replace("\t", " ") if unicodedata.category(c) not in _UNSEEN)


def _hold_what_was_asked(
    git: Runner, changes: Sequence[Change], after: CommitId | None, commits: Sequence[CommitId]
) -> None:
    """Refuse commits that change anything else: a file in the place of a folder removes it."""
    pairs = list(zip(commits, [after, *commits], strict=False))
    for change, (_, made) in zip(changes, list(diffs_of(git, pairs, ())), strict=True):
        for path, blob in made.items():
            if blob is None or path not in change.files:
                raise clash(path)

"""The notes under refs/notes/admit-approvals: read at once, appended with compare-and-swap."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from controller.adapters.git_objects import contents, files_of
from controller.adapters.git_process import GitFailedError, Runner
from controller.documents.snapshot import REGULAR
from controller.errors import ActionFailedError
from controller.values import BlobId, CommitId, RepoPath, canonical_json

LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?(?:_[A-Za-z0-9]{1,40})?\Z")
"""A person on GitHub; the part after `_` is an enterprise's short code."""
REF = "refs/notes/admit-approvals"
_ATTEMPTS = 50
_LONGEST_LINE = 16_384
_KEYS = frozenset({"at", "blob", "commit", "login", "path"})
_FORM = "%Y-%m-%dT%H:%M:%SZ"

Said = tuple[tuple["Note", ...], tuple[str, ...]]
"""The approvals on one commit, and a clause about what else stands there."""


@dataclass(frozen=True, slots=True)
class Note:
    """One approval: `login` approves these bytes (`blob` None: the removal) since `commit`."""

    path: RepoPath
    blob: BlobId | None
    commit: CommitId
    login: str
    at: datetime

    @property
    def line(self) -> bytes:
        """The note as it is kept: canonical JSON, without the newline."""
        return canonical_json(
            {
                "at": self.at.strftime(_FORM),
                "blob": self.blob,
                "commit": self.commit,
                "login": self.login,
                "path": self.path,
            }
        )

    @property
    def source(self) -> str:
        """Where it can be looked up."""
        return f"{REF}:{self.commit}"


class NotesStore:
    """The approvals of one repository."""

    def __init__(self, git: Runner) -> None:
        self._git = git

    def read(self, commits: Collection[CommitId]) -> dict[CommitId, Said]:
        """Return what is noted on each of `commits`. Any bytes may stand there."""
        head = self._head()
        if head is None or not commits:
            return {}
        places: dict[CommitId, list[BlobId]] = {}
        for path, blob in sorted(files_of(self._git, head).items()):
            commit = CommitId(path.replace("/", ""))  # git spreads many notes over folders
            if commit in commits and blob.mode == REGULAR:
                places.setdefault(commit, []).append(blob.sha)
        stored = contents(self._git, (blob for blobs in places.values() for blob in blobs))
        return {
            commit: _said(commit, b"\n".join(stored.get(blob, b"") for blob in blobs))
            for commit, blobs in places.items()
        }

    def append(self, note: Note) -> None:
        """Add one approval, whoever adds others at the same time. Adding it again does nothing.

        Raises ActionFailedError when it loses the race too often.
        """
        for _ in range(_ATTEMPTS):
            head = self._head()
            if self._appended(note, head):
                return
            # Somebody else's note came first: that is progress, so a short wait is enough.
            time.sleep(random.uniform(0, 0.02))  # noqa: S311
        message = f"the approval of `{note.path}` could not be recorded: others kept changing {REF}"
        raise ActionFailedError(message, remedy="try again")

    def _appended(self, note: Note, head: CommitId | None) -> bool:
        """Write the note on top of `head`; False when the reference is no longer there."""
        before = self.read([note.commit]).get(note.commit, ((), ()))[0]
        if any(_same(note, other) for other in before):
            return True
        entries = self._entries(head)
        old = entries.get(note.commit)
        content = self._git.run("cat-file", "blob", old) if old else b""
        if content and not content.endswith(b"\n"):
            content += b"\n"
        blob = self._git.run("hash-object", "-w", "--stdin", stdin=content + note.line + b"\n")
        tree = self._tree(head, note.commit, blob.decode().strip())
        return self._moved(note, head, tree)

    def _entries(self, head: CommitId | None) -> dict[str, BlobId]:
        if head is None:
            return {}
        return {path: blob.sha for path, blob in files_of(self._git, head).items()}

    def _tree(self, head: CommitId | None, name: str, blob: str) -> str:
        """Return the tree of `head` with one more, or another, note at its top."""
        listed = self._git.run("ls-tree", "-z", "--full-tree", head) if head else b""
        kept = [e for e in listed.split(b"\0") if e and e.split(b"\t", 1)[1] != name.encode()]
        entries = [*kept, f"{REGULAR} blob {blob}\t{name}".encode()]
        made = self._git.run("mktree", "-z", stdin=b"".join(entry + b"\0" for entry in entries))
        return made.decode().strip()

    def _moved(self, note: Note, head: CommitId | None, tree: str) -> bool:
        stamp = f"{int(note.at.timestamp())} +0000"
        identity = {
            f"GIT_{role}_{field}": value
            for role in ("AUTHOR", "COMMITTER")
            for field, value in (
                ("NAME", note.login),
                ("EMAIL", f"{note.login}@admit.invalid"),
                ("DATE", stamp),
            )
        }
        message = f"{note.login} approves {note.path}\n".encode("utf-8", "surrogateescape")
        parents = ("-p", head) if head else ()
        args = ("commit-tree", tree, *parents, "-F", "-")
        made = self._git.run(*args, stdin=message, environment=identity).decode().strip()
        nothing = "0" * len(made)
        moved = ("update-ref", "--create-reflog", "-m", "admit approve", REF, made, head or nothing)
        code, _, _ = self._git.attempt(*moved, environment=identity)
        return code == 0

    def _head(self) -> CommitId | None:
        code, output, _ = self._git.attempt("rev-parse", "--verify", "--quiet", f"{REF}^{{commit}}")
        if code == 0:
            return CommitId(output.decode().strip())
        if self._git.attempt("show-ref", "--quiet", "--verify", REF)[0] == 0:
            message = f"{REF} is not a commit"
            raise GitFailedError(message, remedy=f"`git update-ref -d {REF}`, then approve again")
        return None


def _same(one: Note, other: Note) -> bool:
    return (one.path, one.blob, one.commit, one.login.casefold()) == (
        other.path,
        other.blob,
        other.commit,
        other.login.casefold(),
    )


def _said(commit: CommitId, content: bytes) -> Said:
    read = [_note(line) for line in content.split(b"\n") if line]
    notes = tuple(note for note in read if note is not None and note.commit == commit)
    ignored = len(read) - len(notes)
    if not ignored:
        return notes, ()
    lines = "1 line" if ignored == 1 else f"{ignored} lines"
    return notes, (f"{lines} of the note on {commit[:12]} cannot be read as an approval of it",)


def _note(line: bytes) -> Note | None:
    """Return the approval that a line is; None for anything but its one canonical spelling."""
    if len(line) > _LONGEST_LINE:
        return None
    try:
        read = json.loads(line)
        if not isinstance(read, dict) or read.keys() != _KEYS:
            return None
        texts = [read["at"], read["commit"], read["login"], read["path"], read["blob"] or ""]
        if not all(isinstance(text, str) for text in texts) or not LOGIN.match(read["login"]):
            return None
        at = datetime.strptime(read["at"], _FORM).replace(tzinfo=UTC)
        note = Note(read["path"], read["blob"], read["commit"], read["login"], at)
        return note if note.line == line else None
    except (ValueError, RecursionError):
        return None

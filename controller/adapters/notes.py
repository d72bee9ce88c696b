"""The local code host: approvals as git notes, bound to (path, blob, commit).

They are only as trustworthy as write access to the repository. A note stands on the commit that
introduced the bytes (or removed the file) and has one line of canonical JSON an approval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from controller.adapters.git import MAIN, Git
from controller.adapters.git_history import (
    Arrival,
    Start,
    arrivals,
    every_arrival,
    introducing,
    origins,
)
from controller.adapters.git_objects import contents, files_of
from controller.adapters.notes_owners import (
    JUDGES,
    approvable,
    counted,
    objection,
    rule_after,
    rules_before,
)
from controller.adapters.notes_store import LOGIN, Note, NotesStore
from controller.documents.snapshot import joined
from controller.errors import AdmitError, UsageError
from controller.evidence.facts import Answer, Approval, Known, Unavailable, Version
from controller.values import CommitId, RepoPath

_Version = tuple[RepoPath, Arrival]


class ApprovalRefusedError(UsageError):
    """There is nothing here that this login could approve."""


def _now() -> datetime:
    return datetime.now(UTC)


class LocalHost:
    """Approvals kept in `git`, given and read on this machine. `now` stamps the answers.

    `root` is the trusted root: a commit of main's first-parent line that counts as its first.
    Without one it is the only commit that has no parents.
    """

    def __init__(
        self, git: Git, now: Callable[[], datetime] = _now, root: CommitId | None = None
    ) -> None:
        self._git = git
        self._now = now
        self._root = root
        self._store = NotesStore(git.runner)

    def approve(self, path: RepoPath, login: str, at: datetime) -> Note:
        """Record that `login` approves the bytes of `path` at HEAD, or its removal.

        Approving the same twice is one approval. Raises ApprovalRefusedError.
        """
        name = login.removeprefix("@")
        if not LOGIN.match(name):
            remedy = "approve as a person: `--as @login`"
            raise ApprovalRefusedError(f"`{login}` is not a login", remedy=remedy)
        head = self._git.resolve("HEAD")
        arrival = self._committed(path, head)
        start = (path, arrival.commit)
        commit = introducing(self._git.runner, [start], head)[start]
        sha = arrival.blob.sha if arrival.blob else None
        note = Note(path, sha, commit, name, at.astimezone(UTC).replace(microsecond=0))
        self._store.append(note)
        return note

    def counts(self, note: Note) -> str:
        """Return why an approval of HEAD will not count on main as it stands; '' when it will.

        What is on main was judged when it came, what is not yet will be by who owns it now. Raises
        AdmitError where that cannot be told.
        """
        head = self._git.resolve("HEAD")
        _, branch, _ = self._git.runner.attempt("symbolic-ref", "--quiet", "HEAD")
        # Of main itself, what was not pushed yet is on main.
        main = head if branch.decode().strip() == MAIN else self._git.default_base()
        blob = files_of(self._git.runner, head, note.path).get(note.path)
        there = arrivals(self._git.runner, [note.path], main, self._root).get(note.path)
        if there is not None:
            (approval,) = self._judged([(note.path, there)], main)
            if (approval.commit, approval.blob) == (note.commit, note.blob):
                owners = rules_before(self._git, self._store, main, self._root)[there.commit].owners
                return objection(blob, owners, note)
        return objection(blob, rule_after(self._git, self._store, main, self._root).owners, note)

    def approval(self, path: RepoPath, at: CommitId) -> Answer[Approval]:
        """Return who approved the bytes, or the removal, of `path` as it is at a commit."""
        return self.approvals([path], at)[path]

    def approvals(
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> Mapping[RepoPath, Answer[Approval]]:
        """Return the same of many paths, in a fixed number of git processes."""
        asked = list(dict.fromkeys(paths))
        try:
            last = arrivals(self._git.runner, asked, at, self._root)
            known = dict(zip(last, self._judged(last.items(), at), strict=True))
        except AdmitError as error:
            return dict.fromkeys(asked, Unavailable(str(error), self._now()))
        never = Unavailable(f"no commit up to {at[:12]} has it", self._now())
        return {p: Known(known[p], self._now()) if p in known else never for p in asked}

    def versions(self, path: RepoPath, at: CommitId) -> Iterator[Version]:
        """Yield every version of a file that main had up to a commit, newest first.

        The one of the trusted root is the last.
        """
        every = every_arrival(self._git.runner, path, at, self._root)
        there = [(path, arrival) for arrival in every if arrival.blob]
        for approval in self._judged(there, at):
            sha = approval.blob
            content = contents(self._git.runner, [sha]).get(sha) if sha else None
            if content is not None:
                yield Version(content, approval)

    def _judged(self, versions: Iterable[_Version], at: CommitId) -> Iterator[Approval]:
        """Yield what is known of the approval of each version."""
        asked = list(versions)
        starts = self._made(asked, at)
        rules = rules_before(self._git, self._store, at, self._root)
        notes = self._store.read(set(starts.values()))
        for path, arrival in asked:
            commit = starts[path, arrival.commit]
            owners = rules[arrival.commit].owners
            said, broken = notes.get(commit, ((), ()))
            approvers, refused = counted(path, arrival.blob, owners, said)
            yield Approval(
                path,
                blob=arrival.blob.sha if arrival.blob else None,
                commit=commit,
                owners=(owners.of(path) or ()) if owners else (),
                approvers=approvers,
                refused=(*refused, *broken),
                trusted=arrival.before is None and bool(arrival.blob) and approvable(arrival.blob),
            )

    def _made(self, versions: Iterable[_Version], at: CommitId) -> dict[Start, CommitId]:
        """Return the commit that made each arrival, of the root's also where it is older.

        But for those whose bytes are trusted with the root: of them nobody asks who approved.
        """
        starts = [(path, arrival.commit) for path, arrival in versions]
        made = introducing(self._git.runner, starts, at, self._root)
        old = [path for path, commit in starts if commit == self._root and path not in JUDGES]
        if self._root is not None and old:
            older = origins(self._git.runner, old, self._root)
            made |= {(path, self._root): commit for path, commit in older.items()}
        return made

    def _committed(self, path: RepoPath, head: CommitId) -> Arrival:
        """Return what brought `path` to `head` as it lies, or refuse."""
        if not path or not path.isprintable() or joined("", path) != path:
            message = f"{path!a} is not a path that can be approved"
            raise ApprovalRefusedError(message, remedy="name one file")
        status = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        if self._git.runner.run(*status, "--ignore-submodules=all", "--", path):
            message = f"`{path}` differs from HEAD, and an approval is of committed bytes"
            raise ApprovalRefusedError(message, remedy="commit the file, or restore it")
        arrival = arrivals(self._git.runner, [path], head).get(path)
        if arrival is None:
            remedy = "name one file, from the top of the repository"
            message = f"`{path}` is not a file of HEAD and never was"
            raise ApprovalRefusedError(message, remedy=remedy)
        return arrival

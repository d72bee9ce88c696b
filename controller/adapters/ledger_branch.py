"""The head of a branch, here or at a remote, and the one way to move it: compare and swap."""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from controller.adapters.git_process import GitFailedError, Runner
from controller.adapters.ledger_commits import IDENTITY
from controller.errors import CannotRunError, UnavailableError
from controller.values import CommitId

_COPIES = "refs/admit/ledger/"
_TRIES = 2
_FETCH = (
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-filter",
    "--refmap=",
    "--",
)
_PUSH = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
_USER = re.compile(r"(://)\S*@|(?<![^\s'\"`])[^\s@/:'\"`]+@(?=[^\s/:]+:)")
_QUERY = re.compile(r"(://[^\s?]*)\?[^\s'\"]*")


class Branch(Protocol):
    """A branch that the ledger can be kept on."""

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        ...

    def head(self) -> CommitId | None:
        """Return its head; None where there is no such branch.

        Raises UnavailableError where it cannot be asked, CannotRunError where it is no commit.
        """
        ...

    def may_be(self, commit: CommitId) -> bool:
        """Whether the head can still be `commit`, which `head` returned once; else it is not."""
        ...

    def swap(self, new: CommitId, old: CommitId | None) -> str | None:
        """Move the head from `old` (None: no branch) to `new`.

        Returns None when that is done, else git's words: it may have been done all the same.
        """
        ...


class LocalBranch:
    """A branch of this repository."""

    def __init__(self, git: Runner, branch: str) -> None:
        self._git = git
        self._name = f"refs/heads/{branch}"
        self.place = f"`{branch}`"

    def head(self) -> CommitId | None:
        """Return its head; None where there is no such branch. Raises CannotRunError."""
        return _tip(self._git, self._name, self.place)

    def may_be(self, commit: CommitId) -> bool:
        """Whether the head is `commit`."""
        return self.head() == commit

    def swap(self, new: CommitId, old: CommitId | None) -> str | None:
        """Move the head, if it is `old`; else return why not."""
        return _moved(self._git, self._name, new, old or "0" * len(new))


class RemoteBranch:
    """A branch of another repository, with a copy of it here under a name of its own."""

    def __init__(self, git: Runner, branch: str, remote: str) -> None:
        self._git = git
        self._remote = remote
        self._name = f"refs/heads/{branch}"
        self._copy = copy_of(branch, remote)
        self.place = f"`{branch}` at `{without_user(remote)}`"

    def head(self) -> CommitId | None:
        """Fetch the branch and return its head; None where there is none.

        Raises UnavailableError where the remote cannot be asked, CannotRunError for no commit.
        """
        why: str | None = ""
        for _ in range(_TRIES):
            why = _attempted(self._git, *_FETCH, self._remote, f"+{self._name}:{self._copy}")
            if why is None:
                return _tip(self._git, self._copy, self.place)
            # Git says only in words whether the branch or the remote is missing. And it fails
            # when another process of this clone has fetched the same at the same time.
            asked = self._asked()
            if asked is None or asked == _tip(self._git, self._copy, self.place):
                return asked
        message = f"the ledger, {self.place}, cannot be fetched: {why}"
        raise UnavailableError(message, remedy="try again")

    def may_be(self, commit: CommitId) -> bool:
        """Whether the head is `commit`, or was when it was last fetched."""
        return _tip(self._git, self._copy, self.place) == commit or self.head() == commit

    def swap(self, new: CommitId, old: CommitId | None) -> str | None:
        """Push `new`, if the remote's head is `old`; else return why not."""
        lease = f"--force-with-lease={self._name}:{old or ''}"
        why = _attempted(self._git, *_PUSH, lease, "--", self._remote, f"{new}:{self._name}")
        if why is None:
            _moved(self._git, self._copy, new)  # it spares a fetch; the remote is what counts
        return why

    def _asked(self) -> CommitId | None:
        """Return the head as the remote says it, without fetching. Raises UnavailableError."""
        remedy = f"see that `git ls-remote {without_user(self._remote)}` works, then try again"
        try:
            code, output, said = self._git.attempt("ls-remote", "--", self._remote, self._name)
        except GitFailedError as error:
            message = f"the ledger, {self.place}, cannot be asked: {error}"
            raise UnavailableError(message, remedy=remedy) from error
        if code:
            message = f"the ledger, {self.place}, cannot be asked: {_why(output, said)}"
            raise UnavailableError(message, remedy=remedy)
        # The remote matches the end of names: `refs/x/refs/heads/<branch>` is among the answers.
        for line in output.decode("utf-8", "replace").splitlines():
            commit, _, name = line.partition("\t")
            if name == self._name:
                return CommitId(commit)
        return None


class FetchedBranch:
    """A branch of another repository as this clone has it: nothing is fetched or pushed."""

    def __init__(self, git: Runner, branch: str, remote: str) -> None:
        self._git = git
        self._names = (copy_of(branch, remote), f"refs/remotes/{remote}/{branch}")
        self.place = f"`{branch}` as fetched last from `{without_user(remote)}`"

    def head(self) -> CommitId | None:
        """Return the newest head that was fetched, by a pass or by hand; None where none was."""
        newest: CommitId | None = None
        for name in self._names:
            head = _tip(self._git, name, self.place)
            if head is not None and (newest is None or self._follows(head, newest)):
                newest = head
        return newest

    def _follows(self, head: CommitId, other: CommitId) -> bool:
        return self._git.attempt("merge-base", "--is-ancestor", other, head)[0] == 0

    def may_be(self, commit: CommitId) -> bool:
        """Whether that head is `commit`."""
        return self.head() == commit

    def swap(self, new: CommitId, old: CommitId | None) -> str | None:  # noqa: ARG002
        """Return that nothing can be written here."""
        return "it is only a copy"


def copy_of(branch: str, remote: str) -> str:
    """Return where this clone keeps its copy of a branch of a remote.

    By digest: one branch can be a folder of another, and one name must not be both here.
    """
    digest = hashlib.sha256(f"{remote}\0{branch}".encode("utf-8", "surrogateescape"))
    return _COPIES + digest.hexdigest()[:16]


def without_user(text: str) -> str:
    """Return `text` with no user, password or query in the addresses that are in it."""
    return _QUERY.sub(r"\1", _USER.sub(r"\1", text))


def _tip(git: Runner, name: str, place: str) -> CommitId | None:
    """Return the commit that a reference, by its full name, is; None where there is none."""
    form = "--format=%(objectname) %(objecttype) %(refname) %(symref)"
    for line in git.run("for-each-ref", form, name).decode("utf-8", "replace").splitlines():
        commit, kind, found, link = line.split(" ", 3)
        if found != name:
            continue
        if kind != "commit" or link:
            what = f"a link to `{link}`" if link else f"a {kind}, not a commit"
            message = f"the ledger, {place}, cannot be read: the branch is {what}"
            raise CannotRunError(message, remedy="point the branch at the ledger's last commit")
        return CommitId(commit)
    return None


def _moved(git: Runner, name: str, *new_and_old: str) -> str | None:
    return _attempted(git, "update-ref", "--no-deref", "-m", "admit", name, *new_and_old)


def _attempted(git: Runner, *args: str) -> str | None:
    """Return None when git has done it, else why not, in its words."""
    try:
        code, output, said = git.attempt(*args, environment=IDENTITY)
    except GitFailedError as error:
        return str(error)
    return _why(output, said) if code else None


def _why(output: bytes, said: bytes) -> str:
    """Return one line for people: what a push says of its one reference, or git's first word."""
    refused = [line for line in output.decode("utf-8", "replace").splitlines() if line[:1] == "!"]
    if refused:
        return without_user(refused[0].rpartition("\t")[2])
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return without_user(lines[0]) if lines else "git ended without a word"

"""The ledger on a branch of git, of this repository or of a remote: read, appended to, walked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from controller.adapters.git_objects import contents, files_of
from controller.adapters.git_process import Runner
from controller.adapters.ledger_branch import (
    Branch,
    FetchedBranch,
    LocalBranch,
    RemoteBranch,
    without_user,
)
from controller.adapters.ledger_commits import check, written
from controller.adapters.ledger_steps import line_of, steps_of
from controller.documents.snapshot import REGULAR
from controller.errors import AdmitError, CannotRunError, UnavailableError, UsageError
from controller.ledger.store import BRANCH, Change, LostRaceError, MissingLedgerError, Pages, Step
from controller.values import CommitId, nearest

_ORIGIN = "origin"
_NOT_IN_NAMES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|[/.]\Z")


class GitLedger:
    """The ledger on `branch`, of this repository or of `remote`: a name, a path or a URL.

    Whoever can write to the branch may have put anything there: whatever it is, it is returned
    or raises an AdmitError.
    """

    def __init__(
        self, git: Runner, branch: str, remote: str = "", *, offline: bool = False
    ) -> None:
        """With `offline`, a ledger of a remote is what was fetched last, and cannot be written."""
        self._git = git
        self._branch: Branch
        if not remote:
            self._branch = LocalBranch(git, branch)
        elif offline:
            self._branch = FetchedBranch(git, branch, remote)
        else:
            self._branch = RemoteBranch(git, branch, remote)

    @property
    def place(self) -> str:
        """Where it is, for messages: `branch`, or `branch` at `remote`."""
        return self._branch.place

    def read(self, wanted: Callable[[str], bool], at: CommitId | None = None) -> Pages:
        """Return the ledger at its head, or at one of its commits, with the `wanted` contents.

        A file without content was not wanted, or is a link, an executable, a submodule or of more
        than 4 MiB. Raises MissingLedgerError, UnavailableError where it cannot be asked, and
        CannotRunError when `at` is not one of its commits.
        """
        head = self._head()
        if at is not None and at != head:
            self._index(line_of(self._git, head), at)
            head = at
        files = files_of(self._git, head)
        readable = {
            path: blob.sha for path, blob in files.items() if blob.mode == REGULAR and wanted(path)
        }
        found = contents(self._git, readable.values())
        return Pages(
            head, {path: found.get(readable[path]) if path in readable else None for path in files}
        )

    def append(
        self, changes: Sequence[Change], *, after: CommitId | None, at: datetime
    ) -> CommitId:
        """Write one commit a change on top of the head `after`, all of them or none.

        Raises LostRaceError when the head is not `after`; UnavailableError when it could not be
        changed, or nobody knows whether it was; CannotRunError when a change would remove a file;
        ValueError for no change or a bad path.
        """
        check(changes)
        if after is not None and not self._branch.may_be(after):
            raise self._lost(after)
        with written(self._git, changes, after, at) as new:
            why = self._branch.swap(new, after)
            if why is not None:
                self._look_again(new, after, why)
        return new

    def steps(self, since: CommitId | None = None) -> Iterator[Step]:
        """Yield the commits after `since` (None: all) up to the head, the oldest first.

        Raises at once: MissingLedgerError, UnavailableError, and CannotRunError when `since` is
        not on the line of first parents. Later: ShallowCloneError, GitFailedError.
        """
        line = line_of(self._git, self._head())
        begin = 0 if since is None else self._index(line, since) + 1
        return steps_of(self._git, line, begin)

    def _head(self) -> CommitId:
        head = self._branch.head()
        if head is None:
            message = f"there is no ledger: {self.place} does not exist"
            raise MissingLedgerError(message, remedy="`admit ledger init` begins one, once")
        return head

    def _index(self, line: Sequence[CommitId], commit: CommitId) -> int:
        if commit not in line:
            message = f"`{commit}` is not a commit of the ledger, {self.place}"
            remedy = "if it was one, the branch was rewritten: find out by whom before going on"
            raise CannotRunError(message, remedy=remedy)
        return line.index(commit)

    def _look_again(self, new: CommitId, after: CommitId | None, why: str) -> None:
        """Return when a swap that failed, by its own account, was done all the same; else raise."""
        try:
            head = self._branch.head()
        except AdmitError as error:
            message = f"it is not known whether the ledger, {self.place}, was written to: {why}"
            remedy = "run it again: it begins from what is there"
            raise UnavailableError(message, remedy=remedy) from error
        if head is not None and new in line_of(self._git, head):
            return
        if head != after:
            raise self._lost(after)
        message = f"the ledger, {self.place}, was not written to as far as can be seen: {why}"
        raise UnavailableError(message, remedy="see that you may push to it, then run it again")

    def _lost(self, after: CommitId | None) -> LostRaceError:
        what = f"is no longer at {after[:12]}" if after else "exists already"
        message = f"the ledger, {self.place}, {what}: somebody else wrote to it first"
        return LostRaceError(message, remedy="run it again: it begins from what is there")


def ledger_place(value: str, remotes: Collection[str]) -> tuple[str, str]:
    """Return the branch and the remote ('': none) that `branch[@remote]` names.

    Empty: `admit-ledger`, at `origin` if that is one of the configured `remotes`. A remote is one
    of these, a URL, or a path with a `/` in it. Raises UsageError.
    """
    if not value:
        return BRANCH, _ORIGIN if _ORIGIN in remotes else ""
    branch, split, remote = value.partition("@")
    if not branch or branch.startswith(("-", "/", ".")) or _NOT_IN_NAMES.search(branch):
        raise UsageError(
            "`ADMIT_LEDGER` does not begin with what can be the name of a branch",
            remedy=f"write `branch` or `branch@remote`, as `{BRANCH}@{_ORIGIN}`",
        )
    named = remote in remotes or "/" in remote or ":" in remote
    if split and (not named or remote.startswith("-") or not remote.isprintable()):
        near = nearest(remote, remotes)
        raise UsageError(
            f"`{without_user(remote)}` of `ADMIT_LEDGER` is not a remote of this clone",
            remedy=f"did you mean `{near}`?" if near else "name a remote, a URL, or `./` a path",
        )
    return branch, remote

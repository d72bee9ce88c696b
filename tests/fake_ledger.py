"""A ledger in memory. It passes the conformance suite of the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from controller.adapters.ledger_commits import check, clash, folders_of, title_of
from controller.errors import CannotRunError, UnavailableError
from controller.ledger.store import Change, LostRaceError, MissingLedgerError, Pages, Step
from controller.values import CommitId

Files = Mapping[str, bytes | None]


@dataclass(frozen=True)
class _Commit:
    step: Step
    tree: Files


class MemoryLedger:
    """A ledger whose commits are the digests of what they are."""

    def __init__(self) -> None:
        self._line: list[_Commit] = []
        self.place = "`memory`"
        self.outage = ""
        """Why nothing can be asked or done; '' when all is well."""
        self.reply_lost = ""
        """Why the next append cannot say that it has written, which it has."""
        self.before_swap: Callable[[], object] | None = None
        """What somebody else does, once, just before the next append writes."""

    @property
    def head(self) -> CommitId | None:
        return self._line[-1].step.commit if self._line else None

    def read(self, wanted: Callable[[str], bool], at: CommitId | None = None) -> Pages:
        self._reach()
        commit = self._line[-1 if at is None else self._index(at)]
        tree = commit.tree
        files = {path: tree[path] if wanted(path) else None for path in sorted(tree)}
        return Pages(commit.step.commit, files)

    def append(
        self, changes: Sequence[Change], *, after: CommitId | None, at: datetime
    ) -> CommitId:
        check(changes)
        if self.outage:
            raise UnavailableError(self.outage)
        if self.before_swap is not None:
            race, self.before_swap = self.before_swap, None
            race()
        if self.head != after:
            raise LostRaceError(f"the ledger, {self.place}, is no longer at {after}")
        line = list(self._line)
        tree = dict(line[-1].tree) if line else {}
        folders = {folder for path in tree for folder in folders_of(path)}
        for change in changes:
            written = {path: new for path, new in change.files.items() if _differs(tree, path, new)}
            tree |= change.files
            for path in written:
                folders.update(folders_of(path))
                if path in folders or any(folder in tree for folder in folders_of(path)):
                    raise clash(path)
            line.append(_commit(line, title_of(change), at, written, tree))
        self._line = line
        if self.reply_lost:
            why, self.reply_lost = self.reply_lost, ""
            raise UnavailableError(why)
        return line[-1].step.commit

    def steps(self, since: CommitId | None = None) -> Iterator[Step]:
        self._reach()
        begin = 0 if since is None else self._index(since) + 1
        return (commit.step for commit in self._line[begin:])

    def forge(
        self,
        files: Files,
        *,
        at: datetime,
        title: str = "forged",
        parents: tuple[CommitId, ...] | None = None,
    ) -> CommitId:
        """Put any commit on the head, as whoever has write access can; None removes a file.

        `parents`: what it claims to descend from; else the head.
        """
        tree = dict(self._line[-1].tree) if self._line else {}
        for path, content in files.items():
            if content is None:
                tree.pop(path, None)
            else:
                tree[path] = content
        self._line.append(_commit(self._line, title, at, files, tree, parents))
        return self._line[-1].step.commit

    def rewind(self, to: CommitId | None) -> None:
        """Rewrite the branch so that it ends at `to`; None: there is no ledger."""
        self._line = self._line[: self._index(to) + 1] if to else []

    def _reach(self) -> None:
        if self.outage:
            raise UnavailableError(self.outage)
        if not self._line:
            raise MissingLedgerError(f"there is no ledger: {self.place} does not exist")

    def _index(self, commit: CommitId) -> int:
        for index, there in enumerate(self._line):
            if there.step.commit == commit:
                return index
        raise CannotRunError(f"`{commit}` is not a commit of the ledger, {self.place}")


def _commit(
    line: Sequence[_Commit],
    title: str,
    at: datetime,
    files: Files,
    tree: Files,
    parents: tuple[CommitId, ...] | None = None,
) -> _Commit:
    if parents is None:
        parents = (line[-1].step.commit,) if line else ()
    at = at.replace(microsecond=0)
    said = repr((parents, at, title, sorted(files.items()), len(line))).encode()
    commit = CommitId(hashlib.sha1(said, usedforsecurity=False).hexdigest())
    return _Commit(Step(commit, parents, at, title, dict(files)), dict(tree))


def _differs(tree: Files, path: str, new: bytes) -> bool:
    return path not in tree or tree[path] != new

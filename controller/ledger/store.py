"""What keeps the ledger: commits of files that only ever follow one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from controller.errors import CannotRunError
from controller.values import CommitId

BRANCH = "admit-ledger"
"""The branch that the ledger is kept on unless `ADMIT_LEDGER` says otherwise."""


class MissingLedgerError(CannotRunError):
    """There is no ledger, so nothing may be spent."""


class LostRaceError(CannotRunError):
    """Somebody else appended first: what was decided on the old head does not hold."""


@dataclass(frozen=True, slots=True)
class Change:
    """One commit: one sentence for whoever reads the log, and the files it writes.

    `files` are whole files by their path in the ledger; a file is never removed.
    """

    title: str
    files: Mapping[str, bytes]
    body: str = ""


@dataclass(frozen=True, slots=True)
class Pages:
    """The ledger at one head. The content of files that were not wanted is None."""

    head: CommitId
    files: Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of the ledger as it is, whoever wrote it."""

    commit: CommitId
    parents: tuple[CommitId, ...]
    at: datetime
    """The committer's time (UTC)."""
    title: str
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """The files it added or changed, whole; None: it removed the file, or it is not a file that
    can be read: a link, an executable, a submodule, or one of more than 4 MiB."""


class Ledger(Protocol):
    """The ledger as a pass sees it."""

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        ...

    def read(self, wanted: Callable[[str], bool], at: CommitId | None = None) -> Pages:
        """Return the ledger at its head, or at one of its commits.

        Raises MissingLedgerError where there is none, UnavailableError where it cannot be asked.
        """
        ...

    def append(
        self, changes: Sequence[Change], *, after: CommitId | None, at: datetime
    ) -> CommitId:
        """Write one commit a change on top of the head `after`, all of them or none.

        `after` None makes the ledger. `at` is the time of the commits (UTC). Returns the new head.
        Raises LostRaceError when the head is not `after` (any more), and UnavailableError when it
        cannot be told whether the commits were written.
        """
        ...


class Log(Protocol):
    """The ledger as whoever checks or explains it sees it."""

    def steps(self, since: CommitId | None = None) -> Iterator[Step]:
        """Yield the commits after `since` (None: all) up to the head, the oldest first.

        Along first parents. Raises MissingLedgerError, and CannotRunError when `since` is not
        one of them.
        """
        ...

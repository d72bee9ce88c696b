"""Asking git about one recorded commit: where it is, what it says, and what brought that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from controller.adapters.git import Git
from controller.adapters.git_process import UnknownRevisionError
from controller.documents.catalog import Catalog, is_document, read_catalog
from controller.documents.owners import PLACES
from controller.documents.policy import POLICY
from controller.errors import UsageError
from controller.evidence.facts import Answer, Introduction, Known, Unavailable
from controller.evidence.gather import Clock, admission_path, asked, introductions_of
from controller.ledger.book import Trust
from controller.values import BlobId, CommitId, RepoPath
from controller.verifying.admission_record import AdmissionRecord
from controller.verifying.chain import Line, known

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


@dataclass(frozen=True)
class History:
    """What git has of the commit that an admission record names, and of the trusted root."""

    git: Git
    now: Clock
    recorded: Answer[AdmissionRecord]
    trust: Answer[Trust]

    @cached_property
    def line(self) -> Answer[Line]:
        """Where the commit is."""
        return asked(self._line, self.now)

    @cached_property
    def catalog(self) -> Answer[Catalog]:
        """The documents of the commit."""
        return asked(lambda: read_catalog(self.git.snapshot(self._commit, is_document)), self.now)

    @cached_property
    def root_blobs(self) -> Answer[Mapping[RepoPath, BlobId]]:
        """What the trusted root has."""
        return asked(self._root_blobs, self.now)

    @property
    def documents(self) -> list[RepoPath]:
        """The documents that the start rested on, as far as they can be told."""
        said = known(self.recorded)
        found = [said.manifest, admission_path(said.admission), POLICY]
        if isinstance(self.catalog, Known) and self.catalog.value.owners is not None:
            return [*found, self.catalog.value.owners.path]
        return [*found, *(place for place in PLACES if place in said.blobs)]

    @cached_property
    def introductions(self) -> dict[RepoPath, Answer[Introduction]]:
        """What brought the manifest and the admission their bytes of that commit."""
        if isinstance(self.recorded, Unavailable):
            return {}
        said = self.recorded.value
        paths = [said.manifest, admission_path(said.admission)]
        commit = asked(lambda: self._commit, self.now)
        if isinstance(commit, Unavailable):
            return dict.fromkeys(paths, commit)
        return introductions_of(paths, commit.value, self.git, self.now)

    @property
    def _commit(self) -> CommitId:
        return full(known(self.recorded).commit)

    def _line(self) -> Line:
        commit, main = CommitId(known(self.recorded).commit), self.git.default_base()
        root = full(known(self.trust).root)
        if not _COMMIT.match(commit):
            return Line(main, exists=False, on_main=False, after_root=False)
        on_main = self.git.on_line(main, commit)  # first: a shallow clone is told as what it is
        try:
            exists = self.git.resolve(commit) == commit
        except UnknownRevisionError:
            exists = False
        return Line(main, exists, on_main, exists and self.git.on_line(commit, root))

    def _root_blobs(self) -> Mapping[RepoPath, BlobId]:
        root = full(known(self.trust).root)
        files = self.git.snapshot(root, lambda _: False).files
        return {path: blob.sha for path, blob in files.items()}


def full(commit: str) -> CommitId:
    """Return the full name of a commit. Raises UsageError for any other text."""
    if not _COMMIT.match(commit):
        raise UsageError(f"`{commit[:40]}` is not the full name of a commit")
    return CommitId(commit)

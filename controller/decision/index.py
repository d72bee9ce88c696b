"""What the rules look up about a whole commit, prepared once for all of its subjects."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.documents.catalog import Catalog
from controller.documents.owners import PLACES
from controller.documents.policy import POLICY
from controller.evidence.facts import Evidence, Known
from controller.values import CommitId, RepoPath

_JUDGES = ("controller/", ".github/")
_JUDGING = frozenset({*PLACES, POLICY})


@dataclass(frozen=True, slots=True)
class Index:
    """Look-ups that would cost a walk through the catalog for each subject."""

    namesakes: Mapping[str, tuple[RepoPath, ...]]
    """The manifests of each name, sorted; those that are parts of others are left out."""
    paths: Sequence[RepoPath]
    """Every file of the snapshot, sorted."""
    judging: Mapping[CommitId, tuple[RepoPath, ...]]
    """What each introducing change touched of that which judges, sorted."""

    @classmethod
    def of(cls, catalog: Catalog, evidence: Evidence) -> Index:
        """Return the index of one commit and of what was asked about it."""
        return cls(_namesakes(catalog), sorted(catalog.snapshot.files), _judging(evidence))

    def below(self, folder: str) -> Sequence[RepoPath]:
        """Return the files below `folder`, sorted; only itself when it is a file."""
        # "0" is the character after "/": nothing below the folder sorts behind it.
        first, last = bisect_left(self.paths, folder + "/"), bisect_left(self.paths, folder + "0")
        if first != last:
            return self.paths[first:last]
        place = bisect_left(self.paths, folder)
        return [p for p in self.paths[place : place + 1] if p == folder]


def _namesakes(catalog: Catalog) -> dict[str, tuple[RepoPath, ...]]:
    named: dict[str, list[RepoPath]] = {}
    for path, manifest in catalog.manifests.items():
        if path not in catalog.parts:
            named.setdefault(manifest.name, []).append(path)
    for path, ran in catalog.ran.items():
        named.setdefault(ran.name, []).append(path)
    return {name: tuple(sorted(paths)) for name, paths in named.items()}


def _judging(evidence: Evidence) -> dict[CommitId, tuple[RepoPath, ...]]:
    """Go through each change once: one change may have brought ten thousand files."""
    changes = {
        answer.value.commit: answer.value.changed
        for answer in evidence.introductions.values()
        if isinstance(answer, Known)
    }
    return {
        commit: tuple(sorted(path for path in changed if judges(path)))
        for commit, changed in changes.items()
    }


def judges(path: RepoPath) -> bool:
    """Whether a file at `path` has a say in what may run: code, workflows, owners, policy."""
    return path in _JUDGING or path.startswith(_JUDGES)

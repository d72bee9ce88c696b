"""What another revision would bring to main: its policy, owners and admissions, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from controller.documents.catalog import ADMISSIONS, Catalog, is_document, read_catalog
from controller.documents.owners import PLACES
from controller.documents.policy import POLICY
from controller.documents.snapshot import Blob, Snapshot
from controller.evidence.facts import (
    Approval,
    Approver,
    Evidence,
    Introduction,
    Known,
    Unavailable,
)
from controller.explain.facts import NEVER
from controller.explain.moment import Moment
from controller.report.outcome import Node
from controller.values import CommitId, RepoPath, listed
from controller.wiring import World

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Proposal:
    """The documents of main with what `commit` changes of those that judge."""

    commit: CommitId
    catalog: Catalog
    changed: frozenset[RepoPath]
    clashes: frozenset[RepoPath]
    """Those of `changed` that main has changed, too."""

    @property
    def node(self) -> Node:
        """What is supposed, and what is taken as given."""
        if not self.changed:
            text = f"{self.commit[:12]} changes no policy, owners or admission of main"
            return Node(text)
        paths = sorted(self.changed)
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        text = (
            f"supposing that what {self.commit[:12]} changes were merged, and approved: "
            f"{listed(paths[:_SHOWN])}{more}"
        )
        notes = [Node("its approvals are taken as given; those of all else are as recorded")]
        if self.clashes:
            said = f"{listed(sorted(self.clashes))}, taken as {self.commit[:12]} has it"
            notes.append(Node(f"main has changed {said}"))
        return Node(text, None, tuple(notes))


def proposal_of(world: World, moment: Moment, rev: str) -> Proposal:
    """Return main with what `rev` has changed of policy, owners and admissions since they parted.

    Raises UsageError for what names no commit.
    """
    commit = world.git.resolve(rev)
    proposed = _judging(world.git.snapshot(commit, _judges))
    here = _judging(moment.catalog.snapshot)
    base = world.git.merge_base(moment.main, commit)
    parted = _judging(world.git.snapshot(base, lambda _: False)) if base else here
    changed = _differing(parted, proposed) & _differing(here, proposed)
    clashes = changed & _differing(parted, here)
    files = dict(moment.catalog.snapshot.files)
    for path in changed:
        files.pop(path, None)
        if path in proposed:
            files[path] = proposed[path]
    snapshot = Snapshot.of(moment.main, files)
    return Proposal(commit, read_catalog(snapshot, world.parses), changed, clashes)


def given(evidence: Evidence, proposal: Proposal) -> Evidence:
    """Return `evidence` with the approval and the introduction of what is proposed as given."""
    catalog, at = proposal.catalog, evidence.asked_at
    changed = sorted(proposal.changed)
    needed = catalog.policy.minimum_approvals if catalog.policy else 1
    approvals = {path: Known(_approval(path, proposal, needed, at), at) for path in changed}
    arrival = Known(Introduction(proposal.commit, at, tuple(changed)), at)
    new = [a for a in catalog.admissions.values() if a.path in proposal.changed]
    never = Unavailable(NEVER, at)
    judged = catalog.policy if POLICY in proposal.changed else None
    return replace(
        evidence,
        approvals={**evidence.approvals, **approvals},
        introductions={**evidence.introductions, **dict.fromkeys(changed, arrival)},
        governing={**evidence.governing, **{a.id: Known(a, at) for a in new}},
        policy=Known(judged, at) if judged else evidence.policy,
        measured={**{a.claim.run: never for a in new if a.claim.run}, **evidence.measured},
    )


def _judges(path: str) -> bool:
    """Whether a document says who and what may run; manifests only ask for it."""
    return path == POLICY or path in PLACES or (is_document(path) and path.startswith(ADMISSIONS))


def _judging(snapshot: Snapshot) -> dict[RepoPath, Blob]:
    return {path: blob for path, blob in snapshot.files.items() if _judges(path)}


def _differing(one: Mapping[RepoPath, Blob], other: Mapping[RepoPath, Blob]) -> frozenset[RepoPath]:
    paths = one.keys() | other.keys()
    return frozenset(path for path in paths if _version(one, path) != _version(other, path))


def _version(files: Mapping[RepoPath, Blob], path: RepoPath) -> tuple[str, str] | None:
    blob = files.get(path)
    return None if blob is None else (blob.mode, blob.sha)


def _approval(path: RepoPath, proposal: Proposal, needed: int, at: datetime) -> Approval:
    """Return the approval of the proposed bytes, or of the removal, by as many as are needed."""
    blob = proposal.catalog.snapshot.files.get(path)
    by = tuple(Approver(f"@taken-as-given-{n}", at, "simulated") for n in range(1, needed + 1))
    owners = tuple(approver.login for approver in by)
    return Approval(path, blob.sha if blob else None, proposal.commit, owners, by)

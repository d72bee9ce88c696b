"""Whether what a run was started for was taken away on purpose: its admission or its manifest."""

from __future__ import annotations

from controller.decision.actions import Cancel, Keep
from controller.decision.table import Active, Table
from controller.evidence.approval import Proof, proof
from controller.evidence.facts import Known, Unavailable
from controller.values import RepoPath


def admission_gone(active: Active, table: Table) -> Keep | Cancel | None:
    """Its admission was removed. One that is broken is there."""
    id_ = active.record.admission
    path = RepoPath(f"admissions/{id_}.md")
    if id_ in table.catalog.admissions or path in table.catalog.broken:
        return None
    minimum = table.policy.minimum_approvals if table.policy else None
    return _withdrawn(
        active, path, f"its admission `{path}` is not on main any more", minimum, table
    )


def manifest_gone(active: Active, table: Table) -> Keep | Cancel | None:
    """Its manifest was removed, or got a new `name:`. Moved, broken or a part, it is there."""
    path, catalog = active.record.path, table.catalog
    if active.record.name in table.names or path in catalog.broken or path in catalog.parts:
        return None
    here = catalog.manifests.get(path)
    what = f"is named `{here.name}` now" if here else "is not on main any more"
    if here is None and (maybe := _unreadable(table)):
        why = f"its manifest `{path}` {what}, but `{maybe}` is broken and may be the same job"
        return Keep(active.run, why, undecided=True)
    minimum = table.policy.manifest_approvals if table.policy else None
    return _withdrawn(active, path, f"its manifest `{path}` {what}", minimum, table)


def _unreadable(table: Table) -> RepoPath | None:
    """Return a broken manifest of which no record says what its name was."""
    recorded = {record.path for record in table.evidence.records}
    unknown = (p for p in table.catalog.broken if p.startswith("jobs/") and p not in recorded)
    return min(unknown, default=None)


def _withdrawn(
    active: Active, path: RepoPath, what: str, minimum: int | None, table: Table
) -> Keep | Cancel:
    """A withdrawal counts where `minimum` owners approved it (None: that is not known)."""
    if minimum is None:
        return _in_doubt(active, what, "no approved policy says how many owners have to")
    answer = table.evidence.approvals.get(path)
    blob = table.catalog.snapshot.files.get(path)
    if isinstance(answer, Known) and answer.value.blob != (blob.sha if blob else None):
        return _in_doubt(active, what, "the answer is about other bytes")
    match proof(answer, minimum):
        case Proof.PROVED:
            return Cancel(active.run, "withdrawn", f"{what}, approved")
        case Proof.UNPROVED:
            why = f"{what}, but too few of those entitled approved that"
            return Keep(active.run, why, undecided=True)
        case Proof.UNKNOWN:
            doubt = answer.why if isinstance(answer, Unavailable) else "it was not asked"
            return _in_doubt(active, what, doubt)


def _in_doubt(active: Active, what: str, doubt: str) -> Keep:
    why = f"{what}; whether that was approved is not known: {doubt}"
    return Keep(active.run, why, undecided=True)

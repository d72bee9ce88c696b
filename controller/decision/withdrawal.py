"""Whether what a run was started for was taken away on purpose: its admission or its manifest."""

from __future__ import annotations

from datetime import timedelta

from controller.decision.actions import Cancel, Keep
from controller.decision.table import Table
from controller.evidence.approval import Proof, proof
from controller.evidence.facts import Known, Unavailable
from controller.ledger.records import RunRecord
from controller.values import RepoPath

APART = timedelta(minutes=10)
"""A withdrawal that nobody entitled approved acts when two passes so far apart see it."""


def admission_gone(record: RunRecord, table: Table) -> Keep | Cancel | None:
    """Its admission was removed. One that is broken is there."""
    id_ = record.admission
    path = RepoPath(f"admissions/{id_}.md")
    if id_ in table.catalog.admissions or path in table.catalog.broken:
        return None
    minimum = table.policy.minimum_approvals if table.policy else None
    return _withdrawn(
        record, path, f"its admission `{path}` is not on main any more", minimum, table
    )


def manifest_gone(record: RunRecord, table: Table) -> Keep | Cancel | None:
    """Its manifest was removed, or got a new `name:`. Moved, broken or a part, it is there.

    That its removal was approved counts more than what an unapproved file may be: another one of
    that name is only where it moved to if that was approved, and a broken one is nothing at all.
    """
    path, catalog = record.path, table.catalog
    here = catalog.manifests.get(path)
    if path in catalog.broken or path in catalog.parts or path in catalog.ran:
        return None
    if here is not None and here.name == record.name:
        return None
    what = f"its manifest `{path}` " + (
        f"is named `{here.name}` now" if here else "is not on main any more"
    )
    minimum = table.policy.manifest_approvals if table.policy else None
    proved = minimum is not None and _proof(path, minimum, table) is Proof.PROVED
    if record.name in table.names:
        return _namesakes(record, what, minimum or 0, table) if proved else None
    if not proved and here is None and (maybe := _unreadable(table)):
        why = f"{what}, but `{maybe}` is broken and may be the same job"
        return Keep(record.run, why, undecided=True, doubt="in-doubt")
    return _withdrawn(record, path, what, minimum, table)


def _namesakes(record: RunRecord, what: str, minimum: int, table: Table) -> Keep | Cancel | None:
    """Its removal was approved, and other files have its name: did one of them take its place?"""
    others = [m.path for m in table.catalog.manifests.values() if m.name == record.name]
    proofs = {path: _proof(path, minimum, table) for path in sorted(others)}
    if Proof.PROVED in proofs.values():
        return None
    for path, found in proofs.items():
        if found is Proof.UNKNOWN:
            return _in_doubt(record, what, f"whether `{path}` took its place could not be asked")
    said = f"{what}, approved; `{min(proofs, default='')}` has its name, and nobody approved that"
    return Cancel(record.run, "withdrawn", said)


def _proof(path: RepoPath, minimum: int, table: Table) -> Proof:
    """Return what is known of the approval of the bytes, or the removal, of a path on main."""
    answer = table.evidence.approvals.get(path)
    blob = table.catalog.snapshot.files.get(path)
    if isinstance(answer, Known) and answer.value.blob != (blob.sha if blob else None):
        return Proof.UNKNOWN
    return proof(answer, minimum)


def _unreadable(table: Table) -> RepoPath | None:
    """Return a broken manifest of which no record says what its name was."""
    recorded = {record.path for record in table.evidence.records}
    unknown = (p for p in table.catalog.broken if p.startswith("jobs/") and p not in recorded)
    return min(unknown, default=None)


def _withdrawn(
    record: RunRecord, path: RepoPath, what: str, minimum: int | None, table: Table
) -> Keep | Cancel:
    """A withdrawal counts where `minimum` owners approved it (None: that is not known)."""
    if minimum is None:
        return _in_doubt(record, what, "no approved policy says how many owners have to")
    answer = table.evidence.approvals.get(path)
    blob = table.catalog.snapshot.files.get(path)
    if isinstance(answer, Known) and answer.value.blob != (blob.sha if blob else None):
        return _in_doubt(record, what, "the answer is about other bytes")
    match proof(answer, minimum):
        case Proof.PROVED:
            return Cancel(record.run, "withdrawn", f"{what}, approved")
        case Proof.UNPROVED:
            return _unapproved(record, what, table)
        case Proof.UNKNOWN:
            doubt = answer.why if isinstance(answer, Unavailable) else "it was not asked"
            return _in_doubt(record, what, doubt)


def _unapproved(record: RunRecord, what: str, table: Table) -> Keep | Cancel:
    """It acts when two passes see it, so far apart that it is no slip in between two merges."""
    why = f"{what}, but too few of those entitled approved that"
    since = table.evidence.sightings.get(record.run)
    if since is not None and table.evidence.asked_at - since >= APART:
        said = f"{why}; so it was already at {since:%Y-%m-%d %H:%M} UTC"
        return Cancel(record.run, "withdrawn", said)
    wait = f"; it ends when a pass {APART.seconds // 60} minutes after the first sees the same"
    return Keep(record.run, why + wait, undecided=True, doubt="unapproved-withdrawal")


def _in_doubt(record: RunRecord, what: str, doubt: str) -> Keep:
    why = f"{what}; whether that was approved is not known: {doubt}"
    return Keep(record.run, why, undecided=True, doubt="in-doubt")

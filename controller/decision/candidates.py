"""Which manifests are worth asking about: nothing stands against them but what must be asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from controller.decision.starts import OUTSIDE, ROOM
from controller.decision.verdict import Verdict
from controller.documents.catalog import Catalog
from controller.ledger.records import Key, RunRecord
from controller.values import RepoPath


def candidates(
    catalog: Catalog, verdicts: Mapping[RepoPath, Verdict], records: Iterable[RunRecord]
) -> tuple[RepoPath, ...]:
    """Return the manifests that could start something, or end an older run of their name.

    `verdicts` are those without what has to be asked. A payload that has run, while no other of
    its name does, is none of them: nothing follows from it.
    """
    recorded = {(record.name, record.fingerprint): record for record in records}
    going: dict[str, set[str]] = {}
    for record in recorded.values():
        if record.active:
            going.setdefault(record.name, set()).add(record.fingerprint)
    return tuple(sorted(_wanted(catalog, verdicts, recorded, going)))


def _wanted(
    catalog: Catalog,
    verdicts: Mapping[RepoPath, Verdict],
    recorded: Mapping[Key, RunRecord],
    going: Mapping[str, set[str]],
) -> Iterator[RepoPath]:
    for path, manifest in catalog.manifests.items():
        verdict = verdicts.get(path)
        if path in catalog.parts or verdict is None or not manifest.name:
            continue
        older = going.get(manifest.name, set()) - {manifest.payload.fingerprint}
        record = recorded.get((manifest.name, manifest.payload.fingerprint))
        if _ran(record):
            if older:
                yield path
        elif _open(verdict, allowed=OUTSIDE | ROOM if older else OUTSIDE):
            yield path


def _ran(record: RunRecord | None) -> bool:
    """Whether a payload was submitted, and is not to be tried again."""
    if record is None or record.stage in ("released", "reserved"):
        return False
    end = record.attempt.over
    return not (record.stage == "over" and end is not None and end.preempted)


def _open(verdict: Verdict, allowed: frozenset[str]) -> bool:
    return bool(verdict.findings) and all(f.rule in allowed for f in verdict.against)

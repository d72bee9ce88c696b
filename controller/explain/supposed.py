"""What a plan is made from where no workspace is asked: runs as the ledger last knew them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from controller.documents.admission import Admission
from controller.documents.payload import run_name
from controller.evidence.facts import Answer, Evidence, Known, ObservedRun, Unavailable
from controller.explain.moment import Moment
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, RunName

_NOT_SEEN = "main has a version of it that no pass has seen approved"


def as_last_seen(evidence: Evidence, moment: Moment) -> Evidence:
    """Return `evidence` with the state of each run as the last pass saw it.

    What was submitted and not seen over goes on; when it began is not known, so none of its hours
    are counted yet. What is only reserved, or was never recorded, has no run.
    """
    return replace(evidence, runs=dict(_runs(moment)), governing=dict(_governing(moment)))


def _runs(moment: Moment) -> Iterator[tuple[RunName, Answer[ObservedRun | None]]]:
    at = moment.book.heartbeat.at
    for manifest in moment.catalog.manifests.values():
        yield run_name(manifest.name, manifest.payload.fingerprint), Known(None, at)
    for record in moment.book.active:
        submitted = record.stage == "submitted"
        yield record.run, Known(_going(record) if submitted else None, at)


def _going(record: RunRecord) -> ObservedRun:
    attempt = record.attempt
    return ObservedRun(
        run=record.run,
        state="Running",
        fingerprint=record.fingerprint,
        tags={},
        nodes=record.nodes,
        timeout=record.last.timeout,
        created_at=attempt.submitted_at or attempt.reserved_at,
    )


def _governing(moment: Moment) -> Iterator[tuple[AdmissionId, Answer[Admission | None]]]:
    """Yield the last approved version of each admission, where that is the one on main."""
    at = moment.book.heartbeat.at
    for id_ in sorted({record.admission for record in moment.book.active}):
        account, here = moment.book.accounts.get(id_), moment.catalog.admissions.get(id_)
        if account is not None and here is not None and account.blob == here.blob:
            yield id_, Known(here, at)
        else:
            yield id_, Unavailable(_NOT_SEEN, at)

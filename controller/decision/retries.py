"""Whether and when something is tried again: an attempt after preemption, a failed submission."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from controller.documents.admission import Admission
from controller.evidence.facts import Evidence, Known
from controller.ledger.records import RunRecord

REFUSALS = 5
"""After so many submissions that the workspace refused, it is asked no more."""
_BACK_OFF = (1, 4, 15, 60)
"""Minutes to wait after the first, second, … failed submission; then always the last."""
_SLACK = 1e-9


def may_retry(record: RunRecord, names: str, evidence: Evidence) -> bool:
    """Whether an attempt that is over may be followed by another, out of the same reservation.

    After preemption only, before the expiry of the admission only, for the admission that
    reserved (`names` is what the manifest says now), while attempts and hours are left, and not
    where anybody asked for its end.
    """
    last = record.last
    never = record.stage == "reserved"  # its last attempt got no further, and does not count
    attempt = last.attempts[-2 if never and len(last.attempts) > 1 else -1]
    if attempt.over is None or not attempt.over.preempted:
        return False
    if any(one.stop or one.cancel for one in last.attempts):
        return False
    if names != record.admission or last.spent + last.bound > last.gpu_hours + _SLACK:
        return False
    match evidence.governing.get(record.admission):
        case Known(value=Admission() as admission):
            left = min(last.retries, admission.grant.retries) >= attempt.number
            return left and _today(evidence) <= admission.expires.isoformat()
        case _:  # not known: the retry is withheld, not forgone
            return last.retries >= attempt.number


def gave_up(record: RunRecord) -> str:
    """Return why it is not submitted any more, or ''."""
    refused = [failure for failure in record.failures if failure.refused]
    if len(refused) < REFUSALS:
        return ""
    return (
        f"gave up after {len(refused)} submissions that the workspace refused, the last with: "
        f"{refused[-1].why}; mend that, then change `tags.rerun`"
    )


def waits(record: RunRecord, now: datetime) -> bool:
    """Whether a failed submission is too recent for the next."""
    return bool(record.failures) and now < _next(record)


def later(record: RunRecord) -> str:
    """Return why the next submission waits, and until when."""
    count, last = len(record.failures), record.failures[-1]
    times = "once" if count == 1 else f"{count} times"
    at = _next(record).astimezone(UTC)
    return f"its submission failed {times}, last with: {last.why}; tried again from {at:%H:%M} UTC"


def _next(record: RunRecord) -> datetime:
    count = len(record.failures)
    return record.failures[-1].at + timedelta(minutes=_BACK_OFF[min(count, len(_BACK_OFF)) - 1])


def _today(evidence: Evidence) -> str:
    return evidence.asked_at.astimezone(UTC).date().isoformat()

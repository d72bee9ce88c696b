"""What every recorded run has to expect: to be kept, cancelled, settled or released, and why."""

from __future__ import annotations

from datetime import date, timedelta

from controller.decision.actions import Cancel, Doubt, Keep, Release, Settle, Submit, Withhold
from controller.decision.noticed import ours
from controller.decision.overspending import overspent
from controller.decision.retries import may_retry
from controller.decision.superseding import superseded
from controller.decision.table import Active, Ending, Table
from controller.decision.withdrawal import admission_gone, manifest_gone
from controller.documents.admission import Admission
from controller.documents.policy import Hold
from controller.evidence.facts import Known, Unavailable
from controller.ledger.records import MARGIN, RunRecord
from controller.values import RunName

ENDS_WITHIN = timedelta(hours=1)
"""A run that was asked to end and has not after this time needs a person."""


def endings(table: Table) -> tuple[Ending, ...]:
    """Return what follows for each recorded run that is not closed, in the order of run names.

    Nothing, where its manifest says what follows: a submission, a retry, or to wait for one.
    """
    out: dict[RunName, Ending] = {}
    active: dict[RunName, Active] = {}
    for record in table.evidence.records:
        if not record.active:
            continue
        match _standing(record, table):
            case Active() as found:
                active[found.run] = found
                out[found.run] = _ending(found, table)
            case None:
                pass
            case known:
                out[record.run] = known
    for ending in superseded(active, out, table):
        out[ending.run] = _stronger(out[ending.run], ending)
    for cancel in overspent(active, out, table):
        out[cancel.run] = cancel
    return tuple(out[run] for run in sorted(out))


def _standing(record: RunRecord, table: Table) -> Active | Ending | None:
    match record.stage:
        case "submitted":
            return _submitted(record, table)
        case "over":
            return _over(record, table)
        case _:
            return _reserved(record, table)


def _submitted(record: RunRecord, table: Table) -> Active | Keep | Settle:
    run, evidence = record.run, table.evidence
    answer = evidence.runs.get(run)
    if not isinstance(answer, Known):
        why = f"could not be asked: {answer.why}" if answer else "was not asked"
        return _doubtful(run, f"its state {why}", "not-asked")
    observed = answer.value
    if observed is None:
        return _vanished(record, table)
    if not ours(record, observed):
        what = f"the workspace has another payload under the name `{run}`, and not what was started"
        return _doubtful(run, f"{what}: somebody else's run, or a workspace put back", "foreign")
    return Active(run, record, observed)


def _vanished(record: RunRecord, table: Table) -> Keep | Settle:
    """Never submitted again; charged as if it had run into its time limit, once that has passed."""
    why = "vanished: it was submitted, and the workspace says that it does not exist"
    attempt, last = record.attempt, record.last
    since = attempt.submitted_at or attempt.reserved_at
    if table.evidence.asked_at < since + timedelta(seconds=last.timeout) + MARGIN:
        return _doubtful(record.run, why, "vanished")
    why += "; its time limit has passed"
    return Settle(record.run, last.spent + last.bound, why, bound=True)


def _over(record: RunRecord, table: Table) -> Keep | Settle | None:
    if _asked_for(record, table):
        return None
    exact = all(a.over.exact for a in record.last.attempts if a.over)
    settle = Settle(record.run, record.last.spent, _how(record), bound=not exact)
    return _retry_in_doubt(record, table) or settle


def _asked_for(record: RunRecord, table: Table) -> bool:
    """Whether its manifest says what follows: it is submitted, or withheld for now."""
    wish = table.by_key.get((record.name, record.fingerprint))
    if wish is None or not isinstance(wish.follows, Submit | Withhold):
        return False
    return not isinstance(admission_gone(record, table), Cancel)


def _retry_in_doubt(record: RunRecord, table: Table) -> Keep | None:
    """Keep what could be tried again and is not asked for, until that is known to be wanted."""
    if not may_retry(record, record.admission, table.evidence):
        return None
    gone = [admission_gone(record, table), manifest_gone(record, table)]
    if any(isinstance(one, Cancel) for one in gone):
        return None
    for one in gone:
        if isinstance(one, Keep):
            return one
    others = table.asked.get(record.name, ())
    if others and all(wish.approved for wish in others):
        return None
    doubt = "that change is not proved approved" if others else "it is not read as a job now"
    why = f"preempted; whether `{record.path}` still asks for it is not known: {doubt}"
    return _doubtful(record.run, why)


def _how(record: RunRecord) -> str:
    """Return how the last attempt ended, and why nothing follows."""
    attempt, end = record.attempt, record.attempt.over
    state = end.state if end else ""
    if end is not None and end.preempted:
        return f"{state}: preempted, and no retry is allowed any more"
    cause = attempt.cancel.cause if attempt.cancel else "stopped" if attempt.stop else ""
    if state == "Canceled" and not cause:
        return f"{state}, but not by us: somebody else ended it, and it is not started again"
    return f"{state}{f' ({cause})' if state == 'Canceled' else ''}, no attempt left"


def _reserved(record: RunRecord, table: Table) -> Release | Settle | Keep | None:
    """A reservation without a run: its manifest says what follows, until it may be given back."""
    run, attempt, now = record.run, record.attempt, table.evidence.asked_at
    answer = table.evidence.runs.get(run)
    if not isinstance(answer, Known):
        why = f"could not be asked: {answer.why}" if answer else "was not asked"
        return _doubtful(run, f"whether its reservation has a run {why}", "not-asked")
    free = attempt.deadline + MARGIN
    if _asked_for(record, table) and (now <= free or attempt.number > 1):
        return None
    if (waiting := _retry_in_doubt(record, table)) is not None:
        return waiting
    if now <= free:
        said = "it was stopped" if attempt.stop else "nothing asks for it any more"
        return Keep(run, f"{said}; its reservation is given back after {free:%H:%M} UTC")
    since = f"no run was started from its reservation of {attempt.reserved_at:%Y-%m-%d %H:%M} UTC"
    if attempt.stop is not None:
        return Settle(run, record.last.spent, f"stopped before it started: {attempt.stop.reason}")
    if attempt.number > 1:
        return Settle(run, record.last.spent, f"no retry is allowed any more; {since}")
    return Release(run, since)


def _ending(active: Active, table: Table) -> Ending:
    """Return what its own documents say of it. The first row wins, but Cancel beats Keep."""
    attempt, state = active.record.attempt, active.observed.state
    if attempt.cancel is not None:
        asked, cause = attempt.cancel.at, attempt.cancel.cause
        late = table.evidence.asked_at - asked > ENDS_WITHIN
        why = f"{state}; it was asked to end at {asked:%Y-%m-%d %H:%M} UTC ({cause})"
        do = ", more than an hour ago: end it in the workspace by hand" if late else ""
        return Keep(active.run, why + do, overdue=late)
    if attempt.stop is not None:
        return Cancel(active.run, "stopped", f"{attempt.stop.by} stopped it: {attempt.stop.reason}")
    if active.ending:
        return Keep(active.run, f"it is ending already: {state}")
    strange = ", a state that may not last; it counts as active" if active.observed.strange else ""
    why = f"{state}{strange}, admitted by `{active.record.admission}`"
    ending: Ending = Keep(active.run, why)
    for row in (_drained, _expired, manifest_gone, admission_gone):
        if (found := row(active.record, table)) is not None:
            ending = _stronger(ending, found)
    return ending


def _stronger(standing: Ending, other: Ending) -> Ending:
    """Return `other`, unless it is a Keep that something stronger stands against."""
    strength = [
        0 if not isinstance(e, Keep) else 1 if e.undecided else 2 for e in (standing, other)
    ]
    return standing if strength[0] < strength[1] else other


def _expired(record: RunRecord, table: Table) -> Keep | Cancel | None:
    id_ = record.admission
    match table.evidence.governing.get(id_):
        case Known(value=Admission() as admission):
            pass
        case answer:
            doubt = answer.why if isinstance(answer, Unavailable) else "none was found"
            why = f"the last approved version of `{id_}`, which governs it, is not known: {doubt}"
            return _doubtful(record.run, why)
    if table.today <= admission.expires:
        return None
    said = f"`{id_}` expired on {admission.expires}"
    if admission.grant.on_expiry == "finish":
        return Keep(record.run, f"{said}; `on_expiry: finish` lets it end by itself")
    return Cancel(record.run, "expired", f"{said} with `on_expiry: cancel`")


def _doubtful(run: RunName, why: str, doubt: Doubt = "in-doubt") -> Keep:
    return Keep(run, why, undecided=True, doubt=doubt)


def in_force(hold: Hold, today: date) -> bool:
    """Whether `hold` holds on the UTC day `today`."""
    return hold.until is None or today <= hold.until


def _drained(record: RunRecord, table: Table) -> Cancel | None:
    hold = table.policy.hold if table.policy else None
    if hold is None or not hold.drain or not in_force(hold, table.today):
        return None
    return Cancel(record.run, "drained", f"a hold with `drain` is in force: {hold.reason}")

"""How times, hours, money, counts, runs and actions read in every report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime

from controller.decision.actions import (
    Action,
    ApplySchedule,
    Cancel,
    DeleteSchedule,
    DisableSchedule,
    Keep,
    Repair,
    Settle,
    Submit,
    Withhold,
)
from controller.decision.cost import Cost
from controller.ledger.account import hours as hours
from controller.report.outcome import Report, RunLine
from controller.values import listed


def utc(at: datetime) -> str:
    """Return `2026-11-30T20:00:00Z`. A time without a zone is UTC, as everywhere here."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def minute(at: datetime) -> str:
    """Return `2026-11-30 20:00`, for tables that say UTC."""
    return utc(at)[:16].replace("T", " ")


def money(cost: Cost) -> str:
    """Return `3,932.40 USD`."""
    return f"{cost.amount:,.2f} {cost.currency}"


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 job` or `3 jobs`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def together(parts: Iterable[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    *rest, last = parts
    return f"{', '.join(rest)} and {last}" if rest else last


def state(line: RunLine) -> str:
    """Return the workspace's last word for the run's state; '' where it never had one."""
    if line.observed is not None:
        return line.observed.state
    end = line.record.attempt.over
    return line.unseen or (end.state if end else "")


def standing(line: RunLine) -> str:
    """Return `submitted, Running`: how far it has come, and the workspace's word."""
    return ", ".join(part for part in (line.record.stage, state(line)) if part)


def attempt(line: RunLine) -> str:
    """Return `2 of 3`: the attempt that counts, and how many the reservation covers."""
    return f"{line.record.attempt.number} of {1 + line.record.last.retries}"


def charged(line: RunLine) -> str:
    """Return `≤ 960` while it is set aside, then `80`, or `960 (bound)` where nobody can say."""
    record, closed = line.record, line.record.last.closed
    bound = "" if closed is None or closed.exact else " (bound)"
    return f"{'≤ ' if record.active else ''}{hours(record.charged)}{bound}"


def since(line: RunLine) -> datetime:
    """Return when the run came into its state, as nearly as anybody knows."""
    run, last = line.observed, line.record.attempt
    if run is not None:
        return run.ended_at or run.started_at or run.created_at
    if last.over is not None and last.over.ended_at is not None:
        return last.over.ended_at
    if line.record.last.closed is not None:
        return line.record.last.closed.at
    return last.submitted_at or last.reserved_at


def expiry(expires: date | None, now: datetime) -> str:
    """Return `2027-03-31, 121 days left`; the last day is a UTC day on which runs may start."""
    if expires is None:
        return "not known"
    left = (expires - now.astimezone(UTC).date()).days
    if left < 0:
        return f"{expires}, expired"
    return f"{expires}, {counted(left, 'day')} left" if left else f"{expires}, its last day"


def brakes(report: Report) -> tuple[str, ...]:
    """Return what was held back, the plan's own brake included, once each."""
    own = (report.plan.brake,) if report.plan is not None and report.plan.brake else ()
    return tuple(dict.fromkeys((*report.brakes, *own)))


def subject(action: Action) -> str:
    """Return what `action` is done to: a run, a schedule, or the path of what has no run."""
    match action:
        case ApplySchedule() | DisableSchedule() | DeleteSchedule():
            return action.schedule
        case Withhold():
            return action.run or action.path
        case _:
            return action.run


def because(action: Action) -> str:
    """Return why, with what else a reader needs to agree to it."""
    match action:
        case Settle(bound=True):
            return f"{hours(action.gpu_hours)} GPU hours (bound): {action.why}"
        case Settle() | ApplySchedule():
            return f"{hours(action.gpu_hours)} GPU hours: {action.why}"
        case Submit(reserved=True, attempt=number) if number > 1:
            return f"attempt {number}, {action.why}"
        case Cancel(after=str() as after):
            return f"{action.cause}: {action.why}, once `{after}` is recorded"
        case Cancel():
            return f"{action.cause}: {action.why}"
        case Repair():
            return f"{listed(action.fields)}: {action.why}"
        case Keep(overdue=True):
            return f"overdue: {action.why}"
        case Keep(undecided=True) | Withhold(undecided=True):
            return f"not known: {action.why}"
        case _:
            return action.why


def reasons(action: Action) -> tuple[str, ...]:
    """Return why as `because` does, but a sentence for each rule that stands against a start."""
    match action:
        case Withhold():
            doubt = "not known: " if action.undecided else ""
            return tuple(doubt + reason for reason in apart(action.why, action.findings))
        case _:
            return (because(action),)


def apart(why: str, rules: Iterable[str]) -> tuple[str, ...]:
    """Return the sentences of `rule: reason; other-rule: reason`, as a pass joins them."""
    known = "|".join(re.escape(rule) for rule in rules)
    return tuple(re.split(rf"; (?=(?:{known}): )", why)) if known else (why,)


def told(what: str, why: str) -> str:
    """Return `what: why`, or `what` alone."""
    return f"{what}: {why}" if why else what

"""How times, hours, money, counts, runs and actions read in every report."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from controller.decision.actions import (
    Action,
    ApplySchedule,
    Cancel,
    DeleteSchedule,
    DisableSchedule,
    Keep,
    Repair,
    Settle,
    Withhold,
)
from controller.decision.cost import Cost
from controller.report.outcome import Report, RunLine
from controller.values import listed


def utc(at: datetime) -> str:
    """Return `2026-11-30T20:00:00Z`. A time without a zone is UTC, as everywhere here."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def minute(at: datetime) -> str:
    """Return `2026-11-30 20:00`, for tables that say UTC."""
    return utc(at)[:16].replace("T", " ")


def hours(value: float) -> str:
    """Return `1,234.5` for 1234.5 and `960` for 960.0."""
    text = f"{value:,.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


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
    """Return the workspace's word for the run's state, or what the record says without it."""
    if line.observed is not None:
        return line.observed.state
    return "not known" if line.record.active else "settled"


def since(line: RunLine) -> datetime:
    """Return when the run came into its state, as nearly as anybody knows."""
    run = line.observed
    if run is None:
        return line.record.started_at
    return run.ended_at or run.started_at or run.created_at


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
        case Settle() | ApplySchedule():
            return f"{hours(action.gpu_hours)} GPU hours: {action.why}"
        case Cancel(after=str() as after):
            return f"{action.cause}: {action.why}, once `{after}` is recorded"
        case Cancel():
            return f"{action.cause}: {action.why}"
        case Repair():
            return f"{listed(action.fields)}: {action.why}"
        case Keep(undecided=True) | Withhold(undecided=True):
            return f"not known: {action.why}"
        case _:
            return action.why


def told(what: str, why: str) -> str:
    """Return `what: why`, or `what` alone."""
    return f"{what}: {why}" if why else what

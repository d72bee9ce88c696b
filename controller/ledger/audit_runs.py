"""What the record of one run may say, and what may come to what it said before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from math import isfinite

from controller.documents.payload import NAME_LIMIT, run_name
from controller.ledger.records import MARGIN, Attempt, Generation, RunRecord

TOLERANCE = 5e-7
"""GPU hours that sums may be wrong by: they are held against each other to six decimals."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}\Z")
_AMOUNTS = ("nodes", "gpus_per_node", "timeout", "retries", "gpu_hours")
_GROWING = ("attempts", "closed")
_ONCE = ("submitted_at", "stop", "cancel", "over")


def sound(record: RunRecord) -> str:
    """Return why a record cannot be one that a pass wrote, whatever it said before, or ''."""
    return next(_unsound(record), "")


def follows(old: RunRecord | None, new: RunRecord) -> str:
    """Return why one commit cannot have made `new` of `old`, both of them sound, or ''.

    Nothing that was said may change. A reservation, and another attempt, come alone: what is
    spent is in the ledger before it is spent.
    """
    if old is None:
        alone = len(new.generations) == 1 and _bare(new.last)
        return "" if alone else "it does not begin with a reservation, and nothing else"
    if (old.name, old.fingerprint) != (new.name, new.fingerprint):
        return f"it was the record of `{run_name(old.name, old.fingerprint)}`"
    count = len(old.generations)
    if len(new.generations) < count:
        return "a reservation is not there any more"
    if new.generations[: count - 1] != old.generations[:-1]:
        return "what an earlier reservation said is changed"
    if len(new.generations) == count:
        return _generation_follows(old.last, new.last)
    if new.generations[count - 1] != old.last or len(new.generations) > count + 1:
        return "more came to it at once than another reservation"
    if old.stage != "released":
        return f"another reservation was made while the one before was {old.stage}"
    if _bare(new.last) or _late(old.last, new.last):
        return ""
    return "another reservation says more than a reservation"


def sets_aside(old: RunRecord | None, new: RunRecord) -> bool:
    """Whether `new`, which follows `old`, has GPU hours that must have been free.

    A run that showed up after its release is charged whether they are or not.
    """
    if old is None:
        return True
    return len(new.generations) > len(old.generations) and not _late(old.last, new.last)


def _unsound(record: RunRecord) -> Iterator[str]:
    if not _FINGERPRINT.match(record.fingerprint):
        yield "its fingerprint is not 64 hex digits"
    if not record.generations:
        yield "it has no reservation"
    earlier = (generation.closed for generation in record.generations[:-1])
    if any(closed is None or closed.how != "released" for closed in earlier):
        yield "a reservation that was not released is followed by another"
    for number, generation in enumerate(record.generations, 1):
        which = f"reservation {number}: " if len(record.generations) > 1 else ""
        yield from (which + why for why in _wrong_in_generation(generation))
    longest = max(record.generations, key=lambda g: len(g.attempts)).attempts[-1].number
    if not _NAME.match(record.name):
        yield "its name is not one that a run can have"
    if len(run_name(record.name, record.fingerprint, longest)) > NAME_LIMIT:
        yield f"its name is too long: a run's has at most {NAME_LIMIT} characters"


def _wrong_in_generation(generation: Generation) -> Iterator[str]:
    for name in _AMOUNTS:
        if (why := _amount(getattr(generation, name))) is not None:
            yield f"`{name}` is {why}"
    attempts = generation.attempts
    if not attempts:
        yield "it has no attempt"
        return
    if [attempt.number for attempt in attempts] != list(range(1, len(attempts) + 1)):
        yield "its attempts are not numbered from 1"
    if len(attempts) > 1 + generation.retries:
        yield f"it has {len(attempts)} attempts, and {generation.retries} retries were reserved for"
    if generation.gpu_hours < generation.bound * (1 + generation.retries) - TOLERANCE:
        yield f"{generation.gpu_hours:g} GPU hours are fewer than its attempts can take"
    for attempt in attempts:
        yield from (f"attempt {attempt.number}: {why}" for why in _wrong_in_attempt(attempt))
    for attempt in attempts[:-1]:
        if (why := _not_to_be_retried(attempt)) is not None:
            yield f"attempt {attempt.number} {why}, and another follows"
    before = sum(attempt.over.gpu_hours for attempt in attempts[:-1] if attempt.over)
    if before + generation.bound > generation.gpu_hours + TOLERANCE:
        yield f"attempt {len(attempts)} can take more than was left of the reservation"
    yield from _wrong_in_close(generation)


def _wrong_in_attempt(attempt: Attempt) -> Iterator[str]:
    if attempt.deadline <= attempt.reserved_at:
        yield "its deadline is not after its reservation"
    if attempt.submitted_at is None and (attempt.over or attempt.cancel):
        yield "it ended, or was asked to end, and was never submitted"
    if attempt.over is not None and (why := _amount(attempt.over.gpu_hours)) is not None:
        yield f"`over.gpu_hours` is {why}"


def _not_to_be_retried(attempt: Attempt) -> str | None:
    if attempt.over is None:
        return "is not over"
    if not attempt.over.preempted:
        return "was not preempted"
    return "was asked to end" if attempt.stop or attempt.cancel else None


def _wrong_in_close(generation: Generation) -> Iterator[str]:
    closed, last = generation.closed, generation.attempts[-1]
    if closed is None:
        return
    if closed.how == "released":
        if len(generation.attempts) > 1 or last.submitted_at is not None:
            yield "it was released, and is not unused"
        if closed.gpu_hours or not closed.exact or closed.outcome is not None:
            yield "it was released, and something came of it"
        return
    running = last.submitted_at is not None and last.over is None
    came_to = generation.spent + (generation.bound if running else 0.0)
    if not abs(closed.gpu_hours - came_to) <= TOLERANCE:
        yield f"{closed.gpu_hours:g} GPU hours are settled, and its attempts came to {came_to:g}"


def _amount(value: float) -> str | None:
    """Return why a number is no amount."""
    if not isfinite(value):
        return "not finite"
    return "negative" if value < 0 else None


def _generation_follows(old: Generation, new: Generation) -> str:
    for field in fields(Generation):
        if field.name not in _GROWING and getattr(old, field.name) != getattr(new, field.name):
            return f"`{field.name}` of a reservation is changed"
    if old.closed is not None:
        return "" if new == old else f"it was {old.closed.how}, and says something else now"
    count = len(old.attempts)
    if new.attempts[: count - 1] != old.attempts[:-1] or len(new.attempts) < count:
        return "what an earlier attempt said is changed"
    was, now = old.attempts[-1], new.attempts[count - 1]
    if len(new.attempts) == count:
        again = new.closed is None and _prepared_again(was, now)
        return "" if again else _attempt_follows(was, now)
    if was.over is None:
        return f"attempt {count + 1} was made before attempt {count} was over"
    if now != was or new.closed is not None or len(new.attempts) > count + 1:
        return "more came to it at once than another attempt"
    alone = replace(new, attempts=new.attempts[-1:])
    return "" if _bare(alone) else "another attempt says more than that it is prepared"


def _attempt_follows(old: Attempt, new: Attempt) -> str:
    which = f"of attempt {old.number} is changed"
    for name in ("number", "record", "reserved_at", "deadline"):
        if getattr(old, name) != getattr(new, name):
            return f"`{name}` {which}"
    for name in _ONCE:
        if (was := getattr(old, name)) is not None and getattr(new, name) != was:
            return f"`{name}` {which}"
    if new.failures[: len(old.failures)] != old.failures:
        return f"a failure {which}"
    if len(new.failures) > len(old.failures) and old.submitted_at is not None:
        return f"attempt {old.number} failed to be submitted after it was"
    if old.over is not None and new.cancel != old.cancel:
        return f"attempt {old.number} was asked to end after it was over"
    return ""


def _prepared_again(old: Attempt, new: Attempt) -> bool:
    """Whether `new` is the same retry with a new deadline: it was not submitted before the old."""
    fresh = replace(old, record=new.record, reserved_at=new.reserved_at, deadline=new.deadline)
    unused = old.number > 1 and old.submitted_at is None and old.stop is None
    return unused and new == fresh and new.reserved_at > old.deadline + MARGIN


def _bare(generation: Generation) -> bool:
    """Whether it is a reservation and nothing else yet."""
    only = generation.attempts[0]
    plain = Attempt(only.number, only.record, only.reserved_at, only.deadline)
    return generation.closed is None and generation.attempts == (plain,)


def _late(released: Generation, new: Generation) -> bool:
    """Whether `new` is a reservation that was released, charged again as its run showed up."""
    shown = new.attempts[0].submitted_at is not None
    return shown and not _generation_follows(replace(released, closed=None), new)

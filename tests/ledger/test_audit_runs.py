"""What the record of one run may say, and what may come to what it said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.ledger.audit_runs import follows, sets_aside, sound
from controller.ledger.records import (
    DEADLINE,
    MARGIN,
    Attempt,
    CancelAsked,
    Closed,
    Failure,
    Generation,
    Outcome,
    Over,
    RunRecord,
    Stop,
    failed,
    released,
    settled,
    stopped,
    submitted,
    tried_again,
)
from controller.ledger.records import over as ended
from controller.values import AdmissionId, Digest, Fingerprint, RepoPath
from tests.builders import BEFORE, NOW, record
from tests.ledger.audit_story import MINUTE

Change = Callable[[RunRecord], RunRecord]
LATER = NOW + MINUTE
PREEMPTED = Over("Failed", 32.0, exact=True, preempted=True)
FAILURE = Failure(NOW, "quota", refused=True)
STOP = Stop(NOW, "enough", "ada")
CANCEL = CancelAsked(NOW, "expired", "it expired")


def attempt(number: int = 1, **changes: Any) -> Attempt:
    return replace(Attempt(number, Digest("sha256:1"), BEFORE, BEFORE + DEADLINE), **changes)


RESERVED = record(attempts=(attempt(),))
"""Two nodes of eight GPUs for thirty hours, with one retry: 960 GPU hours."""
SUBMITTED = submitted(RESERVED, NOW)
OVER = ended(SUBMITTED, PREEMPTED)
RETRY = tried_again(OVER, attempt(2))
AGAIN = submitted(RETRY, NOW)
SETTLED = settled(ended(AGAIN, Over("Completed", 8.0, exact=True)), NOW, "why", exact=True)
RELEASED = released(RESERVED, NOW, "why")
LATE = submitted(RELEASED, NOW)
FRESH = attempt(record=Digest("sha256:2"), reserved_at=NOW, deadline=NOW + DEADLINE)
ANOTHER = replace(
    RELEASED,
    generations=(*RELEASED.generations, replace(RELEASED.last, attempts=(FRESH,), closed=None)),
)
SOUND = {
    "reserved": RESERVED,
    "failed": failed(RESERVED, FAILURE),
    "stopped": stopped(RESERVED, STOP),
    "submitted": SUBMITTED,
    "over": OVER,
    "a retry": RETRY,
    "submitted again": AGAIN,
    "settled": SETTLED,
    "settled at its bound": settled(SUBMITTED, NOW, "why", exact=False),
    "a retry settled unused": settled(RETRY, NOW, "why", exact=True),
    "a retry settled at its bound": settled(AGAIN, NOW, "why", exact=False),
    "released": RELEASED,
    "late": LATE,
    "reserved again": ANOTHER,
    "an overrun": ended(SUBMITTED, replace(PREEMPTED, gpu_hours=2000.0)),
}


def generation(**changes: Any) -> Change:
    """Return what changes fields of the reservation that counts."""
    return lambda r: replace(r, generations=(*r.generations[:-1], replace(r.last, **changes)))


def first(**changes: Any) -> Change:
    """Return what changes fields of the first attempt."""

    def change(r: RunRecord) -> RunRecord:
        one, *more = r.last.attempts
        return generation(attempts=(replace(one, **changes), *more))(r)

    return change


def last(**changes: Any) -> Change:
    """Return what changes fields of the last attempt."""

    def change(r: RunRecord) -> RunRecord:
        *before, one = r.last.attempts
        return generation(attempts=(*before, replace(one, **changes)))(r)

    return change


def closed(**changes: Any) -> Change:
    def change(r: RunRecord) -> RunRecord:
        assert r.last.closed is not None
        return generation(closed=replace(r.last.closed, **changes))(r)

    return change


def added(*new: Generation) -> Change:
    return lambda r: replace(r, generations=(*r.generations, *new))


UNSOUND = {
    "a short fingerprint": (
        RESERVED,
        lambda r: replace(r, fingerprint=Fingerprint("ab")),
        "its fingerprint is not 64 hex digits",
    ),
    "no reservation": (RESERVED, lambda r: replace(r, generations=()), "it has no reservation"),
    "no attempt": (RESERVED, generation(attempts=()), "it has no attempt"),
    "a name that leaves its folder": (
        RESERVED,
        lambda r: replace(r, name="../x"),
        "its name is not one that a run can have",
    ),
    "a name that is too long": (RETRY, lambda r: replace(r, name="x" * 240), "name is too long"),
    "two reservations at once": (RESERVED, added(RESERVED.last), "not released is followed"),
    "a reservation after settling": (SETTLED, added(RESERVED.last), "not released is followed"),
    "fewer nodes than none": (RESERVED, generation(nodes=-2), "`nodes` is negative"),
    "fewer GPUs than none": (RESERVED, generation(gpus_per_node=-8), "`gpus_per_node` is negat"),
    "a time limit before the start": (RESERVED, generation(timeout=-1), "`timeout` is negative"),
    "fewer retries than none": (RESERVED, generation(retries=-1), "`retries` is negative"),
    "fewer hours than none": (RESERVED, generation(gpu_hours=-960.0), "`gpu_hours` is negative"),
    "hours without end": (
        RESERVED,
        generation(gpu_hours=float("inf")),
        "`gpu_hours` is not finite",
    ),
    "hours that are no number": (
        RESERVED,
        generation(gpu_hours=float("nan")),
        "`gpu_hours` is not finite",
    ),
    "too few hours": (
        RESERVED,
        generation(gpu_hours=959.9),
        "959.9 GPU hours are fewer than its attempts can take",
    ),
    "a first attempt that is the second": (RESERVED, last(number=2), "not numbered from 1"),
    "a second attempt that is the third": (RETRY, last(number=3), "not numbered from 1"),
    "more attempts than reserved for": (
        RETRY,
        generation(retries=0),
        "it has 2 attempts, and 0 retries were reserved for",
    ),
    "a deadline at once": (
        RESERVED,
        last(deadline=BEFORE),
        "attempt 1: its deadline is not after its reservation",
    ),
    "an end without a beginning": (OVER, last(submitted_at=None), "was never submitted"),
    "a request without a run": (RESERVED, last(cancel=CANCEL), "was never submitted"),
    "less than nothing used": (
        OVER,
        last(over=replace(PREEMPTED, gpu_hours=-1.0)),
        "attempt 1: `over.gpu_hours` is negative",
    ),
    "a retry of what goes on": (RETRY, first(over=None), "attempt 1 is not over, and another"),
    "a retry of what failed": (
        RETRY,
        first(over=replace(PREEMPTED, preempted=False)),
        "attempt 1 was not preempted, and another follows",
    ),
    "a retry of what was stopped": (RETRY, first(stop=STOP), "attempt 1 was asked to end"),
    "a retry of what was cancelled": (RETRY, first(cancel=CANCEL), "attempt 1 was asked to end"),
    "a retry of what took everything": (
        RETRY,
        first(over=replace(PREEMPTED, gpu_hours=480.1)),
        "attempt 2 can take more than was left of the reservation",
    ),
    "released and used": (RELEASED, last(submitted_at=NOW), "it was released, and is not unused"),
    "a retry released": (
        RETRY,
        generation(closed=Closed("released", NOW, "why")),
        "it was released, and is not unused",
    ),
    "released for hours": (RELEASED, closed(gpu_hours=1.0), "and something came of it"),
    "released by estimate": (RELEASED, closed(exact=False), "and something came of it"),
    "released with a model": (RELEASED, closed(outcome=Outcome("m")), "and something came of it"),
    "settled for less": (
        SETTLED,
        closed(gpu_hours=39.9),
        "39.9 GPU hours are settled, and its attempts came to 40",
    ),
    "settled for nothing while it runs": (
        settled(SUBMITTED, NOW, "why", exact=False),
        closed(gpu_hours=0.0),
        "0 GPU hours are settled, and its attempts came to 480",
    ),
    "settled for no number": (SETTLED, closed(gpu_hours=float("nan")), "nan GPU hours are settled"),
}


@pytest.mark.parametrize("record", SOUND.values(), ids=SOUND)
def test_what_the_steps_make_is_sound(record: RunRecord) -> None:
    assert sound(record) == ""


@pytest.mark.parametrize(("before", "change", "why"), UNSOUND.values(), ids=UNSOUND)
def test_what_they_cannot_make_is_not(before: RunRecord, change: Change, why: str) -> None:
    assert sound(before) == ""
    assert why in sound(change(before))


def test_which_reservation_is_wrong_is_said_where_there_are_several() -> None:
    assert sound(last(number=2)(ANOTHER)).startswith("reservation 2: its attempts")


AFTER = BEFORE + DEADLINE + MARGIN + MINUTE
PREPARED = tried_again(
    RETRY, attempt(2, record=Digest("sha256:4"), reserved_at=AFTER, deadline=AFTER + DEADLINE)
)
STEPS = {
    "it is reserved": (None, RESERVED),
    "it fails": (RESERVED, failed(RESERVED, FAILURE)),
    "it fails again": (
        failed(RESERVED, FAILURE),
        failed(failed(RESERVED, FAILURE), replace(FAILURE, at=LATER)),
    ),
    "it is stopped": (SUBMITTED, stopped(SUBMITTED, STOP)),
    "it is stopped when it is over": (OVER, stopped(OVER, STOP)),
    "it is submitted": (RESERVED, SUBMITTED),
    "it is over": (SUBMITTED, OVER),
    "it is asked to end": (SUBMITTED, last(cancel=CANCEL)(SUBMITTED)),
    "it is tried again": (OVER, RETRY),
    "it is submitted again": (RETRY, AGAIN),
    "a retry is prepared again": (RETRY, PREPARED),
    "a retry that failed is prepared again": (
        failed(RETRY, FAILURE),
        last(failures=(FAILURE,))(PREPARED),
    ),
    "everything at once": (AGAIN, SETTLED),
    "it is settled at its bound": (SUBMITTED, settled(SUBMITTED, NOW, "why", exact=False)),
    "it is released": (RESERVED, RELEASED),
    "it is reserved again": (RELEASED, ANOTHER),
    "it shows up late": (RELEASED, LATE),
    "it shows up late, and is over": (RELEASED, ended(LATE, PREEMPTED)),
    "nothing": (AGAIN, AGAIN),
}
WHOLE = replace(SETTLED, name="other")
CHANGED = {
    "begun as submitted": (None, SUBMITTED, "does not begin with a reservation, and nothing else"),
    "begun with two": (None, ANOTHER, "does not begin with a reservation, and nothing else"),
    "begun as released": (None, RELEASED, "does not begin with a reservation"),
    "another name": (SETTLED, WHOLE, "it was the record of `bert-pretrain-"),
    "another fingerprint": (
        SETTLED,
        replace(SETTLED, fingerprint=Fingerprint("0" * 64)),
        "it was the record of `bert-pretrain-",
    ),
    "a reservation less": (ANOTHER, RELEASED, "a reservation is not there any more"),
    "an earlier reservation changed": (
        ANOTHER,
        replace(ANOTHER, generations=(closed(why="no")(RELEASED).last, ANOTHER.last)),
        "what an earlier reservation said is changed",
    ),
    "two reservations more": (
        RELEASED,
        added(replace(ANOTHER.last, closed=RELEASED.last.closed), ANOTHER.last)(RELEASED),
        "more came to it at once than another reservation",
    ),
    "released and reserved again at once": (
        RESERVED,
        ANOTHER,
        "more came to it at once than another reservation",
    ),
    "reserved again after it was settled": (
        SETTLED,
        added(RESERVED.last)(SETTLED),
        "another reservation was made while the one before was settled",
    ),
    "reserved and submitted at once": (
        RELEASED,
        last(submitted_at=NOW)(ANOTHER),
        "another reservation says more than a reservation",
    ),
    "late with a stop only": (
        RELEASED,
        added(stopped(RESERVED, STOP).last)(RELEASED),
        "another reservation says more than a reservation",
    ),
    "a closed one changed": (SETTLED, closed(why="no")(SETTLED), "it was settled, and says"),
    "a closed one opened": (SETTLED, generation(closed=None)(SETTLED), "it was settled, and says"),
    "a released one submitted": (
        RELEASED,
        last(submitted_at=NOW)(RELEASED),
        "it was released, and says something else now",
    ),
    "an attempt less": (AGAIN, OVER, "what an earlier attempt said is changed"),
    "an earlier attempt changed": (
        AGAIN,
        first(reserved_at=NOW)(AGAIN),
        "what an earlier attempt said is changed",
    ),
    "a retry before the end": (
        SUBMITTED,
        RETRY,
        "attempt 2 was made before attempt 1 was over",
    ),
    "a retry and its submission at once": (OVER, AGAIN, "another attempt says more than"),
    "a retry and a stop at once": (
        OVER,
        first(stop=STOP)(RETRY),
        "more came to it at once than another attempt",
    ),
    "a retry and its end at once": (
        OVER,
        generation(closed=Closed("settled", NOW, "why", 32.0))(RETRY),
        "more came to it at once than another attempt",
    ),
    "two retries at once": (
        generation(retries=2, gpu_hours=1440.0)(OVER),
        generation(retries=2, gpu_hours=1440.0, attempts=(*RETRY.last.attempts, attempt(3)))(OVER),
        "more came to it at once than another attempt",
    ),
    "another number": (SUBMITTED, last(number=2)(SUBMITTED), "`number` of attempt 1 is changed"),
    "another admission record": (
        RESERVED,
        last(record=Digest("sha256:3"))(RESERVED),
        "`record` of attempt 1 is changed",
    ),
    "another time of reservation": (
        RESERVED,
        last(reserved_at=BEFORE - MINUTE)(RESERVED),
        "`reserved_at` of attempt 1 is changed",
    ),
    "a longer deadline": (RESERVED, last(deadline=NOW)(RESERVED), "`deadline` of attempt 1 is"),
    "a retry prepared again too early": (
        RETRY,
        last(reserved_at=AFTER - MINUTE)(PREPARED),
        "`record` of attempt 2 is changed",
    ),
    "a retry prepared again and submitted at once": (
        RETRY,
        submitted(PREPARED, AFTER),
        "`record` of attempt 2 is changed",
    ),
    "a retry prepared again and closed at once": (
        RETRY,
        settled(PREPARED, AFTER, "why", exact=True),
        "`record` of attempt 2 is changed",
    ),
    "a retry prepared again without its failure": (
        failed(RETRY, FAILURE),
        PREPARED,
        "`record` of attempt 2 is changed",
    ),
    "a retry prepared again after it was submitted": (
        AGAIN,
        last(submitted_at=NOW)(PREPARED),
        "`record` of attempt 2 is changed",
    ),
    "a retry prepared again after it was stopped": (
        stopped(RETRY, STOP),
        stopped(PREPARED, STOP),
        "`record` of attempt 2 is changed",
    ),
    "a first attempt prepared again": (
        RESERVED,
        last(record=Digest("sha256:4"), reserved_at=AFTER, deadline=AFTER + DEADLINE)(RESERVED),
        "`record` of attempt 1 is changed",
    ),
    "another submission": (SUBMITTED, submitted(RESERVED, LATER), "`submitted_at` of attempt 1"),
    "no submission": (SUBMITTED, RESERVED, "`submitted_at` of attempt 1 is changed"),
    "another stop": (
        stopped(SUBMITTED, STOP),
        stopped(SUBMITTED, replace(STOP, by="eve")),
        "`stop` of attempt 1 is changed",
    ),
    "no stop": (stopped(SUBMITTED, STOP), SUBMITTED, "`stop` of attempt 1 is changed"),
    "another request to end": (
        last(cancel=CANCEL)(SUBMITTED),
        last(cancel=replace(CANCEL, cause="eve"))(SUBMITTED),
        "`cancel` of attempt 1 is changed",
    ),
    "another end": (
        OVER,
        ended(SUBMITTED, replace(PREEMPTED, gpu_hours=1.0)),
        "`over` of attempt 1 is changed",
    ),
    "no end": (OVER, SUBMITTED, "`over` of attempt 1 is changed"),
    "a failure less": (failed(RESERVED, FAILURE), RESERVED, "a failure of attempt 1 is changed"),
    "another failure": (
        failed(RESERVED, FAILURE),
        failed(RESERVED, replace(FAILURE, refused=False)),
        "a failure of attempt 1 is changed",
    ),
    "a failure after the submission": (
        SUBMITTED,
        last(failures=(FAILURE,))(SUBMITTED),
        "attempt 1 failed to be submitted after it was",
    ),
    "a request to end what is over": (
        OVER,
        last(cancel=CANCEL)(OVER),
        "attempt 1 was asked to end after it was over",
    ),
}
FIXED = {
    "admission": AdmissionId("other"),
    "path": RepoPath("jobs/other.yml"),
    "blob": "00" * 20,
    "workspace": "elsewhere",
    "nodes": 1,
    "gpus_per_node": 4,
    "timeout": 60,
    "retries": 0,
    "gpu_hours": 961.0,
}


@pytest.mark.parametrize(("old", "new"), STEPS.values(), ids=STEPS)
def test_what_was_said_may_be_added_to(old: RunRecord | None, new: RunRecord) -> None:
    assert sound(new) == ""
    assert follows(old, new) == ""


@pytest.mark.parametrize(("old", "new", "why"), CHANGED.values(), ids=CHANGED)
def test_and_not_be_changed(old: RunRecord | None, new: RunRecord, why: str) -> None:
    assert why in follows(old, new)


@pytest.mark.parametrize(("name", "value"), FIXED.items(), ids=FIXED)
def test_nothing_of_a_reservation_may_be_changed(name: str, value: Any) -> None:
    changed = generation(**{name: value})(RESERVED)
    assert follows(RESERVED, changed) == f"`{name}` of a reservation is changed"


def test_every_field_of_a_reservation_was_tried() -> None:
    grow = {"attempts", "closed"}
    assert {*FIXED, *grow} == {*Generation.__dataclass_fields__}


def test_hours_are_set_aside_by_a_reservation_that_is_not_of_a_run_that_shows_up_late() -> None:
    assert sets_aside(None, RESERVED)
    assert sets_aside(RELEASED, ANOTHER)
    assert not sets_aside(RELEASED, LATE)
    assert not sets_aside(RESERVED, SUBMITTED)
    assert not sets_aside(RESERVED, failed(RESERVED, FAILURE))
    assert not sets_aside(OVER, RETRY)

"""Whatever the steps write is sound, in any order; and no word of a run's file may change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.ledger.audit import audit
from controller.ledger.audit_trail import trail_at
from controller.ledger.book import wanted
from controller.ledger.records import RunRecord
from controller.ledger.store import Step
from controller.values import CommitId, canonical_json
from tests.builders import NOW
from tests.ledger.audit_story import MINUTE, Story, fingerprint, key, told

NAMES = ("one", "two", "three", "four")
HOURS = st.sampled_from([0.0, 0.25, 1 / 3, 16.0, 17.5, 40.0])
MOVES = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(NAMES), HOURS, st.booleans()), max_size=60
)


def moves_of(story: Story, name: str, hours: float, preempted: bool) -> list[Callable[[], None]]:
    """Return every step that a run may take from where it is."""
    record = story.draft.record(name, fingerprint(name))
    if record is None:
        return [lambda: reserve(story, name)]
    end, done = story.over(hours, preempted=preempted), story.settled
    found: list[Callable[[], None]] = []
    match record.stage:
        case "reserved":
            found = [lambda: story.submit(name), lambda: story.fail(name)]
            found += [lambda: story.put("run", name, story.submitted, end)]
            found += [lambda: story.put("run", name, story.submitted, end, done)]
            found += [lambda: story.stop(name), lambda: story.settle(name)]
            if record.attempts == 1:
                found += [lambda: story.release(name)]
            elif record.attempt.stop is None:
                found += [lambda: story.again(name)]
        case "submitted":
            found = [lambda: story.cancel(name), lambda: story.stop(name)]
            found += [lambda: story.end(name, hours, preempted=preempted)]
            found += [lambda: story.settle(name), lambda: story.put("run", name, end, done)]
        case "over":
            found = [lambda: story.settle(name), lambda: story.stop(name)]
            if may_retry(record):
                found += [lambda: story.again(name)] * 4
        case "released":
            found = [lambda: reserve(story, name), lambda: story.submit(name)]
            found += [lambda: story.put("late", name, story.submitted, end, done)]
        case "settled":
            found = []
    return found


def may_retry(record: RunRecord) -> bool:
    attempt, last = record.attempt, record.last
    assert attempt.over is not None
    wanted = attempt.over.preempted and not attempt.stop and not attempt.cancel
    return wanted and record.attempts <= last.retries and last.spent + last.bound <= last.gpu_hours


def reserve(story: Story, name: str) -> None:
    """Set hours aside where they are free, as a pass would."""
    admission = {"one": "digits", "two": "digits"}.get(name, "other")
    story.admit(admission, 80.0)
    charged = [r for r in story.draft.records if r.admission == admission]
    if sum(r.charged for r in charged) + 32.0 <= 80.0:
        story.reserve(name, admission)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(MOVES)
def test_what_the_steps_write_in_any_order_is_sound(
    moves: list[tuple[int, str, float, bool]],
) -> None:
    story = Story()
    for which, name, hours, preempted in moves:
        if possible := moves_of(story, name, hours, preempted):
            possible[which % len(possible)]()
        story.now += MINUTE
    steps = story.steps
    found = audit(steps)
    assert found.broken is None, found.broken
    assert found.totals.commits == len(steps)
    assert found.totals.runs == len(story.draft.records)


TOLD = told()
PAGES = TOLD.ledger.read(wanted)
RUNS = sorted(path for path in PAGES.files if path.startswith("runs/"))
OTHERWISE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just([]), st.just({})
)


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value, those that have others in them included."""
    if place:
        yield place
    items: Any = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for name, inside in items:
        yield from leaves(inside, (*place, name))


@settings(max_examples=600, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(RUNS), st.randoms(use_true_random=False), OTHERWISE, st.booleans())
def test_no_word_of_a_run_may_change_or_go(path: str, random: Any, new: Any, gone: bool) -> None:
    content = PAGES.files[path]
    assert content is not None
    said = json.loads(content)
    *outer, name = random.choice(list(leaves(said)))
    inside = said
    for part in outer:
        inside = inside[part]
    if gone:
        del inside[name]
    else:
        inside[name] = nudged(inside[name], new)
    changed = spelled(said)
    if changed == content:
        return
    forged = Step(CommitId("f" * 40), (PAGES.head,), NOW, "forged", {path: changed})
    broken = audit([forged], trail_at(PAGES, 1)).broken
    assert broken is not None, changed
    assert (broken.commit, broken.path) == (forged.commit, path)


def nudged(value: Any, new: Any) -> Any:
    """Return another value: of the same kind where it is one, so that it is not only malformed."""
    match value:
        case bool():
            return not value
        case int() | float() if isinstance(new, int | float):
            return value + new
        case str() if isinstance(new, str):
            return value[: len(value) // 2] + new + value[len(value) // 2 + 1 :]
        case _:
            return new


def spelled(said: Any) -> bytes:
    try:
        return canonical_json(said) + b"\n"
    except (ValueError, UnicodeEncodeError):
        return json.dumps(said).encode()


def test_the_runs_that_are_changed_are_there() -> None:
    assert sorted(key(name) for name in NAMES) == RUNS

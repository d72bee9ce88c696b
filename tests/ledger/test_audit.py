"""What breaks the ledger is found, in the commit that did it; what the writer writes is sound."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

import pytest

from controller.ledger.audit import Audited, Totals, audit
from controller.ledger.audit_trail import trail_at
from controller.ledger.book import Decision, Heartbeat, Trust, wanted
from controller.ledger.codec import decoded, encoded
from controller.ledger.records import RunRecord
from controller.ledger.store import Change, Pages, Step
from controller.values import CommitId, canonical_json, sha256
from tests.builders import NOW
from tests.fake_ledger import MemoryLedger
from tests.ledger.audit_story import (
    MINUTE,
    OTHER,
    ROOT,
    Story,
    grounds,
    key,
    record_at,
    told,
)

ONE, TWO, THREE = key("one"), key("two"), key("three")


@dataclass(frozen=True)
class Forgery:
    """One commit of a sound ledger made otherwise: which (by its title), how, and what is said."""

    title: str
    forge: Callable[[Step], Step]
    path: str
    why: str


@cache
def _told() -> tuple[Step, ...]:
    return tuple(told().steps)


def story() -> list[Step]:
    return list(_told())


def found(steps: list[Step]) -> Audited:
    return audit(steps)


def forged(forgery: Forgery) -> tuple[list[Step], Step]:
    """Return the ledger with the last commit of that title forged."""
    steps = story()
    at = max(i for i, step in enumerate(steps) if step.title.startswith(forgery.title))
    steps[at] = forgery.forge(steps[at])
    return steps, steps[at]


def having(**files: bytes | None) -> Callable[[Step], Step]:
    return lambda step: replace(step, files={**step.files, **files})


def without(path: str) -> Callable[[Step], Step]:
    return lambda step: replace(
        step, files={p: content for p, content in step.files.items() if p != path}
    )


def saying(path: str, *keys: str | int, value: Any) -> Callable[[Step], Step]:
    """Return what changes one value of a file that the commit has."""

    def forge(step: Step) -> Step:
        content = step.files[path]
        assert content is not None
        said = json.loads(content)
        place = said
        for part in keys[:-1]:
            place = place[part]
        assert place.get(keys[-1]) != value
        place[keys[-1]] = value
        return having(**{path: canonical_json(said) + b"\n"})(step)

    return forge


def file_of(step: Step, path: str) -> Any:
    content = step.files[path]
    assert content is not None
    return json.loads(content)


def moved(path: str, to: str) -> Callable[[Step], Step]:
    return lambda step: without(path)(having(**{to: step.files[path]})(step))


def both(*forging: Callable[[Step], Step]) -> Callable[[Step], Step]:
    def forge(step: Step) -> Step:
        for do in forging:
            step = do(step)
        return step

    return forge


def stretched(step: Step) -> Step:
    return replace(step, parents=(*step.parents, CommitId("1" * 40)))


def record_of(step: Step) -> str:
    return next(path for path in step.files if path.startswith("records/"))


def early(step: Step) -> Step:
    beat = Heartbeat(NOW - MINUTE, ROOT, "local:here", "1")
    return having(**{"heartbeat.json": encoded(beat)})(step)


def in_story(prefix: str) -> tuple[str, bytes]:
    """Return a file that the ledger has, by how its path begins."""
    for step in story():
        for path, content in step.files.items():
            if path.startswith(prefix) and content is not None:
                return path, content
    raise AssertionError(prefix)


def altered(prefix: str) -> Callable[[Step], Step]:
    """Return what writes again, otherwise, a file that an earlier commit has written."""
    path, content = in_story(prefix)
    return having(**{path: content.replace(b"ada", b"eve").replace(b"lin", b"eve")})


ORDER, _ = in_story("orders/")
PROOF, _ = in_story("proofs/")
RECORD, GROUNDS = in_story(ONE.replace("runs/", "records/").replace(".json", "/"))
NEARLY = sha256(GROUNDS)[:19] + "0" * 52
FORGERIES = {
    "two parents": Forgery("submit one", stretched, "", "it has 2 parents"),
    "another history": Forgery(
        "submit one", lambda s: replace(s, parents=()), "", "does not follow the commit before"
    ),
    "a commit left out": Forgery(
        "submit one",
        lambda s: replace(s, parents=(CommitId("1" * 40),)),
        "",
        "does not follow the commit before",
    ),
    "a beginning with a parent": Forgery(
        "begin", lambda s: replace(s, parents=(ROOT,)), "", "first commit of the ledger, and has a"
    ),
    "a beginning without trust": Forgery(
        "begin", without("ledger.json"), "", "has no `ledger.json`"
    ),
    "a beginning without a heartbeat": Forgery(
        "begin", without("heartbeat.json"), "", "has no `heartbeat.json`"
    ),
    "a file of another kind": Forgery(
        "submit one", having(README=b"hello"), "README", "is no file of a ledger"
    ),
    "a folder of another kind": Forgery(
        "submit one", having(**{"jobs/x.json": b"{}"}), "jobs/x.json", "is no file of a ledger"
    ),
    "a removed file": Forgery("submit one", having(**{PROOF: None}), PROOF, "was removed"),
    "a removed run": Forgery("submit one", having(**{ONE: None}), ONE, "was removed"),
    "another spelling": Forgery(
        "submit one",
        lambda s: having(**{ONE: (s.files[ONE] or b"") + b"\n"})(s),
        ONE,
        "is damaged: it is not in its one canonical spelling",
    ),
    "no JSON": Forgery("submit one", having(**{ONE: b"{"}), ONE, "is damaged: it is not JSON"),
    "a lone surrogate": Forgery(
        "submit one", having(**{ONE: b'{"schema":1,"name":"\\ud800"}\n'}), ONE, "is damaged"
    ),
    "a number beyond all": Forgery(
        "end one",
        saying(ONE, "generations", 0, "gpu_hours", value=10**400),
        ONE,
        "is damaged",
    ),
    "a number for a record": Forgery(
        "settle one", saying(ONE, "generations", 0, "closed", value=5), ONE, "is damaged"
    ),
    "a field that is none": Forgery(
        "submit one", saying(ONE, "colour", value="red"), ONE, "has no `colour`"
    ),
    "trust without an order": Forgery(
        "submit one",
        having(**{"ledger.json": encoded(Trust(OTHER, NOW, "eve"))}),
        "ledger.json",
        "no order `trust` came with it",
    ),
    "trust with another order": Forgery(
        "ada orders max-cancels",
        having(**{"ledger.json": encoded(Trust(OTHER, NOW, "eve"))}),
        "ledger.json",
        "no order `trust` came with it",
    ),
    "an altered order": Forgery("run four", altered("orders/"), ORDER, "may be written only once"),
    "an altered proof": Forgery("run four", altered("proofs/"), PROOF, "may be written only once"),
    "an altered admission record": Forgery(
        "run four", having(**{RECORD: grounds("one", "other")}), RECORD, "only once"
    ),
    "an order elsewhere": Forgery(
        "ada orders max-cancels", moved(ORDER, "orders/x.json"), "orders/x.json", f"it is `{ORDER}`"
    ),
    "a proof elsewhere": Forgery(
        "reserve one", moved(PROOF, "proofs/x.json"), "proofs/x.json", f"it is `{PROOF}`"
    ),
    "an account elsewhere": Forgery(
        "submit one",
        having(**{"admissions/x.json": in_story("admissions/digits")[1]}),
        "admissions/x.json",
        "it says that it is `admissions/digits.json`",
    ),
    "a decision elsewhere": Forgery(
        "decide: withhold",
        moved("decisions/jobs/one.yml.json", "decisions/x.json"),
        "decisions/x.json",
        "it says that it is `decisions/jobs/one.yml.json`",
    ),
    "a run elsewhere": Forgery(
        "reserve one", moved(ONE, "runs/x.json"), "runs/x.json", f"it says that it is `{ONE}`"
    ),
    "an admission record elsewhere": Forgery(
        "reserve one", moved(RECORD, "records/x.json"), "records/x.json", "is the admission record"
    ),
    "an admission record of nothing": Forgery(
        "reserve one", having(**{RECORD: b"{}\n"}), RECORD, "it is not an admission record"
    ),
    "an admission record in another spelling": Forgery(
        "reserve one",
        lambda s: having(**{RECORD: b" " + (s.files[RECORD] or b"")})(s),
        RECORD,
        "one canonical spelling",
    ),
    "an admission record of another attempt": Forgery(
        "reserve one", saying(RECORD, "attempt", value=2), RECORD, "it is the admission record of"
    ),
    "an admission record that names another run": Forgery(
        "reserve one", saying(RECORD, "run", value="two-1"), RECORD, "admission record of `two-1`"
    ),
    "an admission record of another payload": Forgery(
        "reserve one",
        saying(RECORD, "payload", value={"job": "eve"}),
        RECORD,
        "its payload has another fingerprint",
    ),
    "an admission record that is not the one": Forgery(
        "reserve one",
        saying(RECORD, "admission", value="other"),
        RECORD,
        "another digest than its name",
    ),
    "a run that names a record of nearly that digest": Forgery(
        "reserve one",
        saying(ONE, "generations", 0, "attempts", 0, "record", value=NEARLY),
        ONE,
        "is not the admission record that it names",
    ),
    "a run that names no record": Forgery(
        "reserve one",
        saying(ONE, "generations", 0, "attempts", 0, "record", value=sha256(b"eve")),
        ONE,
        "its admission record, is not there",
    ),
    "no admission record": Forgery("reserve one", without(RECORD), ONE, "record, is not there"),
    "a retry without an admission record": Forgery(
        "prepare one", lambda s: without(record_of(s))(s), ONE, "record, is not there"
    ),
    "a charge to another admission": Forgery(
        "reserve one",
        both(saying(ONE, "generations", 0, "admission", value="other")),
        ONE,
        "it is charged to `other`, and its admission record is about `digits`",
    ),
    "a run that cannot be": Forgery(
        "settle one",
        saying(ONE, "generations", 0, "closed", "gpu_hours", value=1.0),
        ONE,
        "1 GPU hours are settled, and its attempts came to 12",
    ),
    "a run that does not follow": Forgery(
        "submit one",
        saying(ONE, "generations", 0, "path", value="jobs/eve.yml"),
        ONE,
        "`path` of a reservation is changed",
    ),
    "fewer hours used": Forgery(
        "settle one",
        saying("admissions/digits.json", "used", value=11.0),
        "admissions/digits.json",
        "it says that 11 GPU hours are used and 0 set aside; its runs come to 12 and 0",
    ),
    "fewer hours set aside": Forgery(
        "reserve one",
        saying("admissions/digits.json", "reserved", value=31.99),
        "admissions/digits.json",
        "31.99 set aside; its runs come to 0 and 32",
    ),
    "an account left as it was": Forgery(
        "reserve one",
        without("admissions/digits.json"),
        "admissions/digits.json",
        "0 set aside; its runs come to 0 and 32",
    ),
    "an account changed by itself": Forgery(
        "see digits",
        saying("admissions/digits.json", "used", value=1.0),
        "admissions/digits.json",
        "it says that 1 GPU hours are used and 0 set aside; its runs come to 12 and 0",
    ),
    "a policy that is none": Forgery(
        "see another policy", having(**{"policy.json": b"{}\n"}), "policy.json", "it is damaged"
    ),
    "a negative grant": Forgery(
        "see digits",
        saying("admissions/digits.json", "granted", value=-1.0),
        "admissions/digits.json",
        "negative amount",
    ),
    "a reservation of what is not free": Forgery(
        "reserve four",
        saying("admissions/other.json", "granted", value=43.9),
        "admissions/other.json",
        "not free: 40 are used and 4 set aside, and 43.9 are granted",
    ),
    "a heartbeat that went back": Forgery(
        "submit one", early, "heartbeat.json", "it went back from 2026-11-30 20:34:00 UTC"
    ),
    "an older decision": Forgery(
        "decide: submit",
        saying("decisions/jobs/one.yml.json", "at", value="2026-11-30T20:00:59Z"),
        "decisions/jobs/one.yml.json",
        "of 2026-11-30 20:03:00 UTC is replaced by an older one of 2026-11-30 20:00:59 UTC",
    ),
}


def test_what_the_writer_writes_is_sound() -> None:
    steps = story()
    assert found(steps) == Audited(
        head=steps[-1].commit,
        totals=Totals(commits=32, runs=4, admissions=2, reserved=2.0, used=52.5),
    )


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_what_breaks_a_rule_is_found_where_it_does(forgery: Forgery) -> None:
    steps, forged_step = forged(forgery)
    broken = found(steps).broken
    assert broken is not None
    assert (broken.commit, broken.path) == (forged_step.commit, forgery.path)
    assert forgery.why in broken.why
    before = steps[steps.index(forged_step) - 1].commit if forged_step is not steps[0] else None
    assert broken.before == before == found(steps).head


def test_a_run_without_an_account_is_found() -> None:
    steps = [without("admissions/digits.json")(step) for step in story()]
    broken = found(steps).broken
    assert broken is not None
    assert (broken.path, broken.why) == (
        "admissions/digits.json",
        "it is not there, and runs are charged to it",
    )


def test_nothing_has_no_head() -> None:
    assert found([]) == Audited(None, Totals(0, 0, 0, 0.0, 0.0))


@pytest.mark.parametrize(("back", "sound"), [(2, True), (3, False)])
def test_clocks_may_differ_by_two_minutes(back: int, sound: bool) -> None:
    told = Story()
    told.decide("x", "withhold")
    told.now -= (back + 1) * MINUTE
    told.draft.beat(Heartbeat(told.now, ROOT, "local:here", "1"))
    told.flush()
    assert (found(told.steps).broken is None) is sound
    told = Story()
    told.decide("x", "withhold")
    decision = Decision("x", "submit", "", "why", NOW - back * MINUTE, ROOT)
    told.draft.decide([decision])
    told.flush()
    assert (found(told.steps).broken is None) is sound


def test_no_other_order_lets_the_clock_be_put_back() -> None:
    told = Story()
    told.decide("x", "withhold")
    told.now -= 60 * MINUTE
    told.order("max-cancels")
    broken = found(told.steps).broken
    assert broken is not None
    assert broken.path == "heartbeat.json"


@pytest.mark.parametrize(
    "what", ["heartbeat.json", "decisions/jobs/one.yml.json"], ids=["heartbeat", "decision"]
)
def test_an_order_to_accept_the_clock_is_for_one_time(what: str) -> None:
    told = Story()
    told.order("accept-clock")
    told.decide("jobs/one.yml", "withhold")
    told.now -= 60 * MINUTE
    decision = Decision("jobs/one.yml", "submit", "", "why", told.now, ROOT)
    beat = Heartbeat(told.now, ROOT, "local:here", "1")
    files = {"heartbeat.json": encoded(beat), "decisions/jobs/one.yml.json": encoded(decision)}
    forge(told, {what: files[what]}, at=NOW)
    broken = found(told.steps).broken
    assert broken is not None
    assert broken.path == what


def test_an_order_is_known_with_the_trust_that_comes_with_it_only() -> None:
    told = Story()
    told.trust(OTHER)
    assert found(told.steps).broken is None
    forge(told, {"ledger.json": encoded(Trust(ROOT, NOW, "eve"))}, at=NOW)
    broken = found(told.steps).broken
    assert broken is not None
    assert broken.path == "ledger.json"


def test_a_grant_may_fall_below_what_is_committed_but_then_nothing_is_set_aside() -> None:
    told = Story()
    told.admit()
    told.reserve("one")
    told.admit("digits", 1.0)
    told.submit("one")
    assert found(told.steps).broken is None
    told.reserve("two")
    broken = found(told.steps).broken
    assert broken is not None
    assert "set aside that were not free" in broken.why


def test_a_run_that_shows_up_late_is_charged_whether_it_fits_or_not() -> None:
    told = Story()
    told.admit()
    told.reserve("one")
    told.release("one")
    told.admit("digits", 1.0)
    told.put("late", "one", told.submitted)
    assert found(told.steps).broken is None


def forge(story: Story, files: dict[str, bytes], at: datetime) -> None:
    """Put any commit on the ledger, as whoever has write access can."""
    assert isinstance(story.ledger, MemoryLedger)
    story.ledger.forge(files, at=at)


def pages_after(steps: list[Step], more: Container[str] = ()) -> Pages:
    """Return what a reader of the ledger gets at the last of these commits."""
    files: dict[str, bytes | None] = {}
    for step in steps:
        files |= step.files
    return Pages(
        steps[-1].commit, {p: c if wanted(p) or p in more else None for p, c in files.items()}
    )


def test_going_on_from_any_commit_finds_the_same() -> None:
    steps = story()
    for count in range(1, len(steps)):
        trail = trail_at(pages_after(steps[:count]), count)
        missing = trail.ungrounded()
        assert len(missing) <= 1  # that of the retry that was prepared, and then prepared again
        trail.ground(pages_after(steps[:count], missing))
        assert trail.ungrounded() == frozenset()
        went_on = audit(steps[count:], trail)
        if went_on.broken is None:
            assert went_on == found(steps)
        else:  # the order that allowed it is behind: whoever asks has to look from the beginning
            assert went_on.broken.path.startswith(("heartbeat.json", "decisions/"))
            assert "accept-clock" in steps[count - 1].title


LATER = {name: forgery for name, forgery in FORGERIES.items() if forgery.title != "begin"}


@pytest.mark.parametrize("forgery", LATER.values(), ids=LATER)
def test_going_on_finds_what_was_forged_after(forgery: Forgery) -> None:
    steps, forged_step = forged(forgery)
    count = steps.index(forged_step)
    broken = audit(steps[count:], trail_at(pages_after(steps[:count]), count)).broken
    assert broken == found(steps).broken


def test_an_admission_record_that_came_before_its_run_has_to_be_read_when_going_on() -> None:
    told = Story()
    told.admit()
    content = grounds("one", "digits", at=told.now)
    told.draft.head = told.ledger.append(
        [Change("record", {record_at(content): content})], after=told.draft.head, at=NOW
    )
    count = len(told.steps)
    told.reserve("one")
    assert found(told.steps).broken is None
    trail = trail_at(pages_after(told.steps[:count]), count)
    assert trail.ungrounded() == {record_at(content)}
    trail.ground(Pages(told.steps[count - 1].commit, {record_at(content): content}))
    assert trail.ungrounded() == frozenset()
    assert audit(told.steps[count:], trail) == found(told.steps)


def test_every_account_is_counted_again_from_scratch() -> None:
    steps = story()
    pages = pages_after(steps)
    content = pages.files["admissions/other.json"]
    assert content is not None
    files = {**pages.files, "admissions/other.json": content.replace(b"40.5", b"4.5")}
    broken = audit([], trail_at(Pages(pages.head, files), len(steps))).broken
    assert broken is not None
    assert (broken.commit, broken.path) == (pages.head, "admissions/other.json")
    assert "4.5 GPU hours are used" in broken.why


def test_the_story_tells_every_kind_of_file_and_every_stage() -> None:
    """Else the tests above would test less than they seem to."""
    paths = {path for step in story() for path in step.files}
    kinds = {path.partition("/")[0] for path in paths}
    assert kinds == {
        *("admissions", "decisions", "heartbeat.json", "ledger.json", "orders", "policy.json"),
        *("proofs", "records", "runs"),
    }
    stages = {
        record_in(step, path).stage for step in story() for path in step.files if "runs/" in path
    }
    assert stages == {"reserved", "submitted", "over", "released", "settled"}


def record_in(step: Step, path: str) -> RunRecord:
    content = step.files[path]
    assert content is not None
    return decoded(RunRecord, content)

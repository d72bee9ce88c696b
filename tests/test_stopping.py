"""A stop ends what runs, is recorded, and no later pass undoes it; whatever main and ledger are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from controller.errors import AdmitError, UnavailableError, UsageError
from controller.ledger.audit import audit
from controller.ledger.book import HEARTBEAT, ORDERS, Heartbeat, Order, page, read_book, wanted
from controller.ledger.codec import decoded, encoded
from controller.ledger.draft import Draft
from controller.ledger.records import CancelAsked, Stop, released
from controller.ledger.store import Change, LostRaceError
from controller.passes import AHEAD, TURNS
from controller.report.outcome import ExitCode
from controller.stopping import Stopped, stop
from controller.values import RunName
from tests.builders import NOW
from tests.machine.repository import FakeWorld, begin, job, policy
from tests.test_surveying import HOUR, LATER, reconciled, record, seen, stranger, the_run

WHY = "the loss is NaN"
STOP = Stop(NOW, WHY, "ada")


@pytest.fixture
def running() -> FakeWorld:
    """A world in which the one job that main asks for runs."""
    world = begin()
    reconciled(world)
    return world


@pytest.fixture
def reserved() -> FakeWorld:
    """A world in which the one job has a reservation, and whoever made it went away."""
    world = begin()
    started = world.workspace.submit
    world.workspace.submit = _away  # type: ignore[method-assign]
    reconciled(world)
    world.workspace.submit = started  # type: ignore[method-assign]
    assert record(world).stage == "reserved"
    return world


def _away(request: object) -> None:
    raise UnavailableError("no answer")


def stopped(world: FakeWorld, run: str | None = None, **changes: Any) -> Stopped:
    return stop(seen(world, **changes), run, WHY)


def said(done: Stopped) -> dict[str, str]:
    """Return what came of each run."""
    return {r.run: r.outcome for r in done.report.receipts if r.action == "stop"}


def orders(world: FakeWorld) -> list[Order]:
    pages = world.ledger.read(lambda path: path.startswith(ORDERS))
    found = (c for p, c in sorted(pages.files.items()) if p.startswith(ORDERS) and c is not None)
    return [decoded(Order, content) for content in found]


def cancelling(world: FakeWorld) -> list[RunName]:
    """Let every request to end a run be noted; returns the list that grows."""
    asked: list[RunName] = []
    real = world.workspace.cancel

    def cancel(run: RunName, reason: str) -> None:
        asked.append(run)
        real(run, reason)

    world.workspace.cancel = cancel  # type: ignore[method-assign]
    return asked


def sound(world: FakeWorld) -> bool:
    return audit(world.ledger.steps()).broken is None


def somebody_writes(world: FakeWorld) -> None:
    beat = encoded(Heartbeat(world.now(), world.main.default_base(), "fake", "1"))
    change = Change("heartbeat", {HEARTBEAT: beat})
    world.ledger.append([change], after=world.ledger.head, at=world.now())


def test_a_run_is_ended_at_once_and_it_is_recorded_who_said_so_and_why(running: FakeWorld) -> None:
    run = the_run(running)
    done = stopped(running, run)
    assert done.unrecorded is None
    assert done.report.exit is ExitCode.SETTLED
    assert said(done) == {run: "done"}
    there = running.workspace.get(run)
    assert there is not None
    assert (there.state, there.reason) == ("CancelRequested", f"ada stopped it: {WHY}")
    assert record(running).attempt.stop == STOP
    assert record(running).attempt.cancel == CancelAsked(NOW, "stopped", WHY)
    assert orders(running) == [Order("stop", NOW, WHY, "ada", (run,))]
    assert sound(running)


def test_no_later_pass_starts_it_again(running: FakeWorld) -> None:
    run = the_run(running)
    stopped(running, run)
    reconciled(running)
    running.workspace.end(run)
    for _ in range(3):
        reconciled(running)
        running.pass_time(LATER)
    assert record(running).settled
    closed = record(running).last.closed
    assert closed is not None
    assert closed.why == "Canceled (stopped), no attempt left"
    assert [request.run for request in running.workspace.started] == [run]


def test_a_reservation_without_a_run_never_becomes_one(reserved: FakeWorld) -> None:
    run = the_run(reserved)
    done = stopped(reserved, run)
    assert said(done) == {run: "done"}
    assert done.report.receipts[0].detail == "it was not started, and will not be"
    assert (record(reserved).attempt.stop, record(reserved).attempt.cancel) == (STOP, None)
    for _ in range(3):
        reconciled(reserved)
        reserved.pass_time(LATER)
    assert record(reserved).settled
    assert reserved.workspace.started == []
    assert sound(reserved)


def test_a_run_that_is_there_though_nobody_said_so_is_ended_too(reserved: FakeWorld) -> None:
    run, fingerprint = the_run(reserved), record(reserved).fingerprint
    stranger(reserved, run, fingerprint=fingerprint)
    assert said(stopped(reserved, run)) == {run: "done"}
    assert record(reserved).stage == "submitted"
    assert record(reserved).attempt.stop == STOP
    assert record(reserved).attempt.cancel is not None
    assert reserved.workspace.get(run).state == "CancelRequested"  # type: ignore[union-attr]
    assert sound(reserved)


def test_somebody_else_s_run_under_the_name_of_a_reservation_is_left_alone(
    reserved: FakeWorld,
) -> None:
    run = the_run(reserved)
    stranger(reserved, run, fingerprint="f" * 64)
    stopped(reserved, run)
    assert reserved.workspace.get(run).state == "Running"  # type: ignore[union-attr]
    assert record(reserved).attempt.stop == STOP


def test_where_the_workspace_does_not_answer_a_reservation_is_stopped_all_the_same(
    reserved: FakeWorld,
) -> None:
    reserved.workspace.outage = "no answer"
    done = stopped(reserved, the_run(reserved))
    assert done.report.exit is ExitCode.INCOMPLETE
    assert record(reserved).attempt.stop == STOP


def test_a_run_that_could_not_be_ended_is_ended_by_the_next_pass(running: FakeWorld) -> None:
    run = the_run(running)
    running.workspace.outage = "no answer"
    done = stopped(running, run)
    assert done.report.exit is ExitCode.INCOMPLETE
    assert done.unrecorded is None
    assert said(done) == {run: "failed"}
    assert (record(running).attempt.stop, record(running).attempt.cancel) == (STOP, None)
    running.workspace.outage = ""
    reconciled(running)
    assert running.workspace.get(run).state == "CancelRequested"  # type: ignore[union-attr]


def test_what_was_preempted_is_not_tried_again(running: FakeWorld) -> None:
    first = the_run(running)
    running.workspace.end(first, "Failed", preempted=True)
    running.main.commit(
        {"admissions/policy.yml": policy("{reason: quota, until: null, drain: false}")}
    )
    reconciled(running)
    assert record(running).stage == "over"
    running.main.commit({"admissions/policy.yml": policy("null")})
    assert said(stopped(running, first)) == {first: "done"}
    reconciled(running)
    reconciled(running)
    assert record(running).settled
    assert the_run(running) == first
    assert sound(running)


def test_any_attempt_s_name_stands_for_the_one_that_runs(running: FakeWorld) -> None:
    first = the_run(running)
    running.workspace.end(first, "Failed", preempted=True)
    reconciled(running)
    reconciled(running)
    assert said(stopped(running, first)) == {f"{first}-a2": "done"}
    again = running.workspace.get(RunName(f"{first}-a2"))
    assert again is not None
    assert again.state == "CancelRequested"
    assert said(stopped(running, f"{first}-a2")) == {f"{first}-a2": "done"}


def test_to_stop_what_is_stopped_changes_nothing_that_was_said(running: FakeWorld) -> None:
    run = the_run(running)
    stopped(running, run)
    before = record(running)
    running.pass_time(HOUR)
    head = running.ledger.head
    assert stopped(running, run).report.exit is ExitCode.SETTLED
    assert record(running) == before
    assert [step.title for step in running.ledger.steps(head)] == ["ada orders stop"]


def test_of_what_is_settled_there_is_nothing_to_stop(running: FakeWorld) -> None:
    run = the_run(running)
    running.workspace.end(run)
    reconciled(running)
    head = running.ledger.head
    done = stopped(running, run)
    assert done.report.exit is ExitCode.SETTLED
    assert done.report.receipts[0].detail == "nothing to stop: it is settled"
    assert running.ledger.head == head


def test_what_is_settled_and_runs_all_the_same_is_ended(running: FakeWorld) -> None:
    run, fingerprint = the_run(running), record(running).fingerprint
    running.workspace.end(run)
    reconciled(running)
    stranger(running, run, fingerprint=fingerprint)
    assert said(stopped(running, run)) == {run: "done"}
    assert running.workspace.get(run).state == "CancelRequested"  # type: ignore[union-attr]
    assert orders(running)[0].runs == (run,)


@pytest.mark.parametrize("shows_up", [True, False])
def test_a_reservation_that_was_given_back_is_charged_again_if_its_run_shows_up(
    reserved: FakeWorld, *, shows_up: bool
) -> None:
    run, book = the_run(reserved), read_book(reserved.ledger.read(wanted))
    draft = Draft(book)
    draft.put(released(record(reserved), NOW, "nobody came"), "release")
    draft.flush(reserved.ledger, book.heartbeat)
    if shows_up:
        stranger(reserved, run, fingerprint=record(reserved).fingerprint)
    done = stopped(reserved, run)
    assert record(reserved).stage == ("submitted" if shows_up else "released")
    assert ("nothing to stop" in done.report.receipts[0].detail) is not shows_up
    assert len(orders(reserved)) == shows_up
    assert sound(reserved)


def test_a_run_of_another_workspace_is_recorded_for_a_pass_there(running: FakeWorld) -> None:
    asked = cancelling(running)
    running.workspace.id = "elsewhere"
    done = stopped(running, the_run(running))
    assert done.report.exit is ExitCode.INCOMPLETE
    assert "it is of another workspace, `fake`" in done.report.receipts[0].detail
    assert (record(running).attempt.stop, asked) == (STOP, [])


def test_a_run_that_nobody_knows_is_refused_with_the_nearest_names(running: FakeWorld) -> None:
    run = the_run(running)
    with pytest.raises(UsageError, match="is no run that the ledger or the workspace") as refused:
        stopped(running, run[:-1])
    assert refused.value.remedy == f"did you mean `{run}`?"
    with pytest.raises(UsageError) as refused:
        stopped(running, "something")
    assert "`admit status` lists the runs" in refused.value.remedy
    assert orders(running) == []


def test_a_run_that_only_the_workspace_knows_is_ended_if_it_is_ours(running: FakeWorld) -> None:
    stranger(running, "mystery", tags={"admit.name": "mystery"})
    stranger(running, "alices-run", tags={"name": "admit."})
    assert said(stopped(running, "mystery")) == {"mystery": "done"}
    assert orders(running)[0].runs == ("mystery",)
    with pytest.raises(UsageError, match="`alices-run` has no tag of ours"):
        stopped(running, "alices-run")
    assert running.workspace.get(RunName("alices-run")).state == "Running"  # type: ignore[union-attr]


def many() -> FakeWorld:
    """A world with two runs, a reservation, an orphan, one that is over, and a stranger's."""
    world = begin({"jobs/one.yml": job("one"), "jobs/two.yml": job("two")})
    reconciled(world)
    world.main.commit({"jobs/zzz.yml": job("zzz", timeout=60)})
    started = world.workspace.submit
    world.workspace.submit = _away  # type: ignore[method-assign]
    reconciled(world)
    world.workspace.submit = started  # type: ignore[method-assign]
    stranger(world, "mystery", tags={"admit.name": "mystery"})
    stranger(world, "gone", tags={"admit.name": "gone"}, state="Failed", ended_at=NOW)
    stranger(world, "alices-run")
    return world


def test_all_of_ours_are_ended_and_nobody_else_s() -> None:
    world = many()
    asked = cancelling(world)
    done = stopped(world)
    assert done.report.exit is ExitCode.SETTLED
    runs = [the_run(world, name) for name in ("one", "two", "zzz")]
    assert said(done) == dict.fromkeys([*runs, "mystery"], "done")
    assert asked == [runs[0], runs[1], "mystery"]
    assert orders(world)[0].runs == (*runs, "mystery")
    assert all(record(world, name).attempt.stop == STOP for name in ("one", "two", "zzz"))
    assert sound(world)


def test_one_that_fails_does_not_stop_the_others() -> None:
    world = many()
    real = world.workspace.cancel

    def cancel(run: RunName, reason: str) -> None:
        if run.startswith("one"):
            raise UnavailableError("no answer")
        real(run, reason)

    world.workspace.cancel = cancel  # type: ignore[method-assign]
    done = stopped(world)
    assert done.report.exit is ExitCode.INCOMPLETE
    assert list(said(done).values()) == ["failed", "done", "done", "done"]
    assert record(world, "one").attempt.stop == STOP
    assert record(world, "one").attempt.cancel is None
    assert record(world, "two").attempt.cancel is not None


def test_a_workspace_that_cannot_be_listed_keeps_nothing_back() -> None:
    world = many()

    def runs() -> tuple[Any, ...]:
        raise UnavailableError("no answer")

    world.workspace.runs = runs  # type: ignore[method-assign]
    done = stopped(world)
    assert list(said(done).values()) == ["done"] * 3
    assert [r.action for r in done.report.receipts if r.outcome == "failed"] == ["list"]
    assert done.report.exit is ExitCode.INCOMPLETE


def test_where_nothing_runs_there_is_nothing_to_stop() -> None:
    world = begin({})
    done = stopped(world)
    assert (done.report.receipts, done.report.exit) == ((), ExitCode.SETTLED)
    assert orders(world) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"admissions/policy.yml": "a: ["},
        {"jobs/one.yml": "a: 1\na: 2"},
        {"admissions/policy.yml": None, ".github/CODEOWNERS": None},
    ],
)
def test_a_broken_main_does_not_matter(running: FakeWorld, broken: dict[str, str | None]) -> None:
    running.main.commit(broken)
    run = the_run(running)
    assert stopped(running, run).report.exit is ExitCode.SETTLED
    assert record(running).attempt.cancel is not None


def test_main_is_not_read_at_all(running: FakeWorld) -> None:
    run = the_run(running)
    done = stopped(running, run, git=object(), host=None, tracking=None, surroundings=None)
    assert done.report.exit is ExitCode.SETTLED


def _missing(world: FakeWorld) -> None:
    world.ledger.rewind(None)


def _silent(world: FakeWorld) -> None:
    world.ledger.outage = "no route to the remote"


def _damaged(world: FakeWorld) -> None:
    world.ledger.forge({"runs/one-000000000000.json": b"{"}, at=NOW)


@pytest.mark.parametrize("lose", [_missing, _silent, _damaged])
def test_without_a_ledger_the_run_is_ended_all_the_same(
    running: FakeWorld, lose: Callable[[FakeWorld], None]
) -> None:
    run = the_run(running)
    lose(running)
    done = stopped(running, run)
    assert done.unrecorded is not None
    assert [(r.action, r.outcome) for r in done.report.receipts] == [
        ("stop", "done"),
        ("record", "failed"),
    ]
    assert done.report.exit is ExitCode.INCOMPLETE
    assert running.workspace.get(run).state == "CancelRequested"  # type: ignore[union-attr]


def test_without_a_ledger_every_attempt_that_a_name_may_stand_for_is_ended(
    running: FakeWorld,
) -> None:
    first = the_run(running)
    running.workspace.end(first, "Failed", preempted=True)
    reconciled(running)
    reconciled(running)
    _missing(running)
    stranger(running, "one-000000000000")
    assert said(stopped(running, first)) == {first: "done", f"{first}-a2": "done"}
    assert running.workspace.get(RunName(f"{first}-a2")).state == "CancelRequested"  # type: ignore[union-attr]
    assert running.workspace.get(RunName("one-000000000000")).state == "Running"  # type: ignore[union-attr]


def test_without_a_ledger_a_name_that_is_nowhere_fails(running: FakeWorld) -> None:
    _missing(running)
    done = stopped(running, "something")
    assert said(done) == {"something": "failed"}


def test_without_a_ledger_all_that_have_our_tag_are_ended() -> None:
    world = many()
    runs = [the_run(world, name) for name in ("one", "two")]
    _silent(world)
    done = stopped(world)
    assert said(done) == dict.fromkeys(["mystery", *runs], "done")
    assert done.report.exit is ExitCode.INCOMPLETE


def test_a_ledger_that_cannot_be_written_to_is_said(running: FakeWorld) -> None:
    running.ledger.before_swap = lambda: _silent(running)
    running.ledger.reply_lost = "no answer"
    done = stopped(running, the_run(running))
    assert str(done.unrecorded) == "no answer"
    assert done.report.exit is ExitCode.INCOMPLETE


def test_where_another_pass_writes_first_it_is_recorded_all_the_same_and_asked_once(
    running: FakeWorld,
) -> None:
    run, asked = the_run(running), cancelling(running)
    paused: list[int] = []
    running.ledger.before_swap = lambda: somebody_writes(running)
    done = stopped(running, run, pause=paused.append)
    assert done.report.exit is ExitCode.SETTLED
    assert (asked, paused) == ([run], [0])
    assert record(running).attempt.stop == STOP
    assert len(orders(running)) == 1


def test_a_pass_that_starts_it_in_between_does_not_save_it(reserved: FakeWorld) -> None:
    run, asked = the_run(reserved), cancelling(reserved)
    reserved.pass_time(timedelta(minutes=2))
    reserved.ledger.before_swap = lambda: reconciled(reserved)
    assert said(stopped(reserved, run)) == {run: "done"}
    assert [request.run for request in reserved.workspace.started] == [run]
    assert asked == [run]
    assert record(reserved).attempt.cancel is not None
    assert sound(reserved)


def test_a_pass_that_settles_it_in_between_does_not_hide_that_it_was_stopped(
    running: FakeWorld,
) -> None:
    run, asked = the_run(running), cancelling(running)

    def settle() -> None:
        running.workspace.end(run)
        reconciled(running)

    running.ledger.before_swap = settle
    assert said(stopped(running, run)) == {run: "done"}
    assert record(running).settled
    assert (asked, orders(running)[0].runs) == ([run], (run,))


def test_the_race_is_given_up_at_some_time_and_that_is_said(running: FakeWorld) -> None:
    run, asked = the_run(running), cancelling(running)
    paused: list[int] = []

    def read(*args: Any) -> Any:
        found = running.ledger.read(*args)
        running.ledger.before_swap = lambda: somebody_writes(running)
        return found

    raced = SimpleNamespace(read=read, append=running.ledger.append)
    done = stopped(running, run, ledger=raced, pause=paused.append)
    assert isinstance(done.unrecorded, LostRaceError)
    assert done.report.exit is ExitCode.INCOMPLETE
    assert (asked, paused) == ([run], list(range(TURNS - 1)))
    assert orders(running) == []


@pytest.mark.parametrize(
    ("off", "beat"),
    [
        (timedelta(minutes=5), timedelta(minutes=5)),
        (-HOUR, timedelta()),
        (AHEAD + HOUR, timedelta()),
    ],
)
def test_a_wrong_clock_here_stops_no_pass(
    running: FakeWorld, off: timedelta, beat: timedelta
) -> None:
    before = page(Heartbeat, HEARTBEAT, running.ledger.read(wanted).files)
    done = stopped(running, the_run(running), now=lambda: NOW + off)
    assert done.report.exit is ExitCode.SETTLED
    after = page(Heartbeat, HEARTBEAT, running.ledger.read(wanted).files)
    assert (after.at, after.main) == (NOW + beat, before.main)
    assert sound(running)


def test_a_reason_that_is_no_text_is_written_as_far_as_it_is(running: FakeWorld) -> None:
    done = stop(seen(running, who="ad\udcffa"), the_run(running), "bad \udcff byte")
    assert done.unrecorded is None
    assert record(running).attempt.stop == Stop(NOW, "bad ? byte", "ad?a")


def test_where_there_is_no_repository_nothing_is_done(running: FakeWorld) -> None:
    class Nowhere:
        def __getattr__(self, name: str) -> Any:
            if name == "git":
                raise AdmitError("there is no repository")
            return getattr(seen(running), name)

    with pytest.raises(AdmitError, match="no repository"):
        stop(Nowhere(), the_run(running), WHY)  # type: ignore[arg-type]
    assert running.workspace.get(the_run(running)).state == "Running"  # type: ignore[union-attr]

"""The interleavings that a reader would think of first, step by step."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controller import passes
from controller.errors import AdmitError
from controller.ledger.book import HEARTBEAT, Heartbeat, read_book, wanted
from controller.ledger.codec import encoded
from controller.ledger.records import RunRecord
from controller.ledger.store import Change, LostRaceError
from controller.report.outcome import Report
from tests.machine.controllers import Controller, Fault
from tests.machine.repository import FakeWorld, begin, documents, job

LATER = timedelta(minutes=26)
"""After the deadline of a reservation and its margin."""


def records(world: FakeWorld) -> dict[str, RunRecord]:
    book = read_book(world.ledger.read(wanted))
    return {record.name: record for record in book.records.values()}


def done(controller: Controller) -> Report:
    """Let a pass be made to its end, and return its report."""
    if not controller.pending:
        controller.begin()
    controller.finish()
    assert isinstance(controller.outcome, Report), controller.outcome
    return controller.outcome


def until(controller: Controller, word: str, nth: int = 1) -> None:
    """Let it go on until it is about to do the nth step of that name."""
    if not controller.pending:
        controller.begin()
    while controller.pending:
        if controller.pending.startswith(word):
            nth -= 1
            if not nth:
                return
        controller.step()
    raise AssertionError(f"the pass ended before {word}")


def receipts(report: Report) -> list[tuple[str, str]]:
    return [(receipt.action, receipt.outcome) for receipt in report.receipts]


def somebody_writes(world: FakeWorld) -> None:
    """Append a heartbeat, as any other pass could."""
    head, now = world.ledger.head, world.now()
    beat = encoded(Heartbeat(now, world.main.default_base(), "fake", "1"))
    world.ledger.append([Change("heartbeat", {HEARTBEAT: beat})], after=head, at=now)


def titles(world: FakeWorld) -> list[str]:
    return [step.title.split(" for ")[0] for step in world.ledger.steps()]


def test_a_pass_reserves_before_it_submits_and_records_after_it() -> None:
    world = begin()
    assert receipts(done(Controller(world))) == [("submit", "done")]
    run = records(world)["one"].run
    assert titles(world)[-3:] == [
        "see admissions/digits.md approved",
        "reserve 0.33 GPU hours of digits",
        f"submit {run}",
    ]
    assert world.started == {run: 1}


def test_the_same_pass_twice_starts_nothing_and_writes_nothing_more() -> None:
    world = begin()
    done(Controller(world))
    before = titles(world)
    assert receipts(done(Controller(world))) == []
    assert titles(world) == before


STEPS = [
    ("read the ledger", 1),
    ("get", 1),
    ("append", 1),
    ("get", 2),
    ("submit", 1),
    ("append", 2),
]


@pytest.mark.parametrize("fault", ["crash before", "crash after", "no answer", "lost reply"])
@pytest.mark.parametrize(("step", "nth"), STEPS)
@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=5), LATER])
def test_whatever_step_fails_the_next_passes_start_the_run_once(
    step: str, nth: int, fault: Fault, later: timedelta
) -> None:
    world = begin()
    first = Controller(world)
    until(first, step, nth)
    first.step(fault)
    if first.pending:
        first.finish()
    for _ in range(3):
        world.pass_time(later + timedelta(minutes=1))
        done(Controller(world))
    assert sum(world.started.values()) == 1
    record = records(world)["one"]
    assert record.stage == "submitted"
    assert record.last.gpu_hours == pytest.approx(1 / 3)


@pytest.mark.parametrize("fault", ["crash before", "crash after", "no answer", "lost reply"])
@pytest.mark.parametrize(("step", "nth"), [("get", 1), ("cancel", 1), ("append", 1), ("append", 2)])
def test_whatever_step_of_a_withdrawal_fails_the_run_ends_and_is_settled(
    step: str, nth: int, fault: Fault
) -> None:
    world = begin()
    done(Controller(world))
    world.main.commit({"jobs/one.yml": None})
    first = Controller(world)
    until(first, step, nth)
    first.step(fault)
    if first.pending:
        first.finish()
    world.pass_time(timedelta(minutes=1))
    done(Controller(world))
    run = records(world)["one"].run
    assert world.workspace.get(run).state == "CancelRequested"  # type: ignore[union-attr]
    world.workspace.end(run)
    done(Controller(world))
    record = records(world)["one"]
    assert record.settled
    assert record.attempt.over is not None
    assert record.attempt.over.state == "Canceled"


def test_a_controller_that_stalls_finds_the_run_that_another_started() -> None:
    world = begin()
    slow, fast = Controller(world), Controller(world)
    until(slow, "get", 2)
    world.pass_time(LATER)
    assert receipts(done(fast)) == [("release", "done"), ("submit", "done")]
    done(slow)
    assert sum(world.started.values()) == 1
    assert [g.closed is not None for g in records(world)["one"].generations] == [True, False]


def test_a_controller_that_stalls_past_its_deadline_submits_nothing() -> None:
    world = begin()
    slow = Controller(world)
    until(slow, "get", 2)
    world.pass_time(timedelta(minutes=16))
    slow.finish()
    assert isinstance(slow.outcome, Report)
    assert [r.outcome for r in slow.outcome.receipts] == ["failed"]
    assert "deadline" in slow.outcome.receipts[0].detail
    assert not world.started


def test_what_a_stalled_controller_gave_back_can_be_another_runs_and_is_not_spent_twice() -> None:
    jobs = {"jobs/one.yml": job("one"), "jobs/two.yml": job("two")}
    world = begin(jobs)
    world.main.commit({"admissions/digits.md": documents(0.4)})
    slow, fast = Controller(world), Controller(world)
    until(slow, "get", 3)  # two looks to plan, one before the submission of the first
    world.pass_time(LATER)
    world.main.commit({"jobs/one.yml": None})
    done(fast)  # gives back what `one` has
    done(fast)  # and starts `two` out of it
    done(slow)
    assert list(world.started) == [records(world)["two"].run]


def test_of_two_controllers_at_once_one_loses_the_race_and_starts_again() -> None:
    world = begin()
    one, other = Controller(world), Controller(world)
    until(one, "append")
    until(other, "append")
    done(one)
    assert receipts(done(other)) == []
    assert sum(world.started.values()) == 1


def test_a_controller_that_always_comes_second_gives_up_and_says_so() -> None:
    world = begin()
    slow = Controller(world)
    for _ in range(passes.TURNS):
        until(slow, "append")
        somebody_writes(world)
        slow.step()
    assert isinstance(slow.outcome, LostRaceError)
    assert not world.started


def test_a_job_that_is_deleted_and_added_again_runs_once() -> None:
    world = begin()
    done(Controller(world))
    world.workspace.end(records(world)["one"].run)
    done(Controller(world))
    world.main.commit({"jobs/one.yml": None})
    done(Controller(world))
    world.main.commit({"jobs/one.yml": job("one")})
    assert receipts(done(Controller(world))) == []
    assert sum(world.started.values()) == 1


def test_a_manifest_that_is_changed_away_and_back_runs_once_for_each_payload() -> None:
    world = begin()
    for rerun in ("", "2", "", "2", ""):
        world.main.commit({"jobs/one.yml": job("one", rerun)})
        for _ in range(2):
            done(Controller(world))
            for run in world.workspace.runs():
                if run.state in ("Running", "CancelRequested"):
                    world.workspace.end(run.run)
    assert sorted(world.started.values()) == [1, 1]


def test_a_manifest_that_moves_to_another_file_goes_on_with_its_run() -> None:
    world = begin()
    done(Controller(world))
    world.main.commit({"jobs/one.yml": None, "jobs/moved.yml": job("one")})
    assert receipts(done(Controller(world))) == []
    world.workspace.end(records(world)["one"].run)
    done(Controller(world))
    assert receipts(done(Controller(world))) == []
    assert sum(world.started.values()) == 1


def test_a_preempted_run_is_tried_once_more_out_of_the_same_reservation() -> None:
    world = begin()
    done(Controller(world))
    first = records(world)["one"].run
    world.workspace.end(first, "Failed", preempted=True)
    assert receipts(done(Controller(world))) == [("submit", "done")]
    record = records(world)["one"]
    assert record.run == f"{first}-a2"
    assert len(record.generations) == 1
    world.workspace.end(record.run, "Failed", preempted=True)
    assert receipts(done(Controller(world))) == [("settle", "done")]
    assert receipts(done(Controller(world))) == []
    assert world.started == {first: 1, f"{first}-a2": 1}


def test_a_run_that_vanished_is_never_submitted_again_and_charged_its_bound() -> None:
    world = begin()
    done(Controller(world))
    run = records(world)["one"].run
    world.workspace.forget(run)
    done(Controller(world))
    assert records(world)["one"].stage == "submitted"
    world.pass_time(timedelta(minutes=16))
    assert receipts(done(Controller(world))) == [("settle", "done")]
    closed = records(world)["one"].last.closed
    assert closed is not None
    assert (closed.gpu_hours, closed.exact) == (pytest.approx(1 / 6), False)
    assert receipts(done(Controller(world))) == []
    assert world.started == {run: 1}


def test_a_main_that_does_not_come_after_the_trusted_one_freezes_everything() -> None:
    world = begin()
    done(Controller(world))
    world.main.rewrite()
    frozen = Controller(world)
    frozen.begin()
    frozen.finish()
    assert isinstance(frozen.outcome, AdmitError)
    assert "which the ledger trusts" in str(frozen.outcome)


@pytest.mark.parametrize("wrong", [timedelta(minutes=-3), timedelta(days=31)])
def test_a_clock_far_from_the_heartbeat_freezes_everything(wrong: timedelta) -> None:
    world = begin()
    done(Controller(world))
    frozen = Controller(world, wrong)
    frozen.begin()
    frozen.finish()
    assert isinstance(frozen.outcome, AdmitError)
    assert "one of the two clocks is wrong" in str(frozen.outcome)


def test_a_pass_that_has_nothing_to_do_asks_nobody_and_writes_a_heartbeat_by_the_hour() -> None:
    world = begin()
    done(Controller(world))
    world.workspace.end(records(world)["one"].run)
    done(Controller(world))
    idle = Controller(world)
    idle.begin()
    assert idle.pending == "read the ledger"
    idle.step()
    assert not idle.pending
    world.pass_time(timedelta(hours=1, minutes=1))
    idle.begin()
    idle.step()
    assert idle.pending == "append: heartbeat"
    idle.finish()

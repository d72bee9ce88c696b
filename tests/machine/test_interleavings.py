"""Exactly once and within budget, under any interleaving of controllers, crashes and runs.

Two controllers make production passes over one ledger and one workspace. Between any two steps of
either the other may go on, time may pass, a step may crash or its reply get lost, runs may end,
be preempted, overrun or vanish, and main may change. Whatever comes of it, the invariants hold; and
once everybody is left alone, everything that was set aside is settled.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from controller.errors import AdmitError
from controller.evidence.facts import Phase
from controller.ledger.audit import audit
from controller.ledger.book import Account, Book, read_book, wanted
from controller.ledger.records import RunRecord
from controller.ledger.store import Step
from controller.values import CommitId
from tests.machine.controllers import FAULTS, Controller, CrashError
from tests.machine.repository import begin, documents, job

MINUTES = st.sampled_from([1, 5, 14, 16, 26, 70])
NAMES = ("one", "two", "three")
WHO = st.integers(0, 1)
HOURS = st.sampled_from([0.2, 0.4, 0.7, 1.0])
"""One job is 2 nodes x 1 GPU x 5 minutes x 2 attempts: a third of a GPU hour."""


class Interleavings(RuleBasedStateMachine):
    """What may happen, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = begin({f"jobs/{name}.yml": job(name) for name in NAMES})
        skews = (timedelta(0), timedelta(minutes=1))
        self.controllers = [Controller(self.world, skew) for skew in skews]
        self.checked: CommitId | None = None

    def teardown(self) -> None:
        for controller in self.controllers:
            if controller.pending:
                controller.step("crash before")
        self._left_alone()

    # Controllers.

    @rule(order=st.lists(WHO, min_size=2, max_size=14), minutes=MINUTES)
    def both_go_on(self, order: list[int], minutes: int) -> None:
        """Step by step in this order, each beginning again when it has ended; then one stalls."""
        for who in order:
            controller = self.controllers[who]
            if controller.pending:
                controller.step()
            else:
                controller.begin()
        self.world.pass_time(timedelta(minutes=minutes))

    @rule(who=WHO, count=st.integers(1, 7), fault=st.sampled_from(FAULTS[1:]))
    def fails_after(self, who: int, count: int, fault: str) -> None:
        controller = self.controllers[who]
        if not controller.pending:
            controller.begin()
        for _ in range(count - 1):
            if controller.pending:
                controller.step()
        if controller.pending:
            controller.step(fault)  # type: ignore[arg-type]

    @rule(who=WHO, minutes=MINUTES, gone=st.booleans(), name=st.sampled_from(NAMES))
    def one_stalls_before_it_submits(self, who: int, minutes: int, gone: bool, name: str) -> None:
        """It has reserved; meanwhile time passes, a job may go, and the other makes a pass."""
        slow, fast = self.controllers[who], self.controllers[1 - who]
        slow.finish()
        slow.begin()
        while slow.pending and "reserve " not in slow.pending:
            slow.step()
        if slow.pending:
            slow.step()
        if gone:
            self.world.main.commit({f"jobs/{name}.yml": None, f"jobs/{name}-moved.yml": None})
        self.world.pass_time(timedelta(minutes=minutes))
        fast.finish()
        fast.begin()
        fast.finish()

    @rule(who=WHO)
    def whole_pass(self, who: int) -> None:
        if not self.controllers[who].pending:
            self.controllers[who].begin()
        self.controllers[who].finish()

    # Time and runs.

    @rule(minutes=MINUTES)
    def time_passes(self, minutes: int) -> None:
        self.world.pass_time(timedelta(minutes=minutes))

    @rule(at=st.integers(0, 9), how=st.sampled_from(["Completed", "Failed", "Canceled"]))
    def a_run_ends(self, at: int, how: str) -> None:
        if run := self._active(at):
            self.world.workspace.end(run, how)

    @rule(at=st.integers(0, 9))
    def a_run_is_preempted(self, at: int) -> None:
        if run := self._active(at):
            self.world.workspace.end(run, "Failed", preempted=True)

    @rule(at=st.integers(0, 9), who=WHO, count=st.integers(0, 5))
    def a_run_is_tried_again(self, at: int, who: int, count: int) -> None:
        """Preempted; a pass sees it, and the next goes on, perhaps not to its end."""
        controller = self.controllers[who]
        if run := self._active(at):
            self.world.workspace.end(run, "Failed", preempted=True)
        controller.finish()
        controller.begin()
        controller.finish()
        controller.begin()
        for _ in range(count):
            if controller.pending:
                controller.step()

    @rule(at=st.integers(0, 30))
    def a_run_vanishes(self, at: int) -> None:
        if at < 10 and (run := self._active(at)):
            self.world.workspace.forget(run)

    # Main.

    @rule(hours=HOURS)
    def the_grant_changes(self, hours: float) -> None:
        self.world.main.commit({"admissions/digits.md": documents(hours)})

    @rule(name=st.sampled_from(NAMES), rerun=st.sampled_from(["", "2", "3", "4"]))
    def a_job_changes(self, name: str, rerun: str) -> None:
        self.world.main.commit({f"jobs/{name}.yml": job(name, rerun)})

    @rule(name=st.sampled_from(NAMES))
    def a_job_goes(self, name: str) -> None:
        self.world.main.commit({f"jobs/{name}.yml": None, f"jobs/{name}-moved.yml": None})

    @rule(name=st.sampled_from(NAMES))
    def a_job_moves(self, name: str) -> None:
        moved = {f"jobs/{name}.yml": None, f"jobs/{name}-moved.yml": job(name)}
        self.world.main.commit(moved)

    @rule(hours=HOURS)
    def the_admission_goes_and_comes_back(self, hours: float) -> None:
        self.world.main.commit({"admissions/digits.md": None})
        self.controllers[0].finish()
        self.controllers[0].begin()
        self.controllers[0].finish()
        self.world.main.commit({"admissions/digits.md": documents(hours)})

    # What holds.

    @invariant()
    def no_run_is_started_twice(self) -> None:
        assert max(self.world.started.values(), default=0) <= 1, self.world.started

    @invariant()
    def what_is_reserved_was_free(self) -> None:
        for step in self.world.ledger.steps(self.checked):
            _check_budget(step)
            self.checked = step.commit

    def _active(self, at: int) -> str:
        runs = [r.run for r in self.world.workspace.runs() if r.phase is Phase.ACTIVE]
        return runs[at % len(runs)] if runs else ""

    def _left_alone(self) -> None:
        """Nobody interferes any more: passes go on, runs end, and everything is settled."""
        self.world.main.commit({"admissions/digits.md": None, **_gone()})
        last = self.controllers[0]
        for _ in range(4):
            self.world.pass_time(timedelta(minutes=30))
            for run in self.world.workspace.runs():
                if run.phase is Phase.ACTIVE:
                    self.world.workspace.end(run.run)
            last.begin()
            last.finish()
            assert not isinstance(last.outcome, AdmitError | CrashError), last.outcome
        book = read_book(self.world.ledger.read(wanted))
        assert not book.active, [(r.run, r.stage) for r in book.active]
        self._all_is_charged(book)
        assert audit(self.world.ledger.steps()).broken is None

    def _all_is_charged(self, book: Book) -> None:
        """Every run that ever started is charged what it took, or its bound where it vanished."""
        charged = {a_run: r for r in book.records.values() for a_run in _names(r)}
        for run in self.world.started:
            assert run in charged, f"{run} was started and is not in the ledger"
        for run in self.world.workspace.runs():
            took = (run.ended_at or run.created_at) - (run.started_at or run.created_at)
            told = _hours(charged[run.run], run.run)
            assert abs(told - 2 * took.total_seconds() / 3600) < 1e-6, (run.run, told, took)


def _gone() -> dict[str, None]:
    return {f"jobs/{name}{more}.yml": None for name in NAMES for more in ("", "-moved")}


def _names(record: RunRecord) -> Iterable[str]:
    from controller.documents.payload import run_name

    numbers = {a.number for g in record.generations for a in g.attempts}
    return [run_name(record.name, record.fingerprint, number) for number in numbers]


def _hours(record: RunRecord, run: str) -> float:
    from controller.documents.payload import run_name

    return sum(
        a.over.gpu_hours
        for g in record.generations
        for a in g.attempts
        if a.over and run_name(record.name, record.fingerprint, a.number) == run
    )


def _check_budget(step: Step) -> None:
    """In a commit that reserves, everything committed fits what was granted then."""
    if not step.title.startswith("reserve "):
        return
    account = next(
        _read(Account, content)
        for path, content in step.files.items()
        if path.startswith("admissions/") and content is not None
    )
    committed = account.used + account.reserved
    assert committed <= account.granted + 1e-6, (step.title, account)


def _read(type_: type[Account], content: bytes) -> Account:
    from controller.ledger.codec import decoded

    return decoded(type_, content)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=100, stateful_step_count=30)

"""What holds once plans are done, one after the other: they come to rest, and spend no more."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decision.plan import kind_of
from controller.documents.payload import run_name
from controller.effects.apply import Hands, apply
from controller.effects.request import Case, Surroundings
from controller.ledger.book import Book, Heartbeat, read_book
from controller.ledger.draft import Draft, begun
from controller.values import CommitId
from tests.builders import NOW, WORKSPACE
from tests.decision.scenes import Scene, scene
from tests.fake_ledger import MemoryLedger
from tests.fakes import FakeWorkspace

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True, database=None)
SCENES = st.integers(0, 249).map(scene)
PASSES = 12


class World:
    """A ledger and a workspace in which a scene is so far."""

    def __init__(self, case: Scene) -> None:
        self.case = case
        self.workspace = FakeWorkspace(lambda: NOW, WORKSPACE)
        for run in case.runs:
            self.workspace.observe(run)
        self.ledger = MemoryLedger()
        first = begun(CommitId("0007"), NOW, by="@ada", workspace=WORKSPACE, controller="0")
        self.ledger.append([first], after=None, at=NOW)
        draft = Draft(self.book)
        for record in case.asked.records:
            draft.put(record, "put")
        draft.flush(self.ledger, Heartbeat(NOW, CommitId("c0ffee"), WORKSPACE, "0"))

    @property
    def book(self) -> Book:
        return read_book(self.ledger.read(lambda path: True))

    def now(self) -> Scene:
        """Return the scene as the next pass sees it."""
        runs = {run.run: run for run in self.workspace.runs()}
        return self.case.having(tuple(self.book.records.values()), runs)

    def turn(self) -> Counter[str]:
        """Make one pass and return how many receipts it has of each outcome."""
        seen = self.now()
        case = Case(
            seen.catalog, seen.evidence, seen.verdicts, seen.plan, Surroundings("0", WORKSPACE)
        )
        hands = Hands(self.ledger, self.workspace, lambda: NOW, lambda record: None)
        receipts = list(apply(case, self.book, hands))
        assert [(r.action, r.run) for r in receipts] == [
            (kind_of(a), getattr(a, "run", "")) for a in seen.plan.changes
        ]
        return Counter(receipt.outcome for receipt in receipts)


@EXAMPLES
@given(SCENES)
def test_passes_come_to_rest_with_nothing_left_but_what_the_brake_holds(case: Scene) -> None:
    world = World(case)
    for _ in range(PASSES):
        outcomes = world.turn()
        if not outcomes["done"]:
            break
    assert not outcomes["done"] + outcomes["failed"]
    rest = world.now().plan
    assert outcomes["held"] == len(rest.changes)
    assert bool(rest.changes) == bool(rest.brake)


@EXAMPLES
@given(SCENES)
def test_no_payload_is_started_twice_and_no_start_is_without_its_record(case: Scene) -> None:
    world = World(case)
    there = {run.run for run in case.runs}
    for _ in range(3):
        world.turn()
    started = [request.run for request in world.workspace.started]
    assert len(set(started)) == len(started)
    assert not there & set(started)
    records = {
        run_name(record.name, record.fingerprint, attempt.number): attempt
        for record in world.book.records.values()
        for attempt in record.last.attempts
    }
    for request in world.workspace.started:
        attempt = records[request.run]
        assert (attempt.submitted_at, request.injected["ADMIT_RECORD"]) == (NOW, attempt.record)


@EXAMPLES
@given(SCENES)
def test_no_pass_makes_an_admission_spend_more_than_it_grants(case: Scene) -> None:
    world = World(case)
    for _ in range(3):
        before = world.now().plan.balances
        world.turn()
        after = world.now().plan.balances
        for id_, admission in case.catalog.admissions.items():
            granted = admission.grant.gpu_hours
            was, now = before[id_], after[id_]
            committed, spent = now.reserved + now.used, was.reserved + was.used
            assert committed <= max(granted, spent) + 1e-6
            assert now.nodes <= max(admission.grant.max_nodes, was.nodes)

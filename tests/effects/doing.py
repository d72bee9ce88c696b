"""A plan, a ledger that has the records it rests on, and a workspace: for doing it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from controller.decision.actions import Action
from controller.decision.judge import judge_all
from controller.decision.plan import Plan
from controller.documents.catalog import Catalog
from controller.effects.apply import Hands, apply
from controller.effects.receipts import Receipt
from controller.effects.request import Case, Surroundings, account_of
from controller.evidence.facts import Evidence
from controller.ledger.book import (
    POLICY,
    Book,
    Order,
    Standing,
    account_file,
    read_book,
    run_file,
    wanted,
)
from controller.ledger.codec import encoded
from controller.ledger.draft import begun
from controller.ledger.records import Outcome, RunRecord
from controller.ledger.store import Change
from controller.values import Fingerprint
from tests.builders import BROUGHT, COMMIT, NOW, WORKSPACE
from tests.decision.planning import asked, plan_of
from tests.fake_ledger import MemoryLedger
from tests.fakes import FakeWorkspace

PLACE = Surroundings("1.2.3", WORKSPACE, "https://mlflow.example.com", "postgresql://db/results")


def case_of(catalog: Catalog, evidence: Evidence, place: Surroundings = PLACE) -> Case:
    """Return what a pass concludes from these documents and facts."""
    verdicts = judge_all(catalog, catalog.policy, evidence) if catalog.policy else {}
    return Case(catalog, evidence, verdicts, plan_of(catalog, evidence), place)


@dataclass
class Scene:
    """What a plan is done over. `clock` is what `now` returns."""

    case: Case
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    workspace: FakeWorkspace = field(default_factory=lambda: FakeWorkspace(lambda: NOW, WORKSPACE))
    clock: Any = NOW
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first = begun(COMMIT, NOW, by="ada", workspace=WORKSPACE, controller="1.2.3")
        records = self.case.evidence.records
        catalog = self.case.catalog
        files = {run_file(record): encoded(record) for record in records}
        files |= {
            account_file(id_): encoded(account_of(a, BROUGHT))
            for id_, a in catalog.admissions.items()
        }
        if catalog.policy is not None:
            files[POLICY] = encoded(Standing(catalog.policy.blob, NOW))
        self.ledger.append([first, Change("what was before", files)], after=None, at=NOW)
        self.begun = self.ledger.head

    @property
    def book(self) -> Book:
        return read_book(self.ledger.read(wanted))

    def record(self, of: RunRecord | Any) -> RunRecord:
        """Return the record of a payload as the ledger has it now."""
        fingerprint = Fingerprint(getattr(of, "fingerprint", "") or of.payload.fingerprint)
        return self.book.records[of.name, fingerprint]

    def do(self, *actions: Action, orders: Iterable[Order] = (), brake: str = "") -> list[Receipt]:
        """Do the plan of the case, or one with other actions."""
        case = self.case
        if actions:
            case = replace(case, plan=Plan(WORKSPACE, actions, {}, (), brake))
        hands = Hands(
            self.ledger,
            self.workspace,
            lambda: self.clock,
            lambda record: self.outcomes.get(record.run),
        )
        return list(apply(case, self.book, hands, orders))

    @property
    def titles(self) -> list[str]:
        """The commits that were written since the scene began."""
        return [step.title for step in self.ledger.steps(self.begun)]


def scene(catalog: Catalog, ran: dict[RunRecord, Any] | None = None, **evidence: Any) -> Scene:
    """Return a scene in which those runs are recorded and in the workspace."""
    made = Scene(case_of(catalog, asked(catalog, ran, **evidence)))
    for what in (ran or {}).values():
        if what is not None:
            made.workspace.observe(what)
    return made

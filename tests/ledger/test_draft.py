"""What is to be written next: one change after the other, with the balances as they are then."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from controller.errors import UnavailableError
from controller.ledger.book import Account, Book, Decision, Heartbeat, Order, Standing, read_book
from controller.ledger.codec import encoded
from controller.ledger.draft import Draft, begun
from controller.ledger.records import over, released, reserved, settled, submitted
from controller.ledger.store import Change, LostRaceError
from controller.values import AdmissionId, BlobId, CommitId
from tests.builders import NOW, attempt, record, sound_manifest
from tests.decision.planning import EVICTED
from tests.fake_ledger import MemoryLedger
from tests.ledger.pages import ACCOUNT, APPROVED, BERT, KEPT, MAIN, RAN, ROOT

LATER = NOW + timedelta(minutes=5)
BEAT = Heartbeat(LATER, MAIN, "local:here", "0.1.0")
FRESH = record(attempts=(attempt(submitted_at=None),))
EMPTY = replace(ACCOUNT, reserved=0.0, used=0.0)


def begun_ledger() -> MemoryLedger:
    ledger = MemoryLedger()
    first = begun(ROOT, NOW, by="@ada", workspace="local:here", controller="0.1.0")
    ledger.append([first], after=None, at=NOW)
    return ledger


def having(ledger: MemoryLedger, *drafted: Any) -> tuple[Draft, Book]:
    """Return a draft over a ledger in which the account and `drafted` are written already."""
    draft = Draft(of(ledger))
    draft.approve(EMPTY, "see it approved")
    for one in drafted:
        draft.put(one, "put")
    draft.flush(ledger, BEAT)
    book = of(ledger)
    return Draft(book), book


def of(ledger: MemoryLedger) -> Book:
    return read_book(ledger.read(lambda path: True))


def written(ledger: MemoryLedger, since: CommitId | None) -> list[tuple[str, list[str]]]:
    """Return the title and the files of each commit after `since`."""
    return [(step.title, sorted(step.files)) for step in ledger.steps(since)]


def balances(ledger: MemoryLedger, since: CommitId) -> list[tuple[float, float]]:
    """Return what each commit after `since` says is set aside and used of the admission."""
    path = "admissions/bert-pretrain.json"
    contents = (step.files.get(path) for step in ledger.steps(since))
    accounts = [json.loads(content) for content in contents if content]
    return [(a.get("reserved", 0.0), a.get("used", 0.0)) for a in accounts]


class TestBegun:
    def test_it_trusts_one_commit(self) -> None:
        book = of(begun_ledger())
        assert (book.trust.root, book.trust.by, book.trust.at) == (ROOT, "@ada", NOW)
        assert book.heartbeat == Heartbeat(NOW, ROOT, "local:here", "0.1.0")
        assert [t for t, _ in written(begun_ledger(), None)] == ["begin the ledger, trusting 0007"]


class TestRecords:
    def test_a_change_comes_with_the_balance_as_it_is_after_it(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger)
        draft.put(FRESH, "reserve")
        draft.put(submitted(FRESH, NOW), "submit")
        ended = over(submitted(FRESH, NOW), replace(EVICTED, preempted=False))
        draft.put(ended, "see it over")
        draft.put(settled(ended, NOW, "why", exact=True), "settle")
        draft.flush(ledger, BEAT)
        files = ["admissions/bert-pretrain.json", f"runs/{RAN.run}.json"]
        titles = [title for title, _ in written(ledger, book.head)]
        assert titles == ["reserve", "submit", "see it over", "settle"]
        assert written(ledger, book.head)[0] == ("reserve", files)
        assert balances(ledger, book.head) == [(960.0, 0.0), (0.0, 100.0)]

    def test_every_change_has_it_even_where_it_is_as_before(self) -> None:
        changes: list[Change] = []
        draft, _ = having(begun_ledger())
        draft.put(FRESH, "reserve")
        draft.put(submitted(FRESH, NOW), "submit")
        draft.flush(Kept(changes), BEAT)
        assert [sorted(c.files)[0] for c in changes] == ["admissions/bert-pretrain.json"] * 2

    def test_what_other_runs_hold_is_in_the_balance(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger, RAN)
        draft.put(record(sound_manifest(name="other"), reserved=40), "reserve")
        draft.flush(ledger, BEAT)
        assert balances(ledger, book.head) == [(1000.0, 0.0)]

    def test_a_reservation_under_another_admission_is_charged_to_that_one_alone(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger, released(FRESH, NOW, "why"))
        draft.approve(replace(EMPTY, id=AdmissionId("other")), "see the other approved")
        there = draft.record(FRESH.name, FRESH.fingerprint)
        new = replace(FRESH.last, admission=AdmissionId("other"), attempts=(attempt(),))
        draft.put(reserved(there, FRESH.name, FRESH.fingerprint, new), "reserve")
        draft.flush(ledger, BEAT)
        accounts = of(ledger).accounts
        held = {id_: (account.reserved, account.used) for id_, account in accounts.items()}
        assert held == {"bert-pretrain": (0.0, 0.0), "other": (960.0, 0.0)}
        assert book.accounts[BERT] == accounts[BERT]

    def test_without_an_account_the_record_is_written_alone(self) -> None:
        ledger = begun_ledger()
        draft = Draft(book := of(ledger))
        draft.put(RAN, "see it")
        draft.flush(ledger, BEAT)
        assert written(ledger, book.head) == [
            ("see it", ["heartbeat.json", f"runs/{RAN.run}.json"])
        ]

    def test_what_is_drafted_is_what_it_says(self) -> None:
        draft, _ = having(begun_ledger(), RAN)
        ended = over(RAN, EVICTED)
        draft.put(ended, "see it over")
        assert draft.record(RAN.name, RAN.fingerprint) == ended
        assert draft.records == (ended,)
        assert draft.record("other", RAN.fingerprint) is None

    def test_files_that_are_there_are_not_written_twice(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger)
        why = {"records/a.json": b"why", "proofs/p.json": b"proof"}
        draft.put(FRESH, "reserve", more=why)
        draft.put(submitted(FRESH, NOW), "submit", more={"proofs/p.json": b"proof once more"})
        draft.flush(ledger, BEAT)
        again = Draft(of(ledger))
        again.put(over(submitted(FRESH, NOW), EVICTED), "see it over", more={**why, "new": b"new"})
        again.flush(ledger, BEAT)
        first, second, third = (set(files) for _, files in written(ledger, book.head))
        assert (first & set(why), second & set(why)) == (set(why), set())
        assert third - {"heartbeat.json"} == {f"runs/{RAN.run}.json", "new"}
        assert ledger.read(lambda _: True).files["proofs/p.json"] == b"proof"


class TestApproved:
    def test_another_version_is_written_with_the_balance_worked_out_here(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger, RAN)
        lowered = Account(BERT, BlobId("new"), "@acme/nlp", date(2027, 3, 31), 500.0, 7.0, 7.0)
        draft.approve(lowered, "see it lowered", "why")
        draft.flush(ledger, BEAT)
        assert of(ledger).accounts[BERT] == replace(lowered, reserved=960.0, used=0.0)
        assert [title for title, _ in written(ledger, book.head)] == ["see it lowered"]

    def test_the_same_version_is_not_written_again(self) -> None:
        draft, _ = having(begun_ledger(), RAN)
        draft.approve(EMPTY, "see it again")
        assert not draft.pending

    def test_a_policy_is_written_where_it_is_another(self) -> None:
        ledger = begun_ledger()
        draft, _ = having(ledger)
        draft.trust(APPROVED, "see the policy approved")
        draft.trust(Standing(APPROVED.blob, LATER), "again")
        draft.flush(ledger, BEAT)
        assert of(ledger).policy == APPROVED
        again = Draft(of(ledger))
        again.trust(Standing(APPROVED.blob, LATER), "again")
        assert not again.pending


class TestDecisions:
    def decided(self, before: Decision, after: Decision) -> bool:
        """Return whether `after` is written where `before` is."""
        ledger = begun_ledger()
        draft, _ = having(ledger)
        draft.decide([before])
        draft.flush(ledger, BEAT)
        again = Draft(of(ledger))
        again.decide([after])
        return again.pending

    def test_one_that_is_as_before_is_not_written(self) -> None:
        same = replace(KEPT, why="in 3 days", at=LATER, main=CommitId("next"), evidence={"a": 1})
        assert not self.decided(KEPT, same)

    @pytest.mark.parametrize(
        "change", [{"action": "submit"}, {"code": "gave-up"}, {"rules": ()}], ids=str
    )
    def test_another_action_code_or_rule_is_written(self, change: dict[str, Any]) -> None:
        assert self.decided(KEPT, replace(KEPT, **change))

    def test_several_are_one_change_and_one_is_named_in_its_title(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger)
        draft.decide([KEPT, replace(KEPT, subject="brake", action="latched")])
        draft.decide([KEPT, replace(KEPT, subject="other")])
        draft.flush(ledger, BEAT)
        assert [title for title, _ in written(ledger, book.head)] == [
            "decide about 2 subjects",
            "decide: withhold other",
        ]

    def test_the_body_names_twenty_and_counts_the_others(self) -> None:
        changes: list[Change] = []
        draft = Draft(of(begun_ledger()))
        draft.decide([replace(KEPT, subject=f"s{n}") for n in range(23)])
        draft.flush(Kept(changes), BEAT)
        lines = changes[0].body.split("\n\n")
        assert (lines[0], lines[-1], len(lines)) == ("withhold s0: why", "and 3 more", 21)
        assert len(changes[0].files) == 24


class TestFlush:
    def test_nothing_is_written_where_nothing_is_drafted(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger)
        draft.decide([])
        draft.flush(ledger, BEAT)
        assert (ledger.head, draft.head, draft.pending) == (book.head, book.head, False)

    def test_the_heartbeat_goes_with_the_last_change_only(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger)
        draft.put(FRESH, "reserve")
        draft.decide([KEPT])
        beat = replace(BEAT, at=LATER + timedelta(minutes=1))
        draft.flush(ledger, beat)
        beats = ["heartbeat.json" in files for _, files in written(ledger, book.head)]
        assert beats == [False, True]
        assert of(ledger).heartbeat == beat
        assert (draft.head, draft.pending) == (ledger.head, False)

    def test_a_heartbeat_alone_and_an_order_are_changes(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger)
        draft.beat(BEAT)
        draft.order(Order("accept-clock", LATER, "it is right", "@ada"), "@ada orders it")
        draft.flush(ledger, replace(BEAT, at=LATER + timedelta(minutes=1)))
        assert [title for title, _ in written(ledger, book.head)] == ["heartbeat", "@ada orders it"]
        assert "orders/20261130T200500.000000Z-accept-clock.json" in of(ledger).names

    def test_of_two_heartbeats_the_later_is_written(self) -> None:
        ledger = begun_ledger()
        draft, _ = having(ledger)
        draft.beat(BEAT)
        later = replace(BEAT, at=LATER + timedelta(minutes=1))
        draft.flush(ledger, later)
        assert of(ledger).heartbeat == later

    def test_whoever_comes_second_writes_nothing(self) -> None:
        ledger = begun_ledger()
        draft, book = having(ledger)
        other, _ = Draft(book), draft.put(FRESH, "reserve")
        other.decide([KEPT])
        other.flush(ledger, BEAT)
        with pytest.raises(LostRaceError):
            draft.flush(ledger, BEAT)
        assert of(ledger).records == {}

    def test_what_could_not_be_written_is_still_to_be_written(self) -> None:
        ledger = begun_ledger()
        draft, _ = having(ledger)
        draft.put(FRESH, "reserve")
        ledger.outage = "the network is down"
        with pytest.raises(UnavailableError):
            draft.flush(ledger, BEAT)
        assert draft.pending
        ledger.outage = ""
        draft.flush(ledger, BEAT)
        assert draft.record(FRESH.name, FRESH.fingerprint) == FRESH
        assert encoded(FRESH) == ledger.read(lambda _: True).files[f"runs/{RAN.run}.json"]

    def test_the_next_rests_on_the_head_that_was_written(self) -> None:
        ledger = begun_ledger()
        draft, _ = having(ledger)
        draft.put(FRESH, "reserve")
        draft.flush(ledger, BEAT)
        draft.put(submitted(FRESH, NOW), "submit")
        draft.flush(ledger, BEAT)
        assert draft.head == ledger.head


class Kept:
    """A ledger that shows what was handed to it."""

    place = "`here`"

    def __init__(self, changes: list[Change]) -> None:
        self.changes = changes

    def read(self, wanted: Any, at: CommitId | None = None) -> Any:
        raise AssertionError("nothing is read")

    def append(self, changes: Any, *, after: Any, at: Any) -> CommitId:
        self.changes += changes
        return CommitId("next")

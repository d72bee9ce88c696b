"""The ledger as a whole: read strictly, and what is not as it was written is called by its name."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.errors import CannotRunError
from controller.ledger.book import (
    HEARTBEAT,
    POLICY,
    TRUST,
    Account,
    DamagedLedgerError,
    Order,
    Proof,
    account_file,
    decision_file,
    order_file,
    page,
    proof_file,
    read_book,
    record_file,
    run_file,
    wanted,
)
from controller.ledger.codec import encoded
from controller.ledger.records import RunRecord, over, released, reserved, settled, tried_again
from controller.ledger.store import Pages
from controller.values import AdmissionId, BlobId, CommitId, Digest, RepoPath
from tests.builders import JOB, NOW, attempt, record, sound_manifest
from tests.decision.planning import EVICTED
from tests.ledger.pages import (
    ACCOUNT,
    APPROVED,
    BEAT,
    BERT,
    FULL,
    HEAD,
    KEPT,
    RAN,
    TRUSTED,
    book,
    files,
)

RUN_FILE = f"runs/{RAN.run}.json"
ACCOUNT_FILE = "admissions/bert-pretrain.json"
DECISION_FILE = "decisions/jobs/bert/pretrain.yml.json"
READ = (RUN_FILE, ACCOUNT_FILE, DECISION_FILE, TRUST, HEARTBEAT, POLICY)


class TestReading:
    def test_every_kind_of_file(self) -> None:
        found = read_book(Pages(HEAD, FULL))
        assert (found.head, found.trust, found.heartbeat) == (HEAD, TRUSTED, BEAT)
        assert found.records == {(RAN.name, RAN.fingerprint): RAN}
        assert found.accounts == {BERT: ACCOUNT}
        assert found.decisions == {JOB: KEPT}
        assert found.policy == APPROVED
        assert found.names == frozenset(FULL)

    def test_one_that_was_only_begun_is_empty(self) -> None:
        found = book()
        assert (found.records, found.accounts, found.decisions) == ({}, {}, {})
        assert found.policy is None

    def test_what_is_only_known_by_name_is_not_read(self) -> None:
        more = {"records/a.json": None, "proofs/jobs/a.yml/0-0.json": None, "orders/0.json": None}
        assert read_book(Pages(HEAD, FULL | more)).names == {*FULL, *more}

    def test_records_are_sorted_and_the_active_ones_are_those_not_closed(self) -> None:
        done = record(sound_manifest(name="a"), used=1.0)
        found = book(RAN, done)
        assert [name for name, _ in found.records] == ["a", "bert-pretrain"]
        assert found.active == (RAN,)

    def test_a_record_with_all_its_generations_and_attempts_is_in_order(self) -> None:
        fresh = record(attempts=(attempt(submitted_at=None),))
        back = released(fresh, NOW, "why")
        new = replace(fresh.last, attempts=(attempt(),))
        again = reserved(back, back.name, back.fingerprint, new)
        retry = tried_again(over(again, EVICTED), attempt(2))
        for kept in (back, again, retry, settled(retry, NOW, "why", exact=True)):
            assert book(kept).records[RAN.name, RAN.fingerprint] == kept

    def test_what_a_pass_needs_the_content_of(self) -> None:
        assert all(wanted(path) for path in READ)
        unread = ("records/a.json", "proofs/jobs/a.yml/0-0.json", "orders/0-stop.json")
        assert not any(wanted(path) for path in unread)


class TestDamage:
    @pytest.mark.parametrize("path", READ)
    @pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff", b'{"schema":1,"x":[5]}\n'])
    def test_a_file_that_is_not_what_it_should_be(self, path: str, content: bytes) -> None:
        with pytest.raises(DamagedLedgerError, match=f"`{path}` of the ledger is damaged: (it|`)"):
            read_book(Pages(HEAD, FULL | {path: content}))

    @pytest.mark.parametrize("path", READ)
    def test_a_file_that_cannot_be_read(self, path: str) -> None:
        with pytest.raises(DamagedLedgerError) as raised:
            read_book(Pages(HEAD, FULL | {path: None}))
        assert str(raised.value) == f"the ledger has no `{path}` that can be read"
        assert raised.value.remedy == "`admit ledger fsck` names the commit that broke it"

    @pytest.mark.parametrize("path", [TRUST, HEARTBEAT])
    def test_a_file_that_is_missing(self, path: str) -> None:
        left = {name: content for name, content in FULL.items() if name != path}
        with pytest.raises(DamagedLedgerError, match=f"the ledger has no `{path}`"):
            read_book(Pages(HEAD, left))

    @pytest.mark.parametrize("path", [RUN_FILE, ACCOUNT_FILE, DECISION_FILE])
    @pytest.mark.parametrize("to", ["other.json", "other", "bert-pretrain.json"])
    def test_a_file_that_is_not_where_it_belongs(self, path: str, to: str) -> None:
        place = f"{path.partition('/')[0]}/x/{to}"
        moved = {place if name == path else name: content for name, content in FULL.items()}
        with pytest.raises(DamagedLedgerError) as raised:
            read_book(Pages(HEAD, moved))
        assert str(raised.value) == f"`{place}` of the ledger holds what does not belong there"

    def test_the_account_of_another_admission(self) -> None:
        other = encoded(replace(ACCOUNT, id=AdmissionId("other")))
        with pytest.raises(DamagedLedgerError, match=f"`{ACCOUNT_FILE}` of the ledger holds what"):
            book(**{ACCOUNT_FILE: other})

    def test_the_decision_about_another_subject(self) -> None:
        other = encoded(replace(KEPT, subject="jobs/bert/other.yml"))
        with pytest.raises(DamagedLedgerError, match=f"`{DECISION_FILE}` of the ledger holds what"):
            book(**{DECISION_FILE: other})

    def test_the_record_of_another_payload(self) -> None:
        with pytest.raises(DamagedLedgerError, match=f"`{RUN_FILE}` of the ledger holds what"):
            book(**{RUN_FILE: encoded(record(fingerprint="0" * 64))})

    @pytest.mark.parametrize(
        "made_up",
        [
            replace(RAN, generations=()),
            replace(RAN, generations=(replace(RAN.last, attempts=()),)),
            replace(RAN, generations=(RAN.last, RAN.last)),
            replace(RAN, generations=(record(used=5.0).last, RAN.last)),
            record(attempts=(attempt(2),)),
            record(attempts=(attempt(), attempt(3))),
            record(attempts=(attempt(0),)),
        ],
        ids=[
            "no generation",
            "no attempt",
            "two that are open",
            "one after it was settled",
            "no first attempt",
            "an attempt left out",
            "an attempt before the first",
        ],
    )
    def test_a_record_that_no_steps_lead_to(self, made_up: RunRecord) -> None:
        with pytest.raises(DamagedLedgerError, match=f"`{RUN_FILE}` of the ledger holds what"):
            book(**{RUN_FILE: encoded(made_up)})

    def test_nothing_may_be_spent_on_a_damaged_ledger(self) -> None:
        assert issubclass(DamagedLedgerError, CannotRunError)

    def test_one_page_says_why_it_is_refused(self) -> None:
        with pytest.raises(DamagedLedgerError, match="is damaged: `Account` lacks `owner`"):
            page(Account, "a.json", {"a.json": encoded(ACCOUNT).replace(b'"owner"', b'"owners"')})


class TestPlaces:
    def test_where_everything_is_kept(self) -> None:
        assert run_file(RAN) == RUN_FILE
        digest = Digest("sha256:" + "ab" * 32)
        assert record_file(RAN.run, digest) == f"records/{RAN.run}/{'ab' * 6}.json"
        assert account_file(BERT) == ACCOUNT_FILE
        assert decision_file(JOB) == DECISION_FILE
        order = Order("stop", NOW + timedelta(microseconds=7), "why", "@ada")
        assert order_file(order) == "orders/20261130T200000.000007Z-stop.json"

    def test_a_retry_is_kept_with_its_first_attempt(self) -> None:
        assert run_file(tried_again(over(RAN, EVICTED), attempt(2))) == RUN_FILE

    def test_a_proof_is_of_bytes_or_of_a_removal_at_a_commit(self) -> None:
        proof = Proof(JOB, BlobId("b10b"), CommitId("c0"), ("@acme/nlp",), (), NOW)
        assert proof_file(proof) == f"proofs/{JOB}/b10b-c0.json"
        assert proof_file(replace(proof, blob=None)) == f"proofs/{JOB}/removed-c0.json"

    def test_no_name_is_ever_a_file_and_a_folder(self) -> None:
        odd = ("jobs/a.yml", "jobs/a.yml.json/b.yml", "jobs/a.yml.json%2Fb.yml", "jobs/a.json/b")
        kept = {decision_file(subject) for subject in odd}
        assert len(kept) == len(odd)
        assert not any(one.startswith(f"{other}/") for one in kept for other in kept)
        inside = Proof(RepoPath("jobs/a.yml/b-c.json/d.yml"), None, CommitId("c"), (), (), NOW)
        there = Proof(RepoPath("jobs/a.yml"), BlobId("b"), CommitId("c"), (), (), NOW)
        assert not proof_file(inside).startswith(f"{proof_file(there)}/")

    def test_what_is_kept_is_found_again_under_its_subject(self) -> None:
        odd = replace(KEPT, subject="jobs/a.yml.json/100%.yml")
        assert book(odd).decisions == {odd.subject: odd}
        assert set(files(odd)) > {"decisions/jobs/a.yml.json%2F100%25.yml.json"}

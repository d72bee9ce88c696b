"""Asking the outside: what is asked, what is not, and that an outage is an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from controller.documents.admission import SECTIONS, Admission
from controller.documents.catalog import Catalog, Ran
from controller.documents.policy import POLICY
from controller.errors import UnavailableError
from controller.evidence.facts import (
    Answer,
    Approval,
    Evidence,
    Introduction,
    Known,
    MeasuredRun,
    Unavailable,
    Version,
)
from controller.evidence.gather import (
    LATE,
    NOT_YET,
    Sources,
    documents_of,
    gather,
    measurements,
    remembered,
)
from controller.ledger.book import Account, Book, Decision, Heartbeat, Standing, Trust
from controller.ledger.records import RunRecord, released
from controller.values import AdmissionId, BlobId, CommitId, RepoPath, RunName
from tests.builders import (
    ADMISSION,
    BROUGHT,
    CODEOWNERS,
    COMMIT,
    JOB,
    NOW,
    RUN,
    WORKSPACE,
    approval,
    attempt,
    introduction,
    measured,
    problem,
    sound_admission,
    sound_catalog,
    sound_policy,
    too_slow,
)
from tests.decision.planning import HOUR, NEW, OLD, OLD_RUN, RAN, run_of, seen, small, started
from tests.fakes import FakeWorkspace

GRANT = sound_admission()
BERT = GRANT.id
WORDS = "The baseline misses the deadline by a factor of three, as the cited run shows. " * 3
ADMISSION_TEXT = """\
---
admission: bert-pretrain
title: Pretrain BERT
owner: "@ada"
model: claims-bert
expires: 2027-03-31
grant: {kinds: [command], jobs: ["jobs/bert/*.yml"], images: [acme.azurecr.io/train],
        compute: [gpu-cluster], max_nodes: 2, gpu_hours: 777}
evidence: {outcome: too_slow, run: "runs:/3f2c9a", hours: 410, deadline_hours: 96}
---
{sections}
""".replace("{sections}", "".join(f"## {title}\n\n{WORDS}\n\n" for title in SECTIONS))
POLICY_TEXT = """\
version: 1
approvals: {minimum: 2, manifests: 1}
limits: {admission_days: 180, gpu_hours: 2000, max_nodes: 16, min_gpus: 2, cancels_per_pass: 7}
kinds: [command]
registries: [acme.azurecr.io]
code: image
baseline: {name: one node, gpus: 1, gpu_memory_gib: 80}
compute:
  pair: {vm_size: a, gpus_per_node: 1, gpu_memory_gib: 16, max_nodes: 2,
         price_per_node_hour: 4.5, currency: USD}
hold: null
"""


@dataclass
class Outside:
    """A code host, a history and a tracking server in one; `down` names what does not answer."""

    texts: dict[RepoPath, str] = field(default_factory=dict)
    down: str = ""
    paths: list[RepoPath] = field(default_factory=list)
    asked: list[RepoPath] = field(default_factory=list)
    approvers: tuple[str, ...] = ("@ada", "@lin")

    def approvals(
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> Mapping[RepoPath, Answer[Approval]]:
        assert at == COMMIT
        self.paths = list(paths)
        return {path: approval(path, "@ada") for path in self.paths}

    def versions(self, path: RepoPath, at: CommitId) -> Iterable[Version]:
        assert at == COMMIT
        self.asked.append(path)
        if self.down == path:
            raise UnavailableError("the host answered 503")
        text = self.texts.get(path)
        if text is not None:
            yield Version(text.encode(), approval(path, *self.approvers).value)

    def introductions(
        self, paths: Iterable[RepoPath], at: CommitId, root: CommitId | None = None
    ) -> Mapping[RepoPath, Introduction]:
        assert at == COMMIT
        if self.down == "history":
            raise UnavailableError("the history is shallow")
        return {path: introduction(path).value for path in paths}

    def measured(self, run_id: str) -> MeasuredRun | None:
        if self.down == "tracking":
            raise UnavailableError("the tracking server answered 500")
        return measured().value if run_id == RUN else None

    def tracked(self, run: RunName) -> tuple[()]:
        raise AssertionError(f"{run} is asked for only when it is settled")


def book_of(*records: RunRecord, **changes: Any) -> Book:
    """Return a ledger that has these records, and has seen nothing approved yet."""
    beat = Heartbeat(NOW - HOUR, COMMIT, WORKSPACE, "1")
    keyed = {(record.name, record.fingerprint): record for record in records}
    book = Book(COMMIT, Trust(COMMIT, NOW), beat, keyed, {}, {}, None, frozenset())
    return replace(book, **changes)


def seen_approved(*admissions: Admission) -> dict[str, Any]:
    """Return the fields of a ledger that has seen the policy and these admissions approved."""
    accounts = {
        a.id: Account(a.id, a.blob, a.owner, a.expires, 1000, commit=BROUGHT) for a in admissions
    }
    return {"policy": Standing(sound_policy().blob, NOW, BROUGHT), "accounts": accounts}


def gathered(
    catalog: Catalog,
    *ran: RunRecord,
    starting: Iterable[str] = (),
    outside: Outside | None = None,
    workspace: FakeWorkspace | None = None,
    **book: Any,
) -> Evidence:
    """Return what is asked where those runs are recorded and those manifests could start."""
    outside = outside or Outside()
    workspace = workspace or having(*ran)
    known_book = book_of(*ran, **book)
    known = remembered(catalog, COMMIT, known_book, outside, lambda: NOW)
    sources = Sources(outside, outside, workspace, outside, lambda: NOW)
    chosen = [RepoPath(path) for path in starting]
    return gather(known, catalog, COMMIT, known_book, chosen, sources)


def having(*ran: RunRecord) -> FakeWorkspace:
    workspace = FakeWorkspace(lambda: NOW, WORKSPACE)
    for record in ran:
        if record.active:
            workspace.observe(seen(record))
    return workspace


class TestWhatIsAsked:
    def test_where_nothing_starts_and_nothing_runs_nobody_is_asked_anything(self) -> None:
        outside, workspace = Outside(), having()
        done = started(NEW, used=10.0)
        evidence = gathered(sound_catalog(GRANT, OLD), done, outside=outside, workspace=workspace)
        assert (outside.paths, outside.asked, workspace.asked, workspace.listed) == ([], [], [], 0)
        assert evidence.runs == {}
        assert evidence.approvals[JOB] == Unavailable(NOT_YET, NOW)

    def test_a_start_asks_for_the_approval_of_everything_that_it_rests_on(self) -> None:
        outside = Outside()
        catalog = sound_catalog(GRANT, sound_admission("other"), OLD, small(1))
        evidence = gathered(catalog, starting=[JOB], outside=outside)
        assert outside.paths == sorted([POLICY, CODEOWNERS, ADMISSION, JOB])
        assert evidence.approvals[JOB] == approval(JOB, "@ada")
        assert evidence.approvals[small(1).path] == Unavailable(NOT_YET, NOW)

    def test_without_codeowners_it_asks_for_the_rest(self) -> None:
        catalog = replace(sound_catalog(GRANT, OLD), owners=None)
        assert documents_of(catalog) == [POLICY, ADMISSION, JOB]

    def test_an_active_run_asks_for_no_approval_while_what_it_was_started_for_is_there(
        self,
    ) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        gathered(sound_catalog(GRANT, OLD), RAN, outside=outside, **seen_approved(GRANT))
        assert (outside.paths, outside.asked) == ([], [])

    def test_an_active_run_asks_whether_the_removal_of_its_documents_was_approved(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        gathered(sound_catalog(), RAN, started(small(1), used=1.0), outside=outside)
        assert outside.paths == sorted([ADMISSION, JOB])

    def test_a_broken_document_was_not_removed(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        broken = {ADMISSION: (problem(ADMISSION),), JOB: (problem(JOB),)}
        gathered(sound_catalog(broken=broken), RAN, outside=outside)
        assert outside.paths == []

    def test_a_manifest_that_is_not_read_again_is_there(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        ran = {JOB: Ran(RAN.name, RAN.fingerprint)}
        gathered(replace(sound_catalog(GRANT), ran=ran), RAN, outside=outside)
        assert outside.paths == []


class TestHistory:
    def test_what_brought_each_document_is_asked_of_git(self) -> None:
        evidence = gathered(sound_catalog(GRANT, OLD))
        assert set(evidence.introductions) == {POLICY, CODEOWNERS, ADMISSION, JOB}
        assert evidence.introductions[JOB] == introduction(JOB)

    def test_an_outage_is_the_answer_for_every_document(self) -> None:
        evidence = gathered(sound_catalog(GRANT, OLD), outside=Outside(down="history"))
        doubt = Unavailable("the history is shallow", NOW)
        assert evidence.introductions == dict.fromkeys([POLICY, CODEOWNERS, ADMISSION, JOB], doubt)


class TestRuns:
    def test_each_that_could_start_and_each_that_is_active_is_asked_for_by_name(self) -> None:
        workspace = having(RAN)
        evidence = gathered(sound_catalog(GRANT, NEW), RAN, starting=[JOB], workspace=workspace)
        assert evidence.runs == {run_of(NEW): Known(None, NOW), OLD_RUN: Known(seen(RAN), NOW)}
        assert evidence.records == (RAN,)
        assert (sorted(workspace.asked), workspace.listed) == (sorted([OLD_RUN, run_of(NEW)]), 0)

    def test_what_is_asked_grows_with_what_is_active_and_not_with_what_is_settled(self) -> None:
        settled = [started(small(n), used=1.0) for n in range(50)]
        workspace = having(RAN, *settled)
        gathered(sound_catalog(GRANT, OLD), RAN, *settled, workspace=workspace)
        assert workspace.asked == [OLD_RUN]

    def test_an_outage_is_the_answer_for_every_run(self) -> None:
        workspace = having(RAN)
        workspace.outage = "no route"
        evidence = gathered(sound_catalog(GRANT, OLD), RAN, workspace=workspace)
        assert evidence.runs == {OLD_RUN: Unavailable("no route", NOW)}
        assert evidence.records == (RAN,)

    def test_a_run_of_another_workspace_counts_as_not_asked(self) -> None:
        elsewhere = started(OLD, workspace="local:there")
        evidence = gathered(sound_catalog(GRANT, OLD), elsewhere)
        doubt = Unavailable("it is of another workspace, `local:there`", NOW)
        assert evidence.runs == {OLD_RUN: doubt}

    @pytest.mark.parametrize(("ago", "asked"), [(LATE - HOUR, [OLD_RUN]), (LATE + HOUR, [])])
    def test_a_reservation_that_was_given_back_is_watched_for_a_day(
        self, ago: timedelta, asked: list[str]
    ) -> None:
        waiting = started(OLD, attempts=(attempt(submitted_at=None),))
        workspace = having()
        gathered(sound_catalog(GRANT), released(waiting, NOW - ago, "why"), workspace=workspace)
        assert workspace.asked == asked


class TestMeasurements:
    def test_each_cited_run_is_asked_once(self) -> None:
        other = sound_admission("other", claim=too_slow(run="gone"))
        catalog = sound_catalog(GRANT, sound_admission("same"), other, OLD)
        found = measurements(catalog.admissions.values(), Outside(), lambda: NOW)
        assert found == {RUN: measured(), "gone": Known(None, NOW)}

    def test_a_claim_without_a_run_has_nothing_to_ask(self) -> None:
        silent = sound_admission(claim=too_slow(run=""))
        assert measurements([silent], Outside(down="tracking"), lambda: NOW) == {}

    def test_an_outage_is_the_answer(self) -> None:
        down = Outside(down="tracking")
        evidence = gathered(sound_catalog(GRANT, OLD), starting=[JOB], outside=down)
        assert evidence.measured == {RUN: Unavailable("the tracking server answered 500", NOW)}

    def test_only_a_start_needs_the_measurement_of_its_admission(self) -> None:
        catalog = sound_catalog(GRANT, sound_admission("idle", claim=too_slow(run="idle")), OLD)
        not_yet = Unavailable(NOT_YET, NOW)
        assert gathered(catalog, starting=[JOB]).measured == {RUN: measured(), "idle": not_yet}
        assert gathered(catalog).measured == {RUN: not_yet, "idle": not_yet}


class TestLastApprovedPolicy:
    def test_a_start_asks_the_host_whatever_the_ledger_says(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        catalog = sound_catalog(GRANT, OLD)
        known = seen_approved(GRANT)
        answer = gathered(catalog, starting=[JOB], outside=outside, **known).policy
        assert isinstance(answer, Known)
        assert answer.value is not None
        assert answer.value.limits.cancels_per_pass == 7
        assert outside.asked == [POLICY]

    def test_an_active_run_is_governed_by_the_one_that_the_ledger_has_seen_approved(self) -> None:
        outside, catalog = Outside(), sound_catalog(GRANT, OLD)
        answer = gathered(catalog, RAN, outside=outside, **seen_approved(GRANT)).policy
        assert answer == Known(catalog.policy, NOW)
        assert outside.asked == []

    def test_another_one_on_main_is_asked_for(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        other = {**seen_approved(GRANT), "policy": Standing(BlobId("f" * 40), NOW, BROUGHT)}
        answer = gathered(sound_catalog(GRANT, OLD), RAN, outside=outside, **other).policy
        assert isinstance(answer, Known)
        assert outside.asked == [POLICY]

    def test_the_same_bytes_that_came_back_by_another_change_are_asked_for(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        known = {**seen_approved(GRANT), "policy": Standing(sound_policy().blob, NOW, COMMIT)}
        answer = gathered(sound_catalog(GRANT, OLD), RAN, outside=outside, **known).policy
        assert isinstance(answer, Known)
        assert answer.value is not None
        assert answer.value.limits.cancels_per_pass == 7

    @pytest.mark.parametrize("texts", [{}, {POLICY: "version: 2\n"}])
    def test_there_may_be_none_that_can_be_read(self, texts: dict[RepoPath, str]) -> None:
        evidence = gathered(sound_catalog(GRANT, OLD), RAN, outside=Outside(texts))
        assert evidence.policy == Known(None, NOW)

    def test_a_broken_policy_on_main_leaves_the_one_before(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        catalog = replace(sound_catalog(), policy=None, broken={POLICY: (problem(POLICY),)})
        answer = gathered(catalog, RAN, outside=outside, **seen_approved()).policy
        assert isinstance(answer, Known)
        assert answer.value is not None

    def test_an_outage_is_the_answer(self) -> None:
        answer = gathered(sound_catalog(), RAN, outside=Outside(down=POLICY)).policy
        assert answer == Unavailable("the host answered 503", NOW)


class TestGoverningAdmission:
    def test_nobody_is_asked_where_main_has_what_the_ledger_has_seen_approved(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        evidence = gathered(sound_catalog(GRANT, OLD), RAN, outside=outside, **seen_approved(GRANT))
        assert evidence.governing == {BERT: Known(GRANT, NOW)}
        assert outside.asked == []

    def test_the_same_bytes_that_came_back_by_another_change_are_asked_for(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT, ADMISSION: ADMISSION_TEXT})
        known = seen_approved(GRANT)
        known["accounts"] = {BERT: replace(known["accounts"][BERT], commit=COMMIT)}
        evidence = gathered(sound_catalog(GRANT, OLD), RAN, outside=outside, **known)
        answer = evidence.governing[BERT]
        assert isinstance(answer, Known)
        assert answer.value is not None
        assert answer.value.grant.gpu_hours == 777

    def test_else_it_is_the_last_approved_version_by_the_approved_policy(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT, ADMISSION: ADMISSION_TEXT})
        evidence = gathered(sound_catalog(GRANT, OLD), RAN, outside=outside)
        answer = evidence.governing[BERT]
        assert isinstance(answer, Known)
        assert answer.value is not None
        assert (answer.value.id, answer.value.grant.gpu_hours) == (BERT, 777)

    def test_one_owner_is_not_enough_where_the_approved_policy_asks_for_two(self) -> None:
        texts = {POLICY: POLICY_TEXT.replace("minimum: 2", "minimum: 1"), ADMISSION: ADMISSION_TEXT}
        one = Outside(texts, approvers=("@ada",))
        answer = gathered(sound_catalog(GRANT, OLD), RAN, outside=one).governing[BERT]
        assert isinstance(answer, Known)
        assert answer.value is not None
        two = Outside({**texts, POLICY: POLICY_TEXT}, approvers=("@ada",))
        assert gathered(sound_catalog(GRANT, OLD), RAN, outside=two).policy == Known(None, NOW)

    def test_only_admissions_with_active_runs_are_asked_for(self) -> None:
        over = started(small(1, admission="other"), used=1.0)
        evidence = gathered(sound_catalog(GRANT, OLD), RAN, over)
        assert set(evidence.governing) == {AdmissionId("bert-pretrain")}

    @pytest.mark.parametrize("texts", [{}, {ADMISSION: "no front matter"}])
    def test_there_may_be_none_that_can_be_read(self, texts: dict[RepoPath, str]) -> None:
        outside = Outside({POLICY: POLICY_TEXT, **texts})
        evidence = gathered(sound_catalog(GRANT), RAN, outside=outside)
        assert evidence.governing == {BERT: Known(None, NOW)}

    def test_without_an_approved_policy_nobody_knows_how_many_are_enough(self) -> None:
        outside = Outside({ADMISSION: ADMISSION_TEXT})
        evidence = gathered(sound_catalog(GRANT), RAN, outside=outside)
        doubt = Unavailable("no policy is known to be approved", NOW)
        assert evidence.governing == {BERT: doubt}

    def test_an_outage_is_the_answer(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT}, down=ADMISSION)
        evidence = gathered(sound_catalog(GRANT), RAN, outside=outside)
        assert evidence.governing == {BERT: Unavailable("the host answered 503", NOW)}


class TestRemembered:
    def test_a_withdrawal_that_was_seen_unapproved_is_remembered_with_its_time(self) -> None:
        first = NOW - HOUR
        seen_so = Decision(OLD_RUN, "keep", "unapproved-withdrawal", "why", first, COMMIT)
        other = Decision(run_of(NEW), "keep", "in-doubt", "why", first, COMMIT)
        decisions = {d.subject: d for d in (seen_so, other)}
        assert gathered(sound_catalog(), decisions=decisions).sightings == {OLD_RUN: first}

    @pytest.mark.parametrize(("action", "latched"), [("latched", True), ("lifted", False)])
    def test_the_brake_stays_pulled_until_it_is_lifted(self, action: str, latched: bool) -> None:
        brake = Decision("brake", action, "", "why", NOW, COMMIT)
        assert gathered(sound_catalog(), decisions={"brake": brake}).latched is latched

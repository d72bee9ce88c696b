"""Asking the outside: what is asked, what is not, and that an outage is an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from controller.documents.admission import SECTIONS
from controller.documents.catalog import Catalog
from controller.documents.policy import POLICY
from controller.errors import UnavailableError
from controller.evidence.facts import (
    Answer,
    Approval,
    Evidence,
    Introduction,
    Known,
    MeasuredRun,
    ObservedRun,
    Unavailable,
    Version,
)
from controller.evidence.gather import documents_of, gather, measurements, records_of
from controller.values import AdmissionId, CommitId, RepoPath, RunName
from tests.builders import (
    ADMISSION,
    CODEOWNERS,
    COMMIT,
    JOB,
    NOW,
    RUN,
    approval,
    introduction,
    measured,
    problem,
    sound_admission,
    sound_catalog,
    sound_manifest,
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
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> Mapping[RepoPath, Introduction]:
        assert at == COMMIT
        if self.down == "history":
            raise UnavailableError("the history is shallow")
        return {path: introduction(path).value for path in paths}

    def measured(self, run_id: str) -> MeasuredRun | None:
        if self.down == "tracking":
            raise UnavailableError("the tracking server answered 500")
        return measured().value if run_id == RUN else None


def gathered(
    catalog: Catalog,
    *runs: ObservedRun,
    outside: Outside | None = None,
    workspace: Any = None,
) -> Evidence:
    outside = outside or Outside()
    workspace = workspace or FakeWorkspace(lambda: NOW)
    for run in runs:
        workspace.observe(run)
    return gather(
        catalog,
        COMMIT,
        host=outside,
        history=outside,
        workspace=workspace,
        tracking=outside,
        now=lambda: NOW,
    )


class TestApprovals:
    def test_they_are_asked_of_every_document_that_a_start_rests_on(self) -> None:
        outside = Outside()
        evidence = gathered(sound_catalog(GRANT, OLD), outside=outside)
        assert outside.paths == sorted([POLICY, CODEOWNERS, ADMISSION, JOB])
        assert evidence.approvals[JOB] == approval(JOB, "@ada")
        assert evidence.asked_at == NOW

    def test_and_of_the_documents_of_active_runs_that_are_gone(self) -> None:
        outside = Outside()
        settled = seen(started(small(1)), "Completed", ended_at=NOW)
        gathered(sound_catalog(), seen(RAN), settled, outside=outside)
        assert outside.paths == sorted([POLICY, CODEOWNERS, ADMISSION, JOB])

    def test_without_codeowners_they_are_asked_of_the_rest(self) -> None:
        catalog = replace(sound_catalog(GRANT, OLD), owners=None)
        assert documents_of(catalog) == [POLICY, ADMISSION, JOB]


class TestHistory:
    def test_what_brought_each_document_is_asked(self) -> None:
        evidence = gathered(sound_catalog(GRANT, OLD))
        assert set(evidence.introductions) == {POLICY, CODEOWNERS, ADMISSION, JOB}
        assert evidence.introductions[JOB] == introduction(JOB)

    def test_an_outage_is_the_answer_for_every_document(self) -> None:
        evidence = gathered(sound_catalog(GRANT, OLD), outside=Outside(down="history"))
        doubt = Unavailable("the history is shallow", NOW)
        assert evidence.introductions == dict.fromkeys([POLICY, CODEOWNERS, ADMISSION, JOB], doubt)
        assert JOB in evidence.approvals


class TestRuns:
    def test_each_that_could_start_is_asked_for_and_each_that_is_ours_is_known(self) -> None:
        evidence = gathered(sound_catalog(GRANT, NEW), seen(RAN))
        assert evidence.runs == {
            run_of(NEW): Known(None, NOW),
            OLD_RUN: Known(seen(RAN), NOW),
        }
        assert evidence.records == (RAN,)

    def test_what_the_listing_has_is_not_asked_again(self) -> None:
        class OnlyLists(FakeWorkspace):
            def get(self, run: RunName) -> ObservedRun | None:
                raise UnavailableError(f"`{run}` cannot be asked")

        workspace = OnlyLists(lambda: NOW)
        evidence = gathered(sound_catalog(GRANT, OLD, small(1)), seen(RAN), workspace=workspace)
        name = run_of(small(1))
        assert evidence.runs == {
            OLD_RUN: Known(seen(RAN), NOW),
            name: Unavailable(f"`{name}` cannot be asked", NOW),
        }

    def test_a_manifest_without_a_name_has_no_run_to_ask_for(self) -> None:
        assert gathered(sound_catalog(GRANT, sound_manifest(name=""))).runs == {}

    def test_an_outage_is_the_answer_for_every_run_and_nothing_is_recorded(self) -> None:
        workspace = FakeWorkspace(lambda: NOW)
        workspace.outage = "no route"
        evidence = gathered(sound_catalog(GRANT, OLD), seen(RAN), workspace=workspace)
        assert evidence.runs == {OLD_RUN: Unavailable("no route", NOW)}
        assert evidence.records == ()
        assert evidence.governing == {}


class TestRecords:
    def test_a_run_without_our_tags_is_not_ours(self) -> None:
        assert records_of([seen(RAN, tags={"admission": "bert-pretrain"})]) == ()

    def test_an_active_run_has_no_use_yet(self) -> None:
        assert records_of([seen(RAN, "Hibernating")]) == (RAN,)

    @pytest.mark.parametrize("state", ["Completed", "Failed", "Canceled"])
    def test_one_that_is_over_is_settled_by_its_own_times(self, state: str) -> None:
        over = seen(RAN, state, started_at=NOW - 3 * HOUR, ended_at=NOW)
        assert records_of([over]) == (replace(RAN, used=48.0),)

    def test_one_that_does_not_say_when_it_ended_is_charged_in_full(self) -> None:
        assert records_of([seen(RAN, "Failed")]) == (replace(RAN, used=960.0),)


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
        evidence = gathered(sound_catalog(GRANT, OLD), outside=Outside(down="tracking"))
        doubt = Unavailable("the tracking server answered 500", NOW)
        assert evidence.measured == {RUN: doubt}

    def test_only_what_could_start_needs_its_admission_s_measurement(self) -> None:
        catalog = sound_catalog(GRANT, sound_admission("idle", claim=too_slow(run="idle")), OLD)
        assert gathered(catalog).measured == {RUN: measured()}
        assert gathered(catalog, seen(RAN)).measured == {}


def test_a_run_with_the_tags_of_another_is_not_ours() -> None:
    ours = seen(RAN)
    assert len(records_of([ours])) == 1
    assert records_of([replace(ours, run=RunName("somebody-s-copy"))]) == ()


class TestLastApprovedPolicy:
    def test_it_is_the_newest_that_enough_owners_approved(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        answer = gathered(sound_catalog(), outside=outside).policy
        assert isinstance(answer, Known)
        assert answer.value is not None
        assert answer.value.limits.cancels_per_pass == 7

    @pytest.mark.parametrize("texts", [{}, {POLICY: "version: 2\n"}])
    def test_there_may_be_none_that_can_be_read(self, texts: dict[RepoPath, str]) -> None:
        assert gathered(sound_catalog(), outside=Outside(texts)).policy == Known(None, NOW)

    def test_a_broken_policy_on_main_leaves_the_one_before(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT})
        catalog = replace(sound_catalog(), policy=None, broken={POLICY: (problem(POLICY),)})
        answer = gathered(catalog, outside=outside).policy
        assert isinstance(answer, Known)
        assert answer.value is not None

    def test_an_outage_is_the_answer(self) -> None:
        answer = gathered(sound_catalog(), outside=Outside(down=POLICY)).policy
        assert answer == Unavailable("the host answered 503", NOW)


class TestGoverningAdmission:
    def test_it_is_the_last_approved_version_by_the_approved_policy(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT, ADMISSION: ADMISSION_TEXT})
        evidence = gathered(sound_catalog(GRANT, OLD), seen(RAN), outside=outside)
        answer = evidence.governing[BERT]
        assert isinstance(answer, Known)
        assert answer.value is not None
        assert (answer.value.id, answer.value.grant.gpu_hours) == (BERT, 777)

    def test_one_owner_is_not_enough_where_the_approved_policy_asks_for_two(self) -> None:
        texts = {POLICY: POLICY_TEXT.replace("minimum: 2", "minimum: 1"), ADMISSION: ADMISSION_TEXT}
        one = Outside(texts, approvers=("@ada",))
        answer = gathered(sound_catalog(GRANT, OLD), seen(RAN), outside=one).governing[BERT]
        assert isinstance(answer, Known)
        assert answer.value is not None
        two = Outside({**texts, POLICY: POLICY_TEXT}, approvers=("@ada",))
        assert gathered(sound_catalog(GRANT, OLD), seen(RAN), outside=two).policy == Known(
            None, NOW
        )

    def test_only_admissions_with_active_runs_are_asked_for(self) -> None:
        other = started(small(1, admission="other"))
        over = seen(other, "Completed", ended_at=NOW)
        evidence = gathered(sound_catalog(GRANT, OLD), seen(RAN), over)
        assert set(evidence.governing) == {AdmissionId("bert-pretrain")}

    @pytest.mark.parametrize("texts", [{}, {ADMISSION: "no front matter"}])
    def test_there_may_be_none_that_can_be_read(self, texts: dict[RepoPath, str]) -> None:
        outside = Outside({POLICY: POLICY_TEXT, **texts})
        evidence = gathered(sound_catalog(GRANT), seen(RAN), outside=outside)
        assert evidence.governing == {BERT: Known(None, NOW)}

    def test_without_an_approved_policy_nobody_knows_how_many_are_enough(self) -> None:
        outside = Outside({ADMISSION: ADMISSION_TEXT})
        evidence = gathered(sound_catalog(GRANT), seen(RAN), outside=outside)
        doubt = Unavailable("no policy is known to be approved", NOW)
        assert evidence.governing == {BERT: doubt}

    def test_an_outage_is_the_answer(self) -> None:
        outside = Outside({POLICY: POLICY_TEXT}, down=ADMISSION)
        evidence = gathered(sound_catalog(GRANT), seen(RAN), outside=outside)
        assert evidence.governing == {BERT: Unavailable("the host answered 503", NOW)}

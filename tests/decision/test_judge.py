"""Verdicts: every rule asked, admissions once, and nothing held against a run by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from controller.decision.judge import Docket, judge_admission, judge_all, judge_job
from controller.decision.rules import ADMISSION_RULES, JOB_RULES
from controller.decision.verdict import Outcome, Verdict, worst
from controller.documents.admission import Admission
from controller.documents.manifest import Manifest
from controller.documents.payload import run_name
from controller.ledger.account import Balance
from controller.values import AdmissionId, RepoPath
from tests.builders import (
    ADMISSION,
    JOB,
    admission_case,
    job_case,
    problem,
    record,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    sound_policy,
    unavailable,
)

OF_ADMISSION = [rule.id for rule in ADMISSION_RULES]
OF_JOB = [rule.id for rule in JOB_RULES]


def verdicts(
    *documents: Admission | Manifest, catalog: dict[str, Any] | None = None, **evidence: Any
) -> dict[RepoPath, Verdict]:
    found = sound_catalog(*documents, **catalog or {})
    return dict(judge_all(found, sound_policy(), sound_evidence(found, **evidence)))


def test_sound_documents_meet_every_rule() -> None:
    manifest = sound_manifest()
    found = verdicts(sound_admission(), manifest)
    assert {path: verdict.standing for path, verdict in found.items()} == {
        ADMISSION: Outcome.MET,
        JOB: Outcome.MET,
    }
    assert found[JOB].run == run_name("bert-pretrain", manifest.payload.fingerprint)
    assert found[JOB].cost == job_case().cost


def test_a_job_has_the_findings_of_its_admission_and_its_own() -> None:
    found = verdicts(sound_admission(), sound_manifest())
    assert [f.rule for f in found[JOB].findings] == OF_ADMISSION + OF_JOB
    assert found[JOB].findings[: len(OF_ADMISSION)] == found[ADMISSION].findings


def test_an_admission_has_a_verdict_of_its_own() -> None:
    found = verdicts(sound_admission())
    assert found == {
        ADMISSION: Verdict(
            ADMISSION,
            "admission",
            AdmissionId("bert-pretrain"),
            None,
            judge_admission(admission_case()),
        )
    }


def test_one_job_judged_alone_has_the_same_verdict() -> None:
    found = verdicts(sound_admission(), sound_manifest())
    assert judge_job(job_case()) == found[JOB]


def test_a_job_without_admission_is_judged_all_the_same() -> None:
    found = verdicts(sound_admission(), sound_manifest(admission="other"))
    assert [f.rule for f in found[JOB].findings] == OF_JOB
    assert found[JOB].admission is None
    assert found[JOB].standing is Outcome.UNMET
    alone = judge_job(job_case(manifest=sound_manifest(admission="other")))
    assert alone == found[JOB]


def test_a_job_without_a_name_has_no_run() -> None:
    assert verdicts(sound_admission(), sound_manifest(name=""))[JOB].run is None


def test_parts_and_broken_files_have_no_verdict() -> None:
    part, broken = sound_manifest("jobs/part.yml"), RepoPath("jobs/broken.yml")
    inside = {"parts": [part.path], "broken": {broken: (problem(broken),)}}
    found = verdicts(sound_admission(), sound_manifest(), part, catalog=inside)
    assert set(found) == {ADMISSION, JOB}


def test_verdicts_come_in_the_order_of_paths() -> None:
    names = [f"jobs/bert/{letter}.yml" for letter in "cab"]
    found = verdicts(sound_admission(), *[sound_manifest(path, name=path[10]) for path in names])
    assert list(found) == [ADMISSION, *sorted(names)]


def test_what_an_admission_lacks_keeps_back_its_own_jobs_and_no_others() -> None:
    other = sound_manifest("jobs/other.yml", name="other", admission="vision")
    documents = (
        sound_admission(),
        sound_admission("vision", jobs=("**",)),
        sound_manifest(),
        other,
    )
    brought = sound_evidence(sound_catalog(*documents)).introductions
    found = verdicts(*documents, introductions={**brought, ADMISSION: unavailable()})
    assert found[JOB].standing is Outcome.UNDECIDED
    assert found[other.path].standing is Outcome.MET


def test_the_worst_finding_is_the_verdict_and_none_is_no_yes() -> None:
    undecided = verdicts(sound_admission(), sound_manifest(), measured={"3f2c9a": unavailable()})
    assert undecided[JOB].standing is Outcome.UNDECIDED
    unmet = verdicts(
        sound_admission(), sound_manifest(timeout=None), measured={"3f2c9a": unavailable()}
    )
    assert unmet[JOB].standing is Outcome.UNMET
    assert worst([]) is Outcome.UNDECIDED


@pytest.mark.parametrize(
    "manifest, evidence",
    [
        (sound_manifest(), {}),
        (sound_manifest(), {"approvals": {}}),
        (sound_manifest(timeout=None), {}),
        (sound_manifest(admission="other", compute="local"), {"introductions": {}}),
    ],
)
def test_a_verdict_stands_as_it_is_written(manifest: Manifest, evidence: dict[str, Any]) -> None:
    """What is not met is at hand before the findings are read, and the same after."""
    unread, read = (judge_job(job_case(manifest=manifest, **evidence)) for _ in range(2))
    findings = read.findings
    assert unread.standing is read.standing is worst(findings)
    assert unread.against == read.against
    assert read.against == tuple(f for f in findings if f.outcome is not Outcome.MET)
    assert unread == read
    assert replace(read, findings=()).standing is Outcome.UNDECIDED


OTHER = sound_manifest("jobs/bert/other.yml", name="other")


@pytest.mark.parametrize(
    "own, left",
    [
        (record(), Balance(1000, 0.1, 0.2, 1)),
        (record(used=700.1), Balance(1000, 0.1, 0.2, 1)),
        (
            record(admission=AdmissionId("elsewhere")),
            Balance(1000, 0.1, 0.2, 1),
        ),
        (record(fingerprint="f" * 64), Balance(1000, 960.1, 0.2, 3)),
    ],
)
def test_a_balance_is_net_of_what_the_payload_itself_holds(own: Any, left: Balance) -> None:
    others = (
        record(OTHER, nodes=1, reserved=0.1),
        record(OTHER, used=0.2, fingerprint="e" * 64),
    )
    case = job_case(records=(own, *others))
    assert case.balance == left
    assert case.own == (own if own.fingerprint != "f" * 64 else None)


def test_an_account_counts_what_was_ever_charged_to_it_and_nothing_else() -> None:
    catalog = sound_catalog(sound_admission(), sound_admission("vision"))
    records = (record(OTHER, reserved=100.0), record(OTHER, used=7.0, fingerprint="e" * 64))
    docket = Docket.of(catalog, sound_policy(), sound_evidence(catalog, records=records))
    assert docket.balances == {
        "bert-pretrain": Balance(1000, 100, 7, 2),
        "vision": Balance(1000, 0, 0, 0),
    }


def test_retries_of_the_grant_are_in_the_worst_case() -> None:
    once = job_case(admission=sound_admission(retries=0)).cost
    unadmitted = job_case(manifest=sound_manifest(admission="")).cost
    assert once is not None
    assert once.gpu_hours == 480
    assert unadmitted == once


def test_judging_twice_gives_the_same_verdicts() -> None:
    documents = (sound_admission(), sound_manifest(), OTHER)
    assert verdicts(*documents) == verdicts(*documents)


def test_a_change_in_one_manifest_changes_no_other_verdict() -> None:
    before = verdicts(sound_admission(), sound_manifest(), OTHER)
    after = verdicts(sound_admission(), replace(sound_manifest(), display_name="new"), OTHER)
    assert before[OTHER.path] == after[OTHER.path]


ALLOWED = (
    *("__future__", "bisect", "collections.abc", "dataclasses", "datetime", "decimal"),
    *("enum", "functools", "re", "typing"),
    *("controller.values", "controller.documents", "controller.decision"),
    *("controller.ledger.records", "controller.ledger.account"),
    *("controller.evidence.facts", "controller.evidence.approval"),
)


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def test_deciding_imports_nothing_that_could_read_ask_or_do() -> None:
    folder = Path(str(resources.files("controller.decision")))
    for file in sorted(folder.rglob("*.py")):
        strange = [
            name
            for name in _imports(file)
            if not any(name == known or name.startswith(known + ".") for known in ALLOWED)
        ]
        assert strange == [], file
        assert ".now(" not in file.read_text("utf-8"), file

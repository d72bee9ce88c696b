"""Facts that are kept, and taken for evidence again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decision.judge import judge_all
from controller.documents.policy import POLICY
from controller.evidence.facts import Known, Unavailable
from controller.evidence.recorded import as_evidence, recalled, recorded
from controller.ledger.codec import MalformedError
from tests.builders import (
    ADMISSION,
    CODEOWNERS,
    JOB,
    NOW,
    RUN,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    unavailable,
)
from tests.decision.planning import HOUR, OLD_RUN, RAN, seen

CATALOG = sound_catalog(sound_admission(), sound_manifest())
SOUND = sound_evidence(CATALOG)
PATHS = [JOB, ADMISSION, POLICY, CODEOWNERS]


def test_what_is_recorded_gives_the_same_verdicts_again() -> None:
    facts = recalled(recorded(SOUND, PATHS, [RUN], []))
    bare = replace(SOUND, approvals={}, measured={}, asked_at=NOW + HOUR)
    again = as_evidence(facts, bare)
    assert again.asked_at == NOW
    assert again.approvals == SOUND.approvals
    assert again.measured == SOUND.measured
    policy = CATALOG.policy
    assert policy is not None
    assert judge_all(CATALOG, policy, again) == judge_all(CATALOG, policy, SOUND)


def test_why_something_was_not_known_is_kept() -> None:
    silent = replace(
        SOUND,
        approvals={JOB: unavailable("the host answered 503")},
        measured={RUN: unavailable("MLflow is down")},
        policy=unavailable("no policy is approved"),
    )
    facts = recalled(recorded(silent, PATHS, [RUN], []))
    again = as_evidence(facts, replace(SOUND, approvals={}, measured={}))
    assert again.approvals == {JOB: Unavailable("the host answered 503", NOW)}
    assert again.measured == {RUN: Unavailable("MLflow is down", NOW)}
    assert facts.policy.why == "no policy is approved"


def test_that_mlflow_has_no_such_run_is_kept() -> None:
    facts = recalled(recorded(replace(SOUND, measured={RUN: Known(None, NOW)}), [], [RUN], []))
    assert as_evidence(facts, SOUND).measured[RUN] == Known(None, NOW)


def test_only_what_was_asked_for_is_kept() -> None:
    facts = recalled(recorded(SOUND, [JOB], [], []))
    assert [fact.path for fact in facts.approvals] == [JOB]
    assert (facts.measured, facts.runs) == ((), ())


@pytest.mark.parametrize(
    ("answer", "state", "why"),
    [
        (Known(seen(RAN), NOW), "Running", ""),
        (Known(None, NOW), "", ""),
        (unavailable("no route"), "", "no route"),
    ],
)
def test_the_state_of_a_run_is_kept(answer: object, state: str, why: str) -> None:
    evidence = replace(SOUND, runs={OLD_RUN: answer})  # type: ignore[dict-item]
    (fact,) = recalled(recorded(evidence, [], [], [OLD_RUN])).runs
    assert (fact.run, fact.state, fact.why) == (OLD_RUN, state, why)


@pytest.mark.parametrize("data", [None, [], {}, {"asked_at": "2026"}, {"policy": {}}])
def test_what_is_damaged_is_refused(data: object) -> None:
    with pytest.raises(MalformedError):
        recalled(data)

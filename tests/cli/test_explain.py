"""`admit explain` over a real repository: git and the ledger, and nobody else is asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from controller.ledger.store import BRANCH
from tests.cli.conftest import POLICY, Scratch

LATER = (datetime.now(UTC) + timedelta(days=90)).date().isoformat()


@pytest.fixture
def withheld(
    scratch: Scratch, admission: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> Scratch:
    """A job that a pass withheld because nobody approved it; then nothing can be asked any more."""
    scratch.write("admissions/digits.md", admission(LATER))
    scratch.job("digits")
    scratch.commit()
    assert scratch.admit("reconcile") == 4, scratch.err
    for name in ("ADMIT_WORKSPACE", "ADMIT_HOST", "ADMIT_STATE_DIR"):
        monkeypatch.delenv(name)
    return scratch


def test_a_subject_is_explained_from_git_and_the_ledger_alone(withheld: Scratch) -> None:
    for subject in ("jobs/digits.yml", "digits", "admissions/digits.md"):
        for form in ("text", "json", "markdown"):
            assert withheld.admit("explain", subject, "--format", form) == 0, withheld.err
            assert withheld.err == ""


def test_it_may_be_explained_as_of_then(withheld: Scratch) -> None:
    day = datetime.now(UTC).date().isoformat()
    for at in ("HEAD", "main", day):
        assert withheld.admit("explain", "digits", "--at", at) == 0, withheld.err
    assert withheld.admit("explain", "digits", "--at", "nowhere") == 2
    assert "`nowhere` names no commit" in withheld.err


def test_what_nobody_knows_is_a_wrong_argument(withheld: Scratch) -> None:
    assert withheld.admit("explain", "digts") == 2
    assert "`digts` is no job, admission or run" in withheld.err
    assert "did you mean `digits`" in withheld.err


def test_without_a_subject_there_is_nothing_to_explain(withheld: Scratch) -> None:
    assert withheld.admit("explain") == 2
    assert "there is nothing to explain" in withheld.err
    assert "--simulate REV" in withheld.err


def test_without_a_ledger_it_cannot_run(scratch: Scratch) -> None:
    scratch.job("digits")
    scratch.commit()
    scratch.git("branch", "--quiet", "-D", BRANCH)
    assert scratch.admit("explain", "digits") == 8
    assert "there is no ledger" in scratch.err
    assert scratch.admit("explain", "--simulate", "HEAD") == 8


def test_what_a_policy_would_change_is_drift(withheld: Scratch) -> None:
    assert withheld.admit("explain", "--simulate", "HEAD") == 0, withheld.err
    withheld.git("switch", "--quiet", "--create", "strict")
    withheld.write("admissions/policy.yml", POLICY.replace("min_gpus: 2", "min_gpus: 4"))
    withheld.commit()
    withheld.git("switch", "--quiet", "main")
    assert withheld.admit("explain", "--simulate", "strict") == 6, withheld.err
    assert "jobs/digits.yml" in withheld.said
    assert withheld.admit("explain", "digits", "--simulate", "strict") == 6
    assert withheld.admit("explain", "admissions/digits.md", "--simulate", "nowhere") == 2


def test_the_help_has_examples_and_says_what_it_reads(scratch: Scratch) -> None:
    assert scratch.admit("explain", "--help") == 0
    for words in ("Examples:", "--at 2026-11-30T20:00Z", "--simulate proposal", "asks nobody"):
        assert words in scratch.said


def test_a_moment_that_is_neither_a_commit_nor_a_time_is_told_how_both_are_written(
    scratch: Scratch,
) -> None:
    assert scratch.admit("explain", "digits", "--at", "yesterday") == 2
    assert "`yesterday` names no commit" in scratch.err
    assert "or a time, as `2026-11-30` or `2026-11-30T20:00Z`" in scratch.err

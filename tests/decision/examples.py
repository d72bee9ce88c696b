"""A rule's test: one sentence, one case, and the whole finding that the rule answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from controller.decision.rules import ADMISSION_RULES, JOB_RULES
from controller.decision.verdict import AdmissionCase, Finding, Found, JobCase
from controller.documents.policy import POLICY
from controller.values import Location
from tests.builders import ADMISSION, JOB


@dataclass(frozen=True, slots=True)
class Example:
    """What a rule finds in a case."""

    sentence: str
    case: AdmissionCase | JobCase
    finding: Finding


def judged(case: AdmissionCase | JobCase, rule: str) -> Finding:
    """Return what `rule` finds."""
    match case:
        case AdmissionCase():
            return written({r.id: r for r in ADMISSION_RULES}[rule].judge(case))
        case JobCase():
            return written({r.id: r for r in JOB_RULES}[rule].judge(case))


def written(found: Found) -> Finding:
    """Return a finding with its place, whichever kind of answer it is."""
    return Finding(found.rule, found.outcome, found.reason, found.where, found.remedy)


def parametrized(examples: list[Example]) -> Callable[[Any], Any]:
    """Return the mark that runs a test once for each example, under its sentence."""
    ids = [f"{e.finding.rule}: {e.sentence}" for e in examples]
    return pytest.mark.parametrize("example", examples, ids=ids)


def in_job(line: int) -> Location:
    """Return a line of the manifest."""
    return Location(JOB, line, 1)


def in_admission(line: int) -> Location:
    """Return a line of the admission."""
    return Location(ADMISSION, line, 1)


def in_policy(line: int) -> Location:
    """Return a line of the policy."""
    return Location(POLICY, line, 1)

"""The table of rules: complete, each with a heading, and each with an example of every outcome."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from controller.decision.rules import ADMISSION_RULES, JOB_RULES, RULES
from controller.decision.verdict import AdmissionCase, JobCase, Outcome, Rule
from tests.builders import admission_case, job_case
from tests.decision import (
    test_rules_approval,
    test_rules_budget,
    test_rules_claims,
    test_rules_compute,
    test_rules_documents,
    test_rules_images,
    test_rules_sources,
    test_rules_surroundings,
)

MET, UNDECIDED, UNMET = Outcome.MET, Outcome.UNDECIDED, Outcome.UNMET

OUTCOMES: dict[str, set[Outcome]] = {
    "owner-approval": {MET, UNDECIDED, UNMET},
    "separate-concerns": {MET, UNDECIDED, UNMET},
    "admission-current": {MET, UNMET},
    "grant-within-limits": {MET, UNDECIDED, UNMET},
    "evidence-holds": {MET, UNDECIDED, UNMET},
    "admission-exists": {MET, UNMET},
    "job-granted": {MET, UNDECIDED, UNMET},
    "kind-enabled": {MET, UNDECIDED, UNMET},
    "needs-multi-gpu": {MET, UNDECIDED, UNMET},
    "image-pinned": {MET, UNMET},
    "image-granted": {MET, UNDECIDED, UNMET},
    "inputs-pinned": {MET, UNMET},
    "no-asset-registration": {MET, UNMET},
    "code-contained": {MET, UNMET},
    "compute-known": {MET, UNMET},
    "compute-granted": {MET, UNDECIDED, UNMET},
    "nodes-granted": {MET, UNDECIDED, UNMET},
    "timeout-set": {MET, UNMET},
    "gpu-budget": {MET, UNDECIDED, UNMET},
    "name-set": {MET, UNMET},
    "name-unique": {MET, UNDECIDED, UNMET},
    "resumable": {MET, UNDECIDED, UNMET},
    "no-tracking-override": {MET, UNMET},
    "no-plain-secret": {MET, UNMET},
    "no-privileged-container": {MET, UNMET},
    "no-interactive-service": {MET, UNMET},
    "managed-identity": {MET, UNMET},
    "one-launcher": {MET, UNMET},
    "not-on-hold": {MET, UNMET},
}
"""Every outcome that each rule can give, in the order of the table."""

EXAMPLES = [
    example
    for module in (
        test_rules_approval,
        test_rules_budget,
        test_rules_claims,
        test_rules_compute,
        test_rules_documents,
        test_rules_images,
        test_rules_sources,
        test_rules_surroundings,
    )
    for example in module.EXAMPLES
]


def test_each_rule_has_one_name_and_one_place_in_the_table() -> None:
    assert [rule.id for rule in RULES] == list(OUTCOMES)


def test_each_rule_has_an_example_of_every_outcome_that_it_can_give() -> None:
    seen: dict[str, set[Outcome]] = {}
    for example in EXAMPLES:
        seen.setdefault(example.finding.rule, set()).add(example.finding.outcome)
    assert seen == OUTCOMES


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_named_like_its_function_and_says_so_in_its_findings(
    rule: Rule[AdmissionCase] | Rule[JobCase],
) -> None:
    assert rule.judge.__name__ == rule.id.replace("-", "_")
    found = [r.judge(admission_case()) for r in ADMISSION_RULES if r is rule]
    found += [r.judge(job_case()) for r in JOB_RULES if r is rule]
    assert {finding.rule for finding in found} == {rule.id}


def test_only_approvals_and_measurements_need_the_outside() -> None:
    assert [rule.id for rule in RULES if rule.outside] == ["owner-approval", "evidence-holds"]


def test_each_rule_has_a_heading_and_each_heading_a_rule() -> None:
    page = resources.files("controller.decision.rules").joinpath("README.md").read_text("utf-8")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == [rule.id for rule in RULES]


def test_what_is_not_met_says_what_to_do_and_what_is_met_asks_for_nothing() -> None:
    for example in EXAMPLES:
        found = example.finding
        assert bool(found.remedy) == (found.outcome is not MET), example.sentence
        assert found.reason, example.sentence

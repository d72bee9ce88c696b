"""The JSON report has product.md's keys, keeps its schema, and loses nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from importlib.resources import files
from typing import Any, get_args

import jsonschema
import pytest
from report_samples import (
    ACTIONS,
    AGAIN,
    NOW,
    RECORD,
    SAMPLES,
    SILENT,
    T5_RUN,
    WORKSPACE,
    all_good,
    check,
    explain,
    grant,
    job,
    plan,
    plan_of,
    status,
    verify,
)

from controller.decision.actions import Action, Settle
from controller.decision.cost import Cost
from controller.decision.plan import kind_of
from controller.report import as_json
from controller.report.outcome import Report

SCHEMA: dict[str, Any] = json.loads(
    files("controller.report").joinpath("report.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def rendered(report: Report) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(as_json.render(report))
    return data


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_keeps_the_published_schema(name: str) -> None:
    VALIDATOR.check_schema(SCHEMA)
    VALIDATOR.validate(rendered(SAMPLES[name]()))


def test_a_command_with_nothing_to_say_has_every_key_and_each_is_empty() -> None:
    assert rendered(Report("status", NOW)) == {
        "schema": 1,
        "command": "status",
        "commit": "",
        "base": "",
        "asked_at": "2026-11-30T20:00:00Z",
        "exit": 0,
        "problems": [],
        "verdicts": [],
        "plan": {},
        "receipts": [],
        "runs": [],
        "drift": [],
        "brakes": [],
        "budgets": [],
        "admissions": [],
        "withheld": [],
        "edges": [],
        "tree": [],
        "notes": [],
    }


def objects(schema: Any) -> list[dict[str, Any]]:
    below = schema.values() if isinstance(schema, dict) else schema
    found = [one for part in below if isinstance(part, dict | list) for one in objects(part)]
    return (
        [schema, *found] if isinstance(schema, dict) and schema.get("type") == "object" else found
    )


def test_the_schema_allows_no_key_that_it_does_not_name() -> None:
    assert len(objects(SCHEMA)) > 15
    assert all(one["additionalProperties"] is False for one in objects(SCHEMA))


def test_a_key_more_and_a_key_less_are_refused() -> None:
    data = rendered(check())
    assert not VALIDATOR.is_valid({**data, "note": ""})
    assert not VALIDATOR.is_valid({key: data[key] for key in data if key != "brakes"})


def test_the_schema_and_the_samples_have_every_kind_of_action() -> None:
    kinds = {case["properties"]["action"]["const"] for case in SCHEMA["$defs"]["action"]["oneOf"]}
    assert {type(action) for action in ACTIONS} == set(get_args(Action))
    assert {kind_of(action) for action in ACTIONS} == kinds


def test_the_text_is_ascii_with_sorted_keys_and_an_indent_of_two() -> None:
    text = as_json.render(plan())
    assert text.isascii()
    assert text == json.dumps(json.loads(text), sort_keys=True, indent=2) + "\n"


def test_hostile_text_comes_back_exactly_and_is_escaped_on_the_way() -> None:
    hostile = "\x1b[31m\u202e\u200b\n::error::\udc80 ##[error]\\##[group] </script>"
    report = replace(all_good(), brakes=(hostile,))
    assert rendered(report)["brakes"] == [hostile]
    assert "##[" not in as_json.render(report)
    assert not set("\x1b\u202e\u200b\udc80") & set(as_json.render(report))


def test_a_cost_is_hours_and_money_with_two_decimals_and_null_without() -> None:
    costly = replace(job(), cost=Cost(0.1 + 0.2, 1.0, Decimal("1234567.5"), "EUR"))
    first, second = rendered(Report("check", NOW, verdicts=(costly, grant())))["verdicts"][::-1]
    assert first["gpu_hours"] == 0.3
    assert first["price"] == {"amount": "1234567.50", "currency": "EUR"}
    assert (second["gpu_hours"], second["price"]) == (None, None)


def test_a_subject_that_no_rule_was_asked_of_stands_undecided() -> None:
    assert (
        rendered(Report("check", NOW, verdicts=(job(),)))["verdicts"][0]["standing"] == "UNDECIDED"
    )


def test_a_run_that_never_started_is_settled_at_no_hours_and_says_so() -> None:
    report = Report("plan", NOW, plan=plan_of(Settle(T5_RUN, 0.0, "Canceled")))
    assert rendered(report)["plan"]["actions"] == [
        {"action": "settle", "run": T5_RUN, "gpu_hours": 0.0, "why": "Canceled"}
    ]
    VALIDATOR.validate(rendered(report))


def test_the_plan_names_the_digest_that_consent_names() -> None:
    report = plan()
    assert report.plan is not None
    assert rendered(report)["plan"]["digest"] == report.plan.digest


def test_the_brake_of_a_plan_is_among_the_brakes_once() -> None:
    braked = Report("plan", NOW, plan=plan_of(brake="too many"))
    assert rendered(braked)["brakes"] == ["too many"]
    assert rendered(replace(braked, brakes=("too many", "clock")))["brakes"] == [
        "too many",
        "clock",
    ]


@pytest.mark.parametrize(
    "at",
    [
        NOW.replace(tzinfo=None),
        NOW.astimezone(timezone(timedelta(hours=-5))),
        NOW + timedelta(microseconds=999_999),
    ],
)
def test_times_are_utc_to_the_second(at: datetime) -> None:
    assert rendered(Report("status", at))["asked_at"] == "2026-11-30T20:00:00Z"


def run_of(name: str) -> dict[str, Any]:
    return {line["run"]: line for line in rendered(status())["runs"]}[name]


def test_a_run_that_could_not_be_asked_has_no_state() -> None:
    unknown = run_of("vit-343434343434")
    assert (unknown["state"], unknown["started_at"], unknown["used"]) == (None, None, None)
    assert (unknown["unseen"], unknown["stage"]) == ("not known", "submitted")
    assert unknown["why"] == [SILENT]


def test_a_run_that_is_settled_has_its_end_from_the_ledger() -> None:
    over = run_of("bert-000000000004")
    said = {key: over[key] for key in ("stage", "state", "ended_at", "used", "exact", "reason")}
    assert said == {
        "stage": "settled",
        "state": "Completed",
        "ended_at": "2026-11-30T09:04:00Z",
        "used": 80.0,
        "exact": True,
        "reason": "as asked",
    }
    assert over["outcome"] == {
        "mlflow_run": "3f2c9a",
        "model": "claims-bert",
        "version": "7",
        "dataset": "sha256:d1",
    }
    bound = run_of("bert-bound")
    assert (bound["used"], bound["exact"], bound["outcome"]) == (480.0, False, None)


def test_a_run_says_which_attempt_it_is_of_how_many_and_where_and_why_it_was_admissible() -> None:
    again = run_of(AGAIN)
    said = [again[key] for key in ("attempt", "attempts", "workspace", "record", "exact")]
    assert said == [2, 2, WORKSPACE, RECORD, True]
    assert (again["stop"], again["cancel"], again["overdue"]) == (None, None, False)


def test_a_run_says_who_stopped_it_and_that_it_was_asked_to_end() -> None:
    asked = run_of("bert-stopped")
    at = "2026-11-30T10:00:00Z"
    assert asked["stop"] == {"at": at, "by": "ada", "reason": "the loss is NaN"}
    assert asked["cancel"] == {"at": at, "cause": "stopped", "why": "the loss is NaN"}
    assert run_of("clip-777777777777")["overdue"] is True


def test_all_runs_are_there_also_those_that_the_text_counts_only() -> None:
    assert len(rendered(status())["runs"]) == len(status().runs) == 17


def test_an_admission_is_expired_from_the_day_after_its_last() -> None:
    days = {line["admission"]: line for line in rendered(status())["admissions"]}
    assert [(days[id_]["expires"], days[id_]["expired"]) for id_ in sorted(days)] == [
        ("2027-03-31", False),
        ("2026-11-29", True),
        ("2026-11-30", False),
    ]


def test_a_tree_keeps_its_depth_and_its_outcomes() -> None:
    _, told = rendered(explain())["tree"]
    assert told["outcome"] == "UNMET"
    assert [child["outcome"] for child in told["children"]] == ["UNMET", "UNDECIDED", "MET", None]
    assert told["children"][3]["children"][0]["children"][0]["children"] == []


def test_edges_keep_their_order() -> None:
    assert [edge["outcome"] for edge in rendered(verify())["edges"]] == [
        "held",
        "held",
        "broken",
        "not checked",
    ]

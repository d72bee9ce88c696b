"""The report as JSON, schema 1: what other programs read (`report.schema.json` describes it)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from controller.decision.actions import Action, ApplySchedule, Settle, Submit
from controller.decision.plan import Plan, described
from controller.decision.verdict import Found, Verdict
from controller.ledger.account import Balance
from controller.report.outcome import Report, RunLine
from controller.report.words import brakes, utc
from controller.values import AdmissionId, Problem, by_place

SCHEMA = 1


def render(report: Report) -> str:
    """Return `report` as one JSON document in ASCII, keys sorted, with a newline at the end.

    Hours are GPU hours to six decimals, money is text with two, times are UTC.
    """
    text = json.dumps(as_data(report), indent=2, sort_keys=True, allow_nan=False)
    # A log must not take a quoted `##[command]` for one of its own; JSON reads the same.
    return text.replace("##[", "\\u0023#[") + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """Return `report` as data. Texts are as they came: JSON's own escapes neutralise them."""
    return {
        "schema": SCHEMA,
        "command": report.command,
        "commit": report.commit,
        "base": report.base,
        "asked_at": utc(report.asked_at),
        "exit": int(report.exit),
        "problems": [_problem(problem) for problem in by_place(report.problems)],
        "verdicts": [_verdict(v) for v in sorted(report.verdicts, key=lambda v: v.subject)],
        "plan": {} if report.plan is None else _plan(report.plan),
        "receipts": [
            {"action": r.action, "run": r.run, "outcome": r.outcome, "detail": r.detail}
            for r in report.receipts
        ],
        "runs": [_run(line) for line in sorted(report.runs, key=lambda line: line.run)],
        "drift": [
            {"subject": line.subject, "what": line.what, "why": line.why}
            for line in sorted(report.drift, key=lambda line: (line.subject, line.what, line.why))
        ],
        "brakes": list(brakes(report)),
        "budgets": [_budget(id_, report.budgets[id_]) for id_ in sorted(report.budgets)],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "code": problem.code,
        "path": problem.where.path,
        "line": problem.where.line,
        "column": problem.where.column,
        "message": problem.message,
        "remedy": problem.remedy,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    cost = verdict.cost
    price = cost and {"amount": f"{cost.amount:.2f}", "currency": cost.currency}
    return {
        "subject": verdict.subject,
        "kind": verdict.kind,
        "admission": verdict.admission,
        "run": verdict.run,
        "standing": verdict.standing.name,
        "gpu_hours": None if cost is None else _number(cost.gpu_hours),
        "price": price,
        "findings": [_finding(finding) for finding in verdict.findings],
    }


def _finding(finding: Found) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "outcome": finding.outcome.name,
        "reason": finding.reason,
        "path": finding.where.path,
        "line": finding.where.line,
        "remedy": finding.remedy,
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {"digest": plan.digest, "actions": [_action(action) for action in plan.actions]}


def _action(action: Action) -> dict[str, Any]:
    match action:
        case Submit() | Settle() | ApplySchedule():  # none at all is an answer too
            return {**described(action), "gpu_hours": _number(action.gpu_hours)}
        case _:
            return described(action)


def _run(line: RunLine) -> dict[str, Any]:
    record, observed = line.record, line.observed
    return {
        "run": line.run,
        "admission": record.admission,
        "path": record.path,
        "fingerprint": record.fingerprint,
        "attempts": record.attempts,
        "nodes": record.nodes,
        "gpus_per_node": record.gpus_per_node,
        "reserved": _number(record.reserved),
        "used": None if record.used is None else _number(record.used),
        "recorded_at": utc(record.started_at),
        "state": observed.state if observed else None,
        "reason": observed.reason if observed else "",
        "started_at": _time(observed.started_at if observed else None),
        "ended_at": _time(observed.ended_at if observed else None),
    }


def _budget(admission: AdmissionId, balance: Balance) -> dict[str, Any]:
    return {
        "admission": admission,
        "granted": _number(balance.granted),
        "reserved": _number(balance.reserved),
        "used": _number(balance.used),
        "free": _number(balance.free),
    }


def _number(hours: float) -> float:
    return round(float(hours), 6)


def _time(at: datetime | None) -> str | None:
    return None if at is None else utc(at)

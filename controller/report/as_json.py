"""The report as JSON, schema 1: what other programs read (`report.schema.json` describes it)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from controller.decision.actions import Action, ApplySchedule, Settle, Submit
from controller.decision.plan import Plan, described
from controller.decision.verdict import Found, Verdict
from controller.ledger.account import Balance
from controller.ledger.records import RunRecord
from controller.report.outcome import AdmissionLine, Node, Report, RunLine, WithheldLine
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
        "admissions": [
            _admission(line, report) for line in sorted(report.admissions, key=lambda line: line.id)
        ],
        "withheld": [_withheld(w) for w in sorted(report.withheld, key=lambda w: w.path)],
        "edges": [
            {"name": edge.name, "outcome": edge.outcome, "what": edge.what} for edge in report.edges
        ],
        "tree": [_node(node) for node in report.tree],
        "notes": list(report.notes),
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
    end = record.attempt.over
    return {
        "run": line.run,
        "admission": record.admission,
        "path": record.path,
        "fingerprint": record.fingerprint,
        "workspace": record.last.workspace,
        "stage": record.stage,
        "attempt": record.attempt.number,
        "attempts": 1 + record.last.retries,
        "record": record.attempt.record,
        "nodes": record.nodes,
        "gpus_per_node": record.gpus_per_node,
        "reserved": _number(record.reserved),
        "used": None if record.used is None else _number(record.used),
        "exact": _exact(record),
        "recorded_at": utc(record.started_at),
        "submitted_at": _time(record.attempt.submitted_at),
        "state": observed.state if observed else end.state if end else None,
        "unseen": line.unseen,
        "reason": observed.reason if observed else end.reason if end else "",
        "started_at": _time(observed.started_at if observed else end.started_at if end else None),
        "ended_at": _time(observed.ended_at if observed else end.ended_at if end else None),
        "overdue": line.overdue,
        "why": list(line.why),
        **_ordered(record),
    }


def _ordered(record: RunRecord) -> dict[str, Any]:
    """Return who ended it, and what came of it."""
    stop, cancel, closed = record.attempt.stop, record.attempt.cancel, record.last.closed
    outcome = closed.outcome if closed else None
    return {
        "stop": stop and {"at": utc(stop.at), "by": stop.by, "reason": stop.reason},
        "cancel": cancel and {"at": utc(cancel.at), "cause": cancel.cause, "why": cancel.why},
        "outcome": outcome
        and {
            "mlflow_run": outcome.mlflow_run,
            "model": outcome.model,
            "version": outcome.version,
            "dataset": outcome.dataset,
        },
    }


def _exact(record: RunRecord) -> bool:
    """Whether what it is charged, or its attempts so far, is by the workspace's own times."""
    if (closed := record.last.closed) is not None:
        return closed.exact
    return all(attempt.over.exact for attempt in record.last.attempts if attempt.over)


def _admission(line: AdmissionLine, report: Report) -> dict[str, Any]:
    expired = line.expires is not None and line.expires < report.asked_at.astimezone(UTC).date()
    return {
        **_budget(line.id, line.balance),
        "owner": line.owner,
        "expires": line.expires.isoformat() if line.expires else None,
        "expired": expired,
        "nodes": line.balance.nodes,
        "note": line.note,
    }


def _withheld(line: WithheldLine) -> dict[str, Any]:
    return {
        "path": line.path,
        "since": utc(line.since),
        "rules": list(line.rules),
        "why": list(line.why),
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "text": node.text,
        "outcome": None if node.outcome is None else node.outcome.name,
        "children": [_node(child) for child in node.children],
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

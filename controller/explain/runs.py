"""One recorded run as a tree: how it came to be, what happened, what is decided now, and why."""

from __future__ import annotations

from collections.abc import Iterator

from controller.decision.verdict import Outcome
from controller.evidence.facts import Approval
from controller.explain.moment import Moment
from controller.explain.papers import Papers, Record, attempts_of
from controller.ledger.book import Decision, record_file
from controller.ledger.records import Attempt, Closed, Generation, Over, RunRecord
from controller.report.outcome import Node
from controller.report.words import counted, hours, minute
from controller.values import RunName, listed

_OUTCOMES = {outcome.name: outcome for outcome in Outcome}


def run_node(record: RunRecord, moment: Moment, papers: Papers, *, verbose: bool) -> Node:
    """Return everything that the ledger says of a run, all its attempts included."""
    children: list[Node] = []
    for generation in record.generations:
        children.append(_reserved(generation))
        for own, attempt, run in attempts_of(record):
            if own is generation:
                children.append(_attempt(generation, attempt, run, papers, verbose=verbose))
        if generation.closed is not None:
            children.append(_closed(generation.closed))
    children.append(decided_about_run(record, moment))
    return Node(f"run `{record.run}`: {standing_of(record)}", None, tuple(children))


def standing_of(record: RunRecord) -> str:
    """Return how far a run has come and what it holds or used, as one clause."""
    closed, of = record.last.closed, f"GPU hours of `{record.admission}`"
    if closed is not None and closed.how == "released":
        return f"released, {hours(record.last.gpu_hours)} {of} given back: it never started"
    if closed is not None:
        end = record.attempt.over
        how = f"{end.state}, " if end else ""
        return f"{how}settled, {hours(closed.gpu_hours)} {of} used"
    held = f"{hours(record.reserved)} {of} set aside"
    return f"{record.stage}, {held}, {counted(record.nodes, 'node')}"


def decided(decision: Decision | None, moment: Moment, nothing: str) -> Node:
    """Return what was last decided about a subject and whether main has moved on since."""
    if decision is None:
        return Node(nothing)
    code = f" ({decision.code})" if decision.code else ""
    text = (
        f"last decision: {decision.action}{code} at {minute(decision.at)} UTC, "
        f"over main {decision.main[:12]}: {decision.why}"
    )
    rules = (Node(f"against it: {listed(decision.rules)}"),) if decision.rules else ()
    return Node(text, None, (*rules, *_moved(decision, moment)))


def decided_about_run(record: RunRecord, moment: Moment) -> Node:
    """Return what is decided about a run itself."""
    if record.last.closed is not None:
        said = record.last.closed.why
        return Node(f"nothing more is to be decided about it: {record.last.closed.how}, {said}")
    beat = moment.book.heartbeat
    nothing = (
        "no pass has decided anything against it; the last that wrote was at "
        f"{minute(beat.at)} UTC, over main {beat.main[:12]}"
    )
    return decided(moment.book.decisions.get(record.run), moment, nothing)


def _moved(decision: Decision, moment: Moment) -> Iterator[Node]:
    main = moment.main
    if main == decision.main:
        return
    if main == moment.book.heartbeat.main:
        said = f"main has moved on since; a pass has seen {main[:12]} and decided nothing else"
        yield Node(said)
    else:
        said = f"main has moved on since; no pass has seen {main[:12]}, as far as the ledger says"
        yield Node(said, Outcome.UNDECIDED)


def _reserved(generation: Generation) -> Node:
    at, bound = generation.attempts[0].reserved_at, generation.timeout / 3600
    again = f", {counted(generation.retries, 'retry', 'retries')} included"
    return Node(
        f"reserved {hours(generation.gpu_hours)} GPU hours of `{generation.admission}` at "
        f"{minute(at)} UTC for `{generation.path}`: {generation.nodes} x "
        f"{generation.gpus_per_node} GPUs for at most {hours(bound)} h"
        f"{again if generation.retries else ''}, in `{generation.workspace}`"
    )


def _attempt(
    generation: Generation, attempt: Attempt, run: RunName, papers: Papers, *, verbose: bool
) -> Node:
    children = [_admitted(attempt, run, papers, verbose=verbose)]
    for failure in attempt.failures:
        how = "refused by the workspace" if failure.refused else "it could not be asked"
        children.append(
            Node(f"not submitted at {minute(failure.at)} UTC, {how}: {failure.why}", Outcome.UNMET)
        )
    if attempt.submitted_at is not None:
        children.append(Node(f"submitted at {minute(attempt.submitted_at)} UTC"))
    elif generation.closed is None:
        children.append(Node(f"not submitted yet; it may be until {minute(attempt.deadline)} UTC"))
    if (stop := attempt.stop) is not None:
        children.append(Node(f"stopped by {stop.by} at {minute(stop.at)} UTC: {stop.reason}"))
    if (cancel := attempt.cancel) is not None:
        said = f"asked to end at {minute(cancel.at)} UTC ({cancel.cause}): {cancel.why}"
        children.append(Node(said))
    if attempt.over is not None:
        children.append(_over(attempt.over))
    return Node(f"attempt {attempt.number}, `{run}`", None, tuple(children))


def _over(end: Over) -> Node:
    span = " to ".join(f"{minute(at)} UTC" for at in (end.started_at, end.ended_at) if at)
    parts = [
        f"over: {end.state}",
        f"it ran {span}" if span else "",
        "preempted" if end.preempted else "",
        f"{hours(end.gpu_hours)} GPU hours" + ("" if end.exact else ", its time limit charged"),
    ]
    said = ", ".join(part for part in parts if part)
    return Node(f"{said}: {end.reason}" if end.reason else said)


def _closed(closed: Closed) -> Node:
    exact = "" if closed.exact else ", at its bound: nobody could say how long it took"
    children: tuple[Node, ...] = ()
    if (came := closed.outcome) is not None:
        model = f", `models:/{came.model}/{came.version}`" if came.model else ", no model"
        children = (Node(f"MLflow run `{came.mlflow_run}`{model}"),)
    used = f"{hours(closed.gpu_hours)} GPU hours used{exact}"
    return Node(f"{closed.how} at {minute(closed.at)} UTC, {used}: {closed.why}", None, children)


def _admitted(attempt: Attempt, run: RunName, papers: Papers, *, verbose: bool) -> Node:
    """Return what made an attempt admissible, as it was written before it was submitted."""
    record = papers.records.get(attempt.record)
    if record is None:
        unread = f"the admission record of `{run}` was not read"
        why = papers.damaged.get(record_file(run, attempt.record), unread)
        return Node(why, Outcome.UNDECIDED)
    price = f", {record.price}" if record.price else ""
    text = (
        f"admitted over main {record.commit[:12]}, at most {hours(record.gpu_hours)} GPU hours"
        f"{price}, by version {record.controller} of the controller"
    )
    children = (*_approved(record), *_findings(record, verbose=verbose))
    return Node(text, Outcome.MET, children)


def _approved(record: Record) -> Iterator[Node]:
    if record.facts is None:
        yield Node("the evidence that it rested on is damaged", Outcome.UNDECIDED)
        return
    for said in record.facts.approvals:
        if said.approval is None:
            yield Node(f"`{said.path}`: {said.why or 'its approval was not recorded'}")
            continue
        yield approved_node(said.approval)


def approved_node(approval: Approval) -> Node:
    """Return which bytes were approved, by whom and when, and which commit brought them."""
    by = ", ".join(f"@{a.login.lstrip('@')} at {minute(a.at)} UTC" for a in approval.approvers)
    if approval.trusted:
        by = "the bytes of the trusted root"
    what = f"bytes {approval.blob[:12]}" if approval.blob else "its removal"
    text = f"`{approval.path}`, {what} of commit {approval.commit[:12]}: "
    return Node(text + (by or "nobody approved them"))


def _findings(record: Record, *, verbose: bool) -> Iterator[Node]:
    met = sum(outcome == "MET" for _, outcome, _ in record.findings)
    for rule, outcome, reason in record.findings:
        if verbose or outcome != "MET":
            yield Node(f"`{rule}` was {outcome}: {reason}", _OUTCOMES.get(outcome))
    if not verbose and met:
        yield Node(f"{counted(met, 'rule was', 'rules were')} met", Outcome.MET)

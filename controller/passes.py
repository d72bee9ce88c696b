"""One turn of the control plane, level-triggered: read the documents, ask, decide, do, report.

Nothing here knows what event woke it: a pass is made from main as it is now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from controller.decision.actions import Submit
from controller.decision.judge import judge_all
from controller.decision.plan import Plan, balances_of, described, make_plan
from controller.decision.verdict import Verdict
from controller.documents.catalog import Catalog, is_document, read_catalog
from controller.documents.payload import RunRequest, run_name
from controller.documents.policy import POLICY
from controller.effects.apply import apply
from controller.effects.request import request_for
from controller.errors import CannotRunError, UsageError
from controller.evidence.facts import Evidence, ObservedRun
from controller.evidence.gather import gather, records_of
from controller.ledger.records import RunRecord
from controller.report.outcome import DriftLine, Report, RunLine
from controller.values import CommitId, Location, Problem, RepoPath, RunName
from controller.wiring import World


@dataclass(frozen=True, slots=True)
class View:
    """What one pass saw of main, and what it concluded."""

    catalog: Catalog
    evidence: Evidence
    verdicts: Mapping[RepoPath, Verdict]
    plan: Plan


def view(world: World, at: str | None = None, max_cancels: int | None = None) -> View:
    """Read main (or the revision `at`), ask everything, judge and plan. Changes nothing."""
    commit = world.git.resolve(at) if at else world.git.default_base()
    catalog = read_main(world, commit)
    _no_state_in(catalog, world)
    evidence = gather(
        catalog,
        commit,
        host=world.host,
        history=world.git,
        workspace=world.workspace,
        tracking=world.tracking,
        now=world.now,
    )
    verdicts = judge_all(catalog, catalog.policy, evidence) if catalog.policy else {}
    plan = make_plan(catalog, verdicts, evidence, world.workspace.id, max_cancels=max_cancels)
    return View(catalog, evidence, verdicts, plan)


def read_main(world: World, commit: CommitId) -> Catalog:
    """Return what a commit says, from its bytes alone: money is spent on it."""
    return read_catalog(world.git.snapshot(commit, is_document))


def _no_state_in(catalog: Catalog, world: World) -> None:
    """Refuse a main that brings files of the workspace's own: a pull would put them in place."""
    if not world.state_dir.is_relative_to(world.git.root):
        return
    inside = world.state_dir.relative_to(world.git.root).as_posix()
    if inside == "." or catalog.snapshot.exists(inside):
        raise CannotRunError(
            f"the state folder `{world.state_dir}` can be overwritten by a commit",
            remedy="take its files out of the repository, or set `ADMIT_STATE_DIR` to another",
        )


def plan_report(world: World, at: str | None = None) -> Report:
    """Return what a reconcile would do now."""
    return _report("plan", view(world, at), planning=True)


def reconcile(world: World, max_cancels: int | None = None) -> Report:
    """Make the workspace follow main, as far as rules, doubts and brakes let it."""
    with world.exclusively():
        return _done("reconcile", world, view(world, max_cancels=max_cancels))


def saved(report: Report) -> str:
    """Return the plan of `report` as the document that `admit apply` takes."""
    if report.plan is None:
        raise UsageError("there is no plan to save")
    plan = report.plan
    content = {
        "schema": 1,
        "commit": report.commit,
        "digest": plan.digest,
        "actions": [described(action) for action in plan.actions],
    }
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def apply_saved(world: World, file: Path) -> Report:
    """Do a saved plan, if making it again now gives the same one.

    Raises CannotRunError when it does not, and UsageError for what is no plan.
    """
    wanted = _digest_of(file)
    with world.exclusively():
        seen = view(world)
        if seen.plan.digest != wanted:
            raise CannotRunError(
                f"the plan in `{file}` is stale: main, the evidence or the workspace changed since",
                remedy="make it again with `admit plan --out FILE` and read it again",
            )
        return _done("apply", world, seen)


def _digest_of(file: Path) -> str:
    try:
        content = json.loads(file.read_bytes())
        digest = content["digest"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise UsageError(
            f"`{file}` is not a plan that can be read", remedy="make one: `admit plan --out FILE`"
        ) from None
    return str(digest)


def _done(command: str, world: World, seen: View) -> Report:
    def request(submit: Submit) -> RunRequest:
        return request_for(
            submit,
            seen.verdicts[submit.path],
            seen.catalog,
            seen.evidence,
            seen.plan,
            world.surroundings,
        )

    receipts = tuple(apply(seen.plan, request, world.workspace))
    budgets = balances_of(seen.catalog, records_of(world.workspace.runs()))
    return replace(_report(command, seen), receipts=receipts, budgets=budgets)


def drift(world: World) -> Report:
    """Return in what the workspace differs from what main asks for."""
    seen = view(world)
    observed = {run.run: run for run in world.workspace.runs()}
    known = {run_name(r.name, r.fingerprint, r.attempts) for r in seen.evidence.records}
    lines = tuple(
        DriftLine(run, "orphan", f"{found.state}, on {found.nodes} nodes, without our tags")
        for run, found in sorted(observed.items())
        if run not in known
    )
    return replace(_report("drift", seen, planning=True), drift=lines)


def status(world: World) -> Report:
    """Return every recorded run and every balance. Asks the workspace and nobody else."""
    commit = world.git.default_base()
    observed = {run.run: run for run in world.workspace.runs()}
    records = records_of(observed.values())
    lines = (_line(record, observed) for record in records)
    return Report(
        command="status",
        asked_at=world.now(),
        commit=commit,
        runs=tuple(sorted(lines, key=lambda line: line.run)),
        budgets=balances_of(read_main(world, commit), records),
    )


def _line(record: RunRecord, observed: Mapping[RunName, ObservedRun]) -> RunLine:
    run = run_name(record.name, record.fingerprint, record.attempts)
    return RunLine(run, record, observed.get(run))


def _report(command: str, seen: View, *, planning: bool = False) -> Report:
    return Report(
        command=command,
        asked_at=seen.evidence.asked_at,
        commit=seen.catalog.snapshot.commit or "",
        problems=problems_of(seen.catalog),
        verdicts=tuple(seen.verdicts.values()),
        plan=seen.plan,
        brakes=(seen.plan.brake,) if seen.plan.brake else (),
        budgets=seen.plan.balances,
        planning=planning,
    )


def problems_of(catalog: Catalog) -> tuple[Problem, ...]:
    """Return everything that is wrong with the documents, the absence of a policy included."""
    found = [problem for path in sorted(catalog.broken) for problem in catalog.broken[path]]
    if catalog.owners is not None:
        found.extend(catalog.owners.problems)
    if catalog.policy is None and POLICY not in catalog.broken:
        message = "there is no policy, so nothing can be admitted"
        remedy = (
            "write it: `version: 1`, `approvals`, `limits`, `kinds`, `registries`, `code`, "
            "`baseline`, `compute`, `hold`; an example comes with admit's own repository"
        )
        found.append(Problem("missing-policy", Location(POLICY), message, remedy))
    return tuple(found)

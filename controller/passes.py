"""One turn of the control plane, level-triggered: read the documents, ask, decide, do, report.

Nothing here knows what event woke it: a pass is made from main as it is now, the ledger and the
workspace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from controller.decision.balances import balances_of
from controller.decision.candidates import candidates
from controller.decision.judge import judge_all
from controller.decision.noticed import noticed
from controller.decision.plan import described, make_plan
from controller.decision.verdict import Verdict
from controller.documents.catalog import Catalog, Ran, is_document, read_catalog
from controller.documents.policy import POLICY
from controller.effects.apply import Hands, apply
from controller.effects.receipts import Receipt
from controller.effects.request import Case
from controller.errors import AdmitError, CannotRunError, UsageError
from controller.evidence.facts import Evidence
from controller.evidence.gather import Sources, gather, remembered
from controller.ledger.account import Balance
from controller.ledger.book import Book, Order, read_book, wanted
from controller.ledger.records import Outcome, RunRecord
from controller.ledger.store import LostRaceError
from controller.report.outcome import Report
from controller.values import AdmissionId, BlobId, CommitId, Location, Problem, RepoPath, writable
from controller.wiring import World

TURNS = 6
"""So often a pass starts again because another one wrote into the ledger first."""
BEHIND, AHEAD = timedelta(minutes=2), timedelta(days=30)
"""How far the clock may be before, and after, the ledger's last heartbeat."""


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person allows one pass beyond its own caution, and why; it is recorded."""

    max_cancels: int | None = None
    accept_clock: bool = False
    reason: str = ""


NOTHING_MORE = Consent()


@dataclass(frozen=True, slots=True)
class View:
    """What one pass saw of the ledger and of main, and what it concluded."""

    book: Book
    case: Case


def view(world: World, at: str | None = None, consent: Consent = NOTHING_MORE) -> View:
    """Read the ledger and main (or the revision `at`), ask, judge and plan. Changes nothing."""
    book = read_book(world.ledger.read(wanted))
    _check_clock(book, world.now(), consent)
    commit = world.git.resolve(at) if at else world.git.default_base()
    _check_trust(world, book, commit, is_main=not at)
    catalog = read_main(world, commit, book)
    _no_state_in(catalog, world)
    evidence, verdicts = _judged(world, catalog, commit, book)
    workspace = world.workspace.id
    plan = make_plan(catalog, verdicts, evidence, workspace, max_cancels=consent.max_cancels)
    return View(book, Case(catalog, evidence, verdicts, plan, world.surroundings))


def _judged(
    world: World, catalog: Catalog, commit: CommitId, book: Book
) -> tuple[Evidence, Mapping[RepoPath, Verdict]]:
    """Judge by what is known without asking, ask about what that leaves open, and judge again."""
    known = remembered(catalog, commit, book, world.git, world.now)
    policy = catalog.policy
    verdicts = judge_all(catalog, policy, known) if policy else {}
    chosen = candidates(catalog, verdicts, known.records)
    sources = Sources(
        world.host(book.trust.root), world.git, world.workspace, world.tracking, world.now
    )
    evidence = noticed(gather(known, catalog, commit, book, chosen, sources))
    seen_so = candidates(catalog, verdicts, evidence.records)
    if not set(seen_so) <= set(chosen):  # an end that was just seen lets something be tried again
        chosen = seen_so
        evidence = noticed(gather(known, catalog, commit, book, chosen, sources))
    if policy is None or (not chosen and evidence.records == known.records):
        return evidence, verdicts
    return evidence, judge_all(catalog, policy, evidence)


def read_main(world: World, commit: CommitId, book: Book | None = None) -> Catalog:
    """Return what a commit says, from its bytes alone: money is spent on it.

    With the ledger, manifests whose bytes were run and are settled are not read again.
    """
    ran = {} if book is None else _ran(book)
    have = {blob for _, blob in ran}
    return read_catalog(world.git.snapshot(commit, is_document, have), ran=ran)


def _ran(book: Book) -> dict[tuple[RepoPath, BlobId], Ran]:
    """Return every manifest that was settled, unless something of its name is going on."""
    going = {record.name for record in book.records.values() if not record.settled}
    return {
        (record.path, record.last.blob): Ran(record.name, record.fingerprint)
        for record in book.records.values()
        if record.last.blob and record.name not in going
    }


def _check_clock(book: Book, now: datetime, consent: Consent) -> None:
    """Refuse a clock that may be wrong: deadlines and expiries are read from it."""
    beat = book.heartbeat.at
    if consent.accept_clock or beat - BEHIND <= now <= beat + AHEAD:
        return
    far = f"it is {now:%Y-%m-%d %H:%M} UTC here, and the ledger's last heartbeat was at "
    raise CannotRunError(
        f"{far}{beat:%Y-%m-%d %H:%M} UTC: one of the two clocks is wrong, or no pass ran for long",
        remedy="set the clock; if it is right, `admit reconcile --accept-clock --reason TEXT`",
    )


def _check_trust(world: World, book: Book, commit: CommitId, *, is_main: bool) -> None:
    """Refuse a main that is not a continuation of what the ledger trusts."""
    anchors = [book.trust.root, *([book.heartbeat.main] if is_main else [])]
    for anchor in anchors:
        if not world.git.on_line(commit, anchor):
            raise CannotRunError(
                f"main at {commit[:12]} does not come after {anchor[:12]}, which the ledger trusts",
                remedy="if this clone is behind, `git fetch`; if history was rewritten, look at "
                "it, then `admit ledger init --again --reason TEXT`",
            )


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
    return report_of("plan", view(world, at), planning=True)


def reconcile(world: World, consent: Consent = NOTHING_MORE) -> Report:
    """Make the workspace follow main, as far as rules, doubts and brakes let it.

    Where another pass writes first, this one starts again from what that wrote.
    """
    receipts: list[Receipt] = []
    for turn in range(TURNS):
        seen = view(world, consent=consent)
        try:
            records = _do(world, seen, consent, receipts)
        except LostRaceError:
            if turn + 1 == TURNS:
                raise
            world.pause(turn)
            continue
        return _did("reconcile", seen, receipts, records)
    raise AssertionError("the last turn returns or raises")


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

    Raises CannotRunError when it does not, also when another pass comes first, and UsageError for
    what is no plan.
    """
    wanted_digest = _digest_of(file)
    seen = view(world)
    if seen.case.plan.digest != wanted_digest:
        raise CannotRunError(
            f"the plan in `{file}` is stale: main, the evidence or the workspace changed since",
            remedy="make it again with `admit plan --out FILE` and read it again",
        )
    receipts: list[Receipt] = []
    records = _do(world, seen, NOTHING_MORE, receipts)
    return _did("apply", seen, receipts, records)


def _digest_of(file: Path) -> str:
    try:
        content = json.loads(file.read_bytes())
        digest = content["digest"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise UsageError(
            f"`{file}` is not a plan that can be read", remedy="make one: `admit plan --out FILE`"
        ) from None
    return str(digest)


def _do(
    world: World, seen: View, consent: Consent, receipts: list[Receipt]
) -> tuple[RunRecord, ...]:
    """Do what was planned, add a receipt for each change, and return the records after it."""
    hands = Hands(world.ledger, world.workspace, world.now, _outcomes(world))
    doing = apply(seen.case, seen.book, hands, _orders(world, consent))
    while True:
        try:
            receipts.append(next(doing))
        except StopIteration as done:
            records: tuple[RunRecord, ...] = done.value
            return records


def _orders(world: World, consent: Consent) -> Iterable[Order]:
    now, who, reason = world.now(), world.who, writable(consent.reason)
    if consent.max_cancels is not None:
        yield Order("max-cancels", now, reason, who, number=consent.max_cancels)
    if consent.accept_clock:
        yield Order("accept-clock", now, reason, who)


def _outcomes(world: World) -> Callable[[RunRecord], Outcome | None]:
    """Return what tells what came of a run; MLflow is asked no more once it did not answer."""
    silent: list[AdmitError] = []

    def outcome(record: RunRecord) -> Outcome | None:
        if silent:
            return None
        try:
            found = world.tracking.tracked(record.run)
        except AdmitError as error:
            silent.append(error)
            return None
        # Anybody may tag a run of MLflow; only ours knows the digest of why it was admitted.
        digests = {attempt.record for g in record.generations for attempt in g.attempts}
        ours = [tracked for tracked in found if tracked.record in digests]
        if not ours:
            return None
        last = ours[-1]
        return Outcome(last.mlflow_run, last.model, last.version, last.dataset)

    return outcome


def _did(
    command: str, seen: View, receipts: Iterable[Receipt], records: tuple[RunRecord, ...]
) -> Report:
    after = replace(seen.case.evidence, records=records)
    budgets = balances_of(seen.case.catalog.admissions, after)
    report = report_of(command, seen)
    return replace(report, receipts=tuple(receipts), budgets=_granted(budgets, seen))


def _granted(balances: Mapping[AdmissionId, Balance], seen: View) -> dict[AdmissionId, Balance]:
    """Return the balances with what was granted last also where the admission is gone."""
    accounts, here = seen.book.accounts, seen.case.catalog.admissions
    return {
        id_: replace(own, granted=accounts[id_].granted)
        if id_ in accounts and id_ not in here
        else own
        for id_, own in balances.items()
    }


def report_of(command: str, seen: View, *, planning: bool = False) -> Report:
    """Return what a pass saw and concluded; `planning`: its changes are still to be done."""
    case = seen.case
    return Report(
        command=command,
        asked_at=case.evidence.asked_at,
        commit=case.main,
        problems=problems_of(case.catalog),
        verdicts=tuple(case.verdicts.values()),
        plan=case.plan,
        brakes=(case.plan.brake,) if case.plan.brake else (),
        budgets=_granted(case.plan.balances, seen),
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

"""The table of planning: what follows for every run and every manifest, and why.

Rows are read per (name, fingerprint). Cancel beats Keep, Withhold beats Submit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from controller.decision.actions import (
    Action,
    ApplySchedule,
    Cancel,
    DeleteSchedule,
    DisableSchedule,
    Keep,
    Release,
    Repair,
    Settle,
    Submit,
    Withhold,
    changes,
)
from controller.decision.balances import balances_of
from controller.decision.endings import endings
from controller.decision.starts import wishes
from controller.decision.table import Table
from controller.decision.verdict import Verdict
from controller.documents.catalog import Catalog
from controller.evidence.facts import Evidence, Known
from controller.ledger.account import DIGITS, Balance
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, Digest, Json, RepoPath, canonical_json, sha256

_ORDER: tuple[type[Action], ...] = (
    Settle,
    Release,
    Cancel,
    Submit,
    Repair,
    DisableSchedule,
    ApplySchedule,
    DeleteSchedule,
    Keep,
    Withhold,
)


@dataclass(frozen=True)
class Plan:
    """Every action of one pass, in order, and the facts it rests on; consent names its digest."""

    workspace: str
    actions: tuple[Action, ...]
    balances: Mapping[AdmissionId, Balance]
    records: tuple[RunRecord, ...]
    """The recorded runs that are not settled, in the order of names."""
    brake: str = ""
    """Why none of the cancellations may be done, or ''."""
    latch: Literal["", "latched", "lifted"] = ""
    """What becomes of the brake for the passes to come: only a person's word lifts it."""

    @cached_property
    def digest(self) -> Digest:
        """SHA-256 over the canonical JSON of the target, the actions, balances and records.

        Reasons are not in it, nor is what a run takes beyond its reservation: one may count days,
        the other grows with every second, and a plan does not get stale by that.
        """
        content: Json = {
            "actions": [_bound(action) for action in self.actions],
            "balances": {i: _set_aside(b) for i, b in sorted(self.balances.items())},
            "records": [
                [r.name, r.fingerprint, r.attempts, r.stage, r.reserved] for r in self.records
            ],
            "workspace": self.workspace,
        }
        return sha256(canonical_json(content))

    @property
    def changes(self) -> tuple[Action, ...]:
        """The actions that would change something."""
        return tuple(action for action in self.actions if changes(action))


def kind_of(action: Action) -> str:
    """Return the action's name in reports: `submit`, `disable-schedule`."""
    name = type(action).__name__
    return "".join("-" + c.lower() if c.isupper() else c for c in name).removeprefix("-")


def described(action: Action) -> dict[str, Any]:
    """Return `action` as data: its kind, and every field that says something."""
    said = {k: v for k, v in asdict(action).items() if v is not False and v not in (None, "", ())}
    return {"action": kind_of(action), **said}


def _set_aside(balance: Balance) -> dict[str, Any]:
    said = asdict(balance)
    overrun = said.pop("overrun")
    return said | {"reserved": round(balance.reserved - overrun, DIGITS)}


def _bound(action: Action) -> dict[str, Any]:
    return {key: value for key, value in described(action).items() if key != "why"}


def make_plan(
    catalog: Catalog,
    verdicts: Mapping[RepoPath, Verdict],
    evidence: Evidence,
    workspace: str,
    *,
    max_cancels: int | None = None,
) -> Plan:
    """Return what has to be done so that `workspace` follows main.

    `max_cancels` is a person's word for this pass; it takes the place of the policy's brake.
    """
    records = tuple(sorted(evidence.records, key=lambda r: (r.name, r.fingerprint)))
    evidence = replace(evidence, records=records)
    balances = balances_of(catalog.admissions, evidence)
    asked = tuple(wishes(catalog, verdicts, evidence, balances))
    starts = [wish.follows for wish in asked if not isinstance(wish.follows, RunRecord)]
    actions = in_order([*starts, *endings(Table(catalog, evidence, balances, asked))])
    active = tuple(record for record in records if record.active)
    brake = _brake(actions, evidence, max_cancels)
    latch = _latch(brake, evidence, max_cancels)
    return Plan(workspace, actions, balances, active, brake, latch)


def in_order(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Return `actions` in the order in which they are done: what gives back before what takes."""

    def place(action: Action) -> tuple[int, bool, str]:
        # What waits for a submission comes behind all of them.
        waits = isinstance(action, Cancel) and action.after is not None
        rank = _ORDER.index(Submit if waits else type(action))
        match action:
            case Submit() | Withhold():
                return rank, waits, action.path
            case ApplySchedule() | DisableSchedule() | DeleteSchedule():
                return rank, waits, action.schedule
            case _:
                return rank, waits, action.run

    return tuple(sorted(actions, key=place))


def _brake(actions: Iterable[Action], evidence: Evidence, max_cancels: int | None) -> str:
    wanted = sum(isinstance(action, Cancel) and action.cause != "stopped" for action in actions)
    policy = evidence.policy.value if isinstance(evidence.policy, Known) else None
    if max_cancels is not None:
        limit, said = max_cancels, f"`--max-cancels` is {max_cancels}"
    elif policy is not None:
        limit = policy.limits.cancels_per_pass
        said = f"`limits.cancels_per_pass` is {limit}"
    else:
        limit, said = 0, "no approved policy is known that sets a limit"
    latched = evidence.latched and max_cancels is None and wanted > 0
    if wanted <= limit and not latched:
        return ""
    if latched and wanted <= limit:
        said = "an earlier pass would have cancelled too many, which nobody has looked at since"
    return (
        f"this pass would cancel {wanted} of the active runs and {said}, so it cancels none; "
        f"look at them, then `admit reconcile --max-cancels {wanted} --reason TEXT`"
    )


def _latch(
    brake: str, evidence: Evidence, max_cancels: int | None
) -> Literal["", "latched", "lifted"]:
    """A brake that holds for want of an answer does not latch: the answer may come."""
    if brake and not evidence.latched:
        known = isinstance(evidence.policy, Known) and evidence.policy.value is not None
        return "latched" if known or max_cancels is not None else ""
    return "lifted" if evidence.latched and max_cancels is not None and not brake else ""

"""What the rows of the table of planning look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property

from controller.decision.actions import Cancel, Keep, Release, Settle
from controller.decision.starts import Wish
from controller.documents.catalog import Catalog
from controller.documents.policy import Policy
from controller.evidence.facts import Evidence, Known, ObservedRun
from controller.ledger.account import Balance
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, Fingerprint, RunName

Ending = Keep | Cancel | Settle | Release

_ENDING_STATES = frozenset({"CancelRequested", "Finalizing"})


@dataclass(frozen=True, slots=True)
class Active:
    """A recorded run that is not over, as its workspace describes it."""

    run: RunName
    record: RunRecord
    observed: ObservedRun

    @property
    def ending(self) -> bool:
        """Whether it ends already, by itself or because it was asked to: nobody has to ask."""
        return self.observed.state in _ENDING_STATES or self.record.attempt.cancel is not None

    def gives_back(self, at: datetime) -> float:
        """Return the GPU hours of its reservation that are left if it ends at `at`."""
        start = self.observed.started_at
        elapsed = max(0.0, (at - start).total_seconds()) / 3600 if start else 0.0
        going = elapsed * self.record.nodes * self.record.gpus_per_node
        return max(0.0, self.record.reserved - self.record.last.spent - going)


@dataclass(frozen=True)
class Table:
    """The documents on main, what was asked, the accounts, and what each manifest asks for."""

    catalog: Catalog
    evidence: Evidence
    balances: Mapping[AdmissionId, Balance]
    wishes: Sequence[Wish]

    @property
    def today(self) -> date:
        """The UTC day of the pass."""
        return self.evidence.asked_at.astimezone(UTC).date()

    @property
    def policy(self) -> Policy | None:
        """The last approved policy, where it is known."""
        policy = self.evidence.policy
        return policy.value if isinstance(policy, Known) else None

    @cached_property
    def names(self) -> frozenset[str]:
        """The name of every sound manifest, the parts of others included."""
        return self.catalog.names

    @cached_property
    def by_key(self) -> Mapping[tuple[str, Fingerprint], Wish]:
        """What is asked for of each payload; where manifests share a name, the last of them."""
        return {(w.manifest.name, w.manifest.payload.fingerprint): w for w in self.wishes}

    @cached_property
    def asked(self) -> Mapping[str, tuple[Wish, ...]]:
        """What is asked for under each name; more than one where manifests share a name."""
        named: dict[str, tuple[Wish, ...]] = {}
        for wish in self.wishes:
            named[wish.manifest.name] = (*named.get(wish.manifest.name, ()), wish)
        return named


def leaves(active: Active, endings: Mapping[RunName, Ending]) -> bool:
    """Whether it ends by itself, or is one of those that are cancelled."""
    return active.ending or isinstance(endings[active.run], Cancel)

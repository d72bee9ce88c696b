"""What every manifest on main asks for: a start, nothing more, or to be withheld."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.decision.actions import Submit, Withhold
from controller.decision.verdict import Outcome, Verdict
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.documents.payload import run_name
from controller.evidence.facts import Evidence, ObservedRun, Unavailable
from controller.ledger.account import Balance
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, RepoPath, RunName

ROOM = frozenset({"gpu-budget", "nodes-granted"})
"""The rules that a start can come to meet when an older run gives something back."""

SLACK = 1e-9
"""GPU hours that sums of floats may be wrong by."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One manifest with its verdict, and what follows: nothing where its payload has a record.

    `waits_for_room`: nothing is against its start but that hours or nodes of its admission are
    taken.
    """

    manifest: Manifest
    verdict: Verdict
    follows: Submit | Withhold | RunRecord
    waits_for_room: bool = False


@dataclass(slots=True)
class Room:
    """What is left of one admission while the starts of a pass are lined up."""

    gpu_hours: float
    nodes: int

    def holds(self, gpu_hours: float, nodes: int) -> bool:
        """Whether a run of so much fits."""
        return gpu_hours <= self.gpu_hours + SLACK and nodes <= self.nodes

    def take(self, gpu_hours: float, nodes: int) -> None:
        """Set so much aside."""
        self.gpu_hours -= gpu_hours
        self.nodes -= nodes


def rooms(catalog: Catalog, balances: Mapping[AdmissionId, Balance]) -> dict[AdmissionId, Room]:
    """Return what the admissions on main have left before anything starts."""
    return {
        id_: Room(balances[id_].free, admission.grant.max_nodes - balances[id_].nodes)
        for id_, admission in catalog.admissions.items()
    }


def wishes(
    catalog: Catalog,
    verdicts: Mapping[RepoPath, Verdict],
    evidence: Evidence,
    balances: Mapping[AdmissionId, Balance],
) -> Iterator[Wish]:
    """Yield what each manifest asks for that is not a part of another.

    Every verdict was judged as if its run were the only start; here they share what is free, in
    the order of paths. Those whose name ran before come first: what an older run of theirs gave
    back is meant for them.
    """
    records = {(r.name, r.fingerprint): r for r in evidence.records}
    ran = {record.name for record in evidence.records}
    room = rooms(catalog, balances)
    manifests = [m for path, m in catalog.manifests.items() if path not in catalog.parts]
    for manifest in sorted(manifests, key=lambda m: (m.name not in ran, m.path)):
        verdict = verdicts.get(manifest.path) or _unjudged(manifest)
        record = records.get((manifest.name, manifest.payload.fingerprint))
        if record is not None:
            yield Wish(manifest, verdict, record)
            continue
        action = _start(manifest, verdict, evidence, room)
        waits = isinstance(action, Withhold) and _waits_for_room(manifest, action, evidence)
        yield Wish(manifest, verdict, action, waits)


def _unjudged(manifest: Manifest) -> Verdict:
    run = run_name(manifest.name, manifest.payload.fingerprint) if manifest.name else None
    return Verdict(manifest.path, "job", None, run, ())


def _start(
    manifest: Manifest, verdict: Verdict, evidence: Evidence, room: Mapping[AdmissionId, Room]
) -> Submit | Withhold:
    if verdict.standing is not Outcome.MET:
        return _withhold(verdict)
    if verdict.admission is None or verdict.run is None or verdict.cost is None:
        why = "it has no name, no admission or no worst case, and no rule says so"
        return Withhold(manifest.path, verdict.run, why, undecided=True)
    if doubt := _already_there(verdict.run, manifest, evidence):
        return doubt
    left, hours, nodes = room[verdict.admission], verdict.cost.gpu_hours, manifest.spec.nodes
    if not left.holds(hours, 0):
        why = f"other starts of this pass leave {left.gpu_hours:g} of the {hours:g} GPU hours of "
        return Withhold(manifest.path, verdict.run, why + "its worst case", ("gpu-budget",))
    if not left.holds(hours, nodes):
        why = f"other starts of this pass leave {left.nodes} of the {nodes} nodes it needs"
        return Withhold(manifest.path, verdict.run, why, ("nodes-granted",))
    left.take(hours, nodes)
    why = f"admitted by `{verdict.admission}`, worst case {hours:g} GPU hours"
    fingerprint = manifest.payload.fingerprint
    return Submit(verdict.run, manifest.path, verdict.admission, fingerprint, hours, why)


def _already_there(run: RunName, manifest: Manifest, evidence: Evidence) -> Withhold | None:
    match evidence.runs.get(run):
        case Unavailable(why=why):
            text = f"whether it runs already could not be asked: {why}"
            return Withhold(manifest.path, run, text, undecided=True)
        case None:
            text = "whether it runs already was not asked"
            return Withhold(manifest.path, run, text, undecided=True)
        case answer:
            return _taken(run, manifest, answer.value)


def _taken(run: RunName, manifest: Manifest, observed: ObservedRun | None) -> Withhold | None:
    if observed is None:
        return None
    what = "another payload" if observed.fingerprint else "a run"
    if observed.fingerprint == manifest.payload.fingerprint:
        what = "this payload"
    why = f"the workspace has {what} under this name, started by nobody we know of"
    return Withhold(manifest.path, run, why, ("name-unique",))


def _waits_for_room(manifest: Manifest, withheld: Withhold, evidence: Evidence) -> bool:
    if not withheld.findings or not ROOM.issuperset(withheld.findings) or withheld.run is None:
        return False
    return _already_there(withheld.run, manifest, evidence) is None


def _withhold(verdict: Verdict) -> Withhold:
    """Withhold with every finding against the start, those that are not met first."""
    against = sorted(verdict.against, key=lambda finding: -finding.outcome)
    why = "; ".join(f"{f.rule}: {f.reason}" for f in against) or "no rule was asked"
    names = tuple(dict.fromkeys(f.rule for f in against))
    undecided = verdict.standing is Outcome.UNDECIDED
    return Withhold(verdict.subject, verdict.run, why, names, undecided=undecided)

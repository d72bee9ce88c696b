"""What every manifest on main asks for: a start, a retry, nothing more, or to be withheld."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.decision.actions import Submit, Withhold
from controller.decision.retries import gave_up, later, may_retry, waits
from controller.decision.rules import RULES
from controller.decision.verdict import Outcome, Verdict, worst
from controller.documents.catalog import Catalog
from controller.documents.manifest import Manifest
from controller.documents.payload import run_name
from controller.evidence.facts import Evidence, Known, ObservedRun, Unavailable
from controller.ledger.account import Balance
from controller.ledger.records import MARGIN, RunRecord
from controller.values import AdmissionId, RepoPath, RunName

OUTSIDE = frozenset(rule.id for rule in RULES if rule.outside)
"""The rules that need an answer from outside."""
ROOM = frozenset({"gpu-budget", "nodes-granted"})
"""The rules that a start can come to meet when an older run gives something back."""

SLACK = 1e-9
"""GPU hours that sums of floats may be wrong by."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One manifest with its verdict, and what follows: nothing where its record says enough.

    `waits_for_room`: nothing is against its start but that hours or nodes of its admission are
    taken.
    """

    manifest: Manifest
    verdict: Verdict
    follows: Submit | Withhold | RunRecord
    waits_for_room: bool = False

    @property
    def approved(self) -> bool:
        """Whether what it asks for now is proved approved."""
        found = (f for f in self.verdict.findings if f.rule == "owner-approval")
        return worst(found) is Outcome.MET


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


Rooms = Mapping[AdmissionId, Room]


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
    records = {run_name(r.name, r.fingerprint): r for r in evidence.records}
    ran = {record.name for record in evidence.records}
    room = rooms(catalog, balances)
    manifests = [m for path, m in catalog.manifests.items() if path not in catalog.parts]
    for manifest in sorted(manifests, key=lambda m: (m.name not in ran, m.path)):
        verdict = verdicts.get(manifest.path) or _unjudged(manifest)
        record = records.get(run_name(manifest.name, manifest.payload.fingerprint))
        follows = _follows(manifest, verdict, record, evidence, room)
        waiting = isinstance(follows, Withhold) and _waits_for_room(verdict, follows, evidence)
        waiting = waiting and (record is None or not gave_up(record))
        yield Wish(manifest, verdict, follows, waiting)


def _unjudged(manifest: Manifest) -> Verdict:
    run = run_name(manifest.name, manifest.payload.fingerprint) if manifest.name else None
    return Verdict(manifest.path, "job", None, run, ())


def _follows(
    manifest: Manifest,
    verdict: Verdict,
    record: RunRecord | None,
    evidence: Evidence,
    room: Rooms,
) -> Submit | Withhold | RunRecord:
    """Return the row of the table for a payload, by how far its record has come."""
    if record is None:
        return _start(manifest, verdict, None, evidence, room)
    if record.fingerprint != manifest.payload.fingerprint:  # the same 12 digits, made on purpose
        why = "the ledger has another payload under this name"
        return Withhold(manifest.path, verdict.run, why, ("name-unique",))
    match record.stage:
        case "released":
            return _start(manifest, verdict, record, evidence, room)
        case "reserved":
            return _under(manifest, verdict, record, evidence, room)
        case "over" if may_retry(record, manifest.admission, evidence):
            return _again(verdict, record, evidence)
        case _:
            return record


def _start(
    manifest: Manifest,
    verdict: Verdict,
    record: RunRecord | None,
    evidence: Evidence,
    room: Rooms,
) -> Submit | Withhold:
    """Start what never ran, or never got further than a reservation that was given back."""
    if verdict.standing is not Outcome.MET:
        return _withhold(verdict)
    if verdict.admission is None or verdict.run is None or verdict.cost is None:
        why = "it has no name, no admission or no worst case, and no rule says so"
        return Withhold(manifest.path, verdict.run, why, undecided=True)
    if doubt := _already_there(verdict.run, manifest, evidence):
        return doubt
    if record is not None and (waiting := _held_off(record, verdict, evidence)):
        return waiting
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


def _under(
    manifest: Manifest, verdict: Verdict, record: RunRecord, evidence: Evidence, room: Rooms
) -> Submit | Withhold | RunRecord:
    """Submit what was reserved for and has no run, while the deadline of that is open."""
    attempt, now = record.attempt, evidence.asked_at
    if attempt.stop is not None:
        return record
    if doubt := _already_there(record.run, manifest, evidence):
        return doubt
    if now > attempt.deadline + MARGIN:
        if attempt.number > 1:
            retry = may_retry(record, manifest.admission, evidence)
            return _again(verdict, record, evidence) if retry else record
        if verdict.admission == record.admission:  # what is given back may be set aside again
            room[record.admission].take(-record.reserved, -record.nodes)
        return _start(manifest, verdict, record, evidence, room)
    if verdict.standing is not Outcome.MET:
        return _withhold(verdict)
    if verdict.admission != record.admission:
        why = f"`{record.admission}` reserved for it, until {attempt.deadline + MARGIN:%H:%M} UTC"
        return Withhold(manifest.path, record.run, why, undecided=True)
    if now >= attempt.deadline:
        why = "the deadline of its reservation is over, and a late submission may still show up"
        return Withhold(manifest.path, record.run, why, undecided=True)
    if waiting := _held_off(record, verdict, evidence):
        return waiting
    why = f"reserved by `{record.admission}` at {attempt.reserved_at:%H:%M} UTC, and not submitted"
    return _submit(record, manifest.path, attempt.number, why, reserved=True)


def _again(verdict: Verdict, record: RunRecord, evidence: Evidence) -> Submit | Withhold:
    """Try again what was preempted, out of the same reservation.

    A retry that got no further than its deadline is prepared once more, under the same number.
    """
    if verdict.standing is not Outcome.MET:
        return _withhold(verdict)
    if waiting := _held_off(record, verdict, evidence):
        return waiting
    number = record.attempt.number + (record.stage == "over")
    why = f"attempt {number} of {1 + record.last.retries}: the one before was preempted"
    return _submit(record, verdict.subject, number, why)


def _submit(
    record: RunRecord, path: RepoPath, attempt: int, why: str, *, reserved: bool = False
) -> Submit:
    run = run_name(record.name, record.fingerprint, attempt)
    return Submit(
        run,
        path,
        record.admission,
        record.fingerprint,
        record.reserved,
        why,
        attempt,
        reserved,
    )


def _held_off(record: RunRecord, verdict: Verdict, evidence: Evidence) -> Withhold | None:
    """Wait longer after each failed submission, and at some time no more."""
    if reason := gave_up(record):
        return Withhold(verdict.subject, record.run, reason, ("gave-up",))
    if waits(record, evidence.asked_at):
        return Withhold(verdict.subject, record.run, later(record), undecided=True)
    return None


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


def _waits_for_room(verdict: Verdict, withheld: Withhold, evidence: Evidence) -> bool:
    """Whether room is all it lacks. What was not asked may be against it, and is not left out."""
    against = {*withheld.findings, *(finding.rule for finding in verdict.against)}
    if not against or not against <= ROOM or withheld.run is None:
        return False
    answer = evidence.runs.get(withheld.run)
    return isinstance(answer, Known) and answer.value is None


def _withhold(verdict: Verdict) -> Withhold:
    """Withhold with every finding against the start, those that are not met first.

    While something is not met, what has to be asked was not asked, and is no news.
    """
    unmet = verdict.standing is Outcome.UNMET
    said = (f for f in verdict.against if f.outcome is Outcome.UNMET or f.rule not in OUTSIDE)
    against = sorted(said if unmet else verdict.against, key=lambda finding: -finding.outcome)
    why = "; ".join(f"{f.rule}: {f.reason}" for f in against) or "no rule was asked"
    names = tuple(dict.fromkeys(f.rule for f in against))
    undecided = verdict.standing is Outcome.UNDECIDED
    return Withhold(verdict.subject, verdict.run, why, names, undecided=undecided)

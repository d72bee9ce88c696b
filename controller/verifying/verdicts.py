"""The edges to the rules: all were met when it was judged, and are met when it is judged again."""

from __future__ import annotations

from dataclasses import replace

from controller.decision.judge import Docket, judge_job
from controller.decision.starts import ROOM
from controller.decision.verdict import Outcome, Verdict
from controller.documents.policy import Policy
from controller.evidence.facts import Answer, Evidence, Known, Unavailable
from controller.evidence.recorded import RecordedPolicy, as_evidence
from controller.values import listed
from controller.verifying.chain import Chain, Link, UnreadError, broken, held, known, unchecked

_MET = Outcome.MET.name
_LEFT_OUT = f"{listed(sorted(ROOM))} are left out: the balance of that moment is not recorded"


def findings(chain: Chain) -> Link:
    """Every finding that was recorded is MET."""
    found = chain.said.findings
    against = [f"`{rule}` was {word}: {why}" for rule, word, why in found if word != _MET]
    if against:
        return broken(*against)
    if not found:
        return broken("no rule was asked, and emptiness is not a yes")
    return held(f"{len(found)} findings, every one of them {_MET}")


def judged_again(chain: Chain) -> Link:
    """With the documents of that commit and the recorded evidence, the same rules are met."""
    said = chain.said
    verdict = _judged(chain)
    recorded = {finding[0] for finding in said.findings} - ROOM
    again = {finding.rule for finding in verdict.findings} - ROOM
    same_program = said.controller == chain.controller
    asked = again if same_program else again & recorded
    against = [f for f in verdict.against if f.rule in asked]
    if against:
        return broken(*[f"`{f.rule}` is {f.outcome.name}: {f.reason}" for f in against])
    if fault := _other_cost(chain, verdict):
        return broken(fault)
    if same_program and recorded != again:
        odd = listed(sorted(recorded ^ again))
        return broken(f"this same version asks other rules than were recorded: {odd}")
    at = f"{said.evidence.asked_at:%Y-%m-%d %H:%M} UTC"
    told = f"{len(asked)} rules are met again with the evidence of {at}"
    if recorded != again:
        odd = listed(sorted(recorded ^ again))
        return unchecked(
            f"{told}; {odd} cannot be compared: version {said.controller[:20]} judged, and this is "
            f"{chain.controller}"
        )
    return held(f"{told}; {_LEFT_OUT}")


def _other_cost(chain: Chain, verdict: Verdict) -> str:
    """Return how the recorded worst case differs from the one of these documents, or ''."""
    said, cost = chain.said, verdict.cost
    if cost is None:
        return "there is no worst case"
    if said.price != (price := f"{cost.amount} {cost.currency}"):
        return f"the worst case costs {price}, and the admission record says {said.price}"
    if chain.number == 1 and said.gpu_hours != cost.gpu_hours:
        return f"the worst case is {cost.gpu_hours:g} GPU hours, not {said.gpu_hours:g}"
    return ""


def _judged(chain: Chain) -> Verdict:
    said, catalog = chain.said, known(chain.catalog)
    policy, manifest = catalog.policy, catalog.manifests.get(said.manifest)
    if policy is None or manifest is None:
        raise UnreadError("that commit has no sound policy, or no sound job at that path")
    for answer in chain.introductions.values():
        known(answer)
    bare = Evidence(
        asked_at=said.evidence.asked_at,
        approvals={},
        introductions=chain.introductions,
        records=(),
        runs={},
        measured={},
        governing={},
        policy=_last(said.evidence.policy, policy),
    )
    evidence = as_evidence(said.evidence, bare)
    try:
        return judge_job(Docket.of(catalog, policy, evidence).job_case(manifest))
    except ArithmeticError as error:
        raise UnreadError("the recorded evidence has numbers that cannot be judged by") from error


def _last(then: RecordedPolicy, policy: Policy) -> Answer[Policy | None]:
    """Return the last approved policy as it was; of another than this one, what counts of it."""
    if then.why:
        return Unavailable(then.why, then.asked_at)
    if then.blob is None:
        return Known(None, then.asked_at)
    if then.blob == policy.blob:
        return Known(policy, then.asked_at)
    return Known(replace(policy, blob=then.blob, minimum_approvals=then.minimum), then.asked_at)

"""What holds for every plan, whatever is on main, was approved, is recorded and could be asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decision.actions import Cancel, Keep, Release, Settle, Submit, Withhold
from controller.decision.verdict import Outcome
from controller.documents.payload import run_name
from controller.evidence.facts import Known
from controller.ledger.records import MARGIN
from tests.builders import NOW
from tests.decision.scenes import Scene, doubted

EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True, database=None)
SLACK = 1e-6
"""GPU hours that sums of floats may be wrong by."""
DOUBTED = st.integers(0, 249).map(doubted)


@EXAMPLES
@given(DOUBTED)
def test_what_is_reserved_never_exceeds_what_is_free_or_given_back(case: Scene) -> None:
    plan, nodes, hours = case.plan, Counter[str](), dict[str, float]()
    back = {action.run for action in plan.actions if isinstance(action, Release)}
    for submit in plan.actions:
        if isinstance(submit, Submit) and not submit.reserved and submit.attempt == 1:
            hours[submit.admission] = hours.get(submit.admission, 0.0) + submit.gpu_hours
            nodes[submit.admission] += case.catalog.manifests[submit.path].spec.nodes
    for id_, taken in hours.items():
        balance, admission = plan.balances[id_], case.catalog.admissions[id_]  # type: ignore[index]
        given = [r for r in case.evidence.records if r.run in back and r.admission == id_]
        assert taken <= balance.free + sum(r.reserved for r in given) + SLACK
        held = balance.nodes - sum(r.nodes for r in given)
        assert nodes[id_] + held <= admission.grant.max_nodes


@EXAMPLES
@given(DOUBTED)
def test_a_start_exists_only_for_a_verdict_that_is_met(case: Scene) -> None:
    for action in case.plan.actions:
        if isinstance(action, Submit):
            verdict = case.verdicts[action.path]
            assert verdict.standing is Outcome.MET
            name = case.catalog.manifests[action.path].name
            assert action.run == run_name(name, action.fingerprint, action.attempt)
            assert case.evidence.runs.get(action.run, Known(None, NOW)) == Known(None, NOW)


@EXAMPLES
@given(DOUBTED)
def test_a_start_follows_from_what_is_recorded_of_its_payload(case: Scene) -> None:
    records = {(r.name, r.fingerprint): r for r in case.evidence.records}
    for submit in (a for a in case.plan.actions if isinstance(a, Submit)):
        record = records.get((case.catalog.manifests[submit.path].name, submit.fingerprint))
        stage = record.stage if record else None
        if record and submit.reserved:
            assert (stage, submit.attempt) == ("reserved", record.attempts)
            assert record.attempt.deadline > NOW
        elif record and submit.attempt > 1:
            assert record.attempt.stop is None
            assert stage == "over" or record.attempt.deadline + MARGIN < NOW
            assert submit.attempt == record.attempts + (stage == "over") <= 1 + record.last.retries
        else:
            assert stage in (None, "released", "reserved")
            assert (stage == "reserved") == (Release(submit.run, "") in _bare(case))


def _bare(case: Scene) -> list[Any]:
    return [replace(a, why="") for a in case.plan.actions if isinstance(a, Release)]


@EXAMPLES
@given(DOUBTED)
def test_every_record_that_is_open_is_ended_once_or_its_manifest_says_what_follows(
    case: Scene,
) -> None:
    ends = Keep | Cancel | Settle | Release
    found = Counter(a.run for a in case.plan.actions if isinstance(a, ends))
    asked: dict[Any, set[Any]] = {}
    for manifest in case.catalog.manifests.values():
        asked.setdefault((manifest.name, manifest.payload.fingerprint), set()).add(manifest.path)
    followed = {a.path for a in case.plan.actions if isinstance(a, Submit | Withhold)}
    for record in case.evidence.records:
        assert found[record.run] <= record.active
        if record.active and not found[record.run]:
            assert record.stage in ("reserved", "over")
            assert asked[record.name, record.fingerprint] & followed
    assert found.keys() <= {record.run for record in case.evidence.records}


@EXAMPLES
@given(DOUBTED)
def test_every_manifest_that_never_ran_gets_exactly_one_start_or_withhold(case: Scene) -> None:
    ran = {(r.name, r.fingerprint) for r in case.evidence.records}
    found = Counter(a.path for a in case.plan.actions if isinstance(a, Submit | Withhold))
    for path, manifest in case.catalog.manifests.items():
        never = (manifest.name, manifest.payload.fingerprint) not in ran
        assert found[path] <= (path not in case.catalog.parts)
        assert found[path] == 1 or not never or path in case.catalog.parts
    assert found.keys() <= case.catalog.manifests.keys()


@EXAMPLES
@given(DOUBTED)
def test_no_run_is_both_started_and_ended(case: Scene) -> None:
    actions = case.plan.actions
    submitted = {a.run for a in actions if isinstance(a, Submit)}
    ended = {a.run for a in actions if isinstance(a, Keep | Cancel | Settle)}
    assert not submitted & ended


@EXAMPLES
@given(DOUBTED)
def test_what_ends_by_itself_or_was_asked_to_or_is_in_doubt_is_never_cancelled(
    case: Scene,
) -> None:
    records = {record.run: record for record in case.evidence.records}
    for action in case.plan.actions:
        if isinstance(action, Cancel):
            answer = case.evidence.runs[action.run]
            assert isinstance(answer, Known)
            assert answer.value is not None
            assert records[action.run].attempt.cancel is None
            assert action.cause == "stopped" or answer.value.state in (
                "Running",
                "Queued",
                "Hibernating",
            )
            assert action.after is None or any(
                isinstance(a, Submit) and a.run == action.after for a in case.plan.actions
            )


@EXAMPLES
@given(DOUBTED)
def test_what_is_settled_is_what_its_attempts_came_to(case: Scene) -> None:
    records = {record.run: record for record in case.evidence.records}
    for action in case.plan.actions:
        if isinstance(action, Settle):
            last = records[action.run].last
            vanished = records[action.run].stage == "submitted"
            assert action.gpu_hours == last.spent + (last.bound if vanished else 0.0)


@EXAMPLES
@given(DOUBTED, st.randoms(use_true_random=False))
def test_planning_twice_gives_the_same_plan_whatever_the_order(case: Scene, random: Any) -> None:
    def shuffled(mapping: Mapping[Any, Any]) -> dict[Any, Any]:
        items = list(mapping.items())
        random.shuffle(items)
        return dict(items)

    catalog, asked = case.catalog, case.asked
    records = list(asked.records)
    random.shuffle(records)
    names = ("approvals", "introductions", "runs", "governing", "sightings")
    mixed = {name: shuffled(getattr(asked, name)) for name in names}
    mapped = {name: shuffled(getattr(catalog, name)) for name in ("admissions", "manifests")}
    again = Scene(
        replace(catalog, **mapped), replace(asked, records=tuple(records), **mixed), case.runs
    )
    assert again.plan == case.plan
    assert again.plan.digest == case.plan.digest

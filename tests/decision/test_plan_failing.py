"""The table of planning: submissions that failed are repeated ever later, and given up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.decision.actions import Withhold
from controller.ledger.records import Failure, RunRecord
from tests.builders import JOB, NOW
from tests.decision.planning import (
    GRANT,
    MINUTE,
    NEW,
    NEW_RUN,
    OLD,
    OLD_RUN,
    RUNNING,
    brief,
    given_back,
    planned,
    set_aside,
)

SECOND = timedelta(seconds=1)
HELD = set_aside(OLD, ago=5 * MINUTE)


def refusals(count: int, *, ago: timedelta = MINUTE / 2, refused: bool = True) -> RunRecord:
    """Return a reservation of which so many submissions failed, the last of them so long ago."""
    one = Failure(NOW - ago, "no quota", refused=refused)
    failing = replace(HELD.attempt, failures=(one,) * count)
    return replace(HELD, generations=(replace(HELD.last, attempts=(failing,)),))


class TestSubmissionsThatFail:
    @pytest.mark.parametrize(
        ("count", "minutes"), [(1, 1), (2, 4), (3, 15), (4, 60), (5, 60), (9, 60)]
    )
    def test_each_makes_the_next_wait_longer(self, count: int, minutes: int) -> None:
        early = refusals(count, ago=minutes * MINUTE - SECOND, refused=False)
        enough = refusals(count, ago=minutes * MINUTE, refused=False)
        assert brief(planned(GRANT, OLD, ran={early: None}).actions) == [
            ("withhold", OLD_RUN, "undecided")
        ]
        assert brief(planned(GRANT, OLD, ran={enough: None}).actions) == [("submit", OLD_RUN)]

    def test_it_says_how_often_and_until_when(self) -> None:
        said = "last with: no quota; tried again from"
        for count, words in ((1, f"once, {said} 20:00 UTC"), (2, f"2 times, {said} 20:03 UTC")):
            (withheld,) = planned(GRANT, OLD, ran={refusals(count): None}).actions
            assert withheld.why == f"its submission failed {words}"

    @pytest.mark.parametrize("released", [False, True])
    def test_after_five_that_were_refused_it_is_given_up(self, released: bool) -> None:
        held = refusals(5, ago=90 * MINUTE)
        ran = {given_back(held) if released else held: None}
        why = (
            "gave up after 5 submissions that the workspace refused, the last with: no quota; "
            "mend that, then change `tags.rerun`"
        )
        plan = planned(GRANT, OLD, ran=ran)
        assert plan.actions == (Withhold(JOB, OLD_RUN, why, ("gave-up",)),)

    def test_outages_are_no_refusals_however_many__submit(self) -> None:
        held = refusals(9, ago=90 * MINUTE, refused=False)
        assert brief(planned(GRANT, OLD, ran={held: None}).actions) == [("submit", OLD_RUN)]

    def test_they_count_on_after_a_release__withhold(self) -> None:
        ran = {given_back(refusals(1)): None}
        assert brief(planned(GRANT, OLD, ran=ran).actions) == [("withhold", OLD_RUN, "undecided")]

    def test_no_older_run_ends_for_one_that_was_given_up(self) -> None:
        held = refusals(5, ago=90 * MINUTE)
        done = given_back(replace(held, fingerprint=NEW.payload.fingerprint))
        plan = planned(GRANT, NEW, ran={**RUNNING, done: None})
        assert brief(plan.actions) == [
            ("keep", OLD_RUN),
            ("withhold", NEW_RUN, "nodes-granted", "gpu-budget"),
        ]

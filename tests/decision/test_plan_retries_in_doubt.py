"""The table of planning: a retry that a doubt holds back is not forgone."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from controller.decision.actions import Keep, Settle, Withhold
from controller.decision.plan import kind_of
from controller.evidence.facts import Known
from tests.builders import (
    ADMISSION,
    JOB,
    NOW,
    problem,
    sound_admission,
    sound_manifest,
    unavailable,
)
from tests.decision.planning import (
    BERT,
    DENIED,
    DOUBTED,
    GRANT,
    NEW,
    OLD,
    OLD_RUN,
    WAITING,
    WIDE,
    brief,
    planned,
    removal,
)

NO_MORE = "Failed: preempted, and no retry is allowed any more"


class TestInDoubt:
    """A broken or unapproved edit, or an outage, holds a retry back; it does not forgo it."""

    SAID = f"preempted; whether `{JOB}` still asks for it is not known: "

    def kept(self, *documents: Any, **more: Any) -> Keep:
        """Return why the run is kept."""
        plan = planned(*documents, ran=WAITING, **more)
        (keep,) = [a for a in plan.actions if a.run == OLD_RUN and not isinstance(a, Withhold)]
        assert isinstance(keep, Keep)
        assert keep.undecided
        assert not plan.changes
        return keep

    def test_the_manifest_is_broken(self) -> None:
        keep = self.kept(GRANT, catalog={"broken": {JOB: (problem(JOB),)}})
        assert (keep.doubt, keep.why) == ("in-doubt", self.SAID + "it is not read as a job now")

    def test_the_manifest_is_a_part_of_another_now(self) -> None:
        keep = self.kept(GRANT, OLD, catalog={"parts": [JOB]})
        assert (keep.doubt, keep.why) == ("in-doubt", self.SAID + "it is not read as a job now")

    @pytest.mark.parametrize("answers", [DENIED, DOUBTED])
    def test_it_asks_for_another_payload_and_that_is_not_approved(self, answers: Any) -> None:
        keep = self.kept(WIDE, NEW, approvals=answers)
        assert keep.why == self.SAID + "that change is not proved approved"

    def test_it_names_another_admission_and_that_is_not_approved(self) -> None:
        moved = sound_manifest(admission="other")
        keep = self.kept(GRANT, sound_admission("other"), moved, approvals=DENIED)
        assert keep.why == self.SAID + "that change is not proved approved"

    def test_it_was_removed_and_that_is_not_known_to_be_approved(self) -> None:
        keep = self.kept(GRANT, approvals={JOB: unavailable()})
        assert keep.why.endswith("whether that was approved is not known: the host answered 503")

    def test_it_was_removed_without_approval(self) -> None:
        keep = self.kept(GRANT, approvals=removal(JOB))
        assert keep.doubt == "unapproved-withdrawal"

    def test_the_admission_is_broken__withhold(self) -> None:
        broken = {"broken": {ADMISSION: (problem(ADMISSION),)}}
        plan = planned(OLD, ran=WAITING, catalog=broken, governing={BERT: Known(GRANT, NOW)})
        assert [kind_of(a) for a in plan.actions] == ["withhold"]

    def test_what_governs_it_is_not_known__the_verdict_decides(self) -> None:
        unknown = {BERT: unavailable()}
        plan = planned(GRANT, OLD, ran=WAITING, governing=unknown, approvals=DOUBTED)
        assert brief(plan.actions) == [("withhold", OLD_RUN, "undecided")]

    def test_once_no_retry_is_allowed_it_is_settled_whatever_the_doubt(self) -> None:
        expired = sound_admission(expires=date(2026, 11, 29))
        broken = {"broken": {JOB: (problem(JOB),)}}
        plan = planned(expired, ran=WAITING, catalog=broken)
        assert plan.actions == (Settle(OLD_RUN, 100.0, NO_MORE),)

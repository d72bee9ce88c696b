"""What a workspace shows of recorded runs: starts and ends that the records do not say yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.decision.balances import balances_of
from controller.decision.noticed import noticed
from controller.ledger.records import Over, RunRecord, released, reserved
from controller.values import AdmissionId
from tests.builders import NOW, sound_catalog
from tests.decision.planning import (
    BERT,
    EVICTED,
    GRANT,
    HOUR,
    OLD,
    PREEMPTED,
    RAN,
    asked,
    seen,
    set_aside,
    started,
    tried,
)

CATALOG = sound_catalog(GRANT, OLD)


def after(record: RunRecord, answer: Any) -> RunRecord:
    """Return the record as it is after the workspace gave an answer."""
    (found,) = noticed(asked(CATALOG, {record: answer})).records
    return found


class TestAnEnd:
    @pytest.mark.parametrize("state", ["Completed", "Failed", "Canceled"])
    def test_it_is_recorded_with_the_workspace_s_own_words_and_times(self, state: str) -> None:
        shown = seen(RAN, state, ended_at=NOW, reason="OOMKilled")
        end = Over(state, 16.0, exact=True, started_at=NOW - HOUR, ended_at=NOW, reason="OOMKilled")
        assert after(RAN, shown).attempt.over == end

    def test_without_times_it_is_charged_its_time_limit(self) -> None:
        end = after(RAN, seen(RAN, "Failed")).attempt.over
        assert end == Over("Failed", 480.0, exact=False, started_at=NOW - HOUR)

    def test_an_attempt_that_is_over_stays_as_it_ended(self) -> None:
        lost = started(OLD, attempts=(PREEMPTED,))
        assert after(lost, seen(lost, "Completed", ended_at=NOW)) == lost

    def test_a_settled_run_is_not_looked_at(self) -> None:
        done = started(OLD, used=1.0)
        assert after(done, seen(done)) == done


class TestNothing:
    @pytest.mark.parametrize("state", ["Running", "Queued", "Finalizing", "Hibernating"])
    def test_while_it_is_active(self, state: str) -> None:
        assert after(RAN, seen(RAN, state)) == RAN

    def test_where_it_is_not_there_or_another_payload_is(self) -> None:
        assert after(RAN, None) == RAN
        assert after(RAN, seen(RAN, "Completed", fingerprint="1" * 64)) == RAN
        assert after(RAN, seen(RAN, "Completed", fingerprint="")) == RAN


class TestOverrun:
    def reserved(self, record: RunRecord, answer: Any) -> tuple[float, float]:
        """Return what is set aside and overrun once the answer is known."""
        evidence = noticed(asked(CATALOG, {record: answer}))
        account = balances_of(CATALOG.admissions, evidence)[BERT]
        return account.reserved, account.overrun

    def test_a_run_within_its_reservation_takes_nothing_more(self) -> None:
        assert self.reserved(RAN, seen(RAN)) == (960.0, 0.0)

    def test_one_that_goes_on_beyond_it_does(self) -> None:
        assert self.reserved(RAN, seen(RAN, started_at=NOW - 61 * HOUR)) == (976.0, 16.0)

    def test_with_what_its_attempts_before_used(self) -> None:
        second = started(OLD, attempts=(PREEMPTED, tried(2, ago=55 * HOUR)))
        assert EVICTED.gpu_hours == 100.0
        assert self.reserved(second, seen(second)) == (980.0, 20.0)

    def test_whoever_reserved_before_it_pays_nothing_of_it(self) -> None:
        held = set_aside(OLD, ago=9 * HOUR)
        back = released(held, NOW - HOUR, "no run was started from it")
        new = replace(RAN.last, admission=AdmissionId("other"))
        moved = reserved(back, back.name, back.fingerprint, new)
        long = seen(moved, started_at=NOW - 61 * HOUR)
        assert self.reserved(moved, long) == (0.0, 0.0)

    def test_one_that_waits_in_a_queue_or_cannot_be_asked_takes_nothing(self) -> None:
        queued = seen(RAN, "Queued", started_at=None)
        assert self.reserved(RAN, queued) == (960.0, 0.0)
        assert self.reserved(RAN, None) == (960.0, 0.0)

    def test_one_that_is_over_is_charged_what_it_took_once(self) -> None:
        over = seen(RAN, "Failed", started_at=NOW - 61 * HOUR, ended_at=NOW)
        assert self.reserved(RAN, over) == (976.0, 0.0)

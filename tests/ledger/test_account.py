"""The account of one admission: granted, set aside, used and free."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controller.ledger.account import Balance, balance, gpu_hours_used
from controller.ledger.records import Over, over, released, reserved, settled, submitted
from controller.values import AdmissionId
from tests.builders import NOW, attempt, record, sound_manifest

BERT = AdmissionId("bert-pretrain")
HOUR = timedelta(hours=1)
RAN = record(nodes=2, gpus_per_node=8, reserved=960)
EARLIER = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)


def test_an_admission_that_nothing_was_charged_to_is_all_free() -> None:
    assert balance(BERT, 1000, ()) == Balance(granted=1000, reserved=0, used=0, nodes=0)
    assert balance(BERT, 1000, ()).free == 1000


def test_active_runs_hold_hours_and_nodes_and_settled_ones_what_they_used() -> None:
    settled = record(sound_manifest(name="b"), used=120.5)
    active = record(sound_manifest(name="c"), nodes=1, reserved=40)
    found = balance(BERT, 2000, [RAN, settled, active])
    assert found == Balance(granted=2000, reserved=1000, used=120.5, nodes=3)
    assert found.free == 879.5


def test_a_run_that_used_nothing_is_settled_all_the_same() -> None:
    found = balance(BERT, 1000, [record(used=0.0)])
    assert found == Balance(granted=1000, reserved=0, used=0, nodes=0)


def test_what_belongs_to_another_admission_is_not_charged() -> None:
    other = record(sound_manifest(admission="other"))
    assert balance(BERT, 1000, [other]).free == 1000


def test_more_may_be_committed_than_was_granted() -> None:
    assert balance(BERT, 500, [RAN]).free == -460


class TestGenerations:
    FRESH = record(attempts=(attempt(submitted_at=None),))

    def test_what_was_released_is_free_again(self) -> None:
        back = released(self.FRESH, NOW, "no run was started from it")
        assert balance(BERT, 1000, [back]) == Balance(granted=1000, reserved=0, used=0, nodes=0)

    def test_a_run_that_shows_up_late_is_set_aside_once(self) -> None:
        late = submitted(released(self.FRESH, NOW, "why"), NOW)
        assert balance(BERT, 1000, [late]) == Balance(granted=1000, reserved=960, used=0, nodes=2)

    def test_each_admission_pays_for_what_it_reserved(self) -> None:
        back = released(self.FRESH, NOW, "why")
        moved = replace(self.FRESH.last, admission=AdmissionId("other"), attempts=(attempt(),))
        later = reserved(back, back.name, back.fingerprint, moved)
        done = settled(over(later, Over("Failed", 12.5, exact=True)), NOW, "why", exact=True)
        assert balance(BERT, 1000, [done]) == Balance(granted=1000, reserved=0, used=0, nodes=0)
        assert balance(AdmissionId("other"), 1000, [done]).used == 12.5

    def test_an_attempt_that_is_over_holds_its_reservation_and_nodes_until_it_is_settled(
        self,
    ) -> None:
        evicted = over(RAN, Over("Failed", 100.0, exact=True, preempted=True))
        found = balance(BERT, 1000, [evicted])
        assert found == Balance(granted=1000, reserved=960, used=0, nodes=2)


def test_hours_are_rounded_to_what_a_sum_of_floats_is_good_for() -> None:
    tenths = [record(sound_manifest(name=str(n)), used=0.1) for n in range(3)]
    found = balance(BERT, 0.3, tenths)
    assert (found.used, found.free) == (0.3, 0.0)
    held = balance(BERT, 0.3, [record(sound_manifest(name=str(n)), reserved=0.1) for n in range(3)])
    assert (held.reserved, held.free) == (0.3, 0.0)


def test_what_is_taken_beyond_a_reservation_counts_as_reserved_and_is_told_apart() -> None:
    found = balance(BERT, 1000, [RAN], overrun=30.25)
    assert found == Balance(granted=1000, reserved=990.25, used=0, nodes=2, overrun=30.25)
    assert found.free == 9.75


@pytest.mark.parametrize(
    ("started", "ended", "hours"),
    [
        (EARLIER, NOW, 32.0),
        (EARLIER, EARLIER + HOUR / 2, 8.0),
        (None, NOW, None),
        (EARLIER, None, None),
        (None, None, None),
        (NOW, EARLIER, 0.0),
    ],
    ids=[
        "two hours on sixteen GPUs",
        "half an hour",
        "it does not say when it started",
        "it does not say when it ended",
        "it says nothing",
        "it ended before it started",
    ],
)
def test_what_an_attempt_that_is_over_came_to(
    started: datetime | None, ended: datetime | None, hours: float | None
) -> None:
    assert gpu_hours_used(2, 8, started, ended) == hours


def test_an_overrun_is_charged_in_full() -> None:
    assert gpu_hours_used(2, 8, NOW - 100 * HOUR, NOW) == 1600

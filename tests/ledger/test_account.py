"""The account of one admission: granted, set aside, used and free."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controller.ledger.account import Balance, balance, gpu_hours_used
from controller.values import AdmissionId
from tests.builders import NOW, record, sound_manifest

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


@pytest.mark.parametrize(
    ("started", "ended", "hours"),
    [
        (EARLIER, NOW, 32.0),
        (EARLIER, EARLIER + HOUR / 2, 8.0),
        (None, NOW, 960),
        (EARLIER, None, 960),
        (None, None, 960),
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
def test_what_a_run_that_is_over_came_to(
    started: datetime | None, ended: datetime | None, hours: float
) -> None:
    assert gpu_hours_used(RAN, started, ended) == hours


def test_an_overrun_is_charged_in_full() -> None:
    assert gpu_hours_used(RAN, NOW - 100 * HOUR, NOW) == 1600

"""Which manifests are asked about: what could start something, or end an older run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.decision.candidates import candidates
from controller.decision.judge import judge_all
from controller.documents.admission import Admission
from controller.documents.manifest import Manifest
from controller.ledger.records import Closed, RunRecord
from controller.values import RepoPath
from tests.builders import (
    JOB,
    NOW,
    sound_admission,
    sound_catalog,
    sound_evidence,
    sound_manifest,
    unavailable,
)
from tests.decision.planning import (
    EVICTED,
    GRANT,
    MINUTE,
    NEW,
    OLD,
    RAN,
    WIDE,
    set_aside,
    small,
    started,
    tried,
)

DONE = started(OLD, used=480.0)
OTHER = started(NEW)


def chosen(
    *documents: Admission | Manifest, ran: tuple[RunRecord, ...] = (), **more: Any
) -> tuple[RepoPath, ...]:
    """Return what is asked about where nothing was asked so far, and `ran` is recorded."""
    catalog = sound_catalog(*documents, **more)
    sound = sound_evidence(catalog, records=ran, runs={}, measured={}, governing={})
    not_yet = dict.fromkeys(sound.approvals, unavailable("it was not asked yet"))
    evidence = replace(sound, approvals=not_yet)
    assert catalog.policy is not None
    return candidates(catalog, judge_all(catalog, catalog.policy, evidence), ran)


def test_what_only_has_to_be_asked() -> None:
    assert chosen(GRANT, OLD) == (JOB,)


def test_nothing_that_something_else_stands_against() -> None:
    assert chosen(GRANT, sound_manifest(timeout=None)) == ()
    assert chosen(sound_admission(gpu_hours=1), OLD) == ()
    assert chosen(OLD) == ()


def test_no_part_of_another_and_nothing_without_a_name_or_a_verdict() -> None:
    assert chosen(GRANT, OLD, parts=[JOB]) == ()
    assert chosen(GRANT, sound_manifest(name="")) == ()
    assert candidates(sound_catalog(GRANT, OLD), {}, ()) == ()


def test_they_are_sorted() -> None:
    assert chosen(WIDE, small(2), small(1)) == (small(1).path, small(2).path)


@pytest.mark.parametrize("record", [RAN, DONE], ids=["submitted", "settled"])
def test_not_what_has_run(record: RunRecord) -> None:
    assert chosen(GRANT, OLD, ran=(record,)) == ()


def test_not_what_is_over_by_itself() -> None:
    over = started(OLD, attempts=(tried(1, ago=MINUTE, over=replace(EVICTED, preempted=False)),))
    assert chosen(GRANT, OLD, ran=(over,)) == ()


def test_what_was_preempted_or_only_reserved_or_released() -> None:
    lost = started(OLD, attempts=(tried(1, ago=MINUTE, over=EVICTED),))
    held = set_aside(OLD, ago=MINUTE)
    closed = Closed("released", NOW, "why")
    back = replace(held, generations=(replace(held.last, closed=closed),))
    for record in (lost, held, back):
        assert chosen(GRANT, OLD, ran=(record,)) == (JOB,)


class TestAnOlderRunOfItsName:
    def test_it_is_active_and_main_went_back_to_what_is_settled(self) -> None:
        assert chosen(GRANT, OLD, ran=(DONE, OTHER)) == (JOB,)

    def test_it_is_active_and_the_newer_was_submitted(self) -> None:
        assert chosen(GRANT, OLD, ran=(RAN, OTHER)) == (JOB,)

    def test_it_is_active_and_holds_the_room(self) -> None:
        assert chosen(GRANT, NEW, ran=(RAN,)) == (JOB,)

    def test_it_is_active_and_room_is_not_all_that_lacks(self) -> None:
        narrow = sound_admission(images=())
        assert chosen(narrow, NEW, ran=(RAN,)) == ()

    def test_it_is_settled__nothing_follows(self) -> None:
        assert chosen(GRANT, OLD, ran=(DONE, started(NEW, used=1.0))) == ()

    def test_it_is_active_and_of_another_name(self) -> None:
        held = started(small(1), reserved=900)
        assert chosen(GRANT, OLD, ran=(held,)) == ()

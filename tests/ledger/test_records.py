"""What is remembered of each run, and how a workspace remembers it by tags."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.ledger.records import RunRecord, record_from, tags_of
from controller.values import AdmissionId, Fingerprint, RepoPath
from tests.builders import JOB, NOW, record

RAN = record(started_at=NOW)


def test_a_run_is_charged_its_worst_case_until_its_use_is_known() -> None:
    assert (RAN.active, RAN.charged) == (True, 960)
    settled = replace(RAN, used=12.5)
    assert (settled.active, settled.charged) == (False, 12.5)
    nothing = replace(RAN, used=0.0)
    assert (nothing.active, nothing.charged) == (False, 0.0)


def test_the_tags_of_a_record() -> None:
    assert tags_of(RAN) == {
        "admit.name": "bert-pretrain",
        "admit.fingerprint": RAN.fingerprint,
        "admit.admission": "bert-pretrain",
        "admit.path": JOB,
        "admit.nodes": "2",
        "admit.gpus_per_node": "8",
        "admit.gpu_hours": "960",
    }


@settings(derandomize=True, database=None, max_examples=200, deadline=None)
@given(
    name=st.text(min_size=1),
    path=st.text(min_size=1),
    nodes=st.integers(1, 10_000),
    reserved=st.floats(0, 1e9),
)
def test_reading_the_tags_gives_the_record_back(
    name: str, path: str, nodes: int, reserved: float
) -> None:
    ran = RunRecord(
        name=name,
        fingerprint=Fingerprint("f" * 64),
        admission=AdmissionId("a"),
        path=RepoPath(path),
        nodes=nodes,
        gpus_per_node=8,
        reserved=reserved,
        started_at=NOW,
    )
    assert record_from({"team": "nlp", **tags_of(ran)}, NOW) == ran


@pytest.mark.parametrize("tag", sorted(tags_of(RAN)))
def test_tags_that_are_not_all_there_are_no_record(tag: str) -> None:
    tags = tags_of(RAN)
    del tags[tag]
    assert record_from(tags, NOW) is None


@pytest.mark.parametrize("tag", ["admit.nodes", "admit.gpus_per_node", "admit.gpu_hours"])
@pytest.mark.parametrize("text", ["many", "-1", "nan"])
def test_tags_that_somebody_garbled_are_no_record(tag: str, text: str) -> None:
    assert record_from({**tags_of(RAN), tag: text}, NOW) is None


def test_no_tags_are_no_record() -> None:
    assert record_from({}, NOW) is None

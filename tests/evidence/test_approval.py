"""Whether bytes were approved: yes, no, or not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.documents.policy import POLICY
from controller.evidence.approval import Proof, last_admission, last_policy, proof, voices
from controller.evidence.facts import Version
from controller.values import BlobId
from tests.builders import ADMISSION, JOB, approval, unavailable
from tests.evidence.test_gather import ADMISSION_TEXT, POLICY_TEXT


@pytest.mark.parametrize(
    ("answer", "minimum", "proved"),
    [
        (approval(JOB, "@ada", "@lin"), 2, Proof.PROVED),
        (approval(JOB, "@ada", "@lin"), 1, Proof.PROVED),
        (approval(JOB, "@ada"), 2, Proof.UNPROVED),
        (approval(JOB), 1, Proof.UNPROVED),
        (unavailable(), 1, Proof.UNKNOWN),
        (None, 1, Proof.UNKNOWN),
        (approval(JOB), 0, Proof.PROVED),
        (unavailable(), 0, Proof.PROVED),
        (None, 0, Proof.PROVED),
    ],
)
def test_so_many_different_owners_have_to_approve(answer: Any, minimum: int, proved: Proof) -> None:
    assert proof(answer, minimum) is proved


def test_one_person_is_one_voice_however_often_and_in_whatever_case() -> None:
    twice = approval(JOB, "@Ada", "ada", "@lin", "@ADA")
    assert voices(twice.value) == 2
    assert proof(twice, 2) is Proof.PROVED
    assert proof(twice, 3) is Proof.UNPROVED


def test_the_bytes_of_the_trusted_root_count_only_where_they_may() -> None:
    root = approval(JOB, trusted=True)
    assert proof(root, 1, may_trust=True) is Proof.PROVED
    assert proof(root, 1) is Proof.UNPROVED
    assert proof(approval(JOB), 1, may_trust=True) is Proof.UNPROVED


def policy_version(minimum: int, *logins: str, trusted: bool = False) -> Version:
    text = POLICY_TEXT.replace("minimum: 2", f"minimum: {minimum}")
    known = approval(POLICY, *logins).value
    return Version(
        text.encode(), replace(known, trusted=trusted, blob=BlobId(f"{minimum}{logins}"))
    )


class TestLastPolicy:
    def test_nobody_lowers_the_number_alone(self) -> None:
        root = policy_version(2, trusted=True)
        lowered = policy_version(1, "@ada")
        found = last_policy([lowered, root])
        assert found is not None
        assert found.minimum_approvals == 2

    def test_nor_in_two_steps(self) -> None:
        root = policy_version(2, trusted=True)
        first, second = policy_version(1, "@ada"), policy_version(1, "@ada")
        found = last_policy([second, first, root])
        assert found is not None
        assert found.minimum_approvals == 2

    def test_as_many_as_the_policy_before_asks_for_can(self) -> None:
        root = policy_version(2, trusted=True)
        found = last_policy([policy_version(1, "@ada", "@lin"), root])
        assert found is not None
        assert found.minimum_approvals == 1

    def test_a_higher_number_holds_for_itself(self) -> None:
        root = policy_version(1, trusted=True)
        found = last_policy([policy_version(3, "@ada", "@lin"), root])
        assert found is not None
        assert found.minimum_approvals == 1

    def test_what_cannot_be_read_is_passed_over(self) -> None:
        root = policy_version(1, trusted=True)
        broken = Version(b"version: 2\n", approval(POLICY, "@ada").value)
        assert last_policy([broken, root]) == last_policy([root])

    def test_there_may_be_none(self) -> None:
        assert last_policy([]) is None


def admission_version(hours: int, *logins: str, text: str = "", trusted: bool = False) -> Version:
    text = text or ADMISSION_TEXT.replace("gpu_hours: 777", f"gpu_hours: {hours}")
    known = approval(ADMISSION, *logins).value
    return Version(text.encode(), replace(known, trusted=trusted))


class TestLastAdmission:
    def granted(self, *versions: Version, minimum: int = 1) -> float | None:
        found = last_admission(versions, minimum)
        return found.grant.gpu_hours if found else None

    def test_it_is_the_newest_that_enough_owners_approved(self) -> None:
        both = admission_version(20, "@ada", "@lin"), admission_version(10, "@ada", "@lin")
        assert self.granted(*both) == 20
        assert self.granted(admission_version(30), *both) == 20
        assert self.granted(admission_version(30, "@ada"), *both, minimum=2) == 20

    def test_one_that_cannot_be_read_is_passed_over(self) -> None:
        broken = admission_version(0, "@ada", text="no front matter")
        assert self.granted(broken, admission_version(10, "@ada")) == 10

    def test_the_trusted_root_admits_nothing(self) -> None:
        assert self.granted(admission_version(10, trusted=True)) is None

    def test_somebody_has_to_approve_whatever_the_policy_says(self) -> None:
        assert self.granted(admission_version(10), minimum=0) is None

    def test_there_may_be_none(self) -> None:
        assert self.granted() is None

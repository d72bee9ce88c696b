"""`admit stop` over a real repository, its ledger branch and its processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from controller.ledger.book import read_book, wanted
from controller.ledger.records import RunRecord
from controller.values import RunName
from controller.wiring import World, world_from
from tests.adapters.local_requests import request
from tests.adapters.scratch import eventually
from tests.cli.conftest import Scratch
from tests.cli.test_crash import killed
from tests.cli.test_flow import in_days, merge

WHY = ("--reason", "the loss is NaN")


def world(scratch: Scratch) -> World:
    return world_from(os.environ, scratch.root)


def record(scratch: Scratch) -> RunRecord:
    (found,) = read_book(world(scratch).ledger.read(wanted)).records.values()
    return found


def state(scratch: Scratch, run: RunName) -> str:
    there = world(scratch).workspace.get(run)
    return there.state if there else ""


@pytest.fixture
def merged(scratch: Scratch, admission: Callable[[str], str]) -> Scratch:
    """A main that asks for one long run, approved."""
    scratch.git("switch", "--quiet", "-c", "proposal")
    scratch.write("admissions/digits.md", admission(in_days(30)))
    scratch.job("digits", "sleep 60")
    scratch.commit("admit digits")
    scratch.approve("admissions/digits.md", "jobs/digits.yml")
    merge(scratch, "proposal")
    return scratch


@pytest.fixture
def run(merged: Scratch) -> RunName:
    """The name of that run, which runs."""
    assert merged.admit("reconcile") == 0, merged.out + merged.err
    merged.until("Running")
    return record(merged).run


def test_a_run_ends_and_no_later_pass_starts_it_again(merged: Scratch, run: RunName) -> None:
    assert merged.admit("stop", run, *WHY) == 0, merged.out + merged.err
    assert "the workspace was asked to end it" in merged.said
    assert merged.out.endswith("settled: 1 run is stopped\n")
    eventually(lambda: state(merged, run) == "Canceled")
    for _ in range(3):
        assert merged.admit("reconcile") == 0, merged.out + merged.err
    assert record(merged).settled
    assert [there.run for there in world(merged).workspace.runs()] == [run]
    assert merged.admit("status") == 0
    assert "Canceled (stopped), no attempt left" in merged.said
    assert "orders stop" in merged.git("log", "--format=%s", "admit-ledger")
    assert merged.admit("ledger", "fsck") == 0, merged.out + merged.err


def test_a_reservation_without_a_run_ends_in_no_run(merged: Scratch) -> None:
    killed(merged, "workspace", "submit", "before", "1")
    assert record(merged).stage == "reserved"
    assert merged.admit("stop", record(merged).run, *WHY) == 0, merged.out + merged.err
    assert "it was not started, and will not be" in merged.said
    for _ in range(2):
        assert merged.admit("reconcile") == 0, merged.out + merged.err
    assert world(merged).workspace.runs() == ()
    assert merged.admit("ledger", "fsck") == 0, merged.out + merged.err


@pytest.mark.parametrize("how", ["invalid", "deleted"])
def test_a_broken_main_does_not_matter(merged: Scratch, run: RunName, how: str) -> None:
    if how == "invalid":
        merged.write("jobs/digits.yml", "name: digits\nname: digits\n")
        merged.write("admissions/digits.md", "---\n{\n")
    merged.git("rm", "--quiet", "admissions/policy.yml", ".github/CODEOWNERS")
    merged.commit("break everything")
    assert merged.admit("stop", run, *WHY) == 0, merged.out + merged.err
    eventually(lambda: state(merged, run) == "Canceled")
    assert record(merged).attempt.stop is not None


def test_without_a_ledger_the_run_ends_and_standard_error_says_so(
    merged: Scratch, run: RunName
) -> None:
    merged.git("update-ref", "-d", "refs/heads/admit-ledger")
    assert merged.admit("stop", run, *WHY, "--format", "json") == 7
    assert merged.err.startswith("admit: it could not be recorded: there is no ledger")
    assert "  do: `admit ledger init` begins one, once; then run the same again" in merged.err
    receipts = json.loads(merged.out)["receipts"]
    assert [(r["action"], r["outcome"]) for r in receipts] == [
        ("stop", "done"),
        ("record", "failed"),
    ]
    eventually(lambda: state(merged, run) == "Canceled")


def test_all_ends_what_is_recorded_and_what_only_has_our_tag(merged: Scratch, run: RunName) -> None:
    mystery = request("mystery", "sleep 60", tags={"admit.name": "x"})
    alice = request("alice", "sleep 60")
    for one in (mystery, alice):
        world(merged).workspace.submit(one)
    assert merged.admit("stop", "--all", *WHY) == 0, merged.out + merged.err
    assert merged.out.endswith("settled: 2 runs are stopped\n")
    eventually(lambda: state(merged, mystery.run) == "Canceled")
    assert state(merged, alice.run) in ("Running", "NotStarted", "Preparing")
    world(merged).workspace.cancel(alice.run, "the test is over")
    eventually(lambda: state(merged, run) == "Canceled")
    assert record(merged).attempt.cancel is not None
    assert merged.admit("stop", "--all", *WHY) == 0, merged.out + merged.err
    assert merged.admit("reconcile") == 0
    assert merged.admit("stop", "--all", *WHY) == 0, merged.out + merged.err
    assert merged.out == "settled: nothing to stop\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["digits-000000000000"], "a stop needs a reason"),
        (["digits-000000000000", "--reason", " \n"], "a stop needs a reason"),
        (["--all"], "a stop needs a reason"),
        (["--reason", "x"], "name one run, or say `--all`"),
        (["digits-000000000000", "--all", "--reason", "x"], "name one run, or say `--all`"),
    ],
)
def test_what_is_incomplete_is_refused_and_nothing_is_stopped(
    merged: Scratch, run: RunName, args: list[str], said: str
) -> None:
    assert merged.admit("stop", *args) == 2
    assert said in merged.err
    assert state(merged, run) == "Running"
    assert merged.admit("stop", run, *WHY) == 0


def test_an_unknown_run_is_refused_with_a_name_like_it(merged: Scratch, run: RunName) -> None:
    assert merged.admit("stop", run[1:], *WHY) == 2
    assert f"did you mean `{run}`?" in merged.err
    assert merged.admit("stop", run, *WHY) == 0


def test_what_is_hostile_reaches_no_terminal(merged: Scratch, run: RunName) -> None:
    merged.git("update-ref", "-d", "refs/heads/admit-ledger")
    assert merged.admit("stop", "x\x1b[31m\n::error::y", "--reason", "\x1b[2J") == 7
    assert "\x1b" not in merged.out + merged.err
    assert "\n::error" not in merged.out + merged.err
    assert merged.admit("stop", run, *WHY) == 7

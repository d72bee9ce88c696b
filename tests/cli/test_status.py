"""`admit status` and `admit drift` over a real repository, its ledger branch and its processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from controller.wiring import world_from
from tests.adapters.local_requests import request
from tests.cli.conftest import Scratch
from tests.cli.test_flow import in_days, merge


@pytest.fixture
def merged(scratch: Scratch, admission: Callable[[str], str]) -> Scratch:
    """A main that asks for one long run, which runs."""
    scratch.git("switch", "--quiet", "-c", "proposal")
    scratch.write("admissions/digits.md", admission(in_days(30)))
    scratch.job("digits", "sleep 60")
    scratch.commit("admit digits")
    scratch.approve("admissions/digits.md", "jobs/digits.yml")
    merge(scratch, "proposal")
    assert scratch.admit("reconcile") == 0, scratch.out + scratch.err
    scratch.until("Running")
    return scratch


def told(scratch: Scratch) -> dict[str, Any]:
    assert scratch.admit("status", "--format", "json") == 0, scratch.err
    report: dict[str, Any] = json.loads(scratch.out)
    return report


def test_what_runs_is_told_below_its_admission_with_what_is_left(merged: Scratch) -> None:
    report = told(merged)
    (run,), (admission,) = report["runs"], report["admissions"]
    assert (run["stage"], run["state"], run["attempt"]) == ("submitted", "Running", 1)
    assert run["workspace"] == world_from(os.environ, merged.root).workspace.id
    assert run["record"].startswith("sha256:")
    assert (admission["admission"], admission["owner"]) == ("digits", "@ada")
    assert (admission["expires"], admission["expired"]) == (in_days(30), False)
    assert admission["reserved"] == pytest.approx(1 / 3, abs=1e-6)
    assert merged.admit("status") == 0
    lines = merged.out.splitlines()
    assert lines[3].endswith(f"{in_days(30)}, 30 days left")
    assert lines[4].startswith(f"    {run['run']}  submitted, Running  1 of 1   2 × 1     ≤ 0.33  ")


def test_a_broken_main_and_a_workspace_that_is_gone_change_no_exit(
    merged: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged.write("jobs/digits.yml", "name: digits\nname: digits\n")
    merged.write("admissions/digits.md", "---\n{\n")
    merged.git("rm", "--quiet", "admissions/policy.yml")
    merged.commit("break everything")
    report = told(merged)
    assert (report["exit"], report["problems"]) == (0, [])
    assert report["runs"][0]["state"] == "Running"
    assert report["admissions"][0]["granted"] == 1.0
    assert "2 files on main cannot be read" in report["notes"][1]
    with monkeypatch.context() as away:
        away.delenv("ADMIT_WORKSPACE")
        report = told(merged)
    (run,) = report["runs"]
    assert (report["exit"], run["state"], run["unseen"]) == (0, None, "not known")
    assert report["notes"][-1] == (
        "the workspace could not be asked, so no state is known: `ADMIT_WORKSPACE` is not set"
    )
    for form in ("text", "markdown"):
        assert merged.admit("status", "--format", form) == 0
        assert merged.admit("stop", "--all", "--reason", "the test is over") == 0


def test_a_merged_job_that_is_withheld_is_told_with_its_rules(merged: Scratch) -> None:
    merged.job("more", "sleep 61", **{"timeout: 600": "timeout: 3600"})
    merged.commit("more")
    assert merged.admit("reconcile") == 4
    (withheld,) = told(merged)["withheld"]
    assert withheld["path"] == "jobs/more.yml"
    assert "gpu-budget" in withheld["rules"]
    assert len(withheld["rules"]) == len(withheld["why"])
    merged.git("rm", "--quiet", "jobs/more.yml")
    merged.commit("less")
    assert told(merged)["withheld"] == []
    assert merged.admit("stop", "--all", "--reason", "the test is over") == 0


def test_runs_that_nobody_admitted_are_drift(merged: Scratch) -> None:
    workspace = world_from(os.environ, merged.root).workspace
    assert merged.admit("drift") == 0, merged.out
    ours = request("mystery", "sleep 60", tags={"admit.name": "x"})
    theirs = request("alice", "sleep 60")
    for one in (ours, theirs):
        workspace.submit(one)
    assert merged.admit("drift", "--format", "json") == 6
    drift = {line["subject"]: line["what"] for line in json.loads(merged.out)["drift"]}
    assert drift == {"mystery": "orphan", "alice": "not ours"}
    assert merged.admit("status") == 0
    assert "mystery" not in merged.out
    for one in (ours, theirs):
        workspace.cancel(one.run, "the test is over")
    assert merged.admit("stop", "--all", "--reason", "the test is over") == 0


def test_without_a_ledger_there_is_nothing_to_tell(scratch: Scratch) -> None:
    scratch.git("update-ref", "-d", "refs/heads/admit-ledger")
    assert scratch.admit("status") == 8
    assert "there is no ledger" in scratch.err


def test_an_empty_ledger_has_no_admission_and_no_run(scratch: Scratch) -> None:
    assert scratch.admit("status") == 0
    assert scratch.out.splitlines()[-1] == "settled: no admission and no run yet"

"""`admit verify` over a real repository, its ledger branch, its notes and its processes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable

import pytest

from controller.ledger.book import RECORDS
from controller.report.outcome import Report
from controller.values import RunName
from controller.verifying.gathering import verify
from controller.wiring import World, world_from
from tests.adapters.scratch import eventually
from tests.cli.conftest import Scratch
from tests.cli.test_flow import in_days, merge

OUTSIDE = {"run → workspace", "workspace → admission record", "usage → workspace"}
UNSAID = {"model version → run", "payload → dataset", "ledger → its history"}
"""What a job without a model and without a dataset leaves open."""


def world(scratch: Scratch) -> World:
    return world_from(os.environ, scratch.root)


def edges(report: Report, outcome: str) -> set[str]:
    return {edge.name for edge in report.edges if edge.outcome == outcome}


def walk(scratch: Scratch, run: str, *, online: bool = False) -> Report:
    return verify(world(scratch), run, online=online)


@pytest.fixture
def run(scratch: Scratch, admission: Callable[[str], str]) -> RunName:
    """A run that was approved on a branch, merged, started, and settled by the real commands."""
    scratch.git("switch", "--quiet", "-c", "proposal")
    scratch.write("admissions/digits.md", admission(in_days(30)))
    scratch.job("digits")
    scratch.commit("admit digits")
    scratch.approve("admissions/digits.md", "jobs/digits.yml")
    merge(scratch, "proposal")
    assert scratch.admit("reconcile") == 0, scratch.out + scratch.err
    workspace = world(scratch).workspace
    (started,) = workspace.runs()
    eventually(lambda: all(run.state == "Completed" for run in workspace.runs()))
    assert scratch.admit("reconcile") == 0, scratch.out + scratch.err
    return started.run


def forge(scratch: Scratch, path: str, content: str | None) -> None:
    """Push another commit onto the ledger, as whoever can write to the branch."""
    scratch.git("switch", "--quiet", "admit-ledger")
    if content is None:
        scratch.git("rm", "--quiet", path)
    else:
        scratch.write(path, content)
    scratch.commit("forged")
    scratch.git("switch", "--quiet", "main")


def test_a_settled_run_holds_offline_and_online(scratch: Scratch, run: RunName) -> None:
    scratch.write("README.md", "main went on\n")
    scratch.commit("more")
    assert scratch.admit("verify", run) == 0, scratch.out + scratch.err
    assert scratch.admit("verify", run, "--online") == 0, scratch.out + scratch.err
    offline, online = walk(scratch, run), walk(scratch, run, online=True)
    assert edges(offline, "not checked") == UNSAID | OUTSIDE
    assert edges(online, "not checked") == UNSAID
    assert edges(offline, "broken") == edges(online, "broken") == set()


def test_it_changes_nothing(scratch: Scratch, run: RunName) -> None:
    before = scratch.git("for-each-ref"), scratch.git("status", "--porcelain")
    scratch.admit("verify", run)
    assert (scratch.git("for-each-ref"), scratch.git("status", "--porcelain")) == before


def admitted(scratch: Scratch, run: RunName) -> str:
    """Return where the admission record of the run is."""
    return scratch.git("ls-tree", "-r", "--name-only", "admit-ledger", f"{RECORDS}{run}/").strip()


def test_an_admission_record_that_somebody_wrote_over_is_broken(
    scratch: Scratch, run: RunName
) -> None:
    path = admitted(scratch, run)
    content = scratch.git("show", f"admit-ledger:{path}")
    forge(scratch, path, content.replace('"command":"true"', '"command":"mine"'))
    assert scratch.admit("verify", run) == 4
    assert edges(walk(scratch, run), "broken") == {
        "attempt → admission record",
        "admission record → payload",
    }


def test_a_record_that_is_a_link_is_broken(scratch: Scratch, run: RunName) -> None:
    scratch.git("switch", "--quiet", "admit-ledger")
    file = scratch.root / admitted(scratch, run)
    file.unlink()
    file.symlink_to("/etc/hostname")
    scratch.commit("a link")
    scratch.git("switch", "--quiet", "main")
    assert scratch.admit("verify", run) == 4
    assert edges(walk(scratch, run), "broken") == {"attempt → admission record"}


def test_notes_that_are_gone_break_the_edges_to_the_code_host(
    scratch: Scratch, run: RunName
) -> None:
    (notes,) = scratch.git("for-each-ref", "--format=%(refname)", "refs/notes").split()
    scratch.git("update-ref", "-d", notes)
    assert scratch.admit("verify", run) == 4
    assert edges(walk(scratch, run), "broken") == {
        "manifest → code host",
        "admission → code host",
    }


def test_a_main_that_was_rewritten_breaks_the_edge_to_main(scratch: Scratch, run: RunName) -> None:
    scratch.git("reset", "--quiet", "--hard", "main^1")
    scratch.write("README.md", "another history\n")
    scratch.commit("instead")
    assert scratch.admit("verify", run) == 4
    assert edges(walk(scratch, run), "broken") == {"commit → main"}


def test_a_shallow_clone_says_what_it_cannot_check(
    scratch: Scratch, run: RunName, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = scratch.root.parent / "clone"
    scratch.git("clone", "--quiet", "--depth=1", f"file://{scratch.root}", str(clone))
    scratch.git("-C", str(clone), "fetch", "--quiet", "origin", "admit-ledger:admit-ledger")
    monkeypatch.setenv("ADMIT_LEDGER", "admit-ledger")
    report = verify(world_from(os.environ, clone), run)
    assert edges(report, "broken") == set()
    history = {"commit → main", "manifest → code host", "findings → rules"}
    assert history <= edges(report, "not checked")
    said = {edge.name: edge.what for edge in report.edges}
    assert "is a shallow clone" in said["commit → main"]


def test_a_workspace_that_lost_the_run_is_broken_online_only(
    scratch: Scratch, run: RunName
) -> None:
    file = world(scratch).state_dir / "workspace.db"
    with sqlite3.connect(file) as rows:
        rows.execute("delete from runs")
    assert scratch.admit("verify", run) == 0
    assert scratch.admit("verify", run, "--online") == 4
    assert edges(walk(scratch, run, online=True), "broken") == {"run → workspace"}


def test_a_run_that_nobody_knows_is_refused_with_a_name_like_it(
    scratch: Scratch, run: RunName
) -> None:
    assert scratch.admit("verify", run[1:]) == 2
    assert f"did you mean `{run}`?" in scratch.err
    assert scratch.admit("verify", "models:/digits/1") == 2
    assert "`--online` asks MLflow too" in scratch.err


def test_without_a_ledger_it_could_not_run(scratch: Scratch, run: RunName) -> None:
    scratch.git("update-ref", "-d", "refs/heads/admit-ledger")
    assert scratch.admit("verify", run) == 8
    assert "there is no ledger" in scratch.err

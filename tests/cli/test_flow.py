"""The life of a job through the real commands: git, approvals, processes; nothing is replaced."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.conftest import ADMISSION, POLICY, Scratch


def in_days(days: int) -> str:
    return (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days)).isoformat()


@pytest.fixture
def proposed(scratch: Scratch, admission: Callable[[str], str]) -> Scratch:
    """A branch that brings an admission and a job, not approved."""
    scratch.git("switch", "--quiet", "-c", "proposal")
    scratch.write("admissions/digits.md", admission(in_days(30)))
    scratch.job("digits", "sleep 60")
    scratch.commit("admit digits")
    return scratch


@pytest.fixture
def merged(proposed: Scratch) -> Scratch:
    """The same, approved and merged into main."""
    proposed.approve("admissions/digits.md", "jobs/digits.yml")
    merge(proposed, "proposal")
    return proposed


def merge(scratch: Scratch, branch: str) -> None:
    scratch.git("switch", "--quiet", "main")
    scratch.git("merge", "--quiet", "--no-ff", "-m", f"merge {branch}", branch)


def test_a_proposal_that_meets_every_rule_is_settled_but_for_what_is_asked_on_merge(
    proposed: Scratch,
) -> None:
    assert proposed.admit("check") == 0, proposed.out
    assert "asked on merge" in proposed.out


def test_without_approval_it_is_denied_when_approval_counts(proposed: Scratch) -> None:
    assert proposed.admit("check", "--require-approval") == 4
    assert "owner-approval" in proposed.out
    assert "@lin" in proposed.out


def test_an_unapproved_merge_starts_nothing(proposed: Scratch) -> None:
    merge(proposed, "proposal")
    assert proposed.admit("reconcile") == 4
    assert proposed.admit("status", "--format", "json") == 0
    assert json.loads(proposed.out)["runs"] == []


def test_an_edit_after_the_approval_starts_nothing(proposed: Scratch) -> None:
    proposed.approve("admissions/digits.md", "jobs/digits.yml")
    proposed.job("digits", "sleep 61")
    proposed.commit("edit")
    merge(proposed, "proposal")
    assert proposed.admit("reconcile") == 4
    assert "owner-approval" in proposed.out


def test_an_approval_by_somebody_who_owns_nothing_does_not_count(proposed: Scratch) -> None:
    proposed.approve("admissions/digits.md", "jobs/digits.yml", login="@mallory")
    merge(proposed, "proposal")
    assert proposed.admit("reconcile") == 4
    assert "@mallory" in proposed.out


def test_one_who_makes_himself_an_owner_in_the_same_change_is_none(
    proposed: Scratch,
) -> None:
    proposed.write(".github/CODEOWNERS", "* @mallory\n")
    proposed.commit("own everything")
    proposed.approve("admissions/digits.md", "jobs/digits.yml", login="@mallory")
    proposed.approve(".github/CODEOWNERS", login="@mallory")
    merge(proposed, "proposal")
    assert proposed.admit("reconcile") == 4


def test_the_number_of_approvals_cannot_be_lowered_by_fewer_than_it(proposed: Scratch) -> None:
    policy = (proposed.root / "admissions/policy.yml").read_text("utf-8")
    proposed.git("switch", "--quiet", "main")
    proposed.write("admissions/policy.yml", policy.replace("minimum: 1", "minimum: 2"))
    proposed.commit("two owners")
    proposed.approve("admissions/policy.yml", login="@ada")
    proposed.approve("admissions/policy.yml", login="@lin")
    proposed.write("admissions/policy.yml", policy)
    proposed.commit("one owner again")
    proposed.approve("admissions/policy.yml", login="@lin")
    proposed.write("admissions/digits.md", ADMISSION.format(expires=in_days(30)))
    proposed.job("digits", "sleep 60")
    proposed.commit("admit digits")
    proposed.approve("admissions/digits.md", "jobs/digits.yml")
    assert proposed.admit("reconcile") == 4
    assert "the last approved policy, which asked for 2" in proposed.said
    proposed.approve("admissions/policy.yml", login="@ada")
    assert proposed.admit("plan") == 6, proposed.out


def test_owners_whom_nobody_approved_name_nobody_even_when_they_are_taken_back(
    scratch: Scratch,
) -> None:
    scratch.write(".github/CODEOWNERS", "* @mallory\n")
    scratch.commit("own everything")
    scratch.write("admissions/digits.md", ADMISSION.format(expires=in_days(30)))
    scratch.job("digits", "sleep 60")
    scratch.commit("admit digits")
    scratch.approve("admissions/digits.md", "jobs/digits.yml", login="@mallory")
    scratch.write(".github/CODEOWNERS", "* @ada @lin\n")
    scratch.commit("give it back")
    scratch.approve(".github/CODEOWNERS", login="@mallory")
    assert scratch.admit("reconcile") == 4
    scratch.approve(".github/CODEOWNERS", login="@lin")
    assert scratch.admit("reconcile") == 4
    assert "@mallory is not an owner" in scratch.said


def test_such_owners_stop_no_run_either(merged: Scratch) -> None:
    assert merged.admit("reconcile") == 0
    merged.until("Running")
    merged.write(".github/CODEOWNERS", "* @mallory\n")
    merged.git("rm", "--quiet", "jobs/digits.yml")
    merged.commit("own and withdraw")
    merged.approve("jobs/digits.yml", login="@mallory")
    assert merged.admit("reconcile") == 5
    merged.until("Running")
    merged.write(".github/CODEOWNERS", "* @ada @lin\n")
    merged.commit("give it back")
    merged.approve(".github/CODEOWNERS", "jobs/digits.yml")
    assert merged.admit("reconcile") == 0
    merged.until("Canceled")


def test_a_second_root_cannot_take_the_place_of_the_trusted_one(merged: Scratch) -> None:
    merged.git("switch", "--quiet", "--orphan", "evil")
    merged.write(".github/CODEOWNERS", "* @mallory\n")
    merged.commit("another root")
    merged.git("merge", "--quiet", "-s", "ours", "--allow-unrelated-histories", "-m", "m", "main")
    merged.write("admissions/policy.yml", POLICY)
    merged.commit("the policy again")
    merged.write("admissions/digits.md", ADMISSION.format(expires=in_days(30)))
    merged.job("digits", "sleep 60")
    merged.commit("admit digits")
    merged.approve("admissions/digits.md", "jobs/digits.yml", login="@mallory")
    merged.git("switch", "--quiet", "main")
    merged.git("merge", "--quiet", "--ff-only", "evil")
    assert merged.admit("reconcile") == 8
    assert "does not come after" in merged.err


@pytest.mark.parametrize("name", ["main", "origin/main"])
def test_a_tag_does_not_take_the_place_of_main(proposed: Scratch, name: str) -> None:
    proposed.approve("admissions/digits.md", "jobs/digits.yml")
    proposed.git("tag", name, "proposal")
    proposed.git("switch", "--quiet", "--detach")
    assert proposed.admit("reconcile") == 0
    assert proposed.admit("status", "--format", "json") == 0
    assert json.loads(proposed.out)["runs"] == []


def test_an_approved_merge_starts_the_run_once(merged: Scratch) -> None:
    assert merged.admit("plan") == 6
    assert "submit" in merged.out
    assert merged.admit("reconcile") == 0, merged.out
    merged.until("Running")
    assert merged.admit("reconcile") == 0
    assert merged.admit("drift") == 0
    assert merged.admit("status", "--format", "json") == 0
    assert len(json.loads(merged.out)["runs"]) == 1
    stop(merged)


def test_a_saved_plan_is_done_while_it_holds_and_refused_when_it_does_not(merged: Scratch) -> None:
    plan = merged.root / "plan.json"
    assert merged.admit("plan", "--out", str(plan)) == 6
    assert merged.admit("apply", str(plan)) == 0, merged.out + merged.err
    merged.until("Running")
    assert merged.admit("apply", str(plan)) == 8
    assert "stale" in merged.err
    stop(merged)


def test_a_second_job_without_room_in_the_budget_is_withheld(merged: Scratch) -> None:
    merged.git("switch", "--quiet", "-c", "more")
    merged.job("greedy", "true", **{"timeout: 600": "timeout: 3600"})
    merged.commit("greedy")
    merged.approve("jobs/greedy.yml")
    merge(merged, "more")
    assert merged.admit("plan") == 4
    assert "gpu-budget" in merged.out


def test_an_approved_withdrawal_cancels_and_an_unapproved_one_does_not(merged: Scratch) -> None:
    assert merged.admit("reconcile") == 0
    merged.until("Running")
    merged.git("switch", "--quiet", "-c", "revoke")
    merged.git("rm", "--quiet", "admissions/digits.md")
    merged.commit("revoke")
    merge(merged, "revoke")
    assert merged.admit("reconcile") == 5
    assert "is not on main any more, but too few of those entitled approved that" in merged.said
    merged.approve("admissions/digits.md")
    assert merged.admit("reconcile") == 0, merged.out
    merged.until("Canceled")
    assert merged.admit("reconcile") == 0


def test_a_broken_edit_on_main_neither_stops_a_run_nor_starts_one(merged: Scratch) -> None:
    assert merged.admit("reconcile") == 0
    merged.until("Running")
    merged.write("jobs/digits.yml", "type: command\nname: digits\nname: digits\n")
    merged.commit("break it")
    assert merged.admit("reconcile") == 3
    assert "duplicate-key" in merged.out
    merged.until("Running")
    stop(merged)


def test_another_payload_takes_the_place_of_the_older_run(merged: Scratch) -> None:
    assert merged.admit("reconcile") == 0
    merged.until("Running")
    merged.git("switch", "--quiet", "-c", "next")
    merged.job("digits", "sleep 62")
    merged.commit("next")
    merged.approve("jobs/digits.yml")
    merge(merged, "next")
    # Both do not fit `max_nodes: 2`: the older run goes first, and the newer one follows when
    # that is settled.
    assert merged.admit("reconcile") == 4
    assert "superseded" in merged.out
    merged.until("Canceled")
    assert merged.admit("reconcile") == 4
    assert "settle" in merged.out
    assert merged.admit("reconcile") == 0, merged.out
    merged.until("Running")
    stop(merged)


def stop(scratch: Scratch) -> None:
    """End what still runs, by the approved way: withdraw the manifests."""
    scratch.git("switch", "--quiet", "main")
    names = [p.name for p in (scratch.root / "jobs").glob("*.yml")]
    scratch.git("rm", "--quiet", *[f"jobs/{name}" for name in names])
    scratch.commit("withdraw")
    scratch.approve(*[f"jobs/{name}" for name in names])
    scratch.admit("reconcile")
    scratch.until("Canceled")


def test_two_passes_at_once_start_one_run_and_both_are_settled(merged: Scratch) -> None:
    program = "import sys; from controller.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "--repo", str(merged.root), "reconcile"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert merged.admit("status", "--format", "json") == 0
    assert len(json.loads(merged.out)["runs"]) == 1
    stop(merged)


def test_a_folder_that_git_does_not_check_out_is_a_bad_name_and_freezes_nothing(
    merged: Scratch,
) -> None:
    content = (merged.root / "jobs/digits.yml").read_text().replace("name: digits", "name: odd")
    (merged.root / "odd.yml").write_text(content)
    blob = merged.git("hash-object", "-w", "odd.yml").strip()
    (merged.root / "odd.yml").unlink()
    inside = made(merged, f"100644 blob {blob}\tx.yml\n")
    jobs = made(merged, merged.git("ls-tree", "main:jobs") + f"040000 tree {inside}\t.GIT\n")
    top = merged.git("ls-tree", "main").splitlines()
    kept = "".join(f"{line}\n" for line in top if not line.endswith("\tjobs"))
    tree = made(merged, f"{kept}040000 tree {jobs}\tjobs\n")
    commit = merged.git("commit-tree", tree, "-p", "main", "-m", "odd").strip()
    merged.git("update-ref", "refs/heads/main", commit)
    assert merged.admit("reconcile") == 3, merged.err
    assert "bad-name" in merged.out
    merged.until("Running")


def made(scratch: Scratch, listing: str) -> str:
    """Return the tree of that listing, whatever names it has."""
    done = subprocess.run(
        ["git", "mktree"], cwd=scratch.root, input=listing, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_reason_that_is_no_text_is_written_all_the_same(merged: Scratch) -> None:
    assert merged.admit("reconcile", "--max-cancels", "1", "--reason", "\udcff moved") == 0
    assert "\\udcff moved" in merged.git("log", "--format=%B", "admit-ledger")
    stop(merged)

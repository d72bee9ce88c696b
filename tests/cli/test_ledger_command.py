"""`admit ledger`: begun once, shown, checked; and whatever is done to its branch is found."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controller.adapters.git_process import Runner
from controller.adapters.ledger_git import GitLedger
from controller.cli.ledger import SECONDS, counting
from controller.errors import CannotRunError
from controller.ledger.store import Change, LostRaceError
from controller.ledgering.beginning import begin, trust_again
from controller.ledgering.checked import fsck, memory_of
from controller.values import CommitId
from controller.wiring import World, world_from
from tests.builders import NOW
from tests.cli.conftest import Scratch
from tests.cli.test_flow import in_days, merge
from tests.fake_ledger import MemoryLedger
from tests.ledger.audit_story import MINUTE, Store, Story, grounds, key, record_at, told

ONE = key("one").removeprefix("runs/").removesuffix(".json")


@pytest.fixture
def bare(scratch: Scratch) -> Scratch:
    """The scratch repository without a ledger."""
    scratch.git("update-ref", "-d", "refs/heads/admit-ledger")
    return scratch


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a ledger of everything that can be told."""
    root = tmp_path_factory.mktemp("template")
    subprocess.run(["git", "init", "--quiet", "."], cwd=root, check=True)
    told(GitLedger(Runner(root), "admit-ledger"))
    return root


@pytest.fixture
def full(bare: Scratch, template: Path) -> Scratch:
    """The scratch repository with that ledger."""
    bare.git("fetch", "--quiet", str(template), "admit-ledger:admit-ledger")
    return bare


def world(scratch: Scratch) -> World:
    return world_from(os.environ, scratch.root)


def head(scratch: Scratch) -> str:
    return scratch.git("rev-parse", "admit-ledger").strip()


def forge(scratch: Scratch, change: Callable[[Path], object], *how: str) -> str:
    """Commit to the branch what anybody who can write to it may; return the commit."""
    tree = scratch.root.parent / "forged"
    scratch.git("worktree", "add", "--quiet", str(tree), "admit-ledger")
    try:
        change(tree)
        scratch.git("-C", str(tree), "add", "--all")
        scratch.git("-C", str(tree), "commit", "--quiet", "--allow-empty", "-m", "forged", *how)
    finally:
        scratch.git("worktree", "remove", "--force", str(tree))
    return head(scratch)


def less_used(tree: Path) -> None:
    file = tree / "admissions" / "other.json"
    text = file.read_text("utf-8")
    assert '"used":40.5' in text
    file.write_text(text.replace('"used":40.5', '"used":4.5'), "utf-8")


def test_it_is_made_and_says_what_it_trusts(bare: Scratch) -> None:
    assert bare.admit("ledger", "fsck") == 8
    assert "`admit ledger init`" in bare.err
    assert bare.admit("ledger", "init") == 0, bare.err
    main = bare.git("rev-parse", "main").strip()
    blobs = [bare.git("rev-parse", f"main:{p}").strip() for p in (OWNERS, POLICY)]
    assert bare.out.splitlines() == [
        f"the ledger is `admit-ledger`, at {head(bare)[:12]}",
        f"it trusts main at {main}, where these count as approved:",
        f"  {OWNERS} {blobs[0]}",
        f"  {POLICY} {blobs[1]}",
    ]
    said = json.loads(bare.git("show", "admit-ledger:ledger.json"))
    assert said["root"] == main
    beat = json.loads(bare.git("show", "admit-ledger:heartbeat.json"))
    assert (beat["main"], beat["workspace"]) == (main, world(bare).workspace.id)
    assert bare.admit("ledger", "fsck") == 0, bare.out
    assert bare.admit("ledger", "show") == 0, bare.err
    assert bare.said.endswith(f"begin the ledger, trusting {main[:12]}")


OWNERS, POLICY = ".github/CODEOWNERS", "admissions/policy.yml"


def test_it_is_made_once(bare: Scratch) -> None:
    assert bare.admit("ledger", "init") == 0
    before = head(bare)
    assert bare.admit("ledger", "init") == 8
    assert "there is a ledger already: `admit-ledger`" in bare.err
    assert "--again --reason TEXT" in bare.err
    assert head(bare) == before


@pytest.mark.parametrize("missing", [OWNERS, POLICY])
def test_nothing_is_trusted_where_nobody_could_approve(bare: Scratch, missing: str) -> None:
    bare.git("rm", "--quiet", missing)
    bare.commit("without")
    assert bare.admit("ledger", "init") == 8
    assert f"`{missing}` is not there at" in bare.err
    assert "do: commit policy and CODEOWNERS to main first" in bare.err
    assert bare.git("for-each-ref", "refs/heads/admit-ledger") == ""
    assert bare.admit("ledger", "init", "--root", "main~1") == 0


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        (POLICY, "version: 1\nversion: 1\n", f"{POLICY}:1 at"),
        (OWNERS, "* nobody\n", f"{OWNERS}:1 at"),
    ],
)
def test_what_cannot_be_read_is_not_trusted(bare: Scratch, path: str, text: str, why: str) -> None:
    bare.write(path, text)
    bare.commit("broken")
    assert bare.admit("ledger", "init") == 8
    assert why in bare.err
    assert "commit that to main, and begin again" in bare.err


def test_only_what_main_was_is_trusted(bare: Scratch) -> None:
    bare.git("switch", "--quiet", "-c", "proposal")
    bare.write("x", "x")
    bare.commit("proposed")
    merge(bare, "proposal")
    assert bare.admit("ledger", "init", "--root", "proposal") == 8
    assert "is not on the first-parent line of main" in bare.err
    assert bare.admit("ledger", "init", "--root", "nowhere") == 2
    assert bare.admit("ledger", "init", "--root", "main~1") == 0


def test_another_root_needs_a_reason_and_a_ledger(bare: Scratch) -> None:
    for arguments in (["--again"], ["--reason", "why"], ["--again", "--reason", " "]):
        assert bare.admit("ledger", "init", *arguments) == 2
        assert "`--again` and `--reason` go together" in bare.err
    assert bare.admit("ledger", "init", "--again", "--reason", "why") == 8
    assert "there is no ledger" in bare.err


def test_another_root_is_trusted_and_the_order_is_in_the_same_commit(bare: Scratch) -> None:
    assert bare.admit("ledger", "init") == 0
    beat = json.loads(bare.git("show", "admit-ledger:heartbeat.json"))
    bare.git("commit", "--quiet", "--amend", "--message", "another history")
    assert bare.admit("plan") == 8
    assert "does not come after" in bare.err
    assert bare.admit("ledger", "init", "--again", "--reason", "a secret was removed") == 0
    main = bare.git("rev-parse", "main").strip()
    files = bare.git("show", "--format=%B", "--name-only", "admit-ledger").split()
    assert {"ledger.json", "heartbeat.json"} < set(files)
    (order,) = [name for name in files if name.startswith("orders/")]
    said = json.loads(bare.git("show", f"admit-ledger:{order}"))
    assert (said["what"], said["reason"]) == ("trust", "a secret was removed")
    assert json.loads(bare.git("show", "admit-ledger:ledger.json"))["root"] == main
    after = json.loads(bare.git("show", "admit-ledger:heartbeat.json"))
    assert after == {**beat, "main": main}
    assert bare.admit("ledger", "fsck") == 0, bare.out
    assert bare.admit("plan") == 0, bare.err


def fake(scratch: Scratch, ledger: Store) -> Any:
    real = world(scratch)
    workspace = SimpleNamespace(id="local:here")
    return SimpleNamespace(
        git=real.git, ledger=ledger, workspace=workspace, who="ada", now=lambda: NOW
    )


def test_of_two_who_begin_at_once_one_has_begun(scratch: Scratch) -> None:
    ledger = MemoryLedger()
    here = fake(scratch, ledger)
    ledger.before_swap = lambda: begin(here)
    with pytest.raises(LostRaceError):
        begin(here)
    assert len(list(ledger.steps())) == 1
    ledger.before_swap = lambda: trust_again(here, "first")
    with pytest.raises(LostRaceError):
        trust_again(here, "second")
    assert len(list(ledger.steps())) == 2
    assert fsck(here).sound


def test_show_says_in_short_what_there_is(full: Scratch) -> None:
    assert full.admit("ledger", "show") == 0, full.err
    lines = [" ".join(line.split()) for line in full.out.splitlines()]
    assert f"ledger `admit-ledger`, at {head(full)[:12]}" in lines
    assert f"trusts main at {'cd' * 6}, since 2026-11-30 20:50 UTC, by ada" in lines
    assert "heartbeat 2026-11-30 19:55 UTC, by admit 1 over main at abababababab," in " ".join(
        lines
    )
    assert "digits 1 0 12 -11" in lines
    assert "other 64 2 40.5 21.5" in lines
    run = key("three").removeprefix("runs/").removesuffix(".json")
    assert f"{run} submitted other 2 2026-11-30 20:46 UTC" in lines
    assert "max-cancels ada 2026-11-30 20:49 UTC I know better" in lines
    assert lines[-1].endswith("run four")
    assert sum(line.endswith(("one", "two", "three", "four")) for line in lines[-10:]) > 1


@pytest.mark.parametrize("subject", [ONE, f"{ONE}-a2"])
def test_show_tells_a_run(full: Scratch, subject: str) -> None:
    assert full.admit("ledger", "show", subject) == 0, full.err
    assert full.out.splitlines()[0] == f"runs/{ONE}.json"
    for words in (
        f"{ONE}-a2: settled, 12 GPU hours charged",
        "reservation 1: 32 GPU hours of digits, for jobs/one.yml",
        "2 nodes of 8 GPUs for 1 h, 1 retries, in local:here",
        "2026-11-30 20:05 UTC a submission was refused: quota",
        "2026-11-30 20:06 UTC submitted",
        "over: Failed, preempted, 4 GPU hours",
        "2026-11-30 20:36 UTC asked to end, expired: it expired",
        "over: Completed, 8 GPU hours",
        "2026-11-30 20:38 UTC settled, 12 GPU hours: no attempt left",
    ):
        assert words in full.said


def test_show_tells_an_admission_a_path_and_a_file(full: Scratch) -> None:
    for subject in ("digits", "admissions/digits.md"):
        assert full.admit("ledger", "show", subject) == 0, full.err
        assert "1 GPU hours granted: 12 used, 0 set aside, -11 free" in full.said
        assert f"{ONE}-a2: settled, 12 GPU hours charged" in full.said
    assert full.admit("ledger", "show", "jobs/one.yml") == 0
    assert "decisions/jobs/one.yml.json action: withhold" in full.said
    assert f"runs/{ONE}.json" in full.said
    assert full.admit("ledger", "show", "admissions/policy.yml") == 0
    assert "login: lin" in full.said
    assert full.admit("ledger", "show", "ledger.json") == 0
    assert full.said.startswith("ledger.json at: 2026-11-30T20:50:00Z by: ada")


def test_show_as_json_gives_the_files(full: Scratch) -> None:
    assert full.admit("ledger", "show", ONE, "--format", "json") == 0
    path = f"runs/{ONE}.json"
    content = json.loads(full.git("show", f"admit-ledger:{path}"))
    assert json.loads(full.out) == {
        "place": "`admit-ledger`",
        "head": head(full),
        "files": {path: content},
    }
    assert full.admit("ledger", "show", "--format", "json") == 0
    assert set(json.loads(full.out)["files"]) == {
        *("ledger.json", "heartbeat.json", "policy.json"),
        *("admissions/digits.json", "admissions/other.json"),
    }


def test_show_does_not_know_everything(full: Scratch) -> None:
    assert full.admit("ledger", "show", "digit") == 2
    assert "did you mean `digits`?" in full.err


def test_what_is_shown_can_do_nothing(full: Scratch) -> None:
    def dress(tree: Path) -> None:
        (tree / "runs" / "x.json").write_text("\x1b[31m::error::x\n##[error]y", "utf-8")

    forge(full, dress)
    for form in ("text", "json"):
        assert full.admit("ledger", "show", "runs/x.json", "--format", form) == 0, full.err
        assert "error" in full.out
        assert "\x1b" not in full.out
        assert "##[" not in full.out
        assert "\n::" not in full.out
    assert full.admit("ledger", "show", "runs/x.json") == 0
    assert "`runs/x.json` of the ledger is damaged: it is not JSON" in full.said
    assert full.admit("ledger", "show", "policy.json") == 0
    assert full.admit("ledger", "show") == 8
    assert "`admit ledger fsck` names the commit that broke it" in full.err
    assert full.admit("ledger", "fsck") == 8
    assert "`runs/x.json`: it is damaged" in full.out


def test_a_sound_ledger_is_sound(full: Scratch) -> None:
    assert full.admit("ledger", "fsck") == 0, full.out
    assert full.out.splitlines() == [
        f"the ledger, `admit-ledger`, is sound up to {head(full)}",
        "  32 commits, 4 runs and 2 admissions: 52.5 GPU hours used and 2 set aside",
    ]
    assert full.err == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (less_used, "`admissions/other.json`: it says that 4.5 GPU hours are used"),
        (lambda tree: (tree / "policy.json").unlink(), "`policy.json`: it was removed"),
        (lambda tree: (tree / "runs" / f"{ONE}.json").chmod(0o755), "or is no plain file"),
        (lambda tree: (tree / "README").write_text("x"), "`README`: it is no file of a ledger"),
    ],
    ids=["less used", "a file less", "an executable", "a file more"],
)
@pytest.mark.parametrize("options", [[], ["--all"]], ids=["from there", "all"])
def test_a_forged_commit_is_named(
    full: Scratch, change: Callable[[Path], object], why: str, options: list[str]
) -> None:
    before = head(full)
    assert full.admit("ledger", "fsck") == 0
    commit = forge(full, change)
    for _ in range(2):
        assert full.admit("ledger", "fsck", *options) == 8
        assert f"is broken by {commit} (`forged`" in full.out
        assert why in full.out
        assert f"it is sound up to {before}" in full.out


def test_a_merge_is_named(full: Scratch) -> None:
    full.git("branch", "side", "admit-ledger~3")
    tree = full.git("rev-parse", "admit-ledger^{tree}").strip()
    parents = ["-p", "admit-ledger", "-p", "side"]
    commit = full.git("commit-tree", tree, *parents, "-m", "merge").strip()
    full.git("update-ref", "refs/heads/admit-ledger", commit)
    assert full.admit("ledger", "fsck") == 8
    assert f"is broken by {commit}" in full.out
    assert "it has 2 parents" in full.out


@pytest.mark.parametrize("options", [[], ["--all"]], ids=["from there", "all"])
def test_a_branch_that_was_rewritten_is_found_though_it_is_sound(
    full: Scratch, options: list[str]
) -> None:
    end = head(full)
    assert full.admit("ledger", "fsck") == 0
    full.git("update-ref", "refs/heads/admit-ledger", "admit-ledger~2")
    for _ in range(2):
        assert full.admit("ledger", "fsck", *options) == 8
        assert f"was rewritten: {end} was its end when it was checked here" in full.out
    full.git("update-ref", "refs/heads/admit-ledger", end)
    assert full.admit("ledger", "fsck", *options) == 0
    full.git("update-ref", "refs/heads/admit-ledger", "admit-ledger~2")
    memory = memory_of(world(full))
    assert f"`{memory}`" not in full.out
    memory.unlink()
    assert full.admit("ledger", "fsck", *options) == 0


def test_an_amended_commit_is_both_a_rewriting_and_broken(full: Scratch) -> None:
    assert full.admit("ledger", "fsck") == 0
    commit = forge(full, less_used, "--amend")
    assert full.admit("ledger", "fsck") == 8
    assert f"is broken by {commit}" in full.out


def test_only_what_came_after_is_walked_again(full: Scratch) -> None:
    here = world(full)
    seen: list[int] = []
    assert fsck(here, seen=lambda: seen.append(1)).since is None
    assert len(seen) == 32
    middle = head(full)
    seen.clear()
    assert fsck(here, seen=lambda: seen.append(1)).since == middle
    assert seen == []
    assert full.admit("ledger", "init", "--again", "--reason", "why") == 0
    went_on = fsck(here, seen=lambda: seen.append(1))
    assert (went_on.since, len(seen)) == (middle, 1)
    assert json.loads(memory_of(here).read_text())["head"] == head(full)
    everything = fsck(here, everything=True)
    assert (everything.since, everything.found) == (None, went_on.found)
    assert went_on.found.totals.commits == 33


def test_what_other_rules_found_sound_is_walked_again(full: Scratch) -> None:
    here = world(full)
    fsck(here)
    memory = memory_of(here)
    said = json.loads(memory.read_text())
    assert said == {"head": head(full), "commits": 32, "rules": 1}
    memory.write_text(json.dumps({**said, "rules": 0}))
    assert fsck(here).since is None
    assert json.loads(memory.read_text()) == said


@pytest.mark.parametrize("text", ["", "[", "[]", '{"head": 1, "commits": 1, "rules": 1}', "7"])
def test_a_memory_that_is_damaged_is_none(full: Scratch, text: str) -> None:
    memory = memory_of(world(full))
    memory.parent.mkdir(exist_ok=True)
    memory.write_text(text)
    assert full.admit("ledger", "fsck") == 0, full.err


def garbled(tree: Path) -> None:
    (tree / "runs" / f"{ONE}.json").write_text("{}")


@pytest.mark.parametrize("change", [less_used, garbled])
def test_a_memory_that_lies_costs_a_walk_from_the_beginning(
    full: Scratch, change: Callable[[Path], None]
) -> None:
    """The head it names is of a broken ledger: what follows is looked at from the first commit."""
    memory = memory_of(world(full))
    forged = forge(full, change)
    last = forge(full, lambda tree: (tree / "README").write_text("x"))
    memory.parent.mkdir(exist_ok=True)
    memory.write_text(json.dumps({"head": forged, "commits": 33, "rules": 1}))
    assert full.admit("ledger", "fsck") == 8
    assert f"is broken by {forged}" in full.out
    assert last not in full.out


def test_a_memory_that_cannot_be_written_is_no_failure(full: Scratch) -> None:
    memory_of(world(full)).parent.write_text("a file in its place")
    assert full.admit("ledger", "fsck") == 0, full.err


def test_each_ledger_has_its_own_memory(full: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    assert full.admit("ledger", "fsck") == 0
    full.git("branch", "other", "admit-ledger~2")
    monkeypatch.setenv("ADMIT_LEDGER", "other")
    assert full.admit("ledger", "fsck") == 0, full.out
    monkeypatch.delenv("ADMIT_LEDGER")
    assert full.admit("ledger", "fsck") == 0, full.out


def test_a_long_check_says_how_far_it_is_every_few_seconds() -> None:
    clock, said = [0.0], list[str]()
    seen = counting(lambda: clock[0], said.append)
    for second in (1.0, SECONDS, SECONDS + 1, 2 * SECONDS):
        clock[0] = second
        seen()
    assert said == ["2 commits are checked so far", "4 commits are checked so far"]


def test_a_check_says_nothing_but_its_result_where_there_is_no_terminal(full: Scratch) -> None:
    assert full.admit("ledger", "fsck", "--all") == 0
    assert full.err == ""


def test_the_order_behind_a_clock_that_was_put_back_may_be_before_what_is_remembered(
    bare: Scratch,
) -> None:
    """An order, then what it allows; between them the ledger is checked. It stays sound."""
    story = Story(world(bare).ledger)
    story.decide("x", "withhold")
    story.now -= 60 * MINUTE
    story.order("accept-clock")
    assert bare.admit("ledger", "fsck") == 0, bare.out
    story.decide("x", "submit")
    assert bare.admit("ledger", "fsck") == 0, bare.out
    assert bare.admit("ledger", "fsck", "--all") == 0, bare.out


def test_an_admission_record_that_came_before_its_run_is_read_when_going_on(
    scratch: Scratch,
) -> None:
    story = Story(MemoryLedger())
    here = fake(scratch, story.ledger)
    story.admit()
    content = grounds("one", "digits", at=story.now)
    early = Change("record", {record_at(content): content})
    story.draft.head = story.ledger.append([early], after=story.draft.head, at=story.now)
    assert fsck(here).sound
    story.reserve("one")
    found = fsck(here)
    assert (found.sound, found.since is not None) == (True, True)


def test_a_fake_ledger_is_checked_alike(scratch: Scratch) -> None:
    ledger = MemoryLedger()
    story = told(ledger)
    here = fake(scratch, ledger)
    assert fsck(here).sound
    assert fsck(here).since == story.draft.head
    ledger.rewind(CommitId(story.steps[-2].commit))
    assert fsck(here).rewritten == story.draft.head
    ledger.rewind(None)
    with pytest.raises(CannotRunError, match="there is no ledger"):
        fsck(here)


def test_what_real_passes_write_is_sound(bare: Scratch, admission: Callable[[str], str]) -> None:
    assert bare.admit("ledger", "init") == 0
    bare.git("switch", "--quiet", "-c", "proposal")
    bare.write("admissions/digits.md", admission(in_days(30)))
    bare.job("digits", "true")
    bare.commit("admit digits")
    bare.approve("admissions/digits.md", "jobs/digits.yml")
    merge(bare, "proposal")
    deadline = time.monotonic() + 30
    while "\nsettle " not in bare.git("log", "--format=%n%s", "admit-ledger"):
        assert bare.admit("reconcile") in (0, 6), bare.out + bare.err
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert bare.admit("ledger", "fsck") == 0, bare.out
    assert bare.admit("ledger", "show", "digits") == 0
    assert "settled" in bare.out

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from controller.adapters.git import Git
from controller.adapters.git_history import arrivals, introducing, line_of
from controller.adapters.git_process import (
    ShallowCloneError,
    UnknownRevisionError,
)
from controller.evidence.facts import Introduction
from controller.values import CommitId, RepoPath
from tests.adapters.scratch import NOON, Scratch, path


def introduced(git: Git, name: RepoPath, at: CommitId) -> Introduction | None:
    return git.introductions([name], at).get(name)


def introducing_commits(
    git: Git, names: Iterable[RepoPath], at: CommitId
) -> dict[RepoPath, CommitId]:
    """Return the commit, of any branch merged into `at`, that gave each path its bytes."""
    starts = ((name, a.commit) for name, a in arrivals(git.runner, names, at).items())
    return {name: commit for (name, _), commit in introducing(git.runner, starts, at).items()}


def introducing_commit(git: Git, name: RepoPath, at: CommitId) -> CommitId | None:
    return introducing_commits(git, [name], at).get(name)


# Where branches have come from


def test_two_branches_have_come_from_where_they_parted(repo: Scratch) -> None:
    base = repo.commit({"a": "1"})
    repo.switch("topic")
    repo.commit({"a": "2"})
    repo.back()
    repo.commit({"b": "2"})
    assert repo.adapter.merge_base("main", "topic") == base


def test_histories_without_a_common_commit_have_come_from_nowhere(repo: Scratch) -> None:
    repo.commit({"a": "1"})
    repo.run("checkout", "--quiet", "--orphan", "other")
    repo.commit({"b": "1"})
    assert repo.adapter.merge_base("main", "other") is None


def test_a_line_has_the_first_parents_and_nothing_else(repo: Scratch) -> None:
    first = repo.commit({"a": "1"})
    repo.switch("topic")
    side = repo.commit({"b": "1"})
    repo.back()
    here = repo.commit({"a": "2"})
    merge = repo.merge("topic")
    asked = [repo.adapter.on_line(merge, c) for c in (first, side, here, merge)]
    assert asked == [True, False, True, True]
    assert not repo.adapter.on_line(here, merge)


@pytest.mark.parametrize("given", ["0" * 40, "main", "", "--all", "tag", "blob"])
def test_what_the_clone_does_not_have_in_full_is_on_no_line(repo: Scratch, given: str) -> None:
    at = repo.commit({"a": "1"})
    repo.run("tag", "-a", "v1", "-m", "one")
    name = CommitId({"tag": repo.blob("v1"), "blob": repo.blob("HEAD:a")}.get(given, given))
    assert not repo.adapter.on_line(at, name)


def test_where_history_is_cut_off_nothing_is_said_of_the_line(
    repo: Scratch, tmp_path: Path
) -> None:
    repo.commit({"a": "1"})
    second = repo.commit({"a": "2"})
    third = repo.commit({"a": "3"})
    repo.run("clone", "--quiet", "--depth=2", f"file://{repo.root}", str(tmp_path / "clone"))
    with pytest.raises(ShallowCloneError):
        Git(tmp_path / "clone").on_line(third, second)


# Times


def test_main_at_a_time_is_the_last_that_had_come_by_then(repo: Scratch) -> None:
    commits = [repo.commit({"a": str(n)}) for n in (1, 2, 3)]
    repo.switch("topic")
    repo.commit({"b": "1"})
    repo.back()
    merge = repo.merge("topic")
    asked = [repo.adapter.commit_at(merge, NOON + timedelta(seconds=s)) for s in (59, 60, 239, 300)]
    assert asked == [None, commits[0], commits[2], merge]


def test_a_commit_dated_back_does_not_come_before_what_it_followed(repo: Scratch) -> None:
    one = repo.commit({"a": "1"})
    repo.minutes = 10
    two = repo.commit({"a": "2"})
    repo.minutes = -10_000
    three = repo.commit({"a": "3"})
    asked = [repo.adapter.commit_at(three, NOON + timedelta(minutes=m)) for m in (-9_000, 5, 11)]
    assert asked == [None, one, three]
    assert repo.adapter.commit_at(two, NOON + timedelta(minutes=11)) == two


def test_a_commit_dated_ahead_hides_itself_and_what_followed_until_then(repo: Scratch) -> None:
    one = repo.commit({"a": "1"})
    repo.minutes = 100
    repo.commit({"a": "2"})
    repo.minutes = 1
    last = repo.commit({"a": "3"})
    asked = [repo.adapter.commit_at(last, NOON + timedelta(minutes=m)) for m in (99, 101)]
    assert asked == [one, last]


# What introduced a file


def test_a_file_comes_from_the_merge_on_main_and_from_the_commit_on_its_branch(
    repo: Scratch,
) -> None:
    root = repo.commit({"a": "1", "b": "1"})
    repo.switch("topic")
    brought = repo.commit({"a": "2", "c": "1"})
    repo.commit({"b": "2"})
    repo.back()
    repo.commit({"z": "1"})
    merge = repo.merge("topic")
    at = repo.commit({"y": "1"})
    found = repo.adapter.introductions([path("a"), path("c"), path("z"), path("no")], at)
    on_main = Introduction(merge, NOON + timedelta(minutes=5), (path("a"), path("b"), path("c")))
    assert (found[path("a")], found[path("c")]) == (on_main, on_main)
    assert found[path("z")].changed == ("z",)
    assert path("no") not in found
    assert introducing_commit(repo.adapter, path("a"), at) == brought
    assert introduced(repo.adapter, path("a"), root) == Introduction(
        root, NOON + timedelta(minutes=1), (path("a"), path("b")), root=True
    )


def test_a_removed_file_was_last_changed_by_its_removal(repo: Scratch) -> None:
    repo.commit({"a": "1", "b": "1"})
    removal = repo.commit({"a": None})
    at = repo.commit({"b": "2"})
    found = introduced(repo.adapter, path("a"), at)
    assert found is not None
    assert (found.commit, found.changed) == (removal, ("a",))
    assert introducing_commit(repo.adapter, path("a"), at) == removal
    assert introducing_commit(repo.adapter, path("never"), at) is None


def test_bytes_that_change_and_come_back_are_brought_anew(repo: Scratch) -> None:
    repo.commit({"a": "1"})
    repo.commit({"a": "2"})
    back = repo.commit({"a": "1"})
    assert introducing_commit(repo.adapter, path("a"), back) == back


def test_a_change_of_mode_alone_is_a_change(repo: Scratch) -> None:
    repo.commit({"a": "1"})
    (repo.root / "a").chmod(0o755)
    changed = repo.commit()
    found = introduced(repo.adapter, path("a"), changed)
    assert found is not None
    assert found.commit == changed


def test_a_merge_that_takes_old_bytes_back_has_brought_them_itself(repo: Scratch) -> None:
    repo.commit({"a": "old", "b": "1"})
    repo.switch("stale")
    repo.commit({"b": "2"})
    repo.back()
    repo.commit({"a": "new"})
    repo.run("merge", "--quiet", "--no-ff", "--no-commit", "stale")
    repo.run("checkout", "stale", "--", "a")
    merge = repo.committed()
    assert introducing_commit(repo.adapter, path("a"), merge) == merge
    # Git itself would name the commit that had been replaced.
    assert repo.run("rev-list", "-1", "HEAD", "--", "a") != merge


def test_a_merge_that_removes_what_the_other_side_never_had_has_removed_it(repo: Scratch) -> None:
    repo.commit({"b": "1"})
    repo.switch("other")
    repo.commit({"b": "2"})
    repo.back()
    repo.commit({"a": "1"})
    repo.run("merge", "--quiet", "--no-ff", "--no-commit", "other")
    repo.run("rm", "--quiet", "-f", "a")
    merge = repo.committed()
    assert introducing_commit(repo.adapter, path("a"), merge) == merge


def test_a_merge_that_makes_bytes_of_its_own_has_brought_them(repo: Scratch) -> None:
    repo.commit({"a": "1"})
    repo.switch("topic")
    repo.commit({"a": "2"})
    repo.back()
    repo.commit({"a": "3"})
    repo.run("merge", "--quiet", "--no-commit", "topic", code=1)
    merge = repo.commit({"a": "4"})
    assert introducing_commit(repo.adapter, path("a"), merge) == merge


def test_a_walk_over_many_paths_agrees_with_git_asked_for_each(repo: Scratch) -> None:
    files = {f"jobs/{n % 7}/{n}.yml": str(n) for n in range(300)}
    repo.commit(files)
    for n in range(6):
        repo.switch(f"topic-{n}")
        repo.commit({f"jobs/{k % 7}/{k}.yml": f"{k} {n}" for k in range(n, 300, 17)})
        repo.back()
        repo.commit(
            {f"jobs/{(n + 1) % 7}/{n + 1}.yml": None} if n % 5 == 4 else {f"other/{n}": "x"}
        )
        repo.merge(f"topic-{n}")
    at = repo.head()
    paths = [path(name) for name in files]
    on_main = repo.adapter.introductions(paths, at)
    brought = introducing_commits(repo.adapter, paths, at)
    for name in paths[::29]:
        first_parent = repo.run("rev-list", "-1", "--first-parent", at, "--", name)
        assert on_main[name].commit == first_parent
        shown = ("log", "-1", "-m", "--first-parent", "--name-only", "--format=", first_parent)
        assert on_main[name].changed == tuple(sorted(repo.run(*shown).split()))
        assert brought[name] == repo.run("rev-list", "-1", at, "--", name)


def test_a_walk_down_to_a_root_agrees_with_one_of_the_whole_history(repo: Scratch) -> None:
    chance = random.Random(7)
    ends = [repo.commit({f"f{n}": "0" for n in range(6)})]
    for n in range(30):
        repo.run("switch", "--quiet", "--detach", chance.choice([ends[-1], ends[-1], *ends[-6:]]))
        repo.commit({f"f{chance.randrange(6)}": str(chance.randrange(3))})
        side = repo.head()
        repo.run("switch", "--quiet", "--detach", ends[-1])
        how = chance.choice([("-s", "ours"), ("-X", "theirs"), ("-X", "ours")])
        ends.append(repo.merge(side, *how))
        if n % 4 == 0:
            repo.run("checkout", chance.choice(ends), "--", f"f{chance.randrange(6)}")
            ends.append(repo.committed())
    names = [path(f"f{n}") for n in range(6)]
    for root in (ends[2], ends[12], ends[22]):
        line = list(line_of(repo.adapter.runner, names, ends[-1], root))
        whole = list(line_of(repo.adapter.runner, names, ends[-1]))
        assert line[:-1] == whole[: len(line) - 1]
        assert (line[-1][0], sorted(line[-1][1])) == (root, names)
        starts = [(name, commit) for commit, step in line[:-1] for name in step]
        below = introducing(repo.adapter.runner, starts, ends[-1])
        assert len(set(below.values()) - {commit for _, commit in starts}) > 3
        assert introducing(repo.adapter.runner, starts, ends[-1], root) == below


def test_the_users_settings_do_not_change_the_answer(repo: Scratch) -> None:
    repo.commit({"a": "1\n" * 30})
    repo.run("mv", "a", "b")
    moved = repo.committed()
    for setting in ("log.showRoot=false", "diff.renames=copies", "diff.orderFile=/gone"):
        repo.run("config", *setting.split("="))
    found = introduced(repo.adapter, path("b"), moved)
    assert found is not None
    assert found.changed == ("a", "b")


@pytest.mark.parametrize(
    "question",
    [
        lambda git, at: introduced(git, path("a"), at),
        lambda git, at: introducing_commit(git, path("a"), at),
    ],
)
def test_a_shallow_clone_proves_nothing(
    repo: Scratch, tmp_path: Path, question: Callable[[Git, CommitId], object]
) -> None:
    repo.commit({"a": "1"})
    repo.commit({"b": "1"})
    repo.run("clone", "--quiet", "--depth=1", f"file://{repo.root}", str(tmp_path / "clone"))
    clone = Git(tmp_path / "clone")
    with pytest.raises(ShallowCloneError, match="is a shallow clone") as error:
        question(clone, clone.resolve("HEAD"))
    assert "fetch-depth: 0" in error.value.remedy
    with pytest.raises(UnknownRevisionError) as unknown:
        clone.resolve("HEAD~1")
    assert "shallow" in unknown.value.remedy


def test_a_commit_of_any_year_has_a_time(repo: Scratch) -> None:
    tree = repo.run(
        "mktree",
        stdin=b"100644 blob %s\ta" % repo.run("hash-object", "-w", "--stdin", stdin=b"x").encode(),
    )
    for stamp, year in (("99999999999999", 9998), ("0", 1970)):
        text = f"tree {tree}\nauthor a <a> {stamp} +0000\ncommitter a <a> {stamp} +0000\n\nx\n"
        commit = CommitId(
            repo.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode())
        )
        found = introduced(repo.adapter, path("a"), commit)
        assert found is not None
        assert found.at.year == year
        assert repo.adapter.when(commit) == found.at
        assert repo.adapter.commit_at(commit, NOON) == (commit if year == 1970 else None)


def test_several_commits_are_asked_for_a_file_at_once(repo: Scratch) -> None:
    one = repo.commit({"CODEOWNERS": "* @ada\n", "a": "1"})
    two = repo.commit({"CODEOWNERS": None, ".github/CODEOWNERS": "* @bob\n"})
    three = repo.commit({"a": "2", ".github/CODEOWNERS": None})
    places = [path(".github/CODEOWNERS"), path("CODEOWNERS")]
    found = repo.adapter.files_at([one, two, three, two], places)
    shown = {c: {p: blob.content for p, blob in files.items()} for c, files in found.items()}
    assert shown == {
        one: {"CODEOWNERS": b"* @ada\n"},
        two: {".github/CODEOWNERS": b"* @bob\n"},
        three: {},
    }


def test_what_came_with_the_trusted_root_or_before_it_came_with_the_root(repo: Scratch) -> None:
    repo.commit({"old": "1", "a": "1"})
    root = repo.commit({"a": "2"})
    later = repo.commit({"b": "1"})
    found = repo.adapter.introductions([path("old"), path("a"), path("b")], later, root)
    assert {p: (i.commit, i.root) for p, i in found.items()} == {
        "old": (root, True),
        "a": (root, True),
        "b": (later, False),
    }
    assert found[path("old")].changed == ()

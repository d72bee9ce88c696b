"""Approvals where a trusted root in the middle of main's history is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.adapters.git_history import OtherHistoryError
from controller.adapters.git_process import GitFailedError
from controller.adapters.notes import LocalHost
from controller.adapters.notes_owners import rule_after, rules_before
from controller.adapters.notes_store import NotesStore
from controller.cli import main
from controller.documents.policy import POLICY
from controller.errors import CannotRunError
from controller.evidence.facts import Unavailable
from controller.values import CommitId
from tests.adapters.notes_examples import JOB, LATER, OWNERS, known, logins
from tests.adapters.scratch import NOON, START, Scratch, path
from tests.cli.conftest import POLICY as POLICY_TEXT

NAMES = path(OWNERS)
OLD = path("jobs/old.yml")
TWO = POLICY_TEXT.replace("minimum: 1", "minimum: 2")


def before_the_root(repo: Scratch) -> None:
    """A history that nobody should trust: @old owned everything, and it has two roots."""
    repo.commit({OWNERS: "* @old\n", "jobs/old.yml": "wide", "gone": "1"})
    repo.switch("side")
    repo.commit({"jobs/old.yml": "narrow"})
    repo.back()
    repo.commit({"gone": None, POLICY: POLICY_TEXT})
    repo.merge("side")
    repo.run("checkout", "--quiet", "--orphan", "import")
    repo.run("rm", "-rfq", ".")
    repo.commit({"imported": "1"})
    repo.back()
    repo.merge("import", "--allow-unrelated-histories")


@pytest.fixture
def root(repo: Scratch) -> CommitId:
    """The trusted root: main's end when Admit was adopted."""
    before_the_root(repo)
    return repo.commit({OWNERS: "* @ada @lin\n"})


@pytest.fixture
def rooted(repo: Scratch, root: CommitId) -> LocalHost:
    return LocalHost(repo.adapter, lambda: LATER, root)


def refusal(host: LocalHost, at: CommitId) -> str:
    answer = host.approval(JOB, at)
    assert isinstance(answer, Unavailable)
    return answer.why


# What a root in the middle of a history gives


def test_admit_is_adopted_in_the_middle_of_a_history(
    repo: Scratch, root: CommitId, rooted: LocalHost
) -> None:
    repo.switch("topic")
    brought = repo.commit({"jobs/a.yml": "1"})
    rooted.approve(JOB, "ada", NOON)
    repo.back()
    at = repo.merge("topic")
    found = known(rooted, JOB, at)
    assert (found.commit, found.owners, logins(found)) == (brought, ("@ada", "@lin"), ["ada"])
    for name in (NAMES, POLICY):
        found = known(rooted, name, at)
        assert (found.trusted, found.owners) == (True, ("@ada", "@lin"))
        assert found.blob == repo.blob(f"{root}:{name}")
    assert "2 root commits" in refusal(LocalHost(repo.adapter, lambda: LATER), at)


def test_what_the_root_had_is_approved_where_it_was_made_and_by_the_owners_of_the_root(
    repo: Scratch, root: CommitId, rooted: LocalHost
) -> None:
    made = CommitId(repo.run("rev-parse", "side"))
    repo.commit({"other": "1"})
    assert rooted.approve(OLD, "old", NOON).commit == made
    assert rooted.approve(OLD, "lin", NOON).commit == made
    found = known(rooted, OLD, repo.head())
    assert (found.commit, found.owners, found.trusted) == (made, ("@ada", "@lin"), True)
    assert (logins(found), found.refused) == (["lin"], ("@old is not an owner",))


def test_what_was_removed_before_the_root_was_removed_and_is_not_trusted(
    repo: Scratch, rooted: LocalHost
) -> None:
    note = rooted.approve(path("gone"), "ada", NOON)
    at = repo.commit({"other": "1"})
    found = known(rooted, path("gone"), at)
    assert (found.blob, found.commit, found.trusted) == (None, note.commit, False)
    assert (found.owners, logins(found)) == (("@ada", "@lin"), ["ada"])
    assert isinstance(rooted.approval(path("never"), at), Unavailable)


def test_the_last_version_is_the_one_of_the_root(repo: Scratch, rooted: LocalHost) -> None:
    rooted.approve(OLD, "ada", NOON)
    at = repo.commit({"jobs/old.yml": "wide", OWNERS: "* @lin\n"})
    rooted.approve(NAMES, "ada", NOON)

    def told(name: str) -> list[tuple[bytes, bool, list[str]]]:
        versions = rooted.versions(path(name), at)
        return [(v.content, v.approval.trusted, logins(v.approval)) for v in versions]

    assert told(OLD) == [(b"wide", False, []), (b"narrow", True, ["ada"])]
    assert told(OWNERS) == [(b"* @lin\n", False, ["ada"]), (b"* @ada @lin\n", True, [])]
    assert told("gone") == []


def test_the_root_itself_and_the_first_commit_can_be_the_end_of_main(
    repo: Scratch, root: CommitId, rooted: LocalHost
) -> None:
    assert known(rooted, NAMES, root).trusted
    first = CommitId(repo.run("rev-list", "--first-parent", "--max-parents=0", root))
    host = LocalHost(repo.adapter, lambda: LATER, first)
    assert known(host, NAMES, first).owners == ("@old",)
    assert not known(host, NAMES, root).trusted


def test_what_came_before_the_root_is_not_walked(repo: Scratch) -> None:
    lost: list[str] = [repo.commit({POLICY: POLICY_TEXT, OWNERS: "* @old\n"})]
    lost += [repo.run("rev-parse", f"{repo.commit({'other': str(n)})}^{{tree}}") for n in range(12)]
    root = repo.commit({OWNERS: "* @ada\n"})
    rooted = LocalHost(repo.adapter, lambda: LATER, root)
    at = repo.commit({"jobs/a.yml": "1"})
    rooted.approve(JOB, "ada", NOON)
    for sha in lost:
        (repo.root / ".git/objects" / sha[:2] / sha[2:]).unlink()
    with pytest.raises(GitFailedError):
        list(LocalHost(repo.adapter, lambda: LATER).versions(NAMES, at))
    assert logins(known(rooted, JOB, at)) == ["ada"]
    assert known(rooted, POLICY, at).trusted
    assert [v.approval.trusted for v in rooted.versions(POLICY, at)] == [True]


@pytest.mark.parametrize("mode", ["100755", "120000"])
def test_only_a_plain_file_of_the_root_is_trusted(repo: Scratch, mode: str) -> None:
    sha = repo.run("hash-object", "-w", "--stdin", stdin=b"* @ada\n")
    repo.run("update-index", "--add", "--cacheinfo", f"{mode},{sha},{OWNERS}")
    host = LocalHost(repo.adapter, lambda: LATER, repo.committed())
    found = known(host, NAMES, repo.head())
    assert (found.trusted, found.owners) == (False, ())


def test_a_repository_of_sha256_has_a_trusted_root_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Scratch(tmp_path / "new", monkeypatch, "--object-format=sha256")
    before_the_root(repo)
    host = LocalHost(repo.adapter, lambda: LATER, repo.commit({OWNERS: "* @ada\n"}))
    at = repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "ada", NOON)
    assert logins(known(host, JOB, at)) == ["ada"]
    assert known(host, NAMES, at).trusted


# Bytes from before the root that come back


def by_a_revert(repo: Scratch, old: CommitId, name: str) -> CommitId:
    before = repo.run("rev-parse", "HEAD~1")
    repo.run("checkout", before, "--", name)
    return repo.committed()


def by_a_checkout(repo: Scratch, old: CommitId, name: str) -> CommitId:
    repo.run("checkout", old, "--", name)
    return repo.committed()


def by_a_merge_of_a_side_branch(repo: Scratch, old: CommitId, name: str) -> CommitId:
    repo.switch("stale", old)
    repo.commit({"other": "1"})
    repo.back()
    repo.run("merge", "--quiet", "--no-ff", "--no-commit", "stale")
    repo.run("checkout", "stale", "--", name)
    return repo.committed()


def by_a_merge_of_the_old_commit_itself(repo: Scratch, old: CommitId, name: str) -> CommitId:
    repo.run("checkout", old, "--", name)
    tree = repo.run("write-tree")
    merge = repo.run("commit-tree", tree, "-p", "HEAD", "-p", old, "-m", "merge")
    repo.run("reset", "--quiet", "--hard", merge)
    return repo.head()


WAYS = [
    by_a_revert,
    by_a_checkout,
    by_a_merge_of_a_side_branch,
    by_a_merge_of_the_old_commit_itself,
]
Return = Callable[[Scratch, CommitId, str], CommitId]


@pytest.mark.parametrize("way", WAYS)
def test_owners_from_before_the_root_that_come_back_are_not_trusted(
    repo: Scratch, way: Return
) -> None:
    old = repo.commit({OWNERS: "* @old\n"})
    root = repo.commit({OWNERS: "* @ada\n"})
    host = LocalHost(repo.adapter, lambda: LATER, root)
    at = way(repo, old, OWNERS)
    assert repo.run("show", f"{at}:{OWNERS}") == "* @old"
    host.approve(NAMES, "old", NOON)
    found = known(host, NAMES, at)
    assert (found.trusted, found.owners, logins(found)) == (False, ("@ada",), [])
    assert [v.approval.trusted for v in host.versions(NAMES, at)] == [False, True]
    assert known(host, JOB, repo.commit({"jobs/a.yml": "1"})).owners == ("@ada",)


@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_of_the_root_that_come_back_are_neither_trusted_nor_approved(
    repo: Scratch, root: CommitId, rooted: LocalHost, way: Return
) -> None:
    rooted.approve(OLD, "ada", NOON)
    repo.commit({"jobs/old.yml": "narrower", OWNERS: "* @lin\n"})
    rooted.approve(OLD, "ada", NOON)
    rooted.approve(NAMES, "lin", NOON)
    at = way(repo, root, OLD)
    assert repo.run("show", f"{at}:{OLD}") == "narrow"
    found = known(rooted, OLD, at)
    assert (found.commit, found.trusted, logins(found)) == (at, False, [])
    at = by_a_checkout(repo, root, OWNERS)
    assert not known(rooted, NAMES, at).trusted


def test_a_branch_older_than_the_root_is_judged_when_it_is_merged(
    repo: Scratch, root: CommitId, rooted: LocalHost
) -> None:
    repo.switch("late", f"{root}~1")
    brought = repo.commit({"jobs/a.yml": "1"})
    for login in ("old", "ada"):
        rooted.approve(JOB, login, NOON)
    repo.back()
    found = known(rooted, JOB, repo.merge("late"))
    assert (found.commit, found.trusted) == (brought, False)
    assert (logins(found), found.refused) == (["ada"], ("@old is not an owner",))


def test_old_approvals_do_not_count_again_where_times_are_forged(
    repo: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({OWNERS: "* @ada\n"})
    old = repo.commit({"jobs/a.yml": "wide"})
    host = LocalHost(repo.adapter, lambda: LATER)
    assert host.approve(JOB, "ada", NOON).commit == old
    repo.minutes = (200_000_000 - START) // 60  # git stops looking where all is this much older
    for n in range(12):
        repo.commit({"other": str(n)})
    repo.minutes = 10
    root = repo.commit({"jobs/a.yml": "narrow"})
    at = by_a_merge_of_the_old_commit_itself(repo, old, JOB)
    assert old in repo.run("rev-list", at, f"^{root}").split()  # what git itself says of it
    found = known(LocalHost(repo.adapter, lambda: LATER, root), JOB, at)
    assert (found.commit, logins(found)) == (at, [])


# Who is not an owner by his own word


def test_owners_whom_nobody_approved_name_nobody_even_when_they_are_taken_back(
    repo: Scratch, rooted: LocalHost
) -> None:
    repo.commit({OWNERS: "* @mallory\n"})
    rooted.approve(NAMES, "mallory", NOON)
    repo.commit({"jobs/a.yml": "1"})
    rooted.approve(JOB, "mallory", NOON)
    at = repo.commit({OWNERS: "* @ada @lin\n"})
    rooted.approve(NAMES, "mallory", NOON)
    for name in (JOB, NAMES):
        found = known(rooted, name, at)
        assert (found.owners, found.trusted) == (("@ada", "@lin"), False)
        assert (logins(found), found.refused) == ([], ("@mallory is not an owner",))


def test_a_file_that_a_removal_uncovers_names_nobody_unless_the_root_had_it(
    repo: Scratch,
) -> None:
    root = repo.commit({OWNERS: "* @ada\n", "docs/CODEOWNERS": "* @lin\n"})
    host = LocalHost(repo.adapter, lambda: LATER, root)
    repo.commit({"CODEOWNERS": "* @mallory\n"})
    repo.commit({OWNERS: None})
    host.approve(NAMES, "ada", NOON)
    assert known(host, JOB, repo.commit({"jobs/a.yml": "1"})).owners == ("@ada",)
    repo.commit({"CODEOWNERS": None})
    host.approve(path("CODEOWNERS"), "ada", NOON)
    assert known(host, JOB, repo.commit({"jobs/a.yml": "2"})).owners == ("@lin",)


def test_the_number_of_approvals_is_the_roots_until_as_many_lower_it(
    repo: Scratch, root: CommitId
) -> None:
    root = repo.commit({POLICY: TWO})
    host = LocalHost(repo.adapter, lambda: LATER, root)
    store = NotesStore(repo.adapter.runner)
    lowered = repo.commit({POLICY: POLICY_TEXT})
    at = repo.commit({"jobs/a.yml": "1"})
    note = host.approve(POLICY, "lin", NOON)
    assert note.commit == lowered
    found = rules_before(repo.adapter, store, at, root)
    assert [found[c].minimum for c in (root, lowered, at)] == [2, 2, 2]
    assert rule_after(repo.adapter, store, at, root).minimum == 2
    host.approve(POLICY, "ada", NOON)
    found = rules_before(repo.adapter, store, at, root)
    assert [found[c].minimum for c in (root, lowered, at)] == [2, 2, 1]
    assert set(found) == {root, lowered, at}


# Another history in the place of main


def other_root(repo: Scratch, root: CommitId) -> CommitId:
    """A second root that names its owner, and has main merged into it."""
    repo.run("switch", "--quiet", "--orphan", "evil")
    repo.commit({OWNERS: "* @mallory\n"})
    repo.merge("main", "-s", "ours", "--allow-unrelated-histories")
    repo.commit({"jobs/a.yml": "1"})
    repo.back()
    repo.run("merge", "--quiet", "--ff-only", "evil")
    return repo.head()


def foxtrot(repo: Scratch, root: CommitId) -> CommitId:
    """A branch from before the root that has main merged into it."""
    repo.switch("evil", f"{root}~1")
    repo.commit({"jobs/a.yml": "1"})
    repo.merge("main", "-s", "ours")
    repo.back()
    repo.run("merge", "--quiet", "--ff-only", "evil")
    return repo.head()


def reset(repo: Scratch, root: CommitId) -> CommitId:
    repo.run("reset", "--quiet", "--hard", f"{root}~1")
    return repo.head()


def rewritten(repo: Scratch, root: CommitId) -> CommitId:
    repo.run("commit", "--quiet", "--amend", "-m", "the same, it says")
    return repo.head()


@pytest.mark.parametrize("attack", [other_root, foxtrot, reset, rewritten])
def test_a_main_without_the_root_on_its_first_parent_line_is_refused(
    repo: Scratch, root: CommitId, rooted: LocalHost, attack: Callable[..., CommitId]
) -> None:
    at = attack(repo, root)
    said = (
        f"main at {at[:12]} does not have the trusted root {root[:12]} on its first-parent line; "
        "its history was rewritten or another was put in its place"
    )
    assert refusal(rooted, at) == said
    with pytest.raises(OtherHistoryError) as error:
        list(rooted.versions(NAMES, at))
    assert isinstance(error.value, CannotRunError)
    assert (str(error.value), "first-parent line" in error.value.remedy) == (said, True)
    with pytest.raises(OtherHistoryError):
        rules_before(repo.adapter, NotesStore(repo.adapter.runner), at, root)


@pytest.mark.parametrize(
    "given", ["0" * 40, "main", "HEAD", "", "--all", "^", "@{0}", "a\nb", "blob", "tag", "short"]
)
def test_what_is_not_the_full_name_of_a_commit_of_the_line_is_no_root(
    repo: Scratch, root: CommitId, given: str
) -> None:
    repo.run("tag", "-a", "v1", "-m", "one", root)
    names = {"blob": repo.blob(f"{root}:{OWNERS}"), "tag": repo.blob("v1"), "short": root[:12]}
    at = repo.commit({"jobs/a.yml": "1"})
    host = LocalHost(repo.adapter, lambda: LATER, CommitId(names.get(given, given)))
    assert "does not have the trusted root" in refusal(host, at)


def test_a_line_that_goes_round_main_since_the_root_has_the_root_but_not_what_main_was(
    repo: Scratch, root: CommitId, rooted: LocalHost
) -> None:
    """Why whoever remembers main must ask whether it is on the line: descent does not tell."""
    main = repo.commit({OWNERS: "* @lin\n"})
    rooted.approve(NAMES, "lin", NOON)
    repo.switch("evil", root)
    repo.commit({"jobs/a.yml": "1"})
    rooted.approve(JOB, "ada", NOON)  # not an owner any more, by what main approved
    at = repo.merge("main", "-s", "ours")
    assert logins(known(rooted, JOB, at)) == ["ada"]
    assert repo.adapter.merge_base(at, main) == main
    assert repo.adapter.on_line(at, root)
    assert not repo.adapter.on_line(at, main)


# Whether an approval will count


@pytest.fixture
def whole(repo: Scratch, rooted: LocalHost) -> LocalHost:
    repo.commit({OWNERS: "* @ada @lin\n/teams/ @acme/nlp @ada\n/free/\n"})
    rooted.approve(NAMES, "ada", NOON)
    return rooted


@pytest.mark.parametrize(
    ("name", "login", "why"),
    [
        ("jobs/a.yml", "LIN", ""),
        ("jobs/a.yml", "mallory", "@mallory is not an owner of `jobs/a.yml`; @ada, @lin are"),
        ("teams/x", "ada", ""),
        ("teams/x", "lin", "@lin may belong to @acme/nlp, which cannot be asked locally"),
        ("free/x", "ada", "`free/x` has no owner who could approve it"),
    ],
)
@pytest.mark.parametrize("branch", ["main", "topic"])
def test_it_is_said_whether_an_approval_will_count(
    repo: Scratch, whole: LocalHost, branch: str, name: str, login: str, why: str
) -> None:
    if branch != "main":
        repo.switch(branch)
    repo.commit({name: "1"})
    assert whole.counts(whole.approve(path(name), login, NOON)) == why


def test_owners_of_a_proposal_are_those_of_main_and_not_its_own(
    repo: Scratch, whole: LocalHost
) -> None:
    repo.switch("topic")
    repo.commit({OWNERS: "* @mallory\n", "jobs/a.yml": "1"})
    for name in (NAMES, JOB):
        said = f"@mallory is not an owner of `{name}`; @ada, @lin are"
        assert whole.counts(whole.approve(name, "mallory", NOON)) == said


def test_what_is_on_main_is_judged_by_who_owned_it_when_it_came(
    repo: Scratch, whole: LocalHost
) -> None:
    repo.commit({OWNERS: "* @lin\n"})
    assert whole.counts(whole.approve(NAMES, "ada", NOON)) == ""
    repo.commit({"jobs/a.yml": "1"})
    said = "@ada is not an owner of `jobs/a.yml`; @lin is"
    assert whole.counts(whole.approve(JOB, "ada", NOON)) == said
    said = "@old is not an owner of `jobs/old.yml`; @ada, @lin are"
    assert whole.counts(whole.approve(OLD, "old", NOON)) == said


def test_a_branch_older_than_the_last_owners_is_judged_by_them(
    repo: Scratch, whole: LocalHost
) -> None:
    repo.commit({"jobs/a.yml": "0"})
    repo.switch("topic")
    repo.back()
    repo.commit({OWNERS: "* @lin\n"})
    whole.approve(NAMES, "ada", NOON)
    repo.back("topic")
    repo.commit({"jobs/a.yml": "1"})
    assert whole.counts(whole.approve(JOB, "lin", NOON)) == ""
    said = "@ada is not an owner of `jobs/a.yml`; @lin is"
    assert whole.counts(whole.approve(JOB, "ada", NOON)) == said


def test_what_main_has_beyond_its_remote_is_on_main(repo: Scratch, whole: LocalHost) -> None:
    repo.run("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.commit({OWNERS: "* @lin @eve\n"})
    whole.approve(NAMES, "ada", NOON)
    repo.commit({"jobs/a.yml": "1"})
    assert whole.counts(whole.approve(JOB, "eve", NOON)) == ""


def test_a_mode_that_cannot_be_approved_is_said(repo: Scratch, whole: LocalHost) -> None:
    repo.write({"jobs/a.yml": "1"})
    (repo.root / "jobs/a.yml").chmod(0o755)
    repo.commit()
    said = "the file has the mode 100755, and only 100644 can be approved"
    assert whole.counts(whole.approve(JOB, "ada", NOON)) == said


def test_a_removal_counts_like_bytes(repo: Scratch, whole: LocalHost) -> None:
    repo.switch("topic")
    repo.commit({"jobs/old.yml": None})
    assert whole.counts(whole.approve(OLD, "lin", NOON)) == ""
    assert "is not an owner" in whole.counts(whole.approve(OLD, "old", NOON))


def test_the_command_says_what_will_not_count_and_nothing_where_it_cannot_be_told(
    repo: Scratch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ADMIT_HOST", "local")
    monkeypatch.setenv("ADMIT_WORKSPACE", "local")
    repo.commit({OWNERS: "* @ada\n"})
    commit = repo.commit({"jobs/a.yml": "1"})

    def approve(login: str) -> str:
        assert main(["--repo", str(repo.root), "approve", "jobs/a.yml", "--as", login]) == 0
        out, err = capsys.readouterr()
        bytes_ = f"bytes {repo.blob('HEAD:jobs/a.yml')[:12]}"
        assert (
            out == f"approved `jobs/a.yml` as {login}: {bytes_}, brought by commit {commit[:12]}\n"
        )
        return err

    assert approve("@ada") == ""
    why = "@bob is not an owner of `jobs/a.yml`; @ada is"
    assert approve("@bob") == f"recorded, but it will not count: {why}\n"
    repo.run("branch", "--move", "elsewhere")
    assert approve("@eve") == ""

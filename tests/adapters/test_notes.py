from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from controller.adapters.git import Git
from controller.adapters.notes import ApprovalRefusedError, LocalHost
from controller.adapters.notes_store import REF
from controller.evidence.facts import Approval, Approver, Known, Unavailable
from tests.adapters.notes_examples import JOB, LATER, OWNERS, known, line, logins, noted
from tests.adapters.scratch import NOON, Scratch, path

# What an approval is bound to


def test_an_owner_approves_the_bytes_of_a_branch_and_main_sees_it_after_the_merge(
    repo: Scratch, host: LocalHost
) -> None:
    repo.switch("topic")
    brought = repo.commit({"jobs/a.yml": "1"})
    note = host.approve(JOB, "@ada", NOON)
    repo.back()
    at = repo.merge("topic")
    assert (note.commit, note.blob) == (brought, repo.blob("HEAD:jobs/a.yml"))
    assert known(host, JOB, at) == Approval(
        path=JOB,
        blob=note.blob,
        commit=brought,
        owners=("@ada", "@Lin"),
        approvers=(Approver("ada", NOON, f"{REF}:{brought}"),),
    )


def test_a_change_after_the_approval_has_none(repo: Scratch, host: LocalHost) -> None:
    repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "ada", NOON)
    at = repo.commit({"jobs/a.yml": "2"})
    assert logins(known(host, JOB, at)) == []


def test_bytes_that_come_back_must_be_approved_again(repo: Scratch, host: LocalHost) -> None:
    repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "ada", NOON)
    repo.commit({"jobs/a.yml": "2"})
    at = repo.commit({"jobs/a.yml": "1"})
    assert logins(known(host, JOB, at)) == []


def test_an_approval_of_old_bytes_does_not_do_for_a_merge_that_takes_them_back(
    repo: Scratch, host: LocalHost
) -> None:
    repo.commit({"jobs/a.yml": "wide"})
    host.approve(JOB, "ada", NOON)
    repo.switch("stale")
    repo.commit({"other": "1"})
    repo.back()
    repo.commit({"jobs/a.yml": "narrow"})
    host.approve(JOB, "ada", NOON)
    repo.run("merge", "--quiet", "--no-ff", "--no-commit", "stale")
    repo.run("checkout", "stale", "--", "jobs/a.yml")
    at = repo.committed()
    assert logins(known(host, JOB, at)) == []
    assert known(host, JOB, at).commit == at


def test_a_removal_is_approved_like_bytes(repo: Scratch, host: LocalHost) -> None:
    repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "ada", NOON)
    removal = repo.commit({"jobs/a.yml": None})
    assert logins(known(host, JOB, removal)) == []
    assert host.approve(JOB, "lin", NOON).blob is None
    at = repo.commit({"other": "1"})
    assert known(host, JOB, at).commit == removal
    assert logins(known(host, JOB, at)) == ["lin"]


def test_the_root_is_trusted_and_read_by_its_own_owners(repo: Scratch, host: LocalHost) -> None:
    found = known(host, path("README"), repo.head())
    assert found.trusted
    assert found.owners == ("@ada", "@Lin")
    assert known(host, path(OWNERS), repo.head()).trusted


# Who may approve


def test_owners_are_those_before_the_change_reached_main(repo: Scratch, host: LocalHost) -> None:
    repo.switch("topic")
    repo.commit({OWNERS: "* @mallory\n"})
    repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "mallory", NOON)
    host.approve(path(OWNERS), "mallory", NOON)
    repo.back()
    at = repo.merge("topic")
    for name in (JOB, path(OWNERS)):
        found = known(host, name, at)
        assert found.owners == ("@ada", "@Lin")
        assert (logins(found), found.refused) == ([], ("@mallory is not an owner",))


def test_owners_are_read_where_github_looks_first(repo: Scratch, host: LocalHost) -> None:
    repo.commit({"CODEOWNERS": "* @bob\n", "docs/CODEOWNERS": "* @eve\n"})
    host.approve(path("CODEOWNERS"), "ada", NOON)
    assert known(host, JOB, repo.commit({"jobs/a.yml": "1"})).owners == ("@ada", "@Lin")
    repo.commit({OWNERS: None})
    assert known(host, JOB, repo.commit({"jobs/a.yml": "1b"})).owners == ("@ada", "@Lin")
    repo.commit({OWNERS: "* @ada\n"})
    host.approve(path(OWNERS), "ada", NOON)
    repo.commit({OWNERS: None})
    host.approve(path(OWNERS), "ada", NOON)
    assert known(host, JOB, repo.commit({"jobs/a.yml": "2"})).owners == ("@bob",)
    repo.commit({"CODEOWNERS": None, "docs/CODEOWNERS": None})
    host.approve(path("CODEOWNERS"), "bob", NOON)
    host.approve(path("docs/CODEOWNERS"), "bob", NOON)
    assert known(host, JOB, repo.commit({"jobs/a.yml": "3"})).owners == ()


def test_a_file_that_a_removal_uncovers_names_nobody_unless_it_was_approved(
    repo: Scratch, host: LocalHost
) -> None:
    repo.commit({"CODEOWNERS": "* @mallory\n"})
    repo.commit({OWNERS: None})
    host.approve(path(OWNERS), "ada", NOON)
    assert known(host, JOB, repo.commit({"jobs/a.yml": "1"})).owners == ("@ada", "@Lin")


def test_one_login_counts_once_however_it_is_written(repo: Scratch, host: LocalHost) -> None:
    commit = repo.commit({"jobs/a.yml": "1"})
    for login in ("lin", "@Lin", "LIN", "ada"):
        host.approve(JOB, login, NOON)
    assert logins(known(host, JOB, commit)) == ["lin", "ada"]
    noted(repo, commit, b"\n".join(line(repo, login=name) for name in ("Ada", "ADA", "ada")))
    assert logins(known(host, JOB, commit)) == ["Ada"]


def test_a_team_cannot_be_asked_locally(repo: Scratch, host: LocalHost) -> None:
    name = path("teams/x")
    commit = repo.commit({"teams/x": "1"})
    host.approve(name, "bob", NOON)
    host.approve(name, "ada", NOON)
    found = known(host, name, commit)
    assert logins(found) == ["ada"]
    assert found.refused == (
        "@bob may belong to @acme/nlp, eve@acme.com, which cannot be asked locally",
    )


@pytest.mark.parametrize("mode", ["100755", "120000"])
def test_only_a_plain_file_can_be_approved(repo: Scratch, host: LocalHost, mode: str) -> None:
    sha = repo.run("hash-object", "-w", "--stdin", stdin=b"1")
    repo.run("update-index", "--add", "--cacheinfo", f"{mode},{sha},jobs/a.yml")
    commit = repo.committed()
    noted(repo, commit, line(repo))
    found = known(host, JOB, commit)
    assert (found.approvers, found.trusted) == ((), False)
    assert found.refused == (f"the file has the mode {mode}, and only 100644 can be approved",)


# What is refused


@pytest.mark.parametrize("login", ["", "@", "@acme/nlp", "a b", "-ada", "ada-", "a\x1b[1m", "ü"])
def test_only_a_person_can_approve(repo: Scratch, host: LocalHost, login: str) -> None:
    repo.commit({"jobs/a.yml": "1"})
    with pytest.raises(ApprovalRefusedError, match="is not a login"):
        host.approve(JOB, login, NOON)


@pytest.mark.parametrize("staged", [True, False])
def test_what_is_not_committed_cannot_be_approved(
    repo: Scratch, host: LocalHost, *, staged: bool
) -> None:
    repo.commit({"jobs/a.yml": "1"})
    for content in ("2", None):
        if content is None:
            (repo.root / "jobs/a.yml").unlink()
        else:
            repo.write({"jobs/a.yml": content})
        if staged:
            repo.run("add", "--all")
        with pytest.raises(ApprovalRefusedError, match=r"`jobs/a\.yml` differs from HEAD"):
            host.approve(JOB, "ada", NOON)
    repo.write({"new": "1"})
    with pytest.raises(ApprovalRefusedError, match="`new` differs from HEAD"):
        host.approve(path("new"), "ada", NOON)


@pytest.mark.parametrize("name", ["gone", "jobs", "jobs/", "./jobs/a.yml", "jobs/*", "", "a\nb"])
def test_only_a_file_that_was_there_can_be_approved(
    repo: Scratch, host: LocalHost, name: str
) -> None:
    repo.commit({"jobs/a.yml": "1"})
    with pytest.raises(ApprovalRefusedError, match="is not a"):
        host.approve(path(name), "ada", NOON)


def test_another_file_may_be_dirty(repo: Scratch, host: LocalHost) -> None:
    repo.commit({"jobs/a.yml": "1"})
    repo.write({"jobs/b.yml": "1", "README": "changed"})
    assert host.approve(JOB, "ada", NOON).login == "ada"


# Many paths, and history


def test_many_paths_are_answered_in_a_bounded_number_of_processes(
    repo: Scratch, host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.switch("topic")
    names = [path(f"jobs/{n}.yml") for n in range(8)]
    for name in names:
        repo.commit({name: name})
    host.approve(names[3], "ada", NOON)
    repo.back()
    at = repo.merge("topic")
    calls = 0
    spawn = subprocess.Popen

    def counted(*args: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        return spawn(*args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", counted)
    found = host.approvals([*names, path("never")], at)
    assert calls <= 18
    approved = [n for n, a in found.items() if isinstance(a, Known) and a.value.approvers]
    assert approved == [names[3]]
    never = found[path("never")]
    assert isinstance(never, Unavailable)
    assert never.why == f"no commit up to {at[:12]} has it"


def test_without_history_nothing_is_known(repo: Scratch, tmp_path: Path) -> None:
    repo.commit({"jobs/a.yml": "1"})
    repo.run("clone", "--quiet", "--depth=1", f"file://{repo.root}", str(tmp_path / "clone"))
    clone = LocalHost(Git(tmp_path / "clone"), lambda: LATER)
    answer = clone.approval(JOB, repo.head())
    assert isinstance(answer, Unavailable)
    assert "is a shallow clone" in answer.why


def test_every_version_comes_with_its_own_approvals_newest_first(
    repo: Scratch, host: LocalHost
) -> None:
    assert list(host.versions(JOB, repo.head())) == []
    repo.commit({"jobs/a.yml": "1"})
    host.approve(JOB, "ada", NOON)
    host.approve(JOB, "lin", NOON)
    repo.commit({"jobs/a.yml": "2"})
    host.approve(JOB, "ada", NOON)
    repo.commit({"jobs/a.yml": "3"})
    host.approve(JOB, "mallory", NOON)
    at = repo.commit({"jobs/a.yml": None})
    host.approve(JOB, "ada", NOON)
    found = [(v.content, [a.login for a in v.approval.approvers]) for v in host.versions(JOB, at)]
    assert found == [(b"3", []), (b"2", ["ada"]), (b"1", ["ada", "lin"])]
    (root,) = host.versions(path("README"), at)
    assert (root.content, root.approval.trusted) == (b"", True)

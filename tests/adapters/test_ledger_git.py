"""The ledger on real git: races, lost replies, remotes, and whatever stands on the branch."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.adapters.git_process import GitFailedError, Runner, ShallowCloneError
from controller.adapters.ledger_branch import without_user
from controller.adapters.ledger_git import GitLedger, ledger_place
from controller.errors import AdmitError, CannotRunError, UnavailableError, UsageError
from controller.ledger.store import Change, LostRaceError, MissingLedgerError
from controller.values import CommitId
from tests.adapters.scratch import NOON, START, Scratch

ROOT = Path(__file__).parents[2]
BRANCH = "admit-ledger"
REF = f"refs/heads/{BRANCH}"


def everything(_: str) -> bool:
    return True


def change(title: str = "change", **files: str) -> Change:
    return Change(title, {name: text.encode() for name, text in files.items()})


def begun(ledger: GitLedger) -> CommitId:
    return ledger.append([change("begin", a="1")], after=None, at=NOON)


class Interrupted(Runner):
    """Git, with something that happens just before, or instead of, the first swap."""

    def __init__(
        self,
        root: Path,
        before: Callable[[], object] = lambda: None,
        after: Callable[[], object] = lambda: None,
        refuse: bool = False,
    ) -> None:
        super().__init__(root)
        self.before, self.after, self.refuse = before, after, refuse
        self.swapped = False

    def attempt(
        self, *args: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, bytes]:
        swap = args[0] == "push" or (args[0] == "update-ref" and REF in args)
        if not swap or self.swapped:
            return super().attempt(*args, stdin=stdin, environment=environment)
        self.swapped = True
        self.before()
        if self.refuse:
            return 1, b"", b"fatal: no\n"
        super().attempt(*args, stdin=stdin, environment=environment)
        self.after()
        raise GitFailedError("`git` took longer than 120 s")


class World:
    """One ledger, the repository that has its branch, and clients of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, far: bool) -> None:
        self.remote = "origin" if far else ""
        self.server = Scratch(folder / "server", monkeypatch, *(["--bare"] if far else []))
        self.root = self.server.root
        if far:
            clone = Scratch(folder / "clone", monkeypatch)
            clone.run("remote", "add", "origin", str(self.server.root))
            self.root = clone.root

    def ledger(self, git: Runner | None = None) -> GitLedger:
        return GitLedger(git or Runner(self.root), BRANCH, self.remote)

    def head(self) -> str:
        return self.server.run("rev-parse", REF)

    def line(self) -> list[str]:
        return self.server.run("log", "--format=%s", REF).splitlines()


@pytest.fixture(params=[False, True], ids=["local", "remote"])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch, request.param)


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch, True)


# Only the swap decides


def test_who_comes_between_the_look_and_the_swap_wins(world: World) -> None:
    head = begun(world.ledger())
    other = world.ledger()
    git = Interrupted(
        world.root, before=lambda: other.append([change("other", b="1")], after=head, at=NOON)
    )
    with pytest.raises(LostRaceError, match="somebody else"):
        world.ledger(git).append([change("mine", b="2")], after=head, at=NOON)
    assert world.line() == ["other", "begin"]


def test_who_begins_between_the_look_and_the_swap_wins(world: World) -> None:
    git = Interrupted(world.root, before=lambda: begun(world.ledger()))
    with pytest.raises(LostRaceError, match="exists already"):
        world.ledger(git).append([change("mine", b="2")], after=None, at=NOON)
    assert world.line() == ["begin"]


def test_a_branch_that_was_moved_back_meanwhile_is_not_moved(world: World) -> None:
    first = begun(world.ledger())
    head = world.ledger().append([change("second", b="1")], after=first, at=NOON)
    git = Interrupted(world.root, before=lambda: world.server.run("update-ref", REF, first))
    with pytest.raises(LostRaceError):
        world.ledger(git).append([change("third", b="2")], after=head, at=NOON)
    assert world.head() == first


PROGRAM = """
    import sys
    from datetime import UTC, datetime
    from pathlib import Path
    from controller.adapters.git_process import Runner
    from controller.adapters.ledger_git import GitLedger
    from controller.ledger.store import Change, LostRaceError

    name, root, remote, head = sys.argv[1:]
    ledger = GitLedger(Runner(Path(root)), "admit-ledger", remote)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        change = Change(name, {name: b"1"})
        print(ledger.append([change], after=head, at=datetime(2026, 11, 30, tzinfo=UTC)))
    except LostRaceError:
        print("lost")
"""


def test_of_processes_that_append_at_once_exactly_one_wins(world: World) -> None:
    head = begun(world.ledger())
    for number in range(2):
        args = [str(world.root), world.remote, head]
        racers = [
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(PROGRAM), f"{name}{number}", *args],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("one", "other")
        ]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        said = sorted(racer.communicate(timeout=60)[0].strip() for racer in racers)
        new = world.head()
        assert said == sorted([new, "lost"])
        assert world.server.run("rev-list", f"{head}..{new}") == new
        head = CommitId(new)


# Whether it was written


def test_a_swap_that_was_done_and_not_answered_is_done(world: World) -> None:
    head = begun(world.ledger())
    new = world.ledger(Interrupted(world.root)).append([change(b="1")], after=head, at=NOON)
    assert world.head() == new


def test_it_is_done_also_when_somebody_has_appended_since(world: World) -> None:
    head = begun(world.ledger())

    def append() -> None:
        ledger = world.ledger()
        ledger.append([change("next")], after=ledger.read(everything).head, at=NOON)

    git = Interrupted(world.root, after=append)
    new = world.ledger(git).append([change("mine")], after=head, at=NOON)
    assert world.line() == ["next", "mine", "begin"]
    assert world.server.run("rev-parse", f"{REF}^") == new


def test_a_swap_that_was_refused_says_so_in_gits_words(world: World) -> None:
    head = begun(world.ledger())
    git = Interrupted(world.root, refuse=True)
    with pytest.raises(UnavailableError, match=r"was not written to.*: fatal: no") as caught:
        world.ledger(git).append([change(b="1")], after=head, at=NOON)
    assert world.ledger().place in str(caught.value)
    assert world.head() == head


def test_a_server_that_dies_after_it_has_written_has_written(far: World) -> None:
    head = begun(far.ledger())
    hook = far.server.root / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text('#!/bin/sh\ncat >/dev/null\n[ "$1" != committed ] || kill -9 $PPID\n')
    hook.chmod(0o755)
    new = far.ledger().append([change(b="1")], after=head, at=NOON)
    assert new == far.head() != head


def test_a_server_that_refuses_is_quoted(far: World) -> None:
    head = begun(far.ledger())
    hook = far.server.root / "hooks" / "pre-receive"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(UnavailableError, match="pre-receive hook declined"):
        far.ledger().append([change(b="1")], after=head, at=NOON)
    assert far.head() == head


def test_a_remote_that_goes_away_in_the_middle_leaves_it_unknown(far: World) -> None:
    head = begun(far.ledger())

    def leave() -> None:
        far.server.root.rename(far.server.root.with_name("gone"))

    with pytest.raises(UnavailableError, match="not known whether"):
        far.ledger(Interrupted(far.root, before=leave)).append([change()], after=head, at=NOON)


# The remote


def test_a_remote_that_cannot_be_reached_is_not_a_missing_ledger(far: World) -> None:
    head = begun(far.ledger())
    far.server.root.rename(far.server.root.with_name("gone"))
    for act in (
        lambda: far.ledger().read(everything),
        lambda: far.ledger().steps(),
        lambda: far.ledger().append([change()], after=head, at=NOON),
    ):
        with pytest.raises(UnavailableError, match="`admit-ledger` at `origin`"):
            act()


def test_a_branch_that_was_deleted_is_missing(world: World) -> None:
    head = begun(world.ledger())
    world.ledger().read(everything)
    world.server.run("update-ref", "-d", REF)
    with pytest.raises(MissingLedgerError, match="does not exist") as caught:
        world.ledger().read(everything)
    assert "`admit ledger init`" in caught.value.remedy
    with pytest.raises(LostRaceError):
        world.ledger().append([change()], after=head, at=NOON)


def test_a_branch_that_was_rewritten_is_read_as_it_is_and_old_heads_are_refused(
    world: World,
) -> None:
    first = begun(world.ledger())
    head = world.ledger().append([change(b="1")], after=first, at=NOON)
    tree = world.server.run("rev-parse", f"{first}^{{tree}}")
    other = world.server.run("commit-tree", tree, "-m", "rewritten")
    world.server.run("update-ref", REF, other)
    assert world.ledger().read(everything).head == other
    with pytest.raises(CannotRunError, match="is not a commit of the ledger"):
        world.ledger().steps(head)
    with pytest.raises(LostRaceError):
        world.ledger().append([change(c="1")], after=head, at=NOON)
    assert world.head() == other


def test_a_clone_finds_a_ledger_that_only_the_remote_has(
    far: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = begun(far.ledger())
    clone = Scratch(tmp_path / "another", monkeypatch)
    clone.run("remote", "add", "up", str(far.server.root))
    ledger = GitLedger(Runner(clone.root), BRANCH, "up")
    assert ledger.read(everything).files == {"a": b"1"}
    assert [step.title for step in ledger.steps()] == ["begin"]
    assert clone.run("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags") == ""
    assert not (clone.root / ".git" / "FETCH_HEAD").exists()
    new = ledger.append([change(b="1")], after=head, at=NOON)
    assert far.ledger().read(everything).head == new


@pytest.mark.parametrize("form", ["path", "relative", "url"])
def test_a_remote_need_not_be_configured(far: World, form: str) -> None:
    begun(far.ledger())
    server = far.server.root
    remote = {"path": str(server), "relative": "../server", "url": server.as_uri()}[form]
    ledger = GitLedger(Runner(far.root), BRANCH, remote)
    assert ledger.read(everything).files == {"a": b"1"}


def test_a_shallow_clone_reads_appends_and_cannot_tell_the_whole_line(
    far: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = begun(far.ledger())
    head = far.ledger().append([change("second", b="1")], after=first, at=NOON)
    clone = Scratch(tmp_path / "shallow", monkeypatch)
    url = far.server.root.as_uri()
    clone.run("remote", "add", "origin", url)
    clone.run("fetch", "--quiet", "--depth=1", "origin", REF)
    ledger = GitLedger(Runner(clone.root), BRANCH, "origin")
    assert ledger.read(everything).head == head
    new = ledger.append([change("third", c="1")], after=head, at=NOON)
    assert [step.commit for step in ledger.steps(head)] == [new]
    with pytest.raises(ShallowCloneError, match="shallow"):
        list(ledger.steps())


def test_a_partial_clone_reads_it(
    far: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(far.ledger())
    far.server.run("config", "uploadpack.allowFilter", "true")
    clone = Scratch(tmp_path / "partial", monkeypatch)
    clone.run("remote", "add", "origin", far.server.root.as_uri())
    clone.run("config", "remote.origin.promisor", "true")
    clone.run("config", "remote.origin.partialclonefilter", "blob:none")
    ledger = GitLedger(Runner(clone.root), BRANCH, "origin")
    head = ledger.read(lambda _: False).head
    far.server.root.rename(far.server.root.with_name("gone"))
    assert clone.run("cat-file", "blob", f"{head}:a") == "1"


def test_what_a_user_has_configured_for_pushes_does_nothing_here(far: World) -> None:
    clone = far.root
    for name, value in (
        ("push.followTags", "true"),
        ("push.recurseSubmodules", "check"),
        ("fetch.prune", "true"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("remote.origin.tagOpt", "--tags"),
        ("push.useForceIfIncludes", "true"),
        ("core.ignorecase", "true"),
        ("core.logAllRefUpdates", "always"),
        ("user.useConfigOnly", "true"),
        ("core.hooksPath", str(clone / "hooks")),
    ):
        subprocess.run(["git", "config", name, value], cwd=clone, check=True)
    (clone / "hooks").mkdir()
    for hook in ("pre-push", "reference-transaction"):
        (clone / "hooks" / hook).write_text("#!/bin/sh\nexit 1\n")
        (clone / "hooks" / hook).chmod(0o755)
    head = begun(far.ledger())
    new = far.ledger().append([Change("case", {"A": b"2"})], after=head, at=NOON)
    assert far.ledger().read(everything).files == {"A": b"2", "a": b"1"}
    assert far.head() == new
    assert far.server.run("for-each-ref", "--format=%(refname)") == REF


def test_nothing_but_the_branch_is_left(world: World) -> None:
    head = begun(world.ledger())
    git = Interrupted(world.root, refuse=True)
    with pytest.raises(UnavailableError):
        world.ledger(git).append([change(b="1")], after=head, at=NOON)
    with pytest.raises(CannotRunError):
        world.ledger().append([Change("clash", {"a/b": b""})], after=head, at=NOON)
    world.ledger().append([change(b="1")], after=head, at=NOON)
    refs = subprocess.run(
        ["git", "for-each-ref", "--format=%(refname)"],
        cwd=world.root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert [ref for ref in refs if ref.startswith("refs/admit/writing")] == []
    assert len(refs) == 1 + bool(world.remote and f"refs/remotes/origin/{BRANCH}" in refs)


# What stands on the branch


def test_a_tag_with_the_name_of_the_branch_is_not_it(world: World) -> None:
    other = world.server
    tree = other.run("mktree")
    tagged = other.run("commit-tree", tree, "-m", "tagged")
    other.run("update-ref", f"refs/tags/{BRANCH}", tagged)
    other.run("update-ref", f"refs/tags/heads/{BRANCH}", tagged)
    other.run("update-ref", f"refs/x/{REF}", tagged)
    subprocess.run(["git", "fetch", "--quiet", str(other.root), "+refs/tags/*:refs/tags/*"],
                   cwd=world.root, check=True)  # fmt: skip
    with pytest.raises(MissingLedgerError):
        world.ledger().read(everything)
    head = begun(world.ledger())
    new = world.ledger().append([change(b="1")], after=head, at=NOON)
    assert world.ledger().read(everything).head == new == world.head()
    assert other.run("rev-parse", f"refs/tags/{BRANCH}") == tagged


def test_the_log_is_for_people(world: World) -> None:
    begin = Change("begin\nhere", {"a": b""}, "why:\n\n  because ✓\x1b[0m\n")
    head = world.ledger().append([begin], after=None, at=NOON)
    late = datetime(2026, 12, 1, 0, 30, 59, 999999, UTC)
    world.ledger().append([change("réserve 2 h"), change("end")], after=head, at=late)
    git = world.server
    assert git.run("log", "--format=%s", REF).splitlines() == ["end", "réserve 2 h", "begin here"]
    assert git.run("log", "--format=%b", head) == "why:\n\n  because ✓[0m"
    who = "admit <admit@admit.invalid>"
    form = "--format=%an <%ae>|%cn <%ce>|%ai|%ci"
    when = "2026-12-01 00:30:59 +0000"
    assert git.run("log", "-1", form, REF) == f"{who}|{who}|{when}|{when}"
    assert git.run("ls-tree", "-r", REF).startswith("100644 blob ")
    git.run("fsck", "--strict")


def forged(world: World, raw: bytes, *parents: str, tree: str = "") -> CommitId:
    """Put a commit of any bytes on the branch; `raw` is what comes after its parents."""
    server = world.server
    lines = [f"tree {tree or server.run('rev-parse', f'{REF}^{{tree}}')}"]
    lines += [f"parent {parent}" for parent in parents or (world.head(),)]
    content = "".join(f"{line}\n" for line in lines).encode() + raw
    made = server.run("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=content)
    server.run("update-ref", REF, made)
    return CommitId(made)


WHO = b"author x <x@y> 0 +0000\ncommitter x <x@y> %s\n"


@pytest.mark.parametrize(
    "said, at",
    [
        (b"%d +0000" % START, NOON),
        (b"%d -1200" % START, NOON),
        (b"%d +99999" % START, NOON),
        (b"%d" % START, NOON),
        (b"-1 +0000", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (b"99999999999999999 +0000", datetime(9998, 12, 31, tzinfo=UTC)),
        (b"9" * 5000 + b" +0000", datetime(1970, 1, 1, tzinfo=UTC)),
        (b"yesterday", datetime(1970, 1, 1, tzinfo=UTC)),
        (b"", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
    ids=range(9),
)
def test_any_time_is_a_time(world: World, said: bytes, at: datetime) -> None:
    head = begun(world.ledger())
    forged(world, WHO % said + b"\nforged\n")
    (step,) = world.ledger().steps(head)
    assert (step.at.replace(microsecond=0), step.title) == (at, "forged")
    assert world.ledger().read(everything).files == {"a": b"1"}


@pytest.mark.parametrize(
    "raw, title",
    [
        (b"\nnot \xff utf-8\n", "not \ufffd utf-8"),
        (b"\n\n\n  second line\nthird\n\nbody", "  second line"),
        (b"\n", ""),
        (b"", ""),
        (b"encoding utf-7\n\n+AGE-", "+AGE-"),
        (b"gpgsig x\n parent 1\nparent 2\n\ncommitter x 1 +0000", "committer x 1 +0000"),
        (b"\nnul\0here", "nul\0here"),
    ],
    ids=range(7),
)
def test_any_message_is_a_title(world: World, raw: bytes, title: str) -> None:
    head = begun(world.ledger())
    forged(world, WHO % b"1 +0000" + raw)
    (step,) = world.ledger().steps(head)
    assert (step.title, step.parents) == (title, (head,))
    new = world.ledger().append([change(b="1")], after=step.commit, at=NOON)
    assert world.ledger().read(everything, step.commit).files == {"a": b"1"}
    assert world.head() == new


def test_a_commit_of_many_megabytes_is_not_read(world: World) -> None:
    begun(world.ledger())
    forged(world, WHO % b"1 +0000" + b"\n" + b"x" * (5 << 20))
    with pytest.raises(AdmitError, match="cannot be read"):
        list(world.ledger().steps())
    assert world.ledger().read(everything).files == {"a": b"1"}


def test_a_merge_is_one_step_with_all_its_parents(world: World) -> None:
    first = begun(world.ledger())
    second = world.ledger().append([change("second", b="1")], after=first, at=NOON)
    server = world.server
    empty = server.run("mktree")
    side = server.run("commit-tree", empty, "-m", "side")
    merge = forged(world, WHO % b"1 +0000" + b"\nmerge\n", second, side, first, tree=empty)
    *_, step = world.ledger().steps()
    assert (step.commit, step.parents) == (merge, (second, side, first))
    assert step.files == {"a": None, "b": None}
    with pytest.raises(CannotRunError, match="not a commit of the ledger"):
        world.ledger().read(everything, CommitId(side))
    assert world.ledger().read(everything).files == {}


def test_a_file_that_is_none_has_no_content(world: World) -> None:
    head = begun(world.ledger())
    server = world.server
    blob = server.run("hash-object", "-w", "--stdin", stdin=b"a")
    large = server.run("hash-object", "-w", "--stdin", stdin=b"x" * (4 << 20) + b"x")
    entries = (
        f"100644 blob {blob}\tgood",
        f"120000 blob {blob}\tlink",
        f"100755 blob {blob}\texecutable",
        f"160000 commit {head}\tsubmodule",
        f"100644 blob {large}\tlarge",
    )
    listed = b"\0".join([*(e.encode() for e in entries), b"100644 blob %s\t\xff\n" % blob.encode()])
    tree = server.run("mktree", "-z", stdin=listed + b"\0")
    forged(world, WHO % b"1 +0000" + b"\nodd\n", tree=tree)
    nothing = dict.fromkeys(("link", "executable", "submodule", "large"))
    files = {"good": b"a", "\udcff\n": b"a", **nothing}
    assert world.ledger().read(everything).files == files
    (step,) = world.ledger().steps(head)
    assert step.files == {**files, "a": None}


@pytest.mark.parametrize("names", [("a", "a"), ("..", ".git"), ("x/y", "")], ids=range(3))
def test_a_tree_that_git_would_not_make_raises_nothing_else(
    world: World, names: tuple[str, str]
) -> None:
    head = begun(world.ledger())
    server = world.server
    blob = server.run("hash-object", "-w", "--stdin", stdin=b"a")
    raw = b"".join(b"100644 %s\0" % name.encode() + bytes.fromhex(blob) for name in names)
    tree = server.run("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=raw)
    forged(world, WHO % b"1 +0000" + b"\nodd\n", tree=tree)
    for act in (
        lambda: world.ledger().read(everything),
        lambda: list(world.ledger().steps(head)),
        lambda: world.ledger().append([change(b="1")], after=CommitId(world.head()), at=NOON),
    ):
        with suppress(AdmitError):
            act()


def test_a_branch_that_is_a_tag_object_is_refused(world: World) -> None:
    begun(world.ledger())
    world.server.run("tag", "-a", "-m", "x", "annotated", REF)
    tag = world.server.run("rev-parse", "refs/tags/annotated")
    file = next(world.server.root.glob(f"**/{REF}"))
    file.write_text(tag + "\n")
    with pytest.raises(CannotRunError, match="the branch is a tag, not a commit"):
        world.ledger().read(everything)


def test_a_branch_that_is_a_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Scratch(tmp_path / "repo", monkeypatch)
    main = repo.commit({"a": "1"})
    repo.run("symbolic-ref", REF, "refs/heads/main")
    ledger = GitLedger(Runner(repo.root), BRANCH)
    with pytest.raises(CannotRunError, match="a link to `refs/heads/main`"):
        ledger.append([change()], after=main, at=NOON)
    with pytest.raises(UnavailableError, match="not known whether"):
        ledger.append([change()], after=None, at=NOON)
    assert repo.head() == repo.blob(REF) == main


def test_a_folder_of_branches_is_not_the_branch(world: World) -> None:
    commit = world.server.run("commit-tree", world.server.run("mktree"), "-m", "x")
    world.server.run("update-ref", f"{REF}/x", commit)
    with pytest.raises(MissingLedgerError):
        world.ledger().read(everything)
    with pytest.raises(UnavailableError, match="was not written to"):
        begun(world.ledger())


def test_sha256(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = Scratch(tmp_path / "repo", monkeypatch, "--object-format=sha256")
    ledger = GitLedger(Runner(repo.root), BRANCH)
    head = begun(ledger)
    new = ledger.append([change(b="1")], after=head, at=NOON)
    assert [step.commit for step in ledger.steps()] == [head, new]


# How long it takes


def test_ten_thousand_files_and_commits_are_soon_there(world: World) -> None:
    ledger = world.ledger()
    files = {f"decisions/jobs/{n}.json": b'{"n":%d}\n' % n for n in range(10_000)}
    began = time.monotonic()
    head = ledger.append([Change("many", files)], after=None, at=NOON)
    assert ledger.read(everything).files == files
    changes = [Change(f"{n}", {f"runs/{n % 100}": b"%d" % n}) for n in range(1_000)]
    ledger.append(changes, after=head, at=NOON)
    steps = list(ledger.steps())
    assert len(steps) == 1_001
    assert steps[-1].files == {"runs/99": b"999"}
    assert time.monotonic() - began < 60  # a bound for any machine: it is about 2 s


# Where it is


@pytest.mark.parametrize(
    "value, remotes, place",
    [
        ("", ("origin",), ("admit-ledger", "origin")),
        ("", ("upstream",), ("admit-ledger", "")),
        ("ledger", ("origin",), ("ledger", "")),
        ("team/ledger@up", ("up",), ("team/ledger", "up")),
        ("l@git@host:o/r.git", (), ("l", "git@host:o/r.git")),
        ("l@https://u:p@host/r", (), ("l", "https://u:p@host/r")),
        ("l@../ledger.git", (), ("l", "../ledger.git")),
    ],
)
def test_the_place_is_a_branch_and_maybe_a_remote(
    value: str, remotes: tuple[str, ...], place: tuple[str, str]
) -> None:
    assert ledger_place(value, remotes) == place


@pytest.mark.parametrize(
    "value, message",
    [
        ("@origin", "the name of a branch"),
        ("-d@origin", "the name of a branch"),
        ("https://u:secret@host/r", "the name of a branch"),
        ("ledger@", "`` of `ADMIT_LEDGER` is not a remote"),
        ("ledger@orign", "`orign` of `ADMIT_LEDGER` is not a remote of this clone"),
        ("ledger@--upload-pack=/bin/sh", "is not a remote"),
        ("ledger@https://h/\n", "is not a remote"),
    ],
)
def test_a_place_that_is_none_is_refused(value: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        ledger_place(value, ("origin",))
    assert "secret" not in str(caught.value)
    assert caught.value.remedy


def test_a_remote_that_is_not_configured_brings_the_nearest_one() -> None:
    with pytest.raises(UsageError) as caught:
        ledger_place("ledger@orign", ("origin",))
    assert caught.value.remedy == "did you mean `origin`?"


@given(st.text("ab/.-~^:?*[\\ \t\x7f{~lock", min_size=1, max_size=8) | st.sampled_from([
    "a.lock", "a.lock/b", ".a", "a/.b", "a..b", "a/", "/a", "a//b", "a.", "-", "ä", "a.lockx",
]))  # fmt: skip
def test_the_names_of_branches_are_gits(name: str) -> None:
    ref = ["git", "check-ref-format", "--branch", name]
    allowed = subprocess.run(ref, capture_output=True, cwd="/").returncode == 0
    try:
        refused = ledger_place(name, ()) != (name, "")
    except UsageError:
        refused = True
    assert refused is not allowed


@pytest.mark.parametrize(
    "text, shown",
    [
        ("origin", "origin"),
        ("https://user:secret@host/o/r.git", "https://host/o/r.git"),
        ("https://secret@host/r?token=secret", "https://host/r"),
        ("https://u:secret/@secret@host/r", "https://host/r"),
        ("git@host:o/r.git", "host:o/r.git"),
        ("/srv/a@b.git", "/srv/a@b.git"),
        ("fatal: unable to access 'https://u:secret@host/r/': no", None),
        ("git@host: Permission denied", "host: Permission denied"),
    ],
)
def test_no_password_is_shown(text: str, shown: str | None) -> None:
    assert "secret" not in without_user(text)
    assert without_user(text) == (shown or "fatal: unable to access 'https://host/r/': no")


def test_a_password_is_in_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = Scratch(tmp_path / "repo", monkeypatch)
    url = "http://user:secret@127.0.0.1:9/r.git"
    for remote in (url, "origin"):
        if remote == "origin":
            repo.run("remote", "add", "origin", url)
        ledger = GitLedger(Runner(repo.root), BRANCH, remote)
        with pytest.raises(UnavailableError) as caught:
            ledger.read(everything)
        assert "secret" not in str(caught.value) + caught.value.remedy + ledger.place
        with pytest.raises(UnavailableError) as caught:
            begun(ledger)
        assert "secret" not in str(caught.value) + caught.value.remedy


class TestOffline:
    """What `check` reads: the ledger as this clone has it, without asking the remote."""

    def test_nothing_is_fetched_and_what_was_fetched_last_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo = Scratch(tmp_path / "repo", monkeypatch)
        repo.commit({"a": "a"})
        repo.run("init", "--quiet", "--bare", str(tmp_path / "bare"))
        repo.run("remote", "add", "origin", str(tmp_path / "bare"))
        git = repo.adapter.runner
        offline = GitLedger(git, "admit-ledger", "origin", offline=True)
        with pytest.raises(MissingLedgerError):
            offline.read(lambda path: True)
        first = GitLedger(git, "admit-ledger", "origin").append(
            [Change("one", {"a.json": b"1"})], after=None, at=NOON
        )
        assert offline.read(lambda path: True).files == {"a.json": b"1"}
        other = Scratch(tmp_path / "other", monkeypatch)
        other.run("remote", "add", "origin", str(tmp_path / "bare"))
        theirs = GitLedger(other.adapter.runner, "admit-ledger", "origin")
        theirs.read(lambda path: False)
        theirs.append([Change("two", {"a.json": b"2"})], after=first, at=NOON)
        assert offline.read(lambda path: True).files == {"a.json": b"1"}
        repo.run("fetch", "--quiet", "origin")
        assert offline.read(lambda path: True).files == {"a.json": b"2"}

    def test_it_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        repo = Scratch(tmp_path / "repo", monkeypatch)
        repo.commit({"a": "a"})
        ledger = GitLedger(repo.adapter.runner, "admit-ledger", "origin", offline=True)
        with pytest.raises(UnavailableError, match="only a copy"):
            ledger.append([Change("one", {"a.json": b"1"})], after=None, at=NOON)

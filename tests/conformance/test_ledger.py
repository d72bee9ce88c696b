"""What every ledger does, wherever it is kept: the fake keeps to it as the real ones do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from controller.adapters.git_process import Runner
from controller.adapters.ledger_git import GitLedger
from controller.errors import CannotRunError
from controller.ledger.store import Change, Ledger, Log, LostRaceError, MissingLedgerError, Step
from controller.values import CommitId
from tests.adapters.scratch import NOON, Scratch
from tests.fake_ledger import MemoryLedger

NOWHERE = CommitId("1" * 40)


class Store(Ledger, Log, Protocol):
    """Both sides of one ledger."""


def memory(_: Path, __: pytest.MonkeyPatch) -> Callable[[], Store]:
    ledger = MemoryLedger()
    return lambda: ledger


def local(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Store]:
    repo = Scratch(folder / "repo", monkeypatch)
    return lambda: GitLedger(Runner(repo.root), "admit-ledger")


def remote(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Store]:
    """Each opening is in a clone of its own."""
    server = Scratch(folder / "server.git", monkeypatch, "--bare")
    clones: list[Scratch] = []

    def opened() -> Store:
        clone = Scratch(folder / f"clone{len(clones)}", monkeypatch)
        clone.run("remote", "add", "origin", str(server.root))
        clones.append(clone)
        return GitLedger(Runner(clone.root), "admit-ledger", "origin")

    return opened


@pytest.fixture(params=(memory, local, remote), ids=lambda make: make.__name__)
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Store]:
    """Returns a new client of the same ledger each time."""
    made: Callable[[], Store] = request.param(tmp_path, monkeypatch)
    return made


@pytest.fixture
def ledger(opened: Callable[[], Store]) -> Store:
    return opened()


def everything(_: str) -> bool:
    return True


def change(title: str = "change", body: str = "", **files: str) -> Change:
    return Change(title, {name: text.encode() for name, text in files.items()}, body)


def begun(ledger: Store) -> CommitId:
    return ledger.append([change("begin", a="1", b="1")], after=None, at=NOON)


def contents(ledger: Store, at: CommitId | None = None) -> dict[str, bytes | None]:
    return dict(ledger.read(everything, at).files)


def test_it_says_where_it_is(ledger: Store) -> None:
    assert ledger.place.startswith("`")


def test_before_it_is_begun_there_is_none(ledger: Store) -> None:
    with pytest.raises(MissingLedgerError, match="there is no ledger") as caught:
        ledger.read(everything)
    assert ledger.place in str(caught.value)
    with pytest.raises(MissingLedgerError):
        ledger.steps()
    with pytest.raises(LostRaceError):
        ledger.append([change(a="1")], after=NOWHERE, at=NOON)


def test_what_was_begun_is_read_by_everybody(opened: Callable[[], Store]) -> None:
    head = begun(opened())
    pages = opened().read(everything)
    assert (pages.head, pages.files) == (head, {"a": b"1", "b": b"1"})


def test_it_is_begun_once(opened: Callable[[], Store]) -> None:
    head = begun(opened())
    for ledger in (opened(), opened()):
        with pytest.raises(LostRaceError, match="the ledger"):
            ledger.append([change("again", c="1")], after=None, at=NOON)
    assert opened().read(everything).head == head


def test_only_wanted_files_have_their_content(ledger: Store) -> None:
    begun(ledger)
    assert ledger.read(lambda path: path == "b").files == {"a": None, "b": b"1"}


def test_an_append_changes_what_it_names_and_nothing_else(opened: Callable[[], Store]) -> None:
    ledger = opened()
    head = begun(ledger)
    new = ledger.append([change(b="2", c="")], after=head, at=NOON)
    assert new != head
    assert contents(opened()) == contents(ledger) == {"a": b"1", "b": b"2", "c": b""}


def test_the_ledger_is_read_as_it_was_at_a_commit(ledger: Store) -> None:
    first = begun(ledger)
    ledger.append([change(b="2")], after=first, at=NOON)
    assert ledger.read(everything, first).head == first
    assert contents(ledger, first) == {"a": b"1", "b": b"1"}


def test_a_commit_that_is_not_of_the_ledger_is_refused(ledger: Store) -> None:
    begun(ledger)
    for commit in (NOWHERE, CommitId("--all"), CommitId("HEAD"), CommitId("")):
        with pytest.raises(CannotRunError, match="is not a commit of the ledger"):
            ledger.read(everything, commit)
        with pytest.raises(CannotRunError, match="is not a commit of the ledger"):
            ledger.steps(commit)


def test_who_appends_to_an_old_head_has_lost(opened: Callable[[], Store]) -> None:
    one, other = opened(), opened()
    head = begun(one)
    assert other.read(everything).head == head
    won = one.append([change("one", c="one")], after=head, at=NOON)
    with pytest.raises(LostRaceError, match="no longer at"):
        other.append([change("other", c="other")], after=head, at=NOON)
    assert other.read(everything).head == won
    new = other.append([change("other", d="other")], after=won, at=NOON)
    assert one.read(everything).head == new
    with pytest.raises(LostRaceError):
        one.append([change("one", c="one")], after=NOWHERE, at=NOON)


def test_each_change_is_a_step(ledger: Store) -> None:
    first = begun(ledger)
    later = NOON + timedelta(minutes=1, microseconds=9)
    changes = [change("second", b="2"), change("third", "why", b="3", c="3"), change("fourth")]
    head = ledger.append(changes, after=first, at=later)
    steps = list(ledger.steps())
    names = [step.commit for step in steps]
    assert (names[0], names[-1], len(set(names))) == (first, head, 4)
    at = later.replace(microsecond=0)
    assert steps == [
        Step(names[0], (), NOON, "begin", {"a": b"1", "b": b"1"}),
        Step(names[1], (names[0],), at, "second", {"b": b"2"}),
        Step(names[2], (names[1],), at, "third", {"b": b"3", "c": b"3"}),
        Step(names[3], (names[2],), at, "fourth", {}),
    ]
    assert list(ledger.steps(names[1])) == steps[2:]
    assert list(ledger.steps(head)) == []


def test_the_same_bytes_again_are_no_change_of_the_file(ledger: Store) -> None:
    first = begun(ledger)
    ledger.append([change("again", a="1", b="2")], after=first, at=NOON)
    assert [dict(step.files) for step in ledger.steps(first)] == [{"b": b"2"}]


def test_the_same_change_at_the_same_time_is_another_commit(ledger: Store) -> None:
    first = begun(ledger)
    second = ledger.append([change()], after=first, at=NOON)
    third = ledger.append([change()], after=second, at=NOON)
    assert len({first, second, third}) == 3


@pytest.mark.parametrize(
    "title, shown",
    [
        ("one\nline\r\nof  it", "one line of it"),
        (" \x1b[31mred\x07\x00\u202e ", "[31mred"),
        ("grün – 日本 ✓", "grün – 日本 ✓"),
        ("#1 'quoted' \"twice\" \\n", "#1 'quoted' \"twice\" \\n"),
        ("not \ud800 utf-8 \udce9", "not utf-8"),
        ("data 3", "data 3"),
        ("\n", "untitled"),
    ],
)
def test_a_title_may_be_anything_and_is_one_line(ledger: Store, title: str, shown: str) -> None:
    ledger.append([Change(title, {"a": b""}, f"{title}\nend\n\n")], after=None, at=NOON)
    assert [step.title for step in ledger.steps()] == [shown]


ODD = (
    "a b",
    "-x",
    '"quoted"/\\',
    "tab\tand\nline",
    "ä/日本.json",
    "not-utf8-\udce9",
    ".gitignore",
    "x.git/y",
    "...",
    "a:b*?[c]~^",
    "end\r",
    " ",
    "\x7f",
)


def test_a_path_may_be_odd(ledger: Store) -> None:
    files = {path: path.encode("utf-8", "surrogateescape") for path in ODD}
    ledger.append([Change("odd", files)], after=None, at=NOON)
    assert contents(ledger) == files
    assert [dict(step.files) for step in ledger.steps()] == [files]


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a//b", "a/", ".", "./a", "a/..", "../a", ".git/config", "a/.GIT", "a\0b"],
)
def test_a_path_that_is_none_is_refused(ledger: Store, path: str) -> None:
    with pytest.raises(ValueError, match="not the path of a file in the ledger"):
        ledger.append([Change("bad", {path: b""})], after=None, at=NOON)
    with pytest.raises(MissingLedgerError):
        ledger.read(everything)


def test_nothing_is_not_appended(ledger: Store) -> None:
    with pytest.raises(ValueError, match="nothing to append"):
        ledger.append([], after=None, at=NOON)


def test_a_file_that_could_not_be_read_again_is_refused(ledger: Store) -> None:
    limit = 4 << 20
    head = ledger.append([Change("large", {"a": b"x" * limit})], after=None, at=NOON)
    with pytest.raises(CannotRunError, match="more than 4194304 bytes"):
        ledger.append([Change("larger", {"a": b"x" * (limit + 1)})], after=head, at=NOON)
    assert contents(ledger) == {"a": b"x" * limit}


@pytest.mark.parametrize("path", ["a/x", "d/e", "d", "d/e/f/g"])
def test_no_file_takes_the_place_of_another(ledger: Store, path: str) -> None:
    first = Change("first", {"a": b"1", "d/e/f": b"1"})
    head = ledger.append([first], after=None, at=NOON)
    with pytest.raises(CannotRunError, match="one name would be a file and a folder"):
        ledger.append([change("good", c="1"), Change("bad", {path: b"2"})], after=head, at=NOON)
    assert ledger.read(everything).head == head
    with pytest.raises(CannotRunError, match="one name would be a file and a folder"):
        ledger.append([Change("bad", {"n": b"", "n/m": b""})], after=head, at=NOON)


def test_bytes_come_back_as_they_were(ledger: Store) -> None:
    files = {"nul": b"\0\n\0", "crlf": b"a\r\nb", "blank": b"", "data": b"\ndone\ndata 1\n"}
    ledger.append([Change("bytes", files)], after=None, at=NOON)
    assert contents(ledger) == files

"""CODEOWNERS: who owns a path is what GitHub says, and what GitHub would ignore is a problem."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.documents.owners import PLACES, Owners, kind_of_owner, read_owners
from controller.documents.patterns import ownership
from controller.documents.snapshot import Blob
from controller.values import BlobId

PATH = PLACES[0]
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "codeowners"


def owners(text: str | bytes, mode: str = "100644") -> Owners:
    content = text if isinstance(text, bytes) else text.encode()
    return read_owners(PATH, Blob(mode, BlobId("b" * 40), content))


def cases(name: str) -> list[dict[str, object]]:
    file = CORPUS / name
    found: list[dict[str, object]] = json.loads(file.read_text()) if file.exists() else []
    return found


MATCHES = [
    (case["pattern"], path, expected)
    for case in cases("patterns.json")
    for path, expected in dict(case["paths"]).items()  # type: ignore[call-overload]
]
if MATCHES:

    @pytest.mark.parametrize(("pattern", "path", "expected"), MATCHES)
    def test_every_pattern_of_the_corpus(pattern: str, path: str, expected: bool) -> None:
        assert bool(ownership(pattern).match(path)) is expected

    @pytest.mark.parametrize("case", cases("tricky.json"), ids=lambda case: str(case["name"]))
    def test_every_file_of_the_corpus(case: dict[str, object]) -> None:
        found = owners(str(case["codeowners"])).of(str(case["path"]))
        assert (None if found is None else list(found)) == case["owners"]


SAYS = [
    ("* @d\n/a/ @x\n", "a/f", ("@x",)),
    ("/a/ @x\n* @d\n", "a/f", ("@d",)),
    ("* @d\n/a/ @x @org/t y@example.com\n", "a/f", ("@x", "@org/t", "y@example.com")),
    ("* @d\n/a/x # nobody owns it\n", "a/x", ()),
    ("* @d\n/a/x # nobody owns it\n", "a/y", ("@d",)),
    ("/a @x\n", "b", None),
    ("", "b", None),
    ("# only @this\n\n   \n", "b", None),
    ("*\t@a \t@b   # c @d\n", "f", ("@a", "@b")),
    ("   /a/ @x", "a/f", ("@x",)),
    ("* @d\r\n/a/ @x\r\n", "a/f", ("@x",)),
    ("/My\\ Dir/ @x\n", "My Dir/f", ("@x",)),
    ("* @user_corp\n", "f", ("@user_corp",)),
    # A line that GitHub ignores leaves the path to the lines above it.
    ("* @d\n!/a/ @x\n", "a/f", ("@d",)),
    ("* @d\n/a/ x\n", "a/f", ("@d",)),
    ("* @d\n/a/ @x y\n", "a/f", ("@d",)),
    ("* @d\n/[ab]/ @x\n", "a/f", ("@d",)),
    ("* @d\n\\#a @x\n", "#a", ("@d",)),
    ("* @d\n/a/*** @x\n", "a/f", ("@d",)),
    ("* @d\n- @x\n", "a/f", ("@d",)),
    ("* @d\n- @x\n", "-", ("@x",)),
    ("* @d\n@org/t\n", "a", ("@d",)),
    ("* @d\n/A/ @x\n", "a/f", ("@d",)),
    ("* @d\n/a/ @x # \u202e\n", "a/f", ("@x",)),
    ("* @d\n/a/\u200b @x\n", "a/f", ("@d",)),
]


@pytest.mark.parametrize(("text", "path", "expected"), SAYS)
def test_the_last_line_that_matches_says_who_owns(
    text: str, path: str, expected: tuple[str, ...] | None
) -> None:
    assert owners(text).of(path) == expected


OWNER_FORMS = "write an owner as `@user`, `@org/team` or an e-mail address"
BROKEN = [
    (
        "- @acme/leads",
        "bad-pattern",
        "`-` begins the line, so that it is about a file named `-`",
        "remove the `-`; CODEOWNERS is not a list",
    ),
    (
        "@acme/leads",
        "no-pattern",
        "`@acme/leads` stands where a pattern belongs, so that it is a path",
        "write `* @acme/leads`; if a path of that name is meant, `/@acme/leads`",
    ),
    (
        "@acme/leads @ada",
        "no-pattern",
        "`@acme/leads` stands where a pattern belongs, so that it is a path",
        "write `* @acme/leads`; if a path of that name is meant, `/@acme/leads`",
    ),
    (
        "ada@example.com",
        "no-pattern",
        "`ada@example.com` stands where a pattern belongs, so that it is a path",
        "write `* ada@example.com`; if a path of that name is meant, `/ada@example.com`",
    ),
    (
        "[Admissions] @acme/leads",
        "bad-pattern",
        "`[Admissions]` opens a section, which only GitLab knows",
        "remove the line; write the owners on every pattern's line",
    ),
    (
        "^[Optional][2]",
        "bad-pattern",
        "`^[Optional][2]` opens a section, which only GitLab knows",
        "remove the line; write the owners on every pattern's line",
    ),
    (
        "/adm[ab]/ @ada",
        "bad-pattern",
        "`/adm[ab]/` has a bracket, which GitHub does not support in a pattern",
        "write one line for each name, or use `?` or `*`",
    ),
    (
        "!/a @ada",
        "bad-pattern",
        "`!/a` begins with `!`, which GitHub does not support",
        "write a later line for that path, with its own owners",
    ),
    (
        "\\#a @ada",
        "bad-pattern",
        "`\\#a` has a `\\#`, which GitHub does not support",
        "write `?` for the `#`, or rename the file",
    ),
    (
        "/a/*** @ada",
        "bad-pattern",
        "`/a/***` has three stars in a row, which GitHub does not support",
        "write `*` for one part of a path, `**` for any number",
    ),
    (
        "**/ @ada",
        "bad-pattern",
        "`**/` has nothing but `/` between or after its `**`, which is unclear",
        "write `**` once, and after it the name that is meant",
    ),
    (
        "/a/**/**/b @ada",
        "bad-pattern",
        "`/a/**/**/b` has nothing but `/` between or after its `**`, which is unclear",
        "write `**` once, and after it the name that is meant",
    ),
    (
        "/ @ada",
        "bad-pattern",
        "`/` has an empty part, so that it matches no path",
        "write `*` for every file, else one `/` between names",
    ),
    (
        "a//b @ada",
        "bad-pattern",
        "`a//b` has an empty part, so that it matches no path",
        "write `*` for every file, else one `/` between names",
    ),
    (
        "/a\\/b @ada",
        "bad-pattern",
        "`/a\\/b` has a backslash that escapes nothing",
        "remove the backslash; the parts of a path stand between `/`",
    ),
    (
        "/a\\",
        "bad-pattern",
        "`/a\\` has a backslash that escapes nothing",
        "remove the backslash; the parts of a path stand between `/`",
    ),
    (
        "/a/ ada",
        "bad-owner",
        "`ada` is not an owner, so that the whole line is ignored",
        f"{OWNER_FORMS}; a blank in a pattern is `\\ `",
    ),
    (
        "/a#b @ada",
        "bad-pattern",
        "`#` is glued to `/a`; what follows may be a comment or a part of it",
        "put a blank before a comment; write `?` for a `#` in a name",
    ),
    (
        "/a @ada#b",
        "bad-pattern",
        "`#` is glued to `@ada`; what follows may be a comment or a part of it",
        "put a blank before a comment; write `?` for a `#` in a name",
    ),
    (
        "/a/\u00a0@ada",
        "invisible-character",
        "the character U+00A0 NO-BREAK SPACE cannot be seen by a reviewer",
        "remove U+00A0 at column 4",
    ),
    (
        "/a/ @ada # \u202e",
        "invisible-character",
        "the character U+202E RIGHT-TO-LEFT OVERRIDE cannot be seen by a reviewer",
        "remove U+202E at column 12",
    ),
]


@pytest.mark.parametrize(("line", "code", "message", "remedy"), BROKEN)
def test_a_line_that_does_not_say_what_it_means_is_a_problem(
    line: str, code: str, message: str, remedy: str
) -> None:
    found = owners(f"* @d\n\n{line}\n/b/ @x\n")
    assert [(p.code, p.message, p.remedy) for p in found.problems] == [(code, message, remedy)]
    assert [(p.where.path, p.where.line) for p in found.problems] == [(PATH, 3)]
    assert found.of("b/f") == ("@x",)


@pytest.mark.parametrize(
    "line",
    [
        "* @d",
        "/a/x",
        "/a/ @x # 🚀\ufe0f ready",
        "# [Section] ! \\# - @x",
        "icon@2x.png @d",
        "packages/@types/ @d",
        "a/**/ @d",
        "/a\\\\b @d",
        "",
    ],
)
def test_a_line_that_github_reads_as_it_is_meant_is_none(line: str) -> None:
    assert owners(line).problems == ()


def test_every_bad_owner_of_every_line_is_reported() -> None:
    found = owners("/a/ x @y\n/b/ @x @-y z\n").problems
    assert [(p.where.line, p.message.split("`")[1]) for p in found] == [
        (1, "x"),
        (2, "@-y"),
        (2, "z"),
    ]


def test_bytes_that_are_not_utf_8_spoil_their_line_only() -> None:
    found = owners(b"* @d\n/\xff/ @x\n/b/ @y\n")
    assert [(p.code, p.where.line) for p in found.problems] == [("encoding", 2)]
    assert found.problems[0].message == "byte 2 of the line is not UTF-8"
    assert (found.of("a"), found.of("b/f")) == (("@d",), ("@y",))


def test_of_a_file_of_3_mb_nobody_owns_anything() -> None:
    line = b"* @d\n"
    found = owners(line * (3_000_000 // len(line)))
    assert [(p.code, p.message) for p in found.problems] == [
        ("too-large", "the file has 3,000,000 bytes; GitHub loads none of 3,000,000 or more")
    ]
    assert found.of("a") is None


@pytest.mark.parametrize("mode", ["100755", "120000", "160000"])
def test_codeowners_must_be_a_regular_file(mode: str) -> None:
    found = owners("* @d\n", mode)
    message = f"CODEOWNERS has the mode {mode}, so that it is not a plain file"
    assert [(p.code, p.where.line, p.message) for p in found.problems] == [
        ("not-a-file", 0, message)
    ]
    assert found.of("a") is None


@pytest.mark.parametrize(
    ("owner", "kind"),
    [
        ("@ada", "user"),
        ("@ada-l_corp", "user"),
        ("@acme/nlp", "team"),
        ("@acme/n.l_p", "team"),
        ("ada@example.co.uk", "email"),
        ("@", None),
        ("@-ada", None),
        ("@acme/", None),
        ("@acme/nlp/x", None),
        ("ada", None),
        ("ada@localhost", None),
        ("@ada\n", None),
    ],
)
def test_an_owner_is_a_user_a_team_or_an_address(owner: str, kind: str | None) -> None:
    assert kind_of_owner(owner) == kind


def test_a_thousand_paths_are_asked_quickly() -> None:
    lines = [f"/team{i}/**/x*/ @o/t{i}\n*.e{i} @b\n/d{i}/ @c\n" for i in range(50)]
    found = owners("* @a\n" + "".join(lines))
    start = time.process_time()
    answers = {found.of(f"jobs/team{i % 50}/deep/er/job{i}.yml") for i in range(1_000)}
    assert answers == {("@a",)}
    assert time.process_time() - start < 2


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.text(max_size=30))
def test_no_bytes_raise(content: bytes, path: str) -> None:
    owners(content).of(path)


LINES = st.text(st.sampled_from("ab/*?\\# @[]!.-^\t\u200b\u00a0é"), max_size=30)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=5))
def test_no_lines_raise_and_each_problem_has_its_line(lines: list[str]) -> None:
    found = owners("\n".join(lines))
    found.of("a/b.c")
    assert all(1 <= p.where.line <= len(lines) and p.message and p.remedy for p in found.problems)

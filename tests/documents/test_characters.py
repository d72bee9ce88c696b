"""Every character that a reviewer cannot see is found, and named."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from controller.documents.characters import (
    NOT_IN_PROSE,
    NOT_IN_TEXT,
    NOT_IN_YAML,
    named,
    only_plain,
    quoted,
    unseen_characters,
)
from controller.values import Location, Problem, RepoPath

PATH = RepoPath("jobs/bert.yml")

# Format characters (Cf) that draw something: signs that stand around or above numbers and words.
_VISIBLE_FORMATS = {
    *range(0x0600, 0x0606),
    *(0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD),
}
# Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt): drawn as nothing.
_IGNORABLE = {
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
}


def _every() -> set[int]:
    hidden = set(_IGNORABLE)
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category in ("Cc", "Zs", "Zl", "Zp") or (
            category == "Cf" and code not in _VISIBLE_FORMATS
        ):
            hidden.add(code)
    return hidden - {0x0A, 0x20}


def test_yaml_has_nothing_that_is_drawn_as_nothing_but_spaces_and_line_feeds():
    missed = {f"U+{code:04X}" for code in _every() if not NOT_IN_YAML.search(chr(code))}
    assert missed == set()


def test_a_tab_is_no_part_of_yaml_but_may_be_meant_by_an_escape():
    assert NOT_IN_YAML.search("\t")
    assert not NOT_IN_TEXT.search("\t\n")


@pytest.mark.parametrize(
    "text", ["plain ASCII ~", "\n", "é ü ß", "漢字 かな", "🙂 →", "٣", "\ufffd"]
)
def test_what_a_reviewer_sees_is_allowed(text: str):
    assert NOT_IN_YAML.search(text) is None


@pytest.mark.parametrize("text", ["\t", "\u00a0", "\u3000", "❤\ufe0f"])
def test_prose_may_have_tabs_wide_blanks_and_emoji_selectors(text: str):
    assert NOT_IN_PROSE.search(text) is None


@pytest.mark.parametrize("text", ["\u200b", "\u202e", "\x00", "\r", "\U000e0041", "\ufffe"])
def test_prose_has_no_hidden_characters_either(text: str):
    assert NOT_IN_PROSE.search(text)


@pytest.mark.parametrize(
    "character, name",
    [
        ("\u200b", "U+200B ZERO WIDTH SPACE"),
        ("\t", "U+0009 TAB"),
        ("\x00", "U+0000 NULL"),
        ("\r", "U+000D CARRIAGE RETURN"),
        ("\x85", "U+0085 NEXT LINE"),
        ("\x07", "U+0007 CONTROL CHARACTER"),
        ("\ufffe", "U+FFFE UNASSIGNED"),
        ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
    ],
)
def test_a_character_is_called_by_its_code_point_and_name(character: str, name: str):
    assert named(character) == name


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a b", "`a b`"),
        ("a\nb\u200b\t", "`a\\u000Ab\\u200B\\u0009`"),
        ("\U000e0041", "`\\U000E0041`"),
        ("x" * 60, "`" + "x" * 60 + "`"),
        ("x" * 61, "`" + "x" * 57 + "...`"),
    ],
)
def test_a_message_shows_a_text_on_one_line_short_and_visible(text: str, shown: str):
    assert quoted(text) == shown


@pytest.mark.parametrize(
    "content, plain",
    [(b"", True), (b"a: 1\n", True), (b"a\t", False), (b"a\r\n", False), ("é".encode(), False)],
)
def test_printable_ascii_needs_no_closer_look(content: bytes, plain: bool):
    assert only_plain(content) is plain


def test_each_hidden_character_is_a_problem_at_its_own_line_and_column():
    assert unseen_characters("a\u200bb\n\n \u00a0\n", PATH, 5) == [
        Problem(
            "invisible-character",
            Location(PATH, 5, 2),
            "the character U+200B ZERO WIDTH SPACE cannot be seen by a reviewer",
            "remove U+200B at column 2",
        ),
        Problem(
            "invisible-character",
            Location(PATH, 7, 2),
            "the character U+00A0 NO-BREAK SPACE cannot be seen by a reviewer",
            "remove U+00A0 at column 2",
        ),
    ]


def test_a_tab_is_a_matter_of_syntax():
    where = Location(PATH, 1, 3)
    message = "a tab (U+0009) is not allowed"
    assert unseen_characters("a:\tb", PATH, 1) == [
        Problem("yaml-syntax", where, message, "indent with spaces")
    ]


def test_the_first_twenty_are_reported_and_the_rest_when_they_are_gone():
    problems = unseen_characters("\u200b" * 21, PATH, 1)
    assert [problem.where.column for problem in problems] == list(range(1, 21))


def test_prose_is_searched_for_its_own_characters():
    problems = unseen_characters("a\tb\u202e", PATH, 1, pattern=NOT_IN_PROSE)
    assert [problem.message for problem in problems] == [
        "the character U+202E RIGHT-TO-LEFT OVERRIDE cannot be seen by a reviewer"
    ]

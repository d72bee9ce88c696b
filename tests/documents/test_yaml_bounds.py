"""The YAML reader: what nobody can see, and how much is too much."""

from __future__ import annotations

import pytest
from yaml_reading import PATH, read, refusals

from controller.documents import yaml_walk
from controller.documents.yaml import MAX_BYTES
from controller.values import Location

# What a reviewer cannot see


@pytest.mark.parametrize(
    "character, name",
    [
        ("\r", "U+000D CARRIAGE RETURN"),
        ("\x00", "U+0000 NULL"),
        ("\x85", "U+0085 NEXT LINE"),
        ("\u2028", "U+2028 LINE SEPARATOR"),
        ("\u2029", "U+2029 PARAGRAPH SEPARATOR"),
        ("\u00a0", "U+00A0 NO-BREAK SPACE"),
        ("\u200b", "U+200B ZERO WIDTH SPACE"),
        ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("\uffff", "U+FFFF UNASSIGNED"),
    ],
)
@pytest.mark.parametrize("place", ["# c{}d", "a: b{}c", "a{}b: c", "- {}x", "{}y", "a: b{} "])
def test_a_hidden_character_is_named_wherever_it_stands(character: str, name: str, place: str):
    column = place.index("{}") + 1
    found = read("x: y\n" + place.replace("{}", character) + "\n").problems
    expected = (
        f"the character {name} cannot be seen by a reviewer",
        f"remove {name.split()[0]} at column {column}",
        "invisible-character",
        Location(PATH, 2, column),
    )
    assert expected in [(p.message, p.remedy, p.code, p.where) for p in found]


def test_a_tab_is_refused_even_between_words():
    assert refusals("a:\tb") == [
        "1:3 yaml-syntax: a tab (U+0009) is not allowed; indent with spaces"
    ]


def test_only_the_first_byte_order_mark_is_dropped():
    assert refusals("\ufeff\ufeffa: 1") == [
        (
            "1:1 invisible-character: the character U+FEFF ZERO WIDTH NO-BREAK SPACE cannot be "
            "seen by a reviewer; remove U+FEFF at column 1"
        )
    ]


def test_a_hidden_character_in_a_comment_does_not_hide_the_other_problems():
    assert [(p.where.line, p.code) for p in read("a: b # \u200b\nc: 010\n").problems] == [
        (1, "invisible-character"),
        (2, "ambiguous-scalar"),
    ]


def test_a_hidden_line_break_is_blamed_alone_for_what_it_breaks():
    document = read("id: a\u2028owner: b\n")
    assert [problem.code for problem in document.problems] == ["invisible-character"]
    assert document.data is None


def test_where_it_indents_a_hidden_character_ends_the_reading():
    document = read("a:\n\tb: 010\n")
    assert [problem.code for problem in document.problems] == ["yaml-syntax"]
    assert document.data is None


# Bounds


def test_a_document_of_the_greatest_size_is_read():
    assert read(b"a: " + b"x" * (MAX_BYTES - 3)).problems == ()


def test_a_document_over_the_greatest_size_is_not_looked_at():
    assert refusals(b"\xff" * (MAX_BYTES + 1)) == [
        "1:0 too-large: the document has 262,145 bytes; 262,144 is the most that is read; split it"
    ]


@pytest.mark.parametrize(
    "text, place",
    [
        ("[" * 33 + "]" * 33, "1:33"),
        ("- " * 5000, "1:65"),
        ("? " * 5000, "1:65"),
        ("{a: " * 3000, "1:129"),
        ("".join(f"{' ' * i}k:\n" for i in range(500)), "33:33"),
    ],
)
def test_depth_is_bounded(text: str, place: str):
    document = read(text)
    assert refusals(text)[-1] == (
        f"{place} too-deep: this is nested more than 32 levels deep; flatten the document"
    )
    assert document.data is None


@pytest.mark.parametrize("bracket", ["[", "{", "[{"])
def test_libyaml_may_be_the_first_to_find_brackets_too_deep(bracket: str):
    document = read(bracket * 3000)
    last = document.problems[-1]
    assert (last.code, last.message) == ("too-deep", "this is nested more than 32 levels deep")
    assert document.data is None


def test_200_problems_are_told_and_that_there_are_more():
    assert len(read("- NO\n" * 200).problems) == 200
    assert refusals("- NO\n" * 300)[200:] == [
        "201:3 too-large: the document has more than 200 problems; mend those before it first"
    ]
    assert refusals("- NO\n" * 200 + "]")[200:] == [
        "201:1 too-large: the document has more than 200 problems; mend those before it first"
    ]


def test_32_levels_are_read():
    assert read("[" * 32 + "]" * 32).problems == ()


def test_an_alias_counts_with_its_own_depth():
    nested = "a: &a " + "[" * 16 + "]" * 16 + "\n"
    assert read(nested + "b: " + "[" * 15 + "*a" + "]" * 15).problems == ()
    document = read(nested + "b: " + "[" * 16 + "*a" + "]" * 16 + "\nc: NO")
    assert [problem.code for problem in document.problems] == ["too-deep", "ambiguous-scalar"]


def test_20_000_values_are_read_and_no_more():
    assert yaml_walk.MAX_NODES == 20_000
    assert read("[" + "a," * 19_999 + "]").problems == ()
    assert refusals("[" + "a," * 20_000 + "]") == [
        (
            "1:40000 too-large: with its aliases written out the document has more than 20,000 "
            "values; write less, or use fewer aliases"
        )
    ]


@pytest.mark.parametrize("levels", [5, 10, 100])
def test_an_alias_bomb_ends_at_the_alias_that_is_one_too_many(levels: int):
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, levels):
        bomb += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n"
    document = read(bomb)
    assert [(p.code, p.where.line) for p in document.problems] == [("too-large", 5)]
    assert document.data is None


def test_a_bomb_of_merge_keys_is_the_same():
    bomb = "a0: &a0 {k: [x, x, x, x, x, x, x, x, x, x]}\n"
    for level in range(1, 10):
        fields = ", ".join(f"k{field}: {{<<: *a{level - 1}}}" for field in range(10))
        bomb += f"a{level}: &a{level} {{{fields}}}\n"
    assert [problem.code for problem in read(bomb).problems] == ["too-large"]


def test_a_long_text_cannot_be_repeated_by_aliases_without_end():
    text = "a: &a " + "x" * 100_000 + "\nb: [*a, *a, *a]"
    assert refusals(text) == [
        (
            "2:13 too-large: with its aliases written out the document has more than 262,144 "
            "characters; write less, or use fewer aliases"
        )
    ]


def test_long_keys_cannot_be_repeated_in_the_places_of_what_is_in_them():
    key = '"' + "k" * 600 + '"'
    assert read(f"? {key}\n: 1").problems == ()
    assert refusals(f"? {key}\n: ? {key}\n  : 1") == [
        "2:5 too-large: the keys down to here have more than 1,024 characters; use shorter keys"
    ]

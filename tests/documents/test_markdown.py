"""Front matter ends where its second fence is, and only what a reader sees as prose counts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.documents.markdown import (
    MAX_CHARACTERS,
    Halves,
    Section,
    count_words,
    halves,
    sections,
)
from controller.values import Location, Problem, RepoPath

PATH = RepoPath("admissions/a.md")


def words(body: str) -> int:
    """Return the visible words of one section with that body."""
    found, _ = sections(f"## S\n\n{body}".encode(), PATH, 1)
    assert found is not None
    return sum(section.words for section in found)


def headings(body: str) -> list[tuple[str, int, int]]:
    found, _ = sections(body.encode(), PATH, 1)
    return [(s.title, s.level, s.line) for s in found or ()]


FENCED = [
    (b"---\na: 1\n---\ntext\n", b"a: 1\n", b"text\n", 4),
    (b"\xef\xbb\xbf---\na: 1\n---\n", b"a: 1\n", b"", 4),
    (b"---  \na: 1\n---   \ntext", b"a: 1\n", b"text", 4),
    (b"---\r\na: 1\r\n---\r\ntext\r\n", b"a: 1\r\n", b"text\r\n", 4),
    (b"---\na: 1\n---", b"a: 1\n", b"", 3),
    (b"---\n---\ntext", b"", b"text", 3),
    # The first closing line closes; what follows is text, whatever it looks like.
    (b"---\na: 1\n---\n---\nb: 2\n---\n", b"a: 1\n", b"---\nb: 2\n---\n", 4),
    (b"---\na: 1\n---\none\n\n---\n\ntwo\n---\n", b"a: 1\n", b"one\n\n---\n\ntwo\n---\n", 4),
    # None of these lines is exactly three dashes.
    (
        b"---\na: |\n  ---\n---x\n----\n ---\n--- #\n---\nt",
        b"a: |\n  ---\n---x\n----\n ---\n--- #\n",
        b"t",
        9,
    ),
]


@pytest.mark.parametrize(("content", "front", "body", "line"), FENCED)
def test_front_matter_stands_between_two_lines_of_three_dashes(
    content: bytes, front: bytes, body: bytes, line: int
) -> None:
    assert halves(content, PATH) == Halves(front, body, line)


NO_FRONT = "the file does not begin with front matter"
NO_END = "the front matter that begins on line 1 has no end"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", NO_FRONT),
        (b"# title\n---\na: 1\n---\n", NO_FRONT),
        (b"\n---\na: 1\n---\n", NO_FRONT),
        (b" ---\na: 1\n---\n", NO_FRONT),
        (b"----\na: 1\n----\n", NO_FRONT),
        (b"---\t\na: 1\n---\n", NO_FRONT),
        (b"--- a: 1\n---\n", NO_FRONT),
        (b"\xef\xbb\xbf\xef\xbb\xbf---\na: 1\n---\n", NO_FRONT),
        ("---\na: 1\n---\n".encode("utf-16"), NO_FRONT),
        (b"---\na: 1\n", NO_END),
        (b"---\na: 1\n...\n", NO_END),
        (b"---\na: 1\n----\n", NO_END),
        (b"---", NO_END),
    ],
)
def test_a_file_without_front_matter_is_refused_on_line_1(content: bytes, message: str) -> None:
    found = halves(content, PATH)
    assert isinstance(found, Problem)
    assert (found.code, found.where, found.message) == (
        "no-front-matter",
        Location(PATH, 1, 1),
        message,
    )


def test_a_file_beyond_the_bound_is_not_read() -> None:
    found = halves(b"---\n---\n" + b"x" * 256 * 1024, PATH)
    assert isinstance(found, Problem)
    assert (found.code, found.message) == (
        "too-large",
        "the file has 262,152 bytes; 262,144 is the most that is read",
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("one two  three\nfour", 4),
        ("- * — … !? 🚀 ⠀", 0),
        ("don't over-engineer 3,932.40 USD", 4),
        ("Größe Ελλάδα слово عربي हिन्दी", 5),
        ("単語を数える", 3),
        ("BERT単語", 2),
        ("ภาษาไทย", 3),
        ("。、", 0),
    ],
)
def test_a_word_has_a_letter_or_a_digit_in_it(text: str, count: int) -> None:
    assert count_words(text) == count


SEEN = [
    ("one two\nthree", 3),
    ("one  \ntwo", 2),
    ("- one\n- two\n  1. three", 3),
    ("> one two", 2),
    ("| a | b |\n|---|---|\n| one | two |", 4),
    ("*one* **two** `three`", 3),
    ('[one two](https://example.com/a-b-c "a title")', 2),
    ("one[^1]\n\n[^1]: no no", 1),
    ("one\n[^1]: no no\nno", 1),
    ("[^1]: no no\n\none two", 2),
    ("[^1]: no no\n- one two", 2),
    ("3,932.40 $ and 12 $", 3),
    ("costs \\$5 or \\$6 \\* 2", 5),
    ("one $\\text{no no}$ two", 2),
    ("3 $ then $\\text{no no}$ one", 3),
    ("one $$no no$$ two", 2),
    ("3 $ or \\$5 and 4 $", 5),
    ("one<i>\n</i>two", 2),
    ("one `$A` \\* `$B`", 3),
    ("### three\n\none", 1),
    ("&lt;one two&gt;", 2),
    ("1 < 2 and <3 a>", 5),
]

UNSEEN = [
    "[^1]: one two",
    "[^1]: one\ntwo three",
    "[^1]: one\n\n    two three",
    "> - [^a-b]: one two",
    "- -\n[^1]: one\n\n    two\n\n    - three",
    "- -\n[^1]: one\n    two\nthree\n\n    four",
    "<b>\n[^1]: one</b> two",
    '[](u "\n[^1]: one") two',
    "[^1]: one | two\n---|---\nthree | four",
    "$$\none two\n$$",
    "$\\text{one *two* three}$",
    "$one\\, two\nthree$",
    "\\\\$\\text{one two}$",
    "$`\\text{one two}`$",
    "<!-- one two -->",
    "<!--\none\n\ntwo\n-->",
    "<!-- one",
    "<!-- one --><!-- two -->",
    "```\none two\n```",
    "~~~ one\ntwo\n~~~",
    "    one two",
    "[one]: https://example.com 'two'",
    "![one two](a.png)",
    "<https://example.com/one>",
    "<div>one two</div>",
    "<div hidden>\n\none two\n\n</div>",
    "<details><summary>one</summary>\n\ntwo\n\n</details>",
    "<div style='display:none'>\n\none two",
    "<span hidden>one</span> <i>two</i>",
    "<b\nhidden>one\n\ntwo",
    "&#8203; &#x3164; &#x115F; &#xE0041;",
    "\u200b\u3164 \u2060",
    "***\n\n---",
    "<script>one</script>",
    "<?php one ?>",
    "<![CDATA[one]]>",
    "<!DOCTYPE one>",
    # What HTML itself would not close there.
    "<div title='</div>' hidden>\n\none",
    '<div title="</div>" hidden>\n\none',
    "<div hidden a=</div>\n\none",
    "<div hidden>\n\n</span>\n\n</div>\n\none",
    "<div hidden><b></div></b>\n\none",
    "<!--><div hidden>-->\n\none",
    "<!-- --!><div hidden> -->\n\none",
    "<!-- a --><div hidden>\n\none",
    "<div hidden><svg></svg></div>\n\none",
    "<div hidden>\n\n| a |\n|---|\n| </div> |\n\none",
    "<div hidden\n\none",
    "<DIV HIDDEN>\n\none\n\n</DIV>",
    "</div>\n\none",
]


@pytest.mark.parametrize(("body", "count"), SEEN)
def test_prose_counts(body: str, count: int) -> None:
    assert words(body) == count


@pytest.mark.parametrize("body", UNSEEN)
def test_what_no_reader_sees_as_prose_does_not_count(body: str) -> None:
    assert words(body) == 0


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("<!-- no -->\n\none two", 2),
        ("<!-- no --> one", 0),
        ("one <!-- no --> two", 2),
        ("one<br>\ntwo <img src='x'> three", 3),
        ("H<sub>2</sub>O and <kbd>Ctrl</kbd> one", 3),
        ("<details>\n\nno\n\n</details>\n\none two", 2),
        ('<p align="center"><img src="x"></p>\n\none', 1),
        ("<div><div>no</div></div>\n\none", 1),
        ("<div>1 < 2</div>\n\none", 1),
        ("<hr/>\n\none", 1),
        ("<!-->\n\none", 1),
    ],
)
def test_what_stands_beside_html_counts(body: str, count: int) -> None:
    assert words(body) == count


def test_a_visible_heading_opens_a_section_of_its_level() -> None:
    body = "lead\n# One\na\n## Two `x` *y* #\n\nb c\n\nThree\n---\nd\n### Four\n"
    found, problems = sections(body.encode(), PATH, 10)
    assert found == (
        Section("One", 1, 11, 1),
        Section("Two x y", 2, 13, 2),
        Section("Three", 2, 17, 1),
        Section("Four", 3, 20, 0),
    )
    assert problems == ()


@pytest.mark.parametrize(
    "body",
    [
        "```\n## A\n```",
        "    ## A",
        "> ## A",
        "- ## A",
        "<!--\n## A\n-->",
        "<div>\n## A\n</div>",
        "<div hidden>\n\n## A\n\n</div>",
        "\\## A",
        "####### A",
        "##A",
    ],
)
def test_a_heading_that_is_not_the_documents_own_is_none(body: str) -> None:
    assert headings(body) == []


def test_lines_are_those_of_the_file_with_either_line_end() -> None:
    body = "\n\n## A\n\n\ttext\n\n## B\n"
    assert headings(body) == headings(body.replace("\n", "\r\n")) == [("A", 2, 3), ("B", 2, 7)]


@pytest.mark.parametrize(
    ("character", "message"),
    [
        ("\u200b", "the character U+200B ZERO WIDTH SPACE cannot be seen by a reviewer"),
        ("\u202e", "the character U+202E RIGHT-TO-LEFT OVERRIDE cannot be seen by a reviewer"),
        (
            "\U000e0041",
            "the character U+E0041 TAG LATIN CAPITAL LETTER A cannot be seen by a reviewer",
        ),
        ("\u2028", "the character U+2028 LINE SEPARATOR cannot be seen by a reviewer"),
        ("\x00", "the character U+0000 NULL cannot be seen by a reviewer"),
        ("\r", "the character U+000D CARRIAGE RETURN cannot be seen by a reviewer"),
    ],
)
def test_a_character_that_cannot_be_seen_is_refused(character: str, message: str) -> None:
    found, problems = sections(f"## A\n\none {character}two\n".encode(), PATH, 5)
    assert [(p.code, p.where, p.message) for p in problems] == [
        ("invisible-character", Location(PATH, 7, 5), message)
    ]
    assert found == (Section("A", 2, 5, 2),)


def test_tabs_wide_blanks_and_emoji_are_ordinary_in_prose() -> None:
    assert sections("a\tb\u00a0c ⚠\ufe0f\u3000d".encode(), PATH, 1)[1] == ()


def test_html_that_is_left_open_is_refused_where_it_begins() -> None:
    body = "## A\n\n<details>\n\n<b>x</b>\n\n## B\n"
    found, problems = sections(body.encode(), PATH, 5)
    assert problems == (
        Problem(
            "open-html",
            Location(PATH, 7),
            "the HTML that begins here is never closed, so that nothing after it counts",
            "write Markdown instead, or close each element as it was opened",
        ),
    )
    assert [s.title for s in found or ()] == ["A"]


def test_a_body_that_is_not_utf_8_is_refused_at_its_line() -> None:
    found, problems = sections(b"one\n\ntwo \xe9\n", PATH, 5)
    assert found is None
    assert [(p.code, p.where.line, p.message) for p in problems] == [
        ("encoding", 7, "the byte 0xE9 is not UTF-8")
    ]


def test_a_body_beyond_the_bound_is_refused() -> None:
    found, problems = sections(b"x" * (MAX_CHARACTERS + 1), PATH, 5)
    assert found is None
    assert [(p.code, p.where.line, p.message) for p in problems] == [
        ("too-large", 5, "the text has 32,769 characters; 32,768 is the most")
    ]


SLOW = ["[", "[a](", "![", "![[]()", "*a ", "**x", "_a __a ", ">", "> ", "- ", "`", "<", "<!--"]
SLOW += ['<a b="', "<div a='", "<![CDATA[", "&a", "[a]: b\n", "a\n", "|a|\n|-|\n", "</a ", "[a ]"]
SLOW += [
    "<a>",
    "<!-",
    "[^a]: b\n",
    "[^",
    "$",
    "$\\a ",
    "$$a",
    "> 1. ",
    "<a b=c ",
    "a <b>\n",
    "<div>\n\n",
    "[](<a",
    "`a``b",
    "字",
    "#" + " ",
    "--!",
]


@pytest.mark.parametrize("piece", SLOW)
def test_no_text_takes_long(piece: str) -> None:
    start = time.process_time()
    sections((piece * 8192)[:8192].encode(), PATH, 1)
    assert time.process_time() - start < 4


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    halves(content, PATH)
    sections(content, PATH, 1)


PIECES = [
    "## A\n",
    "<div>",
    "</div>",
    "<!--",
    "-->",
    "> ",
    "- ",
    "```\n",
    "\n\n",
    "a",
    " ",
    "[a]: b",
]
PIECES += [
    "|a|b|\n|-|-|\n",
    "<b c='",
    "'>",
    "&#x3164;",
    "\u200b",
    "`",
    "*",
    "![",
    "](x)",
    "\t",
    "---\n",
    "[^a]: ",
    "$\\b",
    "    ",
]


@settings(derandomize=True, max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_markdown_raises_and_places_are_lines_of_it(body: str) -> None:
    found, problems = sections(body.encode(), PATH, 1)
    last = body.count("\n") + 1
    assert all(1 <= section.line <= last for section in found or ())
    assert all(1 <= problem.where.line <= last for problem in problems)

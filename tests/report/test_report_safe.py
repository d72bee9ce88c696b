"""Text from outside is shown, and does nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.report.safe import LONGEST, code, inline, plain

UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("jobs/bert/pretrain.yml", "jobs/bert/pretrain.yml"),
        ("größer als 5 €, 2 × 8", "größer als 5 €, 2 × 8"),
        ("one\ntwo\r\nthree", "one two three"),
        ("a\rb\tc", "a\\u{000D}b\\u{0009}c"),
        ("\x1b[2J\x9b31m", "\\u{001B}[2J\\u{009B}31m"),
        ("\x1b]8;;https://evil\x07x", "\\u{001B}]8;;https://evil\\u{0007}x"),
        ("a\u202eb\u2066c\u200bd\ufeffe", "a\\u{202E}b\\u{2066}c\\u{200B}d\\u{FEFF}e"),
        ("a\u2028b\u00adc\u2800d\ufe0fe", "a\\u{2028}b\\u{00AD}c\\u{2800}d\\u{FE0F}e"),
        ("\U000e0041\udc80", "\\u{E0041}\\u{DC80}"),
        ("::error file=x::no", "\\u{003A}:error file=x::no"),
        ("see ::add-mask::x and a::b", "see \\u{003A}:add-mask::x and a::b"),
        ("##[error]x", "\\u{0023}#[error]x"),
        ("", ""),
    ],
)
def test_plain_text_shows_what_is_not_seen(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_plain_text_is_one_seen_line_and_stays_so(text: str) -> None:
    shown = plain(text)
    assert not {unicodedata.category(c) for c in shown} & UNSEEN
    assert shown.encode("utf-8").decode("utf-8") == shown == plain(shown)
    assert "##[" not in shown
    assert not any(word.startswith("::") for word in shown.split(" "))


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("2 of 1 owners: @ada, @acme/nlp", "2 of 1 owners: &#64;&#8203;ada, &#64;&#8203;acme/nlp"),
        ("fixes #12, acme/x#3, GH-4", "fixes &#35;&#8203;12, acme/x&#35;&#8203;3, GH-&#8203;4"),
        ("http://evil.example", "http:&#8203;//evil.example"),
        ("_www.evil.example", "&#95;www&#8203;.evil.example"),
        ("[x](y) ![z]", "&#91;x&#93;(y) !&#91;z&#93;"),
        ("<b>&lt;", "&#60;b&#62;&#38;lt;"),
        ("a | b\nc", "a &#124; b c"),
        ("lower `limits.timeout` to 18 h", "lower `limits.timeout` to 18 h"),
        ("`admit pin jobs/x.yml` does", "`admit pin jobs/x.yml` does"),
        (
            "``a`` `@b` `c``d`",
            "&#96;&#96;a&#96;&#96; &#96;&#64;&#8203;b&#96; &#96;c&#96;&#96;d&#96;",
        ),
        ("\u202e", "&#92;u{202E}"),
    ],
)
def test_markdown_text_is_dead(text: str, markdown: str) -> None:
    assert inline(text) == markdown


def test_markdown_text_is_bounded() -> None:
    assert inline("x" * 10_000) == "x" * LONGEST + "…"


def test_only_harmless_text_becomes_a_code_span() -> None:
    assert code("jobs/bert/pretrain.yml:14") == "`jobs/bert/pretrain.yml:14`"
    assert code("jobs/a b.yml") == "`jobs/a b.yml`"
    assert code("jobs/`@a|.yml") == "jobs/&#96;&#64;&#8203;a&#124;.yml"
    assert code(" x") == " x"
    assert code("x" * 201) == "x" * 201
    assert code("") == ""

"""The YAML reader: every refusal in full, and what is kept beside it."""

from __future__ import annotations

import pytest
from yaml_reading import PATH, read, refusals

from controller.values import Json, Location

# What is refused, in full


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "null\n", "~", "&a"])
def test_a_file_that_says_nothing_is_refused(text: str):
    assert refusals(text) == [
        "1:1 yaml-empty: the file says nothing; write the document, or delete the file"
    ]


@pytest.mark.parametrize(
    "text, problem",
    [
        (
            "a: NO",
            (
                "1:4 ambiguous-scalar: `NO` is ambiguous: YAML 1.1 reads false, YAML 1.2 text; "
                'write "NO" in quotes for text, or false'
            ),
        ),
        (
            "a: .inf",
            (
                "1:4 bad-value: `.inf` is not a finite number; "
                'write a number, or ".inf" in quotes for text'
            ),
        ),
        (
            "a: {url: http://x?y=z}",
            (
                "1:10 ambiguous-scalar: `http://x?y=z` is ambiguous: PyYAML ends a text at `?` "
                "inside brackets, YAML 1.2 does not; write it in quotes"
            ),
        ),
        (
            "{a?: 1}",
            (
                "1:2 ambiguous-key: the key `a?` is ambiguous: PyYAML ends a text at `?` "
                'inside brackets, YAML 1.2 does not; write "a?": in quotes'
            ),
        ),
        (
            "{a\n\n b?}",
            (
                "1:2 ambiguous-key: the key `a\\u000Ab?` is ambiguous: PyYAML ends a text at `?` "
                "inside brackets, YAML 1.2 does not; write the key in quotes"
            ),
        ),
        (
            "on: 1",
            (
                "1:1 ambiguous-key: the key `on` is ambiguous: YAML 1.1 reads true, YAML 1.2 text; "
                'write "on": in quotes'
            ),
        ),
        (
            "a: {1: x}",
            '1:5 non-string-key: the key `1` is not text; write "1": in quotes',
        ),
        (
            "~: x",
            '1:1 non-string-key: the key `~` is not text; write "~": in quotes',
        ),
        (
            "? \n: x",
            "1:2 non-string-key: there is no key before `:`; write a key, or remove the colon",
        ),
        (
            "? [a]\n: x",
            "1:3 non-string-key: a key is a list, a mapping or an alias; write the key as text",
        ),
        (
            "a: !!python/name:os.system x",
            (
                "1:4 yaml-tag: the tag `!!python/name:os.system` is not allowed; "
                "remove `!!python/name:os.system`, and write text in quotes"
            ),
        ),
        (
            'a: ! "12"',
            "1:4 yaml-tag: the tag `!` is not allowed; remove `!`, and write text in quotes",
        ),
        (
            "!!str a: x",
            (
                "1:1 yaml-tag: the tag `!!str` is not allowed; "
                "remove `!!str`, and write text in quotes"
            ),
        ),
        (
            "!Ref {a: x}",
            "1:1 yaml-tag: the tag `!Ref` is not allowed; remove `!Ref`, and write text in quotes",
        ),
        (
            "%YAML 1.2\n---\na: 1",
            "1:1 yaml-tag: a `%` directive is not allowed; remove the line",
        ),
        (
            "%TAG ! tag:acme,2026:\n---\na: 1",
            "1:1 yaml-tag: a `%` directive is not allowed; remove the line",
        ),
        (
            "a: 1\n---\nb: 2\n---\nc: 3",
            "2:1 multi-document: a second YAML document starts here; keep one document in a file",
        ),
        (
            "a: 1\n...\nb: 2",
            "3:1 multi-document: a second YAML document starts here; keep one document in a file",
        ),
        (
            "---\n---\na: 1",
            "2:1 multi-document: a second YAML document starts here; keep one document in a file",
        ),
        (
            "a: 1\nb: 2\na: 3",
            "3:1 duplicate-key: `a` is written twice: on line 1 and on line 3; keep one of the two",
        ),
        (
            'a: {b: [{"c": 1, c: 2}]}',
            (
                "1:18 duplicate-key: `c` is written twice: on line 1 and on line 1; "
                "keep one of the two"
            ),
        ),
        (
            "x: &x {a: 1}\nb:\n  <<: *x\n  <<: *x\n",
            (
                "4:3 duplicate-key: `<<` is written twice: on line 3 and on line 4; "
                "keep one of the two"
            ),
        ),
        (
            "a: &x 1\nb: &x 2\n",
            (
                "2:4 duplicate-key: the anchor `&x` is defined twice: on line 1 and on line 2; "
                "give each anchor its own name"
            ),
        ),
        (
            "a: {<<: 1}",
            (
                "1:5 wrong-type: `<<` takes a mapping, or a list of mappings; "
                "write `<<: *name`, where `&name` marks a mapping"
            ),
        ),
        (
            "a: {<<: [{b: 1}, c]}",
            (
                "1:5 wrong-type: `<<` takes a mapping, or a list of mappings; "
                "write `<<: *name`, where `&name` marks a mapping"
            ),
        ),
        (
            "a: *x",
            (
                "1:4 yaml-syntax: `*x` has no anchor `&x` that ends before it; "
                "define the anchor first, or write text that starts with `*` in quotes"
            ),
        ),
        (
            "a: &x [*x]",
            (
                "1:8 yaml-syntax: `*x` has no anchor `&x` that ends before it; "
                "define the anchor first, or write text that starts with `*` in quotes"
            ),
        ),
        (
            "a: {<<: *x}",
            (
                "1:9 yaml-syntax: `*x` has no anchor `&x` that ends before it; "
                "define the anchor first, or write text that starts with `*` in quotes"
            ),
        ),
        (
            'a: "x\\ty\\u202e"',
            (
                "1:4 invisible-character: the text contains U+202E RIGHT-TO-LEFT OVERRIDE, written "
                "as an escape; remove the escape"
            ),
        ),
        (
            '"a\\u200b": x',
            (
                "1:1 invisible-character: the text contains U+200B ZERO WIDTH SPACE, written as an "
                "escape; remove the escape"
            ),
        ),
        (
            b"a: b\nname: caf\xe9",
            "2:10 encoding: the byte 0xE9 is not UTF-8; save the file as UTF-8",
        ),
        (
            "a: b\n".encode("utf-16"),
            "1:1 encoding: the byte 0xFF is not UTF-8; save the file as UTF-8",
        ),
        (
            b"a: \xed\xa0\x80",
            "1:4 encoding: the byte 0xED is not UTF-8; save the file as UTF-8",
        ),
    ],
)
def test_a_refusal_names_the_thing_and_one_fix(text: str | bytes, problem: str):
    assert refusals(text) == [problem]


@pytest.mark.parametrize(
    "text, problem",
    [
        (
            "cron: * * * * *",
            (
                "1:8 yaml-syntax: this is not YAML: did not find expected alphabetic or numeric "
                "character while scanning an alias; put text that starts with `*` in quotes"
            ),
        ),
        (
            "a: `x`",
            (
                "1:4 yaml-syntax: this is not YAML: found character that cannot start any token "
                "while scanning for the next token; put text that starts with a back-tick in quotes"
            ),
        ),
        (
            "{a: 1} x",
            (
                "1:8 yaml-syntax: this is not YAML: did not find expected <document start>; "
                "indent the line like its neighbours"
            ),
        ),
        (
            "$schema=https://x\ntype: command",
            (
                "2:5 yaml-syntax: this is not YAML: mapping values are not allowed in this "
                "context; write `$schema=https://x` as `key: value`"
            ),
        ),
        (
            "a: b: c",
            (
                "1:5 yaml-syntax: this is not YAML: mapping values are not allowed in this "
                "context; put text that contains `: ` in quotes, or indent the line like its "
                "neighbours"
            ),
        ),
        (
            "a: - b",
            (
                "1:4 yaml-syntax: this is not YAML: block sequence entries are not allowed in this "
                "context; start the list on a line of its own"
            ),
        ),
        (
            "a:\n  b: 1\n c: 2",
            (
                "3:2 yaml-syntax: this is not YAML: did not find expected key while parsing a "
                "block mapping; indent the line like its neighbours"
            ),
        ),
        (
            'a: 1\nb: "x\n',
            (
                "2:4 yaml-syntax: this is not YAML: found unexpected end of stream while scanning "
                "a "
                'quoted scalar; close the text with `"`'
            ),
        ),
        (
            "a: 'x\n---\n",
            (
                "2:1 yaml-syntax: this is not YAML: found unexpected document indicator while "
                "scanning a quoted scalar; close the text with `'`"
            ),
        ),
        (
            "a: [1, 2\n",
            (
                "1:4 yaml-syntax: this is not YAML: did not find expected ',' or ']' while parsing "
                "a flow sequence; close the list with `]`"
            ),
        ),
        (
            "a: {b: 1\n",
            (
                "1:4 yaml-syntax: this is not YAML: did not find expected ',' or '}' while parsing "
                "a flow mapping; close the mapping with `}`"
            ),
        ),
        (
            'a: "\\d"',
            (
                "1:5 yaml-syntax: this is not YAML: found unknown escape character while parsing a "
                "quoted scalar; write `\\\\` for a backslash, or use single quotes"
            ),
        ),
        (
            "a: |x\n  b",
            (
                "1:5 yaml-syntax: this is not YAML: did not find expected comment or line break "
                "while scanning a block scalar; put the text on the lines after `|`"
            ),
        ),
        (
            "a: b\nc: !%ED%A0%80 x",
            (
                "2:1 yaml-syntax: this is not YAML: 'utf-8' codec can't decode byte 0xed in "
                "position 1: invalid continuation byte; remove what follows here, or quote it"
            ),
        ),
    ],
)
def test_a_fault_in_the_syntax_is_placed_and_has_a_fix(text: str, problem: str):
    document = read(text)
    assert refusals(text) == [problem]
    assert document.data is None


def test_every_problem_is_reported_at_once_in_the_order_of_the_file():
    text = 'a: NO\non: {b: 1, b: 010}\n1: !x y\n? {c: 1:30}\n: 0o7\na: "\\u200b"\nd: [x'
    assert [(p.where.line, p.code) for p in read(text).problems] == [
        (1, "ambiguous-scalar"),
        (2, "ambiguous-key"),
        (2, "duplicate-key"),
        (2, "ambiguous-scalar"),
        (3, "non-string-key"),
        (3, "yaml-tag"),
        (4, "non-string-key"),
        (4, "ambiguous-scalar"),
        (5, "ambiguous-scalar"),
        (6, "duplicate-key"),
        (6, "invisible-character"),
        (7, "yaml-syntax"),
    ]


@pytest.mark.parametrize(
    "text, data, faulty",
    [
        ("a: 010\nb: 1", {"a": "010", "b": 1}, {"/a"}),
        ("on: 1", {"on": 1}, {"/on"}),
        ("a: *x", {"a": None}, {"/a"}),
        ("a: {<<: *x, b: 1}", {"a": {"b": 1}}, {"/a", "/a/<<"}),
        ("a: {<<: 1, b: 1}", {"a": {"b": 1}}, {"/a", "/a/<<"}),
        ("a: !x 1", {"a": 1}, {"/a"}),
        ("? [x]\n: 010\na: 1", {"a": 1}, set()),
        ("a: 1\na: 010", {"a": 1}, set()),
        ("a: {b: 1}\na: {b: 2}", {"a": {"b": 1}}, set()),
    ],
)
def test_a_stand_in_is_marked_and_what_has_no_place_is_left_out(
    text: str, data: Json, faulty: set[str]
):
    document = read(text)
    assert document.data == data
    assert document.faulty == faulty


def test_the_second_of_two_values_does_not_move_the_first():
    document = read("a: {b: 1}\na:\n  b: 2\n")
    assert document.locate("/a/b") == Location(PATH, 1, 5)

"""The YAML reader: what a document says, and where it says it."""

from __future__ import annotations

import pytest
from yaml_reading import PATH, read

from controller.documents.yaml import Dialect, pointer_to
from controller.values import Json, Location

MANIFEST = """\
name: bert
resources: {instance_count: 2, shm_size: 64g}
tags:
  admission: bert-pretrain
steps:
  - one
  - {two: 2}
"""


# What a document says


@pytest.mark.parametrize(
    "text, data",
    [
        ("a: 1", {"a": 1}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("--- {a: [x, null, true]}", {"a": ["x", None, True]}),
        ("a:\nb: ''\n", {"a": None, "b": ""}),
        ("a: |\n  x: 1\n   y\nb: >-\n  two\n  lines\n", {"a": "x: 1\n y\n", "b": "two lines"}),
        ("a: one\n  two\n", {"a": "one two"}),
        ("? a\n: b\n", {"a": "b"}),
        ('{? a : ["b?"]}', {"a": ["b?"]}),
        ("a?: why?\nb: [1]\nc: why?\n", {"a?": "why?", "b": [1], "c": "why?"}),
        ("y: n\n", {"y": "n"}),
        ('"on": "NO"\n\'1\': "010"\n', {"on": "NO", "1": "010"}),
        ('a: "\\t\\n\\xe9"', {"a": "\t\né"}),
        ("- a\n- [b]\n", ["a", ["b"]]),
        ("just text", "just text"),
        ("a/b~c: 1", {"a/b~c": 1}),
    ],
)
def test_a_document_is_plain_data(text: str, data: Json):
    document = read(text)
    assert document.data == data
    assert document.problems == ()
    assert document.faulty == frozenset()


@pytest.mark.parametrize(
    "text, data",
    [
        ("a: &x {k: 1}\nb: *x\n", {"a": {"k": 1}, "b": {"k": 1}}),
        ("&k name: x\nother: *k\n", {"name": "x", "other": "name"}),
        ("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\n", {"k": 1, "l": 3}),
        ("a: &x {k: 1, l: 2}\nb: {l: 3, <<: *x}\n", {"k": 1, "l": 3}),
        ("a: [&x {k: 1}, &y {k: 2, m: 3}]\nb: {<<: [*x, *y]}\n", {"k": 1, "m": 3}),
        ("a: [&x {k: 1}, &y {<<: *x, k: 2}]\nb: {<<: *y}\n", {"k": 2}),
        ("b: {<<: {k: 1}}\n", {"k": 1}),
        ("b: {<<: []}\n", {}),
        ('b: {"<<": {k: 1}}\n', {"<<": {"k": 1}}),
    ],
)
def test_anchors_and_merge_keys_mean_what_yaml_1_1_says(text: str, data: Json):
    document = read(text)
    assert document.problems == ()
    assert isinstance(document.data, dict)
    assert data in (document.data, document.data.get("b"))


def test_every_value_has_the_place_of_its_key_or_of_itself_in_a_list():
    document = read(MANIFEST)
    places = {pointer: document.locate(pointer) for pointer in document.positions}
    assert {pointer: (where.line, where.column) for pointer, where in places.items()} == {
        "": (1, 1),
        "/name": (1, 1),
        "/resources": (2, 1),
        "/resources/instance_count": (2, 13),
        "/resources/shm_size": (2, 32),
        "/tags": (3, 1),
        "/tags/admission": (4, 3),
        "/steps": (5, 1),
        "/steps/0": (6, 5),
        "/steps/1": (7, 5),
        "/steps/1/two": (7, 6),
    }


def test_what_is_not_there_has_the_place_of_what_it_would_be_in():
    assert read(MANIFEST).locate("/resources/instance_type/x") == Location(PATH, 2, 1)


def test_an_inherited_field_has_the_place_of_the_merge_key_and_an_own_one_its_own():
    document = read("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\n")
    assert document.locate("/b/k") == Location(PATH, 3, 3)
    assert document.locate("/b/l") == Location(PATH, 4, 3)


def test_lines_count_from_the_first_line_of_the_front_matter():
    document = read("a: 1\nb: NO\n", first_line=2)
    assert document.locate("/a").line == 2
    assert [problem.where.line for problem in document.problems] == [3]


def test_a_pointer_escapes_what_rfc_6901_says():
    assert pointer_to(pointer_to("/a", "b/c~d"), 0) == "/a/b~1c~0d/0"


@pytest.mark.parametrize("text", [MANIFEST, "a: NO\nb: |\n  x\n\n  y\na: 1\n", "a: [\n"])
def test_line_ends_and_a_byte_order_mark_change_nothing(text: str):
    assert read(text.replace("\n", "\r\n")) == read(text)
    assert read("\ufeff" + text) == read(text)


@pytest.mark.parametrize("text", [MANIFEST, "a: NO\nb: c\na: 1\n", "a: [\n", "---\n- a\n...\n"])
def test_trailing_spaces_change_nothing(text: str):
    assert read(text.replace("\n", "   \n")) == read(text)


# What a dialect means


DATES = Dialect(dates=frozenset({"/expires", "/holds/*/until"}))


@pytest.mark.parametrize(
    "text, data",
    [
        ("expires: 2027-03-31", {"expires": "2027-03-31"}),
        ('expires: "2027-03-31"', {"expires": "2027-03-31"}),
        ("holds: [{until: 2027-13-45}]", {"holds": [{"until": "2027-13-45"}]}),
    ],
)
def test_a_plain_date_is_text_where_a_date_is_meant(text: str, data: Json):
    document = read(text, DATES)
    assert (document.data, document.problems) == (data, ())


def test_an_exponent_is_the_text_as_written_where_a_number_is_meant():
    dialect = Dialect(exponents=frozenset({"/inputs/*"}))
    document = read("inputs: {lr: 1e-3, lr2: 1.0e-3, other: 2}", dialect)
    assert document.data == {"inputs": {"lr": "1e-3", "lr2": 0.001, "other": 2}}
    assert document.problems == ()


@pytest.mark.parametrize(
    "text",
    ["holds: {until: 2027-03-31}", "expires: 1e-3", "expires: [2027-03-31]", "expires: NO"],
)
def test_a_dialect_means_its_own_places_and_kinds_only(text: str):
    assert [problem.code for problem in read(text, DATES).problems] == ["ambiguous-scalar"]

"""Whatever the bytes: an answer, in bounded time, that names its reasons."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.documents.characters import NOT_IN_TEXT
from controller.documents.yaml import MAX_BYTES, Dialect, Document, read_yaml
from controller.values import Json, RepoPath, by_place, canonical_json

PATH = RepoPath("jobs/bert.yml")
# Reference files of others, beside a checkout that has them.
SHARED = Path(__file__).resolve().parents[3] / "shared"
FILES = [
    file
    for folder in ("corpus/azureml", "probes")
    for file in sorted((SHARED / folder).glob("*.y*ml"))
]

bounded = settings(derandomize=True, deadline=None, max_examples=200)


def read(text: str | bytes) -> Document:
    return read_yaml(text if isinstance(text, bytes) else text.encode(), PATH)


def verdict(document: Document) -> list[tuple[str, str, int]]:
    return [(p.code, p.message, p.where.line) for p in document.problems]


def dumped(data: Json, **style: bool) -> str:
    text: str = yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, **style)
    return text


def check(document: Document) -> None:
    """What holds for every document."""
    assert document.data is not None or document.problems
    assert document.problems == by_place(document.problems)
    for problem in document.problems:
        assert problem.where.line >= 1
        assert problem.message
        assert problem.remedy
        assert "\n" not in problem.message + problem.remedy
        assert not NOT_IN_TEXT.search(problem.message + problem.remedy)
        assert len(problem.message + problem.remedy) < 400
    if not document.problems:
        canonical_json(document.data)
        assert not NOT_IN_TEXT.search(json.dumps(document.data, ensure_ascii=False))
    for pointer in _pointers(document.data, ""):
        where = document.locate(pointer)
        assert where.line >= 1


def _pointers(data: Json, parent: str) -> list[str]:
    children = data.items() if isinstance(data, dict) else []
    if isinstance(data, list):
        children = enumerate(data)
    return [parent, *(p for key, child in children for p in _pointers(child, f"{parent}/{key}"))]


# Bytes

_BREAKING = [
    *("\t", "\r", "\r\n", "\x00", "\x1b", "\x85", "\xa0", "\u2028", "\u200b", "\u202e", "\ufeff"),
    *("\ufffe", "\U000e0041", "\U0001f642", "é"),
]
_TOKENS = [
    *(
        "a",
        "b: ",
        "c:",
        "- ",
        "? ",
        ": ",
        "[",
        "]",
        "{",
        "}",
        ",",
        ", ",
        "\n",
        "\n",
        "\n  ",
        "    ",
    ),
    *("&x ", "*x", "<<: ", "'<<': ", "!", "!!str ", "!<x> ", "%YAML 1.1", "\n---\n", "\n...\n"),
    *("|\n  ", ">-\n  ", "|2\n", '"', "'", "\\u200b", "\\x", "\\", "#", " # c", "@", "`", "~", "="),
    *("NO", "010", "1:30", "1e-3", "2024-01-02", ".nan", "true", "null", "0x_", "9" * 40, "-", "1"),
    *_BREAKING,
]


@bounded
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes):
    check(read(content))


@bounded
@given(st.lists(st.sampled_from(_TOKENS), max_size=40).map("".join))
def test_any_sequence_of_what_yaml_is_made_of(text: str):
    check(read(text))


@bounded
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text(text: str):
    check(read(text))


@bounded
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), st.data())
def test_any_text_in_double_quotes_is_that_text_or_refused(text: str, data: st.DataObject):
    document = read(f"a: {json.dumps(text)}")
    check(document)
    if not document.problems:
        assert document.data == {"a": text}


# Documents

_KEYS = st.sampled_from(["a", "name", "b c", "x/y", "~z", "é", "<<", "on", "1", "long-" * 8])
_LEAVES = st.sampled_from([None, True, False, -1, 999, 0.5, -1.25, "", "NO", "010", "x: y", "# z"])
_SHALLOW = _LEAVES | st.lists(_LEAVES, max_size=2) | st.dictionaries(_KEYS, _LEAVES, max_size=3)
_MAPPINGS = st.dictionaries(
    _KEYS, _SHALLOW | st.lists(_SHALLOW, max_size=2), min_size=1, max_size=4
)


@bounded
@given(_MAPPINGS, st.booleans())
def test_what_pyyaml_writes_is_read_as_it_was(data: dict[str, Json], flow: bool):
    document = read(dumped(data, default_flow_style=flow))
    assert (document.data, document.problems) == (data, ())
    check(document)


@bounded
@given(st.lists(st.sampled_from(_TOKENS), max_size=30).map("".join))
def test_line_ends_and_a_byte_order_mark_never_matter(text: str):
    text = text.replace("\r", "")
    document = read(text)
    assert read(text.replace("\n", "\r\n")) == document
    if not text.startswith("\ufeff"):
        assert read("\ufeff" + text) == document


@bounded
@given(st.lists(st.sampled_from(_TOKENS), max_size=30).map("".join))
def test_what_is_accepted_pyyaml_reads_the_same(text: str):
    document = read(text)
    if not document.problems:
        assert yaml.safe_load(text) == document.data


@bounded
@given(_MAPPINGS, st.integers(1, 5))
def test_trailing_spaces_never_matter(data: dict[str, Json], spaces: int):
    text = dumped(data)
    assert read(text.replace("\n", " " * spaces + "\n")) == read(text)


@bounded
@given(_MAPPINGS, st.randoms(use_true_random=False))
def test_a_key_that_is_written_again_is_always_found(data: dict[str, Json], random):
    key = random.choice(sorted(data))
    document = read(dumped(data) + dumped({key: 1}))
    assert [problem.code for problem in document.problems] == ["duplicate-key"]


# Time

_WORST = [
    *("[", "{", "- ", "? ", ": ", "[{", "a: &a ", "!a ", "# ", '"', "'", "|\n", "---\n", "%a\n"),
    *("? a\n", "a: 1\n", "- 010\n", "- *a\n", "\t", "\u200b", "\r", "é", "a\u200b\n", "a: !x 1\n"),
    *("- &a x\n", "- <<\n", "&a", "*", "\\", '"\\u200b" ', "<<: {a: 1}\n", "- {}\n", "k: [a, b]\n"),
    *("- 1_", "- 1:1", "9", "0.", "- .", "- 2024-01-02 "),
]


@pytest.mark.parametrize("piece", _WORST)
@pytest.mark.parametrize("before", ["", "a: ", '"', "- "])
def test_no_document_takes_over_a_second(before: str, piece: str):
    most = MAX_BYTES // len(piece.encode()) - 8
    started = time.process_time()
    document = read(before + piece * most)
    took = time.process_time() - started
    assert document.data is not None or document.problems
    assert took < 1


def test_nested_anchors_are_measured_in_time():
    deep = "".join(f"&a{level} [" for level in range(31)) + "x," * 19_000 + "]" * 31
    started = time.process_time()
    assert read(f"a: {deep}\nb: *a30").problems
    assert time.process_time() - started < 1


# Files of others

if FILES:

    @pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
    def test_a_real_file_is_read_or_refused_in_time(file: Path):
        started = time.process_time()
        document = read_yaml(file.read_bytes(), PATH, Dialect(exponents=frozenset({"/inputs/*"})))
        assert time.process_time() - started < 1
        check(document)

    @pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
    def test_a_real_file_has_one_verdict_whatever_its_line_ends(file: Path):
        content = file.read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        document = read(content)
        assert read(content.replace(b"\n", b"\r\n")) == document
        assert read(b"\xef\xbb\xbf" + content) == document
        assert verdict(read(content.replace(b"\n", b"  \n"))) == verdict(document)

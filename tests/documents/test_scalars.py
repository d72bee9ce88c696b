"""A plain scalar means what YAML 1.1 and YAML 1.2 both say, or it means nothing here."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from controller.documents.scalars import Doubt, Scalar, resolve

NOT_FINITE = "is not a finite number"
TOO_LONG = "has more digits than a 64-bit number keeps"


@pytest.mark.parametrize(
    "text, value",
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("False", False),
        ("FALSE", False),
        ("0", 0),
        ("-0", 0),
        ("+3", 3),
        ("-17", -17),
        ("007", 7),
        ("0x1F", 31),
        ("9007199254740991", 2**53 - 1),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("01.5", 1.5),
        ("-1.25", -1.25),
        ("1.0e-3", 0.001),
        (".5e+2", 50.0),
        ("410.12345678901234", 410.12345678901234),
    ],
)
def test_both_versions_read_the_same_value(text: str, value: Scalar):
    read = resolve(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "bert-pretrain",
        "y",
        "n",
        "Y",
        "N",
        "nO",
        "tRUE",
        "nULL",
        "1.2.3",
        "1:99",
        "0:30",
        "1,000",
        "2024-1-2",
        "2024-01-02 is a day",
        "12-30",
        "0bad1234",
        "0o18",
        "0x",
        "-",
        "+",
        ".",
        "..",
        "+_",
        "._000",
        ".iNf",
        "+.nan",
        "<",
        "==",
        "e5",
        "1e",
        "٣",
        "64g",
        "azureml:claims:7",
    ],
)
def test_both_versions_read_text(text: str):
    assert resolve(text) == text


@pytest.mark.parametrize(
    "text, kind, why, remedy",
    [
        (
            "NO",
            "word",
            "is ambiguous: YAML 1.1 reads false, YAML 1.2 text",
            'write "NO" in quotes for text, or false',
        ),
        (
            "on",
            "word",
            "is ambiguous: YAML 1.1 reads true, YAML 1.2 text",
            'write "on" in quotes for text, or true',
        ),
        (
            "=",
            "word",
            "is ambiguous: YAML 1.1 gives it a meaning of its own, YAML 1.2 reads text",
            'write "=" in quotes',
        ),
        (
            "<<",
            "word",
            "is ambiguous: YAML 1.1 gives it a meaning of its own, YAML 1.2 reads text",
            'write "<<" in quotes',
        ),
        (
            "010",
            "number",
            "is ambiguous: YAML 1.1 reads 8, YAML 1.2 10",
            'write 8 or 10, or "010" in quotes for text',
        ),
        (
            "089",
            "number",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 89",
            'write 89, or "089" in quotes for text',
        ),
        (
            "1:30",
            "number",
            "is ambiguous: YAML 1.1 reads 90, YAML 1.2 text",
            'write 90, or "1:30" in quotes for text',
        ),
        (
            "-1:30:00",
            "number",
            "is ambiguous: YAML 1.1 reads -5400, YAML 1.2 text",
            'write -5400, or "-1:30:00" in quotes for text',
        ),
        (
            "1:30.5",
            "number",
            "is ambiguous: YAML 1.1 reads 90.5, YAML 1.2 text",
            'write 90.5, or "1:30.5" in quotes for text',
        ),
        (
            "1_000",
            "number",
            "is ambiguous: YAML 1.1 reads 1000, YAML 1.2 text",
            'write 1000, or "1_000" in quotes for text',
        ),
        (
            "1_0.5",
            "number",
            "is ambiguous: YAML 1.1 reads 10.5, YAML 1.2 text",
            'write 10.5, or "1_0.5" in quotes for text',
        ),
        (
            "0o17",
            "number",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 15",
            'write 15, or "0o17" in quotes for text',
        ),
        (
            "0b11",
            "number",
            "is ambiguous: YAML 1.1 reads 3, YAML 1.2 text",
            'write 3, or "0b11" in quotes for text',
        ),
        (
            "-0x1F",
            "number",
            "is ambiguous: YAML 1.1 reads -31, YAML 1.2 text",
            'write -31, or "-0x1F" in quotes for text',
        ),
        (
            "0x_",
            "number",
            "is ambiguous: YAML 1.1 reads an error, YAML 1.2 text",
            'write "0x_" in quotes for text',
        ),
        (
            "-.5",
            "number",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 -0.5",
            'write -0.5, or "-.5" in quotes for text',
        ),
        (
            "1_000_000_000_000_000_000",
            "number",
            "is ambiguous: YAML 1.1 reads 1000000000000000000, YAML 1.2 text",
            'write "1_000_000_000_000_000_000" in quotes for text',
        ),
        (
            "1e-3",
            "exponent",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 0.001",
            'write 0.001, or "1e-3" in quotes for text',
        ),
        (
            "2e-5",
            "exponent",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 0.00002",
            'write 0.00002, or "2e-5" in quotes for text',
        ),
        (
            "1.5E5",
            "exponent",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 150000",
            'write 150000, or "1.5E5" in quotes for text',
        ),
        (
            "1e-30",
            "exponent",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 1.0e-30",
            'write 1.0e-30, or "1e-30" in quotes for text',
        ),
        (
            "2.5e30",
            "exponent",
            "is ambiguous: YAML 1.1 reads text, YAML 1.2 2.5e+30",
            'write 2.5e+30, or "2.5e30" in quotes for text',
        ),
        (
            "2024-01-02",
            "date",
            "is ambiguous: YAML 1.1 reads a date, YAML 1.2 text",
            'write "2024-01-02" in quotes',
        ),
        (
            "2024-1-2 3:04:05.6 +01:00",
            "date",
            "is ambiguous: YAML 1.1 reads a date, YAML 1.2 text",
            'write "2024-1-2 3:04:05.6 +01:00" in quotes',
        ),
        (
            "2024-01-02 03:04:05." + "6" * 20,
            "date",
            "is ambiguous: YAML 1.1 reads a date, YAML 1.2 text",
            "write it in quotes",
        ),
        (
            "2024-13-45",
            "date",
            "is ambiguous: YAML 1.1 reads a date, YAML 1.2 text",
            'write "2024-13-45" in quotes',
        ),
        (".inf", "not-finite", NOT_FINITE, 'write a number, or ".inf" in quotes for text'),
        ("-.INF", "not-finite", NOT_FINITE, 'write a number, or "-.INF" in quotes for text'),
        (".NaN", "not-finite", NOT_FINITE, 'write a number, or ".NaN" in quotes for text'),
        ("1e400", "not-finite", NOT_FINITE, 'write a number, or "1e400" in quotes for text'),
        (
            "-1.0e+400",
            "not-finite",
            NOT_FINITE,
            'write a number, or "-1.0e+400" in quotes for text',
        ),
        ("9007199254740992", "number", TOO_LONG, "write it in quotes, or with fewer digits"),
        ("0.123456789012345678", "number", TOO_LONG, "write it in quotes, or with fewer digits"),
        ("1" * 5000, "number", TOO_LONG, "write it in quotes, or with fewer digits"),
    ],
)
def test_a_scalar_that_the_versions_read_differently_is_doubtful(
    text: str, kind: str, why: str, remedy: str
):
    read = resolve(text)
    assert isinstance(read, Doubt)
    assert (read.kind, read.why, read.remedy) == (kind, why, remedy)


@pytest.mark.parametrize("word", ["yes", "no", "on", "off"])
def test_a_word_is_doubtful_in_the_three_spellings_that_yaml_1_1_knows(word: str):
    doubts = [resolve(spelling) for spelling in (word, word.title(), word.upper())]
    assert [doubt.kind if isinstance(doubt, Doubt) else doubt for doubt in doubts] == ["word"] * 3


# ruamel.yaml's patterns for YAML 1.2 are wider than the core schema (yaml.org/spec/1.2.2, 10.3.2).
# Both specifications read these as text.
RUAMEL_READS_A_NUMBER = {
    "it skips underscores, even where no digit is": re.compile(r"[-+0-9.eE]*_[-+0-9.eE_]*\Z"),
    "it takes a sign, or underscores, for octal": re.compile(r"[-+]?0o[0-7_]+\Z"),
}

_PIECES = [
    *("0", "1", "7", "8", "10", "30", "59", "99", "000", "9007199254740993", "1F", "-3", "+2"),
    *("_", ".", ":", "-", "+", ",", "e", "E", "1e", "0x", "0o", "0b", "inf", ".nan", ".INF"),
    *("true", "TRUE", "tRUE", "no", "ON", "y", "N", "null", "~", "=", "<", " ", "a", "é", "٣"),
    *("2024-01-02", "2024-1-2", "T03:04:05", "Z"),
]
_LIKE_NUMBERS = st.lists(st.sampled_from(_PIECES), max_size=6).map("".join)


def _is_one_plain_scalar(text: str) -> bool:
    try:
        events = list(yaml.parse(f"- {text}\n", Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return False
    scalar = events[3]
    return len(events) == 7 and getattr(scalar, "value", None) == text and not scalar.style


def _same(ours: Scalar, theirs: object) -> bool:
    return ours == theirs and isinstance(theirs, type(ours))


@settings(derandomize=True, deadline=None, max_examples=500)
@given(_LIKE_NUMBERS)
def test_what_is_accepted_pyyaml_and_ruamel_read_the_same(text: str):
    ours = resolve(text)
    assume(not isinstance(ours, Doubt) and _is_one_plain_scalar(text))
    assert _same(ours, yaml.safe_load(f"- {text}\n")[0])
    if not any(pattern.match(text) for pattern in RUAMEL_READS_A_NUMBER.values()):
        assert _same(ours, YAML(typ="safe", pure=True).load(f"- {text}\n")[0])


@settings(derandomize=True, deadline=None, max_examples=500)
@given(_LIKE_NUMBERS)
def test_a_number_that_a_remedy_proposes_is_itself_beyond_doubt(text: str):
    doubt = resolve(text)
    remedy = doubt.remedy if isinstance(doubt, Doubt) and doubt.kind != "word" else ""
    proposed = re.match(r"write (\S+?)(?: or (\S+?))?, or \"", remedy)
    numbers = [number for number in proposed.groups() if number] if proposed else []
    assert all(isinstance(resolve(number), (int, float)) for number in numbers)

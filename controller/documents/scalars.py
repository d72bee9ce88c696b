"""What a plain YAML scalar means, where YAML 1.1 and YAML 1.2 agree, and where they do not.

Azure ML's tools read YAML 1.1 as PyYAML does; editors, linters and other languages read 1.2
(core schema, yaml.org/spec/1.2.2 section 10.3.2). A scalar that the two read differently has no
meaning here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a plain scalar has no meaning here. `why` follows the scalar in a sentence."""

    kind: Literal["word", "number", "date", "exponent", "not-finite"]
    why: str
    remedy: str


_CONSTANTS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# PyYAML reads these as booleans; `y` and `n` are text to both sides.
_WORDS = {
    spelling: meaning
    for word, meaning in (("yes", True), ("no", False), ("on", True), ("off", False))
    for spelling in (word, word.title(), word.upper())
}
# PyYAML's resolver, in full: yaml/resolver.py.
_INTEGER_11 = re.compile(
    r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*(?::[0-5]?[0-9])*)\Z"
)
_FLOAT_11 = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?\Z"
    r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?\Z"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*\Z"
)
_DATE_11 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?\Z"
)
# The core schema of YAML 1.2.
_INTEGER_12 = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT_12 = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")

_LONGEST = 32
_SAFE_INTEGER = 2**53 - 1
_SAFE_DIGITS = 17

IN_BRACKETS = Doubt(
    "word",
    "is ambiguous: PyYAML ends a text at `?` inside brackets, YAML 1.2 does not",
    "write it in quotes",
)
"""About plain text with a `?` in a flow collection: Azure ML's own reader refuses it."""


@lru_cache(maxsize=4096)
def resolve(text: str) -> Scalar | Doubt:
    """Return the value of the plain scalar `text`, or the doubt about it."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text in _WORDS:
        return _word(text)
    if text[0] not in "+-.0123456789=<":
        return text
    if text in ("=", "<<"):
        why = "is ambiguous: YAML 1.1 gives it a meaning of its own, YAML 1.2 reads text"
        return Doubt("word", why, f'write "{text}" in quotes')
    if _DATE_11.match(text):
        why = "is ambiguous: YAML 1.1 reads a date, YAML 1.2 text"
        remedy = f'write "{text}" in quotes' if len(text) <= _LONGEST else "write it in quotes"
        return Doubt("date", why, remedy)
    return _numeral(text)


def _word(text: str) -> Doubt:
    meaning = "true" if _WORDS[text] else "false"
    why = f"is ambiguous: YAML 1.1 reads {meaning}, YAML 1.2 text"
    return Doubt("word", why, f'write "{text}" in quotes for text, or {meaning}')


def _numeral(text: str) -> Scalar | Doubt:
    if _NOT_FINITE.match(text):
        return _not_finite(text)
    in_11 = _INTEGER_11.match(text) or _FLOAT_11.match(text)
    in_12 = _INTEGER_12.match(text) or _FLOAT_12.match(text)
    if not (in_11 or in_12):
        return text
    if len(text) > _LONGEST:
        return _too_long()
    old = _as_yaml_11(text) if in_11 else text
    new = _as_yaml_12(text) if in_12 else text
    if isinstance(new, float) and math.isinf(new):
        return _not_finite(text)
    if type(old) is not type(new) or old != new:
        return _difference(text, old, new)
    return old if _is_safe(old, text) else _too_long()


def _not_finite(text: str) -> Doubt:
    remedy = f'write a number, or "{text}" in quotes for text'
    return Doubt("not-finite", "is not a finite number", remedy)


def _is_safe(value: Scalar, text: str) -> bool:
    """Whether a 64-bit float, and so every reader of JSON, keeps `value` (RFC 8259, section 6)."""
    if isinstance(value, int):
        return abs(value) <= _SAFE_INTEGER
    mantissa = text.lower().partition("e")[0].lstrip("-+0.")
    return len(mantissa.replace(".", "").replace("_", "")) <= _SAFE_DIGITS


def _too_long() -> Doubt:
    why = "has more digits than a 64-bit number keeps"
    return Doubt("number", why, "write it in quotes, or with fewer digits")


def _difference(text: str, old: Scalar, new: Scalar) -> Doubt:
    exponent = old == text and isinstance(new, float) and "e" in text.lower()
    why = f"is ambiguous: YAML 1.1 reads {_said(old)}, YAML 1.2 {_said(new)}"
    readings = (value for value in (old, new) if isinstance(value, (int, float)))
    numbers = dict.fromkeys(_said(value) for value in readings if _is_safe(value, _said(value)))
    meant = f"{' or '.join(numbers)}, or " if numbers else ""
    remedy = f'write {meant}"{text}" in quotes for text'
    return Doubt("exponent" if exponent else "number", why, remedy)


def _as_yaml_11(text: str) -> int | float | None:
    """Return what PyYAML makes of a numeral (yaml/constructor.py); None where it fails."""
    digits = text.replace("_", "").lower()
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    try:
        if ":" in digits:
            *wholes, last = digits.split(":")
            value: int | float = float(last) if "." in last else int(last)
            for power, whole in enumerate(reversed(wholes), start=1):
                value += int(whole) * 60**power
            return sign * value
        if digits.startswith(("0b", "0x")):
            return sign * int(digits, 0)
        if "." in digits:
            return sign * float(digits)
        return sign * int(digits, 8 if digits[0] == "0" else 10)
    except ValueError:  # `0x_`: no digits
        return None


def _as_yaml_12(text: str) -> int | float:
    if text.startswith(("0o", "0x")):
        return int(text, 0)
    return int(text) if _INTEGER_12.match(text) else float(text)


def _said(value: Scalar) -> str:
    """Return a number in a spelling that YAML 1.1 and 1.2 both read as that number."""
    if value is None:
        return "an error"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int):
        return str(value)
    spelled = repr(value)
    if "e" not in spelled:
        return spelled.removesuffix(".0") if len(spelled) < 16 else spelled
    plain = format(Decimal(spelled), "f")
    if len(plain) < 16:
        return plain
    mantissa, _, power = spelled.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{power}"

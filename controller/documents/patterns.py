"""Which paths a pattern means: the globs of a grant, and the patterns of CODEOWNERS.

Both become regular expressions without catastrophic backtracking: what `*` and `**` skip is
always the least that fits, and is never tried again (an atomic group), because the first place
at which a fixed piece fits leaves the most room for the rest. Paths are case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_PART = re.compile(r"\\(.)|(\*+)|(\?)|(.)", re.S)
_NOT_FIXED = re.compile(r"\\.|[*?\\]", re.S)
_DEEPER = "(?:[^/]+/)*?"
_END = r"\Z"
_OR_BELOW = r"(?:/.*)?\Z"


@lru_cache(maxsize=1024)
def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression for a whole path: `*` and `?` stop at a slash.

    A part `**` stands for any number of parts, none included; last, for everything below.
    """
    return re.compile(_source(pattern.split("/"), _END), re.S)


@lru_cache(maxsize=4096)
def ownership(pattern: str) -> re.Pattern[str]:
    """Return the expression for a pattern of CODEOWNERS, as GitHub reads it.

    https://docs.github.com/articles/about-code-owners: gitignore's rules, but that a last part
    `*` means files of that folder only.
    """
    segments = pattern.removeprefix("/").split("/")
    if "/" not in pattern[:-1]:
        segments = ["**", *segments]
    if segments[-1] == "":
        segments[-1] = "**"
    return re.compile(_source(segments, _END if segments[-1] == "*" else _OR_BELOW), re.S)


def fixed_part(pattern: str) -> str:
    """Return the longest text that is in every path that `pattern` matches; '' for none."""
    return max((piece.strip("/") for piece in _NOT_FIXED.split(pattern)), key=len)


def _source(segments: list[str], tail: str) -> str:
    """Return the expression for `segments`, of which `**` is any number; then `tail`."""
    first, *others = _runs(segments)
    if not others:
        return "/".join(first) + tail
    *middle, last = others
    start = "".join(f"{segment}/" for segment in first)
    between = "".join(f"(?>{_DEEPER}{'/'.join(run)}/)" for run in middle if run)
    return start + between + (_DEEPER + "/".join(last) + tail if last else rf".+{_END}")


def _runs(segments: Iterable[str]) -> list[list[str]]:
    """Return the expressions of the segments, in the runs between which a `**` stands."""
    runs: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            runs.append([])
        else:
            runs[-1].append(_segment(segment))
    return runs


def _segment(text: str) -> str:
    """Return the expression for one part of a path. More stars than one are one."""
    if text == "*":
        return "[^/]+"
    pieces = [""]
    for escaped, stars, one, plain in _PART.findall(text):
        if stars:
            pieces.append("")
        else:
            pieces[-1] += "[^/]" if one else re.escape(escaped or plain)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle) + f"[^/]*{last}"

"""Which characters a reviewer cannot see, or cannot tell from others."""

from __future__ import annotations

import re
import unicodedata

from controller.values import Location, Problem, RepoPath

# C0 and C1 controls, soft hyphen, joiners and fillers, zero-width, bidi, line and paragraph
# separators, interlinear marks, hieroglyph and musical controls, tag characters, noncharacters
# (Trojan Source, CVE-2021-42574; Unicode's Default_Ignorable_Code_Point; UTS 39). Line feed alone
# is a line end.
_NEVER = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# Blanks that look like a space and are none, and selectors that change how a character looks.
_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
_SELECTORS = "\ufe00-\ufe0f"
# Asked first, it tells nearly every character at once.
_NOT_PLAIN = "(?![\\n -~])"

NOT_IN_YAML = re.compile(f"{_NOT_PLAIN}[\t{_NEVER}{_BLANKS}{_SELECTORS}]")
"""Every character that a YAML document of ours must not contain."""
NOT_IN_PROSE = re.compile(f"{_NOT_PLAIN}[{_NEVER}]")
"""The same for Markdown, where tabs, non-breaking blanks and emoji selectors are ordinary."""
NOT_IN_TEXT = re.compile(f"{_NOT_PLAIN}[{_NEVER}{_BLANKS}{_SELECTORS}]")
"""What no text of a YAML document may stand for, not even as an escape."""

MOST = 20
"""Problems about characters that are reported of one file."""

_PLAIN = bytes((0x0A, *range(0x20, 0x7F)))
_ONE_LINE = re.compile(f"[\n\t{_NEVER}{_BLANKS}{_SELECTORS}]")
_CONTROLS = {"\t": "TAB", "\n": "LINE FEED", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE"}
_CONTROLS |= {"\x00": "NULL", "\x85": "NEXT LINE"}


def only_plain(content: bytes) -> bool:
    """Whether `content` is printable ASCII and line feeds: most documents, told at once."""
    return not content.translate(None, _PLAIN)


def named(character: str) -> str:
    """Return `U+200B ZERO WIDTH SPACE` for a zero-width space."""
    name = unicodedata.name(character, "") or _CONTROLS.get(character)
    if name is None:
        name = "CONTROL CHARACTER" if unicodedata.category(character) == "Cc" else "UNASSIGNED"
    return f"U+{ord(character):04X} {name}"


def quoted(text: str) -> str:
    """Return `text` in back-ticks as a message shows it: on one line, short, all of it visible."""
    short = text if len(text) <= 60 else text[:57] + "..."
    return f"`{_ONE_LINE.sub(_escaped, short)}`"


def unseen_characters(
    text: str, path: RepoPath, first_line: int, *, pattern: re.Pattern[str] = NOT_IN_YAML
) -> list[Problem]:
    """Return a problem for each character of `text` that a reviewer cannot see (at most 20)."""
    problems: list[Problem] = []
    line, seen = first_line, 0
    for match in pattern.finditer(text):
        at = match.start()
        line += text.count("\n", seen, at)
        seen = at
        column = at - text.rfind("\n", 0, at)
        problems.append(_unseen(match.group(), Location(path, line, column)))
        if len(problems) == MOST:
            break
    return problems


def _unseen(character: str, where: Location) -> Problem:
    if character == "\t":
        message = "a tab (U+0009) is not allowed"
        return Problem("yaml-syntax", where, message, "indent with spaces")
    message = f"the character {named(character)} cannot be seen by a reviewer"
    remedy = f"remove U+{ord(character):04X} at column {where.column}"
    return Problem("invisible-character", where, message, remedy)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"

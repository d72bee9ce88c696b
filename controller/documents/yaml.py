"""The one YAML reader: plain data with the line of everything, and every ambiguity refused.

The dialect is what YAML 1.1 and 1.2 read alike; anchors, aliases and `<<` work, within bounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from controller.documents.characters import NOT_IN_YAML, only_plain, quoted, unseen_characters
from controller.documents.positions import located
from controller.documents.yaml_refusals import Refusals, Stop
from controller.documents.yaml_walk import MAX_DEPTH, PLAIN, Dialect, Walk, pointer_to
from controller.values import Json, Location, Problem, RepoPath, by_place

__all__ = [
    "MAX_BYTES",
    "PLAIN",
    "Dialect",
    "Document",
    "pointer_to",
    "read_yaml",
    "unseen_characters",
]

MAX_BYTES = 256 * 1024

_IN_INDENT = re.compile(f"^ *{NOT_IN_YAML.pattern}", re.M)


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says (`data`), where it says it, and what is wrong with the YAML itself.

    `data` is None when nothing could be read; `problems` then says why. A pointer of `faulty`
    has a problem already: what it holds is a stand-in.
    """

    path: RepoPath
    data: Json
    positions: Mapping[str, int]
    problems: tuple[Problem, ...] = ()
    faulty: frozenset[str] = frozenset()

    def locate(self, pointer: str) -> Location:
        """Return the place of the value at a JSON pointer, or of what it would be in."""
        return located(self.positions, self.path, pointer)


def read_yaml(
    content: bytes, path: RepoPath, dialect: Dialect = PLAIN, *, first_line: int = 1
) -> Document:
    """Read one document. Every problem is in the result; nothing is raised, whatever the bytes.

    `first_line` is the line of the file on which `content` starts.
    """
    text, problems = _text(content, path, first_line)
    if text is None:
        return Document(path, None, {}, tuple(problems))
    refusals = Refusals(path, first_line)
    walk = Walk(text, dialect, refusals, first_line)
    try:
        data = _walked(walk, text, refusals, blame=not problems)
    except Stop:
        data = None
    if data is None and not problems and not refusals.problems:
        message, remedy = "the file says nothing", "write the document, or delete the file"
        problems = [Problem("yaml-empty", Location(path, first_line, 1), message, remedy)]
    found = by_place((*problems, *refusals.problems))
    return Document(path, data, walk.positions, found, frozenset(refusals.faulty))


def _walked(walk: Walk, text: str, refusals: Refusals, *, blame: bool) -> Json:
    """Return the data, or None where the syntax is at fault, which is told if it is to `blame`.

    It is not where characters were left out that nobody sees: they may have been what broke it.
    """
    try:
        return walk.run()
    except (yaml.YAMLError, ValueError, RecursionError, MemoryError) as error:
        if blame:
            _syntax(error, text, refusals, walk.last())
        return None


def _text(content: bytes, path: RepoPath, first_line: int) -> tuple[str | None, list[Problem]]:
    """Return the text to parse, or None; and a problem for all that no reader of it could see."""
    if len(content) > MAX_BYTES:
        message = f"the document has {len(content):,} bytes; {MAX_BYTES:,} is the most that is read"
        return None, [Problem("too-large", Location(path, first_line), message, "split it")]
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    if only_plain(content):
        return content.decode("ascii"), []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        before = content[content.rfind(b"\n", 0, error.start) + 1 : error.start]
        where = Location(path, line, len(before.decode("utf-8")) + 1)
        message = f"the byte 0x{content[error.start]:02X} is not UTF-8"
        return None, [Problem("encoding", where, message, "save the file as UTF-8")]
    unseen = unseen_characters(text, path, first_line)
    if unseen and _IN_INDENT.search(text):
        return None, unseen  # without them the rest would have another shape
    return NOT_IN_YAML.sub(_stand_in, text), unseen


def _stand_in(match: re.Match[str]) -> str:
    return " " if match.group().isspace() else ""


def _syntax(error: Exception, text: str, refusals: Refusals, last: int) -> None:
    """Refuse what libyaml refuses, with a fix for what stands at its place.

    `last` is the packed place of the last value before it.
    """
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        refusals.unreadable(last, str(error) or type(error).__name__)
        return
    mark, opened = error.problem_mark, error.context_mark
    if text.count("[", 0, mark.index) + text.count("{", 0, mark.index) >= _DEEPEST_FLOW:
        refusals.depth(mark, MAX_DEPTH)
        return
    starts = text[opened.index : opened.index + 1] if opened else ""
    if opened and starts in _CLOSE and not text[mark.index :].strip():
        mark, remedy = opened, _CLOSE[starts]  # where it starts says more than the end of the file
    else:
        remedy = _remedy(text, mark.index, starts)
    refusals.syntax(mark, " ".join(filter(None, (error.problem, error.context))), remedy)


_DEEPEST_FLOW = 1000
"""Open brackets at which libyaml 0.2.6 gives up, before the walk has seen the first of them."""
_CLOSE = {
    '"': 'close the text with `"`',
    "'": "close the text with `'`",
    "[": "close the list with `]`",
    "{": "close the mapping with `}`",
}


def _remedy(text: str, at: int, starts: str) -> str:
    """Return the fix for a fault at character `at`, in what began with the character `starts`."""
    here = text[at : at + 1]
    line = text[text.rfind("\n", 0, at) + 1 : at + 3]
    if line in ("---", "...") and starts in _CLOSE:
        return _CLOSE[starts]
    if starts == '"' and "\\" in line:
        return "write `\\\\` for a backslash, or use single quotes"
    if starts in ("|", ">"):
        return f"put the text on the lines after `{starts}`"
    for indicator in filter(None, (starts, here)):
        if indicator in "*&!%@`,]}":
            shown = "a back-tick" if indicator == "`" else f"`{indicator}`"
            return f"put text that starts with {shown} in quotes"
    if here == "-":
        return "start the list on a line of its own"
    if here == ":":
        return _remedy_for_colon(text[: text.rfind("\n", 0, at) + 1])
    return "indent the line like its neighbours"


def _remedy_for_colon(before: str) -> str:
    """Return the fix for a `key:` that cannot stand in the line after `before`."""
    line = before.rstrip().rpartition("\n")[2]
    if line and line[0] not in " -#" and ": " not in line + " ":
        return f"write {quoted(line)} as `key: value`"
    return "put text that contains `: ` in quotes, or indent the line like its neighbours"

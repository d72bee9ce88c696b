"""Where front matter ends, and how much of a Markdown body a reader sees under each heading.

Words count where CommonMark (with tables) shows them as prose. Code blocks, headings, images,
the targets of links, footnotes, formulas and raw HTML with all that it encloses show none that
count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.documents.characters import NOT_IN_PROSE, unseen_characters
from controller.documents.yaml import MAX_BYTES
from controller.values import Location, Problem, RepoPath

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_CHARACTERS = 32 * 1024
"""Of a body. It bounds the time that the worst text takes (well under a second)."""

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?--- *\r?(?:\n|\Z)")
_CLOSING = re.compile(rb"^--- *\r?(?:\n|\Z)", re.M)

# Scripts that put no blanks between words: Han, kana, Thai, Lao, Burmese, Khmer.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)

# A footnote's definition as GitHub has it: it may interrupt a paragraph, in any list or quotation.
_NOTE = re.compile(r"^((?:[ \t>]|[-+*][ \t]|[0-9]{1,9}[.)][ \t])*)(?=\[\^[^\]\n]+\]:)", re.M)
_NOTE_GOES_ON = re.compile(r"[ >]*(?: {4}|\t|\Z)")
_MARK = "\u2063"
"""Stands before each footnote while a body is read. No text has it: no reviewer would see it."""

_SHOWN = frozenset({"text", "text_special", "code_inline"})
_BREAKS = frozenset({"softbreak", "hardbreak"})
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\\]*\\[^$]*\$", re.DOTALL)

# One tag by CommonMark's rule (spec 0.31, section 6.6), which is a well-formed one of HTML too.
_TAG = re.compile(
    r"<(?P<closes>/)?(?P<name>[A-Za-z][A-Za-z0-9-]*)"
    r"(?:[ \t\n]+[A-Za-z_:][A-Za-z0-9_.:-]*"
    r"(?:[ \t\n]*=[ \t\n]*(?:[^ \t\n\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*"
    r"[ \t\n]*/?>"
)
_MARKUP = re.compile("<[A-Za-z/!?]")
_COMMENT_END = re.compile("--!?>")
_EMPTY = frozenset({"area", "br", "col", "hr", "img", "input", "source", "wbr"})
"""HTML elements without content: nothing closes them."""
_OPAQUE = frozenset(
    {
        *("iframe", "math", "noembed", "noframes", "noscript", "plaintext", "script", "select"),
        *("style", "svg", "template", "textarea", "title", "xmp"),
    }
)
"""HTML elements with a syntax of their own: where they end cannot be told from the tags."""


@dataclass(frozen=True, slots=True)
class Halves:
    """A file with front matter. `front` begins on line 2 of it, `body` on line `body_line`."""

    front: bytes
    body: bytes
    body_line: int


@dataclass(frozen=True, slots=True)
class Section:
    """One heading that a reader sees, and the words under it, up to the next heading."""

    title: str
    level: int
    line: int
    words: int


@dataclass(frozen=True, slots=True)
class _Element:
    """HTML left open. No tag closes a `name` of ''. `level` is the depth of its Markdown block."""

    name: str
    level: int
    line: int


def halves(content: bytes, path: RepoPath) -> Halves | Problem:
    """Return the two halves of `content`, or why there is no front matter."""
    if len(content) > MAX_BYTES:
        message = f"the file has {len(content):,} bytes; {MAX_BYTES:,} is the most that is read"
        return Problem(
            "too-large", Location(path), message, "shorten it; link to long measurements"
        )
    opening = _OPENING.match(content)
    if opening is None:
        message = "the file does not begin with front matter"
        remedy = "make the first line exactly `---`, then the fields, then `---` again"
        return Problem("no-front-matter", Location(path, 1, 1), message, remedy)
    closing = _CLOSING.search(content, opening.end())
    if closing is None:
        message = "the front matter that begins on line 1 has no end"
        remedy = "add a line that is exactly `---` after the fields"
        return Problem("no-front-matter", Location(path, 1, 1), message, remedy)
    front = content[opening.end() : closing.start()]
    body_line = content.count(b"\n", 0, closing.end()) + 1
    return Halves(front, content[closing.end() :], body_line)


def sections(
    body: bytes, path: RepoPath, first_line: int
) -> tuple[tuple[Section, ...] | None, tuple[Problem, ...]]:
    """Return the visible headings of `body` with their words; and what cannot be seen in it.

    The headings are None when the text cannot be read at all. `first_line` is the line of the
    file on which `body` starts. Nothing is raised.
    """
    try:
        text = body.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = first_line + body.count(b"\n", 0, error.start)
        message = f"the byte 0x{body[error.start]:02X} is not UTF-8"
        return None, (Problem("encoding", Location(path, line), message, "save the file as UTF-8"),)
    if len(text) > MAX_CHARACTERS:
        message = f"the text has {len(text):,} characters; {MAX_CHARACTERS:,} is the most"
        remedy = "shorten it; link to long measurements"
        return None, (Problem("too-large", Location(path, first_line), message, remedy),)
    problems = unseen_characters(text, path, first_line, pattern=NOT_IN_PROSE)
    text = _NOTE.sub(rf"\1{_MARK}", NOT_IN_PROSE.sub("", text))
    reading = _Reading(first_line, _note_lines(text))
    reading.blocks(_tokens(text))
    if reading.left_open is not None:
        message = "the HTML that begins here is never closed, so that nothing after it counts"
        remedy = "write Markdown instead, or close each element as it was opened"
        problems.append(Problem("open-html", Location(path, reading.left_open), message, remedy))
    return tuple(reading.found), tuple(problems)


def count_words(text: str) -> int:
    """Return how many words `text` has: runs with a letter or a digit in them, of any script.

    Where a script puts no blanks between words, two of its letters count as one word.
    """
    spaceless = len([letter for letter in _SPACELESS.findall(text) if letter.isalnum()])
    spaced = _SPACELESS.sub(" ", text).split()
    seen = sum(1 for word in spaced if any(map(str.isalnum, word)))
    return seen + spaceless // 2


def _note_lines(text: str) -> frozenset[int]:
    """Return the lines, from 0 on, that a footnote has below its first one after a blank line."""
    found: set[int] = set()
    inside = blank = False
    for number, line in enumerate(text.split("\n")):
        if _MARK in line:
            inside = True
        elif inside and _NOTE_GOES_ON.match(line):
            found.add(number)
        elif blank:
            inside = False
        blank = not line.strip(" >\t")
    return frozenset(found)


def _prose(shown: Iterable[Token]) -> str:
    """Return the text of what is shown, as its source has it where a formula may be."""
    pieces: list[str] = []
    for token in shown:
        text = token.content or " "
        # Neither `\$` nor code begins or ends a formula; `\,` in one shows that it is one.
        if token.info == "escape" and text != "$":
            text = token.markup
        elif token.info == "escape" or token.type == "code_inline":
            text = text.replace("$", " ")
        pieces.append(text)
    return _FORMULA.sub(" ", "".join(pieces))


def _tokens(text: str) -> list[Token]:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("text_join").parse(text)


class _Reading:
    """One walk over the tokens of a body. It holds the headings so far and the HTML left open."""

    def __init__(self, first_line: int, notes: frozenset[int]) -> None:
        self.found: list[Section] = []
        self._first_line = first_line
        self._notes = notes
        self._in_note = False
        self._text: list[str] = []
        self._open: list[_Element] = []
        self._line = first_line

    @property
    def left_open(self) -> int | None:
        """The line of the first element that is open, if there is one."""
        return self._open[0].line if self._open else None

    def blocks(self, tokens: Iterable[Token]) -> None:
        """Read the whole body."""
        heading: Token | None = None
        for token in tokens:
            if token.map is not None:
                self._line = self._first_line + token.map[0]
            if token.type in ("paragraph_open", "heading_open", "table_open"):
                self._in_note = self._line - self._first_line in self._notes
            if token.type == "html_block":
                self._html(token.content, token.level)
            elif token.type == "heading_open":
                heading = token
            elif token.type == "inline" and heading is not None:
                self._heading(heading, token)
                heading = None
            elif token.type == "inline":
                self._text += [_prose(self._visible(token)), " "]
        self._end_section()

    def _heading(self, heading: Token, inline: Token) -> None:
        seen = not self._open
        title = " ".join("".join(t.content or " " for t in self._visible(inline)).split())
        # One in a list or a quotation is no heading of the document's own.
        if seen and heading.level == 0:
            self._end_section()
            self.found.append(Section(title, int(heading.tag[1:]), self._line, 0))

    def _end_section(self) -> None:
        words = count_words(NOT_IN_PROSE.sub("", "".join(self._text)))
        self._text = []
        if self.found:
            last = self.found[-1]
            self.found[-1] = Section(last.title, last.level, last.line, words)

    def _visible(self, inline: Token) -> list[Token]:
        """Return the pieces of one paragraph, heading or cell that a reader sees as prose."""
        pieces: list[Token] = []
        address = False
        for child in inline.children or ():
            self._in_note |= _MARK in f"{child.content}{child.attrGet('title')}"
            if child.type == "html_inline":
                self._html(child.content, inline.level)
            elif child.markup == "autolink":
                address = child.type == "link_open"
            else:
                shown = child.type in _SHOWN and not (address or self._open or self._in_note)
                pieces += [child] if shown or child.type in _BREAKS else []
        return pieces

    def _html(self, text: str, level: int) -> None:
        """Follow which elements `text` opens and closes.

        What is not well-formed, or not well nested, is never closed: nothing counts after it.
        """
        at = 0
        while markup := _MARKUP.search(text, at):
            if text.startswith("<!--", markup.start()):
                # An empty comment may end in its own opening dashes: `<!-->`.
                end = _COMMENT_END.search(text, markup.start() + 2)
            else:
                end = _TAG.match(text, markup.start())
                if end is not None:
                    self._tag(end, level)
            if end is None:
                self._open.append(_Element("", level, self._line))
                return
            at = end.end()

    def _tag(self, tag: re.Match[str], level: int) -> None:
        name = tag["name"].lower()
        last = self._open[-1] if self._open else None
        if tag["closes"] and last is not None and (last.name, last.level) == (name, level):
            self._open.pop()
        elif tag["closes"] or name in _OPAQUE:
            self._open.append(_Element("", level, self._line))
        elif name not in _EMPTY:
            self._open.append(_Element(name, level, self._line))

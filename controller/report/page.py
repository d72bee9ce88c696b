"""Lines for a terminal: wrapped with hanging indents, aligned in columns, coloured if asked."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from controller.report.safe import plain

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
PLAIN = ""

Span = tuple[str, str]
"""A style and the text that it applies to."""

_NARROWEST = 40
_ENOUGH = 32
"""Columns that a sentence needs beside what stands before it; with fewer it goes below."""
_BELOW = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Makes lines of at most `width` columns, words that are longer apart.

    Every text passes `safe.plain` here, so nothing that is echoed can reach a terminal otherwise.
    """

    colour: bool
    width: int

    def line(self, *spans: Span) -> str:
        """Return `spans` as one line, never wrapped."""
        return "".join(self._painted(style, plain(text)) for style, text in spans)

    def row(self, lead: Sequence[Span], text: str, *, hang: int = 0) -> Iterator[str]:
        """Yield `lead` and then `text`, wrapped; later lines hang under it, or at column `hang`."""
        first = self.line(*lead)
        if not text:
            yield first.rstrip()
            return
        used = sum(columns(plain(span)) for _, span in lead)
        width = max(self.width, _NARROWEST)
        indent = hang or used
        if not hang and width - used < _ENOUGH:
            yield first.rstrip()
            first, used, indent = " " * _BELOW, _BELOW, _BELOW
        for number, words in enumerate(_wrapped(plain(text), width - used, width - indent)):
            yield ((" " * indent if number else first) + words).rstrip()

    def rows(self, lead: Sequence[Span], texts: Sequence[str]) -> Iterator[str]:
        """Yield `lead` and then each of `texts` on lines of its own, one below the other."""
        yield from self.row(lead, texts[0] if texts else "")
        used = sum(columns(plain(span)) for _, span in lead)
        indent = used if max(self.width, _NARROWEST) - used >= _ENOUGH else _BELOW
        for text in texts[1:]:
            yield from self.row([(PLAIN, " " * indent)], text, hang=indent)

    def table(
        self,
        head: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Collection[int] = (),
        *,
        indent: int = 2,
    ) -> Iterator[str]:
        """Yield a header and rows in columns; those in `right` are flush right."""
        cells = [head, *([plain(cell) for cell in row] for row in rows)]
        widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
        for number, row in enumerate(cells):
            padded = (
                _padded(cell, width, flush_right=at in right)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            text = " " * indent + "  ".join(padded).rstrip()
            yield text if number else self._painted(DIM, text)

    def _painted(self, style: str, text: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and style and text else text


def aligned(texts: Iterable[str], most: int = 44) -> list[str]:
    """Return `texts` as one column, flush left; those longer than `most` columns stick out."""
    cells = [plain(text) for text in texts]
    width = min(most, max(map(columns, cells), default=0))
    return [_padded(cell, width, flush_right=False) for cell in cells]


def columns(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _padded(text: str, width: int, *, flush_right: bool) -> str:
    blank = " " * (width - columns(text))
    return blank + text if flush_right else text + blank


def _wrapped(text: str, first: int, rest: int) -> Iterator[str]:
    """Yield `text` in lines of at most `first`, then `rest` columns; words are never broken."""
    line, used, room = "", 0, first
    for word in text.split(" "):
        size = columns(word)
        if line and used + 1 + size > room:
            yield line
            line, used, room = word, size, rest
        else:
            line = f"{line} {word}" if line else word
            used += size + 1 if used else size
    yield line

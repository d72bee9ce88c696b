"""What text from files, APIs and workspaces looks like where it must do nothing but be read."""

from __future__ import annotations

import re

from controller.documents.characters import NOT_IN_YAML

# The runner acts on lines that begin with `::command`, and on `##[command]` anywhere
# (https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs).
_COMMAND = re.compile(r"(?<!\S):(?=:)|#(?=#\[)")
_LINE_END = re.compile(r"\r?\n")
_UNSEEN = re.compile(NOT_IN_YAML.pattern + "|\u2800")

# Everything that begins a span, a link, a cell or a reference in the middle of a line of Markdown.
_MARKUP = {ord(c): f"&#{ord(c)};" for c in "#$&*<>@[\\]_`|~"}
# GitHub looks for mentions, references and addresses in the text that is left when Markdown and
# character references are read, so these need a zero-width space as well.
_BREAK = "\u200b"
_LIVE = re.compile(r"[@#]|:(?=/)|www(?=\.)|GH-(?=\d)", re.IGNORECASE)
_TAME = re.compile(r"[A-Za-z0-9_./*:=+,%-](?:[A-Za-z0-9_./*:=+,% -]{0,198}[A-Za-z0-9_./*:=+,%-])?")
_SPAN = re.compile(rf"(?<!`)(`{_TAME.pattern}`)(?!`)")

LONGEST = 600
"""Characters of one text that a Markdown report shows."""


def plain(text: str) -> str:
    r"""Return `text` in one line, with everything that is not seen shown as `\u{200B}`.

    That is controls, escape sequences, bidi, zero-width and lone surrogates; line ends become
    spaces; what the log of a workflow would take for a command is broken.
    """
    line = _LINE_END.sub(" ", text)
    if not line.isprintable() or _UNSEEN.search(line):
        hidden = (not c.isprintable() or _UNSEEN.match(c) for c in line)
        line = "".join(_shown(c) if hide else c for c, hide in zip(line, hidden, strict=True))
    return _COMMAND.sub(lambda match: _shown(match[0]), line)


def inline(text: str) -> str:
    """Return `text` for Markdown: it reads the same and is never a mention, link, image or HTML.

    Of all markup only harmless code spans stay what they are.
    """
    line = plain(text[: 2 * LONGEST + 2])  # a line end may be two characters
    if len(line) > LONGEST:
        line = line[:LONGEST] + "…"
    spans = _SPAN.split(line)  # every second part is a code span with nothing live in it
    return "".join(part if at % 2 else _dead(part) for at, part in enumerate(spans))


def code(text: str) -> str:
    """Return `text` as a code span if nothing in it could end one, and else as `inline` does."""
    return f"`{text}`" if _TAME.fullmatch(text) else inline(text)


def _dead(text: str) -> str:
    broken = _LIVE.sub(lambda match: match[0] + _BREAK, text)
    return broken.translate(_MARKUP).replace(_BREAK, "&#8203;")


def _shown(character: str) -> str:
    return f"\\u{{{ord(character):04X}}}"

"""Who owns a path: CODEOWNERS with GitHub's rules.

https://docs.github.com/articles/about-code-owners. The answer is GitHub's; besides, every line
that GitHub would ignore, or would read as something else than it says, is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from controller.documents.characters import (
    NOT_IN_PROSE,
    NOT_IN_YAML,
    quoted,
    unseen_characters,
)
from controller.documents.patterns import fixed_part, ownership
from controller.documents.snapshot import REGULAR, Blob
from controller.values import Location, Problem, RepoPath, by_place

PLACES = (RepoPath(".github/CODEOWNERS"), RepoPath("CODEOWNERS"), RepoPath("docs/CODEOWNERS"))
"""Where GitHub looks; the first that exists counts."""
MAX_BYTES = 3_000_000
"""GitHub does not load a file of this size; then nobody owns anything."""

_LOGIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:_[A-Za-z0-9]+)?"
_OWNERS: dict[Literal["user", "team", "email"], re.Pattern[str]] = {
    "user": re.compile(rf"@{_LOGIN}\Z"),
    "team": re.compile(rf"@{_LOGIN}/[A-Za-z0-9_.-]+\Z"),
    "email": re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\Z"),
}
_OWNER_FORMS = "write an owner as `@user`, `@org/team` or an e-mail address"
_SECTION = re.compile(r"\^?\[[^\]]*\]")
# A backslash takes the character after it into the token; the rest of a line after `#` is comment.
_TOKEN = re.compile(r"[ \t]*((?:\\.|[^\\ \t#]|\\\Z)+)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line that applies. Without owners it un-owns what it matches."""

    line: int
    pattern: str
    owners: tuple[str, ...]


@dataclass(frozen=True)
class Owners:
    """One CODEOWNERS file. `problems`: every line that GitHub would ignore; each blocks."""

    path: RepoPath
    problems: tuple[Problem, ...]
    rules: tuple[Rule, ...] = ()

    def of(self, path: str) -> tuple[str, ...] | None:
        """Return the owners of `path`: () when the last match names nobody, None without match."""
        for fixed, rule in self._last_first:
            if fixed in path and ownership(rule.pattern).match(path):
                return rule.owners
        return None

    @cached_property
    def _last_first(self) -> tuple[tuple[str, Rule], ...]:
        """The rules from the last one on, each after a text that is in every path it matches."""
        return tuple((fixed_part(rule.pattern), rule) for rule in reversed(self.rules))


def read_owners(path: RepoPath, blob: Blob) -> Owners:
    """Return what the file says. Nothing is raised, whatever the bytes."""
    if blob.mode != REGULAR:
        message = f"CODEOWNERS has the mode {blob.mode}, so that it is not a plain file"
        remedy = "replace it by a regular file that is not executable (mode 100644)"
        return Owners(path, (Problem("not-a-file", Location(path), message, remedy),))
    content = blob.content or b""
    if len(content) >= MAX_BYTES:
        message = f"the file has {len(content):,} bytes; GitHub loads none of {MAX_BYTES:,} or more"
        remedy = "shorten it, else nobody owns anything"
        return Owners(path, (Problem("too-large", Location(path), message, remedy),))
    rules: list[Rule] = []
    problems: list[Problem] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        rule, said = _line(line.removesuffix(b"\r"), path, number)
        problems += said
        if rule is not None:
            rules.append(rule)
    return Owners(path, by_place(problems), tuple(rules))


def kind_of_owner(owner: str) -> Literal["user", "team", "email"] | None:
    """Return what `owner` names (`@user`, `@org/team`, an e-mail address), None for no owner."""
    return next((kind for kind, form in _OWNERS.items() if form.match(owner)), None)


def _line(content: bytes, path: RepoPath, number: int) -> tuple[Rule | None, list[Problem]]:
    """Return the rule of one line, if it is one that applies, and what is wrong with the line."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} of the line is not UTF-8"
        where = Location(path, number, 1)
        return None, [Problem("encoding", where, message, "save the file as UTF-8")]
    tokens, comment = _tokens(text)
    # Blanks that look like a space matter where words are told apart, tabs do not.
    words = text[:comment].replace("\t", " ")
    hidden = unseen_characters(words, path, number, pattern=NOT_IN_YAML)
    rest = " " * comment + text[comment:]
    problems = [*hidden, *unseen_characters(rest, path, number, pattern=NOT_IN_PROSE)]
    if hidden or not tokens:
        return None, problems
    where = Location(path, number, len(text) - len(text.lstrip(" \t")) + 1)
    ignored = [Problem(code, where, said, fix) for code, said, fix in _ignored(tokens)]
    misread = _misread(tokens, text, comment)
    problems += [*ignored, *(Problem(code, where, said, fix) for code, said, fix in misread)]
    return None if ignored else Rule(number, tokens[0], tuple(tokens[1:])), problems


def _tokens(text: str) -> tuple[list[str], int]:
    """Return the words of a line, and where its comment begins."""
    tokens = []
    end = 0
    while match := _TOKEN.match(text, end):
        tokens.append(match.group(1))
        end = match.end()
    blanks = len(text[end:]) - len(text[end:].lstrip(" \t"))
    return tokens, end + blanks


def _ignored(tokens: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (code, message, remedy) for each reason for which GitHub ignores the line."""
    pattern, *owners = tokens
    if _SECTION.match(pattern):
        message = f"{quoted(pattern)} opens a section, which only GitLab knows"
        yield "bad-pattern", message, "remove the line; write the owners on every pattern's line"
    elif "[" in pattern or "]" in pattern:
        message = f"{quoted(pattern)} has a bracket, which GitHub does not support in a pattern"
        yield "bad-pattern", message, "write one line for each name, or use `?` or `*`"
    elif pattern.startswith("!"):
        message = f"{quoted(pattern)} begins with `!`, which GitHub does not support"
        yield "bad-pattern", message, "write a later line for that path, with its own owners"
    elif "\\#" in pattern:
        message = f"{quoted(pattern)} has a `\\#`, which GitHub does not support"
        yield "bad-pattern", message, "write `?` for the `#`, or rename the file"
    else:
        yield from _unclear(pattern)
    for owner in owners:
        if kind_of_owner(owner) is None:
            message = f"{quoted(owner)} is not an owner, so that the whole line is ignored"
            remedy = f"{_OWNER_FORMS}; a blank in a pattern is `\\ `"
            yield "bad-owner", message, remedy


def _unclear(pattern: str) -> Iterator[tuple[str, str, str]]:
    """Yield why no path, or nobody knows which paths, can match `pattern`."""
    parts = pattern.removeprefix("/").split("/")
    if "***" in pattern:
        message = f"{quoted(pattern)} has three stars in a row, which GitHub does not support"
        yield "bad-pattern", message, "write `*` for one part of a path, `**` for any number"
    elif parts == ["**", ""] or ("**", "**") in pairwise(parts):
        message = (
            f"{quoted(pattern)} has nothing but `/` between or after its `**`, which is unclear"
        )
        yield "bad-pattern", message, "write `**` once, and after it the name that is meant"
    elif "" in parts[:-1] or parts == [""]:
        message = f"{quoted(pattern)} has an empty part, so that it matches no path"
        yield "bad-pattern", message, "write `*` for every file, else one `/` between names"
    elif any(re.search(r"(?<!\\)(?:\\\\)*\\\Z", part) for part in parts):
        message = f"{quoted(pattern)} has a backslash that escapes nothing"
        yield "bad-pattern", message, "remove the backslash; the parts of a path stand between `/`"


def _misread(tokens: list[str], text: str, comment: int) -> Iterator[tuple[str, str, str]]:
    """Yield what GitHub reads in a way that nobody means."""
    pattern, *owners = tokens
    if pattern == "-":
        message = "`-` begins the line, so that it is about a file named `-`"
        yield "bad-pattern", message, "remove the `-`; CODEOWNERS is not a list"
    elif kind_of_owner(pattern) in ("user", "team") or (kind_of_owner(pattern) and not owners):
        message = f"{quoted(pattern)} stands where a pattern belongs, so that it is a path"
        star, path = quoted(f"* {pattern}"), quoted(f"/{pattern}")
        remedy = f"write {star}; if a path of that name is meant, {path}"
        yield "no-pattern", message, remedy
    if text[comment : comment + 1] == "#" and text[comment - 1] not in " \t":
        message = (
            f"`#` is glued to {quoted(tokens[-1])}; what follows may be a comment or a part of it"
        )
        yield "bad-pattern", message, "put a blank before a comment; write `?` for a `#` in a name"

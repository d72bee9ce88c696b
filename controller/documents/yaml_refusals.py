"""The words in which the YAML reader refuses: a code, a place, one sentence and one fix each."""

from __future__ import annotations

from typing import Any

from controller.documents.characters import named, quoted
from controller.documents.scalars import Doubt
from controller.values import Location, Problem, RepoPath

COLUMN_BITS = 20
MOST = 200
"""Problems of one document that are told."""

Event = Any
Mark = Any
"""Of PyYAML, whose stubs leave every field of an event optional."""


class Stop(Exception):  # noqa: N818 - control flow between the walk and its caller
    """The rest of the document is not read; the last problem says why."""


class Refusals:
    """The problems of one document so far, and the pointers whose values are stand-ins."""

    def __init__(self, path: RepoPath, first_line: int) -> None:
        self.problems: list[Problem] = []
        self.faulty: set[str] = set()
        self._path = path
        self._first_line = first_line

    def line(self, mark: Mark) -> int:
        """Return the line of the file on which one of libyaml's marks is."""
        line: int = mark.line + self._first_line
        return line

    def location(self, mark: Mark) -> Location:
        """Return the place in the file of one of libyaml's marks."""
        return Location(self._path, self.line(mark), mark.column + 1)

    def directive(self, mark: Mark) -> None:
        """Refuse `%YAML` and `%TAG`."""
        self._add("yaml-tag", mark, "a `%` directive is not allowed", "remove the line")

    def second_document(self, mark: Mark) -> None:
        """Refuse what comes after the end of the document."""
        message = "a second YAML document starts here"
        self._add("multi-document", mark, message, "keep one document in a file")

    def tag(self, event: Event, pointer: str) -> None:
        """Refuse the tag of a value or a key."""
        shown = quoted(event.tag.replace("tag:yaml.org,2002:", "!!"))
        message = f"the tag {shown} is not allowed"
        remedy = f"remove {shown}, and write text in quotes"
        self._add("yaml-tag", event.start_mark, message, remedy, pointer)

    def scalar(self, event: Event, doubt: Doubt, pointer: str) -> None:
        """Refuse a plain scalar of which nobody can say what it means."""
        code = "bad-value" if doubt.kind == "not-finite" else "ambiguous-scalar"
        message = f"{quoted(event.value)} {doubt.why}"
        self._add(code, event.start_mark, message, doubt.remedy, pointer)

    def key(self, event: Event, value: object, pointer: str) -> None:
        """Refuse a plain key that is read as `value`, which is not text."""
        shown = quoted(event.value)
        code, message = "non-string-key", f"the key {shown} is not text"
        remedy = f'write "{event.value}": in quotes'
        if not event.value:
            message, remedy = "there is no key before `:`", "write a key, or remove the colon"
        elif isinstance(value, Doubt):
            code, message = "ambiguous-key", f"the key {shown} {value.why}"
        if shown != f"`{event.value}`":
            remedy = "write the key in quotes"
        self._add(code, event.start_mark, message, remedy, pointer)

    def key_kind(self, event: Event) -> None:
        """Refuse a key that is no scalar."""
        message = "a key is a list, a mapping or an alias"
        self._add("non-string-key", event.start_mark, message, "write the key as text")

    def key_length(self, event: Event, most: int) -> None:
        """Refuse keys that together are longer than `most` characters."""
        message = f"the keys down to here have more than {most:,} characters"
        self._add("too-large", event.start_mark, message, "use shorter keys")

    def escape(self, event: Event, character: str, pointer: str) -> None:
        """Refuse an invisible character that a double-quoted text writes as an escape."""
        message = f"the text contains {named(character)}, written as an escape"
        self._add("invisible-character", event.start_mark, message, "remove the escape", pointer)

    def twice(self, event: Event, key: str, first: int) -> None:
        """Refuse a key that line `first` has already."""
        second = self.line(event.start_mark)
        message = f"{quoted(key)} is written twice: on line {first} and on line {second}"
        self._add("duplicate-key", event.start_mark, message, "keep one of the two")

    def merge(self, event: Event, pointer: str) -> None:
        """Refuse a `<<` that has no mapping to merge."""
        message = "`<<` takes a mapping, or a list of mappings"
        remedy = "write `<<: *name`, where `&name` marks a mapping"
        self._add("wrong-type", event.start_mark, message, remedy, pointer)

    def anchor(self, event: Event, first: int) -> None:
        """Refuse an anchor whose name line `first` has already."""
        name, second = quoted("&" + event.anchor), self.line(event.start_mark)
        message = f"the anchor {name} is defined twice: on line {first} and on line {second}"
        self._add("duplicate-key", event.start_mark, message, "give each anchor its own name")

    def alias(self, event: Event, pointer: str) -> None:
        """Refuse an alias of an anchor that is not there, or whose value is not over yet."""
        name = quoted("*" + event.anchor)
        message = f"{name} has no anchor {quoted('&' + event.anchor)} that ends before it"
        remedy = "define the anchor first, or write text that starts with `*` in quotes"
        self._add("yaml-syntax", event.start_mark, message, remedy, pointer)

    def size(self, event: Event, what: str) -> None:
        """Refuse a document that is `what` when its aliases are written out."""
        message = f"with its aliases written out the document has more than {what}"
        remedy = "write less, or use fewer aliases"
        self._add("too-large", event.start_mark, message, remedy)

    def depth(self, mark: Mark, most: int, pointer: str | None = None) -> None:
        """Refuse a collection inside `most` others."""
        message = f"this is nested more than {most} levels deep"
        self._add("too-deep", mark, message, "flatten the document", pointer)

    def syntax(self, mark: Mark, said: str, remedy: str) -> None:
        """Refuse what libyaml refuses, in its own words."""
        self._add("yaml-syntax", mark, f"this is not YAML: {said}", remedy)

    def unreadable(self, last: int, said: str) -> None:
        """Refuse what libyaml reads and Python cannot hold, such as a tag that is not UTF-8.

        Nobody says where that is: it comes after the value at the packed place `last`.
        """
        where = Location(self._path, last >> COLUMN_BITS, last & ((1 << COLUMN_BITS) - 1))
        message, remedy = f"this is not YAML: {said}", "remove what follows here, or quote it"
        self.problems.append(Problem("yaml-syntax", where, message, remedy))

    def _add(
        self, code: str, mark: Mark, message: str, remedy: str, faulty: str | None = None
    ) -> None:
        where = self.location(mark)
        if len(self.problems) == MOST:
            message = f"the document has more than {MOST} problems"
            self.problems.append(Problem("too-large", where, message, "mend those before it first"))
            raise Stop
        self.problems.append(Problem(code, where, message, remedy))
        if faulty is not None:
            self.faulty.add(faulty)

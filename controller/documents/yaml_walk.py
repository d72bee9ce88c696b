"""One walk over the events of a YAML document: its data, where each value stands, its problems.

libyaml (through PyYAML) finds the events; what plain scalars, keys, tags, anchors and `<<` mean is
decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from controller.documents.characters import NOT_IN_TEXT
from controller.documents.scalars import IN_BRACKETS, Doubt, resolve
from controller.documents.yaml_anchors import Anchored
from controller.documents.yaml_refusals import COLUMN_BITS, Event, Mark, Refusals, Stop
from controller.values import Json

MAX_DEPTH = 32
MAX_NODES = 20_000
"""Values of a document with every alias written out."""
MAX_ALIASED = 256 * 1024
"""Characters that the aliases of a document may stand for."""
MAX_POINTER = 1024
"""Characters of a JSON pointer: every value of a document has one."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where an unquoted date or exponent is meant. JSON pointers; `*` stands for one part."""

    dates: frozenset[str] = frozenset()
    exponents: frozenset[str] = frozenset()

    def means(self, doubt: Doubt, pointer: str) -> bool:
        """Whether what `doubt` is about is meant as text at `pointer`."""
        patterns = {"date": self.dates, "exponent": self.exponents}.get(doubt.kind, frozenset())
        return any(_covers(pattern, pointer) for pattern in patterns)


PLAIN = Dialect()


@lru_cache(maxsize=8192)
def pointer_to(parent: str, key: str | int) -> str:
    """Return the JSON pointer of `key` under `parent` (RFC 6901)."""
    part = key.replace("~", "~0").replace("/", "~1") if isinstance(key, str) else str(key)
    return f"{parent}/{part}"


class Walk:
    """The walk, and what it has found so far."""

    def __init__(self, text: str, dialect: Dialect, refusals: Refusals, first_line: int) -> None:
        self.positions: dict[str, int] = {}
        self._parser = CParser(text)
        self._next: Callable[[], Event] = self._parser.get_event
        self._escapes = "\\" in text
        self._in_brackets = False
        self._resolve = self._question if "?" in text else resolve
        self._dialect = dialect
        self._refuse = refusals
        self._first_line = first_line
        self._anchors: dict[str, Anchored] = {}
        self._nodes = 0
        self._aliased = 0

    def run(self) -> Json:
        """Return the data of the document. What libyaml and Python raise comes through."""
        try:
            self._next()
            start = self._next()
            if start.__class__ is StreamEndEvent:
                return None
            if start.version or start.tags:
                self._refuse.directive(start.start_mark)
            first = self._next()
            self.positions[""] = self._place(first.start_mark)
            data: Json = self._node(first, "", 0)
            self._end()
            return data
        finally:
            self._parser.dispose()

    def last(self) -> int:
        """Return the packed place of the last value that was found."""
        return max(self.positions.values(), default=self._first_line << COLUMN_BITS | 1)

    def _end(self) -> None:
        end = self._next()
        try:
            after = self._next()
        except yaml.MarkedYAMLError as error:
            if not end.explicit:
                raise
            # After `...` libyaml wants `---` before anything more.
            self._refuse.second_document(error.problem_mark)
        else:
            if after.__class__ is not StreamEndEvent:
                self._refuse.second_document(after.start_mark)

    def _node(self, event: Event, pointer: str, depth: int) -> Any:
        """Return the value that starts with `event`, inside `depth` collections."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._too_large(event)
        kind = event.__class__
        if kind is ScalarEvent and event.tag is None and event.anchor is None:
            return self._scalar(event, pointer)
        if kind is AliasEvent:
            return self._alias(event, pointer, depth)
        if event.tag is not None:
            self._refuse.tag(event, pointer)
        if kind is ScalarEvent:
            value = self._scalar(event, pointer)
        elif depth >= MAX_DEPTH:
            self._refuse.depth(event.start_mark, MAX_DEPTH, pointer)
            raise Stop
        else:
            outside, self._in_brackets = self._in_brackets, event.flow_style
            read = self._mapping if kind is MappingStartEvent else self._sequence
            value = read(pointer, depth + 1)
            self._in_brackets = outside
        if event.anchor is not None:
            self._define(event, value)
        return value

    def _scalar(self, event: Event, pointer: str) -> Any:
        text: str = event.value
        if event.style:
            if self._escapes:
                self._escaped(event, pointer)
            return text
        value = self._resolve(text)
        if value.__class__ is Doubt:
            if not self._dialect.means(value, pointer):
                self._refuse.scalar(event, value, pointer)
            return text
        return value

    def _question(self, text: str) -> Any:
        return IN_BRACKETS if self._in_brackets and "?" in text else resolve(text)

    def _escaped(self, event: Event, pointer: str) -> None:
        hidden = NOT_IN_TEXT.search(event.value)
        if hidden:
            self._refuse.escape(event, hidden.group(), pointer)

    def _sequence(self, pointer: str, depth: int) -> list[Any]:
        out: list[Any] = []
        while True:
            event = self._next()
            if event.__class__ is SequenceEndEvent:
                return out
            inner = pointer_to(pointer, len(out))
            self.positions[inner] = self._place(event.start_mark)
            out.append(self._node(event, inner, depth))

    def _mapping(self, pointer: str, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: dict[str, Any] | None = None
        following, positions, first_line = self._next, self.positions, self._first_line
        while True:
            event = following()
            kind = event.__class__
            if kind is MappingEndEvent:
                return {**merged, **out} if merged else out
            key: Any = None
            if kind is ScalarEvent and not (event.style or event.tag or event.anchor):
                key = self._resolve(event.value)
            if key.__class__ is not str:
                if key is not None and event.value == "<<":
                    merged = self._merge(event, pointer, depth, merged)
                    continue
                key = self._key(event, pointer, depth)
                if key is None:
                    continue
            inner = pointer_to(pointer, key)
            if len(inner) > MAX_POINTER:
                self._refuse.key_length(event, MAX_POINTER)
                raise Stop
            if key in out:
                self._twice(event, key, inner, depth)
                continue
            # A key stands where its value's place is wanted: that is where a reader looks.
            mark = event.start_mark
            positions[inner] = ((mark.line + first_line) << COLUMN_BITS) | (mark.column + 1)
            out[key] = self._node(following(), inner, depth)

    def _key(self, event: Event, pointer: str, depth: int) -> str | None:
        """Return a key that is not simply text, refused or not; None if it cannot be kept."""
        if event.__class__ is not ScalarEvent:
            self._refuse.key_kind(event)
            self._aside(event, pointer, depth)
            self._aside(self._next(), pointer, depth)
            return None
        key: str = event.value
        inner = pointer_to(pointer, key)
        if event.tag is not None:
            self._refuse.tag(event, inner)
        elif event.style:
            self._escaped(event, inner)
        elif not isinstance(value := self._resolve(key), str):
            self._refuse.key(event, value, inner)
        if event.anchor is not None:
            self._define(event, key)
        return key

    def _twice(self, event: Event, key: str, inner: str, depth: int) -> None:
        self._refuse.twice(event, key, self.positions[inner] >> COLUMN_BITS)
        self._aside(self._next(), inner, depth)

    def _aside(self, event: Event, pointer: str, depth: int) -> None:
        """Read a value that is not kept, for its problems alone."""
        positions, faulty = self.positions, self._refuse.faulty
        self.positions, self._refuse.faulty = {}, set()
        self._node(event, pointer, depth)
        self.positions, self._refuse.faulty = positions, faulty

    def _merge(
        self, event: Event, pointer: str, depth: int, merged: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return the fields that `<<` brings; of the mappings of a list, an earlier one wins."""
        inner = pointer_to(pointer, "<<")
        if merged is not None:
            self._twice(event, "<<", inner, depth)
            return merged
        place = self.positions[inner] = self._place(event.start_mark)
        value = self._node(self._next(), inner, depth)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            if inner not in self._refuse.faulty:
                self._refuse.merge(event, inner)
            self._refuse.faulty.add(pointer)  # the fields that it was to bring are not missing
            return {}
        fields: dict[str, Any] = {}
        for key, inherited in (field for part in parts for field in part.items()):
            fields.setdefault(key, inherited)
        for key in fields:
            self.positions.setdefault(pointer_to(pointer, key), place)
        return fields

    def _define(self, event: Event, value: Any) -> None:
        earlier = self._anchors.get(event.anchor)
        if earlier is not None:
            self._refuse.anchor(event, earlier.line)
        else:
            self._anchors[event.anchor] = Anchored(value, self._refuse.line(event.start_mark))

    def _alias(self, event: Event, pointer: str, depth: int) -> Any:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            self._refuse.alias(event, pointer)
            return None
        self._nodes += anchored.size.nodes
        self._aliased += anchored.size.characters
        if self._nodes > MAX_NODES or self._aliased > MAX_ALIASED:
            self._too_large(event)
        if depth + anchored.size.height > MAX_DEPTH:
            self._refuse.depth(event.start_mark, MAX_DEPTH, pointer)
            return None
        return anchored.value

    def _too_large(self, event: Event) -> NoReturn:
        nodes = self._nodes > MAX_NODES
        most = f"{MAX_NODES:,} values" if nodes else f"{MAX_ALIASED:,} characters"
        self._refuse.size(event, most)
        raise Stop

    def _place(self, mark: Mark) -> int:
        """Return line and column as one number, which keeps ten thousand documents small."""
        place: int = ((mark.line + self._first_line) << COLUMN_BITS) | (mark.column + 1)
        return place


def _covers(pattern: str, pointer: str) -> bool:
    """Whether `pattern` names `pointer`; `*` stands for one part of it."""
    wanted, parts = pattern.split("/"), pointer.split("/")
    if len(wanted) != len(parts):
        return False
    return all(want in ("*", part) for want, part in zip(wanted, parts, strict=True))

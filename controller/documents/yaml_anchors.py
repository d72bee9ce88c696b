"""What an alias of a YAML document stands for, and how much that is when written out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple


class Size(NamedTuple):
    """A value with all that is in it: values, characters of text, collections in each other."""

    nodes: int
    characters: int
    height: int


@dataclass(frozen=True)
class Anchored:
    """A value with an anchor, and the line of the anchor."""

    value: Any
    line: int

    @cached_property
    def size(self) -> Size:
        """The size of `value`, measured when an alias first asks for it."""
        return _size(self.value)


def _size(value: Any) -> Size:
    if isinstance(value, dict):
        parts, characters = [_size(part) for part in value.values()], sum(map(len, value))
    elif isinstance(value, list):
        parts, characters = [_size(part) for part in value], 0
    else:
        return Size(1, len(str(value)), 0)
    return Size(
        1 + sum(part.nodes for part in parts),
        characters + sum(part.characters for part in parts),
        1 + max((part.height for part in parts), default=0),
    )

"""Where a field of a sound document stands: packed positions by JSON pointer, unpacked."""

from __future__ import annotations

from collections.abc import Mapping

from controller.values import Location, RepoPath

_COLUMN_BITS = 20
_COLUMN = (1 << _COLUMN_BITS) - 1


def located(positions: Mapping[str, int], path: RepoPath, pointer: str) -> Location:
    """Return the place of the value at a JSON pointer, or of the nearest thing it would be in.

    A position is `line << 20 | column`, both from 1. A document without any begins on line 1.
    """
    while pointer and pointer not in positions:
        pointer = pointer.rpartition("/")[0]
    packed = positions.get(pointer, 1 << _COLUMN_BITS)
    return Location(path, packed >> _COLUMN_BITS, packed & _COLUMN)

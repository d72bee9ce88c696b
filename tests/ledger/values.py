"""Any value that the ledger keeps, made from what its type says. All follows from a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from controller.ledger.book import (
    Account,
    Decision,
    Heartbeat,
    Order,
    Proof,
    Standing,
    Trust,
)
from controller.ledger.records import RunRecord

FILES = (RunRecord, Account, Decision, Order, Proof, Trust, Heartbeat, Standing)
"""Every kind of file."""
_LETTERS = 'aA0-/.% \t\n"\\{}[]:,é\u2028\U0001f600\x00\x7f'


class Draw(Random):
    """Everything about one value follows from its number."""

    def value(self, type_: Any) -> Any:
        """Return a value of a type."""
        if isinstance(type_, NewType):
            return self.value(type_.__supertype__)
        origin, args = get_origin(type_), get_args(type_)
        if origin in (Union, UnionType):
            chosen = self.choice(args)
            return None if chosen is NoneType else self.value(chosen)
        if origin is Literal:
            return self.choice(args)
        if origin is tuple:
            return tuple(self.value(args[0]) for _ in range(self.randint(0, 3)))
        if is_dataclass(type_):
            hints = get_type_hints(type_)
            chosen = {f.name: self.value(hints[f.name]) for f in fields(type_)}
            return type_(**chosen)  # type: ignore[operator]
        return self._plain(type_)

    def _plain(self, type_: Any) -> Any:
        if type_ is Any:
            return self.json()
        plain: dict[Any, Any] = {
            str: "".join(self.choices(_LETTERS, k=self.randint(0, 6))),
            int: self.choice([0, 1, -1, 2**39, self.getrandbits(16)]),
            float: self.choice([0.0, -0.0, 1e-300, 1e11, 960.0, self.uniform(-1e6, 1e6)]),
            bool: self.random() < 0.5,
            datetime: datetime(2026, 11, 30, tzinfo=UTC) + self.random() * timedelta(days=9),
            date: date(2026, 11, 30) + timedelta(days=self.randint(0, 999)),
        }
        return plain[type_]

    def json(self, depth: int = 3) -> Any:
        """Return data of any shape."""
        if depth and self.random() < 0.5:
            inner = [self.json(depth - 1) for _ in range(self.randint(0, 3))]
            return self.choice([inner, {self._plain(str): item for item in inner}])
        return self._plain(self.choice([str, int, float, bool]))


def nodes(data: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of everything in JSON data, the whole of it first."""
    yield above
    inside: Any = data.items() if isinstance(data, dict) else ()
    for key, item in enumerate(data) if isinstance(data, list) else inside:
        yield from nodes(item, (*above, key))


def at(data: Any, place: tuple[Any, ...]) -> Any:
    """Return what is at a place."""
    for key in place:
        data = data[key]
    return data

"""Frozen values as JSON and back: one spelling, nothing unknown, nothing missing.

What a type says is the whole schema: a key that is no field, a field without a default that is not
there, or a value of another type is refused. Times are UTC, `2026-11-30T20:00:00Z`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from controller.values import canonical_json

SCHEMA = 1
"""The version of every file of the ledger, under its key `schema`."""

DEEPEST = 40
"""So deep may data be nested that is kept as it is."""

LARGEST = 10**12
"""No number of the ledger is larger: sums and products of these stay numbers."""
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""No time of the ledger lies outside: what is reckoned from these stays a time."""

T = TypeVar("T")


class MalformedError(ValueError):
    """Bytes that are not what `encoded` writes."""


_Decoder = Callable[[Any], Any]


def encoded(value: Any) -> bytes:
    """Return a frozen value as a file of the ledger: canonical JSON and a newline."""
    return canonical_json({"schema": SCHEMA, **as_data(value)}) + b"\n"


def decoded(type_: type[T], content: bytes) -> T:
    """Return the value that `encoded` wrote. Raises MalformedError for other bytes."""
    try:
        read = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise MalformedError("it is not JSON") from error
    schema = read.get("schema") if isinstance(read, dict) else None
    if type(schema) is not int or schema != SCHEMA:
        raise MalformedError(f"it is not of schema {SCHEMA}")
    value = from_data(type_, {key: read[key] for key in read if key != "schema"})
    if _spelled(read) != content:
        raise MalformedError("it is not in its one canonical spelling")
    return value


def _spelled(read: Any) -> bytes:
    """Return what was read as canonical JSON; what nobody can write has no spelling.

    The data and not the value: the decoders see to it that one value has one spelling as data.
    """
    try:
        return canonical_json(read) + b"\n"
    except (ValueError, RecursionError) as error:  # NaN, half a character, a thousand brackets
        raise MalformedError("it holds what cannot be written") from error


def as_data(value: Any) -> Any:
    """Return `value` as JSON data. Fields that have their default are left out."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case tuple() | list():
            return [as_data(item) for item in value]
        case Mapping():
            return {key: as_data(value[key]) for key in value}
        case _ if is_dataclass(value) and not isinstance(value, type):
            said = ((f, getattr(value, f.name)) for f in fields(value))
            data = {f.name: as_data(v) for f, v in said if f.default is MISSING or v != f.default}
            return data | {
                name: float(data[name])
                for name in _floats(type(value)) & data.keys()
                if data[name] is not None
            }
        case _:
            return value


def from_data(type_: type[T], data: Any) -> T:
    """Return the value of `type_` that `as_data` spelled so. Raises MalformedError."""
    return cast(T, _decoder(cast(Hashable, type_))(data))


_FRACTIONS = (float, float | None)


@cache
def _floats(type_: type) -> frozenset[str]:
    """Return the fields that are numbers with a fraction: `960` there is spelled `960.0`."""
    return frozenset(name for name, hint in get_type_hints(type_).items() if hint in _FRACTIONS)


@cache
def _decoder(type_: Hashable) -> _Decoder:
    if isinstance(type_, NewType):
        return _decoder(type_.__supertype__)
    origin, args = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        return _optional(args)
    if origin is Literal:
        return _literal(args)
    if origin is tuple:
        return _tuple(_decoder(args[0]))
    if origin is Mapping or origin is dict:
        return _mapping(_decoder(args[1]))
    if is_dataclass(type_):
        return _dataclass(cast(type, type_))
    return _PLAIN[type_]


def _optional(args: tuple[Any, ...]) -> _Decoder:
    (inner,) = (arg for arg in args if arg is not NoneType)
    decode = _decoder(inner)
    return lambda data: None if data is None else decode(data)


def _literal(allowed: tuple[Any, ...]) -> _Decoder:
    def decode(data: Any) -> Any:
        if not isinstance(data, str) or data not in allowed:
            raise MalformedError(f"{data!r} is none of {', '.join(map(repr, allowed))}")
        return data

    return decode


def _tuple(item: _Decoder) -> _Decoder:
    def decode(data: Any) -> Any:
        if not isinstance(data, list):
            raise MalformedError("it is not a list")
        return tuple([item(one) for one in data])

    return decode


def _mapping(item: _Decoder) -> _Decoder:
    def decode(data: Any) -> Any:
        if not isinstance(data, dict):
            raise MalformedError("it is not an object")
        return {key: item(data[key]) for key in data}

    return decode


def _dataclass(type_: type) -> _Decoder:
    hints = get_type_hints(type_)
    decoders = {field.name: _decoder(hints[field.name]) for field in fields(type_)}
    needed = frozenset(field.name for field in fields(type_) if field.default is MISSING)
    defaults = {f.name: f.default for f in fields(type_) if f.default is not MISSING}

    def decode(data: Any) -> Any:
        if not isinstance(data, dict):
            raise MalformedError(f"`{type_.__name__}` is an object")
        if missing := needed - data.keys():
            raise MalformedError(f"`{type_.__name__}` lacks `{min(missing)}`")
        if unknown := data.keys() - decoders.keys():
            raise MalformedError(f"`{type_.__name__}` has no `{min(unknown)}`")
        found = {key: decoders[key](data[key]) for key in data}
        for key in found.keys() & defaults.keys():
            if found[key] == defaults[key]:
                raise MalformedError(f"`{key}` has its default, which is left out")
        return type_(**found)

    return decode


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise MalformedError(f"{data!r} is not text")
    return data


def _whole(data: Any) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or abs(data) > LARGEST:
        raise MalformedError("it has a number that is not whole, or too large")
    return data


def _number(data: Any) -> float:
    if not isinstance(data, float) or not abs(data) <= LARGEST:
        raise MalformedError(f"{data!r} is not a number with a fraction, or too large")
    return data


def _flag(data: Any) -> bool:
    if not isinstance(data, bool):
        raise MalformedError(f"{data!r} is neither true nor false")
    return data


def _time(data: Any) -> datetime:
    try:
        at = datetime.fromisoformat(_text(data))
    except ValueError as error:
        raise MalformedError(f"{data!r} is not a time") from error
    if at.tzinfo is not UTC or at.isoformat() != data[:-1] + "+00:00":
        raise MalformedError(f"{data!r} is not a time in UTC")
    if not EARLIEST <= at <= LATEST:
        raise MalformedError(f"{data!r} is no time at which anything was written")
    return at


def _day(data: Any) -> date:
    try:
        day = date.fromisoformat(_text(data))
    except ValueError as error:
        raise MalformedError(f"{data!r} is not a day") from error
    if day.isoformat() != data:
        raise MalformedError(f"{data!r} is not a day as it is written here")
    return day


def _anything(data: Any, room: int = DEEPEST) -> Any:
    if not room:
        raise MalformedError("it is nested too deeply")
    if isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            _anything(item, room - 1)
    return data


_PLAIN: Mapping[Any, _Decoder] = {
    str: _text,
    int: _whole,
    float: _number,
    bool: _flag,
    datetime: _time,
    date: _day,
    Any: _anything,
}

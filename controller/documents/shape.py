"""Whether a document has the shape its published JSON Schema asks for, and what to do if not.

The schemas are the ones that editors use. `jsonschema-rs` answers yes in microseconds; only a
document that fails is gone through with `jsonschema`, whose errors become problems with a line.
Three annotations of ours serve the messages: `remedy` (one fix), `codes` (keyword to problem
code) and `legacy` (a key of an older dialect to what replaces it). Alternatives are written with
`if` and `then`, never `anyOf`: only then is it known which one a wrong value was meant to be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, Protocol

from controller.documents.characters import quoted
from controller.documents.yaml import Document, pointer_to
from controller.values import Json, Problem, by_place, listed, nearest

Schema = dict[str, Any]
Words = tuple[str, str, str]
"""A JSON pointer, what is wrong there, and what to do."""
Error = Any
"""A `jsonschema` error: its type stubs leave every field a union, so they would only cost casts."""


class Validator(Protocol):
    """The fast half of a schema."""

    def is_valid(self, instance: Json) -> bool:
        """Whether `instance` has the shape."""


_CODES = {
    "required": "missing-field",
    "minProperties": "missing-field",
    "minItems": "missing-field",
    "additionalProperties": "unknown-field",
    "type": "wrong-type",
    "minimum": "out-of-range",
    "maximum": "out-of-range",
    "exclusiveMinimum": "out-of-range",
}
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


@cache
def schema(name: str) -> Schema:
    """Return the published schema `controller/documents/schemas/<name>.schema.json`."""
    folder = resources.files("controller.documents") / "schemas"
    loaded: Schema = json.loads((folder / f"{name}.schema.json").read_text("utf-8"))
    return loaded


@cache
def fast_validator(name: str) -> Validator:
    """Return the compiled schema `name`."""
    import jsonschema_rs

    compiled: Validator = jsonschema_rs.Draft202012Validator(schema(name))
    return compiled


def shape_problems(document: Document, name: str) -> tuple[Problem, ...]:
    """Return everything in which `document` differs from the schema `name`; () when sound."""
    return problems_under(document, schema(name), fast_validator(name))


def problems_under(document: Document, rules: Schema, fast: Validator) -> tuple[Problem, ...]:
    """Return everything in which `document` differs from `rules`, which `fast` has compiled.

    A document that could not be read has said so already, and so has a value that is a stand-in
    (`Document.faulty`): nothing is added about them.
    """
    if document.data is None:
        return ()
    if not isinstance(document.data, Mapping):
        message = f"the document is {_a(document.data)}, not a mapping of fields"
        remedy = "the top level must be a mapping, one `field: value` a line"
        return (Problem("not-a-mapping", document.locate(""), message, remedy),)
    if fast.is_valid(document.data):
        return ()
    errors = list(_slow_validator(rules).iter_errors(document.data))
    found = list(_problems(errors, document))
    if not errors:
        # `fast` says no and `jsonschema` yes: one no is enough.
        message = f"the document does not have the shape of {rules.get('title', 'its schema')}"
        found = [Problem("bad-value", document.locate(""), message, "compare it with an example")]
    return by_place(found)


def _slow_validator(rules: Schema) -> Any:
    """Return `jsonschema`'s validator, with patterns read as JSON Schema and `fast` read them."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    return extend(Draft202012Validator, {"pattern": _pattern})(rules)  # type: ignore[no-untyped-call]


def _pattern(_: object, pattern: str, instance: object, __: object) -> Iterator[Error]:
    from jsonschema import ValidationError

    # ECMA-262: `$` is the very end, and `\d` and `\w` are ASCII.
    ours = re.sub(r"(?<!\\)\$", r"\\Z", pattern)
    if isinstance(instance, str) and not re.search(ours, instance, re.ASCII):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _problems(errors: Iterable[Error], document: Document) -> Iterator[Problem]:
    """Yield the problems that `errors` stand for: one for a value, however often it is wrong."""
    told = set(document.faulty)
    for error in errors:
        pointer = _pointer(error.absolute_path)
        if pointer in told:
            continue
        own = error.schema.get("codes", {})
        code = own.get(error.validator) or _CODES.get(error.validator, "bad-value")
        words: Iterable[Words]
        if "propertyNames" in error.absolute_schema_path:
            code = own.get(error.validator, "bad-name")
            words = [_badly_named(error, pointer)]
        elif error.validator == "required":
            words = _missing(error, pointer)
        elif error.validator == "additionalProperties":
            words = _unknown(error, pointer)
        else:
            words = [(pointer, *_value(error, pointer))]
            code = "null" if error.instance is None else code
            told.add(pointer)
        for inner, message, remedy in words:
            if inner == pointer or inner not in told:
                yield Problem(code, document.locate(inner), message, remedy)


def _missing(error: Error, pointer: str) -> Iterator[Words]:
    """Yield every field that is missing: `jsonschema` has an error for each, not saying which."""
    for field in error.validator_value:
        if field not in error.instance:
            rule = error.schema.get("properties", {}).get(field, {})
            remedy = f": {rule['remedy']}" if "remedy" in rule else ""
            yield pointer, f"{_the(pointer)} has no `{field}`", f"add `{field}`{remedy}"


def _unknown(error: Error, pointer: str) -> Iterator[Words]:
    known = error.schema.get("properties", {})
    patterns = error.schema.get("patternProperties", {})
    legacy = error.schema.get("legacy", {})
    title = error.schema.get("title", _the(pointer))
    for key in error.instance:
        if key in known or any(re.search(pattern, key) for pattern in patterns):
            continue
        remedy = f"known: {listed(sorted(known))}" if known else "remove it"
        if near := nearest(key, known):
            remedy = f"did you mean `{near}`?"
        inner = pointer_to(pointer, key)
        yield inner, f"{_the(inner)} is not a field of {title}", legacy.get(key, remedy)


def _badly_named(error: Error, pointer: str) -> Words:
    remedy = error.schema.get("remedy", "compare it with an example")
    inner = pointer_to(pointer, error.instance)
    return inner, f"the name {quoted(error.instance)} is not possible here", remedy


def _value(error: Error, pointer: str) -> tuple[str, str]:
    """Return what is wrong with a value, and what to do."""
    the, value, wanted = _the(pointer), error.instance, error.validator_value
    said, remedy = f"{the} is {_shown(value)}", "compare it with an example"
    match error.validator:
        case "type":
            types = " or ".join(_TYPES[name] for name in _as_list(wanted))
            said = f"{the} is empty" if value is None else f"{the} is {_a(value)}, not {types}"
            remedy = f"write {types}"
        case "enum" | "const":
            remedy = f"possible: {listed(_plain(allowed) for allowed in _as_list(wanted))}"
        case "minimum":
            remedy = f"at least {wanted}"
        case "exclusiveMinimum":
            remedy = f"more than {wanted}"
        case "maximum":
            remedy = f"at most {wanted}"
        case "maxLength":
            said, remedy = f"{the} has {len(value)} characters", f"at most {wanted}"
        case "minLength" | "minItems" | "minProperties":
            said, remedy = f"{the} is empty", "give a value, or remove the key"
        case "uniqueItems":
            said, remedy = f"{the} says the same twice", "keep each once"
        case "pattern":
            remedy = f"it must match `{wanted}`"
    return said, _meant(error) + error.schema.get("remedy", remedy)


def _meant(error: Error) -> str:
    """Return the known text that a wrong one was probably meant to be, as a question."""
    known = error.schema.get("enum", error.schema.get("examples", ()))
    texts = [text for text in known if isinstance(text, str)]
    near = nearest(error.instance, texts) if isinstance(error.instance, str) else None
    return f"did you mean `{near}`? " if near else ""


def _pointer(path: Iterable[str | int]) -> str:
    pointer = ""
    for part in path:
        pointer = pointer_to(pointer, part)
    return pointer


def _the(pointer: str) -> str:
    """Return what a message calls the value at `pointer`: `resources.instance_count`."""
    parts = pointer[1:].split("/")
    name = ".".join(part.replace("~1", "/").replace("~0", "~") for part in parts)
    return quoted(name) if pointer else "the document"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    return "empty" if value is None else quoted(_plain(value))


def _a(value: Any) -> str:
    """Return `a whole number` for 3, in the words of `_TYPES`."""
    match value:
        case bool():
            return _TYPES["boolean"]
        case int():
            return _TYPES["integer"]
        case float():
            return _TYPES["number"]
        case str():
            return _TYPES["string"]
        case list():
            return _TYPES["array"]
        case _:
            return _TYPES["object"]

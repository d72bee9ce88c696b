"""What a command job's schema cannot say: references, names, limits of Azure ML, one image.

Everything here is asked of a document of any shape, so that one run names every problem of a
file. `${{...}}` are Azure ML's expressions (reference-yaml-job-command).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.documents.yaml import Document, pointer_to
from controller.values import Problem, nearest

READ_ONLY = re.compile(
    r"/(?:status|id|log_files|creation_context|parameters)\Z"
    r"|/environment/(?:id|name|version|creation_context|latest_version|intellectual_property)\Z"
    r"|/services/[^/]+/(?:endpoint|status|error_message)\Z"
)
"""The pointers of what Azure ML says of a job: azure-ai-ml drops them without a word."""

MOST_TAGS, LONGEST_KEY, LONGEST_VALUE = 50, 100, 1000
"""Azure ML's limits for the tags of a run, and for its properties (resource-limits-capacity)."""

_KEY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
_VARIABLE = re.compile(r"[^=\s]+\Z")
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.S)
# What azure-ai-ml rewrites in a command before it sends it.
_SINGLE = re.compile(r"(?<!\{)\$?\{((?:inputs|outputs|search_space)\.[^}]*)\}(?!\})")
_OUTPUT_WORDS = ("name", "output_name", "default_datastore")

Found = tuple[str, str, str, str]
"""Pointer, code, message, remedy."""


def command_checks(document: Document) -> Iterator[Problem]:
    """Yield what is wrong with a command job beyond its shape."""
    fields: Any = document.data
    for pointer, code, message, remedy in _found(fields):
        if pointer not in document.faulty:
            yield Problem(code, document.locate(pointer), message, remedy)


def _found(fields: Mapping[str, Any]) -> Iterator[Found]:
    inputs, outputs = _mapping(fields, "inputs"), _mapping(fields, "outputs")
    variables = _mapping(fields, "environment_variables")
    yield from _names("/inputs", inputs)
    yield from _names("/outputs", outputs)
    yield from _variable_names(variables)
    for section in ("tags", "properties"):
        if section in fields:
            yield from _too_long(section, _mapping(fields, section))
    if isinstance(environment := fields.get("environment"), Mapping):
        yield from _environment(environment)
    known = {"inputs": inputs, "outputs": outputs}
    command = fields.get("command")
    if isinstance(command, str) and ("{" in command or "$[[" in command):
        yield from _command(command, known)
    for name, text in variables.items():
        if isinstance(text, str) and "${{" in text:
            yield from _references(text, pointer_to("/environment_variables", name), known)
    yield from _input_references(inputs)
    yield from _output_references(outputs)


def _mapping(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, Mapping) else {}


def _names(section: str, values: Mapping[str, Any]) -> Iterator[Found]:
    for name in values:
        if not _KEY.match(name):
            message = f"`{name}` is not a name that Azure ML can refer to"
            remedy = "write letters, digits and `_`, the first no digit"
            yield pointer_to(section, name), "bad-name", message, remedy


def _variable_names(variables: Mapping[str, Any]) -> Iterator[Found]:
    for name in variables:
        if not _VARIABLE.match(name):
            message = f"`{name}` is not the name of an environment variable"
            pointer = pointer_to("/environment_variables", name)
            yield pointer, "bad-name", message, "write a name without blanks and `=`"


def _too_long(section: str, values: Mapping[str, Any]) -> Iterator[Found]:
    if len(values) > MOST_TAGS:
        message = f"`{section}` has {len(values)} entries, and Azure ML keeps {MOST_TAGS}"
        yield f"/{section}", "out-of-range", message, f"remove {len(values) - MOST_TAGS} of them"
    for name, value in values.items():
        if len(name) > LONGEST_KEY or not name:
            message = f"the key `{name[:20]}` of `{section}` has {len(name)} characters"
            remedy = f"write 1 to {LONGEST_KEY}"
            yield pointer_to(f"/{section}", name), "out-of-range", message, remedy
        if isinstance(value, str) and len(value) > LONGEST_VALUE:
            message = f"`{section}.{name[:20]}` has {len(value)} characters"
            remedy = f"write at most {LONGEST_VALUE}"
            yield pointer_to(f"/{section}", name), "out-of-range", message, remedy


def _environment(environment: Mapping[str, Any]) -> Iterator[Found]:
    if "image" in environment and "build" in environment:
        message = "`environment` has an `image` and a `build`, and can be made from one only"
        yield "/environment/build", "bad-value", message, "remove `build`"
    elif not environment.keys() & {"image", "build", "docker"}:
        message = "`environment` says neither `image` nor `build`"
        remedy = "add `image: <repository>@sha256:<digest>`"
        yield "/environment", "missing-field", message, remedy


def _command(command: str, known: Mapping[str, Mapping[str, Any]]) -> Iterator[Found]:
    yield from _references(command, "/command", known)
    if command.count("{") > 2 * command.count("${{"):
        for name in dict.fromkeys(_SINGLE.findall(command)):
            message = f"`{{{name}}}` in `command` has single braces, which azure-ai-ml rewrites"
            yield "/command", "deprecated-reference", message, f"write `${{{{{name}}}}}`"
    if "$[[" in command:
        message = "`$[[...]]` in `command` works in components only"
        yield "/command", "bad-value", message, "write its contents without the brackets"


def _references(text: str, pointer: str, known: Mapping[str, Mapping[str, Any]]) -> Iterator[Found]:
    """Yield the expressions of `text` that name no input and no output."""
    names = _EXPRESSION.findall(text)
    for name in dict.fromkeys(names):
        section, _, key = name.partition(".")
        if key not in known.get(section, ()):
            yield pointer, "undefined-reference", *_undefined(name, section, known)
    if text.count("${{") > len(names):
        yield _unclosed(pointer)


def _undefined(name: str, section: str, known: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    near = nearest(name, [f"{part}.{key}" for part, keys in known.items() for key in keys])
    if section not in known:
        message = f"`${{{{{name}}}}}` means nothing in a command job"
        remedy = "write `${{inputs.<name>}}` or `${{outputs.<name>}}`"
    else:
        message = f"`${{{{{name}}}}}` names no {section.removesuffix('s')} of this job"
        remedy = f"declare it under `{section}`, or remove it"
    return message, f"did you mean `${{{{{near}}}}}`?" if near else remedy


def _input_references(inputs: Mapping[str, Any]) -> Iterator[Found]:
    for name, value in inputs.items():
        text = value.get("path") if isinstance(value, Mapping) else value
        if isinstance(text, str) and "${{" in text:
            message = f"the input `{name}` refers to another value, which works in pipelines only"
            pointer = pointer_to("/inputs", name)
            yield pointer, "undefined-reference", message, "write the value or the path itself"


def _output_references(outputs: Mapping[str, Any]) -> Iterator[Found]:
    for name, value in outputs.items():
        text = value.get("path") if isinstance(value, Mapping) else None
        if not isinstance(text, str) or "${{" not in text:
            continue
        pointer = f"{pointer_to('/outputs', name)}/path"
        words = _EXPRESSION.findall(text)
        for word in dict.fromkeys(words):
            if word not in _OUTPUT_WORDS:
                message = f"`${{{{{word}}}}}` means nothing in the path of an output"
                remedy = "write `${{name}}`, `${{output_name}}` or `${{default_datastore}}`"
                yield pointer, "undefined-reference", message, remedy
        if text.count("${{") > len(words):
            yield _unclosed(pointer)


def _unclosed(pointer: str) -> Found:
    return pointer, "bad-value", "a `${{` is not closed", "write `}}` after it"

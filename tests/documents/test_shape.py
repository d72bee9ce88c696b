"""A document that has not the shape of its schema is told where, what and how, in full."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from controller.documents.shape import (
    Schema,
    fast_validator,
    problems_under,
    schema,
    shape_problems,
)
from controller.documents.yaml import PLAIN, Dialect, Document, read_yaml
from controller.values import Json, RepoPath

PATH = RepoPath("jobs/bert.yml")
PUBLISHED = ("admission", "command-job", "policy")
SCHEMA: Schema = {
    "title": "a thing",
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "size"],
    "properties": {
        "name": {"type": "string", "remedy": "write its name"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "hours": {"type": "number", "exclusiveMinimum": 0},
        "flag": {"type": ["boolean", "null"]},
        "text": {"type": "string", "minLength": 1, "maxLength": 3},
        "list": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
        "word": {"enum": ["command", "sweep", None]},
        "version": {"const": 1},
        "code": {"type": "string", "pattern": "^[a-z]+$", "examples": ["pytorch", 1]},
        "id": {"type": "string", "pattern": "^a", "codes": {"pattern": "bad-name"}, "remedy": "a…"},
        "never": {"not": {}},
        "names": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 3, "remedy": "abc"},
        },
        "bare": {"propertyNames": {"minLength": 2, "codes": {"minLength": "bad-value"}}},
        "open": {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "a/b": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "legacy": {"title": "write `name`"},
    "$defs": {
        "part": {
            "title": "a part",
            "type": "object",
            "required": ["kind"],
            "if": {"required": ["kind"], "properties": {"kind": {"const": "round"}}},
            "then": {"$ref": "#/$defs/round"},
            "else": {"required": ["side"]},
        },
        "round": {
            "title": "a round part",
            "additionalProperties": False,
            "required": ["radius"],
            "properties": {"kind": {}, "radius": {"type": "number"}},
        },
    },
}
FAST = jsonschema_rs.Draft202012Validator(SCHEMA)
SOUND = "name: x\nsize: 3\n"


def read(text: str, dialect: Dialect = PLAIN) -> Document:
    return read_yaml(text.encode(), PATH, dialect)


def refusals(text: str) -> list[str]:
    """Every difference as `line:column code: message; remedy`."""
    return [
        f"{p.where.line}:{p.where.column} {p.code}: {p.message}; {p.remedy}"
        for p in problems_under(read(text), SCHEMA, FAST)
    ]


def test_a_sound_document_has_no_problem():
    assert refusals(SOUND) == []


@pytest.mark.parametrize(
    "text, problem",
    [
        ("sizes: 1", "unknown-field: `sizes` is not a field of a thing; did you mean `size`?"),
        ("title: 1", "unknown-field: `title` is not a field of a thing; write `name`"),
        ("open: {y: 1}", "unknown-field: `open.y` is not a field of `open`; remove it"),
        ("size: x", "wrong-type: `size` is text, not a whole number; write a whole number"),
        ("size: 1.5", "wrong-type: `size` is a number, not a whole number; write a whole number"),
        ("name: 1", "wrong-type: `name` is a whole number, not text; write its name"),
        (
            "flag: []",
            (
                "wrong-type: `flag` is a list, not true or false or nothing; "
                "write true or false or nothing"
            ),
        ),
        ("list: {}", "wrong-type: `list` is a mapping, not a list; write a list"),
        ("list: true", "wrong-type: `list` is true or false, not a list; write a list"),
        ("name:", "null: `name` is empty; write its name"),
        ("word: comand", "bad-value: `word` is `comand`; did you mean `command`? possible: {}"),
        ("word: 3", "bad-value: `word` is `3`; possible: {}"),
        ("version: 2", "bad-value: `version` is `2`; possible: `1`"),
        ("version:", "null: `version` is empty; possible: `1`"),
        ("size: 0", "out-of-range: `size` is `0`; at least 1"),
        ("size: 10", "out-of-range: `size` is `10`; at most 9"),
        ("hours: 0", "out-of-range: `hours` is `0`; more than 0"),
        ("text: ''", "bad-value: `text` is empty; give a value, or remove the key"),
        ("text: four", "bad-value: `text` has 4 characters; at most 3"),
        ("list: []", "missing-field: `list` is empty; give a value, or remove the key"),
        ("list: [a, a]", "bad-value: `list` says the same twice; keep each once"),
        ("names: {}", "missing-field: `names` is empty; give a value, or remove the key"),
        (
            "code: PYTORCH",
            "bad-value: `code` is `PYTORCH`; it must match `^[a-z]+$`",
        ),
        (
            "code: pytorch1",
            "bad-value: `code` is `pytorch1`; did you mean `pytorch`? it must match `^[a-z]+$`",
        ),
        ('code: "a\\n"', "bad-value: `code` is `a\\u000A`; it must match `^[a-z]+$`"),
        ("id: b", "bad-name: `id` is `b`; a…"),
        ("never: {a: [é]}", 'bad-value: `never` is `{{"a": ["é"]}}`; compare it with an example'),
    ],
)
def test_a_difference_is_told_in_words(text: str, problem: str):
    key = text.partition(":")[0]
    base = "".join(line for line in SOUND.splitlines(True) if not line.startswith(key + ":"))
    column = text.find("{") + 2 if key == "open" else 1
    said = problem.format("`command`, `sweep`, `null`")
    assert refusals(base + text) == [f"{base.count(chr(10)) + 1}:{column} {said}"]


@pytest.mark.parametrize(
    "text, problems",
    [
        (
            "size: 3\n",
            ["1:1 missing-field: the document has no `name`; add `name`: write its name"],
        ),
        (
            "flag: true\n",
            [
                "1:1 missing-field: the document has no `name`; add `name`: write its name",
                "1:1 missing-field: the document has no `size`; add `size`",
            ],
        ),
        (
            SOUND + "zzzz: 1\n",
            [
                (
                    "3:1 unknown-field: `zzzz` is not a field of a thing; known: `a/b`, `bare`, "
                    "`code`, `flag`, `hours`, `id`, `list`, `name`, `names`, `never`, `open`, "
                    "`parts`, `size`, `text`, `version`, `word`"
                )
            ],
        ),
        (
            SOUND + "names: {ABCD: 1, x: 2, Y: 3}\n",
            [
                "3:9 bad-name: the name `ABCD` is not possible here; abc",
                "3:24 bad-name: the name `Y` is not possible here; abc",
            ],
        ),
        (
            SOUND + "bare: {a: 1}\n",
            ["3:8 bad-value: the name `a` is not possible here; compare it with an example"],
        ),
        (
            SOUND + "open: {x-a: b, x-c: 1, y: 2}\n",
            [
                "3:16 wrong-type: `open.x-c` is a whole number, not text; write text",
                "3:24 unknown-field: `open.y` is not a field of `open`; remove it",
            ],
        ),
        (
            SOUND + "parts:\n  - {kind: round, radios: 1}\n  - {kind: square}\n  - 4\n",
            [
                "4:5 missing-field: `parts.0` has no `radius`; add `radius`",
                (
                    "4:19 unknown-field: `parts.0.radios` is not a field of a round part; "
                    "did you mean `radius`?"
                ),
                "5:5 missing-field: `parts.1` has no `side`; add `side`",
                "6:5 wrong-type: `parts.2` is a whole number, not a mapping; write a mapping",
            ],
        ),
        (
            SOUND + "a/b: {c~d: 1}\n",
            ["3:7 wrong-type: `a/b.c~d` is a whole number, not text; write text"],
        ),
    ],
)
def test_every_difference_is_told_at_its_own_place(text: str, problems: list[str]):
    assert refusals(text) == problems


@pytest.mark.parametrize(
    "text, problem",
    [
        ("- a\n", "1:1 not-a-mapping: the document is a list, not a mapping of fields; {}"),
        ("a\n", "1:1 not-a-mapping: the document is text, not a mapping of fields; {}"),
        ("1.5\n", "1:1 not-a-mapping: the document is a number, not a mapping of fields; {}"),
    ],
)
def test_a_document_must_be_a_mapping(text: str, problem: str):
    remedy = "the top level must be a mapping, one `field: value` a line"
    assert refusals(text) == [problem.format(remedy)]


@pytest.mark.parametrize("text", ["", "a: [", "a: \x00"])
def test_what_could_not_be_read_has_no_shape_to_speak_of(text: str):
    document = read(text)
    assert document.problems
    if document.data is None:
        assert problems_under(document, SCHEMA, FAST) == ()


def test_a_stand_in_is_not_blamed_for_its_shape_and_its_neighbours_are():
    document = read("name: !x 1\nsize: 010\non: 1\nflag: 3\nnames: {1: a}\n")
    assert document.faulty == {"/name", "/size", "/on", "/names/1"}
    found = problems_under(document, SCHEMA, FAST)
    assert [(p.where.line, p.message) for p in found] == [
        (4, "`flag` is a whole number, not true or false or nothing")
    ]


def test_fields_that_a_broken_merge_was_to_bring_are_not_missing():
    assert problems_under(read("<<: *nowhere\n"), SCHEMA, FAST) == ()


def test_a_value_that_is_wrong_in_two_ways_is_told_once():
    rules: Schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "minLength": 1, "pattern": "^a"}},
    }
    fast = jsonschema_rs.Draft202012Validator(rules)
    found = problems_under(read("a: ''"), rules, fast)
    assert [problem.message for problem in found] == ["`a` is empty"]


class _Refuser:
    def is_valid(self, instance: Json) -> bool:
        return False


@pytest.mark.parametrize("title, name", [({"title": "a thing"}, "a thing"), ({}, "its schema")])
def test_one_no_is_enough(title: Schema, name: str):
    (problem,) = problems_under(read("a: 1"), title, _Refuser())
    assert problem.code == "bad-value"
    assert problem.message == f"the document does not have the shape of {name}"
    assert problem.remedy == "compare it with an example"


# The published schemas


def _subschemas(node: Any, keyword: str = "") -> list[tuple[str, Any]]:
    """Every (keyword, its value) of a schema, at any depth."""
    if isinstance(node, list):
        return [pair for part in node for pair in _subschemas(part)]
    if not isinstance(node, dict):
        return []
    if keyword in ("properties", "patternProperties", "$defs"):
        return [pair for part in node.values() for pair in _subschemas(part)]
    if keyword in ("codes", "legacy", "enum", "const", "examples", "default"):
        return []
    return [*node.items(), *(pair for key, part in node.items() for pair in _subschemas(part, key))]


WORDED = {
    *("additionalProperties", "required", "propertyNames", "type", "enum", "const", "minimum"),
    *("exclusiveMinimum", "maximum", "maxLength", "minLength", "minItems", "minProperties"),
    *("uniqueItems", "pattern", "not"),
}
STRUCTURE = {
    *("$schema", "$comment", "$id", "$defs", "$ref", "title", "description", "default", "format"),
    *("properties", "patternProperties", "items", "allOf", "if", "then", "else", "examples"),
    *("codes", "legacy", "remedy"),
}
IN_CONDITIONS_ONLY = {"maxProperties"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_keyword_of_a_published_schema_has_its_words(name: str):
    used = {keyword for keyword, _ in _subschemas(schema(name))}
    assert used <= WORDED | STRUCTURE | IN_CONDITIONS_ONLY


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_least_that_a_published_schema_asks_for_is_one(name: str):
    least = ("minLength", "minItems", "minProperties")
    asked = {value for keyword, value in _subschemas(schema(name)) if keyword in least}
    assert asked <= {1}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_dollar_in_a_pattern_is_an_end_or_escaped(name: str):
    patterns = [value for keyword, value in _subschemas(schema(name)) if keyword == "pattern"]
    assert not [pattern for pattern in patterns if "[$" in pattern or "$]" in pattern]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_schema_is_a_schema(name: str):
    Draft202012Validator.check_schema(schema(name))


def test_a_published_schema_is_found_by_its_name():
    (problem,) = shape_problems(read("command: x\n"), "command-job")
    assert (problem.code, problem.message) == (
        "missing-field",
        "the document has no `environment`",
    )


SAMPLES: dict[str, dict[str, Any]] = {
    "command-job": {
        "type": "command",
        "name": "bert",
        "command": "python train.py",
        "inputs": {"data": {"type": "uri_folder", "path": "azureml:claims:7"}, "lr": 0.1},
        "outputs": {"out": {"type": "uri_folder", "path": "azureml://datastores/t/paths/b"}},
        "environment": {"image": "acme.azurecr.io/train@sha256:" + "0" * 64},
        "environment_variables": {"A": "1"},
        "compute": "azureml:gpu",
        "resources": {"instance_count": 2, "shm_size": "64g"},
        "distribution": {"type": "pytorch", "process_count_per_instance": 8},
        "limits": {"timeout": 7200},
        "tags": {"admission": "bert"},
        "services": {"s": {"type": "ssh"}},
        "identity": {"type": "managed", "client_id": "x"},
    },
    "admission": {
        "admission": "bert",
        "title": "Pretrain",
        "owner": "@acme/nlp",
        "model": "claims-bert",
        "expires": "2027-03-31",
        "grant": {
            "kinds": ["command"],
            "jobs": ["jobs/*.yml"],
            "images": ["acme.azurecr.io/train"],
            "compute": ["gpu"],
            "max_nodes": 2,
            "gpu_hours": 1000,
        },
        "evidence": {
            "outcome": "too_slow",
            "run": "runs:/" + "0" * 32,
            "hours": 410,
            "deadline_hours": 96,
        },
    },
    "policy": {
        "version": 1,
        "approvals": {"minimum": 1, "manifests": 1},
        "kinds": ["command"],
        "registries": ["acme.azurecr.io"],
        "code": "image",
        "baseline": {"name": "one", "gpus": 1, "gpu_memory_gib": 80},
        "hold": None,
    },
}
_OTHER: st.SearchStrategy[Json] = st.sampled_from(
    [
        *(None, True, 0, -1, 3, 1.5, 2.0, "", "x", "managed", "a\n", "azureml:x", "٣", "1" * 300),
        *([], ["x", "x"], [1], {}, {"type": "mpi"}, {"value": 1}, {"path": ""}, {"type": "string"}),
    ]
).map(copy.deepcopy)


def _paths(data: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    parts: Any = data.items() if isinstance(data, dict) else []
    if isinstance(data, list):
        parts = enumerate(data)
    return [path, *(inner for key, part in parts for inner in _paths(part, (*path, key)))]


def _mutated(name: str, draw: st.DataObject) -> Json:
    data = copy.deepcopy(SAMPLES[name])
    for _ in range(draw.draw(st.integers(1, 3))):
        path = draw.draw(st.sampled_from(_paths(data)[1:]))
        parent: Any = data
        for key in path[:-1]:
            parent = parent[key]
        match draw.draw(st.sampled_from(["replace", "remove", "add"])):
            case "remove" if isinstance(parent, dict) and len(data) > 1:
                del parent[path[-1]]
            case "add" if isinstance(parent, dict):
                new = draw.draw(st.sampled_from(["instance_cuont", "type", "path", "x y"]))
                parent[new] = draw.draw(_OTHER)
            case _:
                parent[path[-1]] = draw.draw(_OTHER)
    return data


@pytest.mark.parametrize("name", PUBLISHED)
@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.data())
def test_both_validators_agree_and_every_no_is_told_in_full(name: str, draw: st.DataObject):
    data = _mutated(name, draw)
    found = shape_problems(read(json.dumps(data)), name)
    assert fast_validator(name).is_valid(data) == (found == ())
    general = "the document does not have the shape of"
    assert not [problem for problem in found if problem.message.startswith(general)]
    assert all(problem.where.line == 1 and problem.remedy for problem in found)

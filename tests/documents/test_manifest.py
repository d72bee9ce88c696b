"""One manifest: which kind it is, everything that is wrong with it in one run, and where."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from controller.documents.manifest import KINDS, Manifest, from_data, read_manifest, to_data
from controller.documents.shape import schema
from controller.documents.snapshot import Blob
from controller.values import BlobId, Location, Problem, RepoPath

PATH = RepoPath("jobs/bert/pretrain.yml")
PROBES = Path(__file__).parent / "probes"
HEX = "ab" * 32
SOUND = f"""\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
type: command
name: bert-pretrain
display_name: Pretrain
description: |
  One line.
experiment_name: claims-bert
command: >-
  python -m train.train_distributed --data ${{{{inputs.data}}}}
  --checkpoints ${{{{outputs.checkpoints}}}} --epochs 3
inputs:
  data: {{type: uri_folder, path: "azureml:claims:7"}}
outputs:
  checkpoints: {{type: uri_folder, path: "azureml://datastores/training/paths/bert"}}
environment:
  image: acme.azurecr.io/train@sha256:{HEX}
compute: azureml:gpu-cluster
resources: {{instance_count: 2, shm_size: 64g}}
distribution: {{type: pytorch, process_count_per_instance: 8}}
limits: {{timeout: 108000}}
tags: {{admission: bert-pretrain, dataset: "sha256:{HEX}", rerun: "2", team: }}
"""


def read(content: str | bytes) -> Manifest | tuple[Problem, ...]:
    raw = content if isinstance(content, bytes) else content.encode()
    return read_manifest(PATH, Blob("100644", BlobId("b" * 40), raw))


def sound(content: str | bytes = SOUND) -> Manifest:
    found = read(content)
    assert isinstance(found, Manifest), found
    return found


def problems(content: str | bytes) -> list[str]:
    found = read(content)
    assert not isinstance(found, Manifest), "it is sound"
    return [f"{p.where.line}: {p.code}: {p.message}; {p.remedy}" for p in found]


def codes(content: str | bytes) -> list[tuple[int, str]]:
    found = read(content)
    return [] if isinstance(found, Manifest) else [(p.where.line, p.code) for p in found]


def test_a_sound_manifest_has_everything_that_the_file_says() -> None:
    manifest = sound()
    assert (manifest.path, manifest.blob, manifest.kind) == (PATH, "b" * 40, "command")
    assert (manifest.name, manifest.admission) == ("bert-pretrain", "bert-pretrain")
    assert (manifest.display_name, manifest.description) == ("Pretrain", "One line.\n")
    assert manifest.tags == {
        "admission": "bert-pretrain",
        "dataset": f"sha256:{HEX}",
        "rerun": "2",
        "team": "",
    }
    assert (manifest.payload.kind, manifest.payload.code) == ("command", None)
    assert (manifest.payload.rerun, manifest.payload.dataset) == ("2", f"sha256:{HEX}")
    assert manifest.paths == {}


def test_what_the_file_does_not_say_is_empty() -> None:
    manifest = sound("command: a\nenvironment: azureml:e:1\n")
    assert (manifest.name, manifest.admission, manifest.tags) == ("", "", {})
    assert (manifest.display_name, manifest.description) == ("", "")
    assert (manifest.payload.rerun, manifest.payload.dataset) == ("", "")


def test_a_field_is_found_where_it_is_written() -> None:
    manifest = sound()
    assert manifest.locate("/compute") == Location(PATH, 17, 1)
    assert manifest.locate("/inputs/data/path") == Location(PATH, 12, 28)
    assert manifest.locate("") == Location(PATH, 1, 1)


def test_a_field_that_is_not_there_is_found_in_what_it_would_be_in() -> None:
    manifest = sound()
    assert manifest.locate("/resources/docker_args") == manifest.locate("/resources")
    assert manifest.locate("/identity/type") == Location(PATH, 1, 1)


@pytest.mark.parametrize("content", [SOUND, "command: a\nenvironment: azureml:e:1\n"])
def test_a_manifest_survives_as_json(content: str) -> None:
    manifest = sound(content)
    data = json.loads(json.dumps(to_data(manifest)))
    assert from_data(manifest.path, manifest.blob, data) == manifest


def test_what_came_from_json_has_the_path_and_the_blob_that_it_is_asked_for() -> None:
    moved = from_data(RepoPath("jobs/b.yml"), BlobId("c" * 40), to_data(sound()))
    assert (moved.path, moved.blob) == ("jobs/b.yml", "c" * 40)
    assert moved.locate("/compute") == Location(RepoPath("jobs/b.yml"), 17, 1)
    assert moved.payload.fingerprint == sound().payload.fingerprint


def test_every_problem_is_named_in_one_run() -> None:
    content = """\
name: a b
command: python ${{inputs.lrr}}
compute: gpu
compute: cpu
resources: {instance_count: 0, shm: 2g}
inputs: {lr: NO, x-y: 1}
environment:
status: Running
"""
    assert codes(content) == [
        (1, "bad-name"),
        (2, "undefined-reference"),
        (4, "duplicate-key"),
        (5, "out-of-range"),
        (5, "unknown-field"),
        (6, "ambiguous-scalar"),
        (6, "bad-name"),
        (7, "null"),
        (8, "read-only-field"),
    ]


def test_what_stands_for_an_ambiguous_value_is_not_judged_again() -> None:
    assert codes("command: a\nenvironment: azureml:e:1\nresources: {instance_count: 010}\n") == [
        (3, "ambiguous-scalar")
    ]


def test_a_key_that_is_refused_is_not_judged_again() -> None:
    assert codes("command: a\nenvironment: azureml:e:1\ninputs: {1: a}\n") == [
        (3, "non-string-key")
    ]


@pytest.mark.parametrize(
    "content, said",
    [
        ("type: sweep\n", "1: unsupported-kind: `type` is `sweep`, which is not supported"),
        ("type: pipeline\n", "1: unsupported-kind: `type` is `pipeline`, which is not supported"),
        (
            "name: a\ntype: spark\n",
            "2: unsupported-kind: `type` is `spark`, which is not supported",
        ),
        ("type: automl\n", "1: unsupported-kind: `type` is `automl`, which is not supported"),
        ("type: ''\n", "1: unsupported-kind: `type` is ``, which is not supported"),
        (
            "name: a\ncreate_job: b\n",
            "1: unsupported-kind: this is a schedule, which is not supported",
        ),
        ("trigger: {}\n", "1: unsupported-kind: this is a schedule, which is not supported"),
        ("search_space: {}\n", "1: unsupported-kind: this is a sweep, which is not supported"),
        ("jobs: {}\n", "1: unsupported-kind: this is a pipeline, which is not supported"),
        (
            "type: command\nis_deterministic: true\n",
            "2: unsupported-kind: this is a component, and no job",
        ),
    ],
)
def test_what_cannot_be_admitted_is_refused_by_name(content: str, said: str) -> None:
    assert problems(content) == [f"{said}; supported: `command`"]


def test_a_misspelt_kind_gets_the_one_that_was_meant() -> None:
    assert problems("type: comand\n") == [
        "1: unsupported-kind: `type` is `comand`, which is not supported; did you mean `command`?"
    ]


@pytest.mark.parametrize(
    "content, said",
    [
        ("type:\n", "1: null: `type` is empty; write `type: command`, or remove the line"),
        ("type: 1\n", "1: wrong-type: `type` is not text; write `type: command`"),
        ("type: [a]\n", "1: wrong-type: `type` is not text; write `type: command`"),
    ],
)
def test_a_kind_is_text(content: str, said: str) -> None:
    assert problems(content) == [said]


def test_an_unsupported_kind_hides_no_problem_of_the_yaml() -> None:
    content = "type: sweep\nname: a\nname: b\nsearch_space: {lr: {min_value: 1e-3}}\n"
    assert codes(content) == [(1, "unsupported-kind"), (3, "duplicate-key")]


def test_an_ambiguous_kind_is_one_problem() -> None:
    assert codes("type: on\ncommand: a\nenvironment: azureml:e:1\n") == [(1, "ambiguous-scalar")]


@pytest.mark.parametrize("content", ["- a\n", "text\n", "5\n"])
def test_a_document_that_is_no_mapping_is_one_problem(content: str) -> None:
    assert codes(content) == [(1, "not-a-mapping")]


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xff\xfe", b"a: [", b"\x00"])
def test_what_is_no_document_is_said_once(content: bytes) -> None:
    found = read(content)
    assert not isinstance(found, Manifest)
    assert len(found) == 1


def test_a_file_whose_bytes_are_not_there_is_empty() -> None:
    found = read_manifest(PATH, Blob("100644", BlobId("b" * 40)))
    assert [p.code for p in found] == ["yaml-empty"] if isinstance(found, tuple) else False


@pytest.mark.parametrize("kind", KINDS)
def test_the_published_schema_of_a_kind_is_a_schema_and_names_every_object(kind: str) -> None:
    published = schema(KINDS[kind].schema)
    Draft202012Validator.check_schema(published)
    for name, inside in {"": published, **published["$defs"]}.items():
        if "properties" in inside:
            assert inside["title"], name
            assert inside.get("additionalProperties") is False or name == "component_input", name


@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    read(content)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["type", "path", "value"]), inner)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(schema("command-job")["properties"])), values))
def test_no_value_of_a_field_raises(fields: dict[str, object]) -> None:
    read(json.dumps(fields).encode())


@pytest.mark.parametrize("file", ["anchor.yml", "billion.yml"])
def test_an_alias_that_multiplies_ends_at_once(file: str) -> None:
    levels = "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 30))
    started = time.perf_counter()
    assert codes(f"a0: &a0 [x]\n{levels}".encode() + (PROBES / file).read_bytes())
    assert time.perf_counter() - started < 1

"""The payload: one fingerprint for what is the same, another as soon as anything differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.documents.manifest import Manifest, read_manifest
from controller.documents.payload import INJECTED, NAME_LIMIT, Payload, run_name
from controller.documents.snapshot import Blob
from controller.values import BlobId, Digest, Fingerprint, RepoPath

HEX = "ab" * 32


def manifest(content: str | bytes) -> Manifest:
    raw = content.encode() if isinstance(content, str) else content
    found = read_manifest(RepoPath("jobs/t.yml"), Blob("100644", BlobId("0" * 40), raw))
    assert isinstance(found, Manifest), (content, found)
    return found


def fingerprint(content: str | bytes) -> str:
    return manifest(content).payload.fingerprint


def job(extra: str = "", *, command: str = "python train.py") -> str:
    return f"name: t1\ncommand: {command}\nenvironment: {{image: acme.azurecr.io/t:1}}\n{extra}"


texts = st.text("abcdefg XYZ0189_-./:#'\"é中", min_size=1, max_size=12).filter(lambda t: t.strip())
names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
counts = st.integers(1, 200)
literals = st.one_of(texts, counts, st.booleans(), st.floats(-10, 10).map(lambda f: round(f, 3)))


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a sound command job: all that are part of the payload, in any order."""
    parts = {
        "code": st.sampled_from(["azureml:code:1", "azureml:code:2"]),
        "compute": names,
        "environment_variables": st.dictionaries(names, texts, max_size=3),
        "inputs": st.dictionaries(names, literals, max_size=3),
        "limits": st.fixed_dictionaries({"timeout": counts}),
        "resources": st.fixed_dictionaries(
            {"instance_count": counts, "docker_args": st.lists(texts, min_size=1, max_size=2)}
        ),
        "distribution": st.fixed_dictionaries(
            {"type": st.sampled_from(["pytorch", "mpi"]), "process_count_per_instance": counts}
        ),
        "properties": st.dictionaries(names, texts, max_size=2),
        "parent_job_name": names,
        "experiment_name": st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(parts)), unique=True))
    fields = {"command": draw(texts), "environment": {"image": draw(texts)}}
    return fields | {name: draw(parts[name]) for name in chosen}


def written(value: Any, draw: Callable[..., Any], indent: int = 0) -> str:
    """Write `value` as YAML in one of the many ways that mean it."""
    if isinstance(value, Mapping) and value and draw(st.booleans()):
        blanks = "\n" + " " * indent
        lines = (
            f"{blanks}{draw(st.sampled_from([key, json.dumps(key)]))}: "
            + written(inner, draw, indent + 2)
            + draw(st.sampled_from(["", "  # why", "   ", "\n\n# alone"]))
            for key, inner in draw(st.permutations(sorted(value.items())))
        )
        return "".join(lines)
    if isinstance(value, str) and draw(st.booleans()):
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@given(fields=jobs(), data=st.data())
def test_the_fingerprint_ignores_how_a_job_is_written(
    fields: dict[str, Any], data: st.DataObject
) -> None:
    plain = json.dumps(fields)
    other = written(fields, data.draw)
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    mark = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    content = mark + (other + "\n").replace("\n", ending).encode()
    assert fingerprint(content) == fingerprint(plain), (other, plain)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from leaves(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                yield from leaves(inner, (*path, index))
        case _:
            yield path


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case "pytorch" | "mpi":
            return "mpi" if value == "pytorch" else "pytorch"
        case int() | float():
            return value + 1
        case _:
            return f"{value}x"


@given(fields=jobs(), data=st.data())
def test_the_fingerprint_changes_with_any_value(
    fields: dict[str, Any], data: st.DataObject
) -> None:
    changed = json.loads(json.dumps(fields))
    *way, last = data.draw(st.sampled_from(list(leaves(changed))))
    inside: Any = changed
    for step in way:
        inside = inside[step]
    inside[last] = other(inside[last])
    assert fingerprint(json.dumps(changed)) != fingerprint(json.dumps(fields))


@given(fields=jobs(), data=st.data())
def test_the_fingerprint_changes_when_a_field_goes(
    fields: dict[str, Any], data: st.DataObject
) -> None:
    optional = sorted(fields.keys() - {"command", "environment"})
    if optional:
        without = {**fields}
        del without[data.draw(st.sampled_from(optional))]
        assert fingerprint(json.dumps(without)) != fingerprint(json.dumps(fields))


@given(fields=jobs())
def test_what_is_in_the_body_is_all_of_the_job(fields: dict[str, Any]) -> None:
    found = manifest(json.dumps(fields))
    assert found.payload.body.keys() == fields.keys()
    assert found.spec.command == fields["command"]
    assert found.spec.environment_variables == fields.get("environment_variables", {})


@pytest.mark.parametrize(
    "one, other",
    [
        ("compute: gpu", "compute: azureml:gpu"),
        ("compute: local", "compute: LOCAL"),
        ("limits: {timeout: 90}", 'limits: {timeout: "90"}'),
        ("limits: {timeout: 90}", "limits: {timeout: 90.0}"),
        ("resources: {instance_count: 4}", 'resources: {instance_count: "4"}'),
        ("resources: {shm_size: 64g}", "resources: {shm_size: 64G}"),
        ("distribution: {type: pytorch}", "distribution: {type: PyTorch}"),
        ("queue_settings: {job_tier: spot}", "queue_settings: {job_tier: Spot}"),
        ("queue_settings: {priority: low}", "queue_settings: {priority: LOW}"),
        ("identity: {type: managed}", "identity: {type: ManagedIdentity}"),
        ("identity: {type: user_identity}", "identity: {type: UserIdentity}"),
        ("services: {a: {type: ssh, port: 22}}", 'services: {a: {type: SSH, port: "22"}}'),
        ("outputs: {m: }", "outputs: {m: {}}"),
        ("outputs: {m: {type: mltable}}", "outputs: {m: {type: MLTable}}"),
        ("outputs: {m: {mode: upload}}", "outputs: {m: {mode: UPLOAD}}"),
        ("outputs: {m: {name: a, version: 2}}", 'outputs: {m: {name: a, version: "2"}}'),
        ("inputs: {x: true}", 'inputs: {x: "True"}'),
        ("inputs: {x: 1.10}", 'inputs: {x: "1.1"}'),
        ("inputs: {x: 1e-3}", 'inputs: {x: "1e-3"}'),
        ("inputs: {x: a}", "inputs: {x: {value: a}}"),
        ("inputs: {x: true}", "inputs: {x: {value: true}}"),
        ("inputs: {x: {type: uri_file, path: p:q}}", "inputs: {x: {type: URI_FILE, path: 'p:q'}}"),
        ("environment_variables: &e {A: b}\nproperties: {A: b}",
         "environment_variables: &e {A: b}\nproperties: *e"),
        ("properties: {A: b, C: d}", "properties: {<<: {A: b}, C: d}"),
        ("", "type: command"),
        ("", "$schema: https://example.com/commandJob.schema.json"),
        ("", "display_name: shown"),
        ("", "description: shown"),
        ("", "tags: {team: nlp, admission: bert}"),
        ("tags: {a: b}", "tags: {a: }"),
    ],
)  # fmt: skip
def test_what_azure_takes_for_the_same_is_the_same(one: str, other: str) -> None:
    assert fingerprint(job(one)) == fingerprint(job(other))


@pytest.mark.parametrize(
    "one, other",
    [
        ("", "compute: serverless"),
        ("inputs: {x: 0.001}", "inputs: {x: 1e-3}"),
        ("inputs: {x: a}", "inputs: {x: {path: 'p:a'}}"),
        ("distribution: {type: pytorch}", "distribution: {type: ray}"),
        ("environment_variables: {A: b}", "environment_variables: {A: B}"),
        ("properties: {A: b}", "properties: {A: }"),
        ("resources: {docker_args: --ipc=host}", "resources: {docker_args: [--ipc=host]}"),
        ("code: azureml:a:1", "code: azureml:a:2"),
        ("", "tags: {rerun: again}"),
        ("tags: {rerun: a}", "tags: {rerun: b}"),
        ("", f"tags: {{dataset: 'sha256:{HEX}'}}"),
        ("tags: {rerun: a}", "tags: {dataset: 'sha256:" + "0" * 64 + "'}"),
        ("outputs: {m: }", "outputs: {n: }"),
        ("identity: {type: managed}", "identity: {type: managed, client_id: a}"),
    ],
)
def test_what_differs_for_azure_differs(one: str, other: str) -> None:
    assert fingerprint(job(one)) != fingerprint(job(other))


def test_the_name_is_no_part_of_the_fingerprint() -> None:
    assert fingerprint(job()) == fingerprint(job().replace("t1", "t2"))


def test_the_command_is_kept_to_the_byte() -> None:
    block = manifest(job(command="|\n  a\n  b  \n"))
    assert block.payload.body["command"] == "a\nb  \n"


def test_kind_and_code_are_in_the_fingerprint() -> None:
    plain = Payload("command", {"command": "a"})
    prints = {
        plain.fingerprint,
        Payload("sweep", {"command": "a"}).fingerprint,
        Payload("command", {"command": "a"}, code=Digest(f"sha256:{HEX}")).fingerprint,
        Payload("command", {"command": "a"}, rerun="x").fingerprint,
        Payload("command", {"command": "a"}, dataset="x").fingerprint,
    }
    assert len(prints) == 5
    assert all(len(found) == 64 for found in prints)


def test_the_fingerprint_of_the_example_stays() -> None:
    """A new version of this program must not start what ran already."""
    assert fingerprint(job("compute: azureml:gpu\nlimits: {timeout: 90}")) == (
        "7969f6e2496cd784a4d23576fa6def160c69912c9bee55ec691d5c9eec311ebf"
    )


def test_run_names_say_the_payload_and_the_attempt() -> None:
    print_ = Fingerprint("1f2e3d4c5b6a" + "0" * 52)
    assert run_name("bert", print_) == "bert-1f2e3d4c5b6a"
    assert run_name("bert", print_, 2) == "bert-1f2e3d4c5b6a-a2"


def test_every_injected_variable_is_named_once_and_is_ours() -> None:
    assert len(set(INJECTED)) == len(INJECTED)
    assert all(name.startswith("ADMIT_") for name in INJECTED)
    assert NAME_LIMIT == 255

"""A command job that is wrong: every field by name and type, a place and one fix each."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.documents.kinds.command import CommandJob, Output
from controller.documents.manifest import Manifest, read_manifest
from controller.documents.snapshot import Blob
from controller.values import BlobId, Problem, RepoPath

BASE = """\
type: command
name: t1
command: python train.py
environment: {image: acme.azurecr.io/train:1}
"""


def read(content: str) -> Manifest | tuple[Problem, ...]:
    blob = Blob("100644", BlobId("0" * 40), content.encode())
    return read_manifest(RepoPath("jobs/t.yml"), blob)


def job(extra: str = "") -> CommandJob:
    found = read(BASE + extra)
    assert isinstance(found, Manifest), found
    return found.spec


def problems(content: str) -> tuple[Problem, ...]:
    found = read(content)
    assert not isinstance(found, Manifest), "it is sound"
    return found


def fixes(content: str) -> list[str]:
    """Return place, code and fix; the sentences about shapes are `shape`'s to test."""
    return [f"{p.where.line}:{p.where.column} {p.code}: {p.remedy}" for p in problems(content)]


def sentences(content: str) -> list[str]:
    return [
        f"{p.where.line}:{p.where.column} {p.code}: {p.message}; {p.remedy}"
        for p in problems(content)
    ]


def table(name: str) -> list[tuple[str, list[str]]]:
    """Return the examples of a file: a line of YAML, and what is said of it, indented."""
    examples: list[tuple[str, list[str]]] = []
    for line in (Path(__file__).parent / name).read_text("utf-8").splitlines():
        if line.startswith("    "):
            examples[-1][1].append(line.strip())
        elif line and not line.startswith("#"):
            examples.append((line, []))
    return examples


@pytest.mark.parametrize("field, said", table("command_fields.txt"))
def test_a_field_that_is_wrong_has_a_place_and_one_fix(field: str, said: list[str]) -> None:
    assert fixes(f"{BASE}{field}\n") == said


@pytest.mark.parametrize("environment, said", table("command_environments.txt"))
def test_an_environment_that_is_wrong_has_a_place_and_one_fix(
    environment: str, said: list[str]
) -> None:
    assert fixes(f"command: a\n{environment}\n") == said


@pytest.mark.parametrize("command, said", table("command_references.txt"))
def test_a_command_that_refers_to_nothing_is_told_what_to_write(
    command: str, said: list[str]
) -> None:
    assert sentences(f"{command}\nenvironment: azureml:a:1\ninputs: {{lr: 1}}\n") == said


def test_a_job_without_command_and_environment_lacks_two_fields() -> None:
    assert [(p.code, p.message) for p in problems("name: t1\n")] == [
        ("missing-field", "the document has no `command`"),
        ("missing-field", "the document has no `environment`"),
    ]


@pytest.mark.parametrize(
    "command",
    [
        "python ${{inputs.lr}} ${{ outputs.m }}",
        "python {{inputs.lr}}",
        "echo ${HOME} ${inputs} {inputs}",
        "awk '{print $1}'",
        'python --config \'{"a": {"b": 1}}\'',
        "echo $(( $[1+2] ))",
    ],
)
def test_braces_that_refer_to_nothing_are_the_shell_s(command: str) -> None:
    text = command.replace("'", "''")
    found = read(
        f"command: '{text}'\nenvironment: azureml:a:1\ninputs: {{lr: 1}}\noutputs: {{m: }}\n"
    )
    assert isinstance(found, Manifest), found
    assert found.spec.command == command


@pytest.mark.parametrize(
    "path", ["${{name}}", "${{default_datastore}}/${{output_name}}", "${{ name }}"]
)
def test_the_path_of_an_output_may_name_the_run(path: str) -> None:
    place = f"azureml://datastores/{path}/x"
    assert job(f'outputs: {{m: {{path: "{place}"}}}}\n').outputs == {"m": Output(path=place)}


@pytest.mark.parametrize("section", ["tags", "properties"])
def test_azure_keeps_fifty_tags_of_limited_length(section: str) -> None:
    fifty = "".join(f"  k{i}: v\n" for i in range(50))
    assert job(f"{section}:\n{fifty}  ").command
    over = f"{section}:\n{fifty}  {'k' * 101}: v\n  long: {'v' * 1001}\n  '': v\n"
    assert [(p.where.line, p.code, p.message) for p in problems(BASE + over)] == [
        (5, "out-of-range", f"`{section}` has 53 entries, and Azure ML keeps 50"),
        (56, "out-of-range", f"the key `{'k' * 20}` of `{section}` has 101 characters"),
        (57, "out-of-range", f"`{section}.long` has 1001 characters"),
        (58, "out-of-range", f"the key `` of `{section}` has 0 characters"),
    ]


def test_texts_have_azure_s_limits() -> None:
    long = f"name: {'n' * 256}\ndisplay_name: {'d' * 257}\ndescription: {'e' * 5001}\n"
    found = problems(long + "command: a\nenvironment: azureml:e:1\n")
    assert [(p.where.line, p.code) for p in found] == [
        (1, "bad-name"),
        (2, "bad-value"),
        (3, "bad-value"),
    ]

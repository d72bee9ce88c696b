"""A command job: Azure ML's fields as one frozen type, made from its canonical body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "command-job"
EXPONENTS = frozenset({"/inputs/*", "/inputs/*/value"})
"""Where `1e-3` is a number to every reader, and is sent as written."""

# `C:` and `file:` are no schemes: what they stand before is a path of some machine.
_SCHEME = re.compile(r"(?!file:)[a-zA-Z][a-zA-Z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class Image:
    """An inline environment. `reference` is '' when the map names no image (a build context)."""

    reference: str
    builds: bool = False
    """It has a `build` context or a `conda_file`: the image is made at run time."""


@dataclass(frozen=True, slots=True)
class RegisteredEnvironment:
    """`azureml:<name>:<version>`, `azureml:<name>@latest` or a registry's, as written."""

    reference: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal input, as the text that Azure ML sends."""

    text: str


@dataclass(frozen=True, slots=True)
class DataInput:
    """A data input. `path` is as written; `mode` is '' for the default."""

    type: str
    path: str
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """An output. `name` registers an asset when the job ends; '' for none."""

    type: str = "uri_folder"
    mode: str = ""
    path: str = ""
    name: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Distribution:
    """What Azure ML launches: `pytorch`, `mpi`, `tensorflow` or `ray`."""

    type: str
    processes: int = 1
    """A node; 1 for kinds that do not say."""


@dataclass(frozen=True, slots=True)
class CommandJob:
    """One command job as judged. Absent numbers have Azure's defaults; absent text is ''."""

    command: str
    environment: Image | RegisteredEnvironment
    compute: str
    """The name of the target; 'serverless' also when absent; 'local' as written."""
    nodes: int = 1
    instance_type: str = ""
    distribution: Distribution | None = None
    timeout: int | None = None
    """`limits.timeout` in seconds."""
    code: str = ""
    """As written: a path relative to the manifest, `azureml:...`, or a URL; '' for none."""
    inputs: Mapping[str, Literal | DataInput] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    docker_args: tuple[str, ...] = ()
    identity: str = ""
    """'managed', 'user_identity', 'aml_token', or '' when absent."""
    services: Mapping[str, str] = field(default_factory=dict)
    """Name to type: `ssh`, `tensor_board`, `vs_code`, `jupyter_lab`."""
    experiment_name: str = ""


def command_job(body: Mapping[str, Any]) -> CommandJob:
    """Return the job that a canonical body (see `kinds.command_body`) describes."""
    get = body.get
    resources = get("resources") or {}
    distribution = get("distribution")
    return CommandJob(
        command=body["command"],
        environment=_environment(body["environment"]),
        compute=get("compute", "serverless"),
        nodes=resources.get("instance_count", 1),
        instance_type=resources.get("instance_type", ""),
        distribution=_distribution(distribution) if distribution else None,
        timeout=(get("limits") or {}).get("timeout"),
        code=get("code", ""),
        inputs={name: _input(value) for name, value in (get("inputs") or {}).items()},
        outputs={name: Output(**value) for name, value in (get("outputs") or {}).items()},
        environment_variables=get("environment_variables", {}),
        docker_args=_arguments(resources.get("docker_args", ())),
        identity=(get("identity") or {}).get("type", ""),
        services={name: value["type"] for name, value in (get("services") or {}).items()},
        experiment_name=get("experiment_name", ""),
    )


def local_paths(body: Mapping[str, Any]) -> dict[str, str]:
    """Return every path that a canonical body means in the repository, as written, by pointer."""
    written = {"/code": body.get("code")}
    for name, value in (body.get("inputs") or {}).items():
        if not isinstance(value, str):
            written[f"/inputs/{name}/path"] = value["path"]
    environment = body["environment"]
    if not isinstance(environment, str):
        written["/environment/conda_file"] = environment.get("conda_file")
        written["/environment/build/path"] = (environment.get("build") or {}).get("path")
    return {
        pointer: text
        for pointer, text in written.items()
        if isinstance(text, str) and not _SCHEME.match(text)
    }


def _environment(value: str | Mapping[str, Any]) -> Image | RegisteredEnvironment:
    if isinstance(value, str):
        return RegisteredEnvironment(value)
    return Image(value.get("image", ""), builds="build" in value or "conda_file" in value)


def _distribution(value: Mapping[str, Any]) -> Distribution:
    return Distribution(value["type"], value.get("process_count_per_instance", 1))


def _input(value: str | Mapping[str, Any]) -> Literal | DataInput:
    if isinstance(value, str):
        return Literal(value)
    return DataInput(value.get("type", "uri_folder"), value["path"], value.get("mode", ""))


def _arguments(value: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)

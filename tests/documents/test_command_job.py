"""What is read of a command job: every field, with Azure's defaults, and the paths it needs."""

from __future__ import annotations

from typing import Any

import pytest
from test_command import BASE, job, read

from controller.documents.kinds.command import (
    CommandJob,
    DataInput,
    Distribution,
    Image,
    Literal,
    Output,
    RegisteredEnvironment,
)
from controller.documents.kinds.command_body import IDENTITIES
from controller.documents.manifest import Manifest
from controller.documents.shape import schema


def test_an_absent_field_has_azure_s_default() -> None:
    assert job() == CommandJob(
        command="python train.py",
        environment=Image("acme.azurecr.io/train:1"),
        compute="serverless",
    )


WHOLE = """\
experiment_name: exp
code: ./src
compute: azureml:gpu
resources:
  instance_count: "2"
  instance_type: Standard_ND96amsr_A100_v4
  max_instance_count: 4
  locations: [eastus]
  shm_size: 64G
  docker_args: [--ipc=host, "--ulimit memlock=-1"]
  properties: {singularity: {sla: 1}}
distribution: {type: PyTorch, process_count_per_instance: 8}
limits: {timeout: 3600}
queue_settings: {job_tier: Spot, priority: High}
inputs:
  lr: 1e-3
  epochs: 3
  rate: 1.10
  debug: true
  text: {value: abc}
  data: {type: URI_Folder, path: "azureml:d:1", mode: ro_mount, datastore: s}
  table: {type: mltable, path: "azureml:t@latest", mode: eval_download}
  model: {type: mlflow_model, path: "azureml:m:1"}
  plain: {path: "azureml:p:1"}
outputs:
  a:
  b: {}
  c: {type: mltable, mode: Upload, path: "azureml://datastores/x/paths/y", name: n, version: 1}
environment_variables: {A: "1", B: "true"}
identity: {type: ManagedIdentity, client_id: abc, object_id: d}
services:
  s: {type: ssh, ssh_public_keys: key, nodes: all, port: 22}
  t: {type: Tensor_Board, log_dir: logs, properties: {a: 1}}
  v: {type: vs_code}
  j: {type: jupyter_lab}
properties: {a: b, c: }
parent_job_name: p
"""


def test_every_field_is_read() -> None:
    assert job(WHOLE) == CommandJob(
        command="python train.py",
        environment=Image("acme.azurecr.io/train:1"),
        compute="gpu",
        nodes=2,
        instance_type="Standard_ND96amsr_A100_v4",
        distribution=Distribution("pytorch", 8),
        timeout=3600,
        code="./src",
        inputs={
            "lr": Literal("1e-3"),
            "epochs": Literal("3"),
            "rate": Literal("1.1"),
            "debug": Literal("True"),
            "text": Literal("abc"),
            "data": DataInput("uri_folder", "azureml:d:1", "ro_mount"),
            "table": DataInput("mltable", "azureml:t@latest", "eval_download"),
            "model": DataInput("mlflow_model", "azureml:m:1"),
            "plain": DataInput("uri_folder", "azureml:p:1"),
        },
        outputs={
            "a": Output(),
            "b": Output(),
            "c": Output("mltable", "upload", "azureml://datastores/x/paths/y", "n", "1"),
        },
        environment_variables={"A": "1", "B": "true"},
        docker_args=("--ipc=host", "--ulimit memlock=-1"),
        identity="managed",
        services={"s": "ssh", "t": "tensor_board", "v": "vs_code", "j": "jupyter_lab"},
        experiment_name="exp",
    )


@pytest.mark.parametrize(
    "distribution, expected",
    [
        ("{type: pytorch}", Distribution("pytorch")),
        ("{type: mpi, process_count_per_instance: 4}", Distribution("mpi", 4)),
        ("{type: TensorFlow, worker_count: 2}", Distribution("tensorflow")),
        ("{type: tensorflow, parameter_server_count: 0}", Distribution("tensorflow")),
        ("{type: ray, port: 1, address: a, dashboard_port: 2}", Distribution("ray")),
        ("{type: ray, include_dashboard: true}", Distribution("ray")),
        ("{type: ray, head_node_additional_args: a}", Distribution("ray")),
        ("{type: ray, worker_node_additional_args: a}", Distribution("ray")),
    ],
)
def test_each_distribution_has_its_own_fields(distribution: str, expected: Distribution) -> None:
    assert job(f"distribution: {distribution}\n").distribution == expected


@pytest.mark.parametrize(
    "environment, expected",
    [
        ("azureml:e:1", RegisteredEnvironment("azureml:e:1")),
        ("azureml:e@latest", RegisteredEnvironment("azureml:e@latest")),
        (
            "azureml://registries/r/environments/e/versions/1",
            RegisteredEnvironment("azureml://registries/r/environments/e/versions/1"),
        ),
        ("{image: i, conda_file: {dependencies: [pip]}}", Image("i", builds=True)),
        ("{image: i, conda_file: env.yml}", Image("i", builds=True)),
        ("{build: {path: ., dockerfile_path: D}}", Image("", builds=True)),
        ("{image: i, os_type: Linux, description: d, tags: {a: b, c: }}", Image("i")),
        ("{image: i, datastore: s, auto_delete_setting: {value: 30d}}", Image("i")),
    ],
)
def test_an_environment_is_an_image_or_registered(
    environment: str, expected: Image | RegisteredEnvironment
) -> None:
    found = read(f"command: a\nenvironment: {environment}\n")
    assert isinstance(found, Manifest), found
    assert found.spec.environment == expected


def test_the_ports_of_an_inference_configuration_are_numbers() -> None:
    routes = "liveness_route: &r {path: /, port: 80}, readiness_route: *r"
    inference = f"{{{routes}, scoring_route: {{path: /, port: '80'}}}}"
    found = read(f"command: a\nenvironment: {{image: i, inference_config: {inference}}}\n")
    assert isinstance(found, Manifest), found
    body: Any = found.payload.body["environment"]
    assert body["inference_config"]["scoring_route"] == {"path": "/", "port": 80}


@pytest.mark.parametrize(
    "written, expected",
    [("--ipc=host", ("--ipc=host",)), ("''", ()), ("[a, b]", ("a", "b")), ("[]", ())],
)
def test_docker_arguments_are_a_tuple(written: str, expected: tuple[str, ...]) -> None:
    assert job(f"resources: {{docker_args: {written}}}\n").docker_args == expected


@pytest.mark.parametrize("spelling, kept", IDENTITIES.items())
def test_every_spelling_of_an_identity_is_one(spelling: str, kept: str) -> None:
    assert job(f"identity: {{type: {spelling}}}\n").identity == kept


def test_the_schema_and_the_parser_know_the_same_identities() -> None:
    identity: Any = schema("command-job")["$defs"]["identity"]
    assert set(identity["properties"]["type"]["enum"]) == set(IDENTITIES)


@pytest.mark.parametrize(
    "extra, pointer",
    [
        ("code: ./src", "/code"),
        ("code: src", "/code"),
        ("inputs: {d: {path: ./data}}", "/inputs/d/path"),
        ("inputs: {d: {path: 'file:data'}}", "/inputs/d/path"),
    ],
)
def test_a_path_of_the_repository_is_known_by_its_field(extra: str, pointer: str) -> None:
    found = read(f"{BASE}{extra}\n")
    assert isinstance(found, Manifest), found
    assert list(found.paths) == [pointer]


def test_the_files_of_an_environment_are_known_by_their_fields() -> None:
    conda = read("command: a\nenvironment: {image: i, conda_file: env/conda.yml}\n")
    build = read("command: a\nenvironment: {build: {path: ./docker}}\n")
    assert isinstance(conda, Manifest)
    assert isinstance(build, Manifest)
    assert conda.paths == {"/environment/conda_file": "env/conda.yml"}
    assert build.paths == {"/environment/build/path": "./docker"}


@pytest.mark.parametrize(
    "extra",
    [
        "code: azureml:code:1",
        "code: azureml://registries/r/codes/c/versions/1",
        "code: git+https://github.com/a/b",
        "code: https://example.com/a.zip",
        "inputs: {d: {path: 'azureml:d:1'}}",
        "inputs: {d: {path: 'https://example.com/d'}}",
        "inputs: {d: {path: 'wasbs://c@a.blob.core.windows.net/d'}}",
        "inputs: {d: ./data}",
    ],
)
def test_what_is_elsewhere_is_no_path_of_the_repository(extra: str) -> None:
    found = read(f"{BASE}{extra}\n")
    assert isinstance(found, Manifest), found
    assert found.paths == {}

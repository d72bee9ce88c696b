"""Making a run's model a version of the registered model, once however often it is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import nn

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACT = "model"
PACKAGES = ("mlflow", "numpy", "torch")


def register(
    client: MlflowClient,
    run_id: str,
    name: str,
    tags: Mapping[str, str],
    network: nn.Module,
    example: NDArray[np.float32],
) -> str:
    """Return the version of `name` that `run_id` made, which is made now if there is none.

    The model lies under the run's fixed path `model`, so a retry overwrites instead of adding.
    `example` has at least two rows: the export must not take the batch for a constant.
    """
    for made in client.search_model_versions(f"run_id = '{run_id}'"):
        if made.name == name:
            return str(made.version)
    _create_name(client, name)
    _upload(client, run_id, network, example)
    source = f"{client.get_run(run_id).info.artifact_uri}/{ARTIFACT}"
    made = client.create_model_version(name, source, run_id=run_id, tags=dict(tags))
    return str(made.version)


def _create_name(client: MlflowClient, name: str) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def _upload(
    client: MlflowClient, run_id: str, network: nn.Module, example: NDArray[np.float32]
) -> None:
    import mlflow.pytorch

    # named here, because inferring them starts a second process that loads the model again
    pins = [f"{package}=={version(package).partition('+')[0]}" for package in PACKAGES]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/{ARTIFACT}"
        mlflow.pytorch.save_model(network, path, input_example=example, pip_requirements=pins)
        client.log_artifacts(run_id, path, ARTIFACT)

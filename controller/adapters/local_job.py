"""What the local workspace would run for a request, or why it cannot. Nothing is touched here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from controller.adapters.local_launch import EXPRESSION, Launch, Place
from controller.adapters.local_places import Places
from controller.documents.kinds.command import CommandJob, DataInput, Literal, Output, command_job
from controller.documents.payload import RunRequest
from controller.errors import ActionFailedError
from controller.values import nearest

MAX_RANKS = 64
"""Processes that one machine is asked to start for one run."""

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}\Z")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ASSET = re.compile(r"azureml:([A-Za-z0-9][A-Za-z0-9_.-]*):([A-Za-z0-9][A-Za-z0-9_.-]*)\Z")
_DATASTORE = re.compile(r"azureml://datastores/([A-Za-z0-9][A-Za-z0-9_-]*)/paths/(.+)\Z")
_ANY_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_PASSED_ON = ("HOME", "LANG", "TMPDIR", "TZ", "OMP_NUM_THREADS")
"""Of the controller's own environment; and PATH. Its secrets never reach a job."""


class CannotLaunchError(ActionFailedError):
    """The local workspace does not run such a job."""


def launch_of(request: RunRequest, places: Places, workspace: str, grace: float) -> Launch:
    """Return what starting `request` means on this machine. Raises CannotLaunchError."""
    if not _RUN.match(request.run):
        raise _refused(f"`{request.run}` is not a name for a run", "use letters, digits, `_`, `-`")
    if request.payload.kind != "command":
        raise _refused(f"a {request.payload.kind} does not run locally", "submit a command job")
    job = command_job(request.payload.body)
    _check(job, request)
    inputs = {name: value for name, value in job.inputs.items() if isinstance(value, DataInput)}
    distributed = job.distribution is not None
    launch = Launch(
        run=request.run,
        command=job.command,
        literals={n: value.text for n, value in job.inputs.items() if isinstance(value, Literal)},
        inputs=tuple(_input(places, name, value) for name, value in sorted(inputs.items())),
        outputs=tuple(
            _output(places, request.run, name, value) for name, value in sorted(job.outputs.items())
        ),
        environment=_environment(job, request, workspace),
        nodes=job.nodes,
        processes=job.distribution.processes if job.distribution else 1,
        distributed=distributed,
        timeout=job.timeout,
        grace=grace,
    )
    if launch.ranks > MAX_RANKS:
        message = f"{launch.ranks} processes are more than the {MAX_RANKS} this workspace starts"
        raise _refused(message, "lower `instance_count` or `process_count_per_instance`")
    return launch


def _check(job: CommandJob, request: RunRequest) -> None:
    if job.code or request.payload.code:
        remedy = "bake the code into the image and remove `code`"
        raise _refused("a `code` folder is not supported by the local workspace", remedy)
    if job.distribution is not None and job.distribution.type != "pytorch":
        message = (
            f"`distribution.type` is `{job.distribution.type}`; here only `pytorch` is started"
        )
        raise _refused(message, "use `pytorch`, or no `distribution` for one process a node")
    named = {"inputs": job.inputs, "outputs": job.outputs}
    for found in _ANY_EXPRESSION.findall(job.command):
        known = EXPRESSION.fullmatch(found)
        if known is None or known[2] not in named[known[1]]:
            words = [f"${{{{{kind}.{name}}}}}" for kind in named for name in named[kind]]
            near = nearest(found, words)
            remedy = f"did you mean `{near}`?" if near else "declare it under `inputs` or `outputs`"
            raise _refused(f"`{found}` in the command means nothing here", remedy)
    texts = [job.command, *job.environment_variables.values(), *request.injected.values()]
    if any("\0" in text for text in texts):
        raise _refused("a NUL character cannot be given to a process", "remove it")
    for name in (*job.inputs, *job.outputs, *job.environment_variables, *request.injected):
        if not _KEY.match(name):
            raise _refused(f"`{name}` is not a name for a variable", "use letters, digits and `_`")


def _input(places: Places, name: str, value: DataInput) -> Place:
    path = _local(places, f"input `{name}`", value.path)
    return Place(name, value.type, str(path), value.path)


def _output(places: Places, run: str, name: str, value: Output) -> Place:
    if not value.path:
        return Place(name, value.type, str(places.output(run, name)), "")
    written = value.path.replace("${{name}}", run)
    if _ASSET.match(written):
        message = f"output `{name}`: `{written}` is a data asset, which others have pinned"
        raise _refused(message, "write `azureml://datastores/<name>/paths/<path>`")
    return Place(name, value.type, str(_local(places, f"output `{name}`", written)), value.path)


def _local(places: Places, what: str, written: str) -> Path:
    """Return where an asset or a datastore's path lies on this machine."""
    if asset := _ASSET.match(written):
        return places.asset(asset[1], asset[2])
    stored = _DATASTORE.match(written)
    if stored is None:
        message = f"{what}: `{written}` is not something that the local workspace has"
        remedy = "use `azureml:<name>:<version>` or `azureml://datastores/<name>/paths/<path>`"
        raise _refused(message, remedy)
    path = PurePosixPath(stored[2])
    if path.is_absolute() or ".." in path.parts or "\\" in stored[2] or not stored[2].isprintable():
        message = f"{what}: `{written}` leaves its datastore"
        raise _refused(message, "write a plain relative path after `paths/`")
    return places.datastore(stored[1], str(path))


def _environment(job: CommandJob, request: RunRequest, workspace: str) -> dict[str, str]:
    """Return what all ranks share: ours wins over the job's own, and Azure ML's over both.

    As Azure ML does (azure-sdk-for-python#38813): `MLFLOW_*` are there whatever the job says, and
    a training program that is to use another server must remove them. These lead nowhere.
    """
    experiment = job.experiment_name or "Default"
    name = "local"
    azure = {
        "AZUREML_RUN_ID": request.run,
        "AZUREML_RUN_TOKEN": "local-stand-in",
        "AZUREML_RUN_TOKEN_EXPIRY": "0",
        "AZUREML_EXPERIMENT_ID": experiment,
        "AZUREML_EXPERIMENT_NAME": experiment,
        "AZUREML_ARM_SUBSCRIPTION": "00000000-0000-0000-0000-000000000000",
        "AZUREML_ARM_RESOURCEGROUP": name,
        "AZUREML_ARM_WORKSPACE_NAME": name,
        "AZUREML_ARM_PROJECT_NAME": experiment,
        "AZUREML_SERVICE_ENDPOINT": "https://azureml.invalid",
        "AZUREML_WORKSPACE_ID": workspace,
        "MLFLOW_TRACKING_URI": "azureml://azureml.invalid/mlflow/v1.0",
        "MLFLOW_TRACKING_TOKEN": "local-stand-in",
        "MLFLOW_RUN_ID": request.run,
        "MLFLOW_EXPERIMENT_ID": experiment,
        "MLFLOW_EXPERIMENT_NAME": experiment,
    }
    literals = {n: value.text for n, value in job.inputs.items() if isinstance(value, Literal)}
    parameters = {f"AZUREML_PARAMETER_{key}": text for key, text in literals.items()}
    own = _passed_on(os.environ)
    return {**own, **job.environment_variables, **request.injected, **parameters, **azure}


def _passed_on(environ: Mapping[str, str]) -> dict[str, str]:
    programs = str(Path(sys.executable).parent)
    path = os.pathsep.join(part for part in (programs, environ.get("PATH", os.defpath)) if part)
    kept = {name: environ[name] for name in _PASSED_ON if name in environ}
    return {"OMP_NUM_THREADS": "1", **kept, "PATH": path}


def _refused(message: str, remedy: str) -> CannotLaunchError:
    return CannotLaunchError(message, remedy=remedy)

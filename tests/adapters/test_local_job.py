from __future__ import annotations

from typing import Any

import pytest

from controller.adapters.local_job import CannotLaunchError
from controller.documents.payload import Payload, RunRequest
from controller.values import Digest
from tests.adapters.local_examples import RUN, Local, folder
from tests.adapters.local_requests import request


def test_inputs_and_outputs_are_paths(local: Local) -> None:
    (local.state / "data/claims/7").mkdir(parents=True)
    (local.state / "data/labels/1").mkdir(parents=True)
    (local.state / "data/labels/1/labels.csv").write_text("x")
    (local.state / "datastores/raw/in put").mkdir(parents=True)
    printed = local.printed(
        "printf '%s\\n' ${{inputs.data}} ${{ inputs.labels }} ${{inputs.raw}} ${{outputs.model}}"
        " ${{outputs.kept}} ${{outputs.file}}; pwd; touch ${{outputs.file}}",
        inputs={
            "data": {"type": "uri_folder", "path": "azureml:claims:7"},
            "labels": {"type": "uri_file", "path": "azureml:labels:1"},
            "raw": {"path": "azureml://datastores/raw/paths/in put"},
        },
        outputs={
            "model": {},
            "kept": {"path": "azureml://datastores/training/paths/${{name}}/checkpoints"},
            "file": {"type": "uri_file", "path": "azureml://datastores/training/paths/one/file"},
        },
    )
    state = local.state
    assert printed.splitlines() == [
        f"{state}/data/claims/7",
        f"{state}/data/labels/1/labels.csv",
        f"{state}/datastores/raw/in put",
        f"{state}/runs/{RUN}/outputs/model",
        f"{state}/datastores/training/{RUN}/checkpoints",
        f"{state}/datastores/training/one/file",
        f"{state}/runs/{RUN}/work",
    ]
    for name in (f"runs/{RUN}/outputs/model", f"datastores/training/{RUN}/checkpoints"):
        assert (state / name).is_dir()
    assert (state / "datastores/training/one/file").is_file()


def test_a_literal_is_put_in_as_it_is_written(local: Local) -> None:
    printed = local.printed(
        "echo ${{inputs.a}} '${{inputs.b}}'", inputs={"a": "$((1+1))", "b": "$x"}
    )
    assert printed == "2 $x\n"


@pytest.mark.parametrize(
    ("type_", "there", "why"),
    [
        ("uri_folder", None, "`azureml:claims:7` is not at `{state}/data/claims/7`"),
        ("uri_file", (), "is one file, but `{state}/data/claims/7` has nothing in it"),
        ("uri_file", ("a", "b"), "is one file, but `{state}/data/claims/7` has 2 entries in it"),
    ],
)
def test_data_that_is_missing_fails_the_run_and_says_where_it_should_be(
    local: Local, type_: str, there: tuple[str, ...] | None, why: str
) -> None:
    if there is not None:
        (local.state / "data/claims/7").mkdir(parents=True)
        for name in there:
            (local.state / "data/claims/7" / name).write_text("x")
    inputs = {"data": {"type": type_, "path": "azureml:claims:7"}}
    run = local.ran(request(command="echo ${{inputs.data}}", inputs=inputs))
    assert run.state == "Failed"
    assert why.format(state=local.state) in run.reason
    assert "input `data`" in run.reason
    assert run.started_at == run.ended_at


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"inputs": {"d": {"path": "azureml:claims@latest"}}}, "not something that the local"),
        ({"inputs": {"d": {"path": "./data"}}}, "not something that the local"),
        ({"inputs": {"d": {"path": "https://x/y"}}}, "not something that the local"),
        ({"inputs": {"d": {"path": "azureml:..:7"}}}, "not something that the local"),
        ({"inputs": {"d": {"path": "azureml:claims:.."}}}, "not something that the local"),
        ({"inputs": {"d": {"path": "azureml://datastores/../paths/x"}}}, "not something that"),
        ({"inputs": {"d": {"path": "azureml://datastores/a/paths/../x"}}}, "leaves its datastore"),
        ({"outputs": {"o": {"path": "azureml://datastores/a/paths//etc"}}}, "leaves its datastore"),
        ({"outputs": {"o": {"path": "azureml://datastores/a/paths/b/../../x"}}}, "leaves its"),
        ({"outputs": {"o": {"path": "azureml://datastores/a/paths/b\\c"}}}, "leaves its"),
        ({"outputs": {"../o": {}}}, "`../o` is not a name for a variable"),
        ({"command": "echo ${{inputs.gone}}"}, "`${{inputs.gone}}` in the command means nothing"),
        ({"command": "echo ${{parent.inputs.x}}"}, "means nothing here"),
        ({"command": "a\0b"}, "a NUL character"),
        ({"code": "./src"}, "a `code` folder is not supported"),
        ({"distribution": {"type": "mpi"}}, "`distribution.type` is `mpi`"),
        ({"environment_variables": {"A=B": "1"}}, "`A=B` is not a name for a variable"),
        ({"environment_variables": {"A": "\0"}}, "a NUL character"),
        ({"resources": {"instance_count": 65}}, "65 processes are more than the 64"),
    ],
)
def test_what_does_not_run_here_is_refused_before_anything_is_recorded(
    local: Local, fields: dict[str, Any], why: str
) -> None:
    asked = request()
    body = {**asked.payload.body, **fields}
    with pytest.raises(CannotLaunchError) as error:
        local.workspace.submit(RunRequest(RUN, Payload("command", body), {}, {}))
    assert why in str(error.value)
    assert error.value.remedy
    assert local.workspace.runs() == ()


def test_an_expression_that_is_nearly_right_is_named(local: Local) -> None:
    asked = request(command="echo ${{inputs.dat}}", inputs={"data": "1"})
    with pytest.raises(CannotLaunchError) as error:
        local.workspace.submit(asked)
    assert error.value.remedy == "did you mean `${{inputs.data}}`?"


@pytest.mark.parametrize("run", ["", "../x", "a/b", "-a", "a" * 256, "a\n", "ü"])
def test_a_name_that_is_no_name_is_refused(local: Local, run: str) -> None:
    with pytest.raises(CannotLaunchError, match="is not a name for a run"):
        local.workspace.submit(request(run))


def test_only_command_jobs_without_a_code_tree_run_here(local: Local) -> None:
    body = request().payload.body
    with pytest.raises(CannotLaunchError, match="a sweep does not run locally"):
        local.workspace.submit(RunRequest(RUN, Payload("sweep", body), {}, {}))
    coded = Payload("command", body, code=Digest("sha256:0"))
    with pytest.raises(CannotLaunchError, match="`code` folder"):
        local.workspace.submit(RunRequest(RUN, coded, {}, {}))


def test_everything_that_is_made_is_private(local: Local) -> None:
    outputs = {"o": {}, "p": {"path": "azureml://datastores/a/paths/b/c"}}
    asked = request(command="touch made; mkdir sub", outputs=outputs)
    local.ran(RunRequest(RUN, asked.payload, {}, {}, record=b'{"why":"\xc3\xbc"}'))
    made = [path for path in local.state.rglob("*") if path.is_dir()]
    assert len(made) >= 8
    assert {folder(path) for path in (local.state, *made)} == {"0o700"}
    assert (local.state / f"runs/{RUN}/record.json").read_bytes() == b'{"why":"\xc3\xbc"}'
    assert (local.state / ".gitignore").read_text() == "*\n"

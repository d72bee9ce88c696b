"""Azure's own reader: it knows the fields that the schema knows, and loads what is accepted here.

The only tests of the documents that import azure-ai-ml.
"""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from test_command import BASE
from test_command import job as read_job
from test_command_job import WHOLE

from controller.documents.catalog import read_catalog
from controller.documents.kinds.command_body import IDENTITIES
from controller.documents.manifest import Manifest
from controller.documents.shape import schema
from controller.documents.snapshot import Blob, Snapshot
from controller.values import BlobId, RepoPath

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
PROBES = Path(__file__).parent / "probes"
SCHEMAS = {
    "": "CommandJobSchema",
    "environment": "AnonymousEnvironmentSchema",
    "build": "BuildContextSchema",
    "inference_config": "InferenceConfigSchema",
    "route": "RouteSchema",
    "auto_delete_setting": "AutoDeleteSettingSchema",
    "resources": "JobResourceConfigurationSchema",
    "pytorch": "PyTorchDistributionSchema",
    "mpi": "MPIDistributionSchema",
    "tensorflow": "TensorFlowDistributionSchema",
    "ray": "RayDistributionSchema",
    "limits": "CommandJobLimitsSchema",
    "queue_settings": "QueueSettingsSchema",
    "literal": "InputLiteralValueSchema",
    "data_input": "DataInputSchema",
    "model_input": "ModelInputSchema",
    "table_input": "MLTableInputSchema",
    "output": "OutputSchema",
    "managed_identity": "ManagedIdentitySchema",
    "bare_identity": "UserIdentitySchema",
    "ssh": "SshJobServiceSchema",
    "tensor_board": "TensorBoardJobServiceSchema",
    "service": "VsCodeJobServiceSchema",
}
"""The definitions of our schema, and the marshmallow schema that each is held to."""
UNIONS = {"port", "distribution", "identity", "input", "component_input"}
"""Definitions that are no object of Azure's, but a choice between some, or a number."""
TWINS = {
    "AMLTokenIdentitySchema": "bare_identity",
    "JupyterLabJobServiceSchema": "service",
    "JobServiceSchema": "service",
}
"""Objects of Azure's with the same fields as another, and so without a definition of their own."""
REFUSED = {
    "environment": {"name", "version"},
    "managed_identity": {"msi_resource_id"},
    "data_input": {"path_on_compute"},
    "table_input": {"path_on_compute"},
}
"""Fields that Azure's reader takes and then drops without a word, or cannot read."""
ONLY_READ = {"CreationContextSchema", "IntellectualPropertySchema"}


@pytest.fixture(scope="module")
def command_schema() -> Any:
    warnings.simplefilter("ignore")
    logging.getLogger("azure.ai.ml").setLevel(logging.ERROR)
    from azure.ai.ml._schema.job.command_job import CommandJobSchema

    make: Any = CommandJobSchema
    return make(context={"base_path": Path(), "params_override": []})


def inner_fields(field: Any) -> Iterator[Any]:
    """Yield `field` and every field that it may stand for."""
    yield field
    for name in ("experimental_field", "inner", "key_field", "value_field"):
        if (inside := getattr(field, name, None)) is not None:
            yield from inner_fields(inside)
    for inside in getattr(field, "union_fields", ()):
        yield from inner_fields(inside)


def is_dumped_only(field: Any) -> bool:
    alternatives = list(getattr(field, "union_fields", ()))
    if alternatives:
        return all(is_dumped_only(inside) for inside in alternatives)
    return bool(field.dump_only)


def schemas_of(root: Any) -> dict[str, Any]:
    """Return every marshmallow schema that is reached from `root`, by name."""
    found: dict[str, Any] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if type(one).__name__ in found:
            continue
        found[type(one).__name__] = one
        inside = (inner for field in one.fields.values() for inner in inner_fields(field))
        waiting.extend(field.schema for field in inside if hasattr(field, "nested"))
    return found


def fields_of(one: Any) -> set[str]:
    return {field.data_key or key for key, field in one.fields.items() if not is_dumped_only(field)}


def definition(name: str) -> Mapping[str, Any]:
    whole = schema("command-job")
    found: Mapping[str, Any] = whole["$defs"][name] if name else whole
    return found


@pytest.mark.parametrize("name, azure", SCHEMAS.items())
def test_our_schema_has_azure_s_fields(name: str, azure: str, command_schema: Any) -> None:
    ours = set(definition(name)["properties"]) - {"$schema"}
    refused = REFUSED.get(name, set())
    assert ours.isdisjoint(refused)
    assert ours | refused == fields_of(schemas_of(command_schema)[azure])
    assert refused <= set(definition(name).get("legacy", {}))


@pytest.mark.parametrize("azure, name", TWINS.items())
def test_twins_have_the_same_fields(azure: str, name: str, command_schema: Any) -> None:
    ours = set(definition(name)["properties"])
    assert ours == fields_of(schemas_of(command_schema)[azure])


def test_no_object_of_azure_s_is_left_out(command_schema: Any) -> None:
    known = {*SCHEMAS.values(), *TWINS, *ONLY_READ}
    assert set(schemas_of(command_schema)) == known
    assert set(schema("command-job")["$defs"]) == {*filter(None, SCHEMAS), *UNIONS}


@pytest.mark.parametrize("name, azure", SCHEMAS.items())
def test_what_azure_requires_is_required(name: str, azure: str, command_schema: Any) -> None:
    one = schemas_of(command_schema)[azure]
    needed = {field.data_key or key for key, field in one.fields.items() if field.required}
    assert needed <= set(definition(name).get("required", ()))


WORDS = {
    ("pytorch", "type"): "PyTorchDistributionSchema",
    ("mpi", "type"): "MPIDistributionSchema",
    ("tensorflow", "type"): "TensorFlowDistributionSchema",
    ("ray", "type"): "RayDistributionSchema",
    ("queue_settings", "job_tier"): "QueueSettingsSchema",
    ("queue_settings", "priority"): "QueueSettingsSchema",
    ("output", "type"): "OutputSchema",
    ("output", "mode"): "OutputSchema",
    ("data_input", "mode"): "DataInputSchema",
    ("model_input", "mode"): "ModelInputSchema",
    ("table_input", "mode"): "MLTableInputSchema",
    ("environment", "os_type"): "AnonymousEnvironmentSchema",
    ("auto_delete_setting", "condition"): "AutoDeleteSettingSchema",
}


@pytest.mark.parametrize("place, azure", WORDS.items(), ids=str)
def test_our_words_are_azure_s(place: tuple[str, str], azure: str, command_schema: Any) -> None:
    name, key = place
    field = schemas_of(command_schema)[azure].fields[key]
    assert set(definition(name)["properties"][key]["examples"]) == set(field.allowed_values)


@pytest.mark.parametrize("spelling, kept", IDENTITIES.items())
def test_azure_reads_every_spelling_of_an_identity(
    spelling: str, kept: str, command_schema: Any
) -> None:
    identity = command_schema.fields["identity"].deserialize({"type": spelling})
    assert type(identity).__name__.lower().startswith(kept.replace("_", ""))


def accepted() -> list[str]:
    """Return the probes that are accepted here, as jobs beside `src/`."""
    files = {
        RepoPath(f"jobs/{file.name}"): Blob("100644", BlobId(file.name), file.read_bytes())
        for file in PROBES.glob("*.yml")
    }
    source = {RepoPath("jobs/src/train.py"): Blob("100644", BlobId("b" * 40))}
    return sorted(read_catalog(Snapshot.of(None, {**files, **source})).manifests)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository") / "a" / "b"
    shutil.copytree(PROBES, root / "jobs")
    return root


@pytest.mark.parametrize("path", accepted())
def test_what_is_accepted_azure_loads(path: str, folder: Path, command_schema: Any) -> None:
    from azure.ai.ml import load_job

    job: Any = load_job(folder / path)
    assert job._to_job()._to_rest_object().properties.job_type == "Command"


def test_azure_loads_a_job_that_says_everything(tmp_path: Path, command_schema: Any) -> None:
    from azure.ai.ml import load_job

    (tmp_path / "src").mkdir()
    (tmp_path / "t.yml").write_text(BASE + WHOLE)
    loaded: Any = load_job(tmp_path / "t.yml")
    sent = loaded._to_job()._to_rest_object().properties
    assert sent.resources.instance_count == 2
    assert sent.inputs.keys() == read_job(WHOLE).inputs.keys()


def test_the_literals_are_those_that_azure_sends(tmp_path: Path, command_schema: Any) -> None:
    from azure.ai.ml import load_job

    content = (
        "command: a\nenvironment: {image: i}\n"
        "inputs: {a: 1e-3, b: 1.10, c: true, d: 0x1F, e: 1.0e-5, f: 123456789.125, g: .5, h: text,"
        ' i: "1.10", j: -0.0, k: {value: x}, l: {value: false}}\n'
    )
    blob = Blob("100644", BlobId("0" * 40), content.encode())
    (found,) = read_catalog(Snapshot.of(None, {RepoPath("jobs/t.yml"): blob})).manifests.values()
    assert isinstance(found, Manifest)
    (tmp_path / "t.yml").write_text(content)
    loaded: Any = load_job(tmp_path / "t.yml")
    sent = loaded._to_job()._to_rest_object().properties.inputs
    assert found.payload.body["inputs"] == {name: value["value"] for name, value in sent.items()}

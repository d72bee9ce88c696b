"""What a job is given beside its program: variables, secrets, privileges, services, identity."""

from __future__ import annotations

import re

from controller.decision.verdict import Finding, JobCase, Met, unmet
from controller.documents.kinds.command import DataInput
from controller.documents.manifest import Manifest
from controller.values import Location

_RESERVED = ("MLFLOW_", "AZUREML_", "ADMIT_")

# A word for a secret, at the end of a part of the name: `HF_TOKEN`, `apiKey`, `DB_PASSWORD_2`,
# not `TOKENIZERS_PARALLELISM`.
_WORD = re.compile(
    r"((?i:key|token|secret|passw(?:or)?d|pwd|passphrase|credential))((?i:s?))"
    r"(?![a-z])(?!(?<=[A-Z])[A-Z])"
)
_COUNT = re.compile(r"[0-9]+")
_REFERENCE = re.compile(r"keyvault://[^/\s]+/[^/\s]+")

_FORMATS = (
    ("gh", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,}"), "a GitHub token"),
    ("github_pat_", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{22,}"), "a GitHub token"),
    ("glpat-", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}"), "a GitLab token"),
    ("hf_", re.compile(r"\bhf_[A-Za-z0-9]{30,}"), "a Hugging Face token"),
    ("sk-", re.compile(r"\bsk-[A-Za-z0-9_-]{20,}"), "an API key"),
    ("AKIA", re.compile(r"\bAKIA[A-Z0-9]{16}\b"), "an AWS access key"),
    ("AIza", re.compile(r"\bAIza[A-Za-z0-9_-]{35}"), "a Google API key"),
    ("xox", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"), "a Slack token"),
    ("dapi", re.compile(r"\bdapi[0-9a-f]{32}"), "a Databricks token"),
    ("eyJ", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\."), "a JSON web token"),
    ("PRIVATE KEY", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"), "a private key"),
    ("AccountKey=", re.compile(r"AccountKey=[A-Za-z0-9+/=]{20,}"), "an Azure storage key"),
    ("sig=", re.compile(r"[?&]sig=[A-Za-z0-9%+/=]{20,}"), "a shared access signature"),
    # `abfss://container@account...` names no secret: only a password, or any user of https, does.
    ("@", re.compile(r"://[^/\s:@]*:[^/\s@]+@|https?://[^/\s@]+@"), "a URL with credentials"),
)
"""A text that each kind of secret has, how the whole of it looks, and what to call it."""

_ALLOWED_ARGUMENT = re.compile(
    r"--ipc[= ]host|--shm-size[= ][0-9]+[bkmg]?"
    r"|--ulimit[= ](?:memlock|stack)=-?[0-9]+(?::-?[0-9]+)?"
)
"""What makes room for NCCL and data loaders (shared memory) and for InfiniBand (pinned memory).

None of them reaches the host's files, devices or network; the nodes have one tenant."""


def no_tracking_override(case: JobCase) -> Finding | Met:
    """No variable is one that Azure ML, the controller or the training program sets itself.

    See https://github.com/Azure/azure-sdk-for-python/issues/38813
    """
    manifest = case.manifest
    for name in manifest.spec.environment_variables:
        if name.upper().startswith(_RESERVED):
            reason = f"`{name}` is set by Azure ML or by the controller, which would win or break"
            remedy = "remove it; the training program gets the team's MLflow from the controller"
            return unmet("no-tracking-override", reason, _variable(case, name), remedy)
    reason = "none begins with MLFLOW_, AZUREML_ or ADMIT_"
    return Met("no-tracking-override", reason, manifest, "/environment_variables")


def no_plain_secret(case: JobCase) -> Finding | Met:
    """Secrets are references to a key vault. What looks like one is never repeated here."""
    job = case.manifest.spec
    for name, value in job.environment_variables.items():
        if value and _is_secret(name, value):
            reason = f"`{name}` is named like a secret and its value is written here"
            return _secret(reason, _variable(case, name))
    texts = _texts(case.manifest)
    # Most jobs have no such text: one look at all of it, and another at each only if there is.
    suspected = looks_like_a_secret("\n".join([text for *_, text in texts]))
    suspects = texts if suspected else []
    for word, field, key, part, text in suspects:
        if kind := looks_like_a_secret(text):
            where = case.manifest.locate(f"{field}/{_escaped(key)}{part}")
            return _secret(f"{word}`{key}` contains {kind}", where)
    reason = "nothing looks like a secret"
    return Met("no-plain-secret", reason, case.manifest, "/environment_variables")


def _secret(reason: str, where: Location) -> Finding:
    remedy = (
        "write `keyvault://<vault>/<secret>` in a variable, and replace the secret: it is in git; "
        "rename what is none"
    )
    return unmet("no-plain-secret", reason, where, remedy)


def _is_secret(name: str, value: str) -> bool:
    word = _WORD.search(name)
    if word is None or _REFERENCE.fullmatch(value):
        return False
    # `MAX_TOKENS: "512"` counts something.
    return not (word[2] and _COUNT.fullmatch(value))


def _texts(manifest: Manifest) -> list[tuple[str, str, str, str, str]]:
    """Return every text that is sent, after what its message and its place begin with."""
    job = manifest.spec
    texts = [
        ("", "", "command", "", job.command),
        ("", "", "description", "", manifest.description),
        ("", "", "display_name", "", manifest.display_name),
        ("", "", "experiment_name", "", job.experiment_name),
    ]
    for name, value in manifest.tags.items():
        texts.append(("tag ", "/tags", name, "", value))
    for name, value in job.environment_variables.items():
        texts.append(("", "/environment_variables", name, "", value))
    for key, source in job.inputs.items():
        if isinstance(source, DataInput):
            texts.append(("input ", "/inputs", key, "/path", source.path))
        else:
            texts.append(("input ", "/inputs", key, "", source.text))
    for key, output in job.outputs.items():
        texts.append(("output ", "/outputs", key, "/path", output.path))
    return texts


def looks_like_a_secret(text: str) -> str:
    """Return what kind of secret `text` contains, such as "a GitHub token"; '' if it has none."""
    for mark, pattern, kind in _FORMATS:
        if mark in text and pattern.search(text):
            return kind
    return ""


def no_privileged_container(case: JobCase) -> Finding | Met:
    """The container gets no argument but those that only make room for memory."""
    manifest = case.manifest
    arguments, field = manifest.spec.docker_args, "/resources/docker_args"
    if not arguments:
        return Met("no-privileged-container", "no docker arguments", manifest, field)
    for argument in _options(" ".join(arguments)):
        if not _ALLOWED_ARGUMENT.fullmatch(argument):
            option = re.split(r"[\s=]", argument)[0]  # its value may be a secret
            reason = f"`{option}` is not an argument that a job may give its container"
            remedy = "use only `--ipc=host`, `--shm-size=<n>g` and `--ulimit memlock|stack=<n>`"
            return unmet("no-privileged-container", reason, manifest.locate(field), remedy)
    reason = f"`{' '.join(arguments)}` only makes room for memory"
    return Met("no-privileged-container", reason, manifest, field)


def _options(line: str) -> list[str]:
    """Split a command line before each option, so that `--ulimit stack=1` stays together."""
    return [" ".join(option.split()) for option in re.split(r"\s+(?=-)", line.strip()) if option]


def no_interactive_service(case: JobCase) -> Finding | Met:
    """Nobody can log in to the job: what is typed there is not what was approved."""
    manifest = case.manifest
    for name, kind in manifest.spec.services.items():
        if kind != "tensor_board":
            where = manifest.locate(f"/services/{name}")
            reason = f"service `{name}` ({kind}) lets people in who can run something else"
            remedy = "remove it; `tensor_board` is allowed"
            return unmet("no-interactive-service", reason, where, remedy)
    reason = "no service that people can log in to"
    return Met("no-interactive-service", reason, manifest, "/services")


_REFUSED_IDENTITY = {
    "user_identity": "does not work when a service principal submits",
    "aml_token": "is the workspace's own and may do all that the workspace may",
}


def managed_identity(case: JobCase) -> Finding | Met:
    """The job runs as the cluster's managed identity, or says nothing.

    See https://github.com/MicrosoftDocs/azure-docs/issues/105972
    """
    manifest = case.manifest
    identity = manifest.spec.identity
    if identity in ("", "managed"):
        said = "the managed identity of the cluster" if not identity else "a managed identity"
        return Met("managed-identity", f"it runs as {said}", manifest, "/identity/type")
    where = manifest.locate("/identity/type")
    why = _REFUSED_IDENTITY.get(identity, "is not known here")
    remedy = "write `identity: {type: managed}` or remove it"
    return unmet("managed-identity", f"`{identity}` {why}", where, remedy)


def _variable(case: JobCase, name: str) -> Location:
    return case.manifest.locate(f"/environment_variables/{_escaped(name)}")


def _escaped(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")

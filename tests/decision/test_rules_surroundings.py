"""Variables, secrets, privileges, services and identity."""

from __future__ import annotations

import pytest

from controller.decision.verdict import JobCase, Outcome, met, unmet
from controller.documents.kinds.command import DataInput, Literal, Output
from tests.builders import job_case, sound_manifest
from tests.decision.examples import Example, in_job, judged, parametrized

REPLACE = (
    "write `keyvault://<vault>/<secret>` in a variable, and replace the secret: it is in git; "
    "rename what is none"
)
GITHUB = "ghp_" + "aB3" * 12


def with_variables(**variables: str) -> JobCase:
    return job_case(manifest=sound_manifest(environment_variables=variables))


def with_arguments(*arguments: str) -> JobCase:
    return job_case(manifest=sound_manifest(docker_args=arguments))


EXAMPLES = [
    Example(
        "no variable of somebody else",
        with_variables(NCCL_DEBUG="INFO", MLFLOWISH="1"),
        met("no-tracking-override", "none begins with MLFLOW_, AZUREML_ or ADMIT_", in_job(1)),
    ),
    Example(
        "another tracking server",
        with_variables(mlflow_tracking_uri="https://mlflow.example"),
        unmet(
            "no-tracking-override",
            "`mlflow_tracking_uri` is set by Azure ML or by the controller, which would win or "
            "break",
            in_job(1),
            "remove it; the training program gets the team's MLflow from the controller",
        ),
    ),
    Example(
        "nothing secret",
        with_variables(NCCL_DEBUG="INFO", TOKENIZERS_PARALLELISM="false"),
        met("no-plain-secret", "nothing looks like a secret", in_job(1)),
    ),
    Example(
        "a variable that is named like a secret",
        with_variables(HF_TOKEN="correct horse"),
        unmet(
            "no-plain-secret",
            "`HF_TOKEN` is named like a secret and its value is written here",
            in_job(1),
            REPLACE,
        ),
    ),
    Example(
        "a token in a variable with another name",
        with_variables(HUB=GITHUB),
        unmet("no-plain-secret", "`HUB` contains a GitHub token", in_job(1), REPLACE),
    ),
    Example(
        "a password in the command",
        job_case(manifest=sound_manifest(command="git clone https://ada:pw@github.com/acme/x")),
        unmet("no-plain-secret", "`command` contains a URL with credentials", in_job(5), REPLACE),
    ),
    Example(
        "a token in a literal input",
        job_case(manifest=sound_manifest(inputs={"data": Literal(GITHUB)})),
        unmet("no-plain-secret", "input `data` contains a GitHub token", in_job(7), REPLACE),
    ),
    Example(
        "a shared access signature in a data input",
        job_case(
            manifest=sound_manifest(
                inputs={
                    "data": DataInput(
                        "uri_file", "https://a.blob.core.windows.net/c/x?sv=1&sig=" + "aB3%2F" * 8
                    )
                }
            )
        ),
        unmet(
            "no-plain-secret",
            "input `data` contains a shared access signature",
            in_job(7),
            REPLACE,
        ),
    ),
    Example(
        "a password in an output",
        job_case(
            manifest=sound_manifest(outputs={"checkpoints": Output(path="wasbs://c:k@a.example/")})
        ),
        unmet(
            "no-plain-secret",
            "output `checkpoints` contains a URL with credentials",
            in_job(9),
            REPLACE,
        ),
    ),
    Example(
        "a token in the description",
        job_case(manifest=sound_manifest(description=f"see {GITHUB}")),
        unmet("no-plain-secret", "`description` contains a GitHub token", in_job(1), REPLACE),
    ),
    Example(
        "a token in the name that people see",
        job_case(manifest=sound_manifest(display_name=GITHUB)),
        unmet("no-plain-secret", "`display_name` contains a GitHub token", in_job(1), REPLACE),
    ),
    Example(
        "a token in the experiment's name",
        job_case(manifest=sound_manifest(experiment_name=GITHUB)),
        unmet("no-plain-secret", "`experiment_name` contains a GitHub token", in_job(4), REPLACE),
    ),
    Example(
        "a token in a tag",
        job_case(manifest=sound_manifest(tags={"hub": GITHUB})),
        unmet("no-plain-secret", "tag `hub` contains a GitHub token", in_job(16), REPLACE),
    ),
    Example(
        "no docker arguments",
        job_case(),
        met("no-privileged-container", "no docker arguments", in_job(13)),
    ),
    Example(
        "arguments that make room for memory",
        with_arguments("--ipc=host", "--ulimit memlock=-1"),
        met(
            "no-privileged-container",
            "`--ipc=host --ulimit memlock=-1` only makes room for memory",
            in_job(13),
        ),
    ),
    Example(
        "an argument that opens the host, whose value is not repeated",
        with_arguments("--ipc=host -v /:/host"),
        unmet(
            "no-privileged-container",
            "`-v` is not an argument that a job may give its container",
            in_job(13),
            "use only `--ipc=host`, `--shm-size=<n>g` and `--ulimit memlock|stack=<n>`",
        ),
    ),
    Example(
        "only TensorBoard",
        job_case(manifest=sound_manifest(services={"board": "tensor_board"})),
        met("no-interactive-service", "no service that people can log in to", in_job(1)),
    ),
    Example(
        "SSH",
        job_case(manifest=sound_manifest(services={"board": "tensor_board", "shell": "ssh"})),
        unmet(
            "no-interactive-service",
            "service `shell` (ssh) lets people in who can run something else",
            in_job(1),
            "remove it; `tensor_board` is allowed",
        ),
    ),
    Example(
        "no identity",
        job_case(),
        met("managed-identity", "it runs as the managed identity of the cluster", in_job(1)),
    ),
    Example(
        "a managed identity",
        job_case(manifest=sound_manifest(identity="managed")),
        met("managed-identity", "it runs as a managed identity", in_job(1)),
    ),
    Example(
        "the identity of whoever submits",
        job_case(manifest=sound_manifest(identity="user_identity")),
        unmet(
            "managed-identity",
            "`user_identity` does not work when a service principal submits",
            in_job(1),
            "write `identity: {type: managed}` or remove it",
        ),
    ),
    Example(
        "the workspace's token",
        job_case(manifest=sound_manifest(identity="aml_token")),
        unmet(
            "managed-identity",
            "`aml_token` is the workspace's own and may do all that the workspace may",
            in_job(1),
            "write `identity: {type: managed}` or remove it",
        ),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


@pytest.mark.parametrize("name", ["MLFLOW_RUN_ID", "azureml_run_token", "Admit_Record"])
def test_a_variable_of_somebody_else_is_refused_in_any_case(name: str) -> None:
    assert judged(with_variables(**{name: "x"}), "no-tracking-override").outcome is Outcome.UNMET


@pytest.mark.parametrize(
    "name",
    [
        "KEY",
        "WANDB_API_KEY",
        "apiKey",
        "apiKeyValue",
        "ACCESSTOKEN",
        "HF_TOKEN",
        "token",
        "AZURE_CLIENT_SECRET",
        "SECRETS_2",
        "DB_PASSWORD",
        "db-passwd",
        "PWD_DB",
        "SSH_PASSPHRASE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "a/secret",
    ],
)
def test_a_name_for_a_secret_is_refused_and_its_value_is_not_repeated(name: str) -> None:
    found = judged(with_variables(**{name: "hunter2"}), "no-plain-secret")
    assert found.outcome is Outcome.UNMET
    assert "hunter2" not in found.reason + found.remedy


@pytest.mark.parametrize(
    "name, value",
    [
        ("HF_TOKEN", "keyvault://acme-vault/hf-token"),
        ("HF_TOKEN", ""),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("tokenizers_parallelism", "false"),
        ("KEYBOARD", "qwerty"),
        ("MAX_TOKENS", "512"),
        ("SECRETARY", "ada"),
        ("NCCL_DEBUG", "INFO"),
    ],
)
def test_what_is_no_secret_is_left_alone(name: str, value: str) -> None:
    assert judged(with_variables(**{name: value}), "no-plain-secret").outcome is Outcome.MET


@pytest.mark.parametrize(
    "value",
    [
        "keyvault://acme-vault",
        "keyvault:///hf-token",
        "see keyvault://acme-vault/hf-token",
        "keyvault://acme-vault/hf-token hunter2",
    ],
)
def test_only_a_whole_reference_to_a_vault_stands_for_a_secret(value: str) -> None:
    assert judged(with_variables(HF_TOKEN=value), "no-plain-secret").outcome is Outcome.UNMET


SECRETS = {
    GITHUB: "a GitHub token",
    "github_pat_" + "aB3_" * 10: "a GitHub token",
    "glpat-" + "aB3-" * 6: "a GitLab token",
    "hf_" + "aB3" * 12: "a Hugging Face token",
    "sk-proj-" + "aB3_" * 8: "an API key",
    "AKIA" + "ABCD" * 4: "an AWS access key",
    "AIza" + "aB3_x" * 7: "a Google API key",
    "xoxb-" + "123-" * 5: "a Slack token",
    "dapi" + "0a1b" * 8: "a Databricks token",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x": "a JSON web token",
    "-----BEGIN RSA PRIVATE KEY-----": "a private key",
    "AccountName=a;AccountKey=" + "aB3/" * 16 + "==": "an Azure storage key",
    "postgresql://ada:pw@db.example/results": "a URL with credentials",
    "https://ghs@github.com/acme/x": "a URL with credentials",
}


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_known_by_its_looks_and_not_repeated(secret: str) -> None:
    found = judged(with_variables(OTHER=f"x {secret}"), "no-plain-secret")
    assert found.reason == f"`OTHER` contains {SECRETS[secret]}"
    assert secret not in found.remedy


@pytest.mark.parametrize(
    "text",
    [
        "abfss://claims@acme.dfs.core.windows.net/x",
        "ssh://git@github.com/acme/x",
        "https://acme.example/@ada",
        "python -m task-sk-learn --ada ada@acme.example",
        "highly --sig=short",
    ],
)
def test_what_only_resembles_a_secret_is_left_alone(text: str) -> None:
    assert judged(with_variables(OTHER=text), "no-plain-secret").outcome is Outcome.MET


@pytest.mark.parametrize(
    "arguments",
    [
        ("--ipc host",),
        ("--shm-size=64g",),
        ("--shm-size", "64g"),
        ("--ulimit", "stack=67108864"),
        ("--ulimit=memlock=-1:-1",),
        ("  --ipc=host   --shm-size  8g ",),
    ],
)
def test_arguments_that_make_room_for_memory_are_allowed(arguments: tuple[str, ...]) -> None:
    found = judged(with_arguments(*arguments), "no-privileged-container")
    assert found.outcome is Outcome.MET


@pytest.mark.parametrize(
    "arguments",
    [
        ("--privileged",),
        ("--ipc=host", "--privileged"),
        ("--ipc=container:other",),
        ("--ulimit nofile=1048576",),
        ("--network=host",),
        ("--cap-add=SYS_ADMIN",),
        ("--device", "/dev/sda"),
        ("--ipc=host;id",),
        ("--ipc=host evil/image",),
        ("evil/image",),
    ],
)
def test_every_other_argument_is_refused(arguments: tuple[str, ...]) -> None:
    found = judged(with_arguments(*arguments), "no-privileged-container")
    assert found.outcome is Outcome.UNMET


@pytest.mark.parametrize("kind", ["vs_code", "jupyter_lab", "something_new"])
def test_every_service_but_tensorboard_is_refused(kind: str) -> None:
    case = job_case(manifest=sound_manifest(services={"s": kind}))
    assert judged(case, "no-interactive-service").outcome is Outcome.UNMET


def test_an_identity_that_nobody_knows_is_refused() -> None:
    found = judged(job_case(manifest=sound_manifest(identity="new")), "managed-identity")
    assert found.reason == "`new` is not known here"

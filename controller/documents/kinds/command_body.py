"""The canonical body of a command job: one spelling for what Azure ML takes for the same.

Only what has one meaning is made one: `azureml:x` and `x` for a cluster, whole numbers given as
text, the letter case of a closed set of words, an output that says nothing, and literal inputs,
which become the text that Azure ML sends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

OUTSIDE = frozenset({"$schema", "type", "name", "tags", "display_name", "description"})
"""What is no part of the body: the kind and two of the tags stand beside it in the payload."""

IDENTITIES = {
    "managed": "managed",
    "Managed": "managed",
    "MANAGED": "managed",
    "managed_identity": "managed",
    "ManagedIdentity": "managed",
    "managedIdentity": "managed",
    "MANAGED_IDENTITY": "managed",
    "user_identity": "user_identity",
    "UserIdentity": "user_identity",
    "userIdentity": "user_identity",
    "USER_IDENTITY": "user_identity",
    "aml_token": "aml_token",
    "AmlToken": "aml_token",
    "AMLToken": "aml_token",
    "amlToken": "aml_token",
    "AML_TOKEN": "aml_token",
}
"""Every spelling of an identity's type that azure-ai-ml takes, and the one that is kept."""

_COUNTS = (
    "process_count_per_instance",
    "worker_count",
    "parameter_server_count",
    "port",
    "dashboard_port",
)
_ROUTES = ("liveness_route", "readiness_route", "scoring_route")


def command_body(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a document that has the shape of a command job."""
    body = {key: value for key, value in fields.items() if key not in OUTSIDE}
    for key, normal in _NORMAL:
        if key in body:
            body[key] = normal(body[key])
    return body


def _normal(
    value: Mapping[str, Any], lower: tuple[str, ...] = (), whole: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return a copy with words in lower case and whole numbers as numbers, under those keys."""
    out = dict(value)
    for key in lower:
        if key in out:
            out[key] = out[key].lower()
    for key in whole:
        if key in out:
            out[key] = int(out[key])
    return out


def _compute(value: str) -> str:
    name = value.removeprefix("azureml:")
    return "local" if name == value and value.lower() == "local" else name


def _distribution(value: Mapping[str, Any]) -> dict[str, Any]:
    return _normal(value, ("type",), _COUNTS)


def _resources(value: Mapping[str, Any]) -> dict[str, Any]:
    return _normal(value, ("shm_size",), ("instance_count", "max_instance_count"))


def _limits(value: Mapping[str, Any]) -> dict[str, Any]:
    return _normal(value, (), ("timeout",))


def _queue(value: Mapping[str, Any]) -> dict[str, Any]:
    return _normal(value, ("job_tier", "priority"))


def _identity(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, "type": IDENTITIES[value["type"]]}


def _inputs(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _input(given) for name, given in value.items()}


def _input(given: Any) -> str | dict[str, Any]:
    if not isinstance(given, Mapping):
        # Azure ML sends Python's own spelling: True, 1.1 for 1.10; an exponent came as text.
        return str(given)
    if "value" in given:
        return str(given["value"])
    return _normal(given, ("type", "mode"))


def _outputs(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _output(given or {}) for name, given in value.items()}


def _output(given: Mapping[str, Any]) -> dict[str, Any]:
    out = _normal(given, ("type", "mode"))
    if "version" in out:
        out["version"] = str(out["version"])
    return out


def _services(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _normal(given, ("type",), ("port",)) for name, given in value.items()}


def _environment(value: str | Mapping[str, Any]) -> str | dict[str, Any]:
    if isinstance(value, str):
        return value
    out = _normal(value, ("os_type",))
    if "inference_config" in out:
        routes = out["inference_config"]
        out["inference_config"] = {key: _normal(routes[key], (), ("port",)) for key in _ROUTES}
    return out


_NORMAL: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("compute", _compute),
    ("distribution", _distribution),
    ("environment", _environment),
    ("identity", _identity),
    ("inputs", _inputs),
    ("limits", _limits),
    ("outputs", _outputs),
    ("queue_settings", _queue),
    ("resources", _resources),
    ("services", _services),
)

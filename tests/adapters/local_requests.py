"""Requests for a workspace that start small shell programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.documents.payload import Payload, RunRequest
from controller.values import RunName


def request(
    run: str = "tiny-1",
    command: str = "true",
    *,
    nodes: int = 1,
    processes: int | None = None,
    timeout: int | None = 120,
    injected: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    record: bytes = b"",
    **fields: Any,
) -> RunRequest:
    """Return a command job as `documents` would; `fields` replace or add to its body."""
    body = {
        "command": command,
        "environment": {"image": "acme.azurecr.io/train@sha256:" + "0" * 64},
        "compute": "gpu-cluster",
        "resources": {"instance_count": nodes},
        **({"limits": {"timeout": timeout}} if timeout else {}),
        **(
            {"distribution": {"type": "pytorch", "process_count_per_instance": processes}}
            if processes
            else {}
        ),
        **fields,
    }
    return RunRequest(
        RunName(run),
        Payload("command", body),
        dict(tags or {}),
        dict(injected or {}),
        record=record,
    )

"""What would be sent to the workspace: canonical, fingerprinted; and the injected block.

The payload is the parsed object that was judged. No file is read again on the way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from controller.values import Digest, Fingerprint, Json, RunName, canonical_json

NAME_LIMIT = 255
"""Characters of a run's name: run history takes one more, `^[a-zA-Z0-9][\\w-]{0,255}$`."""

INJECTED = (
    "ADMIT_RUN",
    "ADMIT_ADMISSION",
    "ADMIT_COMMIT",
    "ADMIT_RECORD",
    "ADMIT_DATASET_DIGEST",
    "ADMIT_IMAGE",
    "ADMIT_MODEL",
    "ADMIT_MLFLOW_TRACKING_URI",
    "ADMIT_RESULTS_URL",
)
"""Every environment variable that the controller adds to a job; none is in the fingerprint."""


@dataclass(frozen=True)
class Payload:
    """The canonical job: kind, immutable body (as Azure ML YAML, as data), code tree, two tags."""

    kind: str
    body: Mapping[str, Json]
    code: Digest | None = None
    rerun: str = ""
    dataset: str = ""

    @property
    def content(self) -> Mapping[str, Json]:
        """All of it, as data."""
        return {
            "body": self.body,
            "code": self.code,
            "dataset": self.dataset,
            "kind": self.kind,
            "rerun": self.rerun,
        }

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """SHA-256 over the canonical JSON of the content."""
        return Fingerprint(hashlib.sha256(canonical_json(self.content)).hexdigest())


def run_name(name: str, fingerprint: Fingerprint, attempt: int = 1) -> RunName:
    """Return the one name under which this payload runs; attempts after the first say so."""
    suffix = f"-a{attempt}" if attempt > 1 else ""
    return RunName(f"{name}-{fingerprint[:12]}{suffix}")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One submission, complete: what a workspace is asked to start, under which name.

    `tags` are the manifest's own and ours; `injected` has keys of `INJECTED` only. `record` is
    the canonical JSON of why it was admissible; its digest is injected.
    """

    run: RunName
    payload: Payload
    tags: Mapping[str, str]
    injected: Mapping[str, str]
    display_name: str = ""
    description: str = ""
    record: bytes = b""

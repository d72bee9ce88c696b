"""One admission record as values: what was written before a submission, read back strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.documents.admission import ID_PATTERN
from controller.documents.payload import Payload
from controller.documents.snapshot import joined
from controller.evidence.recorded import Recorded
from controller.ledger.codec import SCHEMA, MalformedError, from_data
from controller.values import AdmissionId, BlobId, CommitId, Digest, Fingerprint, RepoPath, RunName

DAMAGE = (ValueError, ArithmeticError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading the bytes of others may raise."""
_FINDING = 3
_LONGEST = 1024


@dataclass(frozen=True, slots=True)
class RecordedPayload:
    """The payload as it was recorded; nobody has read its body yet."""

    kind: str
    body: Mapping[str, Any]
    code: Digest | None
    rerun: str
    dataset: str

    @property
    def whole(self) -> Payload:
        """The same as what is submitted."""
        return Payload(self.kind, self.body, self.code, self.rerun, self.dataset)


@dataclass(frozen=True, slots=True)
class AdmissionRecord:
    """Everything that made a run admissible, as `effects.request` wrote it.

    `blobs` are the documents it rests on, `findings` are [rule, outcome, reason].
    """

    run: RunName
    name: str
    fingerprint: Fingerprint
    attempt: int
    admission: AdmissionId
    payload: RecordedPayload
    image: str
    commit: CommitId
    manifest: RepoPath
    blobs: Mapping[str, BlobId]
    evidence: Recorded
    findings: tuple[tuple[str, ...], ...]
    gpu_hours: float
    price: str
    controller: str
    workspace: str
    plan: str
    injected: Mapping[str, str]


def read_admission_record(content: bytes) -> AdmissionRecord:
    """Return what the bytes say, its fingerprint and all. Raises MalformedError for any others."""
    try:
        said = json.loads(content)
        if not isinstance(said, dict) or said.pop("schema", None) != SCHEMA:
            raise MalformedError(f"it is not of schema {SCHEMA}")
        record = from_data(AdmissionRecord, said)
        _ = record.payload.whole.fingerprint
    except MalformedError:
        raise
    except DAMAGE as error:
        raise MalformedError("it is not JSON that could be an admission record") from error
    if any(len(finding) != _FINDING for finding in record.findings):
        raise MalformedError("a finding is not a rule, an outcome and a reason")
    if not _is_path(record.manifest) or not ID_PATTERN.match(record.admission):
        raise MalformedError("its manifest or its admission has a name that no file has")
    return record


def _is_path(path: str) -> bool:
    """Whether git can be asked for a path."""
    return 0 < len(path) <= _LONGEST and path.isprintable() and joined("", path) == path

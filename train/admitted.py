"""The injected block: what the controller says of an admitted run, through the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from train.errors import RefusedError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_BLOCK = {
    "ADMIT_RUN": _NAME,
    "ADMIT_ADMISSION": _NAME,
    "ADMIT_COMMIT": re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}"),
    "ADMIT_RECORD": _DIGEST,
    "ADMIT_DATASET_DIGEST": _DIGEST,
    "ADMIT_IMAGE": re.compile(r"(\S+@)?sha256:[0-9a-f]{64}"),
    "ADMIT_MODEL": _NAME,
}
_URLS = {
    "ADMIT_MLFLOW_TRACKING_URI": ("http", "https", "sqlite"),
    "ADMIT_RESULTS_URL": ("postgresql", "postgresql+psycopg", "postgresql+psycopg2", "sqlite"),
}


@dataclass(frozen=True, slots=True)
class Admitted:
    """The injected block of an admitted run, every value of it checked."""

    run: str
    admission: str
    commit: str
    record: str
    dataset_digest: str
    image: str
    model: str
    mlflow_tracking_uri: str
    results_url: str

    @property
    def lineage(self) -> str:
        """The run's name without its attempt: what a retry after preemption resumes from."""
        return re.sub(r"(-[0-9a-f]{12})-a[0-9]+\Z", r"\1", self.run)


def admitted_from(environ: Mapping[str, str]) -> Admitted:
    """Read the whole block; RefusedError names every variable that is missing, or one wrong one."""
    missing = [name for name in (*_BLOCK, *_URLS) if not environ.get(name)]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise RefusedError(f"this is no admitted run, its environment lacks {names}")
    values = {name: value_from(environ, name) for name in (*_BLOCK, *_URLS)}
    return Admitted(**{name.removeprefix("ADMIT_").lower(): v for name, v in values.items()})


def value_from(environ: Mapping[str, str], name: str) -> str:
    """Return the variable `name` of the block, or "" if it is not set; RefusedError if wrong."""
    value = environ.get(name, "")
    if not value:
        return ""
    if name in _URLS:
        return _url(name, value, _URLS[name])
    if not _BLOCK[name].fullmatch(value):
        raise RefusedError(f"`{name}` is `{value}`, which does not match `{_BLOCK[name].pattern}`")
    return value


def _url(name: str, value: str, schemes: Sequence[str]) -> str:
    scheme, _, rest = value.partition("://")
    if scheme not in schemes or not rest:
        known = ", ".join(f"`{known}://`" for known in schemes)
        raise RefusedError(f"`{name}` must start with one of {known}")
    parts = urlsplit(value)
    user = parts.username if scheme in ("http", "https") else None
    if user or parts.password or "password=" in parts.query.lower():
        raise RefusedError(f"`{name}` contains credentials, which a job is never given")
    return value

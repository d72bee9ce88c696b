"""What runs: one image, named by its digest, from a registry and a repository that are allowed."""

from __future__ import annotations

import re
from functools import lru_cache

from controller.decision.rules.phrases import no_admission
from controller.decision.verdict import Finding, JobCase, Met, undecided, unmet
from controller.documents.kinds.command import Image, RegisteredEnvironment
from controller.values import Location, listed

# The grammar of https://github.com/distribution/reference: a host where the first part has a dot
# or a port or is `localhost`, then lower-case parts.
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::[0-9]+)?|[A-Za-z0-9-]+:[0-9]+|localhost)"
_REPOSITORY = re.compile(rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DOCKER_HUB = "docker.io"
_CACHED = 4096

_PINNED = "`environment: {image: <repository>@sha256:<64 hex digits>}`"


def image_pinned(case: JobCase) -> Finding | Met:
    """The image is `repository@sha256:<64 hex>` and nothing else."""
    manifest = case.manifest
    match manifest.spec.environment:
        case RegisteredEnvironment(reference=reference):
            where = manifest.locate("/environment")
            reason = f"`{reference}` is a registered environment; those are not resolved yet"
            return unmet("image-pinned", reason, where, f"write {_PINNED}")
        case Image(builds=True) | Image(reference=""):
            where = manifest.locate("/environment")
            reason = "the image would be built when the job starts, so nobody knows what runs"
            return unmet("image-pinned", reason, where, f"build and push it once, then {_PINNED}")
        case Image(reference=reference):
            if fault := _fault(reference):
                where = manifest.locate("/environment/image")
                return unmet("image-pinned", fault[0], where, fault[1])
            digest = reference.rpartition("@")[2]
            reason = f"pinned to {digest[:19]}"
            return Met("image-pinned", reason, manifest, "/environment/image")


def image_granted(case: JobCase) -> Finding | Met:
    """The grant names the image's repository, and the policy the registry that it is in."""
    manifest, admission = case.manifest, case.admission
    environment, field = manifest.spec.environment, "/environment/image"
    if isinstance(environment, RegisteredEnvironment) or not environment.reference:
        where = manifest.locate(field)
        reason = "which repository the image comes from is not known"
        return undecided("image-granted", reason, where, "meet `image-pinned`")
    repository, host = _origin(environment.reference)
    if host not in case.policy.registries:
        where = manifest.locate(field)
        reason = f"`{host}` is not one of the policy's registries, {listed(case.policy.registries)}"
        remedy = f"push the image to {listed(case.policy.registries)} and pin it there"
        return unmet("image-granted", reason, where, remedy)
    if admission is None:
        return no_admission("image-granted", manifest.locate(field))
    if repository not in admission.grant.images:
        where = manifest.locate(field)
        return _not_granted(repository, admission.id, admission.grant.images, where)
    return Met("image-granted", f"`{admission.id}` grants `{repository}`", manifest, field)


def _not_granted(repository: str, id_: str, images: tuple[str, ...], where: Location) -> Finding:
    reason = f"`{id_}` grants {listed(images)}, not `{repository}`"
    remedy = f"use one of them, or add `{repository}` to `grant.images` and have that approved"
    return unmet("image-granted", reason, where, remedy)


@lru_cache(_CACHED)
def _fault(reference: str) -> tuple[str, str] | None:
    """Return what keeps a reference from being one set of bytes, and the fix; None for nothing."""
    repository, at, digest = reference.partition("@")
    name, tag = _untagged(repository)
    if not _REPOSITORY.fullmatch(name):
        if _REPOSITORY.fullmatch(name.lower()):
            return f"`{name}` has capitals; repository paths are lower case", (
                f"write `{name.lower()}` if that is its name in the registry"
            )
        return f"`{name}` is not the name of a repository", f"write {_PINNED}"
    if not at:
        return f"`{reference}` is a tag, which can be moved to another image", f"write {_PINNED}"
    if not _DIGEST.fullmatch(digest):
        return f"`{digest}` is not a SHA-256 digest", f"write {_PINNED}"
    if tag:
        return (
            f"`{reference}` has a tag and a digest; only the digest counts, and readers see both",
            f"remove `:{tag}`",
        )
    return None


@lru_cache(_CACHED)
def _origin(reference: str) -> tuple[str, str]:
    """Return the repository, as a grant names it, and the host of its registry."""
    name, _ = _untagged(reference.partition("@")[0])
    first, slash, _ = name.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    return name, first if is_host else _DOCKER_HUB


def _untagged(repository: str) -> tuple[str, str]:
    """Split off the tag: what follows a colon in the last part; a port is in the first."""
    name, colon, tag = repository.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (repository, "")

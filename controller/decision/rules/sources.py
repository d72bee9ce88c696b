"""What goes in and comes out: data by version, code that was reviewed, no assets on the side."""

from __future__ import annotations

import re

from controller.decision.rules.phrases import counted
from controller.decision.verdict import Finding, JobCase, Met, unmet
from controller.documents.kinds.command import DataInput
from controller.documents.snapshot import SUBMODULE, SYMLINK, joined
from controller.values import listed

MAX_FILES = 2000
"""Files of a code folder. Sizes are not known here; a folder of more is not source."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_ASSET = re.compile(
    rf"azureml:(?:{_NAME}:"
    rf"|//registries/{_NAME}/(?:data|models)/{_NAME}/versions/"
    rf"|/{{0,2}}subscriptions/[^/]+/resource[gG]roups/[^/]+/(?:providers/[^/]+/)?workspaces/[^/]+"
    rf"/(?:data|models)/{_NAME}/versions/)({_NAME})"
)
"""A data or model asset at one version: short, of a registry, or of a workspace by its full id."""
_DATASTORE = re.compile(r"azureml:/{0,2}(?:subscriptions/.+/)?datastores/")
_PLACE = re.compile(r"(?:https|wasbs?|abfss?|adl):")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def inputs_pinned(case: JobCase) -> Finding | Met:
    """Every data input is an asset at one version, or the one thing that `tags.dataset` digests."""
    manifest = case.manifest
    mutable: list[str] = []
    assets = 0
    for key, source in manifest.spec.inputs.items():
        if not isinstance(source, DataInput):
            continue
        if _is_version(source.path):
            assets += 1
        elif _DATASTORE.match(source.path) or _PLACE.match(source.path):
            mutable.append(key)
        elif fault := _unversioned(case, source.path):
            return _unpinned(case, key, fault)
    if mutable:
        return _mutable(case, mutable)
    reason = f"{counted(assets, 'data asset')} by version"
    return Met("inputs-pinned", reason, manifest, "/inputs")


def _is_version(path: str) -> bool:
    asset = _ASSET.fullmatch(path)
    return asset is not None and asset[1].lower() != "latest"


def _mutable(case: JobCase, keys: list[str]) -> Finding | Met:
    if len(keys) > 1:
        return _unpinned(case, keys[1], "can change, and `tags.dataset` digests one input only")
    if not _DIGEST.fullmatch(case.manifest.payload.dataset):
        return _unpinned(case, keys[0], "is a place whose contents can change")
    reason = f"`tags.dataset` has the digest of input `{keys[0]}`"
    return Met("inputs-pinned", reason, case.manifest, "/tags/dataset")


def _unpinned(case: JobCase, key: str, fault: str) -> Finding:
    where = case.manifest.locate(f"/inputs/{key}/path")
    remedy = (
        "write `azureml:<name>:<version>`, or give the contents' digest as "
        "`tags: {dataset: sha256:<64 hex digits>}`"
    )
    return unmet("inputs-pinned", f"input `{key}` {fault}", where, remedy)


def _unversioned(case: JobCase, path: str) -> str:
    """Return what is wrong with an input that is neither an asset's version nor a URL of data."""
    if path.startswith("azureml:"):
        return "names no version of an asset"
    if _URL.match(path):
        return "is neither an asset nor a URL of Azure storage"
    if case.policy.code == "image":
        return "is a local path, and the policy has `code: image`"
    place = joined(_folder(case), path)
    if not place or not case.catalog.snapshot.exists(place):
        return "is no file or folder of this repository"
    return _unsound(case, place)


def no_asset_registration(case: JobCase) -> Finding | Met:
    """No output registers a data asset by a name, or is written over one that others pinned."""
    manifest = case.manifest
    for key, output in manifest.spec.outputs.items():
        if output.name or output.version:
            where = manifest.locate(f"/outputs/{key}/name")
            reason = f"output `{key}` would register a data asset when the job ends"
            remedy = "remove its `name` and `version`; a `path` keeps the files"
            return unmet("no-asset-registration", reason, where, remedy)
        if _names_an_asset(output.path):
            where = manifest.locate(f"/outputs/{key}/path")
            reason = (
                f"output `{key}` would be written over a data asset that others may have pinned"
            )
            remedy = "write `azureml://datastores/<name>/paths/<path>`"
            return unmet("no-asset-registration", reason, where, remedy)
    return Met("no-asset-registration", "no output registers an asset", manifest, "/outputs")


def _names_an_asset(path: str) -> bool:
    short = path.startswith("azureml:") and not path.startswith("azureml://")
    return short or _ASSET.fullmatch(path) is not None


def code_contained(case: JobCase) -> Finding | Met:
    """The code is in the image, or where the policy allows it, a small folder of this commit."""
    manifest, policy = case.manifest, case.policy
    code = manifest.spec.code
    if not code:
        return Met("code-contained", "no code beside what is in the image", manifest, "/code")
    where = manifest.locate("/code")
    if _URL.match(code) or code.startswith("git@"):
        reason = "`code` comes from elsewhere, so this commit does not say what runs"
        return unmet("code-contained", reason, where, "bake it into the image and remove `code`")
    if policy.code == "image":
        reason = "the policy has `code: image`: code is in the image, whose digest is approved"
        return unmet("code-contained", reason, where, "bake it into the image and remove `code`")
    place = joined(_folder(case), code)
    if fault := _misplaced(case, place):
        reason = f"`code` {fault}"
        remedy = f"keep the code in a folder of its own with at most {MAX_FILES} plain files"
        return unmet("code-contained", reason, where, remedy)
    return Met("code-contained", f"`{place}` of this commit", manifest, "/code")


def _misplaced(case: JobCase, place: str | None) -> str:
    if place is None:
        return "leaves the repository"
    if place == "":
        return "is the whole repository"
    if not case.catalog.snapshot.exists(place):
        return f"is `{place}`, which is not in this commit"
    return _unsound(case, place)


def _unsound(case: JobCase, place: str) -> str:
    """Return what below `place` is not a plain file of this commit, or that there is too much."""
    found = case.index.below(place)
    if len(found) > MAX_FILES:
        return f"has {len(found)} files, more than {MAX_FILES}"
    files = case.catalog.snapshot.files
    for mode, word in ((SYMLINK, "symbolic link"), (SUBMODULE, "submodule")):
        if links := [path for path in found if files[path].mode == mode]:
            return f"has the {word} {listed(links[:1])}, whose contents are elsewhere"
    return ""


def _folder(case: JobCase) -> str:
    return case.manifest.path.rpartition("/")[0]

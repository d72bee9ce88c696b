"""The edges into git: the commit is main's, and its documents are those that were recorded."""

from __future__ import annotations

from functools import partial

from controller.documents.catalog import Catalog
from controller.evidence.facts import Unavailable
from controller.verifying.chain import Chain, Link, Word, broken, held, known, short


def main(chain: Chain) -> Link:
    """The recorded commit is on main's first-parent line, and comes after the trusted root."""
    if isinstance(chain.trust, Unavailable):
        return broken(chain.trust.why)
    commit, trust, line = chain.said.commit, chain.trust.value, known(chain.line)
    if not line.exists:
        return broken(f"this clone has no commit `{commit[:40]}`; if it is behind, `git fetch`")
    if not line.on_main:
        return broken(
            f"{short(commit)} is not on the first-parent line of main, {short(line.main)}"
        )
    if not line.after_root:
        root = short(trust.root)
        return broken(f"{short(commit)} does not come after {root}, which the ledger trusts")
    where = f"on the first-parent line of main, {short(line.main)}"
    return held(f"{short(commit)} is {where}, after the trusted root {short(trust.root)}")


def document(word: Word, chain: Chain) -> Link:
    """The recorded blob of a document is what the commit has there, and says the same."""
    catalog, commit = known(chain.catalog), short(chain.said.commit)
    if word == "CODEOWNERS" and catalog.owners is None:
        return broken(f"{commit} has no CODEOWNERS")
    path = chain.path_of(word)
    blob, wanted = catalog.snapshot.files.get(path), chain.said.blobs.get(path, "")
    if not wanted:
        return broken(f"the admission record has no blob of `{path}`")
    if blob is None or blob.sha != wanted:
        found = f"as {short(blob.sha)}" if blob else "not at all"
        return broken(f"{commit} has `{path}` {found}, and the record says {short(wanted)}")
    if problems := catalog.broken.get(path):
        return broken(f"`{problems[0].where}` is not sound: {problems[0].message}")
    if fault := _says(word, chain, catalog):
        return broken(fault)
    return held(f"`{path}` in {commit} is blob {short(wanted)}{_more(word, chain)}")


def _says(word: Word, chain: Chain, catalog: Catalog) -> str:
    """Return how what a document says differs from the record, or ''."""
    said = chain.said
    match word:
        case "manifest":
            return _manifest(chain, catalog)
        case "admission":
            admission = catalog.admissions.get(said.admission)
            told = said.injected.get("ADMIT_MODEL", "")
            if admission is None:
                return f"`{chain.path_of(word)}` is not the admission `{said.admission}`"
            if admission.model != told:
                return f"it admits the model `{admission.model}`, and the job was told `{told}`"
            return ""
        case "policy":
            return "" if catalog.policy else "there is no policy that can be read"
        case "CODEOWNERS":
            return ""


def _manifest(chain: Chain, catalog: Catalog) -> str:
    said = chain.said
    manifest = catalog.manifests.get(said.manifest)
    if manifest is None:
        return f"`{said.manifest}` is not a job of its own"
    found = manifest.payload.fingerprint
    if found != said.fingerprint:
        return (
            f"`{said.manifest}` in {short(said.commit)} has the fingerprint {short(found)}, "
            f"and the run {short(said.fingerprint)}"
        )
    if (manifest.name, manifest.admission) != (said.name, said.admission):
        return (
            f"it is `{manifest.name}` for `{manifest.admission}`, "
            f"and the record says `{said.name}` for `{said.admission}`"
        )
    return ""


def _more(word: Word, chain: Chain) -> str:
    match word:
        case "manifest":
            return f", of the fingerprint {short(chain.said.fingerprint)}"
        case "admission":
            return f", for the model `{chain.said.injected.get('ADMIT_MODEL', '')}`"
        case _:
            return ""


manifest = partial(document, "manifest")
admission = partial(document, "admission")
policy = partial(document, "policy")
owners = partial(document, "CODEOWNERS")

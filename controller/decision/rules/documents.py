"""Which documents belong together: the admission of a job, and the job's own name."""

from __future__ import annotations

from controller.decision.rules.phrases import no_admission
from controller.decision.verdict import Finding, JobCase, Met, undecided, unmet
from controller.documents.payload import NAME_LIMIT
from controller.values import RepoPath, listed, nearest

_FINGERPRINT = 12
"""Hex digits of the fingerprint in a run's name."""


def admission_exists(case: JobCase) -> Finding | Met:
    """`tags.admission` names an admission that is there and sound."""
    manifest, admission = case.manifest, case.admission
    if admission is not None:
        reason = f"admitted by `{admission.path}`: {admission.title}"
        return Met("admission-exists", reason, manifest, "/tags/admission")
    where, named = manifest.locate("/tags/admission"), manifest.admission
    if not named:
        remedy = "write `tags: {admission: <id>}` and `admissions/<id>.md`, which says why"
        return unmet("admission-exists", "it names no admission", where, remedy)
    path = RepoPath(f"admissions/{named}.md")
    if problems := case.catalog.broken.get(path):
        reason = f"`{problems[0].where}` is broken: {problems[0].message}"
        return unmet("admission-exists", reason, where, problems[0].remedy)
    near = nearest(named, case.catalog.admissions)
    remedy = f"did you mean `{near}`? Otherwise write `{path}`" if near else f"write `{path}`"
    return unmet("admission-exists", f"there is no admission `{named}`", where, remedy)


def job_granted(case: JobCase) -> Finding | Met:
    """The manifest's path is one that the grant names."""
    path, admission = case.manifest.path, case.admission
    if admission is None:
        return no_admission("job-granted", case.manifest.locate("/tags/admission"))
    if admission.grant.allows_job(path):
        return Met("job-granted", f"`{admission.id}` grants `{path}`", admission, "/grant/jobs")
    where, patterns = admission.locate("/grant/jobs"), listed(admission.grant.jobs)
    reason = f"`{admission.id}` grants {patterns}, which `{path}` does not match"
    remedy = f"move the manifest, or add `{path}` to `grant.jobs` and have that approved"
    return unmet("job-granted", reason, where, remedy)


def name_set(case: JobCase) -> Finding | Met:
    """The job has a name of its own; without one Azure ML makes up another at every submission."""
    manifest = case.manifest
    if manifest.name:
        return Met("name-set", f"named `{manifest.name}`", manifest, "/name")
    where = manifest.locate("/name")
    stem = manifest.path.rpartition("/")[2].partition(".")[0]
    reason = "it has no name, and Azure ML would make up another at every submission"
    return unmet("name-set", reason, where, f"add a name, for example `name: {stem}`")


def name_unique(case: JobCase) -> Finding | Met:
    """No other manifest has the name, and the run's whole name is not too long."""
    manifest = case.manifest
    name = manifest.name
    if not name:
        where = manifest.locate("/name")
        return undecided("name-unique", "it has no name to compare", where, "meet `name-set`")
    named = case.index.namesakes.get(name, ())
    if len(named) > 1:
        where = manifest.locate("/name")
        others = [other for other in named if other != manifest.path]
        reason = f"`{name}` is also the name of {listed(others)}"
        return unmet("name-unique", reason, where, "give each manifest a name of its own")
    attempts = 1 + (case.admission.grant.retries if case.admission else 0)
    suffix = 1 + _FINGERPRINT + len(f"-a{attempts}")
    if len(name) + suffix > NAME_LIMIT:
        where = manifest.locate("/name")
        reason = f"{len(name)} characters and {suffix} of suffix are more than {NAME_LIMIT}"
        remedy = f"shorten the name to {NAME_LIMIT - suffix} characters"
        return unmet("name-unique", reason, where, remedy)
    return Met("name-unique", f"no other manifest is named `{name}`", manifest, "/name")

"""What a word of the command line means: a job, an admission or a run."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from controller.documents.snapshot import joined
from controller.errors import UsageError
from controller.evidence.gather import admission_path
from controller.explain.moment import Moment
from controller.explain.papers import attempts_of
from controller.ledger.records import RunRecord
from controller.values import AdmissionId, RepoPath, listed

_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Job:
    """A manifest on main, whole or broken, or one that only the ledger knows any more."""

    path: RepoPath
    name: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """An admission on main, whole or broken, or one that only the ledger knows any more."""

    id: AdmissionId


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt of a recorded run."""

    run: str
    record: RunRecord


Subject = Job | Grant | Run


def subjects_of(word: str, moment: Moment) -> tuple[Subject, ...]:
    """Return everything that `word` names: jobs before admissions before runs.

    Raises UsageError, with the nearest names, for what names nothing.
    """
    path = joined("", word) or word  # `./jobs/x.yml` is the file that it looks like
    known = dict.fromkeys((name, subject) for name, subject in _named(moment))
    found = dict.fromkeys(subject for name, subject in known if name in (word, path))
    if found:
        return tuple(found)
    near = difflib.get_close_matches(word, {name for name, _ in known if name}, _NEAREST, 0.5)
    raise UsageError(
        f"`{word}` is no job, admission or run that main {moment.main[:12]} or the ledger knows",
        remedy=f"did you mean {listed(near)}?" if near else "`admit status` names all that ran",
    )


def _named(moment: Moment) -> Iterator[tuple[str, Subject]]:
    """Yield every name and what it stands for; '' names nothing."""
    yield from _jobs(moment)
    catalog, book = moment.catalog, moment.book
    admissions = {
        *catalog.admissions,
        *book.accounts,
        *(r.admission for r in book.records.values()),
    }
    for path in catalog.broken:
        if path.startswith("admissions/") and path.endswith(".md"):
            admissions.add(AdmissionId(path.removeprefix("admissions/").removesuffix(".md")))
    for id_ in sorted(admissions):
        yield from ((id_, Grant(id_)), (admission_path(id_), Grant(id_)))
    for record in book.records.values():
        for _, _, run in attempts_of(record):
            yield run, Run(run, record)


def _jobs(moment: Moment) -> Iterator[tuple[str, Job]]:
    catalog, book = moment.catalog, moment.book
    here = {path: manifest.name for path, manifest in catalog.manifests.items()}
    here |= dict.fromkeys((p for p in catalog.broken if p.startswith("jobs/")), "")
    for path in sorted(here):
        yield from ((path, Job(path, here[path])), (here[path], Job(path, here[path])))
    names = set(here.values())
    for record in book.records.values():
        if record.path not in here and record.name not in names:
            job = Job(record.path, record.name)
            yield from ((record.path, job), (record.name, job))
    for subject in book.decisions:
        if subject.startswith("jobs/") and subject not in here:
            yield subject, Job(RepoPath(subject))

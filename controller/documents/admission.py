"""One admission: `admissions/<id>.md`, front matter (the grant, the claim) and a justification."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from controller.documents.markdown import Section, halves, sections
from controller.documents.patterns import glob
from controller.documents.positions import located
from controller.documents.scalars import Doubt, resolve
from controller.documents.shape import shape_problems
from controller.documents.snapshot import EXECUTABLE, REGULAR, Blob
from controller.documents.yaml import Dialect, Document, read_yaml
from controller.values import AdmissionId, BlobId, Location, Problem, RepoPath, by_place, nearest

SECTIONS = (
    "Why one node is not enough",
    "What was measured",
    "Alternatives considered",
    "Cost and stop condition",
)
"""The level-2 headings of a justification, each of them once, in any order."""
MINIMUM_WORDS = 20
"""Visible words that each section must have, by the rule of `markdown.count_words`."""

ID_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_MEASURES = ("parameters", "hours", "deadline_hours", "activation_gib", "peak_gib")
_DIALECT = Dialect(
    dates=frozenset({"/expires"}),
    exponents=frozenset({"/grant/gpu_hours", *(f"/evidence/{name}" for name in _MEASURES)}),
)


@dataclass(frozen=True, slots=True)
class Grant:
    """What an admission allows. Patterns of `jobs`: `*` stops at a slash, `**` does not."""

    kinds: tuple[str, ...]
    jobs: tuple[str, ...]
    images: tuple[str, ...]
    compute: tuple[str, ...]
    max_nodes: int
    gpu_hours: float
    retries: int = 0
    on_expiry: Literal["finish", "cancel"] = "finish"
    infra: tuple[str, ...] = ()

    def allows_job(self, path: RepoPath) -> bool:
        """Whether one of the patterns of `jobs` matches `path`."""
        return any(glob(pattern).match(path) for pattern in self.jobs)


@dataclass(frozen=True, slots=True)
class TooSlow:
    """The claim that the baseline misses the deadline. Hours are of wall clock."""

    run: str
    """MLflow's run id of the measured single-node run (from `runs:/<id>`)."""
    hours: float
    deadline_hours: float


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The claim that the baseline's memory is too small. `run` may be ''."""

    run: str
    parameters: float
    precision: str
    optimizer: str
    activation_gib: float
    peak_gib: float


Claim = TooSlow | OutOfMemory


@dataclass(frozen=True, slots=True)
class Admission:
    """A sound admission. `expires` is the last UTC day on which a run may start."""

    path: RepoPath
    blob: BlobId
    id: AdmissionId
    title: str
    owner: str
    model: str
    expires: date
    grant: Grant
    claim: Claim
    words: Mapping[str, int]
    """Visible words of each section of the justification, by heading."""
    positions: Mapping[str, int]

    def locate(self, pointer: str) -> Location:
        """Return the place of a front matter field (a JSON pointer)."""
        return located(self.positions, self.path, pointer)


def read_admission(path: RepoPath, blob: Blob) -> Admission | tuple[Problem, ...]:
    """Return what the file grants, or everything that is wrong with it. Nothing is raised."""
    if (problem := mode_problem(path, blob.mode, "admission")) is not None:
        return (problem,)
    parts = halves(blob.content or b"", path)
    if isinstance(parts, Problem):
        return (parts,)
    document = _with_numbers(read_yaml(parts.front, path, _DIALECT, first_line=2))
    problems = [*document.problems, *shape_problems(document, "admission")]
    problems += _own_problems(document)
    found, unseen = sections(parts.body, path, parts.body_line)
    problems += unseen
    if found is not None:
        problems += _justification(found, Location(path, parts.body_line - 1))
    if problems:
        return by_place(problems)
    words = {title: _words(found or (), title) for title in SECTIONS}
    return _admission(document, blob.sha, words)


def mode_problem(path: RepoPath, mode: str, what: str) -> Problem | None:
    """Return why nobody can approve a document of that mode, or None. `what` is its name."""
    if mode == REGULAR:
        return None
    message = f"the {what} has the mode {mode}, so that it is not a plain file"
    remedy = "replace it by the file itself; a link can change what was approved"
    if mode == EXECUTABLE:
        message = f"the {what} is executable (mode {mode}), so that nobody can approve it"
        remedy = f"run `chmod -x {path}`, or `git update-index --chmod=-x {path}`"
    return Problem("not-a-file", Location(path), message, remedy)


def _with_numbers(document: Document) -> Document:
    """Return `document` with numbers where a number is meant and an exponent is written."""
    top: Any = document.data
    if not isinstance(top, dict):
        return document
    data = dict(top)
    for pointer in _DIALECT.exponents:
        _, parent, name = pointer.split("/")
        inner = data.get(parent)
        if isinstance(inner, dict) and isinstance(text := inner.get(name), str):
            doubt = resolve(text)
            if isinstance(doubt, Doubt) and doubt.kind == "exponent":
                data[parent] = {**inner, name: float(text)}
    return replace(document, data=data)


def _own_problems(document: Document) -> Iterator[Problem]:
    """Yield what the schema cannot say: the id is the file's name, the day is in the calendar."""
    data: Any = document.data if isinstance(document.data, dict) else {}
    name = posixpath.basename(document.path).removesuffix(".md")
    written = data.get("admission")
    if isinstance(written, str) and ID_PATTERN.match(written) and written != name:
        message = f"`admission` is `{written}`, but the file is `{document.path}`"
        remedy = f"rename the file to `{written}.md`"
        if ID_PATTERN.match(name):
            remedy = f"write `admission: {name}`, or {remedy}"
        yield Problem("bad-name", document.locate("/admission"), message, remedy)
    yield from day_problems(document, "/expires", data.get("expires"))


def day_problems(document: Document, pointer: str, written: object) -> Iterator[Problem]:
    """Yield a problem if `written` has the form of a day and is none, such as 2024-02-30."""
    if isinstance(written, str) and _DAY.match(written):
        try:
            date.fromisoformat(written)
        except ValueError:
            message = f"`{pointer[1:].replace('/', '.')}` is `{written}`, which is no day"
            remedy = "write a day of the calendar as YYYY-MM-DD"
            yield Problem("bad-value", document.locate(pointer), message, remedy)


def _justification(found: tuple[Section, ...], start: Location) -> Iterator[Problem]:
    """Yield which of the four sections are missing, there twice, or too thin."""
    seconds = [section for section in found if section.level == 2]
    titles = [_plain(section.title) for section in seconds]
    strays = [s for s in found if _plain(s.title) not in map(_plain, SECTIONS) or s.level != 2]
    for title in SECTIONS:
        times = [s for s, plain in zip(seconds, titles, strict=True) if plain == _plain(title)]
        for again in times[1:]:
            where = replace(start, line=again.line, column=1)
            message = f"`{title}` is there twice: on line {times[0].line} and on line {again.line}"
            yield Problem("duplicate-section", where, message, "make one section of the two")
        if not times:
            yield _missing(title, strays, start)
        elif (words := _words(found, title)) < MINIMUM_WORDS:
            where = replace(start, line=times[0].line, column=1)
            message = f"`{title}` has {words} visible words; {MINIMUM_WORDS} is the least"
            remedy = "say more in prose; code, headings, HTML and what it encloses do not count"
            yield Problem("thin-section", where, message, remedy)


def _missing(title: str, strays: list[Section], start: Location) -> Problem:
    """Return the problem of a missing section, at the heading that was probably meant for it."""
    near = nearest(_plain(title), {_plain(stray.title) for stray in strays})
    message = f"the justification has no section `{title}`"
    if near is None:
        remedy = f"add the line `## {title}` and at least {MINIMUM_WORDS} words below it"
        return Problem("missing-section", start, message, remedy)
    meant = next(stray for stray in strays if _plain(stray.title) == near)
    where = replace(start, line=meant.line, column=1)
    return Problem("missing-section", where, message, f"make this heading `## {title}`")


def _words(found: tuple[Section, ...], title: str) -> int:
    """Return the visible words from the first section of that title to the next of its level."""
    inside = False
    words = 0
    for section in found:
        if section.level <= 2:
            if inside:
                break
            inside = section.level == 2 and _plain(section.title) == _plain(title)
        words += section.words if inside else 0
    return words


def _plain(title: str) -> str:
    return title.casefold()


def _admission(document: Document, blob: BlobId, words: Mapping[str, int]) -> Admission:
    """Return the admission that a document of the right shape says."""
    fields: Any = document.data
    return Admission(
        path=document.path,
        blob=blob,
        id=AdmissionId(fields["admission"]),
        title=fields["title"],
        owner=fields["owner"],
        model=fields["model"],
        expires=date.fromisoformat(fields["expires"]),
        grant=_grant(fields["grant"]),
        claim=_claim(fields["evidence"]),
        words=words,
        positions=document.positions,
    )


def _grant(fields: Any) -> Grant:
    return Grant(
        kinds=tuple(fields["kinds"]),
        jobs=tuple(fields["jobs"]),
        images=tuple(fields["images"]),
        compute=tuple(fields["compute"]),
        max_nodes=int(fields["max_nodes"]),
        gpu_hours=float(fields["gpu_hours"]),
        retries=int(fields.get("retries", 0)),
        on_expiry=fields.get("on_expiry", "finish"),
        infra=tuple(fields.get("infra", ())),
    )


def _claim(fields: Any) -> Claim:
    run = fields.get("run", "").removeprefix("runs:/")
    if fields["outcome"] == "too_slow":
        return TooSlow(run, float(fields["hours"]), float(fields["deadline_hours"]))
    return OutOfMemory(
        run=run,
        parameters=float(fields["parameters"]),
        precision=fields["precision"],
        optimizer=fields["optimizer"],
        activation_gib=float(fields["activation_gib"]),
        peak_gib=float(fields["peak_gib"]),
    )

"""What is to be verified: a run by its name, or a model version, as the ledger knows it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from controller.documents.payload import run_name
from controller.errors import UsageError
from controller.ledger.book import RECORDS, RUNS, run_file
from controller.ledger.codec import MalformedError, decoded
from controller.ledger.records import RunRecord
from controller.values import RunName, listed
from controller.verifying.admission_record import DAMAGE

_MODEL = re.compile(r"models:/([^/@\s]+)/([^/@\s]+)\Z")
_RUN = re.compile(r"(.+-[0-9a-f]{12})(?:-a([2-9]|[1-9][0-9]{1,5}))?\Z")
_NEAR = 3

Files = Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Named:
    """A name of a run taken apart: the name of its first attempt, and which attempt it is."""

    run: RunName
    first: str
    number: int

    @property
    def file(self) -> str:
        """Where the ledger keeps its record."""
        return f"{RUNS}{self.first}.json"


def named(run: str) -> Named | None:
    """Return a run's name taken apart; None for what cannot be one."""
    if (match := _RUN.match(run)) is None:
        return None
    return Named(RunName(run), match[1], int(match[2] or 1))


def model_named(subject: str) -> tuple[str, str] | None:
    """Return the name and version that `models:/<name>/<version>` says; None for anything else.

    Raises UsageError for one without a version.
    """
    if not subject.startswith("models:"):
        return None
    if (match := _MODEL.match(subject)) is None:
        raise UsageError(
            f"`{subject}` is not a model version", remedy="write `models:/<name>/<version>`"
        )
    return match[1], match[2]


def read_record(path: str, files: Files) -> RunRecord:
    """Return the record of a run. Raises MalformedError, also for one that could not be counted."""
    content = files.get(path)
    if content is None:
        what = "is not a file that can be read" if path in files else "is not there"
        raise MalformedError(f"`{path}` of the ledger {what}")
    try:
        record = decoded(RunRecord, content)
        counted = [
            (g.bound, g.spent, g.nodes * g.gpus_per_node + 0.0, g.attempts[0].number)
            for g in record.generations
        ]
    except MalformedError as error:
        raise MalformedError(f"`{path}` of the ledger is damaged: {error}") from error
    except DAMAGE as error:
        raise MalformedError(f"`{path}` of the ledger is damaged") from error
    if not counted or run_file(record) != path:
        raise MalformedError(f"`{path}` of the ledger is not the record of that run")
    return record


def made(files: Files) -> Iterator[tuple[tuple[str, str], RunName]]:
    """Yield each model version that the ledger has as what came of a run, and that run."""
    for path in sorted(files):
        if not path.startswith(RUNS):
            continue
        try:
            record = read_record(path, files)
        except MalformedError:
            continue  # whoever asks about that run is told
        closed = record.last.closed
        if closed is not None and closed.outcome is not None and closed.outcome.model:
            yield (closed.outcome.model, closed.outcome.version), record.run


def is_there(name: Named, files: Files) -> bool:
    """Whether the ledger knows a run: by its record, or by an admission record of the attempt."""
    if any(path.startswith(f"{RECORDS}{name.run}/") for path in files):
        return True
    try:
        record = read_record(name.file, files)
    except MalformedError:
        return name.file in files
    return name.number in [attempt.number for attempt in record.last.attempts]


def unknown(subject: str, files: Files, *, online: bool) -> UsageError:
    """Return the refusal of a subject that nobody knows, with the names nearest to it."""
    if subject.startswith("models:"):
        known: Iterable[str] = {f"models:/{name}/{version}" for (name, version), _ in made(files)}
        by = "MLflow and the ledger" if online else "the ledger"
        message = f"no run made `{subject}` as far as {by} can tell"
        other = "verify its run by name" if online else "`--online` asks MLflow too"
    else:
        known = {_run_in(path) for path in files if path.startswith((RUNS, RECORDS))}
        message = f"the ledger has no run `{subject}`"
        other = "`admit status` lists the runs"
    near = difflib.get_close_matches(subject, sorted(known), n=_NEAR, cutoff=0.5)
    remedy = f"did you mean {listed(near)}? Otherwise {other}" if near else other
    return UsageError(message, remedy=remedy)


def _run_in(path: str) -> str:
    return path.split("/")[1].removesuffix(".json")


def name_of(record: RunRecord, number: int) -> RunName:
    """Return the name of one attempt."""
    return run_name(record.name, record.fingerprint, number)

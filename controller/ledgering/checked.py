"""Checking the ledger, from where it was found sound before or from its first commit."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from controller.errors import CannotRunError
from controller.ledger.audit import RULES, Audited, audit
from controller.ledger.audit_trail import trail_at
from controller.ledger.book import DamagedLedgerError, wanted
from controller.ledger.store import MissingLedgerError, Step
from controller.values import CommitId
from controller.wiring import World


@dataclass(frozen=True, slots=True)
class Remembered:
    """The head that was found sound in this clone, after how many commits, by which rules."""

    head: CommitId
    commits: int
    rules: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of the ledger at `place`.

    `since` is where the walk began (None: at the first commit). `rewritten` is the head that was
    sound here before and is not on the branch any more; `memory` the file that keeps it.
    """

    place: str
    found: Audited
    since: CommitId | None
    rewritten: CommitId | None
    memory: Path

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.found.broken is None and self.rewritten is None


def fsck(
    world: World, *, everything: bool = False, seen: Callable[[], object] = lambda: None
) -> Checked:
    """Check the ledger; `seen` is called for every commit. Raises MissingLedgerError.

    What is sound is remembered in the git directory, and the next time only what follows it is
    walked, unless `everything` is asked for. What is not sound from there is looked at from the
    first commit, which is what counts.
    """
    memory = memory_of(world)
    known = _remembered(memory)
    after = _after(world, known.head) if known else None
    rewritten = known.head if known and after is None else None
    if known and after is not None and known.rules == RULES and not everything:
        found = _from_there(world, known, _counted(after, seen))
        if found is not None and found.broken is None:
            _remember(memory, found)
            return Checked(world.ledger.place, found, known.head, None, memory)
    found = audit(_counted(world.ledger.steps(), seen))
    if found.broken is None and rewritten is None:
        _remember(memory, found)
    return Checked(world.ledger.place, found, None, rewritten, memory)


def memory_of(world: World) -> Path:
    """Return the file that remembers the sound head of this ledger. It may be deleted."""
    digest = hashlib.sha256(world.ledger.place.encode("utf-8", "surrogateescape")).hexdigest()
    return world.git.private_path(f"admit/ledger-{digest[:12]}.json")


def _after(world: World, head: CommitId) -> Iterator[Step] | None:
    """Return the commits after `head`; None where it is not on the branch any more."""
    try:
        return world.ledger.steps(head)
    except MissingLedgerError:
        raise
    except CannotRunError:
        return None


def _from_there(world: World, known: Remembered, steps: Iterable[Step]) -> Audited | None:
    """Return what a walk from the remembered head finds; None where that cannot be read."""
    try:
        trail = trail_at(world.ledger.read(wanted, known.head), known.commits)
    except DamagedLedgerError:
        return None
    if missing := trail.ungrounded():
        trail.ground(world.ledger.read(lambda path: path in missing, known.head))
    return audit(steps, trail)


def _counted(steps: Iterable[Step], seen: Callable[[], object]) -> Iterator[Step]:
    for step in steps:
        seen()
        yield step


def _remembered(memory: Path) -> Remembered | None:
    """Return what is remembered; nothing, where it is not what `_remember` writes."""
    try:
        said = json.loads(memory.read_bytes())
        head, commits, rules = said["head"], said["commits"], said["rules"]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None
    if not (isinstance(head, str) and isinstance(commits, int) and isinstance(rules, int)):
        return None
    return Remembered(CommitId(head), commits, rules)


def _remember(memory: Path, found: Audited) -> None:
    """Remember what is sound; where that cannot be written, the next check walks more."""
    said = {"head": found.head, "commits": found.totals.commits, "rules": RULES}
    with suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=memory.parent, delete=False) as file:
            file.write(json.dumps(said) + "\n")
        Path(file.name).replace(memory)

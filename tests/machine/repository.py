"""Main, its approvals, a ledger, a workspace and a clock, all in memory, for passes to run over."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from controller.documents.payload import RunRequest
from controller.documents.snapshot import REGULAR, Blob, Snapshot
from controller.effects.request import Surroundings
from controller.errors import UnavailableError
from controller.evidence.facts import Answer, Approval, Approver, Introduction, Known, Version
from controller.ledger.book import read_book, wanted
from controller.ledger.draft import begun
from controller.values import BlobId, CommitId, RepoPath, RunName, sha256
from tests.builders import NOW
from tests.cli.conftest import ADMISSION, JOB, POLICY
from tests.fake_ledger import MemoryLedger
from tests.fakes import FakeWorkspace

OWNERS = "* @ada @lin\n"
Files = Mapping[RepoPath, bytes]


class FakeMain:
    """The first-parent line of main: each commit has all its files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.root = Path("/nowhere")
        self._line: list[tuple[CommitId, Files]] = []
        self.commit(files)

    @property
    def files(self) -> Files:
        return self._line[-1][1]

    def commit(self, changes: Mapping[str, str | None]) -> CommitId:
        """Add a commit that writes, or removes (None), some files."""
        files = dict(self._line[-1][1]) if self._line else {}
        for path, text in changes.items():
            if text is None:
                files.pop(RepoPath(path), None)
            else:
                files[RepoPath(path)] = text.encode()
        commit = CommitId(hashlib.sha1(f"{len(self._line)}".encode()).hexdigest())
        self._line.append((commit, files))
        return commit

    def rewrite(self) -> None:
        """Replace the last commit by another."""
        _, files = self._line.pop()
        self._line.append((CommitId("f" * 40), files))

    def resolve(self, rev: str) -> CommitId:
        return CommitId(rev)

    def default_base(self) -> CommitId:
        return self._line[-1][0]

    def on_line(self, at: CommitId, commit: CommitId) -> bool:
        order = [known for known, _ in self._line]
        return commit in order and order.index(commit) <= order.index(at)

    def snapshot(
        self, rev: str, wanted: Callable[[str], bool], have: Container[BlobId] = ()
    ) -> Snapshot:
        files = dict(self._line)[CommitId(rev)]
        return Snapshot.of(CommitId(rev), {path: _blob(content) for path, content in files.items()})

    def arrivals(self, path: RepoPath, at: CommitId) -> Iterator[tuple[CommitId, bytes | None]]:
        """Yield each version of a path up to a commit, newest first; None: it was removed."""
        before: bytes | None = None
        found = []
        for commit, files in self._line:
            if files.get(path) != before or (not found and path in files):
                before = files.get(path)
                found.append((commit, before))
            if commit == at:
                break
        return reversed(found)

    def introductions(
        self, paths: Iterable[RepoPath], at: CommitId, root: CommitId | None = None
    ) -> dict[RepoPath, Introduction]:
        return {
            path: Introduction(last[0], NOW, (path,))
            for path in paths
            if (last := next(iter(self.arrivals(path, at)), None)) is not None
        }


class FakeHost:
    """A host on which an owner approved everything that came to main."""

    def __init__(self, main: FakeMain, now: Callable[[], datetime]) -> None:
        self._main = main
        self._now = now

    def approvals(
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> dict[RepoPath, Answer[Approval]]:
        found: dict[RepoPath, Answer[Approval]] = {}
        for path in paths:
            commit, content = next(iter(self._main.arrivals(path, at)))
            found[path] = Known(_approved(path, commit, content), self._now())
        return found

    def versions(self, path: RepoPath, at: CommitId) -> Iterator[Version]:
        for commit, content in self._main.arrivals(path, at):
            if content is not None:
                yield Version(content, _approved(path, commit, content))


def _approved(path: RepoPath, commit: CommitId, content: bytes | None) -> Approval:
    blob = None if content is None else _blob(content).sha
    return Approval(path, blob, commit, ("@ada", "@lin"), (Approver("lin", NOW, "note"),))


def _blob(content: bytes) -> Blob:
    return Blob(REGULAR, BlobId(hashlib.sha1(content).hexdigest()), content)


class NoTracking:
    """An MLflow that does not answer."""

    def tracked(self, run: RunName) -> tuple[Any, ...]:
        raise UnavailableError("there is no MLflow")


class ForgetfulWorkspace(FakeWorkspace):
    """A workspace that can lose a run."""

    def forget(self, run: RunName) -> None:
        del self._runs[run]


@dataclass
class FakeWorld:
    """Everything that passes share. What a controller sees of it goes through the controller."""

    main: FakeMain
    time: datetime = NOW
    started: Counter[RunName] = field(default_factory=Counter)
    """How often each run was really started."""

    def __post_init__(self) -> None:
        self.ledger = MemoryLedger()
        self.workspace = ForgetfulWorkspace(self.now)
        first = begun(
            self.main.default_base(), self.time, by="ada", workspace="fake", controller="1"
        )
        self.ledger.append([first], after=None, at=self.time)

    def now(self) -> datetime:
        return self.time

    def pass_time(self, by: timedelta) -> None:
        self.time += by

    def seen_by(self, controller: Any) -> SimpleNamespace:
        """Return the world of one controller, as a pass takes it."""
        return SimpleNamespace(
            git=self.main,
            host=lambda _root: FakeHost(self.main, controller.now),
            workspace=controller,
            ledger=controller,
            tracking=NoTracking(),
            surroundings=Surroundings("1", "fake"),
            now=controller.now,
            pause=lambda _turn: None,
            state_dir=Path("/elsewhere"),
            who="ada",
        )

    def start(self, request: RunRequest) -> None:
        """Start a run as the workspace would, after a look into the ledger: was it set aside?"""
        if self.workspace.get(request.run) is None:
            book = read_book(self.ledger.read(wanted))
            record = next(r for r in book.records.values() if r.run == request.run)
            assert record.stage in ("reserved", "submitted"), f"it is {record.stage}"
            assert record.attempt.record == sha256(request.record)
            self.started[request.run] += 1
        self.workspace.submit(request)


def documents(hours: float = 1.0, *, retries: int = 1, expires: str = "2027-03-31") -> str:
    """Return an admission with so many GPU hours."""
    text = ADMISSION.format(expires=expires).replace("max_nodes: 2", "max_nodes: 12")
    return text.replace("gpu_hours: 1\n", f"gpu_hours: {hours:g}\n  retries: {retries}\n")


def job(name: str, rerun: str = "", nodes: int = 2, timeout: int = 300) -> str:
    """Return a job of so many nodes of one GPU, with an output that a retry goes on from."""
    text = JOB.format(name=name, command="train ${{outputs.state}}")
    text = text.replace("instance_count: 2", f"instance_count: {nodes}")
    text = text.replace("timeout: 600", f"timeout: {timeout}")
    tags = f"admission: digits, rerun: '{rerun}'" if rerun else "admission: digits"
    text = text.replace("admission: digits", tags)
    return text + f"outputs:\n  state: {{path: azureml://datastores/a/paths/{name}}}\n"


def policy(hold: str = "null") -> str:
    """Return a policy with room for many nodes, and with a hold."""
    return POLICY.replace("max_nodes: 4", "max_nodes: 20").replace("hold: null", f"hold: {hold}")


def begin(files: Mapping[str, str] | None = None) -> FakeWorld:
    """Return a world with policy, owners, one admission and the jobs given."""
    first = {"admissions/policy.yml": policy(), ".github/CODEOWNERS": OWNERS}
    main = FakeMain(first)
    world = FakeWorld(main)
    main.commit({"admissions/digits.md": documents(), **(files or {"jobs/one.yml": job("one")})})
    return world

"""A sound chain written by the real passes, in memory; and what somebody could do to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from controller import __version__, passes
from controller.adapters.git_process import UnknownRevisionError
from controller.documents.payload import run_name
from controller.documents.snapshot import Snapshot
from controller.effects.request import Surroundings
from controller.errors import UnavailableError
from controller.evidence.facts import Answer, Approval, Known, MeasuredRun, Tracked, Unavailable
from controller.ledger.book import RUNS, read_book, record_file, wanted
from controller.report.outcome import Report
from controller.values import BlobId, CommitId, RepoPath, RunName, canonical_json, sha256
from controller.verifying.gathering import verify
from tests.cli.conftest import ADMISSION as ADMISSION_TEXT
from tests.cli.conftest import JOB as JOB_TEXT
from tests.cli.conftest import POLICY
from tests.machine.repository import OWNERS, FakeHost, FakeMain, FakeWorld

DATASET = "sha256:" + "d1" * 32
JOB = RepoPath("jobs/one.yml")
ADMISSION = RepoPath("admissions/digits.md")
MODEL = "models:/digits/3"


class Main(FakeMain):
    """Main, and commits that are in the clone but not on its line."""

    def __init__(self, files: dict[str, str]) -> None:
        self.aside: set[CommitId] = set()
        super().__init__(files)

    def resolve(self, rev: str) -> CommitId:
        if rev not in dict(self._line):
            raise UnknownRevisionError(f"`{rev}` names no commit")
        return CommitId(rev)

    def on_line(self, at: CommitId, commit: CommitId) -> bool:
        return commit not in self.aside and super().on_line(at, commit)

    def snapshot(
        self, rev: str, wanted: Callable[[str], bool], have: Container[BlobId] = ()
    ) -> Snapshot:
        return super().snapshot(self.resolve(rev), wanted, have)

    def rewrite(self, at: CommitId, path: str, text: str) -> None:
        """Put other bytes into a commit, as if its name had been forged."""
        self._line = [
            (commit, {**files, RepoPath(path): text.encode()} if commit == at else files)
            for commit, files in self._line
        ]


class Host(FakeHost):
    """A host that trusts the root's bytes, and from which approvals can vanish."""

    def __init__(self, chain: Chain, root: CommitId) -> None:
        super().__init__(chain.world.main, chain.world.now)
        self._chain = chain
        self._root = root

    def approvals(
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> dict[RepoPath, Answer[Approval]]:
        if self._chain.host_outage:
            return {p: Unavailable(self._chain.host_outage, self._chain.world.now()) for p in paths}
        found: dict[RepoPath, Answer[Approval]] = {}
        for path, answer in super().approvals(paths, at).items():
            assert isinstance(answer, Known)
            known = answer.value
            if known.commit == self._root:
                known = replace(known, trusted=True, approvers=())
            if path in self._chain.withdrawn:
                known = replace(known, approvers=(), trusted=False)
            found[path] = Known(known, answer.asked_at)
        return found


@dataclass
class Models:
    """The team's MLflow."""

    found: list[Tracked] = field(default_factory=list)
    outage: str = ""

    def measured(self, run_id: str) -> MeasuredRun | None:
        return None

    def tracked(self, run: RunName) -> tuple[Tracked, ...]:
        self._reach()
        return tuple(one for one in self.found if one.run == run)

    def version(self, model: str, version: str) -> Tracked | None:
        self._reach()
        same = (one for one in self.found if (one.model, one.version) == (model, version))
        return next(same, None)

    def _reach(self) -> None:
        if self.outage:
            raise UnavailableError(self.outage)


@dataclass
class Chain:
    """One run from its approval to its model, as the real passes left it."""

    world: FakeWorld
    main: Main
    models: Models = field(default_factory=Models)
    withdrawn: set[RepoPath] = field(default_factory=set)
    host_outage: str = ""
    environ: dict[str, str] = field(default_factory=lambda: {"ADMIT_HOST": "local"})

    @property
    def run(self) -> RunName:
        """The run's name, of its last attempt."""
        (record,) = read_book(self.world.ledger.read(wanted)).records.values()
        return record.run

    @property
    def first(self) -> RunName:
        (record,) = read_book(self.world.ledger.read(wanted)).records.values()
        return run_name(record.name, record.fingerprint)

    def reconcile(self) -> Report:
        return passes.reconcile(self._seen())  # type: ignore[arg-type]

    def verify(self, subject: str = "", *, online: bool = True) -> Report:
        subject = subject or self.run
        return verify(self._seen(), subject, online=online)  # type: ignore[arg-type]

    def broken(self, subject: str = "", *, online: bool = True) -> set[str]:
        report = self.verify(subject, online=online)
        return {edge.name for edge in report.edges if edge.outcome == "broken"}

    def edge(self, name: str, subject: str = "", *, online: bool = True) -> tuple[str, str]:
        (edge,) = (e for e in self.verify(subject, online=online).edges if e.name == name)
        return edge.outcome, edge.what

    def file(self, path: str) -> bytes:
        content = self.world.ledger.read(lambda _: True).files[path]
        assert content is not None
        return content

    def names(self, folder: str) -> list[str]:
        files = self.world.ledger.read(lambda _: False).files
        return sorted(path for path in files if path.startswith(folder))

    def forge(self, path: str, content: bytes | None) -> None:
        self.world.ledger.forge({path: content}, at=self.world.now())

    def edit(self, path: str, change: Callable[[Any], object]) -> None:
        """Change one file of the ledger, and spell it as the ledger does."""
        said = json.loads(self.file(path))
        change(said)
        self.forge(path, canonical_json(said) + b"\n")

    def admitted(self, run: str = "") -> str:
        """Return where the admission record that an attempt names is; of the last by default."""
        book = read_book(self.world.ledger.read(wanted))
        for record in book.records.values():
            for attempt in record.last.attempts:
                name = run_name(record.name, record.fingerprint, attempt.number)
                if name == (run or self.run):
                    return record_file(name, attempt.record)
        raise LookupError(run)

    def edit_run(self, change: Callable[[Any], object]) -> None:
        self.edit(f"{RUNS}{self.first}.json", change)

    def rebind(self, content: bytes) -> None:
        """Put another admission record in place, and let everything name its digest."""
        run, digest = self.run, sha256(content)
        self.forge(record_file(run, digest), content)
        self.edit_run(lambda r: r["generations"][-1]["attempts"][-1].update(record=digest))
        there = self.world.workspace.get(run)
        assert there is not None
        self.world.workspace.observe(replace(there, record=digest))
        self.models.found = [replace(one, record=digest) for one in self.models.found]

    def rewrite(self, change: Callable[[Any], object]) -> None:
        """Change what the admission record says, and bind everything to that."""
        said = json.loads(self.file(self.admitted()))
        change(said)
        self.rebind(canonical_json(said) + b"\n")

    def rewrite_approval(self, path: str, change: Callable[[Any], object]) -> None:
        """The same with what it says of one approval."""

        def found(said: Any) -> Any:
            return next(a for a in said["evidence"]["approvals"] if a["path"] == path)

        self.rewrite(lambda said: change(found(said)["approval"]))

    def proof(self, path: str) -> str:
        (file,) = self.names(f"proofs/{path}/")
        return file

    def _seen(self) -> SimpleNamespace:
        seen = self.world.seen_by(SimpleNamespace(now=self.world.now))
        seen.ledger, seen.workspace = self.world.ledger, self.world.workspace
        seen.fetched_ledger = self.world.ledger
        seen.tracking, seen.environ = self.models, self.environ
        seen.surroundings = Surroundings(__version__, "fake")
        seen.host = lambda root: Host(self, root)
        return seen


def begun(retries: int = 0) -> Chain:
    """Return a chain whose run was started and is still running."""
    main = Main({"admissions/policy.yml": POLICY, ".github/CODEOWNERS": OWNERS})
    chain = Chain(FakeWorld(main), main)
    admission = ADMISSION_TEXT.format(expires="2027-03-31")
    admission = admission.replace("gpu_hours: 1\n", f"gpu_hours: 1\n  retries: {retries}\n")
    main.commit({ADMISSION: admission, JOB: _job()})
    assert [r.outcome for r in chain.reconcile().receipts] == ["done"]
    main.commit({"README.md": "main went on"})
    return chain


def _job() -> str:
    """Return a job of two nodes of one GPU for ten minutes, which a retry goes on from."""
    text = JOB_TEXT.format(name="one", command="train ${{outputs.state}}")
    text = text.replace("admission: digits", f"admission: digits, dataset: '{DATASET}'")
    return text + "outputs:\n  state: {path: azureml://datastores/a/paths/one}\n"


def finish(chain: Chain) -> Chain:
    """Let the run end with a model version, and let a pass settle it."""
    run = chain.run
    chain.world.pass_time(timedelta(minutes=5))
    chain.world.workspace.end(run)
    record = sha256(chain.file(chain.admitted()))
    made = Tracked("3f2c9a", "FINISHED", "digits", "3", DATASET, record, run)
    chain.models.found.append(made)
    chain.reconcile()
    return chain


def sound() -> Chain:
    """Return a chain that holds from the model to those who approved it."""
    return finish(begun())

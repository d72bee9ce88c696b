"""A scratch repository whose passes are real: git, ledger and rules; only the workspace is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from controller import __version__, passes
from controller.adapters.notes import LocalHost
from controller.explain.answer import explain
from controller.ledger.draft import begun
from controller.report.outcome import Node, Report
from controller.values import CommitId, RepoPath, RunName
from controller.wiring import World
from tests.adapters.scratch import NOON, Scratch
from tests.cli.conftest import ADMISSION, JOB, POLICY
from tests.fake_ledger import MemoryLedger
from tests.fakes import FakeWorkspace

DIGITS, TRAIN, RULES = "admissions/digits.md", "jobs/digits.yml", "admissions/policy.yml"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def admission(**changes: str) -> str:
    text = ADMISSION.format(expires="2027-01-31")
    for old, new in changes.items():
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{old}:"))
        text = text.replace(line, f"{line.partition(':')[0]}: {new}")
    return text


def job(name: str = "digits", command: str = "true") -> str:
    return JOB.format(name=name, command=command)


class Scene:
    """Main, a ledger in memory, a workspace in memory and a clock that only the test moves."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.repo = Scratch(root, monkeypatch)
        self.now = NOON + HOUR
        self.ledger = MemoryLedger()
        self.workspace = FakeWorkspace(lambda: self.now)
        self.root = self.repo.commit({".github/CODEOWNERS": "* @ada @lin\n", RULES: POLICY})
        first = begun(self.root, self.now, by="@ada", workspace="fake", controller="1")
        self.ledger.append([first], after=None, at=self.now)

    def world(self, **environ: str) -> World:
        """A world without workspace and host, as whoever explains has it."""
        world = World(self.repo.root, environ, lambda: self.now)
        vars(world)["ledger"] = self.ledger
        return world

    def merge(self, files: dict[str, str | None], *, approve: bool = True) -> CommitId:
        """Commit files to main, each in a change of its own, and approve them."""
        commit = self.repo.head()
        for path, text in files.items():
            commit = self.repo.commit({path: text})
            if approve:
                self.approve(path)
        return commit

    def approve(self, path: str, login: str = "@lin") -> None:
        host = LocalHost(self.repo.adapter, lambda: self.now, self.root)
        host.approve(RepoPath(path), login, self.now)

    def turn(self, after: timedelta = HOUR) -> Report:
        """Let time pass, and a pass be made."""
        self.now += after
        world = self.world(ADMIT_HOST="local", ADMIT_WORKSPACE="local")
        vars(world)["workspace"] = self.workspace
        return passes.reconcile(world)

    @property
    def run(self) -> RunName:
        """The one run that was started."""
        (request,) = self.workspace.started
        return request.run

    @property
    def version(self) -> str:
        return __version__

    def file(self, path: str) -> bytes:
        """The content of a file at the ledger's head."""
        content = self.ledger.read(lambda name: name == path).files[path]
        assert content is not None
        return content

    def forge(self, files: Mapping[str, bytes | None]) -> None:
        """Write into the ledger as whoever can push to it."""
        self.ledger.forge(files, at=self.now)

    def explain(self, word: str, at: str | None = None, *, verbose: bool = False) -> Report:
        return explain(self.world(), word, at, verbose=verbose)


def nodes(tree: tuple[Node, ...]) -> Iterator[Node]:
    for node in tree:
        yield node
        yield from nodes(node.children)


def texts(report: Report) -> str:
    """Every sentence of a tree, one a line, indented."""
    return "\n".join(_lines(report.tree, 0))


def _lines(tree: tuple[Node, ...], depth: int) -> Iterator[str]:
    for node in tree:
        mark = f"{node.outcome.name} " if node.outcome is not None else ""
        yield f"{'  ' * depth}{mark}{node.text}"
        yield from _lines(node.children, depth + 1)


def says(report: Report, words: str) -> bool:
    """Whether a sentence of the tree has these words."""
    return any(words in node.text for node in nodes(report.tree))


def found(report: Report, words: str) -> Node:
    """The first node that says `words`."""
    for node in nodes(report.tree):
        if words in node.text:
            return node
    raise AssertionError(f"nothing says {words!r}:\n{texts(report)}")


def utc(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def everything(scene: Scene) -> list[str]:
    """Every file of the ledger."""
    return sorted(scene.ledger.read(lambda _: False).files)

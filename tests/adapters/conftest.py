from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.adapters.notes import LocalHost
from tests.adapters.local_examples import Local
from tests.adapters.notes_examples import LATER, OWNERS
from tests.adapters.scratch import Scratch


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    return Scratch(tmp_path / "repo", monkeypatch)


@pytest.fixture
def owned(repo: Scratch) -> Scratch:
    """A repository with owners in its root commit."""
    repo.commit({OWNERS: "* @ada @Lin\n/teams/ @acme/nlp eve@acme.com @ada\n", "README": ""})
    return repo


@pytest.fixture
def host(owned: Scratch) -> LocalHost:
    return LocalHost(owned.adapter, lambda: LATER)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    local = Local(tmp_path / "state")
    yield local
    for run in local.workspace.runs():
        local.workspace.cancel(run.run, "the test is over")
    for run in local.workspace.runs():
        local.over(run.run)

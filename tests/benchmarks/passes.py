"""A steady pass over a repository in which everything has run: how long it takes, whom it asks."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from controller import passes
from controller.documents.payload import RunRequest
from controller.effects.request import account_of
from controller.ledger import book as pages
from controller.ledger.account import balance
from controller.ledger.book import Standing
from controller.ledger.codec import encoded
from controller.ledger.draft import begun
from controller.ledger.store import Change
from controller.wiring import World, world_from
from tests.builders import record
from tests.fakes import FakeWorkspace

PLACE = {"ADMIT_WORKSPACE": "local", "ADMIT_HOST": "local"}
ACTIVE = (0, 10, 50)


def settled_ledger(root: Path) -> None:
    """Give a repository a ledger in which every manifest of main has run and is settled."""
    _ledger(root, 0)


def asked(root: Path) -> None:
    """Print how many questions a pass asks of the workspace with so many active runs."""
    for active in ACTIVE:
        world = _ledger(root, active)
        workspace = world.workspace
        passes.plan_report(world)
        names = len(workspace.asked)  # type: ignore[attr-defined]
        listed = workspace.listed  # type: ignore[attr-defined]
        what = f"a pass with {active} active runs asks for"
        print(f"{what:50} {names:8} runs by name, lists {listed} times")


def _ledger(root: Path, active: int) -> World:
    world = world_from({**os.environ, **PLACE}, root)
    git, now = world.git, world.now() - timedelta(minutes=5)
    git.runner.attempt("update-ref", "-d", "refs/heads/admit-ledger")
    main = git.default_base()
    catalog = passes.read_main(world, main)
    workspace = FakeWorkspace(lambda: now, world.workspace.id)
    records = [
        record(
            manifest,
            reserved=0.04,
            used=1e-6,
            started_at=now,
            workspace=workspace.id,
            gpus_per_node=1,
        )
        for manifest in catalog.manifests.values()
    ]
    for at, one in enumerate(records[:active]):
        last = replace(one.last, closed=None)
        running = replace(last, attempts=(replace(last.attempts[0], over=None),))
        records[at] = replace(one, generations=(running,))
        payload = catalog.manifests[one.path].payload
        workspace.submit(RunRequest(one.run, payload, {}, {}))
    files = {pages.run_file(one): encoded(one) for one in records}
    for admission in catalog.admissions.values():
        account = account_of(admission)
        now_used = balance(account.id, account.granted, records)
        account = replace(account, reserved=now_used.reserved, used=now_used.used)
        files[pages.account_file(account.id)] = encoded(account)
    if catalog.policy is not None:
        files[pages.POLICY] = encoded(Standing(catalog.policy.blob, now))
    first = begun(main, now, by="ada", workspace=workspace.id, controller="1")
    world.ledger.append([first, Change("everything ran", files)], after=None, at=now)
    object.__setattr__(world, "workspace", workspace)
    return world

"""`admit check`."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world


@click.command(
    "check",
    epilog="Examples: `admit check` judges HEAD against main; `admit check --worktree` judges the "
    "files as they lie; `admit check --require-approval` also asks who approved them.",
)
@click.option("--base", metavar="REV", help="The trusted revision; origin/main, else main.")
@click.option("--head", metavar="REV", default="HEAD", show_default=True, help="The proposal.")
@click.option("--worktree", is_flag=True, help="Judge the files as they lie, not a commit.")
@click.option("--require-approval", is_flag=True, help="Let missing approvals count.")
@click.option("--online", is_flag=True, help="Ask for the measured runs, and let them count.")
@reporting
def command(
    repo: Path,
    *,
    base: str | None,
    head: str,
    worktree: bool,
    require_approval: bool,
    online: bool,
    form: Format,
    verbose: bool,
) -> int:
    """Judge a proposed change by the policy and owners of the trusted revision.

    Judges every manifest and admission of the proposal. What only a merge asks for, such as who
    approved, is listed as undecided and does not count unless asked for. Changes nothing.
    """
    from controller import checking

    # Ten thousand manifests are a million objects, none of them garbage before the process ends:
    # looking for cycles among them takes a third of the time.
    gc.disable()
    here = world(repo)
    asked = checking.question(
        here,
        base=base,
        head=head,
        worktree=worktree,
        require_approval=require_approval,
        online=online,
    )
    return emit(checking.check(here, asked), form, verbose=verbose)

"""`admit apply`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world


@click.command(
    "apply", epilog="Example: `admit plan --out plan.json`, then `admit apply plan.json`."
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@reporting
def command(repo: Path, *, file: Path, form: Format, verbose: bool) -> int:
    """Do the plan saved in FILE, if making it again now gives the same digest; else exit 8."""
    from controller import passes

    return emit(passes.apply_saved(world(repo), file), form, verbose=verbose)

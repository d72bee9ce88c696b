"""`admit drift`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world


@click.command("drift", epilog="Example: `admit drift --format markdown`.")
@reporting
def command(repo: Path, *, form: Format, verbose: bool) -> int:
    """Show in what the workspace differs from what main asks for. Changes nothing.

    Exits 6 when something would change or runs that nobody knows of are there.
    """
    from controller.surveying import drift

    return emit(drift(world(repo)), form, verbose=verbose)

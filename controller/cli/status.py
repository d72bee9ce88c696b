"""`admit status`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world


@click.command("status", epilog="Example: `admit status --format json`.")
@reporting
def command(repo: Path, *, form: Format, verbose: bool) -> int:
    """Show every recorded run, and what is left of every admission. Changes nothing."""
    from controller.surveying import status

    return emit(status(world(repo)), form, verbose=verbose)

"""`admit reconcile`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world
from controller.errors import UsageError
from controller.report.safe import plain


@click.command(
    "reconcile",
    epilog="Examples: `admit reconcile`; "
    "`admit reconcile --max-cancels 12 --reason 'the cluster is being moved'`.",
)
@click.option(
    "--max-cancels",
    type=click.IntRange(min=0),
    help="Cancel up to this many runs, whatever the policy's brake says; needs --reason.",
)
@click.option("--reason", metavar="TEXT", help="Why the brake is overridden.")
@reporting
def command(
    repo: Path, *, max_cancels: int | None, reason: str | None, form: Format, verbose: bool
) -> int:
    """Make the workspace follow main: submit what is admitted, cancel what is withdrawn.

    Level-triggered: it reads main as it is now, and doing it twice does nothing more.
    """
    from controller import passes

    if (max_cancels is None) != (not (reason or "").strip()):
        raise UsageError(
            "`--max-cancels` and `--reason` go together",
            remedy="say how many runs may be cancelled, and why",
        )
    if reason:
        said = plain(reason.strip())
        click.echo(f"brake on cancellations set to {max_cancels}: {said}", err=True)
    return emit(passes.reconcile(world(repo), max_cancels), form, verbose=verbose)

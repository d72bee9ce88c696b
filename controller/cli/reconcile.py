"""`admit reconcile`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world
from controller.errors import UsageError


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
@click.option(
    "--accept-clock",
    is_flag=True,
    help="Act although the clock is far from the ledger's last heartbeat; needs --reason.",
)
@click.option("--reason", metavar="TEXT", help="Why; it is recorded in the ledger.")
@reporting
def command(
    repo: Path,
    *,
    max_cancels: int | None,
    accept_clock: bool,
    reason: str | None,
    form: Format,
    verbose: bool,
) -> int:
    """Make the workspace follow main: submit what is admitted, cancel what is withdrawn.

    Level-triggered: it reads main as it is now, and doing it twice does nothing more.
    """
    from controller import passes

    said = (reason or "").strip()
    if (max_cancels is not None or accept_clock) != bool(said):
        raise UsageError(
            "`--max-cancels` and `--accept-clock` go together with `--reason`",
            remedy="say what is allowed this time, and why",
        )
    consent = passes.Consent(max_cancels, accept_clock, said)
    return emit(passes.reconcile(world(repo), consent), form, verbose=verbose)

"""`admit stop`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world
from controller.errors import AdmitError, UsageError


@click.command(
    "stop",
    epilog="Examples: `admit stop bert-pretrain-1f2e3d4c5b6a --reason 'the loss is NaN'`; "
    "`admit stop --all --reason 'the cluster is on fire'`.",
)
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="Every run of ours that is going on.")
@click.option("--reason", metavar="TEXT", help="Why; it is recorded in the ledger.")
@reporting
def command(
    repo: Path,
    *,
    run: str | None,
    everything: bool,
    reason: str | None,
    form: Format,
    verbose: bool,
) -> int:
    """End a run at once, whatever main says. No later pass starts it again.

    RUN is the name of any attempt, or the name without the attempt. Needs neither a sound main
    nor an approval; without a ledger the run is ended all the same. Exits 7 where a run could not
    be ended, or it could not be recorded.
    """
    from controller import stopping

    said = (reason or "").strip()
    if not said:
        raise UsageError("a stop needs a reason", remedy="say why: `--reason TEXT`")
    if everything == (run is not None):
        raise UsageError("name one run, or say `--all`", remedy="`admit status` lists the runs")
    done = stopping.stop(world(repo), run, said)
    if done.unrecorded is not None:
        _say(done.unrecorded)
    return emit(done.report, form, verbose=verbose)


def _say(error: AdmitError) -> None:
    from controller.report.safe import plain

    click.echo(f"admit: it could not be recorded: {plain(str(error))}", err=True)
    then = "run the same again: until it is recorded, a pass may start what was only reserved"
    click.echo(f"  do: {plain(f'{error.remedy}; then ' if error.remedy else '')}{then}", err=True)

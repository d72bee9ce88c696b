"""`admit verify`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world


@click.command(
    "verify",
    epilog="Examples: `admit verify bert-pretrain-1f2e3d4c5b6a`; "
    "`admit verify models:/claims-bert/3 --online`. The exit is 4 if an edge is broken; edges "
    "that were not checked are listed, and change no exit.",
)
@click.argument("subject")
@click.option(
    "--online",
    is_flag=True,
    help="Ask MLflow, the workspace and the code host, too; else the ledger and git only.",
)
@reporting
def command(repo: Path, *, subject: str, online: bool, form: Format, verbose: bool) -> int:
    """Walk from SUBJECT back to who approved it, edge by edge. Changes nothing.

    SUBJECT is a run, any attempt of it, or `models:/<name>/<version>`.
    """
    from controller.verifying.gathering import verify

    return emit(verify(world(repo), subject, online=online), form, verbose=verbose)

"""`admit approve`: the local code host's review."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from controller.cli.output import world
from controller.documents.snapshot import joined
from controller.errors import AdmitError
from controller.report.safe import plain
from controller.values import RepoPath


@click.command(
    "approve",
    epilog="Example: `admit approve admissions/bert-pretrain.md --as @ada`. A removed file is "
    "approved by the same words: then it is its removal that is approved.",
)
@click.argument("path")
@click.option("--as", "login", required=True, metavar="@LOGIN", help="Who approves.")
@click.pass_obj
def command(repo: Path, *, path: str, login: str) -> int:
    """Approve the bytes that PATH has in HEAD, or its removal.

    The approval is a git note bound to path, blob and commit. Anybody who can write to this
    repository can make one: it is as trustworthy as that, and never counts for Azure ML.
    """
    here = world(repo)
    path = joined("", path) or path  # `./admissions/x.md` is the file that it looks like
    made = here.host().approve(RepoPath(path), login, here.now())
    what = f"bytes {made.blob[:12]}" if made.blob else "its removal"
    click.echo(f"approved `{path}` as {login}: {what}, brought by commit {made.commit[:12]}")
    with suppress(AdmitError):  # it is recorded, whether or not it can be told what it will do
        if why := here.host(here.trusted_root).counts(made):
            click.echo(f"recorded, but it will not count: {plain(why)}", err=True)
    return 0

"""`admit ledger`: init, show, fsck."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from controller.cli.output import world
from controller.errors import UsageError
from controller.report.safe import plain

if TYPE_CHECKING:
    from controller.ledgering.beginning import Trusted
    from controller.ledgering.checked import Checked

SECONDS = 3.0
"""So long a check may take before it says how far it is, and between two such lines."""


@click.group(
    "ledger",
    epilog="Examples: `admit ledger init` once; `admit ledger show bert-pretrain`; "
    "`admit ledger fsck`. `ADMIT_LEDGER` says where it is: `branch[@remote]`.",
)
def command() -> None:
    """Make, show or check the record of everything that was spent and decided."""


@command.command(
    "init",
    short_help="make the ledger, once; or let it trust another commit of main",
    epilog="Examples: `admit ledger init`; `admit ledger init --root 1f2e3d4c5b6a`; "
    "`admit ledger init --again --reason 'main was rewritten to remove a secret'`.",
)
@click.option("--root", metavar="REV", help="The commit of main to trust; the end of main.")
@click.option(
    "--again", is_flag=True, help="Let the ledger that is there trust it; needs --reason."
)
@click.option("--reason", metavar="TEXT", help="Why another commit; it is recorded.")
@click.pass_obj
def init(repo: Path, *, root: str | None, again: bool, reason: str | None) -> int:
    """Make the ledger. Without one nothing is ever spent.

    The policy and CODEOWNERS of the trusted commit count as approved; every later version has to
    be approved by those whom they name. Look at both before you do this. Exits 8 where there is a
    ledger already, or somebody else makes it at the same time.
    """
    from controller.ledgering import beginning

    said = (reason or "").strip()
    if again != bool(said):
        raise UsageError(
            "`--again` and `--reason` go together",
            remedy="say why the ledger is to trust another commit of main",
        )
    here = world(repo)
    trusted = beginning.trust_again(here, said, root) if again else beginning.begin(here, root)
    for line in _trusted(trusted):
        click.echo(plain(line))
    return 0


def _trusted(trusted: Trusted) -> list[str]:
    return [
        f"the ledger is {trusted.place}, at {trusted.head[:12]}",
        f"it trusts main at {trusted.root}, where these count as approved:",
        *(f"  {path} {blob}" for path, blob in sorted(trusted.blobs.items())),
    ]


@command.command(
    "show",
    short_help="show what is in it: all in short, or a run, an admission or a path",
    epilog="Examples: `admit ledger show`; `admit ledger show bert-pretrain-1f2e3d4c5b6a`; "
    "`admit ledger show bert-pretrain --format json`; `admit ledger show jobs/bert/pretrain.yml`.",
)
@click.argument("subject", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    help="Text to read, or the files as they are.",
)
@click.pass_obj
def show(repo: Path, *, subject: str | None, form: Literal["text", "json"]) -> int:
    """Show what is in the ledger. Changes nothing.

    SUBJECT is a run, an admission, a path of the repository or a file of the ledger.
    """
    from controller.ledgering import shown

    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    found = shown.show(world(repo), subject, width=width)
    click.echo(found.as_json() if form == "json" else "\n".join(found.lines))
    return 0


@command.command(
    "fsck",
    short_help="check that nothing in it was removed, changed or miscounted",
    epilog="Examples: `admit ledger fsck`; `admit ledger fsck --all`.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Walk from the first commit, whatever was checked."
)
@click.pass_obj
def fsck(repo: Path, *, everything: bool) -> int:
    """Check that the ledger is what passes wrote: nothing removed, changed or miscounted.

    Names the first commit that breaks a rule, the file and the rule. What was found sound is
    remembered in this clone; only what came after is walked the next time, and a branch that was
    rewritten is found. Exits 0 for a sound ledger, 8 for one that is broken, rewritten or missing.
    """
    from controller.ledgering import checked

    found = checked.fsck(world(repo), everything=everything, seen=_progress())
    for line in _checked(found):
        click.echo(plain(line))
    return 0 if found.sound else 8


def _checked(checked: Checked) -> list[str]:
    from controller.report.words import counted, hours, together

    found, totals = checked.found, checked.found.totals
    if (broken := found.broken) is not None:
        when = f", {broken.at:%Y-%m-%d %H:%M} UTC" if broken.at else ""
        where = f"`{broken.path}`: " if broken.path else ""
        good = f"; it is sound up to {broken.before}" if broken.before else ""
        return [
            f"the ledger, {checked.place}, is broken by {broken.commit} (`{broken.title}`{when})",
            f"  {where}{broken.why}",
            f"  do: let nothing be spent, and look at `git show {broken.commit[:12]}`{good}",
        ]
    if (end := checked.rewritten) is not None:
        what = f"{end} was its end when it was checked here, and is not on the branch any more"
        forget = f"if it was right, remove `{checked.memory}`, which remembers it"
        return [
            f"the ledger, {checked.place}, was rewritten: {what}",
            f"  do: find out by whom, and put the branch back; {forget}",
        ]
    since = f", checked from {checked.since[:12]} on" if checked.since else ""
    spent = f"{hours(totals.used)} GPU hours used and {hours(totals.reserved)} set aside"
    count = together(
        [
            counted(totals.commits, "commit"),
            counted(totals.runs, "run"),
            counted(totals.admissions, "admission"),
        ]
    )
    return [
        f"the ledger, {checked.place}, is sound up to {found.head}{since}",
        f"  {count}: {spent}",
    ]


def _progress() -> Callable[[], None]:
    """Return what counts commits and says so, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda: None
    return counting(time.monotonic, lambda line: click.echo(line, err=True))


def counting(now: Callable[[], float], say: Callable[[str], None]) -> Callable[[], None]:
    """Return what is called for each commit and says, every few seconds of `now`, how many."""
    count, said = 0, now()

    def seen() -> None:
        nonlocal count, said
        count += 1
        if now() - said >= SECONDS:
            said = now()
            say(f"{count:,} commits are checked so far")

    return seen

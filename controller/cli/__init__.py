"""The command line: a table of commands. Only the module of the chosen one is imported."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click

from controller import __version__
from controller.errors import AdmitError, CannotRunError, UnavailableError, UsageError

COMMANDS = {
    "check": "judge a proposed change: what merging it would start, and every rule not met",
    "plan": "show what a reconcile would do now; changes nothing",
    "apply": "do a saved plan, if it still holds",
    "reconcile": "make the workspace follow main",
    "drift": "show in what the workspace differs from main; changes nothing",
    "explain": "say why: the decision about a job, an admission or a run, now or then",
    "verify": "walk from a model or a run back to who approved it, edge by edge",
    "status": "show every recorded run and what is left of every admission",
    "stop": "end a run at once, whatever main says",
    "ledger": "make, show or check the record of everything that was spent and decided",
    "new": "start an admission or a job from a template",
    "approve": "approve the bytes of a file (local code host only)",
    "demo": "see a job refused, approved, run, registered and revoked, on this machine",
}
"""Every command in the order of its use; each is `command` in `controller.cli.<name>`."""


class Table(click.Group):
    """A group whose commands are looked up in `COMMANDS`, so that `--help` imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return one command, by importing its module."""
        if cmd_name not in COMMANDS:
            return None
        return cast(click.Command, importlib.import_module(f"controller.cli.{cmd_name}").command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Table,
    epilog="Exit codes: 0 settled, 1 a bug, 2 wrong arguments, 3 invalid documents, 4 denied, "
    "5 undecided, 6 drift, 7 incomplete, 8 could not run.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="admit")
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="The checkout to work on; the current one by default.",
)
@click.pass_context
def admit(ctx: click.Context, repo: Path) -> None:
    """GitOps for expensive training: a run starts by a written, approved, funded admission."""
    ctx.obj = repo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. No traceback reaches the user."""
    try:
        code = admit.main(arguments, prog_name="admit", standalone_mode=False)
        return int(code or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("admit: interrupted; nothing is half done, run it again", err=True)
        return 7
    except AdmitError as error:
        return _say(error)
    except RecursionError:
        return _say(CannotRunError("the input is nested too deeply", remedy="flatten it"))
    except BrokenPipeError:
        # Whoever read the output went away: not a bug. Python must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"`{error.filename}`: " if error.filename else ""
        said = f"{where}{error.strerror or error}"
        return _say(CannotRunError(said, remedy="look at that path, its rights and its disk"))
    except Exception as error:  # noqa: BLE001 - the edge: a bug is one line and a file
        return _bug(error)


def _say(error: AdmitError) -> int:
    from controller.report.safe import plain

    click.echo(f"admit: {plain(str(error))}", err=True)
    if error.remedy:
        click.echo(f"  do: {plain(error.remedy)}", err=True)
    match error:
        case UsageError():
            return 2
        case UnavailableError():
            return 5
        case CannotRunError():
            return 8
        case _:
            return 7


def _bug(error: Exception) -> int:
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="admit-bug-", suffix=".txt", delete=False) as file:
        file.write("".join(traceback.format_exception(error)))
    kind = type(error).__name__
    click.echo(f"admit: a bug ({kind}); the details are in {file.name}", err=True)
    return 1

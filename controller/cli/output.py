"""What the commands share: the world, the format of the report, and the exit code it means."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click

from controller.report.outcome import Report
from controller.wiring import World, world_from

Format = Literal["text", "json", "markdown"]


def reporting(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of a report; it gets `repo`, `form` and `verbose`."""
    form = click.option(
        "--format",
        "form",
        type=click.Choice(("text", "json", "markdown")),
        default="text",
        help="How the report is printed.",
    )
    verbose = click.option(
        "-v", "--verbose", is_flag=True, help="Show the rules that are met, too."
    )
    return form(verbose(click.pass_obj(command)))


def world(repo: Path) -> World:
    """Return the world of this process around the checkout `repo`."""
    return world_from(os.environ, repo.resolve())


def emit(report: Report, form: Format, *, verbose: bool) -> int:
    """Print `report` to standard output and return its exit code."""
    match form:
        case "json":
            from controller.report import as_json

            click.echo(as_json.render(report), nl=False)
        case "markdown":
            from controller.report import markdown

            click.echo(markdown.render(report), nl=False)
        case "text":
            from controller.report import text

            terminal = sys.stdout.isatty()
            colour = terminal and not os.environ.get("NO_COLOR")
            width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
            click.echo(text.render(report, colour=colour, width=width, verbose=verbose), nl=False)
    return int(report.exit)

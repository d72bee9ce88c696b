"""`admit plan`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world


@click.command(
    "plan",
    epilog="Examples: `admit plan`; `admit plan --out plan.json`, then `admit apply plan.json`.",
)
@click.option("--at", metavar="REV", help="Plan for this revision; origin/main, else main.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also save the plan, for `admit apply`.",
)
@reporting
def command(repo: Path, *, at: str | None, out: Path | None, form: Format, verbose: bool) -> int:
    """Show what a reconcile would do now, and why. Changes nothing.

    Exits 6 when something would change, 4 when something is withheld because a rule is not met.
    """
    from controller import passes

    report = passes.plan_report(world(repo), at)
    if out is not None:
        out.write_text(passes.saved(report), encoding="utf-8")
        click.echo(f"the plan is in {out}; do it with `admit apply {out}`", err=True)
    return emit(report, form, verbose=verbose)

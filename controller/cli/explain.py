"""`admit explain`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.output import Format, emit, reporting, world
from controller.errors import UsageError


@click.command(
    "explain",
    epilog="Examples: `admit explain jobs/bert/pretrain.yml`; `admit explain bert-pretrain-"
    "1f2e3d4c5b6a --at 2026-11-30T20:00Z`; `admit explain admissions/bert-pretrain.md --at HEAD~3`;"
    " `admit explain --simulate proposal` before a policy is merged.",
)
@click.argument("subject", required=False)
@click.option(
    "--at",
    metavar="REV|TIME",
    help="Look at that commit of main, or at that time (UTC; a day stands for its end).",
)
@click.option(
    "--simulate",
    metavar="REV",
    help="Show what would change if what REV changes of policy, owners and admissions were merged.",
)
@reporting
def command(
    repo: Path,
    *,
    subject: str | None,
    at: str | None,
    simulate: str | None,
    form: Format,
    verbose: bool,
) -> int:
    """Say why: the decision about a job, an admission or a run, now or then.

    SUBJECT is the path or the name of a job, the path or the id of an admission, or a run. Reads
    git and the ledger alone, and asks nobody: evidence is what passes recorded. Changes nothing.

    With --simulate exits 6 when a verdict would change or a run be cancelled; SUBJECT is then
    optional and narrows what is shown.
    """
    if simulate is not None:
        from controller.explain.simulation import simulated

        return emit(simulated(world(repo), simulate, subject, at), form, verbose=verbose)
    if subject is None:
        raise UsageError(
            "there is nothing to explain",
            remedy="name a job, an admission or a run; or use `--simulate REV`",
        )
    from controller.explain.answer import explain

    return emit(explain(world(repo), subject, at, verbose=verbose), form, verbose=verbose)

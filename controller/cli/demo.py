"""`admit demo`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    "demo", epilog="Example: `admit demo --keep` leaves the scratch repository to look at."
)
@click.option("--keep/--remove", default=True, help="Keep the scratch repository afterwards.")
@click.pass_obj
def command(repo: Path, *, keep: bool) -> int:  # noqa: ARG001 - a scratch repository is used
    """Watch a job refused, approved, run, registered and revoked, in a scratch repository.

    Takes about a minute on two cores; no cloud, no network, nothing left running.
    """
    from controller.demo import story

    return story.tell(keep=keep)

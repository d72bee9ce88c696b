"""`admit new`: an admission or a job to start from."""

from __future__ import annotations

import datetime
from importlib import resources
from pathlib import Path

import click

from controller.cli.output import world
from controller.errors import UsageError

_PLACES = {"admission": "admissions/{id}.md", "job": "jobs/{id}.yml"}


@click.command(
    "new",
    epilog="Examples: `admit new admission bert-pretrain`; "
    "`admit new job bert-pretrain --admission bert-pretrain`.",
)
@click.argument("kind", type=click.Choice(("admission", "job")))
@click.argument("id_", metavar="ID")
@click.option("--admission", metavar="ID", help="For a job: the admission it names; ID itself.")
@click.pass_obj
def command(repo: Path, *, kind: str, id_: str, admission: str | None) -> int:
    """Write a template to fill in: admissions/ID.md or jobs/ID.yml. Never overwrites."""
    from controller.documents.admission import ID_PATTERN

    for name in (id_, admission or id_):
        if not ID_PATTERN.match(name):
            raise UsageError(
                f"`{name}` cannot be an id",
                remedy="lower-case letters, digits and dashes; start with a letter or a digit",
            )
    here = world(repo)
    file = Path(here.git.root) / _PLACES[kind].format(id=id_)
    if not file.resolve().is_relative_to(Path(here.git.root).resolve()):
        raise UsageError(f"`{file}` is outside the repository", remedy="make its folder a real one")
    expires = (here.now() + datetime.timedelta(days=90)).date().isoformat()
    template = (resources.files("controller.cli") / "templates" / kind).read_text("utf-8")
    text = template.replace("{{id}}", id_).replace("{{admission}}", admission or id_)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text.replace("{{expires}}", expires))
    except FileExistsError:
        raise UsageError(f"`{file}` is there already", remedy="choose another id") from None
    click.echo(f"wrote {file}; fill it in, then `admit check --worktree`")
    return 0

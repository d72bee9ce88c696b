"""What happens in the demo, in order: measured, refused, approved, registered, revoked."""

from __future__ import annotations

import datetime
import re
import shutil
import tempfile
import time
from importlib import resources
from pathlib import Path

import click

from controller.demo.scene import Scene
from controller.errors import ActionFailedError

EPOCHS = 6
OVER = frozenset({"Completed", "Failed", "Canceled"})
_TRAIN = "python -m train.train_distributed"


def tell(*, keep: bool) -> int:
    """Play the whole demo and return 0; raise AdmitError where it does not go as told."""
    began = time.monotonic()
    scene = Scene(Path(tempfile.mkdtemp(prefix="admit-demo-")).resolve())
    try:
        _prepare(scene)
        run, hours = _measure(scene)
        _propose(scene, run, hours)
        _refused(scene)
        _approved(scene)
        _submitted(scene)
        _registered(scene)
        _in_sync(scene)
        _verified(scene)
        _unpinned(scene)
        _revoked(scene)
        _explained(scene)
    finally:
        _stop_all(scene)
        if not keep:
            shutil.rmtree(scene.root, ignore_errors=True)
    _farewell(scene, time.monotonic() - began, keep=keep)
    return 0


def _headline(word: str, what: str) -> None:
    click.secho(f"\n━━ {word}: ", fg="cyan", bold=True, nl=False)
    click.secho(what, fg="cyan")


def _file(template: str, **values: str) -> str:
    text = (resources.files("controller.demo") / "files" / template).read_text("utf-8")
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return text


def _prepare(scene: Scene) -> None:
    scene.write(".github/CODEOWNERS", _file("CODEOWNERS"))
    scene.write("admissions/policy.yml", _file("policy.yml"))
    scene.write(".gitignore", ".admit/\nmlflow.db\nresults.db\nmlruns/\n.cache/\n")
    scene.shell("git init --quiet --initial-branch=main .", quiet=True)
    scene.shell("git add . && git commit --quiet -m 'policy and owners'", quiet=True)
    _headline("begun", "the ledger, a branch of its own, trusts this main and what comes after it")
    scene.shell("admit ledger init")


def _measure(scene: Scene) -> tuple[str, str]:
    _headline("measured", "what one process can do, before anybody asks for two")
    scene.shell("python -m train.data digits .admit/data/digits/1")
    said = scene.shell(f"{_TRAIN} --data .admit/data/digits/1 --epochs {EPOCHS} --measure-steps 60")
    found = re.search(r"runs:/(\w+)", said)
    hours = re.search(r"([0-9.]+) hours in all", said)
    if found is None or hours is None:
        raise ActionFailedError(f"the measurement did not say what it measured: {said!r}")
    return found.group(1), hours.group(1)


def _propose(scene: Scene, run: str, hours: str) -> None:
    digest = scene.shell("python -m train.data digest .admit/data/digits/1", quiet=True).strip()
    deadline = f"{float(hours) * 0.6:.8f}"
    expires = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=30)).date().isoformat()
    scene.shell("git switch --quiet -c admit-digits", quiet=True)
    scene.write(
        "admissions/digits.md",
        _file("digits.md", run=run, hours=hours, deadline=deadline, expires=expires),
    )
    scene.write("jobs/digits.yml", _job("digits", digest, EPOCHS))
    scene.shell("git add . && git commit --quiet -m 'admit digits'", quiet=True)


def _job(name: str, digest: str, epochs: int) -> str:
    return _file("job.yml", name=name, dataset=digest, epochs=str(epochs))


def _refused(scene: Scene) -> None:
    _headline("refused", "a justification and a job of two nodes, but nobody approved them")
    scene.shell("git log --oneline --stat -1")
    scene.shell("admit check --require-approval", expect=4)


def _approved(scene: Scene) -> None:
    _headline("approved", "an owner reads both and approves their bytes")
    scene.shell("admit approve admissions/digits.md --as @lin")
    scene.shell("admit approve jobs/digits.yml --as @lin")
    scene.shell("admit check --require-approval")
    _merge(scene, "admit-digits")


def _merge(scene: Scene, branch: str) -> None:
    scene.shell(
        f"git switch --quiet main && git merge --quiet --no-ff -m 'merge {branch}' {branch}"
    )


def _submitted(scene: Scene) -> None:
    _headline("submitted", "main asks for a run that was admitted: it is started once")
    scene.shell("admit plan", expect=6)
    scene.shell("admit reconcile")


def _registered(scene: Scene) -> None:
    _headline("registered", "both ranks trained; rank 0 told MLflow and registered the model")
    scene.wait(lambda runs: all(s in OVER for s in runs.values()), "training on two ranks", 90)
    if set(scene.states().values()) != {"Completed"}:
        raise ActionFailedError("the training run failed", remedy=f"see {scene.root}/.admit/runs")
    scene.shell("tail -n 2 .admit/runs/*/logs/rank-*.txt")
    scene.shell("admit status")


def _in_sync(scene: Scene) -> None:
    _headline("in sync", "a second pass settles it, and finds nothing more to do")
    scene.shell("admit reconcile")
    scene.shell("admit drift")


def _verified(scene: Scene) -> None:
    _headline("verified", "from the registered model back to who approved it, edge by edge")
    scene.shell("admit verify models:/digits/1 --online")


def _unpinned(scene: Scene) -> None:
    _headline("refused", "a tag can be moved to another image after the review")
    scene.shell("git switch --quiet -c retag", quiet=True)
    job = (scene.root / "jobs/digits.yml").read_text("utf-8")
    scene.write("jobs/digits.yml", re.sub(r"@sha256:\w+", ":latest", job))
    scene.shell("git diff --unified=0 jobs/digits.yml | tail -n 2")
    scene.shell("git commit --quiet -am 'use the latest image'", quiet=True)
    scene.shell("admit check", expect=4)
    scene.shell("git switch --quiet main", quiet=True)


def _revoked(scene: Scene) -> None:
    _headline("revoked", "a longer job runs, until its admission is withdrawn by an owner")
    digest = scene.shell("python -m train.data digest .admit/data/digits/1", quiet=True).strip()
    scene.shell("git switch --quiet -c longer", quiet=True)
    scene.write("jobs/digits-long.yml", _job("digits-long", digest, 100_000))
    scene.shell("git add . && git commit --quiet -m 'train for longer'", quiet=True)
    scene.shell("admit approve jobs/digits-long.yml --as @lin")
    _merge(scene, "longer")
    scene.shell("admit reconcile")
    scene.wait(lambda runs: "Running" in runs.values(), "the longer job starts", 30)
    scene.shell("git switch --quiet -c revoke && git rm --quiet admissions/digits.md")
    scene.shell("git commit --quiet -m 'withdraw the admission of digits'", quiet=True)
    scene.shell("admit approve admissions/digits.md --as @lin")
    _merge(scene, "revoke")
    scene.shell("admit reconcile")
    scene.wait(lambda runs: "Canceled" in runs.values(), "the run ends", 30)
    scene.shell("admit status")


def _explained(scene: Scene) -> None:
    _headline("explained", "why it ended, from the ledger alone; and that nobody changed it")
    (run,) = (run for run in scene.states() if run.startswith("digits-long"))
    scene.shell("admit reconcile")
    scene.shell(f"admit explain {run}")
    scene.shell("git log --format='%h %s' admit-ledger | head -n 12")
    scene.shell("admit ledger fsck --all")


def _stop_all(scene: Scene) -> None:
    """Leave nothing running, however the demo ended."""
    workspace = scene.workspace
    for run in workspace.runs():
        if run.state not in OVER:
            workspace.cancel(run.run, "the demo is over")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(r.state not in OVER for r in workspace.runs()):
        time.sleep(0.2)


def _farewell(scene: Scene, seconds: float, *, keep: bool) -> None:
    click.secho(f"\nThat was the life of one job, in {seconds:.0f} seconds.", bold=True)
    if not keep:
        return
    click.echo(f"The scratch repository is {scene.root}. Where to look next:\n")
    click.echo("  admissions/, jobs/        what was reviewed; the history has every step")
    click.echo("  .admit/runs/              a log a rank, and why each run was admissible")
    click.echo("  mlflow.db, results.db     the registered model and the row of results")
    click.echo("\nTo use its commands there:\n")
    click.echo(f"  cd {scene.root}")
    for name, value in sorted(scene.place.items()):
        click.echo(f"  export {name}={value}")

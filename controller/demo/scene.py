"""The scratch repository of the demo, and how its commands are run and shown."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from controller.adapters.local import LocalWorkspace
from controller.errors import ActionFailedError
from controller.wiring import world_from

POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Scene:
    """A folder with a repository in it, and the environment of everything that happens there."""

    root: Path

    @property
    def environ(self) -> dict[str, str]:
        """The environment of every command: nothing of the caller's but PATH and the like."""
        here = Path(sys.executable).parent
        kept = {
            k: v for k, v in os.environ.items() if k in ("LANG", "LC_ALL", "TMPDIR", "NO_COLOR")
        }
        return {
            **kept,
            "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.root),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.com" for who in ("AUTHOR", "COMMITTER")},
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.place,
        }

    @property
    def place(self) -> Mapping[str, str]:
        """The variables of Admit itself, as a reader would export them."""
        return {
            "ADMIT_WORKSPACE": "local",
            "ADMIT_HOST": "local",
            "ADMIT_STATE_DIR": str(self.root / ".admit"),
            "ADMIT_MLFLOW_TRACKING_URI": f"sqlite:///{self.root}/mlflow.db",
            "ADMIT_RESULTS_URL": f"sqlite:///{self.root}/results.db",
        }

    def shell(self, command: str, *, expect: int = 0, quiet: bool = False) -> str:
        """Run one command line, show it and what it printed, and return its standard output.

        Raises ActionFailedError when the exit code is another than `expect`.
        """
        if not quiet:
            click.secho(f"$ {command}", bold=True)
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        shown = (done.stdout + done.stderr).strip()
        if not quiet and shown:
            click.echo("".join(f"  {line}\n" for line in shown.splitlines()))
        if done.returncode != expect:
            raise ActionFailedError(
                f"`{command}` ended with {done.returncode}, not {expect}: {shown[-2000:]}",
                remedy=f"look into {self.root}",
            )
        return done.stdout

    def write(self, path: str, text: str) -> None:
        """Write one file of the repository."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    @property
    def workspace(self) -> LocalWorkspace:
        """The workspace of the demo's runs."""
        return world_from(self.environ, self.root).workspace

    def states(self) -> dict[str, str]:
        """Return the state of every run, by name."""
        return {run.run: run.state for run in self.workspace.runs()}

    def wait(self, until: Callable[[dict[str, str]], bool], what: str, seconds: float) -> None:
        """Wait until the runs are as `until` wants them; bounded, and telling what for."""
        click.secho(f"… {what}", dim=True)
        deadline = time.monotonic() + seconds
        while not until(self.states()):
            if time.monotonic() > deadline:
                raise ActionFailedError(
                    f"{what} took more than {seconds:.0f} seconds",
                    remedy=f"look into {self.root}/.admit/runs",
                )
            time.sleep(POLL_SECONDS)

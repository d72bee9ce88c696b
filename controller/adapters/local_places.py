"""Where the local workspace keeps things below its state folder. All of it is private (0700)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of one state folder. Names must have been checked: they become parts of paths."""

    state_dir: Path

    def run(self, run: str) -> Path:
        """The folder of a run."""
        return self.state_dir / "runs" / run

    def work(self, run: str) -> Path:
        """The working directory of all ranks."""
        return self.run(run) / "work"

    def log(self, run: str, rank: int) -> Path:
        """What a rank prints."""
        return self.run(run) / "logs" / f"rank-{rank}.txt"

    def supervisor_log(self, run: str) -> Path:
        """What the supervisor says."""
        return self.run(run) / "logs" / "supervisor.txt"

    def record(self, run: str) -> Path:
        """Why the run was admissible: the admission record, as submitted."""
        return self.run(run) / "record.json"

    def output(self, run: str, name: str) -> Path:
        """An output that has no path of its own."""
        return self.run(run) / "outputs" / name

    def asset(self, name: str, version: str) -> Path:
        """A data asset: `azureml:<name>:<version>`."""
        return self.state_dir / "data" / name / version

    def datastore(self, datastore: str, path: str) -> Path:
        """A path of a datastore: `azureml://datastores/<datastore>/paths/<path>`."""
        return self.state_dir / "datastores" / datastore / path


def make_private(folder: Path) -> None:
    """Make a folder, and those above that are missing, for this user alone."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)

"""A team's MLflow and results database in a folder, and jobs started as Azure ML starts them."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # else this folder can pass for the package of the same name

from train.data import digest, write_digits  # noqa: E402

SECONDS = 240.0
AZURE = {
    "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
    "MLFLOW_TRACKING_TOKEN": "azure-secret",
    "MLFLOW_RUN_ID": "0" * 32,
    "MLFLOW_EXPERIMENT_ID": "77",
}
"""What Azure ML injects: an MLflow of its own, which a job must never talk to."""


@dataclass(frozen=True)
class Ended:
    """How one rank ended."""

    code: int
    out: str
    err: str


@dataclass
class Site:
    """A place where jobs run: data, checkpoints, MLflow and results below one folder."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def tracking_uri(self) -> str:
        return f"sqlite:///{self.folder}/mlflow.db"

    @property
    def results_url(self) -> str:
        return f"sqlite:///{self.folder}/results.db"

    def checkpoints(self, run: str) -> list[Path]:
        return sorted((self.folder / "checkpoints" / run).glob("*.pt"))

    def block(self, run: str, **changed: str) -> dict[str, str]:
        """The injected block of `run`, with some of its variables changed."""
        return {
            "ADMIT_RUN": run,
            "ADMIT_ADMISSION": "digits",
            "ADMIT_COMMIT": "c0ffee" + "0" * 34,
            "ADMIT_RECORD": "sha256:" + "1" * 64,
            "ADMIT_DATASET_DIGEST": digest(self.data),
            "ADMIT_IMAGE": "acme.azurecr.io/train@sha256:" + "2" * 64,
            "ADMIT_MODEL": f"model-of-{run}",
            "ADMIT_MLFLOW_TRACKING_URI": self.tracking_uri,
            "ADMIT_RESULTS_URL": self.results_url,
            **changed,
        }

    def start(
        self, program: list[str], environ: Mapping[str, str], ranks: int = 0
    ) -> list[subprocess.Popen[str]]:
        """Start Python with `program`: one plain process, or `ranks` of them on one node."""
        base = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        node = {"NODE_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        launched = [
            {**node, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
            for rank in range(ranks)
        ]
        processes = [
            subprocess.Popen(
                [sys.executable, *program],
                env={**base, **AZURE, **launch, **environ},
                cwd=self.folder,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for launch in launched or [{}]
        ]
        self.started += processes
        return processes

    def end(self, processes: list[subprocess.Popen[str]]) -> list[Ended]:
        """Wait for all of them at once; a job that hangs fails the test after `SECONDS`."""
        with ThreadPoolExecutor(len(processes)) as pool:
            texts = list(pool.map(lambda one: one.communicate(timeout=SECONDS), processes))
        return [Ended(one.returncode, *text) for one, text in zip(processes, texts, strict=True)]

    def run(self, program: list[str], environ: Mapping[str, str], ranks: int = 0) -> list[Ended]:
        """Start and wait."""
        return self.end(self.start(program, environ, ranks))

    def first_line(self, process: subprocess.Popen[str]) -> str:
        """Wait for the first line that `process` prints, at most `SECONDS`."""
        assert process.stdout
        watch = Timer(SECONDS, process.kill)
        watch.start()
        try:
            return process.stdout.readline()
        finally:
            watch.cancel()

    def job(self, *arguments: str) -> list[str]:
        """The program of a job that trains on this site's data."""
        places = ["--data", str(self.data), "--checkpoints", str(self.folder / "checkpoints")]
        return ["-m", "train.train_distributed", *places, *arguments]

    def rows(self, run: str) -> list[dict[str, object]]:
        """The rows of `run` in the results database."""
        with sqlite3.connect(self.folder / "results.db") as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute("select * from training_runs where run = ?", (run,))
            return [dict(row) for row in found]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"))
    write_digits(made.data)
    yield made
    for process in made.started:
        process.kill()
        process.wait()


@pytest.fixture(scope="session", autouse=True)
def _quiet_mlflow() -> Iterator[None]:
    """Keep the MLflow of the tests themselves from reporting its use over the network."""
    with pytest.MonkeyPatch.context() as here:
        here.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        yield

"""Measure whole processes on repositories made for it, and print one line a figure.

`python -m tests.benchmarks [MANIFESTS]`; 10,000 by default. `check-jsonschema`, when it is
installed, is measured on the same files in the same run.
"""

from __future__ import annotations

import datetime
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.benchmarks import passes
from tests.cli.conftest import ADMISSION, IMAGE, POLICY

BIN = Path(sys.executable).parent
MANIFEST = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
type: command
name: job-NUMBER
display_name: Job NUMBER
description: Trains model NUMBER on two nodes
experiment_name: digits
command: >-
  python -m train.train_distributed
  --data ${{inputs.data}}
  --checkpoints ${{outputs.checkpoints}}
  --lr ${{inputs.lr}}
inputs:
  data:
    type: uri_folder
    path: "azureml:digits:NUMBER"
  lr: 1e-3
outputs:
  checkpoints:
    type: uri_folder
    path: "azureml://datastores/training/paths/job-NUMBER/checkpoints"
environment:
  image: IMAGE
environment_variables:
  LOG_LEVEL: info
  SEED: "NUMBER"
compute: azureml:pair
resources: {instance_count: 2, shm_size: 8g}
distribution: {type: pytorch, process_count_per_instance: 1}
limits: {timeout: 60}
tags: {admission: digits, team: claims}
"""


def main() -> None:
    manifests = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder) / "one", Path(folder) / "many"
        repository(one, 1)
        repository(many, manifests)
        seconds("admit --help", [BIN / "admit", "--help"], one)
        seconds("check, one manifest, nothing remembered", CHECK, one, before=forget)
        seconds("check, one manifest", CHECK, one)
        cold = seconds(f"check, {manifests:,} manifests", CHECK, many, times=3, before=forget)
        seconds(f"check, {manifests:,} manifests, unchanged", CHECK, many, times=3)
        passes.settled_ledger(many)
        steady = f"reconcile, {manifests:,} settled manifests"
        seconds(steady, [BIN / "admit", "reconcile"], many, times=3, more=passes.PLACE)
        passes.asked(many)
        others(many, manifests, cold)


CHECK: Sequence[str | Path] = (BIN / "admit", "check")


def others(repo: Path, manifests: int, ours: float) -> None:
    """Measure check-jsonschema with our published schema on the same files."""
    tool = BIN / "check-jsonschema"
    if not tool.exists():
        print("check-jsonschema is not installed: nothing to compare with")
        return
    schema = Path(__file__).parents[2] / "controller/documents/schemas/command-job.schema.json"
    files = sorted(repo.glob("jobs/**/*.yml"))
    theirs = seconds(
        f"check-jsonschema, {manifests:,} manifests",
        [tool, "--schemafile", schema, *files],
        repo,
        times=1,
    )
    print(f"{'':50} {theirs / ours:8.1f} times as long as check")


def repository(root: Path, manifests: int) -> None:
    root.mkdir()
    write(root, ".github/CODEOWNERS", "* @ada @lin\n")
    write(root, "admissions/policy.yml", POLICY)
    expires = (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(30)).isoformat()
    text = ADMISSION.format(expires=expires).replace("jobs/*.yml", "jobs/**")
    write(root, "admissions/digits.md", text)
    for number in range(manifests):
        write(
            root,
            f"jobs/{number % 100:02}/{number}.yml",
            MANIFEST.replace("NUMBER", str(number)).replace("IMAGE", IMAGE),
        )
    for command in (["init", "-q", "-b", "main", "."], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run(
            ["git", "-c", "gc.auto=0", *command], cwd=root, check=True, env=environment()
        )
    subprocess.run(["git", "gc", "-q"], cwd=root, check=True, env=environment())


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def forget(root: Path) -> None:
    shutil.rmtree(root / ".git/admit", ignore_errors=True)


def environment() -> dict[str, str]:
    who = {
        f"GIT_{w}_{k}": "ada@example.com"
        for w in ("AUTHOR", "COMMITTER")
        for k in ("NAME", "EMAIL")
    }
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "NO_COLOR": "1", **who}


def seconds(
    what: str,
    command: Iterable[str | Path],
    root: Path,
    *,
    times: int = 7,
    before: object = None,
    more: Mapping[str, str] | None = None,
) -> float:
    """Print the median and the least wall time of whole processes, and the most memory."""
    taken = []
    for _ in range(times):
        if callable(before):
            before(root)
        began = time.perf_counter()
        done = subprocess.run(
            [str(word) for word in command],
            cwd=root,
            env={**environment(), **(more or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        taken.append(time.perf_counter() - began)
        if done.returncode:
            sys.exit(f"{what}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    median = sorted(taken)[len(taken) // 2]
    print(f"{what:50} {median:8.3f} s, least {min(taken):.3f} s, at most {memory:.0f} MiB so far")
    return median


if __name__ == "__main__":
    main()

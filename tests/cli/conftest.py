"""A scratch repository with a sound admission and job, and the real commands in it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.cli import main

IMAGE = "registry.example.com/train@sha256:" + "1f" * 32
POLICY = """\
version: 1
approvals: {minimum: 1, manifests: 1}
limits: {admission_days: 180, gpu_hours: 10, max_nodes: 4, min_gpus: 2, cancels_per_pass: 3}
kinds: [command]
registries: [registry.example.com]
code: image
baseline: {name: one process, gpus: 1, gpu_memory_gib: 16}
compute:
  pair:
    vm_size: this-machine
    gpus_per_node: 1
    gpu_memory_gib: 16
    max_nodes: 2
    price_per_node_hour: 4.00
    currency: USD
hold: null
"""
WORDS = "The baseline misses the deadline by a factor of three, as the cited run shows. " * 3
ADMISSION = f"""\
---
admission: digits
title: Train the digits
owner: "@ada"
model: digits
expires: {{expires}}
grant:
  kinds: [command]
  jobs: ["jobs/*.yml"]
  images: [registry.example.com/train]
  compute: [pair]
  max_nodes: 2
  gpu_hours: 1
evidence:
  outcome: out_of_memory
  parameters: 1.3e9
  precision: fp32
  optimizer: adam
  activation_gib: 2
  peak_gib: 15.5
---
## Why one node is not enough

{WORDS}

## What was measured

{WORDS}

## Alternatives considered

{WORDS}

## Cost and stop condition

{WORDS}
"""
JOB = f"""\
type: command
name: {{name}}
experiment_name: digits
command: "{{command}}"
environment:
  image: {IMAGE}
compute: azureml:pair
resources: {{{{instance_count: 2}}}}
distribution: {{{{type: pytorch, process_count_per_instance: 1}}}}
limits: {{{{timeout: 600}}}}
tags: {{{{admission: digits}}}}
"""


@dataclass
class Scratch:
    """The repository, and what commands printed last."""

    root: Path
    capsys: pytest.CaptureFixture[str]
    out: str = ""
    err: str = ""

    @property
    def said(self) -> str:
        """What was printed last, on one line: reports wrap."""
        return " ".join(self.out.split())

    def git(self, *args: str) -> str:
        return subprocess.run(
            ["git", *args], cwd=self.root, check=True, capture_output=True, text=True
        ).stdout

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def job(self, name: str, command: str = "true", **changes: str) -> None:
        text = JOB.format(name=name, command=command)
        for old, new in changes.items():
            text = text.replace(old, new)
        self.write(f"jobs/{name}.yml", text)

    def commit(self, message: str = "change") -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def admit(self, *args: str) -> int:
        self.capsys.readouterr()
        code = main(["--repo", str(self.root), *args])
        self.out, self.err = self.capsys.readouterr()
        return code

    def approve(self, *paths: str, login: str = "@lin") -> None:
        for path in paths:
            assert self.admit("approve", path, "--as", login) == 0, self.err

    def until(self, word: str, seconds: float = 20) -> None:
        """Ask for the status until it shows `word`; bounded."""
        deadline = time.monotonic() + seconds
        while self.admit("status") == 0 and word not in self.out:
            assert time.monotonic() < deadline, self.out
            time.sleep(0.05)


@pytest.fixture
def scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Scratch:
    """A repository with policy and owners on main, in an environment of its own."""
    root = tmp_path / "repo"
    root.mkdir()
    for name in [n for n in os.environ if n.startswith(("ADMIT_", "GIT_", "MLFLOW_", "AZURE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.com")
    monkeypatch.setenv("ADMIT_WORKSPACE", "local")
    monkeypatch.setenv("ADMIT_HOST", "local")
    monkeypatch.setenv("ADMIT_STATE_DIR", str(tmp_path / "state"))
    made = Scratch(root, capsys)
    made.git("init", "--quiet", "--initial-branch=main", ".")
    made.write(".github/CODEOWNERS", "* @ada @lin\n")
    made.write("admissions/policy.yml", POLICY)
    made.commit("policy and owners")
    assert made.admit("ledger", "init") == 0, made.err
    return made


@pytest.fixture
def admission() -> Callable[[str], str]:
    """The text of a sound admission that expires on a given day."""
    return lambda expires: ADMISSION.format(expires=expires)

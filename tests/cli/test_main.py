"""The command line itself: the table, wrong arguments, bugs, and what `--help` imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controller.cli import COMMANDS, admit, main
from controller.errors import UsageError
from controller.wiring import world_from
from tests.cli.conftest import Scratch

FORBIDDEN = ("azure", "github", "mlflow", "torch", "requests", "asyncio", "importlib.metadata")


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-c",
            "import controller.cli as c; c.main(['--help'])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    roots = {name for name in imported for f in FORBIDDEN if name == f or name.startswith(f + ".")}
    assert roots == set()
    assert "GitOps for expensive training" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"admit {name}" in out
    assert "Example" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chekc"], "No such command 'chekc'"),
        (["check", "--bse", "x"], "No such option"),
        (["check", "--format", "xml"], "'xml' is not one of"),
        (["--repo", "/nowhere/at/all", "check"], "does not exist"),
        ([], "Usage"),
    ],
)
def test_wrong_arguments_exit_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_folder_without_a_repository_could_not_be_run_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--repo", str(tmp_path), "check"])
    assert code == 8
    assert "not a git repository" in capsys.readouterr().err.lower()


def test_a_bug_is_one_line_and_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(admit, "main", broken)
    assert main(["check"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "ZeroDivisionError" in err
    (details,) = tmp_path.glob("admit-bug-*.txt")
    assert str(details) in err
    assert "boom" in details.read_text()


@pytest.mark.parametrize("variable", ["ADMIT_WORKSPACE", "ADMIT_HOST"])
def test_there_is_no_default_workspace_or_host(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv(variable)
    assert scratch.admit("plan") == 2
    assert f"`{variable}` is not set" in scratch.err


def test_local_approvals_do_not_count_for_azure(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIT_WORKSPACE", "azureml")
    assert scratch.admit("plan") == 2
    assert "approvals of the local host do not count" in scratch.err


def test_a_url_with_credentials_is_refused_and_not_repeated(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIT_MLFLOW_TRACKING_URI", "https://ada:hunter2@mlflow.example.com")
    assert scratch.admit("plan") == 2
    assert "contains credentials" in scratch.err
    assert "hunter2" not in scratch.err + scratch.out


def test_a_template_passes_the_shape_check_but_not_unfilled(scratch: Scratch) -> None:
    assert scratch.admit("new", "admission", "bert") == 0
    assert scratch.admit("new", "job", "bert") == 0
    assert scratch.admit("new", "job", "bert") == 2
    assert "there already" in scratch.err
    assert scratch.admit("check", "--worktree") == 3
    assert "thin-section" in scratch.out or "has" in scratch.out


def test_max_cancels_needs_a_reason(scratch: Scratch) -> None:
    assert scratch.admit("reconcile", "--max-cancels", "3") == 2
    assert "go together" in scratch.err


@pytest.mark.parametrize(
    "url",
    [
        "ada:pw@host:80/x",
        "https://x.example.com/?sig=" + "a" * 40,
        "https://ada@x.example",
        "postgresql://ada@db.example/results",
    ],
)
def test_a_url_that_jobs_must_not_see_is_refused(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("ADMIT_RESULTS_URL", url)
    scratch.git("commit", "--quiet", "--allow-empty", "--message", "x")
    with pytest.raises(UsageError, match="`ADMIT_RESULTS_URL`"):
        _ = world_from(os.environ, scratch.root).surroundings


@pytest.mark.parametrize("out", ["/nonexistent/plan.json", "/dev/full"])
def test_a_plan_that_cannot_be_written_is_no_bug(scratch: Scratch, out: str) -> None:
    assert scratch.admit("plan", "--out", out) == 8
    assert f"`{out}`" in scratch.err or "No space" in scratch.err


def test_a_plan_that_nests_without_end_is_no_bug(scratch: Scratch) -> None:
    scratch.write("plan.json", "[" * 100_000)
    assert scratch.admit("apply", str(scratch.root / "plan.json")) == 2
    assert "is not a plan that can be read" in scratch.err


def test_a_commit_cannot_bring_the_state_along(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADMIT_STATE_DIR")
    scratch.write(".admit/workspace.db", "")
    scratch.git("add", "--force", ".admit")
    scratch.commit("an empty account")
    assert scratch.admit("reconcile") == 8
    assert "can be overwritten by a commit" in scratch.err


def test_an_empty_state_folder_is_the_default(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIT_STATE_DIR", "")
    assert world_from(os.environ, scratch.root).state_dir == scratch.root / ".admit"


def test_new_follows_no_link_out_of_the_repository(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (scratch.root / "jobs").symlink_to(tmp_path / "elsewhere")
    assert scratch.admit("new", "job", "x") == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_reason_cannot_write_lines_of_its_own(scratch: Scratch) -> None:
    scratch.admit("reconcile", "--max-cancels", "1", "--reason", "a\n::error::b")
    assert "\n::error::" not in scratch.err


def test_a_path_out_of_the_repository_cannot_be_approved(scratch: Scratch) -> None:
    assert scratch.admit("approve", "../x", "--as", "@ada") == 2

"""Only one pass at a time, also when its process is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from controller.adapters.local_lock import exclusively
from controller.errors import CannotRunError, UnavailableError
from tests.adapters.local_examples import Local

HOLD = (
    "import sys; from pathlib import Path\n"
    "from controller.adapters.local_lock import exclusively\n"
    "with exclusively(Path(sys.argv[1])):\n"
    "    print('held', flush=True); sys.stdin.readline()\n"
)


def test_another_process_waits_a_bounded_time_and_a_killed_one_holds_nothing(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(CannotRunError, match="another pass holds"):
            exclusively(tmp_path, seconds=0.2).__enter__()
        other.kill()
        other.wait()
    with exclusively(tmp_path, seconds=10):
        pass


def test_one_after_the_other_is_no_wait(tmp_path: Path) -> None:
    for _ in range(2):
        with exclusively(tmp_path / "new", seconds=0):
            pass


def test_a_workspace_is_held_by_one_pass(local: Local) -> None:
    with local.workspace.exclusively():
        with pytest.raises(CannotRunError, match="another pass holds") as error:
            local.workspace.exclusively(seconds=0).__enter__()
        assert error.value.remedy == "let it end, then run this again"
    with local.workspace.exclusively(seconds=0):
        assert local.workspace.runs() == ()


@pytest.mark.parametrize("folder", ["file", "state"])
def test_where_nothing_can_be_locked_it_is_said(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "state/pass.lock").mkdir(parents=True)
    with pytest.raises(UnavailableError, match="lock` cannot be locked"):
        exclusively(tmp_path / folder, seconds=0).__enter__()

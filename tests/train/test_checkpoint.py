"""A checkpoint survives a kill at any moment, and no code comes out of one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from train import checkpoint


def saved(folder: Path, epochs: int) -> list[Path]:
    return [
        checkpoint.save(folder, epoch, {"epoch": epoch, "w": torch.ones(1000)})
        for epoch in range(1, epochs + 1)
    ]


def test_there_is_none_at_first(tmp_path: Path) -> None:
    assert checkpoint.newest(tmp_path / "not there") is None


def test_the_newest_is_found_and_three_are_kept(tmp_path: Path) -> None:
    paths = saved(tmp_path, 11)
    assert checkpoint.newest(tmp_path) == paths[-1]
    assert checkpoint.load(paths[-1])["epoch"] == 11
    marks = [path.with_name(f"{path.name}.sha256") for path in paths[-3:]]
    assert sorted(tmp_path.iterdir()) == sorted([*paths[-3:], *marks])


def test_a_truncated_newest_falls_back_to_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, before, newest = saved(tmp_path, 3)
    newest.write_bytes(newest.read_bytes()[:1000])
    assert checkpoint.newest(tmp_path) == before
    assert capsys.readouterr().err == (
        f"checkpoint {newest.name} is damaged, trying the one before\n"
    )


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    before, newest = saved(tmp_path, 2)
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    assert checkpoint.newest(tmp_path) == before


def test_a_checkpoint_without_its_mark_does_not_count(tmp_path: Path) -> None:
    before, newest = saved(tmp_path, 2)
    newest.with_name(f"{newest.name}.sha256").unlink()
    (tmp_path / "epoch-000000003.pt.tmp").write_bytes(b"killed while writing")
    assert checkpoint.newest(tmp_path) == before


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    path = checkpoint.save(tmp_path, 1, {"epoch": Evil()})
    with pytest.raises(Exception, match="weights_only"):
        checkpoint.load(path)
    assert not (tmp_path / "ran").exists()

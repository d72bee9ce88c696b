"""Where training stood: written so that a kill at any moment leaves a sound file to go on from.

A checkpoint is `epoch-<n>.pt` and, as its commit mark, `epoch-<n>.pt.sha256` written after it.
Files hold tensors and plain values only and are read with `weights_only`: no code runs on load.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch

KEEP = 3


def save(folder: Path, epoch: int, state: Mapping[str, Any]) -> Path:
    """Write the state after `epoch` epochs; the newest `KEEP` checkpoints stay."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"epoch-{epoch:09d}.pt"
    _write(path, lambda file: torch.save(dict(state), file))
    content = _sha256(path).encode()
    _write(_mark(path), lambda file: file.write(content))
    for old in _newest_first(folder)[KEEP:]:
        _mark(old).unlink(missing_ok=True)
        old.unlink()
    return path


def newest(folder: Path) -> Path | None:
    """Return the newest sound checkpoint, or None; a damaged one is reported and passed over."""
    for path in _newest_first(folder):
        if _mark(path).is_file() and _mark(path).read_text() == _sha256(path):
            return path
        sys.stderr.write(f"checkpoint {path.name} is damaged, trying the one before\n")
    return None


def load(path: Path) -> dict[str, Any]:
    """Return the state in `path`, on the CPU."""
    state: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return state


def _newest_first(folder: Path) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted((p for p in found if re.fullmatch(r"epoch-\d{9}\.pt", p.name)), reverse=True)


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write beside `path`, sync, rename, and sync the folder."""
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    with contextlib.suppress(OSError):  # a mounted blob container may not sync folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

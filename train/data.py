"""The data set: its digest, its arrays, and which samples a rank sees in which step.

`python -m train.data digits DIR` writes scikit-learn's digits as DIR/digits.npz;
`python -m train.data digest PATH` takes a folder or one file. Both print the digest.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from train.errors import RefusedError

FILE = "digits.npz"
_ARRAYS = ("x_train", "y_train", "x_test", "y_test")


@dataclass(frozen=True, slots=True)
class Dataset:
    """Images as rows of 64 float32 from 0 to 1, labels as int64 from 0 to 9, and their digest."""

    x_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    x_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    digest: str

    @property
    def size(self) -> int:
        """How many samples one epoch trains on."""
        return len(self.y_train)


def digest(path: Path) -> str:
    """Return `sha256:<64 hex>` over the sorted lines `<sha256 of file>  <relative posix path>`.

    One file has the digest of the folder that holds only that file.
    """
    root = path if path.is_dir() else path.parent
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    try:
        lines = sorted(f"{_sha256(p)}  {p.relative_to(root).as_posix()}\n" for p in files)
    except OSError as error:
        raise RefusedError(f"`{path}` cannot be read: {error.strerror}") from error
    if not lines:
        raise RefusedError(f"`{path}` holds no files")
    if any(line.count("\n") > 1 for line in lines):
        raise RefusedError(f"`{path}` holds a file with a line break in its name")
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()


def load(path: Path, expected: str) -> Dataset:
    """Read `path`, a folder with digits.npz or that file; refuse other data than `expected`."""
    found = digest(path)
    if expected and found != expected:
        raise RefusedError(f"the data set is {found}, but {expected} was admitted")
    file = path / FILE if path.is_dir() else path
    try:
        with np.load(file, allow_pickle=False) as archive:
            x_train, y_train, x_test, y_test = (archive[name] for name in _ARRAYS)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RefusedError(f"`{file}` is not a data set of this program: {error}") from error
    for x, y in ((x_train, y_train), (x_test, y_test)):
        if x.shape != (len(y), 64) or x.dtype != np.float32 or y.dtype != np.int64:
            raise RefusedError(f"`{file}` does not hold rows of 64 float32 with int64 labels")
    return Dataset(x_train, y_train, x_test, y_test, found)


def batches(
    size: int, batch: int, *, seed: int, epoch: int, rank: int, world_size: int
) -> Iterator[NDArray[np.int64]]:
    """Yield, step by step, the indices of this rank's equal share of each global batch.

    The order follows from `seed` and `epoch` alone (what `set_epoch` is for), so any number of
    ranks sees the same global batches; a last batch that is not full is left out.
    """
    order = np.random.default_rng([seed, epoch]).permutation(size)
    share = batch // world_size
    for start in range(0, size - batch + 1, batch):
        mine = start + rank * share
        yield order[mine : mine + share]


def write_digits(folder: Path) -> Path:
    """Write scikit-learn's digits as `folder`/digits.npz, the same bytes every time.

    Every fifth sample is held out for the test.
    """
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    x, y = (images / 16).astype("<f4"), labels.astype("<i8")
    held = np.arange(len(y)) % 5 == 4
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / FILE, "w", zipfile.ZIP_STORED) as archive:
        for name, array in zip(_ARRAYS, (x[~held], y[~held], x[held], y[held]), strict=True):
            _add(archive, name, array)
    return folder / FILE


def _add(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    member.create_system = 3  # otherwise the platform's, and other bytes
    with archive.open(member, "w") as file:
        np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def main(argv: Sequence[str]) -> int:
    """Run `digits DIR` or `digest PATH`; both print the digest."""
    try:
        match argv:
            case ["digits", folder]:
                found = digest(write_digits(Path(folder)))
            case ["digest", path]:
                found = digest(Path(path))
            case _:
                raise RefusedError("expected `digits DIR` or `digest PATH`")
    except RefusedError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write(f"{found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

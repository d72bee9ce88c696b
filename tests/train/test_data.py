"""The digest that binds a run to its data, and who sees which sample when."""

from __future__ import annotations

import hashlib
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from train.data import FILE, batches, digest, load, main, write_digits
from train.errors import RefusedError

DIGITS = "sha256:e0cfda10c54e6c6d2632fd7bf467633db1ba678aee8eb388b88e903b642c6985"


def test_the_digest_is_over_sorted_lines_of_file_digest_and_path(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one").write_bytes(b"1")
    (tmp_path / "two").write_bytes(b"2")
    one, two = (hashlib.sha256(text).hexdigest() for text in (b"1", b"2"))
    lines = "".join(sorted([f"{one}  b/one\n", f"{two}  two\n"]))
    assert digest(tmp_path) == "sha256:" + hashlib.sha256(lines.encode()).hexdigest()


def test_a_renamed_or_changed_file_has_another_digest(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    before = digest(tmp_path)
    (tmp_path / "one").write_bytes(b"2")
    changed = digest(tmp_path)
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "one").rename(tmp_path / "eno")
    assert len({before, changed, digest(tmp_path)}) == 3


def test_digits_are_the_same_bytes_every_time_and_a_file_has_its_folders_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["digits", str(tmp_path / "first")]) == 0
    file = write_digits(tmp_path / "second")
    assert capsys.readouterr().out == f"{DIGITS}\n"
    assert digest(file) == digest(file.parent) == DIGITS
    dataset = load(file.parent, DIGITS)
    assert (dataset.x_train.shape, dataset.x_test.shape) == ((1438, 64), (359, 64))
    assert 0 <= dataset.x_train.min() < dataset.x_train.max() == 1


def test_other_data_than_the_admitted_is_refused_with_both_digests(tmp_path: Path) -> None:
    found = digest(write_digits(tmp_path))
    admitted = "sha256:" + "0" * 64
    with pytest.raises(RefusedError) as refused:
        load(tmp_path, admitted)
    assert str(refused.value) == f"the data set is {found}, but {admitted} was admitted"


@pytest.mark.parametrize(
    "arrays, part",
    [
        ({}, "is not a data set of this program"),
        ({"x_train": np.zeros((2, 3)), "y_train": np.zeros(2)}, "is not a data set"),
        (
            dict.fromkeys(("x_train", "x_test"), np.zeros((2, 3)))
            | dict.fromkeys(("y_train", "y_test"), np.zeros(2)),
            "does not hold rows of 64 float32",
        ),
    ],
)
def test_a_file_of_another_shape_is_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], part: str
) -> None:
    np.savez(tmp_path / FILE, **arrays)
    with pytest.raises(RefusedError, match=part):
        load(tmp_path, "")


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    objects = dict.fromkeys(("x_train", "y_train", "x_test", "y_test"), np.array([{}, {}]))
    np.savez(tmp_path / FILE, **objects)
    with pytest.raises(RefusedError, match="allow_pickle"):
        load(tmp_path, "")


@pytest.mark.parametrize("argv", [[], ["digits"], ["digest", "nowhere"], ["digset", "x"]])
def test_wrong_arguments_are_refused_in_one_line(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.startswith("error: ")


def order(epoch: int, rank: int = 0, world_size: int = 1) -> list[list[int]]:
    shares = batches(100, 8, seed=7, epoch=epoch, rank=rank, world_size=world_size)
    return [[int(index) for index in share] for share in shares]


def test_any_number_of_ranks_sees_the_same_global_batches() -> None:
    for ranks in (2, 4):
        parts = [order(0, rank, ranks) for rank in range(ranks)]
        together = [[*chain(*step)] for step in zip(*parts, strict=True)]
        assert together == order(0)


def test_each_epoch_has_an_order_of_its_own_that_a_resumed_run_finds_again() -> None:
    assert order(0) != order(1)
    assert order(1) == order(1)
    assert len({index for step in order(1) for index in step}) == 96

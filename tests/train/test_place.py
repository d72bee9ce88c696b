"""Where a process stands, and what a launcher must say of it."""

from __future__ import annotations

import pytest

from train.errors import RefusedError
from train.place import Place, place_from

AZURE_ML = {
    "RANK": "5",
    "LOCAL_RANK": "1",
    "WORLD_SIZE": "8",
    "NODE_RANK": "1",
    "MASTER_ADDR": "10.0.0.4",
    "MASTER_PORT": "6105",
}


def test_azure_ml_and_torchrun_say_the_same_in_other_words() -> None:
    torchrun = {**AZURE_ML, "GROUP_RANK": "1"}
    del torchrun["NODE_RANK"]
    place = Place(rank=5, local_rank=1, world_size=8, node_rank=1, launched=True)
    assert place_from(AZURE_ML) == place_from(torchrun) == place


def test_no_launcher_is_rank_zero_of_one() -> None:
    assert place_from({"HOME": "/"}) == Place(0, 0, 1, 0, launched=False)


@pytest.mark.parametrize("left_out", sorted(AZURE_ML))
def test_a_partial_launcher_is_refused_by_name(left_out: str) -> None:
    environ = {name: value for name, value in AZURE_ML.items() if name != left_out}
    with pytest.raises(RefusedError) as refused:
        place_from(environ)
    assert str(refused.value) == f"the launcher's environment is incomplete, it lacks `{left_out}`"


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"RANK": "-1"}, "`RANK` is `-1`, not a whole number"),
        ({"MASTER_PORT": "http"}, "`MASTER_PORT` is `http`, not a whole number"),
        ({"RANK": "8"}, "`RANK` 8 and `LOCAL_RANK` 1 do not fit a `WORLD_SIZE` of 8"),
        ({"LOCAL_RANK": "6"}, "`RANK` 5 and `LOCAL_RANK` 6 do not fit a `WORLD_SIZE` of 8"),
    ],
)
def test_a_launcher_that_contradicts_itself_is_refused(
    wrong: dict[str, str], sentence: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        place_from({**AZURE_ML, **wrong})
    assert str(refused.value) == sentence

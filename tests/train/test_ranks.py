"""All ranks succeed or fail together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Site

PROGRAM = """
import os
from train.errors import RefusedError, TrainError
from train.place import place_from
from train.ranks import open_ranks
ranks = open_ranks(place_from(os.environ))
me = ranks.place.rank
def raises(error):
    raise error
def attempt(do):
    try:
        return do()
    except TrainError as error:
        return f"{type(error).__name__}: {error}"
print(ranks.mean(me, 4.0), ranks.total(me + 1), ranks.largest(me), ranks.nodes)
print(ranks.leader_does(lambda: f"said by {me}"))
print(attempt(lambda: ranks.leader_does(lambda: raises(RefusedError("no such folder")))))
print(attempt(lambda: ranks.together(lambda: me and raises(TrainError("disk full")))))
try:
    ranks.together(lambda: me and raises(KeyError("x")))
except Exception as error:
    print(f"{type(error).__name__}: {error}")
ranks.close()
"""


@pytest.mark.train
def test_all_ranks_get_one_answer_or_one_failure(site: Site) -> None:
    leader, other = site.run(["-c", PROGRAM], {}, ranks=2)
    shared = [
        "[0.5, 4.0] [3.0] [1.0] 1",
        "said by 0",
        "RefusedError: no such folder",
        "TrainError: disk full",
    ]
    assert leader.out.splitlines() == [*shared, "TrainError: rank 1: KeyError: 'x'"]
    assert other.out.splitlines() == [*shared, "KeyError: 'x'"]
    assert (leader.code, other.code) == (0, 0)

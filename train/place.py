"""Where the launcher put this process, read once from its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from train.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Place:
    """Where the launcher put this process. `rank` is global; `local_rank` counts on this node."""

    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    node_rank: int = 0
    launched: bool = False
    restart: int = 0


def place_from(environ: Mapping[str, str]) -> Place:
    """Read the launcher's environment; none at all is rank 0 of 1, a part of it is refused.

    Azure ML sets all six (https://learn.microsoft.com/azure/machine-learning/
    how-to-train-distributed-gpu); torchrun calls NODE_RANK `GROUP_RANK`.
    """
    node = "GROUP_RANK" if "GROUP_RANK" in environ else "NODE_RANK"
    counted = ("RANK", "LOCAL_RANK", "WORLD_SIZE", node)
    wanted = (*counted, "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in wanted if not environ.get(name)]
    if len(missing) == len(wanted):
        return Place()
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise RefusedError(f"the launcher's environment is incomplete, it lacks {names}")
    wrong = [name for name in (*counted, "MASTER_PORT") if not environ[name].isdecimal()]
    if wrong:
        raise RefusedError(f"`{wrong[0]}` is `{environ[wrong[0]]}`, not a whole number")
    restart = int(environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    rank, local_rank, world_size, node_rank = (int(environ[name]) for name in counted)
    if rank >= world_size or local_rank > rank:
        raise RefusedError(
            f"`RANK` {rank} and `LOCAL_RANK` {local_rank} do not fit a `WORLD_SIZE` of {world_size}"
        )
    return Place(rank, local_rank, world_size, node_rank, launched=True, restart=restart)

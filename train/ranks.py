"""All processes of the job, and the few things they do together.

Every wait here has a bound: a collective that no one joins raises after `COLLECTIVE`, and work of
the leader that others wait for (a registration, an upload) after `LEADER_WORK`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from train.errors import RefusedError, TrainError
from train.place import Place

COLLECTIVE = timedelta(minutes=5)
LEADER_WORK = timedelta(hours=2)
T = TypeVar("T")
Told = tuple[type[TrainError], str]


@dataclass(frozen=True, slots=True)
class Ranks:
    """All processes of the job, as one of them sees them. Every method but `leads` is collective.

    `control` is a group of its own, on the CPU and with a longer bound: a slow registration must
    not look like a dead peer (https://github.com/huggingface/accelerate/issues/2912).
    """

    place: Place
    device: torch.device
    control: dist.ProcessGroup
    nodes: int

    @property
    def leads(self) -> bool:
        """Whether this is global rank 0. LOCAL_RANK 0 exists once for each node."""
        return self.place.rank == 0

    def mean(self, *values: float | torch.Tensor) -> list[float]:
        """Return the mean of each value over all ranks, on all ranks."""
        return [value / self.place.world_size for value in self.total(*values)]

    def total(self, *values: float | torch.Tensor) -> list[float]:
        """Return the sum of each value over all ranks, on all ranks."""
        return _reduce(values, self.device, dist.ReduceOp.SUM)

    def largest(self, *values: float | torch.Tensor) -> list[float]:
        """Return the largest of each value over all ranks, on all ranks."""
        return _reduce(values, self.device, dist.ReduceOp.MAX)

    def together(self, fn: Callable[[], T]) -> T:
        """Run `fn` on every rank; if it fails on one, every rank raises, and nobody waits."""
        values: list[T] = []
        error = _error_of(lambda: values.append(fn()))
        told: list[Told | None] = [None] * self.place.world_size
        dist.all_gather_object(told, _told(error, self.place.rank), group=self.control)
        _raise(error, next(filter(None, told), None))
        return values[0]

    def leader_does(self, fn: Callable[[], T]) -> T:
        """Run `fn` on rank 0 only; every rank gets its (picklable) value, or every rank raises."""
        values: list[T] = []
        error = _error_of(lambda: values.append(fn())) if self.leads else None
        box: list[Any] = [_told(error, 0), values]
        dist.broadcast_object_list(box, src=0, group=self.control, device=torch.device("cpu"))
        _raise(error, box[0])
        return cast(T, box[1][0])

    def close(self) -> None:
        """Wait for the others, then leave: rank 0 may host the store that they still use."""
        dist.barrier(group=self.control)
        dist.destroy_process_group()


def open_ranks(place: Place) -> Ranks:
    """Meet the other ranks: NCCL on the GPU that LOCAL_RANK names, gloo without one."""
    device = _device(place)
    try:
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            store=_store(place),
            rank=place.rank,
            world_size=place.world_size,
            timeout=COLLECTIVE,
            device_id=device if device.type == "cuda" else None,
        )
        control = dist.new_group(backend="gloo", timeout=LEADER_WORK)
        ranks = Ranks(place, device, cast(dist.ProcessGroup, control), nodes=1)
        return replace(ranks, nodes=int(ranks.largest(place.node_rank)[0]) + 1)
    except RuntimeError as error:
        why = str(error).partition("\n")[0]
        raise TrainError(f"the {place.world_size} ranks could not meet: {why}") from error


def _device(place: Place) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if place.local_rank >= (count := torch.cuda.device_count()):
        raise RefusedError(f"`LOCAL_RANK` is {place.local_rank}, but this node has {count} GPUs")
    torch.cuda.set_device(place.local_rank)
    return torch.device("cuda", place.local_rank)


def _store(place: Place) -> Store:
    if not place.launched:
        return cast(Store, dist.HashStore())  # type: ignore[attr-defined]
    met = rendezvous("env://", place.rank, place.world_size, timeout=COLLECTIVE)
    # torchrun keeps one store over all restarts: without a prefix gloo finds dead ranks' addresses
    return PrefixStore(f"restart-{place.restart}", next(iter(met))[0])


def _reduce(
    values: tuple[float | torch.Tensor, ...], device: torch.device, op: dist.ReduceOp.RedOpType
) -> list[float]:
    one = [torch.as_tensor(v, dtype=torch.float64, device=device).detach() for v in values]
    reduced = torch.stack(one)
    dist.all_reduce(reduced, op)
    return [float(value) for value in reduced.tolist()]


def _error_of(fn: Callable[[], object]) -> Exception | None:
    try:
        fn()
    except Exception as error:  # noqa: BLE001  (handed to every rank, and raised there)
        return error
    return None


def _told(error: Exception | None, rank: int) -> Told | None:
    if isinstance(error, TrainError):
        return type(error), str(error)
    return (TrainError, f"rank {rank}: {type(error).__name__}: {error}") if error else None


def _raise(error: Exception | None, told: Told | None) -> None:
    if error:
        raise error
    if told:
        raise told[0](told[1])

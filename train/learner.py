"""One rank's replica of the network: a step, a score, and a state that a checkpoint can hold."""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from train.config import Config
from train.data import Dataset
from train.model import classifier, score
from train.ranks import Ranks


@dataclass(frozen=True, slots=True)
class Learner:
    """`network` holds the weights under their own names; `replica` averages its gradients."""

    network: nn.Module
    replica: DistributedDataParallel
    optimizer: torch.optim.Optimizer
    images: torch.Tensor
    labels: torch.Tensor

    def step(self, indices: NDArray[np.int64]) -> torch.Tensor:
        """Learn from this rank's share of a batch and return its mean loss."""
        chosen = torch.from_numpy(indices).to(self.images.device)
        loss = nn.functional.cross_entropy(self.replica(self.images[chosen]), self.labels[chosen])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()

    def state(self) -> dict[str, Any]:
        """Return weights and optimizer state: tensors and plain values only."""
        return {"model": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state()` returned, on any number of ranks."""
        self.network.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


def learner_for(config: Config, ranks: Ranks, dataset: Dataset) -> Learner:
    """Return the replica of this rank, with the weights that `config.seed` gives on every rank."""
    network = classifier(config.seed).to(ranks.device)
    on_gpu = ranks.device.type == "cuda"
    return Learner(
        network,
        DistributedDataParallel(network, device_ids=[ranks.device] if on_gpu else None),
        torch.optim.AdamW(network.parameters(), lr=config.lr),
        torch.from_numpy(dataset.x_train).to(ranks.device),
        torch.from_numpy(dataset.y_train).to(ranks.device),
    )


def held_out(network: nn.Module, ranks: Ranks, dataset: Dataset) -> tuple[float, float]:
    """Return mean loss and accuracy on the held-out samples, which the ranks divide among them."""
    mine = slice(ranks.place.rank, None, ranks.place.world_size)
    images, labels = (
        torch.from_numpy(array[mine]).to(ranks.device) for array in (dataset.x_test, dataset.y_test)
    )
    loss, right, count = ranks.total(*score(network, images, labels), float(len(labels)))
    return loss / count, right / count


def peak_gib(device: torch.device) -> float:
    """Return the most memory this process has held, in GiB: of its GPU, or resident without one."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30

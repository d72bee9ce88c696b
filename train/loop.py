"""One step after another over the data: what training and measuring share."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from train.config import Config
from train.data import Dataset, batches
from train.errors import KilledError, TrainError
from train.learner import Learner, peak_gib
from train.ranks import Ranks
from train.tracking import Tracker


@dataclass(frozen=True, slots=True)
class Job:
    """One rank's view of the job: what to do, with whom, on what, who is told, whether to stop."""

    config: Config
    ranks: Ranks
    dataset: Dataset
    tracker: Tracker
    stop: threading.Event


def one_step(job: Job, learner: Learner, indices: NDArray[np.int64], step: int) -> float:
    """Learn from one batch; all ranks agree on its mean loss, and on whether to stop."""
    loss, stop = job.ranks.mean(learner.step(indices), float(job.stop.is_set()))
    if stop:
        raise KilledError(f"stopped by SIGTERM after step {step}")
    if not math.isfinite(loss):
        raise TrainError(f"the loss is {loss} at step {step}")
    return loss


def shares(job: Job, epoch: int) -> Iterator[NDArray[np.int64]]:
    """Yield this rank's share of each batch of `epoch`."""
    place, config = job.ranks.place, job.config
    return batches(
        job.dataset.size,
        config.batch,
        seed=config.seed,
        epoch=epoch,
        rank=place.rank,
        world_size=place.world_size,
    )


def pace(job: Job, samples: int, seconds: float) -> dict[str, float]:
    """Return the samples a second of all ranks together, and the memory of the largest of them."""
    slowest, peak = job.ranks.largest(seconds, peak_gib(job.ranks.device))
    return {"samples_per_second": samples / slowest, "peak_gib": peak}

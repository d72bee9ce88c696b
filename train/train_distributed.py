"""Train a digit classifier on every rank of a job, and let one rank tell the team.

How to launch it, each on the same data and with the same result:

    python -m train.train_distributed --data DATA --checkpoints DIR
    torchrun --nproc-per-node 2 -m train.train_distributed --data DATA --checkpoints DIR
    Azure ML: the first line as `command:`, and `distribution: {type: pytorch,
        process_count_per_instance: 8}`; Azure ML starts the processes, so no torchrun there

`--measure-steps N` trains N steps, tells how fast they were, and registers nothing: the evidence
that an admission asks for. Exit codes: 0 done, 2 refused, 70 failed, 143 stopped by SIGTERM.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from functools import partial
from itertools import chain, count, islice
from typing import NoReturn

from train import checkpoint
from train.config import Config, config_from
from train.data import load
from train.errors import KilledError, RefusedError, TrainError
from train.learner import Learner, held_out, learner_for
from train.loop import Job, one_step, pace, shares
from train.model import classifier
from train.place import place_from
from train.ranks import Ranks, open_ranks
from train.tracking import Tracker, tracking

WARM_UP_STEPS = 5


def main() -> int:
    """Do the job that arguments and environment describe, and return the exit code."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        config, place = config_from(sys.argv[1:], os.environ), place_from(os.environ)
        ranks = open_ranks(place)
        sys.stdout.write(f"{run(config, ranks, stop)}\n")
        ranks.close()
    except TrainError as error:
        sys.stderr.write(f"error: {error}\n")
        leave(error.exit_code)
    except Exception:
        logging.exception("rank %s failed", os.environ.get("RANK", "0"))
        leave(TrainError.exit_code)
    return 0


def leave(exit_code: int) -> NoReturn:
    """End at once: the destructors of a broken process group may wait for a peer that is gone."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


def run(config: Config, ranks: Ranks, stop: threading.Event) -> str:
    """Check the inputs, open the tracker, train or measure; return what there is to say."""
    dataset = ranks.together(lambda: load(config.data, config.expected_digest))
    if config.batch % ranks.place.world_size or config.batch > dataset.size:
        raise RefusedError(
            f"`--batch` {config.batch} must be a multiple of the {ranks.place.world_size} ranks"
            f" and at most {dataset.size} samples"
        )
    tracker = tracking(config, ranks, dataset)
    job = Job(config, ranks, dataset, tracker, stop)
    try:
        if ranks.leader_does(tracker.begin) == "FINISHED":
            return "this run is finished already: nothing to do"
        return measure(job, config.measure_steps) if config.measure_steps else train(job)
    except KilledError:
        ranks.leader_does(lambda: tracker.end("KILLED"))  # all ranks agreed, so all can wait
        raise
    except Exception:
        mark_failed(tracker)
        raise


def mark_failed(tracker: Tracker) -> None:
    """Mark the run FAILED if that still works; the failure itself is reported either way."""
    try:
        tracker.end("FAILED")
    except Exception:
        logging.exception("the run could not be marked FAILED")


def train(job: Job) -> str:
    """Train all epochs that no checkpoint has, then register the model."""
    config, ranks = job.config, job.ranks
    learner = learner_for(config, ranks, job.dataset)
    done = resume(job, learner)
    sys.stdout.write(f"training from epoch {done} on {ranks.place.world_size} ranks\n")
    sys.stdout.flush()
    for epoch in range(done, config.epochs):
        train_epoch(job, learner, epoch)
        ranks.leader_does(partial(keep, job, learner, epoch + 1))
    loss, accuracy = held_out(learner.network, ranks, job.dataset)
    return ranks.leader_does(lambda: finish(job, learner, loss, accuracy))


def resume(job: Job, learner: Learner) -> int:
    """Restore the newest sound checkpoint on every rank; return how many epochs are done."""
    newest = job.ranks.leader_does(lambda: checkpoint.newest(job.config.checkpoints))
    if newest is None:
        return 0
    state = job.ranks.together(lambda: checkpoint.load(newest))
    learner.restore(state)
    return int(state["epoch"])


def train_epoch(job: Job, learner: Learner, epoch: int) -> None:
    """Train one epoch and log each step's loss, then the epoch's rate and held-out scores."""
    step = first = epoch * (job.dataset.size // job.config.batch)
    began = time.perf_counter()
    for indices in shares(job, epoch):
        step += 1
        job.tracker.log(step, {"loss": one_step(job, learner, indices, step)})
    told = pace(job, (step - first) * job.config.batch, time.perf_counter() - began)
    loss, accuracy = held_out(learner.network, job.ranks, job.dataset)
    job.tracker.log(step, {**told, "eval_loss": loss, "accuracy": accuracy})


def keep(job: Job, learner: Learner, epoch: int) -> None:
    """Write a checkpoint, after the metrics up to it: a resumed run then has each step once."""
    job.tracker.flush()
    checkpoint.save(job.config.checkpoints, epoch, {"epoch": epoch, **learner.state()})


def finish(job: Job, learner: Learner, loss: float, accuracy: float) -> str:
    """Register what was trained, as a plain network on the CPU; return its address."""
    network = classifier(job.config.seed)
    network.load_state_dict(learner.network.state_dict())
    address = job.tracker.finish(
        network.eval(), job.dataset.x_train[:2], loss=loss, accuracy=accuracy
    )
    return f"finished: {address}, loss {loss:.6f}, accuracy {accuracy:.4f}"


def measure(job: Job, steps: int) -> str:
    """Time `steps` steps after a few that warm up, and project the whole workload from them."""
    learner = learner_for(job.config, job.ranks, job.dataset)
    endless = chain.from_iterable(shares(job, epoch) for epoch in count())
    for step, indices in enumerate(islice(endless, WARM_UP_STEPS), start=1):
        one_step(job, learner, indices, step)
    began = time.perf_counter()
    for step, indices in enumerate(islice(endless, steps), start=WARM_UP_STEPS + 1):
        one_step(job, learner, indices, step)
    told = pace(job, steps * job.config.batch, time.perf_counter() - began)
    workload = job.config.epochs * job.dataset.size
    hours = workload / told["samples_per_second"] / 3600
    job.tracker.log(WARM_UP_STEPS + steps, {**told, "projected_hours": hours})
    job.ranks.leader_does(lambda: job.tracker.end("FINISHED"))
    said = f"measured: {told['samples_per_second']:.1f} samples a second, {hours:.8f} hours in all"
    return f"{said}, {job.tracker.address}" if job.tracker.address else said


if __name__ == "__main__":
    sys.exit(main())

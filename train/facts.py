"""What is known of a run before it starts, in the words of MLflow and of the results table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from train.admitted import Admitted
from train.config import Config
from train.data import Dataset
from train.ranks import Ranks
from train.results import Row


@dataclass(frozen=True, slots=True)
class Facts:
    """Experiment, params and tags of a run; `admitted` is None for a measurement."""

    experiment: str
    admitted: Admitted | None
    params: Mapping[str, str]
    tags: Mapping[str, str]


def facts_of(config: Config, ranks: Ranks, dataset: Dataset) -> Facts:
    """Return the params and tags of the run; the model version gets the same tags."""
    params: dict[str, float] = {
        "epochs": config.epochs,
        "batch": config.batch,
        "lr": config.lr,
        "seed": config.seed,
        "world_size": ranks.place.world_size,
        "nodes": ranks.nodes,
        "workload_samples": config.epochs * dataset.size,
    }
    if config.measure_steps:
        params["measure_steps"] = config.measure_steps
    tags = {"dataset.digest": dataset.digest}
    if run := config.admitted:
        tags |= {
            "admit.run": run.run,
            "admit.admission": run.admission,
            "admit.commit": run.commit,
            "admit.record": run.record,
            "code-image.digest": run.image.rpartition("@")[2],
            "training.backend": "aml-distributed",
            "git.commit": run.commit,
        }
    texts = {name: str(value) for name, value in params.items()}
    return Facts(config.experiment, config.admitted, texts, tags)


def row_of(facts: Facts, run_id: str) -> Row | None:
    """Return the row of the run as it starts; a measurement has none."""
    if (run := facts.admitted) is None:
        return None
    return Row(
        run=run.run,
        admission=run.admission,
        commit_sha=run.commit,
        record=run.record,
        dataset_digest=run.dataset_digest,
        image=run.image,
        model=run.model,
        mlflow_run_id=run_id,
        world_size=int(facts.params["world_size"]),
        started_at=datetime.now(UTC),
    )

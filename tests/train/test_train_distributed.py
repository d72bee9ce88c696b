"""Whole jobs, started as Azure ML starts them: what they leave behind, and how they end."""

from __future__ import annotations

import re
import signal
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from train import checkpoint
from train.data import load
from train.model import classifier

if TYPE_CHECKING:
    from conftest import Ended, Site
    from mlflow import MlflowClient
    from mlflow.entities import Run

pytestmark = pytest.mark.train
TWO, ONE = "two-0123456789ab", "one-0123456789ab"
STEPS = 3 * (1438 // 64)
FOR_EVER = ("--epochs", "100000")


@dataclass(frozen=True)
class Done:
    """A finished job: how its ranks ended, and its run in MLflow."""

    ranks: list[Ended]
    run: Run


@pytest.fixture(scope="session")
def team(site: Site) -> MlflowClient:
    from mlflow import MlflowClient

    client = MlflowClient(site.tracking_uri, site.tracking_uri)
    client.search_experiments()  # makes the database, before jobs want to do so at once
    return client


@pytest.fixture(scope="session")
def jobs(site: Site, team: MlflowClient) -> dict[str, list[Ended]]:
    """Four independent jobs, started at once because most of their time is spent on imports."""
    measure = ["-m", "train.train_distributed", "--data", str(site.data), "--measure-steps", "10"]
    tracker = {"ADMIT_MLFLOW_TRACKING_URI": site.tracking_uri}
    started = {
        TWO: site.start(["-X", "importtime", *site.job()], site.block(TWO), ranks=2),
        ONE: site.start(site.job(), site.block(ONE)),
        "measured": site.start(measure, tracker),
        "untracked": site.start(measure, {}),
    }
    ended = iter(site.end([process for processes in started.values() for process in processes]))
    return {name: [next(ended) for _ in processes] for name, processes in started.items()}


@pytest.fixture(scope="session")
def two(jobs: dict[str, list[Ended]], team: MlflowClient) -> Done:
    return Done(jobs[TWO], the_run(team, TWO))


@pytest.fixture(scope="session")
def one(jobs: dict[str, list[Ended]], team: MlflowClient) -> Done:
    return Done(jobs[ONE], the_run(team, ONE))


def the_run(team: MlflowClient, name: str) -> Run:
    [run] = runs_of(team, name)
    return run


def runs_of(team: MlflowClient, name: str) -> list[Run]:
    experiments = [found.experiment_id for found in team.search_experiments()]
    return list(team.search_runs(experiments, f"tags.`admit.run` = '{name}'"))


def losses(team: MlflowClient, run: Run) -> dict[int, float]:
    history = team.get_metric_history(run.info.run_id, "loss")
    curve = {metric.step: metric.value for metric in history}
    assert len(curve) == len(history), "some step is there twice"
    return curve


def versions(team: MlflowClient, name: str) -> list[Any]:
    return list(team.search_model_versions(f"name = 'model-of-{name}'"))


def test_two_ranks_leave_one_run_one_version_and_one_row(
    site: Site, team: MlflowClient, two: Done
) -> None:
    assert [rank.code for rank in two.ranks] == [0, 0]
    block = site.block(TWO)
    tags = {
        "admit.run": TWO,
        "admit.admission": "digits",
        "admit.commit": block["ADMIT_COMMIT"],
        "admit.record": block["ADMIT_RECORD"],
        "dataset.digest": block["ADMIT_DATASET_DIGEST"],
        "code-image.digest": "sha256:" + "2" * 64,
        "training.backend": "aml-distributed",
        "git.commit": block["ADMIT_COMMIT"],
    }
    [version] = versions(team, TWO)
    assert version.tags == tags
    assert (version.version, version.run_id) == (1, two.run.info.run_id)
    assert two.run.data.tags == {**tags, "mlflow.runName": TWO}
    assert two.run.info.status == "FINISHED"
    assert two.run.data.params == {
        "epochs": "3",
        "batch": "64",
        "lr": "0.003",
        "seed": "7",
        "world_size": "2",
        "nodes": "1",
        "workload_samples": "4314",
    }
    metrics = two.run.data.metrics
    assert metrics.keys() == {
        "loss",
        "eval_loss",
        "accuracy",
        "samples_per_second",
        "peak_gib",
        "global_step",
    }
    [row] = site.rows(TWO)
    assert row.pop("started_at") < row.pop("ended_at")
    assert row == {
        "run": TWO,
        "admission": "digits",
        "commit_sha": block["ADMIT_COMMIT"],
        "record": block["ADMIT_RECORD"],
        "dataset_digest": block["ADMIT_DATASET_DIGEST"],
        "image": block["ADMIT_IMAGE"],
        "model": f"model-of-{TWO}",
        "model_version": "1",
        "mlflow_run_id": two.run.info.run_id,
        "world_size": 2,
        "status": "FINISHED",
        "loss": metrics["eval_loss"],
        "accuracy": metrics["accuracy"],
    }
    assert metrics["accuracy"] > 0.9


def test_only_global_rank_zero_ever_imports_mlflow(two: Done) -> None:
    leader, other = (set(re.findall(r"\| +(mlflow|torch)$", r.err, re.M)) for r in two.ranks)
    assert leader == {"mlflow", "torch"}
    assert other == {"torch"}


def test_one_and_two_ranks_have_the_same_losses(team: MlflowClient, one: Done, two: Done) -> None:
    alone, shared = losses(team, one.run), losses(team, two.run)
    assert list(alone) == list(shared) == list(range(1, STEPS + 1))
    assert max(abs(alone[step] - shared[step]) for step in alone) < 1e-4
    assert alone[1] > 2 > 0.3 > alone[STEPS]
    assert one.run.data.metrics["eval_loss"] == pytest.approx(
        two.run.data.metrics["eval_loss"], abs=1e-4
    )


def test_the_registered_model_answers_as_the_checkpoint_does(site: Site, two: Done) -> None:
    import mlflow.pytorch
    import torch

    last = site.checkpoints(TWO)[-1]
    trained = classifier(seed=0)
    trained.load_state_dict(checkpoint.load(last)["model"])
    images = torch.from_numpy(load(site.data, "").x_test)
    with pytest.MonkeyPatch.context() as here:
        here.setenv("MLFLOW_TRACKING_URI", site.tracking_uri)
        here.setenv("MLFLOW_REGISTRY_URI", site.tracking_uri)
        registered = mlflow.pytorch.load_model(f"models:/model-of-{TWO}/1")
    with torch.no_grad():
        assert torch.equal(registered(images), trained(images))


def test_a_finished_run_is_not_run_again(site: Site, team: MlflowClient, two: Done) -> None:
    before = site.rows(TWO)
    [again] = site.run(site.job(), site.block(TWO))
    assert (again.code, again.err) == (0, "")
    assert again.out == "this run is finished already: nothing to do\n"
    assert the_run(team, TWO).to_dictionary() == two.run.to_dictionary()
    assert len(versions(team, TWO)) == 1
    assert site.rows(TWO) == before


def test_an_interrupted_run_goes_on_from_the_newest_sound_checkpoint(
    site: Site, team: MlflowClient, one: Done
) -> None:
    before = losses(team, one.run)
    team.update_run(one.run.info.run_id, status="RUNNING")
    newest = site.checkpoints(ONE)[-1]
    newest.write_bytes(newest.read_bytes()[:1000])
    [again] = site.run(site.job(), site.block(ONE))
    assert again.code == 0
    assert f"checkpoint {newest.name} is damaged, trying the one before\n" in again.err
    begun, ended = again.out.splitlines()
    assert begun == "training from epoch 2 on 1 ranks"
    assert ended == one.ranks[0].out.splitlines()[-1]
    assert losses(team, the_run(team, ONE)) == before
    assert the_run(team, ONE).info.status == "FINISHED"
    assert (len(versions(team, ONE)), len(site.rows(ONE))) == (1, 1)


def test_other_data_than_the_admitted_is_refused_on_every_rank(
    site: Site, team: MlflowClient
) -> None:
    admitted = "sha256:" + "0" * 64
    block = site.block("other-data", ADMIT_DATASET_DIGEST=admitted)
    found = site.block("other-data")["ADMIT_DATASET_DIGEST"]
    for rank in site.run(site.job(), block, ranks=2):
        assert (rank.code, rank.out) == (2, "")
        assert rank.err == f"error: the data set is {found}, but {admitted} was admitted\n"
    assert runs_of(team, "other-data") == []
    assert site.checkpoints("other-data") == []


def test_a_refusal_is_one_line_without_a_traceback(site: Site) -> None:
    partial = {**site.block("wrong"), "RANK": "0", "WORLD_SIZE": "2"}
    launcher = site.start(site.job(), partial)
    batch = site.start(site.job("--batch", "1439"), site.block("wrong"))
    lacking = "`LOCAL_RANK`, `NODE_RANK`, `MASTER_ADDR`, `MASTER_PORT`"
    assert [(rank.code, rank.err) for rank in site.end(launcher + batch)] == [
        (2, f"error: the launcher's environment is incomplete, it lacks {lacking}\n"),
        (2, "error: `--batch` 1439 must be a multiple of the 1 ranks and at most 1438 samples\n"),
    ]


def test_a_rank_that_dies_ends_the_others_and_the_run_is_failed(
    site: Site, team: MlflowClient
) -> None:
    processes = site.start(site.job(*FOR_EVER), site.block("dies"), ranks=2)
    assert site.first_line(processes[1]) == "training from epoch 0 on 2 ranks\n"
    processes[1].kill()
    leader, other = site.end(processes)
    assert (leader.code, other.code) == (70, -signal.SIGKILL)
    assert the_run(team, "dies").info.status == "FAILED"
    [row] = site.rows("dies")
    assert (row["status"], row["model_version"]) == ("FAILED", None)
    assert versions(team, "dies") == []


def test_sigterm_to_one_rank_stops_all_at_the_same_step(site: Site, team: MlflowClient) -> None:
    processes = site.start(site.job(*FOR_EVER), site.block("stopped"), ranks=2)
    assert site.first_line(processes[1]) == "training from epoch 0 on 2 ranks\n"
    processes[1].terminate()
    leader, other = site.end(processes)
    assert (leader.code, other.code) == (143, 143)
    assert re.fullmatch(r"error: stopped by SIGTERM after step \d+\n", other.err)
    assert other.err in leader.err
    assert the_run(team, "stopped").info.status == "KILLED"
    [row] = site.rows("stopped")
    assert row["status"] == "KILLED"
    assert row["ended_at"] is not None


def test_a_measurement_is_told_and_registers_nothing(
    site: Site, team: MlflowClient, jobs: dict[str, list[Ended]]
) -> None:
    [rank] = jobs["measured"]
    assert rank.code == 0
    experiment = team.get_experiment_by_name("measurements")
    [run] = team.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["measure_steps"] == "10"
    assert run.data.params["workload_samples"] == "4314"
    assert run.data.tags["dataset.digest"] == site.block("x")["ADMIT_DATASET_DIGEST"]
    told = run.data.metrics
    assert told.keys() == {"samples_per_second", "peak_gib", "projected_hours", "global_step"}
    assert told["projected_hours"] == pytest.approx(4314 / told["samples_per_second"] / 3600)
    assert 0.05 < told["peak_gib"] < 4
    registered = {version.run_id for version in team.search_model_versions()}
    assert run.info.run_id not in registered
    with sqlite3.connect(site.folder / "results.db") as connection:
        told_of = {
            run_id for (run_id,) in connection.execute("select mlflow_run_id from training_runs")
        }
    assert run.info.run_id not in told_of


def test_a_measurement_needs_no_tracker(jobs: dict[str, list[Ended]]) -> None:
    [rank] = jobs["untracked"]
    assert (rank.code, rank.err) == (0, "")
    assert re.search(r"^measured: [\d.]+ samples a second, [\d.]+ hours in all$", rank.out, re.M)

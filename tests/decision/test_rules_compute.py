"""Compute targets, nodes, GPUs, and who starts the processes."""

from __future__ import annotations

import pytest

from controller.decision.rules.compute import gpus_used
from controller.decision.verdict import JobCase, Outcome, met, undecided, unmet
from controller.documents.kinds.command import Distribution
from tests.builders import (
    command_job,
    job_case,
    record,
    sound_admission,
    sound_manifest,
    sound_policy,
    target,
)
from tests.decision.examples import Example, in_job, judged, parametrized

ELSEWHERE = sound_manifest(compute="serverless")
UNADMITTED = sound_manifest(admission="")
NO_GRANT = ("there is no grant to hold it against", "meet `admission-exists`")
OTHER = sound_manifest("jobs/bert/other.yml", name="other")

EXAMPLES = [
    Example(
        "the policy's table has the target",
        job_case(),
        met("compute-known", "Standard_ND96amsr_A100_v4, 8 GPUs a node", in_job(12)),
    ),
    Example(
        "the target is misspelt",
        job_case(manifest=sound_manifest(compute="gpu-clutser")),
        unmet(
            "compute-known",
            "`gpu-clutser` is not one of the policy's compute targets, `gpu-cluster`",
            in_job(12),
            "write `compute: azureml:gpu-cluster`",
        ),
    ),
    Example(
        "serverless is no target",
        job_case(manifest=ELSEWHERE),
        unmet(
            "compute-known",
            "`serverless` is not one of the policy's compute targets, `gpu-cluster`",
            in_job(12),
            "write `compute: azureml:gpu-cluster`",
        ),
    ),
    Example(
        "the instance type is another machine than the policy prices",
        job_case(manifest=sound_manifest(instance_type="Standard_ND96isr_H100_v5")),
        unmet(
            "compute-known",
            "`gpu-cluster` is Standard_ND96amsr_A100_v4 in the policy, "
            "not Standard_ND96isr_H100_v5",
            in_job(13),
            "remove `instance_type`",
        ),
    ),
    Example(
        "a target of one GPU a node",
        job_case(policy=sound_policy(compute={"gpu-cluster": target(gpus_per_node=1)})),
        met("compute-known", "Standard_ND96amsr_A100_v4, 1 GPU a node", in_job(12)),
    ),
    Example(
        "the grant names the target",
        job_case(),
        met("compute-granted", "`bert-pretrain` grants `gpu-cluster`", in_job(12)),
    ),
    Example(
        "the grant names another",
        job_case(admission=sound_admission(compute=("small-cluster",))),
        unmet(
            "compute-granted",
            "`bert-pretrain` grants `small-cluster`, not `gpu-cluster`",
            in_job(12),
            "use `small-cluster`, or add `gpu-cluster` to `grant.compute` and have that approved",
        ),
    ),
    Example(
        "there is no grant",
        job_case(manifest=UNADMITTED),
        undecided("compute-granted", NO_GRANT[0], in_job(12), NO_GRANT[1]),
    ),
    Example(
        "nothing else is running",
        job_case(),
        met(
            "nodes-granted",
            "2 nodes and 0 that are running; `bert-pretrain` grants 2",
            in_job(13),
        ),
    ),
    Example(
        "its own run is running, which is not held against it",
        job_case(records=(record(),)),
        met(
            "nodes-granted",
            "2 nodes and 0 that are running; `bert-pretrain` grants 2",
            in_job(13),
        ),
    ),
    Example(
        "another run of the admission holds a node",
        job_case(records=(record(OTHER, nodes=1),)),
        unmet(
            "nodes-granted",
            "2 nodes and 1 that are running; `bert-pretrain` grants 2",
            in_job(13),
            "wait until a run of the admission ends, or raise `grant.max_nodes`",
        ),
    ),
    Example(
        "one node more than was granted",
        job_case(manifest=sound_manifest(nodes=3)),
        unmet(
            "nodes-granted",
            "3 nodes and 0 that are running; `bert-pretrain` grants 2",
            in_job(13),
            "ask for at most 2, or raise `grant.max_nodes` and have that approved",
        ),
    ),
    Example(
        "more nodes than the cluster has",
        job_case(manifest=sound_manifest(nodes=5), admission=sound_admission(max_nodes=16)),
        unmet(
            "nodes-granted",
            "5 nodes; `gpu-cluster` has 4",
            in_job(13),
            "ask for at most 4",
        ),
    ),
    Example(
        "an unknown cluster may have as many nodes as it likes",
        job_case(manifest=ELSEWHERE),
        met(
            "nodes-granted",
            "2 nodes and 0 that are running; `bert-pretrain` grants 2",
            in_job(13),
        ),
    ),
    Example(
        "there is no grant of nodes",
        job_case(manifest=UNADMITTED),
        undecided("nodes-granted", NO_GRANT[0], in_job(13), NO_GRANT[1]),
    ),
    Example(
        "sixteen GPUs",
        job_case(),
        met(
            "needs-multi-gpu",
            "2 nodes x 8 = 16 GPUs in use, 2 make it an exception",
            in_job(14),
        ),
    ),
    Example(
        "one process on one node",
        job_case(manifest=sound_manifest(nodes=1, distribution=Distribution("pytorch", 1))),
        unmet(
            "needs-multi-gpu",
            "1 node x 1 = 1 GPU in use; fewer than 2 are no exception",
            in_job(14),
            "use the baseline, single-node training on Container Apps, or start a process for "
            "each GPU",
        ),
    ),
    Example(
        "two nodes that never meet, of four that are asked for",
        job_case(manifest=sound_manifest(distribution=None), policy=sound_policy(min_gpus=4)),
        unmet(
            "needs-multi-gpu",
            "2 nodes x 1 = 2 GPUs in use; fewer than 4 are no exception",
            in_job(13),
            "use the baseline, single-node training on Container Apps, or start a process for "
            "each GPU",
        ),
    ),
    Example(
        "the GPUs of the target are not known",
        job_case(manifest=ELSEWHERE),
        undecided(
            "needs-multi-gpu",
            "the policy does not know the GPUs of `serverless`",
            in_job(14),
            "meet `compute-known`",
        ),
    ),
    Example(
        "Azure ML starts the processes",
        job_case(),
        met("one-launcher", "`pytorch` starts 8 a node", in_job(5)),
    ),
    Example(
        "Azure ML and torchrun both start them",
        job_case(manifest=sound_manifest(command="torchrun --nproc-per-node 8 train.py")),
        unmet(
            "one-launcher",
            "`distribution` starts the processes, and `torchrun` would start them again",
            in_job(5),
            "call the program itself in `command`, without `torchrun`",
        ),
    ),
    Example(
        "several nodes and nobody who introduces them",
        job_case(manifest=sound_manifest(distribution=None)),
        unmet(
            "one-launcher",
            "2 nodes without `distribution`: their processes would never meet",
            in_job(13),
            "add `distribution: {type: pytorch, process_count_per_instance: <GPUs>}`",
        ),
    ),
    Example(
        "one node and torchrun",
        job_case(
            manifest=sound_manifest(
                nodes=1, distribution=None, command="torchrun --nproc-per-node 8 train.py"
            )
        ),
        met("one-launcher", "one node, started by `torchrun`", in_job(13)),
    ),
    Example(
        "one node and one program",
        job_case(manifest=sound_manifest(nodes=1, distribution=None)),
        met("one-launcher", "one node, started by its command", in_job(13)),
    ),
]


@parametrized(EXAMPLES)
def test_the_rule_finds(example: Example) -> None:
    assert judged(example.case, example.finding.rule) == example.finding


@pytest.mark.parametrize(
    "nodes, distribution, gpus",
    [
        (1, None, 8),
        (2, None, 1),
        (2, Distribution("pytorch", 4), 4),
        (2, Distribution("pytorch", 16), 8),
        (2, Distribution("mpi", 8), 8),
        (2, Distribution("tensorflow"), 8),
        (2, Distribution("ray"), 8),
    ],
)
def test_a_node_counts_for_the_gpus_that_its_processes_drive(
    nodes: int, distribution: Distribution | None, gpus: int
) -> None:
    assert gpus_used(command_job(nodes=nodes, distribution=distribution), target()) == gpus


def test_a_node_without_gpus_counts_for_none() -> None:
    job = command_job(nodes=2, distribution=None)
    assert gpus_used(job, target(gpus_per_node=0)) == 0


def launched(command: str) -> JobCase:
    return job_case(manifest=sound_manifest(command=command))


@pytest.mark.parametrize(
    "command, launcher",
    [
        ("/opt/conda/bin/torchrun train.py", "torchrun"),
        ("accelerate   launch train.py", "accelerate launch"),
        ("cd src && deepspeed train.py", "deepspeed"),
        ("NCCL_DEBUG=INFO A=b /usr/bin/deepspeed train.py", "deepspeed"),
        ("exec deepspeed train.py", "deepspeed"),
        ("mpirun -np 16 python train.py", "mpirun"),
        ("mpiexec python train.py", "mpiexec"),
        ("horovodrun -np 8 python train.py", "horovodrun"),
        ("python -m torch.distributed.run train.py", "torch.distributed.run"),
        ("python -m torch.distributed.launch train.py", "torch.distributed.launch"),
        ("sh -c 'torchrun train.py'", "torchrun"),
    ],
)
def test_a_launcher_is_seen_however_it_is_called(command: str, launcher: str) -> None:
    found = judged(launched(command), "one-launcher")
    assert found.outcome is Outcome.UNMET
    assert f"`{launcher}`" in found.reason


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --deepspeed ds_config.json",
        "pip install deepspeed && python train.py",
        "python deepspeed_train.py",
        "python train.py --log torchrun.log",
        "python my-torchrun.py",
        "python -m torch.distributed.runner train.py",
        "accelerate config && python train.py",
    ],
)
def test_a_word_that_looks_like_a_launcher_is_none(command: str) -> None:
    assert judged(launched(command), "one-launcher").outcome is Outcome.MET

"""Where it runs and on how much: compute targets, nodes, GPUs, and who starts the processes."""

from __future__ import annotations

import re

from controller.decision.rules.phrases import counted, no_admission, no_target
from controller.decision.verdict import Finding, JobCase, Met, unmet
from controller.documents.kinds.command import CommandJob
from controller.documents.policy import ComputeTarget
from controller.values import listed, nearest

_EACH_RANK_ONE_GPU = frozenset({"pytorch", "mpi"})

_LAUNCHER = re.compile(
    r"(?<![\w.-])"
    r"(torchrun|accelerate\s+launch|mpirun|mpiexec|horovodrun|torch\.distributed\.(?:run|launch))"
    r"(?![\w-]|\.\w)"
)
# `--deepspeed ds.json` is an argument of trainers and `pip install deepspeed` an installation:
# only the first word of a command is the launcher.
_DEEPSPEED = re.compile(
    r"""(?:^|[;&|(\n"'`]|\bexec\s)\s*(?:[A-Za-z_]\w*=\S*\s+)*(?:[\w./-]*/)?(deepspeed)\s"""
)
_MARKS = ("torch", "accelerate", "mpi", "horovodrun", "deepspeed")


def compute_known(case: JobCase) -> Finding | Met:
    """The compute target is in the policy's table, so its GPUs and its price are known."""
    manifest, table = case.manifest, case.policy.compute
    job = manifest.spec
    target = table.get(job.compute)
    if target is None:
        where = manifest.locate("/compute")
        reason = f"`{job.compute}` is not one of the policy's compute targets, {listed(table)}"
        near = nearest(job.compute, table)
        remedy = f"write `compute: azureml:{near or next(iter(table), '<target>')}`"
        return unmet("compute-known", reason, where, remedy)
    if job.instance_type not in ("", target.vm_size):
        where = manifest.locate("/resources/instance_type")
        reason = f"`{job.compute}` is {target.vm_size} in the policy, not {job.instance_type}"
        return unmet("compute-known", reason, where, "remove `instance_type`")
    reason = f"{target.vm_size}, {counted(target.gpus_per_node, 'GPU')} a node"
    return Met("compute-known", reason, manifest, "/compute")


def compute_granted(case: JobCase) -> Finding | Met:
    """The grant names the compute target."""
    manifest, admission = case.manifest, case.admission
    compute = manifest.spec.compute
    if admission is None:
        return no_admission("compute-granted", manifest.locate("/compute"))
    if compute in admission.grant.compute:
        reason = f"`{admission.id}` grants `{compute}`"
        return Met("compute-granted", reason, manifest, "/compute")
    where = manifest.locate("/compute")
    granted = listed(admission.grant.compute)
    reason = f"`{admission.id}` grants {granted}, not `{compute}`"
    remedy = f"use {granted}, or add `{compute}` to `grant.compute` and have that approved"
    return unmet("compute-granted", reason, where, remedy)


def nodes_granted(case: JobCase) -> Finding | Met:
    """Its nodes, and those of the admission's other active runs, fit the grant and the cluster."""
    manifest, admission, balance = case.manifest, case.admission, case.balance
    field, nodes = "/resources/instance_count", manifest.spec.nodes
    target = case.policy.compute.get(manifest.spec.compute)
    if target is not None and nodes > target.max_nodes:
        reason = f"{counted(nodes, 'node')}; `{manifest.spec.compute}` has {target.max_nodes}"
        remedy = f"ask for at most {target.max_nodes}"
        return unmet("nodes-granted", reason, manifest.locate(field), remedy)
    if admission is None or balance is None:
        return no_admission("nodes-granted", manifest.locate(field))
    limit, taken = admission.grant.max_nodes, balance.nodes
    said = f"{counted(nodes, 'node')} and {taken} that are running; `{admission.id}` grants {limit}"
    if nodes + taken <= limit:
        return Met("nodes-granted", said, manifest, field)
    if nodes > limit:
        remedy = f"ask for at most {limit}, or raise `grant.max_nodes` and have that approved"
    else:
        remedy = "wait until a run of the admission ends, or raise `grant.max_nodes`"
    return unmet("nodes-granted", said, manifest.locate(field), remedy)


def needs_multi_gpu(case: JobCase) -> Finding | Met:
    """The job uses at least so many GPUs as make it an exception; else the baseline will do."""
    manifest, policy = case.manifest, case.policy
    job = manifest.spec
    field = "/resources/instance_count"
    if job.distribution:
        field = "/distribution/process_count_per_instance"
    target = policy.compute.get(job.compute)
    if target is None:
        return no_target("needs-multi-gpu", job.compute, manifest.locate(field))
    each = gpus_used(job, target)
    used, least = job.nodes * each, policy.limits.min_gpus
    said = f"{counted(job.nodes, 'node')} x {each} = {counted(used, 'GPU')} in use"
    if used >= least:
        return Met("needs-multi-gpu", f"{said}, {least} make it an exception", manifest, field)
    remedy = f"use the baseline, {policy.baseline.name}, or start a process for each GPU"
    reason = f"{said}; fewer than {least} are no exception"
    return unmet("needs-multi-gpu", reason, manifest.locate(field), remedy)


def gpus_used(job: CommandJob, target: ComputeTarget) -> int:
    """Return the GPUs that the job can put to use on each of its nodes.

    Under `pytorch` and `mpi` each process drives one GPU, so no more are used than there are
    processes. Under `tensorflow` and `ray` the one process of a node drives all of its GPUs, and
    so may the only process of a job without `distribution`. Without it the processes of several
    nodes never meet: each counts for one GPU.
    """
    if job.distribution is None:
        return target.gpus_per_node if job.nodes == 1 else min(1, target.gpus_per_node)
    if job.distribution.type in _EACH_RANK_ONE_GPU:
        return min(job.distribution.processes, target.gpus_per_node)
    return target.gpus_per_node


def one_launcher(case: JobCase) -> Finding | Met:
    """Azure ML starts the processes or the command does, not both; several nodes need the former.

    See https://learn.microsoft.com/azure/machine-learning/how-to-train-distributed-gpu
    """
    manifest = case.manifest
    job = manifest.spec
    launcher = _launcher(job.command)
    if job.distribution is None:
        field = "/resources/instance_count"
        if job.nodes > 1:
            where = manifest.locate(field)
            reason = f"{job.nodes} nodes without `distribution`: their processes would never meet"
            remedy = "add `distribution: {type: pytorch, process_count_per_instance: <GPUs>}`"
            return unmet("one-launcher", reason, where, remedy)
        reason = f"one node, started by {launcher or 'its command'}"
        return Met("one-launcher", reason, manifest, field)
    if launcher:
        where = manifest.locate("/command")
        reason = f"`distribution` starts the processes, and {launcher} would start them again"
        remedy = f"call the program itself in `command`, without {launcher}"
        return unmet("one-launcher", reason, where, remedy)
    kind, processes = job.distribution.type, job.distribution.processes
    return Met("one-launcher", f"`{kind}` starts {processes} a node", manifest, "/command")


def _launcher(command: str) -> str:
    """Return the launcher that `command` calls, in back-ticks; '' for none."""
    if not any(mark in command for mark in _MARKS):
        return ""
    found = _LAUNCHER.search(command) or _DEEPSPEED.search(command)
    return f"`{' '.join(found[1].split())}`" if found else ""

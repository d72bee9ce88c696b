"""The edges to what came of it: the model version, the run in its workspace, the hours it took."""

from __future__ import annotations

from collections.abc import Iterator

from controller.documents.payload import run_name
from controller.evidence.facts import Known, ObservedRun, Tracked, Unavailable
from controller.ledger.account import gpu_hours_used
from controller.ledger.records import Attempt, Outcome, RunRecord
from controller.values import listed
from controller.verifying.chain import (
    Chain,
    Link,
    broken,
    held,
    is_known,
    known,
    seen,
    short,
    unchecked,
)

_DIFFER = 1e-6
"""GPU hours by which two ways to the same sum may differ."""


def model(chain: Chain) -> Link:
    """The model version and the ledger name one another: the run, its record, the MLflow run."""
    return _of_run(chain) if chain.model is None else _of_version(chain, *chain.model)


def _of_version(chain: Chain, name: str, version: str) -> Link:
    asked = f"`models:/{name}/{version}`"
    if len(chain.claims) > 1:
        return broken(f"the ledger has {asked} as what came of {listed(chain.claims)}")
    match chain.version:
        case Unavailable(why=why) if chain.claims:
            return held(f"the ledger settled `{chain.run}` with {asked}; MLflow: {why}")
        case Unavailable(why=why):
            return unchecked(f"who made {asked}: {why}")
        case Known(value=None):
            return broken(f"MLflow has no {asked}")
        case Known(value=Tracked() as found):
            if faults := [*_faults(chain, found)]:
                return broken(*(f"{asked}: {fault}" for fault in faults))
            return held(f"{asked} says that `{chain.run}` made it, in MLflow run `{_id(found)}`")
        case _:
            return unchecked(f"who made {asked} was not asked")


def _of_run(chain: Chain) -> Link:
    outcome = chain.outcome
    if isinstance(chain.tracked, Unavailable):
        if outcome is None or not outcome.model:
            return unchecked(f"the ledger knows of no model version; MLflow: {chain.tracked.why}")
        if fault := _other_model(chain, outcome.model):
            return broken(f"the ledger settled `{chain.run}` with {_version(outcome)}: {fault}")
        why = chain.tracked.why
        return held(f"the ledger settled `{chain.run}` with {_version(outcome)}; MLflow: {why}")
    found = chain.tracked.value
    made = [one for one in found if one.model]
    faults = [f"{_version(one)}: {fault}" for one in made for fault in _faults(chain, one)]
    if outcome is not None and not any(_is(one, outcome) for one in found):
        what = f"MLflow run `{_id(outcome)}` with {_version(outcome)}"
        faults.append(f"the ledger settled `{chain.run}` with {what}, which MLflow does not have")
    if faults:
        return broken(*faults)
    if not made:
        return unchecked(
            f"no model version was made: MLflow has {len(found)} runs of `{chain.run}`"
        )
    return held(f"MLflow and the ledger's record agree on {', '.join(map(_version, made))}")


def _faults(chain: Chain, found: Tracked) -> Iterator[str]:
    """Yield how the tags of a model version differ from what the ledger has."""
    if not found.run or found.run != chain.run:
        yield f"its tag `admit.run` is `{found.run}`, not `{chain.run}`"
        return
    wanted = chain.attempt.record
    if found.record != wanted:
        yield f"its tag `admit.record` is `{short(found.record)}`, not {short(wanted)}"
    if fault := _other_model(chain, found.model):
        yield fault
    outcome = chain.outcome
    if outcome is not None and not _is(found, outcome):
        yield (
            f"MLflow run `{_id(found)}` made it, and the ledger settled MLflow run "
            f"`{_id(outcome)}` with {_version(outcome)}"
        )


def _other_model(chain: Chain, name: str) -> str:
    if not is_known(chain.recorded):
        return ""
    told = chain.said.injected.get("ADMIT_MODEL", "")
    return "" if name == told else f"the run was to make `{told}`"


def _is(found: Tracked, outcome: Outcome) -> bool:
    said = (outcome.mlflow_run, outcome.model, outcome.version)
    return (found.mlflow_run, found.model, found.version) == said


def _id(made: Tracked | Outcome) -> str:
    return made.mlflow_run[:12]


def _version(made: Tracked | Outcome) -> str:
    return f"`models:/{made.model}/{made.version}`" if made.model else "no model version"


def workspace(chain: Chain) -> Link:
    """The workspace has that run, of this payload."""
    observed = seen(chain.observed, chain.run)
    wanted, started = known(chain.record).fingerprint, chain.attempt.submitted_at
    if observed is None and started is None:
        return held(f"`{chain.run}` was never submitted, and the workspace has none of that name")
    if observed is None:
        return broken(
            f"the workspace has no run `{chain.run}`, submitted at {started:%Y-%m-%d %H:%M} UTC"
        )
    if not observed.fingerprint:
        return unchecked(f"the workspace does not say what the payload of `{chain.run}` is")
    if observed.fingerprint != wanted:
        found = short(observed.fingerprint)
        return broken(f"the workspace has `{chain.run}` with {found}, not {short(wanted)}")
    return held(f"the workspace has `{chain.run}` with {short(wanted)}: {observed.state}")


def started_with(chain: Chain) -> Link:
    """The run was started with that admission record."""
    observed = seen(chain.observed, chain.run)
    wanted = chain.attempt.record
    if observed is None or not observed.record:
        return unchecked("the workspace does not say with which admission record it was started")
    if observed.record != wanted:
        return broken(f"it was started with {short(observed.record)}, not {short(wanted)}")
    return held(f"it was started with {short(wanted)}")


def usage(chain: Chain) -> Link:
    """What was settled is what the attempts came to; more than was set aside is told."""
    record, generation, closed = known(chain.record), chain.generation, chain.generation.closed
    if closed is None:
        return unchecked(f"it is not settled: it is {record.stage}")
    came_to = generation.spent
    if closed.how == "settled" and not record.attempt.over and record.attempt.submitted_at:
        came_to += generation.bound
    if abs(closed.gpu_hours - came_to) > _DIFFER:
        was = f"{closed.how} with {closed.gpu_hours:g} GPU hours"
        return broken(f"it was {was}, and its attempts came to {came_to:g}")
    aside = f"of {generation.gpu_hours:g} set aside by `{generation.admission}`"
    more = came_to - generation.gpu_hours
    told = f"; an overrun of {more:g}" if more > _DIFFER else ""
    return held(f"{closed.how} with {came_to:g} GPU hours {aside}{told}")


def measured(chain: Chain) -> Link:
    """The workspace's own times give the hours of every attempt that is over."""
    record = known(chain.record)
    ended = [attempt for attempt in record.last.attempts if attempt.over]
    if not ended:
        return unchecked("no attempt is over")
    faults, silent = [], []
    for attempt in ended:
        run = run_name(record.name, record.fingerprint, attempt.number)
        fault = _differs(record, attempt, seen(chain.observed, run))
        if fault is None:
            silent.append(run)
        elif fault:
            faults.append(f"`{run}` {fault}")
    if faults:
        return broken(*faults)
    if silent:
        return unchecked(f"the workspace does not say how long {listed(silent)} took")
    return held(f"{len(ended)} of {len(ended)} attempts took as long as the workspace says")


def _differs(record: RunRecord, attempt: Attempt, observed: ObservedRun | None) -> str | None:
    """Return how the hours of an attempt differ from the workspace's; None: it does not say."""
    if observed is None or attempt.over is None or not attempt.over.exact:
        return None
    started, ended = observed.started_at, observed.ended_at
    took = gpu_hours_used(record.nodes, record.gpus_per_node, started, ended)
    if took is None:
        return None
    charged = attempt.over.gpu_hours
    if abs(took - charged) <= _DIFFER:
        return ""
    return f"took {took:g} GPU hours by the workspace's times, and the ledger has {charged:g}"

"""What can be verified: a run, any attempt of it, a model version; and who is told what instead."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from controller.errors import UnavailableError, UsageError
from controller.ledger.book import RECORDS, RUNS
from controller.ledger.store import MissingLedgerError
from controller.report.outcome import ExitCode
from tests.verifying.chains import MODEL, begun, sound


def test_a_model_version_is_walked_from_the_ledger_offline() -> None:
    chain = sound()
    report = chain.verify(MODEL, online=False)
    first = report.edges[0]
    assert (first.name, first.outcome) == ("model version → run", "held")
    assert first.what.startswith(f"the ledger settled `{chain.run}` with `{MODEL}`; MLflow: ")
    assert chain.broken(MODEL, online=False) == set()
    assert report.commit == chain.main._line[1][0]


def test_a_model_version_that_only_mlflow_knows_is_found_online() -> None:
    chain = begun()
    chain.models.found = [replace(sound().models.found[0], run=chain.run)]
    assert chain.edge("model version → run", MODEL)[0] == "held"
    with pytest.raises(UsageError, match=r"no run made `models:/digits/3` as far as the ledger"):
        chain.verify(MODEL, online=False)


def test_a_model_version_that_names_no_run_or_another_is_broken() -> None:
    chain = sound()
    made = chain.models.found[0]
    chain.models.found = [replace(made, version="4", run="")]
    assert {"model version → run", "run → ledger record"} <= chain.broken("models:/digits/4")
    chain.models.found = [replace(made, version="4", run="two-000000000000")]
    report = chain.verify("models:/digits/4")
    assert report.exit is ExitCode.DENIED
    assert "`runs/two-000000000000.json` of the ledger is not there" in {
        edge.what for edge in report.edges
    }


def test_a_model_version_of_which_mlflow_and_the_ledger_say_different_runs_is_broken() -> None:
    chain = sound()
    chain.models.found = [replace(chain.models.found[0], run="two-000000000000")]
    assert chain.broken(MODEL) == {"model version → run"}
    assert (
        "its tag `admit.run` is `two-000000000000`" in chain.edge("model version → run", MODEL)[1]
    )


@pytest.mark.parametrize("changes", [{"mlflow_run": "77"}, {"record": "sha256:0"}, {"run": ""}])
def test_a_model_version_that_differs_from_what_was_settled_is_broken(
    changes: dict[str, str],
) -> None:
    chain = sound()
    chain.models.found = [replace(chain.models.found[0], **changes)]
    assert chain.broken(MODEL) == {"model version → run"}


def test_a_model_version_that_two_runs_claim_is_broken() -> None:
    chain = sound()
    file = chain.file(f"{RUNS}{chain.run}.json")
    own = json.loads(file)["fingerprint"]
    chain.forge(f"{RUNS}one-000000000000.json", file.replace(own.encode(), b"0" * 64))
    edge = chain.verify(MODEL, online=False).edges[0]
    assert edge.outcome == "broken"
    assert "`one-000000000000`" in edge.what


def test_a_subject_that_nobody_knows_is_refused_with_the_names_nearest_to_it() -> None:
    chain = sound()
    run = chain.run
    with pytest.raises(UsageError, match=r"the ledger has no run `on-") as refused:
        chain.verify(run[:2] + run[3:])
    assert refused.value.remedy.startswith(f"did you mean `{run}`?")
    with pytest.raises(UsageError) as refused:
        chain.verify("models:/digit/3", online=False)
    assert refused.value.remedy.startswith(f"did you mean `{MODEL}`?")
    assert "`--online` asks MLflow too" in refused.value.remedy


@pytest.mark.parametrize("subject", ["models:/digits", "models:/digits@champion", "models:/a/b/c"])
def test_a_model_without_a_version_is_refused(subject: str) -> None:
    with pytest.raises(UsageError, match="is not a model version"):
        sound().verify(subject)


@pytest.mark.parametrize("suffix", ["-a1", "-a2", "-a02", "x", "\n"])
def test_an_attempt_that_never_was_is_refused(suffix: str) -> None:
    chain = sound()
    with pytest.raises(UsageError):
        chain.verify(chain.run + suffix)


def test_an_attempt_that_has_only_an_admission_record_is_walked_and_broken() -> None:
    chain = sound()
    content = chain.file(chain.admitted())
    chain.forge(f"{RECORDS}{chain.run}-a2/0123456789ab.json", content)
    assert "run → ledger record" in chain.broken(f"{chain.run}-a2")


def test_mlflow_that_does_not_answer_leaves_an_unknown_model_undecided() -> None:
    chain = begun()
    chain.models.outage = "MLflow is down"
    with pytest.raises(UnavailableError, match="who made `models:/digits/3` could not be asked"):
        chain.verify(MODEL)


def test_without_a_ledger_nothing_is_verified() -> None:
    chain = sound()
    run = chain.run
    chain.world.ledger.rewind(None)
    with pytest.raises(MissingLedgerError):
        chain.verify(run)

"""Every edge of a sound chain holds; whoever breaks one is told which, and nothing else breaks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.report.outcome import ExitCode
from controller.values import RunName, sha256
from controller.verifying.table import EDGES
from tests.verifying.breaks import BREAKS
from tests.verifying.chains import DATASET, JOB, MODEL, begun, finish, sound
from tests.verifying.ways import OTHER, in_workspace, lacks_a_rule

ONLINE = {
    "run → workspace",
    "workspace → admission record",
    "usage → workspace",
}
LEDGER = "ledger → its history"


def test_every_edge_of_a_sound_chain_holds() -> None:
    report = sound().verify()
    outcomes = {edge.name: edge.outcome for edge in report.edges}
    assert outcomes == dict.fromkeys(outcomes, "held") | {LEDGER: "not checked"}
    assert [edge.name for edge in report.edges] == [name for name, _ in EDGES]
    assert report.exit is ExitCode.SETTLED


@pytest.mark.parametrize("how", BREAKS)
def test_whoever_breaks_an_edge_is_told_which(how: str) -> None:
    breaks, expected = BREAKS[how]
    chain = sound()
    run = chain.run
    breaks(chain)
    report = chain.verify(run)
    found = {edge.name: edge.what for edge in report.edges if edge.outcome == "broken"}
    assert set(found) == expected, found
    assert report.exit is (ExitCode.DENIED if expected else ExitCode.SETTLED)
    assert all(found.values())


def test_every_edge_but_the_one_that_is_never_checked_is_broken_by_somebody() -> None:
    broken = set().union(*(expected for _, expected in BREAKS.values()))
    told_elsewhere = {"usage → workspace"}
    assert broken | told_elsewhere == {name for name, _ in EDGES} - {LEDGER}


def test_other_times_of_the_workspace_break_the_hours_of_an_attempt() -> None:
    chain = sound()
    there = chain.world.workspace.get(chain.run)
    assert there is not None
    assert there.ended_at is not None
    in_workspace(ended_at=there.ended_at + timedelta(hours=1))(chain)
    assert chain.broken() == {"usage → workspace"}
    _, what = chain.edge("usage → workspace")
    assert "took 2.16667 GPU hours by the workspace's times, and the ledger has 0.166667" in what


def test_offline_what_only_the_outside_knows_is_not_checked_and_changes_no_exit() -> None:
    chain = sound()
    chain.world.workspace.outage = chain.models.outage = "nobody may ask"
    report = chain.verify(online=False)
    outcomes = {edge.name: edge.outcome for edge in report.edges}
    unchecked = {name for name, outcome in outcomes.items() if outcome == "not checked"}
    assert unchecked == ONLINE | {LEDGER}
    assert report.exit is ExitCode.SETTLED
    assert chain.edge("run → workspace", online=False)[1].endswith("that takes `--online`")


def test_offline_breaking_what_is_in_git_is_found_all_the_same() -> None:
    chain = sound()
    chain.rewrite(lambda said: said["payload"]["body"].update(command="mine"))
    assert chain.broken(online=False) == {"admission record → payload"}


def test_outside_that_does_not_answer_is_not_checked() -> None:
    chain = sound()
    chain.world.workspace.outage = "the workspace is down"
    chain.models.outage = "MLflow is down"
    chain.host_outage = "the host is down"
    report = chain.verify()
    assert report.exit is ExitCode.SETTLED
    said = {edge.name: edge.what for edge in report.edges if edge.outcome == "not checked"}
    assert said["run → workspace"] == "the workspace is down"
    assert said["policy → code host"] == "the host is down"
    assert set(said) == ONLINE | {LEDGER} | {n for n, _ in EDGES if n.endswith("code host")}
    assert "MLflow is down" in chain.edge("model version → run")[1]


def test_a_run_of_another_workspace_is_not_looked_for_in_this_one() -> None:
    chain = sound()
    chain.world.workspace.id = "another"
    del chain.world.workspace._runs[chain.run]
    assert chain.broken() == set()
    said = f"`{chain.run}` is of another workspace, `fake`"
    assert chain.edge("run → workspace") == ("not checked", said)


def test_another_host_than_git_is_asked_online_only() -> None:
    chain = sound()
    chain.environ["ADMIT_HOST"] = "github"
    chain.withdrawn.add(JOB)
    assert chain.broken(online=False) == set()
    assert chain.edge("manifest → code host", online=False)[0] == "not checked"
    assert chain.broken() == {"manifest → code host"}


def test_a_document_of_the_root_counts_as_approved() -> None:
    outcome, what = sound().edge("policy → approval")
    assert outcome == "held"
    assert "has the bytes of the trusted root" in what


def test_an_older_proof_of_some_of_the_same_people_holds() -> None:
    chain = sound()
    more = {"login": "ada", "at": "2026-11-01T00:00:00Z", "source": "note"}
    chain.rewrite_approval(JOB, lambda a: a["approvers"].append(more))
    chain.edit(chain.proof(JOB), lambda proof: proof.update(at="2026-11-29T00:00:00Z"))
    assert chain.edge("manifest → approval")[0] == "held"
    assert "2 of 1 owner approvals" in chain.edge("manifest → approval")[1]


def test_a_member_of_a_team_counts_as_the_ledger_says() -> None:
    chain = sound()
    chain.rewrite_approval(JOB, lambda a: a.update(owners=["@acme/nlp"]))
    chain.edit(chain.proof(JOB), lambda proof: proof.update(owners=["@acme/nlp"]))
    assert chain.edge("manifest → approval")[0] == "held"


def test_rules_of_another_version_are_compared_as_far_as_both_know_them() -> None:
    chain = sound()
    chain.rewrite(lambda said: (lacks_a_rule(said), said.update(controller="0.0.9")))
    assert chain.broken() == set()
    outcome, what = chain.edge("findings → rules")
    assert outcome == "not checked"
    assert "`image-pinned` cannot be compared: version 0.0.9 judged" in what


def test_a_rule_that_both_versions_know_must_be_met() -> None:
    chain = sound()
    chain.rewrite(lambda said: said["evidence"]["policy"].update(blob="0" * 40, minimum=2))
    chain.rewrite(lambda said: (lacks_a_rule(said), said.update(controller="0.0.9")))
    assert chain.broken() == {"findings → rules"}


def test_a_rule_that_the_other_version_did_not_have_breaks_nothing() -> None:
    chain = sound()

    def before_approvals(said: Any) -> None:
        said["controller"] = "0.0.9"
        said["findings"] = [f for f in said["findings"] if f[0] != "owner-approval"]
        said["evidence"]["policy"].update(blob="0" * 40, minimum=2)

    chain.rewrite(before_approvals)
    assert chain.broken() == set()
    assert "`owner-approval` cannot be compared" in chain.edge("findings → rules")[1]


@pytest.mark.parametrize(
    ("how", "edge", "what"),
    [
        ("there is no such commit", "commit → main", "this clone has no commit `000000000000"),
        ("the proof was removed", "admission → approval", "the ledger has no `proofs/admissions/"),
        ("a stranger approved", "manifest → approval", "@mallory approved `jobs/one.yml`, which"),
        ("the manifest's approval vanished", "manifest → code host", "by @lin any more"),
    ],
)
def test_a_broken_edge_says_by_what(how: str, edge: str, what: str) -> None:
    chain = sound()
    BREAKS[how][0](chain)
    assert what in chain.edge(edge)[1]


def test_a_run_that_goes_on_has_no_usage_and_no_model_yet() -> None:
    chain = begun()
    report = chain.verify()
    unchecked = {edge.name: edge.what for edge in report.edges if edge.outcome == "not checked"}
    assert report.exit is ExitCode.SETTLED
    assert set(unchecked) == {
        "model version → run",
        "payload → dataset",
        "run → usage",
        "usage → workspace",
        LEDGER,
    }
    assert unchecked["run → usage"] == "it is not settled: it is submitted"


def test_an_overrun_is_told_and_breaks_nothing() -> None:
    chain = begun()
    chain.world.pass_time(timedelta(minutes=30))
    finish(chain)
    outcome, what = chain.edge("run → usage")
    assert outcome == "held"
    aside = "of 0.333333 set aside by `digits`; an overrun of 0.833333"
    assert what == f"settled with 1.16667 GPU hours {aside}"


def test_each_attempt_is_verified_by_its_own_record() -> None:
    chain = begun(retries=1)
    first = chain.run
    chain.world.pass_time(timedelta(minutes=2))
    chain.world.workspace.end(first, "Failed", "the node was taken", preempted=True)
    chain.reconcile()  # it sees the end
    chain.reconcile()
    assert chain.run == f"{first}-a2"
    finish(chain)
    assert chain.broken() == set()
    assert chain.broken(first) == set()
    assert chain.edge("model version → run")[0] == "held"
    assert chain.edge("model version → run", first)[0] == "not checked"
    chain.forge(chain.admitted(first), b"{}\n")
    assert chain.broken() == set()
    assert chain.broken(first) == {"attempt → admission record"}


def test_what_the_job_read_is_only_believed_of_its_own_record() -> None:
    chain = sound()
    odd = replace(chain.models.found[0], mlflow_run="77", model="", version="", record=OTHER)
    chain.models.found.append(replace(odd, dataset=OTHER))
    assert chain.broken() == set()


def test_sentences_have_names_and_short_digests() -> None:
    chain = sound()
    run: RunName = chain.run
    digest = sha256(chain.file(chain.admitted()))[:19]
    said = {edge.name: edge.what for edge in chain.verify(MODEL).edges}
    assert said["model version → run"] == (
        f"`{MODEL}` says that `{run}` made it, in MLflow run `3f2c9a`"
    )
    assert said["attempt → admission record"] == (
        f"`{chain.admitted()}` is {digest}, as attempt 1 says"
    )
    assert f"read {DATASET[:19]}, as the payload asks for" in said["payload → dataset"]
    assert said["manifest → code host"] == f"the host shows the approval of `{JOB}` by @lin"

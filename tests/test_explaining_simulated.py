"""What would change if a policy, owners and admissions were merged: verdicts and active runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.decision.verdict import Outcome
from controller.errors import UsageError
from controller.explain.simulation import simulated
from controller.ledger.book import read_book, run_file
from controller.ledger.codec import encoded
from controller.ledger.store import MissingLedgerError
from controller.report.outcome import DriftLine, ExitCode, Report
from tests.cli.conftest import POLICY
from tests.explaining import DIGITS, HOUR, RULES, TRAIN, Scene, admission, found, job, says, texts

OWNERS = ".github/CODEOWNERS"


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(tmp_path / "repo", monkeypatch)
    scene.merge({DIGITS: admission(), TRAIN: job()})
    scene.turn()
    scene.now += HOUR
    return scene


def proposed(scene: Scene, files: dict[str, str | None]) -> None:
    """Commit files on a branch `proposal`, and go back to main."""
    scene.repo.switch("proposal")
    scene.repo.commit(files)
    scene.repo.back()


def simulate(scene: Scene, word: str | None = None, at: str | None = None) -> Report:
    return simulated(scene.world(), "proposal", word, at)


def totals(report: Report) -> str:
    return next(node.text for node in report.tree if " judged: " in node.text)


def cancelled(report: Report) -> tuple[str, ...]:
    return tuple(line.what for line in report.drift if line.what.startswith("would"))


def test_a_stricter_policy_withholds_what_was_admitted(running: Scene) -> None:
    proposed(running, {RULES: POLICY.replace("min_gpus: 2", "min_gpus: 4")})
    report = simulate(running)
    why = (
        "`needs-multi-gpu` met -> not met: 2 nodes x 1 = 2 GPUs in use; fewer than 4 are no "
        "exception"
    )
    assert report.exit is ExitCode.DRIFT
    assert report.drift == (DriftLine(TRAIN, "met -> not met", why),)
    assert (report.commit, report.base) == (running.repo.blob("proposal"), running.repo.head())
    assert totals(report) == "2 subjects judged: 1 newly withheld, 0 newly met, 1 unchanged"
    node = found(report, f"`{TRAIN}`: met -> not met")
    assert node.outcome is Outcome.UNMET
    assert [child.text for child in node.children] == [why]
    assert found(report, "supposing that what").text.endswith(f"and approved: `{RULES}`")
    assert says(report, "its approvals are taken as given; those of all else are as recorded")
    assert says(report, "0 of 1 active run would be cancelled, as the last pass saw them")


def test_what_nobody_recorded_stays_unknown_and_may_be_withheld_newly(running: Scene) -> None:
    running.merge({"jobs/other.yml": job("other").replace("digits}", "other}")}, approve=False)
    proposed(running, {"admissions/other.md": admission(admission="other")})
    report = simulate(running)
    assert [line.subject for line in report.drift] == ["jobs/other.yml"]
    assert totals(report) == (
        "3 subjects judged: 0 newly withheld, 0 newly met, 1 changed otherwise, 2 unchanged"
    )
    node = found(report, "`jobs/other.yml`: not met -> undecided")
    assert any("`admission-exists` not met -> met" in child.text for child in node.children)


def test_a_looser_policy_lets_through_what_was_withheld(running: Scene) -> None:
    running.workspace.end(running.run)
    running.turn()
    running.merge({RULES: POLICY.replace("min_gpus: 2", "min_gpus: 4")})
    running.merge({TRAIN: job(command="false"), DIGITS: admission(gpu_hours="9")})
    running.turn()
    proposed(running, {RULES: POLICY})
    report = simulate(running)
    assert [(line.subject, line.what) for line in report.drift] == [
        (TRAIN, "not met -> undecided"),
    ]
    assert "`needs-multi-gpu` not met -> met" in report.drift[0].why


def test_a_removed_admission_withholds_its_jobs_and_ends_its_runs(running: Scene) -> None:
    proposed(running, {DIGITS: None})
    report = simulate(running)
    assert report.drift[0] == DriftLine(DIGITS, "met -> not judged", "it is removed")
    assert (report.drift[1].subject, report.drift[1].what) == (TRAIN, "met -> not met")
    assert report.drift[1].why.startswith("`admission-exists` met -> not met: there is no")
    assert report.drift[2] == DriftLine(
        running.run,
        "would be cancelled (withdrawn)",
        f"its admission `{DIGITS}` is not on main any more, approved",
    )
    assert totals(report) == "2 subjects judged: 2 newly withheld, 0 newly met, 0 unchanged"
    assert found(report, "1 of 1 active run would be cancelled").children[0].text == (
        f"`{running.run}`, withdrawn: its admission `{DIGITS}` is not on main any more, approved"
    )


@pytest.mark.parametrize(
    "files, cause",
    [
        ({DIGITS: admission(gpu_hours="0.1")}, "overspent"),
        ({DIGITS: admission(expires="2026-11-29", max_nodes="2\n  on_expiry: cancel")}, "expired"),
        ({RULES: POLICY.replace("null", "{reason: a move, drain: true}")}, "drained"),
    ],
    ids=["hours lowered", "expiry moved to the past", "a drain"],
)
def test_it_says_which_active_runs_would_be_cancelled(
    running: Scene, files: dict[str, str | None], cause: str
) -> None:
    proposed(running, files)
    report = simulate(running)
    assert cancelled(report) == (f"would be cancelled ({cause})",)
    assert "the brake would hold" not in texts(report)
    assert report.exit is ExitCode.DRIFT


def test_a_reservation_without_a_run_is_not_cancelled(running: Scene) -> None:
    (record,) = read_book(running.ledger.read(lambda _: True)).records.values()
    attempt = replace(record.attempt, submitted_at=None)
    reserved = replace(record, generations=(replace(record.last, attempts=(attempt,)),))
    running.forge({run_file(record): encoded(reserved)})
    proposed(running, {DIGITS: None})
    report = simulate(running)
    assert cancelled(report) == ()
    assert says(report, "0 of 1 active run would be cancelled")


def test_a_run_that_is_over_is_not_cancelled(running: Scene) -> None:
    running.workspace.end(running.run)
    running.turn()
    proposed(running, {DIGITS: None})
    report = simulate(running)
    assert cancelled(report) == ()
    assert says(report, "0 of 0 active runs would be cancelled")
    assert says(report, "1 job ran and settled: nothing follows from them")
    assert [line.subject for line in report.drift] == [DIGITS]


def test_a_brake_that_would_hold_is_told(running: Scene) -> None:
    hold = POLICY.replace("null", "{reason: a move, drain: true}")
    proposed(running, {RULES: hold.replace("cancels_per_pass: 3", "cancels_per_pass: 0")})
    report = simulate(running)
    assert cancelled(report) == ("would be cancelled (drained)",)
    assert says(report, "the brake would hold: this pass would cancel 1 of the active runs")


def test_what_ends_anyway_is_not_changed_by_it(running: Scene) -> None:
    """A brake holds, so that the run was not asked to end yet."""
    hold = POLICY.replace("null", "{reason: a move, drain: true}")
    running.merge({RULES: hold.replace("cancels_per_pass: 3", "cancels_per_pass: 0")})
    running.turn()
    proposed(running, {DIGITS: admission(gpu_hours="0.9")})
    report = simulate(running)
    assert cancelled(report) == ()
    assert says(report, "0 of 1 active run would be cancelled")


def test_nothing_changed_is_settled(running: Scene) -> None:
    proposed(running, {"README.md": "more", "jobs/more.yml": job("more")})
    report = simulate(running)
    assert report.exit is ExitCode.SETTLED
    assert totals(report) == "2 subjects judged: 0 newly withheld, 0 newly met, 2 unchanged"
    assert says(report, "changes no policy, owners or admission of main")


def test_only_what_the_branch_itself_changed_is_merged(running: Scene) -> None:
    """Main went on since the branch was made: what it brought stays."""
    proposed(running, {RULES: POLICY.replace("min_gpus: 2", "min_gpus: 4")})
    running.merge(
        {DIGITS: admission(gpu_hours="2"), "admissions/new.md": admission(admission="new")}
    )
    report = simulate(running)
    assert [line.subject for line in report.drift] == [TRAIN]
    assert found(report, "supposing").text.endswith(f"and approved: `{RULES}`")


def test_what_both_have_changed_is_taken_from_the_branch_and_said(running: Scene) -> None:
    proposed(running, {DIGITS: admission(gpu_hours="0.1")})
    running.merge({DIGITS: admission(gpu_hours="2")})
    report = simulate(running)
    said = f"main has changed `{DIGITS}`, taken as {running.repo.blob('proposal')[:12]} has it"
    assert found(report, "main has changed").text == said
    assert cancelled(report) == ("would be cancelled (overspent)",)


def test_owners_are_judged_by_too(running: Scene) -> None:
    proposed(running, {OWNERS: None})
    report = simulate(running)
    assert [line.subject for line in report.drift] == [DIGITS, TRAIN]
    assert "there is no CODEOWNERS" in report.drift[0].why


def test_a_change_that_judges_itself_is_told(running: Scene) -> None:
    loose = POLICY.replace("gpu_hours: 10", "gpu_hours: 20")
    proposed(running, {RULES: loose, DIGITS: admission(gpu_hours="15")})
    report = simulate(running)
    assert report.drift[0].subject == DIGITS
    assert "`separate-concerns` met -> not met" in report.drift[0].why


def test_a_broken_policy_is_invalid_and_judges_nothing(running: Scene) -> None:
    proposed(running, {RULES: "version: 2\n"})
    report = simulate(running)
    assert report.exit is ExitCode.INVALID
    assert {line.why for line in report.drift} == {"there is no sound policy to judge it by"}
    assert cancelled(report) == ()


def test_a_broken_admission_is_told_with_its_problem(running: Scene) -> None:
    proposed(running, {DIGITS: admission(gpu_hours="much")})
    report = simulate(running)
    assert report.drift[0].subject == DIGITS
    assert report.drift[0].why.startswith(f"it is broken: {DIGITS}:")
    assert cancelled(report) == ()


def test_a_subject_narrows_what_is_shown(running: Scene) -> None:
    running.merge({"jobs/other.yml": job("other")})
    proposed(running, {RULES: POLICY.replace("min_gpus: 2", "min_gpus: 4")})
    assert [line.subject for line in simulate(running).drift] == [TRAIN, "jobs/other.yml"]
    for word, lines in ((TRAIN, [TRAIN]), ("other", ["jobs/other.yml"]), (running.run, [TRAIN])):
        report = simulate(running, word)
        assert [line.subject for line in report.drift] == lines
        assert totals(report).startswith("1 subject judged")
    assert [line.subject for line in simulate(running, DIGITS).drift] == [TRAIN, "jobs/other.yml"]
    with pytest.raises(UsageError):
        simulate(running, "nothing-like-it")


def test_it_may_be_simulated_on_an_earlier_main(running: Scene) -> None:
    then = running.repo.head()
    running.merge({TRAIN: None})
    running.turn()
    proposed(running, {DIGITS: None})
    assert [line.subject for line in simulate(running, at=then).drift][:2] == [DIGITS, TRAIN]
    assert [line.subject for line in simulate(running).drift] == [DIGITS]


def test_what_names_no_commit_and_a_missing_ledger_are_refused(running: Scene) -> None:
    with pytest.raises(UsageError, match="`proposal` names no commit"):
        simulate(running)
    proposed(running, {DIGITS: None})
    running.ledger.rewind(None)
    with pytest.raises(MissingLedgerError):
        simulate(running)

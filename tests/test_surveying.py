"""What status and drift tell: of the ledger, a broken main, and a workspace with other runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from controller import passes
from controller.effects.request import Surroundings
from controller.errors import UnavailableError
from controller.evidence.facts import ObservedRun
from controller.ledger.book import read_book, wanted
from controller.ledger.draft import Draft
from controller.ledger.records import RunRecord, released
from controller.report.outcome import ExitCode, Report, RunLine
from controller.surveying import drift, status
from controller.values import RunName
from tests.builders import NOW
from tests.cli.conftest import POLICY
from tests.machine.repository import FakeHost, FakeWorld, NoTracking, begin, documents, job, policy

HOUR = timedelta(hours=1)
LATER = timedelta(minutes=26)
"""After the deadline of a reservation and its margin."""


def seen(world: FakeWorld, **changes: Any) -> Any:
    """Return the world as a command takes it; with `changes` of its parts."""
    parts: dict[str, Any] = {
        "git": world.main,
        "host": lambda _root: FakeHost(world.main, world.now),
        "workspace": world.workspace,
        "ledger": world.ledger,
        "tracking": NoTracking(),
        "surroundings": Surroundings("1", world.workspace.id),
        "now": world.now,
        "pause": lambda _turn: None,
        "state_dir": world.main.root / "elsewhere",
        "who": "ada",
    }
    return SimpleNamespace(**{**parts, **changes})


def reconciled(world: FakeWorld) -> Report:
    return passes.reconcile(seen(world))


def record(world: FakeWorld, name: str = "one") -> RunRecord:
    records = read_book(world.ledger.read(wanted)).records.values()
    return next(record for record in records if record.name == name)


def the_run(world: FakeWorld, name: str = "one") -> RunName:
    return record(world, name).run


def line(report: Report, name: str = "one") -> RunLine:
    return next(run for run in report.runs if run.record.name == name)


def differences(report: Report) -> dict[str, str]:
    """Return what is different about each run."""
    return {line.subject: line.what for line in report.drift}


def stranger(world: FakeWorld, name: str, **changes: Any) -> ObservedRun:
    """Put a run of somebody else there, which has run for two hours on three nodes."""
    plain = ObservedRun(
        run=RunName(name),
        state="Running",
        fingerprint="",
        tags={},
        nodes=3,
        timeout=None,
        created_at=world.now() - 3 * HOUR,
        started_at=world.now() - 2 * HOUR,
    )
    world.workspace.observe(replace(plain, **changes))
    return plain


@pytest.fixture
def running() -> FakeWorld:
    """A world in which the one job that main asks for runs."""
    world = begin()
    assert reconciled(world).exit is ExitCode.SETTLED
    return world


def test_a_run_is_told_with_its_state_and_what_is_left_of_its_admission(running: FakeWorld) -> None:
    running.pass_time(timedelta(minutes=5))
    report = status(seen(running))
    assert report.exit is ExitCode.SETTLED
    told = line(report)
    assert told.observed is not None
    assert (told.record.stage, told.observed.state, told.why) == ("submitted", "Running", ())
    (admission,) = report.admissions
    assert (admission.id, admission.owner, admission.expires) == (
        "digits",
        "@ada",
        date(2027, 3, 31),
    )
    balance = admission.balance
    assert (balance.granted, balance.used, balance.nodes) == (1.0, 0.0, 2)
    assert balance.reserved == pytest.approx(2 * 2 * 300 / 3600)
    assert admission.note == ""
    assert report.budgets == {"digits": balance}


def test_hours_that_a_run_takes_beyond_its_reservation_are_not_free(running: FakeWorld) -> None:
    running.pass_time(HOUR)
    (admission,) = status(seen(running)).admissions
    assert admission.balance.reserved == pytest.approx(2.0)
    assert admission.balance.free == pytest.approx(-1.0)


def test_nobody_is_asked_about_a_run_that_is_closed(running: FakeWorld) -> None:
    running.workspace.end(the_run(running))
    reconciled(running)
    assert record(running).settled
    running.workspace.asked.clear()
    report = status(seen(running))
    assert running.workspace.asked == []
    assert running.workspace.listed == 0
    assert line(report).why == ("Completed, no attempt left",)


def test_only_runs_that_are_open_are_asked_for(running: FakeWorld) -> None:
    running.workspace.asked.clear()
    status(seen(running))
    assert running.workspace.asked == [the_run(running)]
    assert running.workspace.listed == 0


def test_an_attempt_that_is_over_is_not_asked_for(running: FakeWorld) -> None:
    running.workspace.end(the_run(running), "Failed", "its node was taken away", preempted=True)
    held = policy("{reason: quota, until: null, drain: false}")
    running.main.commit({"admissions/policy.yml": held})
    reconciled(running)
    running.workspace.asked.clear()
    told = line(status(seen(running)))
    assert (running.workspace.asked, told.record.stage) == ([], "over")
    assert told.why[0] == ("over, preempted: its node was taken away; nothing more is decided yet")


def test_a_workspace_that_does_not_answer_is_said_and_changes_no_exit(running: FakeWorld) -> None:
    running.workspace.outage = "no answer in 10 s"
    report = status(seen(running))
    assert report.exit is ExitCode.SETTLED
    assert (line(report).observed, line(report).unseen) == (None, "not known")
    assert line(report).why == ("its state could not be asked: no answer in 10 s",)


def test_without_a_workspace_everything_else_is_told(running: FakeWorld) -> None:
    class Nowhere:
        @property
        def id(self) -> str:
            raise UnavailableError("the folder cannot be made")

    report = status(seen(running, workspace=Nowhere()))
    assert line(report).unseen == "not known"
    assert "no state is known: the folder cannot be made" in report.notes[-1]
    assert report.admissions[0].balance.nodes == 2


def test_a_run_of_another_workspace_is_not_asked_for(running: FakeWorld) -> None:
    running.workspace.id = "elsewhere"
    running.workspace.asked.clear()
    report = status(seen(running))
    assert running.workspace.asked == []
    assert line(report).why == ("its state could not be asked: it is of another workspace, `fake`",)


def test_a_run_that_vanished_and_one_that_is_another_are_told_apart(running: FakeWorld) -> None:
    run = the_run(running)
    stranger(running, run, fingerprint="f" * 64)
    assert line(status(seen(running))).unseen == "another payload"
    assert line(status(seen(running))).observed is None
    running.workspace.forget(run)
    assert line(status(seen(running))).unseen == "vanished"
    assert "says that it does not exist" in line(status(seen(running))).why[0]


def test_a_reservation_without_a_run_says_until_when(running: FakeWorld) -> None:
    running.main.commit({"jobs/two.yml": job("two")})
    running.workspace.submit = _refuses  # type: ignore[method-assign]
    reconciled(running)
    assert line(status(seen(running)), "two").why == (
        "not submitted yet; it may be until 2026-11-30 20:15 UTC",
        "its submission failed 1 time, last with: no quota",
    )
    assert line(status(seen(running)), "two").unseen == ""


def _refuses(request: object) -> None:
    raise UnavailableError("no quota")


@pytest.mark.parametrize(
    "broken",
    [
        {"admissions/policy.yml": "version: ["},
        {"admissions/policy.yml": None},
        {"admissions/digits.md": "---\nadmission: {\n"},
        {"jobs/one.yml": "a: 1\na: 2\n"},
        {".github/CODEOWNERS": None},
    ],
)
def test_a_broken_main_is_no_reason_to_fail(
    running: FakeWorld, broken: dict[str, str | None]
) -> None:
    running.main.commit(broken)
    report = status(seen(running))
    assert report.exit is ExitCode.SETTLED
    assert report.problems == ()
    assert report.admissions[0].balance.granted == 1.0
    assert line(report).observed is not None
    unreadable = [path for path, text in broken.items() if text is not None]
    assert [f"1 file on main cannot be read: `{path}`" for path in unreadable] == list(
        report.notes[1:]
    )


def test_where_there_is_no_main_the_ledger_alone_is_told(running: FakeWorld) -> None:
    class Gone:
        def default_base(self) -> str:
            raise UnavailableError("there is neither `origin/main` nor `main`")

    report = status(seen(running, git=Gone()))
    assert report.exit is ExitCode.SETTLED
    assert (report.commit, report.admissions[0].note) == ("", "")
    assert "what the ledger alone says: there is neither" in report.notes[1]


def test_an_admission_that_main_has_no_more_is_told_and_so_is_one_that_is_new(
    running: FakeWorld,
) -> None:
    other = documents().replace("admission: digits", "admission: more")
    running.main.commit({"admissions/digits.md": None, "admissions/more.md": other})
    notes = {line.id: line.note for line in status(seen(running)).admissions}
    assert notes == {
        "digits": "it is not on main any more; its last approved version is what counts for its "
        "runs",
        "more": "no run was started from it yet; it is shown as main has it, approved or not",
    }


def test_the_ledger_s_version_counts_until_another_is_recorded(running: FakeWorld) -> None:
    running.main.commit({"admissions/digits.md": documents(5.0)})
    (admission,) = status(seen(running)).admissions
    assert admission.balance.granted == 1.0
    assert "main has another version of it" in admission.note


def withheld(world: FakeWorld) -> dict[str, tuple[str, ...]]:
    return {line.path: line.rules for line in status(seen(world)).withheld}


def test_a_merged_job_that_is_withheld_is_told_with_its_rules_while_it_is_on_main() -> None:
    world = begin({"jobs/big.yml": job("big", timeout=7200)})
    assert reconciled(world).exit is ExitCode.DENIED
    (told,) = status(seen(world)).withheld
    assert (told.path, told.rules, told.since) == ("jobs/big.yml", ("gpu-budget",), NOW)
    assert told.why[0].startswith("gpu-budget: ")
    world.main.commit({"admissions/policy.yml": "version: ["})
    assert withheld(world) == {"jobs/big.yml": ("gpu-budget",)}
    world.main.commit({"jobs/big.yml": None})
    assert withheld(world) == {}


def test_each_rule_of_a_withheld_job_has_a_sentence_of_its_own() -> None:
    world = begin({"jobs/big.yml": job("big", nodes=14, timeout=7200)})
    reconciled(world)
    (told,) = status(seen(world)).withheld
    assert len(told.rules) > 1
    assert [why.partition(":")[0] for why in told.why] == list(told.rules)


def test_a_job_that_main_went_back_from_to_what_ran_is_not_withheld(running: FakeWorld) -> None:
    before = running.main.files["jobs/one.yml"].decode()  # type: ignore[index]
    running.main.commit({"jobs/one.yml": job("one", timeout=7200)})
    reconciled(running)
    assert withheld(running) == {"jobs/one.yml": ("gpu-budget",)}
    running.main.commit({"jobs/one.yml": before})
    assert withheld(running) == {}


def test_a_run_that_was_asked_to_end_long_ago_is_overdue(running: FakeWorld) -> None:
    running.main.commit({"jobs/one.yml": None})
    reconciled(running)
    assert not line(status(seen(running))).overdue
    running.pass_time(HOUR)
    assert not line(status(seen(running))).overdue
    running.pass_time(timedelta(minutes=1))
    told = line(status(seen(running)))
    assert told.overdue
    assert len(told.why) == 1
    assert "asked to end at 2026-11-30 20:00 UTC (withdrawn)" in told.why[0]
    assert "end it in the workspace by hand" in told.why[0]
    running.workspace.end(the_run(running))
    assert not line(status(seen(running))).overdue


def test_the_last_decision_about_a_run_is_told(running: FakeWorld) -> None:
    running.workspace.outage = "no answer"
    reconciled(running)
    running.workspace.outage = ""
    (why,) = line(status(seen(running))).why
    assert why == (
        "decided at 2026-11-30 20:00 UTC to keep it: its state could not be asked: no answer"
    )


def test_a_brake_that_holds_is_told(running: FakeWorld) -> None:
    policy = POLICY.replace("cancels_per_pass: 3", "cancels_per_pass: 0")
    running.main.commit({"admissions/policy.yml": policy.replace("max_nodes: 4", "max_nodes: 20")})
    running.main.commit({"jobs/one.yml": None})
    assert reconciled(running).exit is ExitCode.INCOMPLETE
    report = status(seen(running))
    assert report.exit is ExitCode.SETTLED
    assert "no run is cancelled: this pass would cancel 1" in report.notes[-1]


def test_a_job_that_main_went_back_from_to_what_is_settled_is_not_withheld(
    running: FakeWorld,
) -> None:
    before = running.main.files["jobs/one.yml"].decode()  # type: ignore[index]
    running.workspace.end(the_run(running))
    reconciled(running)
    running.main.commit({"jobs/one.yml": job("one", timeout=7200)})
    reconciled(running)
    assert withheld(running) == {"jobs/one.yml": ("gpu-budget",)}
    running.main.commit({"jobs/one.yml": before})
    assert withheld(running) == {}


# Drift


def test_a_run_with_our_tag_or_our_name_that_the_ledger_does_not_know_is_an_orphan(
    running: FakeWorld,
) -> None:
    stranger(running, "mystery", tags={"admit.name": "mystery"})
    stranger(running, "one-000000000000")
    stranger(running, "one-000000000000-a2")
    stranger(running, f"{the_run(running)}-a2")
    stranger(running, "alices-run", tags={"admitted": "yes"})
    stranger(running, "one-more")
    report = drift(seen(running))
    assert report.exit is ExitCode.DRIFT
    assert differences(report) == {
        "mystery": "orphan",
        "one-000000000000": "orphan",
        "one-000000000000-a2": "orphan",
        f"{the_run(running)}-a2": "orphan",
        "alices-run": "not ours",
        "one-more": "not ours",
    }
    assert {line.why for line in report.drift} == {
        "Running, 6 GPU hours so far, and the ledger does not know it"
    }


def test_a_name_of_a_run_whose_manifest_is_gone_is_still_ours(running: FakeWorld) -> None:
    running.workspace.end(the_run(running))
    reconciled(running)
    running.main.commit({"jobs/one.yml": None})
    stranger(running, "one-000000000000")
    assert differences(drift(seen(running))) == {"one-000000000000": "orphan"}


def test_the_gpus_of_a_node_are_the_policy_s_where_it_can_tell(running: FakeWorld) -> None:
    pair = "  pair:\n    vm_size: this-machine\n    gpus_per_node: 1\n"
    more = POLICY.replace("max_nodes: 4", "max_nodes: 20").replace(
        pair, pair.replace("gpus_per_node: 1", "gpus_per_node: 2")
    )
    other = pair.replace("pair", "quad").replace(": 1", ": 4") + (
        "    gpu_memory_gib: 16\n    max_nodes: 2\n    price_per_node_hour: 4.00\n"
        "    currency: USD\n"
    )
    running.main.commit({"admissions/policy.yml": more.replace("hold: null", other + "hold: null")})
    stranger(running, "one-000000000000")
    stranger(running, "alices-run")
    stranger(running, "not-yet", started_at=None)
    whys = {line.subject: line.why.split(",")[1] for line in drift(seen(running)).drift}
    assert whys == {
        "one-000000000000": " 12 GPU hours so far",
        "alices-run": " 6 node hours so far",
        "not-yet": " not started yet",
    }


def test_what_is_over_and_was_never_ours_to_know_is_a_note_and_no_difference(
    running: FakeWorld,
) -> None:
    stranger(running, "mystery", tags={"admit.x": ""}, state="Failed", ended_at=NOW - HOUR)
    stranger(running, "alices-run", state="Completed", ended_at=NOW - HOUR)
    report = drift(seen(running))
    assert report.exit is ExitCode.SETTLED
    assert report.drift == ()
    assert "3 node hours, charged to nobody" in report.notes[0]


def test_every_attempt_of_a_record_is_known(running: FakeWorld) -> None:
    first = the_run(running)
    running.workspace.end(first, "Failed", preempted=True)
    reconciled(running)
    reconciled(running)
    assert the_run(running) == f"{first}-a2"
    assert drift(seen(running)).drift == ()


def test_a_run_that_goes_on_although_the_ledger_has_closed_it_is_late(running: FakeWorld) -> None:
    run = the_run(running)
    running.workspace.end(run)
    reconciled(running)
    there = running.workspace.get(run)
    assert there is not None
    running.workspace.observe(replace(there, state="Running", ended_at=None))
    running.pass_time(HOUR)
    (told,) = drift(seen(running)).drift
    assert (told.subject, told.what) == (run, "late")
    assert told.why == (
        "Running, 2 GPU hours so far; the ledger settled it at 2026-11-30 20:00 UTC"
    )


def test_an_earlier_attempt_that_runs_again_is_late_too(running: FakeWorld) -> None:
    first = the_run(running)
    running.workspace.end(first, "Failed", preempted=True)
    reconciled(running)
    reconciled(running)
    there = running.workspace.get(first)
    assert there is not None
    running.workspace.observe(replace(there, state="Running", ended_at=None))
    (told,) = drift(seen(running)).drift
    assert (told.subject, told.what) == (first, "late")
    assert told.why.endswith("the ledger has its end: Failed")


def test_a_run_that_shows_up_after_its_release_is_late(running: FakeWorld) -> None:
    world = begin()
    started = world.workspace.submit
    world.workspace.submit = _refuses  # type: ignore[method-assign]
    reconciled(world)
    world.workspace.submit = started  # type: ignore[method-assign]
    book = read_book(world.ledger.read(wanted))
    draft = Draft(book)
    draft.put(released(record(world), world.now(), "nobody came"), "release")
    draft.flush(world.ledger, book.heartbeat)
    stranger(world, the_run(world), fingerprint=record(world).fingerprint)
    assert differences(drift(seen(world))) == {the_run(world): "late"}


def test_another_payload_under_a_name_of_ours_is_told(running: FakeWorld) -> None:
    stranger(running, the_run(running), fingerprint="f" * 64)
    assert differences(drift(seen(running))) == {the_run(running): "another payload"}


def test_a_state_that_says_too_little_is_told(running: FakeWorld) -> None:
    there = running.workspace.get(the_run(running))
    assert there is not None
    running.workspace.observe(replace(there, state="Paused"))
    assert differences(drift(seen(running))) == {the_run(running): "strange state"}


def test_a_record_of_another_workspace_and_one_that_vanished_are_told(running: FakeWorld) -> None:
    run = the_run(running)
    running.workspace.forget(run)
    assert differences(drift(seen(running))) == {run: "vanished"}
    running.workspace.id = "elsewhere"
    report = drift(seen(running))
    assert differences(report) == {run: "another workspace"}
    assert report.drift[0].why == "it is recorded in `fake`, and this is `elsewhere`"


def test_a_cancellation_that_is_overdue_is_told(running: FakeWorld) -> None:
    running.main.commit({"jobs/one.yml": None})
    reconciled(running)
    assert drift(seen(running)).drift == ()
    running.pass_time(HOUR + timedelta(minutes=1))
    assert differences(drift(seen(running))) == {the_run(running): "overdue"}


def test_drift_changes_nothing_and_says_what_a_pass_would_do(running: FakeWorld) -> None:
    running.main.commit({"jobs/two.yml": job("two")})
    head = running.ledger.head
    report = drift(seen(running))
    assert report.exit is ExitCode.DRIFT
    assert report.plan is not None
    assert [type(action).__name__ for action in report.plan.changes] == ["Submit"]
    assert running.ledger.head == head
    assert [request.run for request in running.workspace.started] == [the_run(running)]


def test_a_workspace_that_cannot_be_listed_is_not_taken_for_an_empty_one(
    running: FakeWorld,
) -> None:
    running.workspace.outage = "no answer"
    with pytest.raises(UnavailableError, match="no answer"):
        drift(seen(running))

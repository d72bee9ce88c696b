"""Why things are as they are: told from git and the ledger, now and as of an earlier time."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.decision.verdict import Outcome
from controller.errors import AdmitError, CannotRunError, UsageError
from controller.explain.moment import time_of
from controller.ledger.book import decision_file, read_book, record_file, run_file
from controller.ledger.codec import encoded
from controller.ledger.draft import Draft
from controller.ledger.records import Closed, Stop, stopped
from controller.ledger.store import MissingLedgerError
from controller.report.outcome import ExitCode, Node
from controller.values import CommitId, sha256
from tests.adapters.scratch import NOON
from tests.cli.conftest import POLICY
from tests.explaining import (
    DAY,
    DIGITS,
    HOUR,
    RULES,
    TRAIN,
    Scene,
    admission,
    everything,
    found,
    job,
    nodes,
    says,
    texts,
    utc,
)

NEVER = "no pass has recorded evidence of these bytes"


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path / "repo", monkeypatch)


@pytest.fixture
def running(scene: Scene) -> Scene:
    """An admission and a job that were approved and started, at 14:00."""
    scene.merge({DIGITS: admission(), TRAIN: job()})
    scene.turn()
    return scene


def test_a_job_that_is_withheld_says_by_which_rule_and_why(scene: Scene) -> None:
    commit = scene.merge({DIGITS: admission(), TRAIN: job()}, approve=False)
    scene.turn()
    report = scene.explain(TRAIN)
    assert (report.command, report.exit, report.commit) == ("explain", ExitCode.SETTLED, commit)
    tree = found(report, f"job `{TRAIN}`")
    assert tree.outcome is Outcome.UNMET
    assert tree.text == (
        f"job `{TRAIN}`: withheld, not met: `owner-approval`, worst case 0.33 GPU hours, 1.33 USD"
    )
    recorded, manifest, granted, policy, none, decided = tree.children
    assert recorded.text.startswith("judged by evidence recorded at 2026-11-30 14:00 UTC")
    assert manifest == Node(
        f"manifest `{TRAIN}`: 24 rules, 1 of them not met or undecided",
        Outcome.UNMET,
        (
            Node(
                f"`owner-approval` ({TRAIN}): 0 of 1 owner approvals of these bytes; "
                "@ada, @lin could approve",
                Outcome.UNMET,
                (Node(f"do: ask @ada, @lin to approve `{TRAIN}` as it is now"),),
            ),
            Node("23 rules are met", Outcome.MET),
        ),
    )
    assert granted.text == f"admission `{DIGITS}`: 6 rules, 1 of them not met or undecided"
    assert policy == Node(
        f"policy `{RULES}`: 1 rule, all of them met",
        Outcome.MET,
        (Node("1 rule is met", Outcome.MET),),
    )
    assert none == Node("the ledger has no run of it")
    assert decided.text.startswith(
        f"last decision: withhold at 2026-11-30 14:00 UTC, over main {commit[:12]}: "
        f"owner-approval: `{DIGITS}`: 0 of 1 owner approvals"
    )
    assert decided.children == (Node("against it: `owner-approval`"),)


def test_where_nothing_was_recorded_the_tree_says_so_first(scene: Scene) -> None:
    scene.merge({DIGITS: admission(), TRAIN: job()})
    tree = found(scene.explain(TRAIN), f"job `{TRAIN}`")
    assert tree.outcome is Outcome.UNDECIDED
    first = tree.children[0]
    assert first.outcome is Outcome.UNDECIDED
    assert first.text == (
        f"{NEVER}: `{TRAIN}`, `{RULES}`, `.github/CODEOWNERS`, `{DIGITS}`; "
        "the rules that need it are undecided"
    )
    rule = found(scene.explain(TRAIN), f"`owner-approval` ({TRAIN})")
    assert rule.text.endswith(f"whether these bytes were approved is not known: {NEVER}")
    assert tree.children[-1] == Node("no pass has decided anything about it that it kept")


def test_other_bytes_than_those_that_were_recorded_are_not_taken_for_them(running: Scene) -> None:
    running.merge({TRAIN: job(command="false")})
    report = running.explain(TRAIN)
    assert f"{NEVER}: `{TRAIN}`;" in texts(report)
    assert found(report, f"`owner-approval` ({TRAIN})").outcome is Outcome.UNDECIDED
    assert DIGITS not in found(report, NEVER).text


def test_the_answer_of_a_host_that_was_down_is_kept_for_the_same_bytes(scene: Scene) -> None:
    """A doubt names no bytes: it counts only while they are those of the main it was about."""
    scene.merge({DIGITS: admission(), TRAIN: job()}, approve=False)
    scene.turn()
    path = decision_file(TRAIN)
    said: dict[str, Any] = json.loads(scene.file(path))
    for answer in said["evidence"]["approvals"]:
        answer.pop("approval", None)
        answer["why"] = "the host answered 503"
    scene.forge({path: canonical(said)})
    text = texts(scene.explain(TRAIN))
    assert "is not known: the host answered 503" in text
    assert NEVER not in text
    scene.merge({TRAIN: job(command="false")})
    assert f"{NEVER}: `{TRAIN}`;" in texts(scene.explain(TRAIN))


def test_that_nobody_asked_takes_back_nothing_that_was_proved_before(running: Scene) -> None:
    running.merge({"jobs/other.yml": job("other")}, approve=False)
    running.turn()
    report = running.explain("other")
    assert says(report, "`owner-approval` (jobs/other.yml): whether these bytes were approved")
    assert found(report, f"admission `{DIGITS}`: 6 rules").outcome is Outcome.MET


def test_a_policy_that_too_few_approved_is_held_against_the_one_before(scene: Scene) -> None:
    scene.merge({RULES: POLICY.replace("minimum: 1", "minimum: 2")})
    scene.approve(RULES, "@ada")
    scene.merge({DIGITS: admission(), "jobs/other.yml": job("other")})
    scene.turn()
    scene.merge({RULES: POLICY})
    scene.merge({TRAIN: job()})
    scene.turn()
    rule = found(scene.explain(TRAIN), f"`owner-approval` ({RULES})")
    assert rule.outcome is Outcome.UNMET
    assert "by as many as the last approved policy, which asked for 2, asks for" in rule.text


def test_it_says_whether_main_has_moved_on_since(scene: Scene) -> None:
    scene.merge({DIGITS: admission(), TRAIN: job()}, approve=False)
    scene.turn()
    assert "moved on" not in texts(scene.explain(TRAIN))
    commit = scene.merge({"README.md": "more"}, approve=False)
    said = f"main has moved on since; no pass has seen {commit[:12]}, as far as the ledger says"
    assert found(scene.explain(TRAIN), "moved on").text == said
    scene.turn()
    said = f"main has moved on since; a pass has seen {commit[:12]} and decided nothing else"
    assert found(scene.explain(TRAIN), "moved on").text == said


def test_all_rules_are_told_if_asked(running: Scene) -> None:
    assert "`image-pinned`" not in texts(running.explain(TRAIN))
    text = texts(running.explain(TRAIN, verbose=True))
    assert "MET `image-pinned`: pinned to sha256:1f1f1f1f1f1f" in text
    assert "MET `image-pinned` was MET: pinned to" in text


def test_a_run_says_how_it_came_to_be_and_what_happened(running: Scene) -> None:
    running.now += HOUR
    running.workspace.end(running.run)
    running.turn()
    blob = running.repo.blob
    brought, first = running.repo.head(), running.root
    report = running.explain(running.run)
    run = running.run
    assert texts(report).splitlines()[1:] == [
        f"run `{run}`: Completed, settled, 2 GPU hours of `digits` used",
        (
            f"  reserved 0.33 GPU hours of `digits` at 2026-11-30 14:00 UTC for `{TRAIN}`: "
            "2 x 1 GPUs for at most 0.17 h, in `fake`"
        ),
        f"  attempt 1, `{run}`",
        (
            f"    MET admitted over main {brought[:12]}, at most 0.33 GPU hours, 1.33 USD, "
            f"by version {running.version} of the controller"
        ),
        (
            f"      `.github/CODEOWNERS`, bytes {blob('HEAD:.github/CODEOWNERS')[:12]} of commit "
            f"{first[:12]}: the bytes of the trusted root"
        ),
        (
            f"      `{DIGITS}`, bytes {blob(f'HEAD:{DIGITS}')[:12]} of commit "
            f"{running.repo.blob('HEAD~1')[:12]}: @lin at 2026-11-30 13:00 UTC"
        ),
        (
            f"      `{RULES}`, bytes {blob(f'HEAD:{RULES}')[:12]} of commit "
            f"{first[:12]}: the bytes of the trusted root"
        ),
        (
            f"      `{TRAIN}`, bytes {blob(f'HEAD:{TRAIN}')[:12]} of commit "
            f"{brought[:12]}: @lin at 2026-11-30 13:00 UTC"
        ),
        "      MET 31 rules were met",
        "    submitted at 2026-11-30 14:00 UTC",
        "    over: Completed, it ran 2026-11-30 14:00 UTC to 2026-11-30 15:00 UTC, 2 GPU hours",
        "  settled at 2026-11-30 16:00 UTC, 2 GPU hours used: Completed, no attempt left",
        "  nothing more is to be decided about it: settled, Completed, no attempt left",
    ]


def test_a_run_that_goes_on_says_that_nothing_is_against_it(running: Scene) -> None:
    main = running.repo.head()[:12]
    assert found(running.explain(running.run), "no pass has decided anything against it").text == (
        "no pass has decided anything against it; the last that wrote was at 2026-11-30 14:00 UTC, "
        f"over main {main}"
    )


def test_a_run_that_is_to_end_says_why_and_who_asked(running: Scene) -> None:
    running.merge({TRAIN: None})
    running.turn()
    report = running.explain(running.run)
    asked = found(report, "asked to end at 2026-11-30 15:00 UTC (withdrawn)").text
    assert asked.endswith(f"its manifest `{TRAIN}` is not on main any more, approved")
    said = found(report, "last decision: cancel (withdrawn) at 2026-11-30 15:00 UTC").text
    assert said.endswith("is not on main any more, approved")
    gone = found(running.explain("digits"), f"job `{TRAIN}`: not on main")
    assert f"run `{running.run}`" in "\n".join(node.text for node in gone.children)


def test_a_word_to_stop_is_told(running: Scene) -> None:
    book = read_book(running.ledger.read(lambda _: True))
    (record,) = book.records.values()
    draft = Draft(book)
    draft.put(stopped(record, Stop(running.now, "it diverged", "@ada")), "stop")
    draft.flush(running.ledger, replace(book.heartbeat, at=running.now))
    said = "stopped by @ada at 2026-11-30 14:00 UTC: it diverged"
    assert found(running.explain(running.run), "stopped by").text == said


def test_each_attempt_is_told_and_any_of_them_names_the_run(scene: Scene) -> None:
    scene.merge({DIGITS: admission(gpu_hours="1\n  retries: 1"), TRAIN: resumable()})
    scene.turn()
    first = scene.run
    scene.workspace.end(first, "Failed", "the machine was taken away", preempted=True)
    scene.turn()
    scene.turn()
    report = scene.explain(first)
    assert says(report, f"run `{first}-a2`: submitted")
    assert says(report, f"attempt 1, `{first}`")
    assert says(report, f"attempt 2, `{first}-a2`")
    assert "preempted, 0 GPU hours: the machine was taken away" in found(report, "over:").text
    assert says(report, f"`{first}` is an earlier attempt of it")
    again = scene.explain(f"{first}-a2")
    assert "earlier attempt" not in texts(again)
    assert says(again, f"run `{first}-a2`: submitted")


def test_an_admission_tells_its_account_its_jobs_and_who_approved_it(running: Scene) -> None:
    running.merge({"jobs/other.yml": job("other")}, approve=False)
    running.turn()
    blob = running.repo.blob(f"HEAD:{DIGITS}")[:12]
    commit = running.repo.blob("HEAD~2")[:12]
    tree = found(running.explain(DIGITS), "admission `digits`")
    version, recorded, rules, balance, jobs, proofs = tree.children
    assert (tree.text, tree.outcome) == ("admission `digits`: met", Outcome.MET)
    assert version.text == (
        f"last approved version: bytes {blob}, those on main; owner @ada, expires 2027-01-31, "
        "grants 1 GPU hours"
    )
    assert recorded.text.startswith("judged by evidence recorded at")
    assert rules.text == f"admission `{DIGITS}`: 5 rules, all of them met"
    assert balance == Node(
        "1 GPU hours granted, 0.33 set aside, 0 used, 0.67 free; 2 nodes in use",
        None,
        (Node(f"`{running.run}` holds 0.33 and 2 nodes: submitted"),),
    )
    assert jobs.text == "2 jobs on main by it"
    assert jobs.children[0].text.startswith(f"`{TRAIN}`: `{running.run}`, submitted")
    assert jobs.children[1].outcome is Outcome.UNMET
    assert jobs.children[1].text.startswith("`jobs/other.yml`: not met, `nodes-granted`: 2 nodes")
    assert proofs == Node(
        "approved, as the ledger has proved it",
        None,
        (
            Node(
                f"`{DIGITS}`, bytes {blob} of commit {commit}: @lin at 2026-11-30 13:00 UTC; "
                "proved at 2026-11-30 14:00 UTC, on main now",
                Outcome.MET,
            ),
        ),
    )


def test_an_admission_that_nothing_was_started_by_says_so(scene: Scene) -> None:
    scene.merge({DIGITS: admission()})
    text = texts(scene.explain("digits"))
    assert "UNDECIDED no pass has seen a version of it approved" in text
    assert "nothing was ever charged to it" in text
    assert "0 jobs on main by it" in text
    assert "the ledger has no proof that it was approved" in text


def test_an_admission_that_is_gone_is_known_by_what_it_paid(running: Scene) -> None:
    running.merge({DIGITS: None}, approve=False)
    report = running.explain(DIGITS)
    assert found(report, "admission `digits`").text == (
        f"admission `digits`: not on main {running.repo.head()[:12]}"
    )
    assert says(report, "not those on main; owner @ada")
    assert says(report, "1 GPU hours granted, 0.33 set aside")


def test_a_name_of_both_is_a_job_and_the_admission_is_named_by_its_path(running: Scene) -> None:
    report = running.explain("digits")
    assert [node.text.partition(":")[0] for node in report.tree[1:]] == [
        f"job `{TRAIN}`",
        "`digits` is also an admission",
    ]
    assert DIGITS in report.tree[2].text
    assert running.explain(f"./{TRAIN}").tree[1] == report.tree[1]


def test_a_broken_job_tells_its_problems(running: Scene) -> None:
    running.merge({TRAIN: job().replace("limits:", "limit:")}, approve=False)
    report = running.explain(TRAIN)
    tree = found(report, f"job `{TRAIN}`: broken")
    assert tree.outcome is Outcome.UNDECIDED
    assert found(report, f"{TRAIN}:10: `limit` is not a field").outcome is Outcome.UNMET
    assert says(report, f"run `{running.run}`: submitted")
    assert report.exit is ExitCode.SETTLED


def test_what_nobody_knows_is_refused_with_the_nearest_names(running: Scene) -> None:
    with pytest.raises(UsageError, match="`digts` is no job, admission or run") as caught:
        running.explain("digts")
    assert "`digits`" in caught.value.remedy
    with pytest.raises(UsageError) as caught:
        running.explain("zzzzzzzzzzzzzzzzzzzzz")
    assert caught.value.remedy == "`admit status` names all that ran"


def test_without_a_ledger_nothing_is_explained(scene: Scene) -> None:
    scene.merge({TRAIN: job()})
    scene.ledger.rewind(None)
    for at in (None, "HEAD", "2026-11-30"):
        with pytest.raises(MissingLedgerError):
            scene.explain(TRAIN, at)


# As of an earlier time.


def test_a_lowered_grant_does_not_change_what_was_decided_before(scene: Scene) -> None:
    before = scene.merge({DIGITS: admission(), TRAIN: job()})
    scene.turn()
    then = scene.now
    scene.workspace.end(scene.run)
    scene.turn()
    scene.merge({DIGITS: admission(gpu_hours="0.1")})
    scene.turn()
    assert says(scene.explain(DIGITS), "0.1 GPU hours granted")
    for at in (before, before[:10], utc(then)):
        report = scene.explain(DIGITS, at)
        assert report.commit == before
        assert says(report, "1 GPU hours granted")
        assert found(report, "admission `digits`").outcome is Outcome.MET
    now = found(scene.explain(TRAIN), f"admission `{DIGITS}`")
    assert now.outcome is Outcome.UNDECIDED
    then_it = scene.explain(TRAIN, before)
    assert found(then_it, f"job `{TRAIN}`").outcome is Outcome.MET
    assert says(then_it, f"run `{scene.run}`: Completed, settled")


def test_what_expired_since_was_current_then(running: Scene) -> None:
    then = running.now
    running.now += 100 * DAY
    late = found(running.explain(TRAIN), "`admission-current`")
    assert (late.outcome, "it expired on 2027-01-31" in late.text) == (Outcome.UNMET, True)
    report = running.explain(TRAIN, utc(then), verbose=True)
    early = found(report, "`admission-current`")
    assert early.outcome is Outcome.MET
    assert "today is 2026-11-30" in early.text
    assert found(report, "judged by evidence recorded at 2026-11-30 14:00 UTC").text.endswith("UTC")
    again = running.explain(TRAIN, utc(then + 99 * DAY), verbose=True)
    assert found(again, "`admission-current`") == early


def test_the_policy_of_then_judges_what_was_decided_then(scene: Scene) -> None:
    before = scene.merge({DIGITS: admission(), TRAIN: job()}, approve=False)
    scene.turn()
    then = scene.now
    scene.merge({RULES: POLICY.replace("kinds: [command]", "kinds: [sweep]")})
    scene.turn()
    assert found(scene.explain(TRAIN), "`kind-enabled`").outcome is Outcome.UNMET
    for at in (before, utc(then), utc(then + HOUR / 2)):
        assert "`kind-enabled`" not in texts(scene.explain(TRAIN, at))


def test_a_time_is_looked_up_in_the_ledger_and_a_day_is_its_end(running: Scene) -> None:
    first = running.repo.head()
    book = read_book(running.ledger.read(lambda _: True))
    running.now = NOON + DAY
    second = running.merge({"README.md": "more"}, approve=False)
    running.turn()
    assert running.explain(TRAIN, "2026-12-01T13:00Z").commit == second
    assert running.explain(TRAIN, "2026-12-01T14:00+01:00").commit == second
    assert running.explain(TRAIN, "2026-12-01T12:59:59").commit == first
    report = running.explain(TRAIN, "2026-11-30")
    assert report.tree[0].text == (
        f"main was {first[:12]}; the ledger is at {book.head[:12]} of 2026-11-30 14:00 UTC: "
        "the last that was written until 2026-11-30 23:59 UTC"
    )


def test_a_commit_that_no_pass_wrote_over_is_looked_at_with_the_ledger_of_its_time(
    running: Scene,
) -> None:
    """Commits of the scratch repository are minutes after noon, before everything else."""
    commit = running.repo.head()
    running.repo.minutes = 150
    between = running.merge({"README.md": "one"}, approve=False)
    running.merge({"README.md": "two"}, approve=False)
    running.turn()
    running.turn()
    report = running.explain(TRAIN, between)
    assert report.commit == between != commit
    assert report.tree[0].text.endswith(
        "as it was at the time of that commit, 2026-11-30 14:31 UTC: no pass wrote over it"
    )
    assert says(report, f"run `{running.run}`: submitted")


def test_before_the_ledger_began_nothing_was_recorded_and_it_says_so(scene: Scene) -> None:
    early = scene.merge({DIGITS: admission(), TRAIN: job()})
    later = scene.merge({DIGITS: admission(gpu_hours="2")})
    scene.turn()
    for at, main in ((early, early), ("2026-11-30T12:03Z", early), ("2026-11-30T12:05Z", later)):
        report = scene.explain(TRAIN, at)
        assert report.commit == main
        assert report.tree[0].text.endswith(
            "the ledger begins only at 2026-11-30 13:00 UTC, so nothing was recorded of that moment"
        )
        assert says(report, f"{NEVER}: `{TRAIN}`")
    with pytest.raises(UsageError, match="neither a main nor a ledger at 2026-11-30 11:00 UTC"):
        scene.explain(TRAIN, "2026-11-30T11:00Z")


def test_what_was_not_there_yet_is_not_known_then(running: Scene) -> None:
    with pytest.raises(UsageError, match="is no job, admission or run"):
        running.explain(running.run, running.root)


def test_a_time_that_there_is_not_is_refused() -> None:
    for at in ("2026-02-30", "2026-11-30T25:00Z", "9999-12-31T23:59-23:00"):
        with pytest.raises(UsageError, match="is no time that there is"):
            time_of(at)


def test_what_is_neither_a_time_nor_a_commit_is_refused(running: Scene) -> None:
    for at in ("yesterday", "--all", ""):
        with pytest.raises(UsageError, match="names no commit"):
            running.explain(TRAIN, at)


def test_one_odd_time_in_the_ledger_hides_nothing(running: Scene) -> None:
    """A time lies where the fewest commits are on the wrong side of it."""
    start = running.ledger.head
    assert start is not None
    odd = (NOON + 3 * HOUR, NOON + 900 * DAY, NOON + 4 * HOUR, NOON - DAY, NOON + 5 * HOUR)
    heads = [running.ledger.forge({}, at=at) for at in odd]
    running.ledger.forge({}, at=NOON + 6 * HOUR)
    wanted = {"14:30": start, "15:30": heads[0], "16:30": heads[3], "17:30": heads[4]}
    for time, commit in wanted.items():
        said = running.explain(TRAIN, f"2026-11-30T{time}Z").tree[0].text
        assert f"the ledger is at {commit[:12]}" in said, time


def test_where_two_places_fit_a_time_equally_well_the_earlier_is_looked_at(
    running: Scene,
) -> None:
    start = running.ledger.head
    assert start is not None
    for at in (NOON + 900 * DAY, NOON + 3 * HOUR):
        running.ledger.forge({}, at=at)
    said = running.explain(TRAIN, "2026-11-30T15:30Z").tree[0].text
    assert f"the ledger is at {start[:12]}" in said


# The ledger may say anything.


def test_a_damaged_admission_record_is_told_as_such(running: Scene) -> None:
    file = admitted(running)
    sound = running.file(file)
    for content in (b"{}\n", b"not json", b"\xff", sound.replace(b'"MET"', b'"UNMET"'), None):
        running.ledger.forge({file: content}, at=running.now)
        node = found(running.explain(running.run), "the admission record of")
        assert node.outcome is Outcome.UNDECIDED
        how = "is not in the ledger" if content is None else "is not the one that was reserved for"
        assert node.text == f"the admission record of `{running.run}` {how}"
    assert says(running.explain(TRAIN), "the admission record of")


def test_a_record_is_told_only_of_the_attempt_that_it_is_of(running: Scene) -> None:
    """What was given back and set aside again has two attempts of one name, each with its own."""
    (record,) = read_book(running.ledger.read(lambda _: True)).records.values()
    attempt = replace(record.attempt, record=sha256(b"another"), submitted_at=None)
    closed = Closed("released", running.now, "it never started")
    before = replace(record.last, attempts=(attempt,), closed=closed)
    twice = replace(record, generations=(before, record.last))
    running.forge({run_file(record): encoded(twice)})
    one, other = (n for n in nodes(running.explain(record.run).tree) if "attempt 1" in n.text)
    assert one.children[0].text.endswith("is not in the ledger")
    assert other.children[0].text.startswith("admitted over main")


def test_a_record_with_the_right_digest_may_still_say_nothing(running: Scene) -> None:
    sound = json.loads(running.file(admitted(running)))
    damages: tuple[dict[str, Any], ...] = (
        {"findings": [["owner-approval"]]},
        {"findings": "all"},
        {"gpu_hours": "many"},
        {"gpu_hours": 10**400},
        {"blobs": []},
        {"commit": None},
    )
    for damage in damages:
        reforged(running, {**sound, **damage})
        for report in (running.explain(running.run), running.explain(TRAIN)):
            assert says(report, f"the admission record of `{running.run}` is damaged")


def test_a_record_without_sound_evidence_tells_the_rest(running: Scene) -> None:
    said = json.loads(running.file(admitted(running)))
    reforged(running, {**said, "evidence": {"asked_at": "never"}})
    report = running.explain(running.run)
    assert says(report, "the evidence that it rested on is damaged")
    assert says(report, "31 rules were met")


def test_damaged_evidence_of_a_decision_is_told_and_left_out(scene: Scene) -> None:
    scene.merge({DIGITS: admission(), TRAIN: job()}, approve=False)
    scene.turn()
    path = decision_file(TRAIN)
    sound = json.loads(scene.file(path))
    damages: tuple[Any, ...] = ({}, [], "none", {"asked_at": 10**400}, {"policy": 1})
    for evidence in damages:
        scene.forge({path: canonical({**sound, "evidence": evidence})})
        tree = found(scene.explain(TRAIN), f"job `{TRAIN}`")
        assert NEVER in tree.children[0].text
        assert tree.children[1] == Node(
            f"the evidence of the last decision about `{TRAIN}` is damaged, and left out",
            Outcome.UNDECIDED,
        )


def test_a_damaged_proof_is_told_and_proves_nothing(running: Scene) -> None:
    (file,) = [f for f in everything(running) if f.startswith(f"proofs/{DIGITS}/")]
    sound = json.loads(running.file(file))
    other = canonical({**sound, "path": TRAIN})
    wild = canonical({**sound, "by": [{"login": "@eve", "at": "soon", "source": ""}]})
    for content in (b"{}", other, wild):
        running.forge({file: content})
        node = found(running.explain(DIGITS), f"`{file}`")
        assert node.outcome is Outcome.UNDECIDED
        assert "damaged" in node.text or "the proof of something else" in node.text
        assert "@eve" not in texts(running.explain(DIGITS))


def test_whatever_a_decision_says_only_refusals_are_raised(scene: Scene) -> None:
    scene.merge({DIGITS: admission(), TRAIN: job()}, approve=False)
    scene.turn()
    path = decision_file(TRAIN)
    sound = json.loads(scene.file(path))
    for change in (
        {"main": "--all"},
        {"main": "HEAD"},
        {"main": "0" * 40},
        {"why": "\x1b[31m\n::error::\u202e"},
        {"at": "0001-01-01T00:00:00Z"},
        {"at": "9999-12-31T23:59:59Z"},
        {"rules": ["\ud800"]},
        {"subject": "jobs/\ud800"},
    ):
        escaped = json.dumps({**sound, **change}, sort_keys=True, separators=(",", ":"))
        for content in (escaped.encode() + b"\n", canonical({**sound, **change})):
            scene.forge({path: content})
            with suppress(AdmitError):
                scene.explain(TRAIN)


def test_whatever_a_run_says_only_refusals_are_raised(running: Scene) -> None:
    (record,) = read_book(running.ledger.read(lambda _: True)).records.values()
    for change in (
        {"timeout": 10**400},
        {"gpu_hours": 1e308},
        {"nodes": -(10**30)},
        {"path": "../../etc/passwd"},
        {"workspace": "\ud800"},
    ):
        said = json.loads(encoded(record))
        said["generations"][0] |= change
        running.forge({run_file(record): canonical(said)})
        for word in (TRAIN, DIGITS, running.run):
            with suppress(AdmitError):
                running.explain(word)


def test_a_main_that_the_ledger_does_not_trust_is_told(running: Scene) -> None:
    running.repo.run("checkout", "--quiet", "--orphan", "other")
    running.repo.commit()
    running.repo.run("branch", "--force", "main")
    text = texts(running.explain(TRAIN))
    assert (
        f"UNDECIDED main does not come after {running.root[:12]}, which the ledger trusts" in text
    )


def test_a_brake_that_holds_is_told_with_everything(running: Scene) -> None:
    hold = POLICY.replace("null", "{reason: a move, drain: true}")
    running.merge({RULES: hold.replace("cancels_per_pass: 3", "cancels_per_pass: 0")})
    running.turn()
    for at in (None, "2026-11-30"):
        note = found(running.explain(running.run, at), "no run is cancelled")
        assert note.text.startswith("since 2026-11-30 15:00 UTC no run is cancelled: this pass")
    assert "no run is cancelled" not in texts(running.explain(running.run, "2026-11-30T14:59Z"))


def test_a_main_that_this_clone_lacks_is_said(running: Scene) -> None:
    book = read_book(running.ledger.read(lambda _: True))
    beat = encoded(replace(book.heartbeat, main=CommitId("1" * 40)))
    running.ledger.forge({"heartbeat.json": beat}, at=running.now)
    with pytest.raises(CannotRunError, match="the ledger names main 111111111111, which is not"):
        running.explain(TRAIN, "2026-11-30")


def canonical(said: dict[str, Any]) -> bytes:
    """Return JSON as the ledger spells it, whatever it says."""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def admitted(scene: Scene) -> str:
    """Return where the admission record of the one run is."""
    (record,) = read_book(scene.ledger.read(lambda _: True)).records.values()
    return record_file(record.run, record.attempt.record)


def reforged(scene: Scene, said: dict[str, Any]) -> None:
    """Put another admission record into the ledger, and its digest into the run's record."""
    (record,) = read_book(scene.ledger.read(lambda _: True)).records.values()
    content = canonical(said)
    (generation,) = record.generations
    (attempt,) = generation.attempts
    attempt = replace(attempt, record=sha256(content))
    changed = replace(record, generations=(replace(generation, attempts=(attempt,)),))
    scene.forge(
        {record_file(record.run, sha256(content)): content, run_file(record): encoded(changed)}
    )


def resumable() -> str:
    """A job that leaves checkpoints where the next attempt finds them."""
    path = "azureml://datastores/training/paths/digits"
    outputs = f'outputs:\n  checkpoints: {{type: uri_folder, path: "{path}"}}\n'
    return job(command="train ${{outputs.checkpoints}}") + outputs

"""What a person reads in a terminal: problems first, one closing line last, and no noise."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from report_samples import (
    ACTIONS,
    AGAIN,
    BRAKE,
    COST,
    JOB,
    LATER,
    NOT_ASKED,
    NOW,
    OVER_BUDGET,
    OVERDUE,
    RUN,
    SAMPLES,
    T5_JOB,
    T5_RUN,
    UNMEASURED,
    all_good,
    at,
    check,
    drift,
    explain,
    grant,
    invalid,
    job,
    plan,
    plan_of,
    reconcile,
    record,
    some_met,
    status,
    stop,
    verified,
    verify,
)
from test_report_exit import HOLDING, WAITING, WITHHELD
from test_report_markdown import HOSTILE, hostile_report, many

from controller.decision.actions import Keep
from controller.effects.receipts import Receipt
from controller.ledger.account import Balance
from controller.report.outcome import DriftLine, ExitCode, Report, RunLine
from controller.report.page import Page, columns
from controller.report.text import render
from controller.values import AdmissionId, Problem, RepoPath

PROBLEM = (
    "jobs/clip.yml:14:3: unknown-field: `resources.instance_cuont` is not a field of a command job"
)
DONE = Receipt("submit", RUN, "done", "")
ANSI = re.compile(r"\x1b\[\d+m")


def shown(report: Report, width: int = 88, *, verbose: bool = False) -> str:
    return render(report, colour=False, width=width, verbose=verbose)


def last(report: Report) -> str:
    return shown(report).splitlines()[-1]


START = (
    "· merging this would start bert-pretrain-1f2e3d4c5b6a: 960 GPU hours, 3,932.40 USD at most\n"
)


def test_nothing_but_what_would_start_and_the_closing_line_when_all_is_well() -> None:
    assert shown(all_good(), width=100) == (
        START * 3 + "\nsettled: 3 jobs and 2 admissions judged, no rule is against it\n"
    )


def test_of_ten_thousand_met_subjects_three_are_named() -> None:
    assert shown(many(10_000), width=100) == (
        START * 3 + "· and 9,997 more\n\nsettled: 10,000 jobs judged, no rule is against it\n"
    )


@pytest.mark.parametrize(
    ("report", "closing"),
    [
        (Report("check", NOW), "settled: nothing to do"),
        (replace(all_good(), plan=plan_of(Keep(RUN, "Running"))),
         "settled: 3 jobs and 2 admissions judged, 1 run kept, nothing to do"),
        (Report("plan", NOW, verdicts=(grant(*some_met(JOB, 1)),), plan=plan_of(ACTIONS[3])),
         "settled: 1 admission judged, 1 change would follow"),
        (Report("apply", NOW, plan=plan_of(ACTIONS[3]), receipts=(DONE,)),
         "settled: 1 action done"),
        (status(), "settled: 3 admissions, 17 runs, 5 active, 1 merged job is withheld"),
        (Report("status", NOW), "settled: no admission and no run yet"),
        (verify(), "denied: 1 of 4 edges is broken (exit 4)"),
        (replace(verify(), edges=(*verify().edges, verify().edges[2])),
         "denied: 2 of 5 edges are broken (exit 4)"),
        (verified(), "settled: all 2 edges that were checked hold, 1 was not checked"),
        (replace(verified(), edges=verified().edges[:1]),
         "settled: the one edge that was checked holds"),
        (replace(verified(), edges=verified().edges[2:]), "settled: no edge was checked"),
        (explain(), "settled: told from git and the ledger, nobody else was asked"),
        (replace(explain(), base="main"),
         "settled: no verdict would change, and no run would be cancelled"),
        (replace(explain(), base="main", drift=drift().drift),
         "drift: 3 things would change if it were merged (exit 6)"),
        (stop(), "incomplete: 1 of 2 runs could not be stopped, it is not recorded (exit 7)"),
        (replace(stop(), receipts=stop().receipts[:1]), "settled: 1 run is stopped"),
        (replace(stop(), receipts=stop().receipts[:1] * 3), "settled: 3 runs are stopped"),
        (replace(stop(), receipts=stop().receipts[2:]),
         "incomplete: it is not recorded (exit 7)"),
        (replace(stop(), receipts=(Receipt("list", "ws", "failed", ""),)),
         "incomplete: what else there is could not be asked (exit 7)"),
        (replace(stop(), receipts=()), "settled: nothing to stop"),
        (Report("reconcile", NOW, plan=plan_of(Keep(RUN, OVERDUE, overdue=True))),
         "incomplete: 1 run was asked to end long ago and has not (exit 7)"),
        (invalid(), "invalid: 2 problems in 2 files (exit 3)"),
        (HOLDING[ExitCode.INVALID], "invalid: 1 problem in 1 file (exit 3)"),
        (check(), "denied: 1 of 3 subjects does not meet its rules (exit 4)"),
        (replace(check(), deferred=frozenset(), verdicts=(job(OVER_BUDGET), grant(OVER_BUDGET))),
         "denied: 2 of 2 subjects do not meet their rules (exit 4)"),
        (plan(),
         "denied: 1 of 2 subjects does not meet its rules, 3 merged jobs are withheld (exit 4)"),
        (Report("plan", NOW, plan=plan_of(WITHHELD)), "denied: 1 merged job is withheld (exit 4)"),
        (Report("check", NOW, verdicts=(job(),), counting=frozenset({JOB})),
         "undecided: 1 of 1 subject could not be decided (exit 5)"),
        (Report("plan", NOW, plan=plan_of(WAITING, Keep(RUN, "?", undecided=True))),
         "undecided: 1 start waits for an answer, 1 run is kept in doubt (exit 5)"),
        (drift(), "drift: 1 change is to be done, 3 differences from main (exit 6)"),
        (replace(drift(), drift=()), "drift: 1 change is to be done (exit 6)"),
        (replace(drift(), planning=False), "drift: 3 differences from main (exit 6)"),
        (reconcile(),
         "incomplete: 1 action failed, 1 action was held back, 1 brake holds (exit 7)"),
        (Report("apply", NOW, brakes=("x",)), "incomplete: 1 brake holds (exit 7)"),
        (Report("apply", NOW, receipts=(Receipt("cancel", RUN, "failed", ""),)),
         "incomplete: 1 action failed (exit 7)"),
        (Report("apply", NOW, receipts=(Receipt("cancel", RUN, "held", ""),) * 2),
         "incomplete: 2 actions were held back (exit 7)"),
    ],
)  # fmt: skip
def test_the_closing_line_says_what_the_exit_means(report: Report, closing: str) -> None:
    assert last(report) == closing


def test_problems_come_first_in_the_form_that_editors_follow() -> None:
    lines = shown(invalid(), width=120).splitlines()
    assert lines[:3] == [
        "admissions/policy.yml: missing-file: there is no policy",
        PROBLEM,
        "  fix: did you mean `instance_count`?",
    ]


def test_a_problem_without_a_column_names_its_line() -> None:
    report = Report("check", NOW, problems=(Problem("bad", at("a.yml", 3), "no", ""),))
    assert shown(report).startswith("a.yml:3: bad: no\n")


def test_unmet_findings_come_before_undecided_ones_and_met_ones_are_counted() -> None:
    marks = [line[:4] for line in shown(check()).splitlines() if re.match("  [✗?·✓\\d] ", line)]
    assert marks == ["  ✗ ", "  ✗ ", "  ? ", "  4 "]


def test_verbose_lists_what_is_met_of_every_subject() -> None:
    text = shown(check(), verbose=True)
    assert text.count("  ✓ ") == 4 + 5 + 3
    assert "rules met" not in text
    assert "\njobs/old.yml  bert-pretrain-0a1b2c3d4e5f" in text


def test_what_is_asked_on_merge_is_a_note_and_no_failure() -> None:
    report = replace(all_good(), deferred=frozenset({"owner-approval"}))
    waiting = tuple(replace(v, findings=(*v.findings, NOT_ASKED)) for v in report.verdicts)
    assert shown(replace(report, verdicts=waiting), width=100) == (
        START * 3 + "\n· asked on merge: owner-approval (5)\n\n"
        "settled: 3 jobs and 2 admissions judged, no rule is against it\n"
    )


def test_a_subject_of_which_all_is_asked_on_merge_is_not_against() -> None:
    report = Report(
        "check",
        NOW,
        verdicts=(job(NOT_ASKED),),
        counting=frozenset({JOB}),
        deferred=frozenset({"owner-approval"}),
    )
    assert last(report) == "settled: 1 job judged, no rule is against it"


def test_subjects_that_do_not_count_are_named_and_after_three_counted() -> None:
    old = tuple(job(OVER_BUDGET, path=RepoPath(f"jobs/{n}.yml")) for n in range(5))
    lines = shown(replace(all_good(), verdicts=(*all_good().verdicts, *old))).splitlines()
    assert "· not met, and not counted: jobs/0.yml, jobs/1.yml, jobs/2.yml and 2 more" in lines
    assert lines[-1].endswith("rules are against 5 subjects that do not count")


def test_a_subject_without_rules_is_undecided_and_says_so() -> None:
    report = Report("check", NOW, verdicts=(replace(job(), cost=None),), counting=frozenset({JOB}))
    assert shown(report).startswith(f"{JOB}  {RUN}\n  ? no rule was asked\n\n")


def test_a_finding_without_a_place_or_a_remedy_has_no_such_line() -> None:
    bare = replace(UNMEASURED, where=at(""), remedy="")
    report = Report("check", NOW, verdicts=(grant(bare),), counting=frozenset({grant().subject}))
    assert shown(report).splitlines()[1:3] == [
        "  ? claim-measured  the run `runs:/3f2c` could not be asked: no answer in 10 s",
        "",
    ]


def test_long_reasons_hang_under_their_beginning_and_keep_to_the_width() -> None:
    lines = shown(check(), width=70).splitlines()
    at_ = next(n for n, line in enumerate(lines) if "gpu-budget" in line)
    assert re.match(" {16}[^ ]", lines[at_ + 1])
    assert all(columns(line) <= 70 for line in lines[1:])


def test_a_reason_that_has_no_room_beside_its_rule_goes_below() -> None:
    lines = shown(check(), width=20).splitlines()
    assert lines[1] == "  ✗ gpu-budget"
    assert lines[2] == "      the worst case is 960 GPU hours (2"


def test_a_plan_has_a_verb_a_run_and_a_reason_on_every_line() -> None:
    lines = shown(plan(), width=120).split("\n\n")[2].splitlines()
    verbs = [line.split()[0] for line in lines if re.match("  [a-z-]+ +[^ ]+  ", line)]
    assert verbs == [
        "settle", "release", "cancel", "submit", "cancel", "repair", "disable-schedule",
        "apply-schedule", "delete-schedule", "keep", "withhold", "withhold", "withhold",
        "withhold", "submit", "submit", "settle", "keep",
    ]  # fmt: skip
    assert f"  withhold          {T5_RUN}          `gpu-budget`, `expiry`, as above" in lines
    assert lines[-1] == "  keep              1 run as before"


def test_verbose_lists_the_runs_that_a_plan_keeps() -> None:
    report = Report("plan", NOW, plan=plan_of(Keep(RUN, "Running, admitted by `x`")))
    assert shown(report) == "settled: 1 run kept, nothing to do\n"
    assert f"  keep  {RUN}  Running, admitted by `x`\n" in shown(report, verbose=True)


def test_receipts_drift_and_brakes_have_their_lines() -> None:
    assert "\n  held    cancel  clip-777777777777           the brake held\n" in shown(reconcile())
    assert f"\nbrake: {BRAKE}\n" in shown(reconcile(), width=200)
    assert "\n  ~ vit-121212121212           its description differs\n" in shown(drift())


def test_the_bar_of_a_budget_shows_what_is_used_set_aside_and_free() -> None:
    budgets = {
        AdmissionId("a"): Balance(100.0, 25.0, 50.0, 1),
        AdmissionId("b"): Balance(0.0, 0.0, 0.0, 0),
        AdmissionId("c"): Balance(0.0, 5.0, 5.0, 1),
    }
    bars = [
        line.split()[-1] for line in shown(Report("status", NOW, budgets=budgets)).splitlines()[2:5]
    ]
    assert bars == ["█" * 10 + "▒" * 5 + "░" * 5, "░" * 20, "█" * 10 + "▒" * 10]


def test_hours_are_grouped_and_never_a_negative_nothing() -> None:
    budgets = {AdmissionId("a"): Balance(12345.678, 0.0, 12345.68, 1)}
    assert shown(Report("status", NOW, budgets=budgets)).splitlines()[2].split()[:5] == [
        "a", "12,345.68", "0", "12,345.68", "0",
    ]  # fmt: skip


def test_budgets_are_left_out_only_when_all_that_was_judged_is_met() -> None:
    assert "budgets" in shown(check())
    assert "budgets" not in shown(status())
    assert "budgets" in shown(all_good(), verbose=True)
    assert "budgets" not in shown(all_good())


def test_colour_adds_codes_and_changes_no_text() -> None:
    for sample in SAMPLES.values():
        coloured = render(sample(), colour=True, width=88)
        assert "\x1b[" in coloured
        assert ANSI.sub("", coloured) == shown(sample())


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("verbose", [False, True])
def test_hostile_text_reaches_no_terminal(text: str, colour: bool, verbose: bool) -> None:
    printed = render(hostile_report(text), colour=colour, width=60, verbose=verbose)
    lines = ANSI.sub("", printed).removesuffix("\n").split("\n")
    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)


@pytest.mark.parametrize("text", ["::stop-commands::x", "x ::error::y ##[group]z"])
def test_the_log_of_a_workflow_finds_no_command(text: str) -> None:
    lines = render(hostile_report(text), colour=False, width=40).splitlines()
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)


def test_columns_stay_aligned_beside_wide_and_combining_characters() -> None:
    page = Page(colour=False, width=80)
    table = list(page.table(("a", "b"), [("訓練", "x"), ("e\u0301", "y")]))
    assert table == ["  a     b", "  訓練  x", "  e\u0301     y"]


def test_a_long_name_sticks_out_of_its_column_alone() -> None:
    runs = (RunLine("r" * 60, record("r"), None),)
    assert f"    {'r' * 60}  submitted  1 of 2" in shown(Report("status", NOW, runs=runs))
    lines = (DriftLine("d" * 60, "orphan", ""), DriftLine("e", "orphan", ""))
    text = shown(Report("drift", NOW, drift=lines), width=120)
    assert f"  ~ {'d' * 60}  orphan\n  ~ e{' ' * 43}  orphan\n" in text


def test_the_price_of_a_subject_stands_beside_its_run() -> None:
    assert COST.gpu_hours == 960
    assert shown(check()).startswith(f"{JOB}  {RUN}  960 GPU hours, 3,932.40 USD\n")


def test_what_stands_against_a_start_has_a_line_for_each_rule() -> None:
    lines = shown(Report("plan", NOW, plan=plan_of(ACTIONS[13])), width=120).splitlines()
    assert lines[1:3] == [
        "  withhold  u-1  gpu-budget: the worst case is 960; 12.5 are free",
        "                 expiry: `t5` expired on 2026-11-29",
    ]
    below = shown(Report("plan", NOW, plan=plan_of(ACTIONS[13])), width=40).splitlines()
    assert below[2:6] == [
        "  withhold  u-1",
        "      gpu-budget: the worst case is 960;",
        "      12.5 are free",
        "      expiry: `t5` expired on 2026-11-29",
    ]


def test_each_rule_that_is_not_known_says_so() -> None:
    text = shown(Report("plan", NOW, plan=plan_of(ACTIONS[14])), width=120)
    assert text.count("not known: ") == 2


def test_an_attempt_after_the_first_and_a_charge_at_its_bound_are_told() -> None:
    text = shown(plan(), width=200)
    assert f"  submit            {AGAIN}  attempt 2 of 3: the one before was preempted\n" in text
    assert f"  submit            {LATER}  attempt 3, reserved by `bert-pretrain`\n" in text
    assert "  96 GPU hours (bound): vanished; its time limit has passed\n" in text
    assert "  187.5 GPU hours: Completed" in text


def test_a_run_that_does_not_end_is_never_among_those_that_are_only_counted() -> None:
    report = Report("plan", NOW, plan=plan_of(Keep(RUN, OVERDUE, overdue=True)))
    text = render(report, colour=True, width=200)
    assert f"\x1b[31m  keep  \x1b[0m{RUN}  overdue: {OVERDUE}\n" in text
    assert "as before" not in text


def test_runs_stand_below_their_admission_the_open_ones_first_and_ten_that_are_closed() -> None:
    names = [
        line.split()[0] for line in shown(status()).splitlines() if re.match(" {2,4}\\w", line)
    ]
    newest = [f"bert-{n:012}" for n in range(9, 1, -1)]
    assert names == [
        "admission", "run", "bert-pretrain", AGAIN, "bert-stopped", "bert-reserved", "bert-bound",
        "bert-given", *newest, "and", "clip", "clip-777777777777", "t5-large", "of",
        "vit-343434343434", T5_JOB,
    ]  # fmt: skip
    assert "\n    and 2 more that are closed\n" in shown(status())


def test_an_admission_says_how_long_it_lasts_and_what_is_odd_about_it() -> None:
    lines = shown(status()).splitlines()
    assert [line.rpartition("  ")[2] for line in lines if "@acme" in line] == [
        "2027-03-31, 121 days left",
        "2026-11-29, expired",
        "2026-11-30, its last day",
    ]
    assert "    ! it is not on main any more" in lines


def test_hours_that_are_set_aside_or_charged_at_a_bound_are_marked() -> None:
    cells = {line.split()[0]: line for line in shown(status()).splitlines() if "2 × 8" in line}
    for name, cell in {
        AGAIN: "2 of 2   2 × 8        ≤ 960  2026-11-30 10:00",
        "bert-bound": "1 of 2   2 × 8  480 (bound)  2026-11-30 20:00",
        "bert-given": "1 of 2   2 × 8            0  2026-11-30 17:00",
        "bert-000000000004": "1 of 2   2 × 8           80  2026-11-30 09:04",
    }.items():
        assert cells[name].endswith(cell)


def test_what_is_overdue_stands_out_below_its_run() -> None:
    text = render(status(), colour=True, width=100)
    assert "\x1b[31m      ! \x1b[0masked to end at 2026-11-30 10:00 UTC (expired)" in text
    assert text.count("\x1b[31m      ! ") == 1


def test_every_edge_has_a_mark_a_name_and_a_sentence() -> None:
    lines = shown(verify(), width=200).splitlines()
    assert [line[2] for line in lines[1:5]] == ["✓", "✓", "✗", "·"]
    assert lines[4] == (
        "  · run → workspace             not checked: it was not asked: that takes `--online`"
    )


def test_an_explanation_is_indented_by_what_rests_on_what() -> None:
    lines = shown(explain(), width=200).splitlines()
    assert [line[: line.index(" ", len(line) - len(line.lstrip()))] for line in lines[2:9]] == [
        "✗", "  ✗", "  ?", "  ✓", "  ·", "    ·", "      ·",
    ]  # fmt: skip

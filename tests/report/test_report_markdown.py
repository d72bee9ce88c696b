"""A comment on a pull request says everything, fits, and cannot be made to do anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_samples import (
    COST,
    NOW,
    all_good,
    at,
    check,
    invalid,
    job,
    observed,
    plan,
    plan_of,
    reconcile,
    record,
    status,
)

from controller.decision.actions import Withhold
from controller.decision.cost import Cost
from controller.decision.verdict import Outcome, Verdict, met, undecided, unmet
from controller.effects.receipts import Receipt
from controller.ledger.account import Balance
from controller.report.markdown import MOST, render
from controller.report.outcome import (
    AdmissionLine,
    DriftLine,
    Edge,
    Node,
    Report,
    RunLine,
    WithheldLine,
)
from controller.values import AdmissionId, Problem, RepoPath, RunName

OURS = re.compile(r"<details><summary>[\d,]+ rules? met</summary>\n|</details>\n")
"""All the HTML that a comment may contain."""
LIVE = re.compile(
    r"@\w|#\d|\bGH-\d|[a-z]+://|www\.[a-z]|[\w.]+@[\w.]+|[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]",
    re.IGNORECASE,
)
"""What GitHub would make a mention, a reference or a link in the text that is left."""


def tokens(markdown: str) -> Iterator[Token]:
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for token in reader.parse(markdown):
        yield token
        yield from token.children or ()


def blocks(markdown: str) -> list[str]:
    return [f"{token.type}{token.tag}{token.level}" for token in tokens(markdown) if token.block]


def assert_dead(markdown: str) -> None:
    for token in tokens(markdown):
        assert token.type not in {"link_open", "image", "html_inline", "s_open"}
        if token.type == "html_block":
            assert OURS.fullmatch(token.content)
        if token.type == "text":
            assert not LIVE.search(token.content)


def hostile_report(text: str) -> Report:
    """Return a report with `text` wherever text comes from outside."""
    path, where = RepoPath(text), at(text, 3)
    found = (met(text, text, where), unmet(text, text, where, text))
    asked = undecided("owner-approval", text, at(""), text)
    subject = Verdict(
        path, "job", AdmissionId(text), RunName(text), (*found, asked), replace(COST, currency=text)
    )
    withheld = Withhold(path, RunName(text), text)
    return Report(
        "check",
        NOW,
        commit=text,
        base=text,
        problems=(Problem(text, where, text, text),),
        verdicts=(subject, Verdict(RepoPath(text + "/b"), "admission", None, None, ())),
        plan=replace(plan_of(withheld), workspace=text),
        receipts=(Receipt(text, text, "failed", text),),
        runs=(
            RunLine(text, record(text), observed(text, text), (text, text)),
            RunLine(text, record(text, admission=AdmissionId(text)), None, (text,), "vanished"),
        ),
        drift=(DriftLine(text, text, text),),
        brakes=(text,),
        admissions=(AdmissionLine(AdmissionId(text), text, None, Balance(1.0, 0.0, 0.0, 0), text),),
        withheld=(WithheldLine(path, NOW, (text,), (text, text)),),
        edges=(Edge(text, "held", text), Edge(text, "broken", text)),
        tree=(Node(text, Outcome.MET, (Node(text, None, (Node(text),)),)), Node(text)),
        notes=(text,),
        budgets={AdmissionId(text): Balance(1.0, 0.0, 0.0, 0)},
        counting=frozenset({path, RepoPath(text + "/b")}),
        deferred=frozenset({"owner-approval"}),
    )


HOSTILE = (
    "@octocat please look",
    "@acme/admins",
    "&#64;octocat &commat;octocat",
    "[click](https://evil.example)",
    "![](https://evil.example/pixel.png)",
    "https://evil.example www.evil.example a@evil.example",
    "<https://evil.example> <a@evil.example>",
    "<img src=x onerror=alert(1)>",
    "</details><script>alert(1)</script>",
    "<!-- hidden",
    "`` ` ``` ~~~ `<b>`",
    "`a` | `b` || c",
    "\n\n# heading\n\n- [ ] task\n> quote\n\n---\n",
    "\n\n[x]: https://evil.example\n\n[x] [x][] [a][x]",
    "**bold** _it_ ~~gone~~ $x$ :tada: \\@octocat \\`x\\`",
    "fixes #1, acme/x#2, GH-3, acme/x@" + "a" * 40,
    "\u202eevil\u2066\u200b\x1b[31m\x00",
    "    indented\n\tcode",
    "1. one\n2. two",
    "| --- |\n| x |",
    "+++ \\",
    "=",
)


HARMLESS = blocks(render(hostile_report("x")))
"""Text from outside can make no block of its own: every report has the blocks of this one."""


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_nothing(text: str) -> None:
    markdown = render(hostile_report(text))
    assert_dead(markdown)
    assert blocks(markdown) == HARMLESS


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(HOSTILE), st.sampled_from("@#[](){}<>!`|\\~*_&;:/\n\t -"), st.text()
        )
    ).map("".join)
)
def test_no_mixture_of_hostile_texts_does_anything(text: str) -> None:
    markdown = render(hostile_report(text))
    assert_dead(markdown)
    assert blocks(markdown) == HARMLESS


def test_hostile_text_leaves_every_table_its_columns() -> None:
    markdown = render(hostile_report("a | b || `c | d` \\| e"))
    heads = [t for t in tokens(markdown) if t.type == "th_open"]
    rows = [t for t in tokens(markdown) if t.type == "td_open"]
    assert len(heads) == 5 + 3 + 4 + 8 + 8
    assert len(rows) == 2 * 5 + 3 + 4 + 8 + 2 * 8


def test_hostile_text_can_still_be_read() -> None:
    shown = "".join(
        t.content for t in tokens(render(hostile_report("ask @ada <now>"))) if t.type == "text"
    )
    assert "ask @\u200bada <now>" in shown


def test_our_own_words_are_code_and_our_own_html_folds_what_is_met() -> None:
    kinds = [token.type for token in tokens(render(check()))]
    assert kinds.count("html_block") == 2
    assert kinds.count("code_inline") > 20


@pytest.mark.parametrize("sample", [check, invalid, plan, reconcile, all_good])
def test_a_comment_of_ordinary_length_is_whole(sample: Callable[[], Report]) -> None:
    assert "Cut to" not in render(sample())


def many(number: int, reason: str = "it is as it must be") -> Report:
    findings = tuple(met(f"rule-{n}", reason, at("jobs/x.yml", n)) for n in range(27))
    verdicts = tuple(job(*findings, path=RepoPath(f"jobs/{n:05}.yml")) for n in range(number))
    return Report("check", NOW, verdicts=verdicts, counting=frozenset(v.subject for v in verdicts))


def test_a_long_report_is_cut_from_its_least_part_and_says_so() -> None:
    markdown = render(many(200))
    assert MOST - 2_000 < len(markdown) <= MOST
    cut = re.search(
        r"Cut to 60,000 characters: ([\d,]+) of 5,400 met rules are not shown", markdown
    )
    assert cut is not None
    assert markdown.count("| ✓ met |") == 200
    assert markdown.count("\n- ✓") == 5400 - int(cut[1].replace(",", ""))
    assert markdown.count("<details>") == markdown.count("</details>") == 1


def test_what_is_not_met_is_shown_before_what_is() -> None:
    report = many(10_000)
    bad = job(
        unmet("gpu-budget", "too much", at("jobs/zzz.yml", 3), "ask for less"),
        path=RepoPath("jobs/zzz.yml"),
    )
    report = replace(
        report, verdicts=(*report.verdicts, bad), counting=report.counting | {bad.subject}
    )
    markdown = render(report)
    assert len(markdown) <= MOST
    assert "- ✗ `gpu-budget` at `jobs/zzz.yml:3`: too much\n  **Do:** ask for less\n" in markdown
    assert "| `jobs/zzz.yml` | ✗ not met |" in markdown
    assert "270,000 of 270,000 met rules are not shown" in markdown
    assert "<details>" not in markdown


@pytest.mark.parametrize("text", ["@" * 5_000, "&" * 1_000_000])
def test_the_longest_hostile_texts_fit_too(text: str) -> None:
    problems = tuple(Problem(text, at(text, n), text, text) for n in range(1, 50))
    markdown = render(replace(hostile_report(text), problems=problems))
    assert len(markdown) <= MOST
    assert "problems" in markdown.rpartition("Cut to")[2]
    assert_dead(markdown)


def test_a_subject_without_rules_is_named() -> None:
    report = Report("check", NOW, verdicts=(job(),), counting=frozenset({job().subject}))
    assert "- ? `jobs/bert/pretrain.yml`: no rule was asked\n" in render(report)


def test_money_is_grouped_and_rounded_to_cents() -> None:
    costly = replace(job(), cost=Cost(12.345, 1, COST.amount * 1000, "EUR"))
    assert "| 12.35 | 3,932,400.00 EUR |" in render(Report("check", NOW, verdicts=(costly,)))


def test_a_tree_is_a_list_in_lists_and_loses_its_end_first() -> None:
    deep = Node("a", Outcome.MET, (Node("b", None, (Node("c", Outcome.UNMET),)),))
    markdown = render(Report("explain", NOW, tree=(deep,)))
    assert "\n- ✓ a\n  - · b\n    - ✗ c\n" in markdown
    long = Report("explain", NOW, tree=tuple(Node("x" * 500) for _ in range(200)))
    assert len(render(long)) <= MOST
    assert "of 200 sentences are not shown" in render(long)


def test_of_runs_that_are_closed_the_newest_ten_are_shown() -> None:
    markdown = render(status())
    assert "| `bert-000000000002` |" in markdown
    assert "| `bert-000000000001` |" not in markdown
    assert "\nAnd 2 more that are closed.\n" in markdown


def test_what_is_overdue_stands_out() -> None:
    assert "| **overdue** asked to end at 2026-11-30 10:00 UTC" in render(status())


def test_the_amounts_of_an_admission_are_shown_once() -> None:
    assert "#### Budgets" not in render(status())
    assert "#### Budgets" in render(check())

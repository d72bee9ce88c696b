"""Every renderer prints every sample as its golden file has it; `GOLDEN=update` rewrites them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import SAMPLES

from controller.report import as_json, markdown, text
from controller.report.outcome import Report

GOLDEN = Path(__file__).parent.parent / "golden" / "report"
RENDERERS: dict[str, Callable[[Report], str]] = {
    "txt": lambda report: text.render(report, colour=False, width=88),
    "md": markdown.render,
    "json": as_json.render,
}

every_sample = pytest.mark.parametrize("name", SAMPLES)
every_renderer = pytest.mark.parametrize("kind", RENDERERS)


@every_sample
@every_renderer
def test_a_report_reads_as_its_golden_file(name: str, kind: str) -> None:
    rendered = RENDERERS[kind](SAMPLES[name]())
    path = GOLDEN / f"{name}.{kind}"
    if os.environ.get("GOLDEN") == "update":
        path.write_text(rendered, encoding="utf-8")
    assert rendered == path.read_text(encoding="utf-8")


@every_sample
@every_renderer
def test_the_order_in_which_facts_came_changes_nothing(name: str, kind: str) -> None:
    report = SAMPLES[name]()
    turned = replace(
        report,
        problems=report.problems[::-1],
        verdicts=report.verdicts[::-1],
        runs=report.runs[::-1],
        drift=report.drift[::-1],
        admissions=report.admissions[::-1],
        withheld=report.withheld[::-1],
        budgets=dict(list(report.budgets.items())[::-1]),
    )
    assert RENDERERS[kind](turned) == RENDERERS[kind](report)


@every_renderer
def test_a_report_ends_in_one_newline(kind: str) -> None:
    rendered = [RENDERERS[kind](sample()) for sample in SAMPLES.values()]
    assert all(r.endswith("\n") and not r.endswith("\n\n") for r in rendered)


def test_no_golden_file_is_left_over() -> None:
    known = {f"{name}.{kind}" for name in SAMPLES for kind in RENDERERS}
    assert {path.name for path in GOLDEN.iterdir()} == known

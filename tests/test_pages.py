"""What the pages say exists, and the other way round."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.cli import COMMANDS
from controller.decision.rules import RULES
from controller.report.outcome import ExitCode

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not {".venv", "tests", ".admit"} & set(page.relative_to(ROOT).parts)
)
README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_a_page_names_exists(page: Path) -> None:
    for name in re.findall(r"`admit (?!--)([a-z]+)", page.read_text("utf-8")):
        assert name in COMMANDS, f"{page} names `admit {name}`"


def test_no_message_tells_the_user_to_run_a_command_that_is_not_there() -> None:
    for file in (ROOT / "controller").rglob("*.py"):
        for name in re.findall(r"`admit (?!--)([a-z]+)", file.read_text("utf-8")):
            assert name in COMMANDS, f"{file} names `admit {name}`"


def test_the_readme_names_every_command_but_the_demo() -> None:
    for name in COMMANDS:
        assert f"admit {name}" in README or f"make {name}" in README


def test_the_readme_names_every_exit_code() -> None:
    words = {0: "settled", 1: "a bug", 2: "wrong arguments", 3: "invalid documents", 4: "denied"}
    words |= {5: "undecided", 6: "drift", 7: "incomplete", 8: "could not run"}
    assert set(words) == set(ExitCode)
    for code, word in words.items():
        assert re.search(rf"\b{code}\s+{word}", README)


def test_every_rule_has_a_heading_and_every_heading_a_rule() -> None:
    page = (ROOT / "controller/decision/rules/README.md").read_text("utf-8")
    assert re.findall(r"^## `?([a-z-]+)`?$", page, re.M) == [rule.id for rule in RULES]


def test_the_readme_is_short_and_finished() -> None:
    assert len(README.splitlines()) < 120
    assert "@@" not in README


def test_every_path_in_the_readmes_table_exists() -> None:
    for path in re.findall(r"^\| `([^`]+)`", README, re.M):
        if "/" in path:
            assert (ROOT / path).exists(), path

"""The import order of the design, kept with `ast`: a module imports only to its left."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STAGES = (
    "values",
    "errors",
    "documents",
    "ledger",
    "evidence",
    "decision",
    "effects",
    "report",
    "adapters",
    "wiring",
    "passes",
    "surveying",
    "stopping",
    "checking",
    "ledgering",
    "verifying",
    "explain",
    "demo",
    "cli",
)
PURE = ("values", "errors", "documents", "ledger", "decision", "report")
READERS = {"asyncio", "http", "io", "os", "pathlib", "random", "secrets", "shutil", "signal"} | {
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib",
}
HEAVY = {"azure", "github", "mlflow", "torch", "sqlalchemy", "requests", "rich", "markdown_it"}
MODULES = sorted((ROOT / "controller").rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)


def stage(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def ids(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", MODULES, ids=ids)
def test_a_module_imports_only_to_its_left(file: Path) -> None:
    own = stage(name_of(file))
    for target in imports(ast.parse(file.read_text("utf-8"))):
        other = stage(target) if target.startswith("controller.") else ""
        if other in STAGES and own in STAGES:
            assert STAGES.index(other) <= STAGES.index(own), f"{file} imports {target}"


@pytest.mark.parametrize("file", MODULES, ids=ids)
def test_only_adapters_and_what_is_right_of_them_can_open_anything(file: Path) -> None:
    if stage(name_of(file)) not in PURE:
        return
    for target in imports(ast.parse(file.read_text("utf-8"))):
        assert target.split(".")[0] not in READERS, f"{file} imports {target}"


@pytest.mark.parametrize("file", MODULES, ids=ids)
def test_heavy_modules_are_imported_inside_functions(file: Path) -> None:
    if file.name == "markdown.py" and file.parent.name == "documents":
        return  # it is the one reader of Markdown, and itself imported only where it is needed
    for node in ast.parse(file.read_text("utf-8")).body:
        for target in imports(node) if isinstance(node, ast.Import | ast.ImportFrom) else ():
            assert target.split(".")[0] not in HEAVY, f"{file} imports {target} at the top"


def test_decision_sees_only_facts_and_approval_of_evidence() -> None:
    allowed = {"facts", "approval"}
    for file in MODULES:
        if stage(name_of(file)) != "decision":
            continue
        for target in imports(ast.parse(file.read_text("utf-8"))):
            if target.startswith("controller.evidence."):
                assert target.split(".")[2] in allowed, f"{file} imports {target}"


def test_the_training_program_knows_nothing_of_the_controller() -> None:
    for file in (ROOT / "train").rglob("*.py"):
        for target in imports(ast.parse(file.read_text("utf-8"))):
            assert not target.startswith("controller"), f"{file} imports {target}"

"""Whoever can push to the ledger can write anything: it is told, and nothing else is raised."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.errors import AdmitError
from controller.ledger.book import RUNS
from controller.report.as_json import render
from controller.verifying.table import EDGES
from tests.verifying.chains import JOB, MODEL, Chain, sound

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0.5,
    10**400,
    "",
    "\ud800",
    "\0",
    "-x\n",
    "--upload-pack=x",
    "../../x",
    "x" * 200_000,
    [],
    {},
    [[[]]],
    {"a": {"b": None}},
)
RAW = (
    b"",
    b"\xff\xfe",
    b"null\n",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"schema":1}\n',
    b'{"schema":1,"schema":1}\n',
    b"NaN\n",
    b"1" * 10_000,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value inside `value`; of lists only the first and the last."""
    if at:
        yield at
    match value:
        case dict():
            for key in value:
                yield from places(value[key], (*at, key))
        case list():
            for index in sorted({0, len(value) - 1}) if value else ():
                yield from places(value[index], (*at, index))
        case _:
            pass


def put(value: Any, at: tuple[Any, ...], new: Any) -> None:
    for key in at[:-1]:
        value = value[key]
    value[at[-1]] = new


def dumped(value: Any) -> bytes:
    """Spell `value` as the ledger does, and also what the ledger never would."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode() + b"\n"


def all_odd(content: bytes, every: int = 1) -> Iterator[bytes]:
    """Yield the file with odd values at each of its places: all of them, or a part that turns."""
    for number, at in enumerate(places(json.loads(content))):
        for odd in ODD[number % every :: every]:
            said = json.loads(content)
            put(said, at, odd)
            yield dumped(said)


def walked(chain: Chain, subject: str) -> None:
    """Verify, and let nothing out but a whole report or an AdmitError."""
    try:
        report = chain.verify(subject)
    except AdmitError:
        return
    assert [edge.name for edge in report.edges] == [name for name, _ in EDGES]
    assert all(0 < len(edge.what) <= 1001 for edge in report.edges)
    render(report)


@pytest.fixture(scope="module")
def chain() -> Chain:
    return sound()


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: repr(raw[:12]))
@pytest.mark.parametrize("folder", ["runs/", "records/", "proofs/", "ledger.json"])
def test_bytes_of_any_kind_break_an_edge(chain: Chain, folder: str, raw: bytes) -> None:
    run, before = chain.run, chain.world.ledger.head
    try:
        for path in chain.names(folder):
            chain.forge(path, raw)
        walked(chain, run)
        assert chain.broken(run)
    finally:
        chain.world.ledger.rewind(before)


@pytest.mark.parametrize("raw", [b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_a_record_that_is_bound_but_cannot_be_read_says_so(raw: bytes) -> None:
    chain = sound()
    chain.rebind(raw)
    why = "it is not JSON that could be an admission record"
    assert chain.edge("attempt → admission record") == ("broken", why)


def test_a_file_that_is_no_file_breaks_an_edge(chain: Chain) -> None:
    run, before = chain.run, chain.world.ledger.head
    whole = chain.world.ledger.read(lambda _: True).files
    try:
        for path in [f"{RUNS}{run}.json", chain.admitted(), chain.proof(JOB)]:
            tree = {**whole, path: None}
            chain.world.ledger._line[-1].tree.clear()  # type: ignore[attr-defined]
            chain.world.ledger._line[-1].tree.update(tree)  # type: ignore[attr-defined]
            walked(chain, run)
            assert chain.broken(run)
    finally:
        chain.world.ledger._line[-1].tree.update(whole)  # type: ignore[attr-defined]
        chain.world.ledger.rewind(before)


def test_an_odd_value_anywhere_in_the_admission_record_is_told(chain: Chain) -> None:
    run, before = chain.run, chain.world.ledger.head
    there, models = chain.world.workspace.get(run), chain.models.found
    assert there is not None
    for content in all_odd(chain.file(chain.admitted()), every=3):
        chain.rebind(content)
        walked(chain, run)
        chain.world.ledger.rewind(before)
        chain.world.workspace.observe(there)
        chain.models.found = models


@pytest.mark.parametrize("what", ["run", "proof", "trust"])
def test_an_odd_value_anywhere_else_is_told(chain: Chain, what: str) -> None:
    run, before = chain.run, chain.world.ledger.head
    path = {"run": f"{RUNS}{run}.json", "proof": chain.proof(JOB), "trust": "ledger.json"}[what]
    for content in all_odd(chain.file(path)):
        chain.forge(path, content)
        walked(chain, run)
        walked(chain, MODEL)
        chain.world.ledger.rewind(before)


def test_only_two_modules_ask_anybody() -> None:
    package = Path(__file__).parents[2] / "controller" / "verifying"
    for file in sorted(package.glob("*.py")):
        targets = {
            node.module or ""
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom)
        }
        asks = {t for t in targets if t.startswith(("controller.adapters", "controller.wiring"))}
        assert not asks or file.name in ("gathering.py", "history.py"), f"{file.name}: {asks}"

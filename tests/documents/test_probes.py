"""The probes: one defect each, and the verdict, the code and the line that its row asks for."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.documents.catalog import read_catalog
from controller.documents.manifest import Manifest
from controller.documents.snapshot import Blob, Snapshot
from controller.values import BlobId, Problem, RepoPath

PROBES = Path(__file__).parent / "probes"
UNSUPPORTED = ("sweep", "pipeline", "schedule")
"""Kinds that are refused by name so far; the rows of their own defects come with them."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One row of probes.csv."""

    file: str
    kind: str
    should: str
    codes: tuple[str, ...]
    lines: tuple[int, ...]

    @property
    def content(self) -> bytes:
        return (PROBES / self.file).read_bytes()

    @property
    def is_command(self) -> bool:
        mark = re.search(rb"^type: (\w+)", self.content, re.M)
        other = mark is not None and mark[1].decode() in UNSUPPORTED
        return self.kind not in UNSUPPORTED and not other and b"create_job" not in self.content


def rows() -> list[Probe]:
    with (PROBES / "probes.csv").open(newline="") as file:
        return [
            Probe(
                row["file"],
                row["kind"],
                row["should"],
                tuple(filter(None, row["code"].split(";"))),
                tuple(int(line) for line in filter(None, row["line"].split(";"))),
            )
            for row in csv.DictReader(file)
        ]


ROWS = rows()
COMMANDS = [probe for probe in ROWS if probe.is_command]
OTHERS = [probe for probe in ROWS if not probe.is_command]


def name(probe: Probe) -> str:
    return probe.file


def read(probe: Probe, content: bytes) -> Manifest | tuple[Problem, ...]:
    """Read a probe where it lies beside `src/`, as the only job of a commit."""
    path, source = RepoPath(f"jobs/{probe.file}"), RepoPath("jobs/src/train.py")
    files = {
        path: Blob("100644", BlobId("a" * 40), content),
        source: Blob("100644", BlobId("b" * 40)),
    }
    catalog = read_catalog(Snapshot.of(None, files))
    assert catalog.manifests.keys() | catalog.broken.keys() == {path}
    return catalog.manifests.get(path) or catalog.broken[path]


def found(problems: Manifest | tuple[Problem, ...]) -> list[tuple[str, int]]:
    assert not isinstance(problems, Manifest), "it is accepted"
    return [(problem.code, problem.where.line) for problem in problems]


def test_every_probe_is_in_the_table() -> None:
    assert {probe.file for probe in ROWS} == {file.name for file in PROBES.glob("*.yml")}
    assert len(COMMANDS) > 60


@pytest.mark.parametrize("probe", [p for p in COMMANDS if p.should == "accept"], ids=name)
def test_a_probe_that_azure_reads_in_one_way_is_accepted(probe: Probe) -> None:
    manifest = read(probe, probe.content)
    assert isinstance(manifest, Manifest), manifest


@pytest.mark.parametrize("probe", [p for p in COMMANDS if p.should == "reject"], ids=name)
def test_a_probe_with_a_defect_is_refused_where_it_is(probe: Probe) -> None:
    problems = found(read(probe, probe.content))
    wanted = list(zip(probe.codes, probe.lines, strict=True))
    assert set(wanted) <= set(problems), problems


@pytest.mark.parametrize("probe", [p for p in COMMANDS if p.should == "reject"], ids=name)
def test_a_probe_has_no_problem_but_those_of_its_row(probe: Probe) -> None:
    assert {code for code, _ in found(read(probe, probe.content))} == set(probe.codes)


@pytest.mark.parametrize("probe", OTHERS, ids=name)
def test_a_probe_of_a_kind_to_come_is_refused_by_name(probe: Probe) -> None:
    problems = found(read(probe, probe.content))
    codes = {code for code, _ in problems}
    assert "unsupported-kind" in codes or (probe.codes[0], probe.lines[0]) in problems


@pytest.mark.parametrize("probe", ROWS, ids=name)
def test_every_problem_has_a_sentence_and_a_fix(probe: Probe) -> None:
    manifest = read(probe, probe.content)
    for problem in () if isinstance(manifest, Manifest) else manifest:
        assert problem.message, problem
        assert problem.remedy, problem
        assert problem.where.line > 0, problem
        assert not problem.message.endswith("."), problem


def crlf(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def mark(content: bytes) -> bytes:
    return b"\xef\xbb\xbf" + content.removeprefix(b"\xef\xbb\xbf")


def blanks(content: bytes) -> bytes:
    return re.sub(rb"(?<=[^\s|])(?=\r?\n)", b"  ", content)


@pytest.mark.parametrize("change", [crlf, mark, blanks], ids=lambda change: change.__name__)
@pytest.mark.parametrize("probe", ROWS, ids=name)
def test_line_ends_marks_and_blanks_change_nothing(
    probe: Probe, change: Callable[[bytes], bytes]
) -> None:
    one, other = read(probe, probe.content), read(probe, change(probe.content))
    if isinstance(one, Manifest):
        assert isinstance(other, Manifest), other
        if change is not blanks or b"|" not in probe.content:  # a block keeps its blanks
            assert other.payload.fingerprint == one.payload.fingerprint
    else:
        assert found(other) == found(one)


@pytest.mark.parametrize("probe", ROWS, ids=name)
def test_no_probe_takes_long(probe: Probe) -> None:
    read(probe, probe.content)
    started = time.perf_counter()
    read(probe, probe.content)
    assert time.perf_counter() - started < 1

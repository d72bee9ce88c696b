"""Admissions: what a sound one grants, and every way in which a file is refused."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.documents.admission import (
    MINIMUM_WORDS,
    SECTIONS,
    Admission,
    Grant,
    OutOfMemory,
    TooSlow,
    read_admission,
)
from controller.documents.shape import fast_validator, schema
from controller.documents.snapshot import Blob
from controller.values import BlobId, Location, Problem, RepoPath

PATH = RepoPath("admissions/big.md")
FRONT = """\
admission: big
title: A big one
owner: "@acme/nlp"
model: big-model
expires: 2027-03-31
grant:
  kinds: [command]
  jobs: ["jobs/big/*.yml"]
  images: [acme.azurecr.io/train]
  compute: [gpu-cluster]
  max_nodes: 2
  gpu_hours: 1000
  retries: 1
  on_expiry: cancel
  infra: [module.aml]
evidence:
  outcome: too_slow
  run: runs:/3f2c
  hours: 410
  deadline_hours: 96
"""
MEMORY = """\
evidence:
  outcome: out_of_memory
  run: runs:/3f2c
  parameters: 1.3e9
  precision: bf16_mixed
  optimizer: adamw
  activation_gib: 22.5
  peak_gib: 96
"""
BODY = "".join(f"\n## {title}\n\n{'word ' * MINIMUM_WORDS}\n" for title in SECTIONS)


def read(
    front: str = FRONT, body: str = BODY, path: RepoPath = PATH
) -> Admission | tuple[Problem, ...]:
    return read_admission(path, blob(f"---\n{front}---\n{body}"))


def blob(text: str | bytes, mode: str = "100644") -> Blob:
    content = text if isinstance(text, bytes) else text.encode()
    return Blob(mode, BlobId("b" * 40), content)


def sound(front: str = FRONT, body: str = BODY) -> Admission:
    found = read(front, body)
    assert isinstance(found, Admission), found
    return found


def refused(front: str = FRONT, body: str = BODY) -> list[tuple[str, int, str, str]]:
    """Return code, line, message and remedy of each problem."""
    found = read(front, body)
    assert isinstance(found, tuple), found
    assert all(problem.where.path == PATH for problem in found)
    return [(p.code, p.where.line, p.message, p.remedy) for p in found]


def changed(old: str, new: str, front: str = FRONT) -> str:
    assert front.count(old) == 1, old
    return front.replace(old, new)


def out_of_memory() -> str:
    return FRONT[: FRONT.index("evidence:")] + MEMORY


def test_a_sound_admission_says_what_it_grants_and_claims() -> None:
    found = sound()
    assert found == Admission(
        path=PATH,
        blob=BlobId("b" * 40),
        id=found.id,
        title="A big one",
        owner="@acme/nlp",
        model="big-model",
        expires=date(2027, 3, 31),
        grant=Grant(
            kinds=("command",),
            jobs=("jobs/big/*.yml",),
            images=("acme.azurecr.io/train",),
            compute=("gpu-cluster",),
            max_nodes=2,
            gpu_hours=1000.0,
            retries=1,
            on_expiry="cancel",
            infra=("module.aml",),
        ),
        claim=TooSlow("3f2c", 410.0, 96.0),
        words=dict.fromkeys(SECTIONS, MINIMUM_WORDS),
        positions=found.positions,
    )
    assert found.id == "big"


def test_what_may_be_left_out_has_its_default() -> None:
    lines = FRONT.splitlines(keepends=True)
    front = "".join(line for line in lines if line.split(":")[0] not in OPTIONAL)
    grant = sound(front).grant
    assert (grant.retries, grant.on_expiry, grant.infra) == (0, "finish", ())


OPTIONAL = ("  retries", "  on_expiry", "  infra")


def test_a_claim_of_memory_has_numbers_and_an_exponent_is_one() -> None:
    assert sound(out_of_memory()).claim == OutOfMemory(
        run="3f2c",
        parameters=1.3e9,
        precision="bf16_mixed",
        optimizer="adamw",
        activation_gib=22.5,
        peak_gib=96.0,
    )


def test_a_claim_of_memory_needs_no_run() -> None:
    assert sound(changed("  run: runs:/3f2c\n", "", out_of_memory())).claim.run == ""


def test_a_place_in_the_front_matter_is_a_line_of_the_file() -> None:
    found = sound()
    assert found.locate("/grant/gpu_hours") == Location(PATH, 13, 3)
    assert found.locate("/grant/nothing") == Location(PATH, 7, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2027-03-31", "'2027-03-31'"),
        ('["jobs/big/*.yml"]', '["jobs/**", "jobs/**/a?.yml", "jobs/.x/a..b"]'),
        ("acme.azurecr.io/train", "localhost:5000/a/b__c"),
        ("acme.azurecr.io/train", "docker.io/acme/a-b.c_d"),
        ('"@acme/nlp"', '"@ada"'),
        ("gpu_hours: 1000", "gpu_hours: 0.5"),
        ("gpu_hours: 1000", "gpu_hours: 1e3"),
        ("hours: 410\n", "hours: 4.1e2\n"),
        ("infra: [module.aml]", "infra: []"),
        ("title: A big one", "# a comment\ntitle: Ein großes"),
    ],
)
def test_what_else_is_sound(old: str, new: str) -> None:
    sound(changed(old, new))


@pytest.mark.parametrize("around", ["---\n{}---\n", "\ufeff---\n{}---\n", "---  \n{}--- \n"])
def test_the_form_of_the_file_is_free_within_bounds(around: str) -> None:
    text = around.format(FRONT) + BODY
    for form in (text, text.replace("\n", "\r\n"), text.rstrip()):
        found = read_admission(PATH, blob(form))
        assert isinstance(found, Admission)
        assert found.locate("/title").line == 3


PATTERNS = (
    "begin with `jobs/`; `*` stops at a slash, `**` stands alone between slashes; "
    "no `..`, brackets, `!` or backslash"
)
IMAGES = (
    "the registry's host and the exact repository in lower case, without tag or digest, "
    "such as `acme.azurecr.io/train`"
)
COMPUTE = (
    "the name of a target in the policy's `compute`: a letter, then letters, digits and `-`, "
    "32 at most"
)
DAY = "a day without a time, as YYYY-MM-DD"
HOURS = "GPU hours, more than 0 and at most 1,000,000,000"
MODEL = "letters, digits and `.`, `_`, `-`, 100 at most, such as `claims-bert`"
ID = "lower-case letters, digits and `-`, 63 at most, as in the file's name"
OWNER = 'a user or a team in quotes, such as "@acme/nlp"'
ONE_LINE = "one line of text, 200 characters at most"
KINDS = "a list of kinds of job, each once, such as [command]"
JOBS = '["jobs/big/*.yml"]'
IMAGE = "acme.azurecr.io/train"
RUN = "`runs:/` and the id of a run in the team's MLflow"

REFUSED = [
    (
        "admission: big",
        "admission: other",
        ("bad-name", 2, "`admission` is `other`, but the file is `admissions/big.md`"),
        "write `admission: big`, or rename the file to `other.md`",
    ),
    ("admission: big", "admission: Big", ("bad-name", 2, "`admission` is `Big`"), ID),
    ("admission: big", "admission: -b", ("bad-name", 2, "`admission` is `-b`"), ID),
    (
        "admission: big\n",
        "",
        ("missing-field", 2, "the document has no `admission`"),
        f"add `admission`: {ID}",
    ),
    (
        "title: A big one",
        "title:",
        ("null", 3, "`title` is empty"),
        ONE_LINE,
    ),
    ("title: A big one", "title: '  '", ("bad-value", 3, "`title` is `  `"), ONE_LINE),
    (
        "title: A big one",
        "title: 7",
        ("wrong-type", 3, "`title` is a whole number, not text"),
        ONE_LINE,
    ),
    (
        "title: A big one",
        f"title: {'x' * 201}",
        ("bad-value", 3, "`title` has 201 characters"),
        ONE_LINE,
    ),
    ('"@acme/nlp"', "acme/nlp", ("bad-value", 4, "`owner` is `acme/nlp`"), OWNER),
    ('"@acme/nlp"', "a@b.com", ("bad-value", 4, "`owner` is `a@b.com`"), OWNER),
    ("big-model", "big/model", ("bad-name", 5, "`model` is `big/model`"), MODEL),
    ("big-model", ".big", ("bad-name", 5, "`model` is `.big`"), MODEL),
    (
        "2027-03-31",
        "2024-02-30",
        ("bad-value", 6, "`expires` is `2024-02-30`, which is no day"),
        "write a day of the calendar as YYYY-MM-DD",
    ),
    (
        "2027-03-31",
        "'0000-01-01'",
        ("bad-value", 6, "`expires` is `0000-01-01`, which is no day"),
        "write a day of the calendar as YYYY-MM-DD",
    ),
    (
        "2027-03-31",
        "2027-03-31T00:00:00Z",
        ("bad-value", 6, "`expires` is `2027-03-31T00:00:00Z`"),
        DAY,
    ),
    ("2027-03-31", "'2027-W05-1'", ("bad-value", 6, "`expires` is `2027-W05-1`"), DAY),
    ("2027-03-31", "2027-3-1", ("bad-value", 6, "`expires` is `2027-3-1`"), DAY),
    ("2027-03-31", "20270331", ("wrong-type", 6, "`expires` is a whole number, not text"), DAY),
    (
        "[command]",
        "[comand]",
        ("bad-value", 8, "`grant.kinds.0` is `comand`"),
        "did you mean `command`? possible: `command`, `sweep`, `pipeline`, `schedule`",
    ),
    ("[command]", "[]", ("missing-field", 8, "`grant.kinds` is empty"), KINDS),
    ("[command]", "command", ("wrong-type", 8, "`grant.kinds` is text, not a list"), KINDS),
    (
        "[command]",
        "[command, command]",
        ("bad-value", 8, "`grant.kinds` says the same twice"),
        KINDS,
    ),
    *(
        (JOBS, f"['{bad}']", ("bad-pattern", 9, f"`grant.jobs.0` is `{bad}`"), PATTERNS)
        for bad in (
            "big/*.yml",
            "/jobs/a",
            "jobs/../a",
            "jobs/a/..",
            "jobs/./a",
            "jobs//a",
            "jobs/",
            "jobs/a/",
            "jobs/a**.yml",
            "jobs/**a/b",
            "jobs/***",
            "jobs/[ab].yml",
            "jobs/{a,b}.yml",
            "jobs/!a",
            "jobs/a\\b",
        )
    ),
    *(
        (IMAGE, f"'{bad}'", ("bad-value", 10, f"`grant.images.0` is `{bad}`"), IMAGES)
        for bad in (
            "train",
            "acme/train",
            "acme.azurecr.io",
            "acme.azurecr.io/train:v1",
            "acme.azurecr.io/train@sha256:ab",
            "Acme.azurecr.io/train",
            "acme.azurecr.io/Train",
            "https://acme.azurecr.io/train",
            "acme.azurecr.io/*",
        )
    ),
    ("[gpu-cluster]", "[gpu_1]", ("bad-name", 11, "`grant.compute.0` is `gpu_1`"), COMPUTE),
    (
        "max_nodes: 2",
        "max_nodes: 0",
        ("out-of-range", 12, "`grant.max_nodes` is `0`"),
        "a whole number from 1 to 1000",
    ),
    (
        "max_nodes: 2",
        "max_nodes: 1001",
        ("out-of-range", 12, "`grant.max_nodes` is `1001`"),
        "a whole number from 1 to 1000",
    ),
    (
        "max_nodes: 2",
        "max_nodes: 2.5",
        ("wrong-type", 12, "`grant.max_nodes` is a number, not a whole number"),
        "a whole number from 1 to 1000",
    ),
    ("gpu_hours: 1000", "gpu_hours: 0", ("out-of-range", 13, "`grant.gpu_hours` is `0`"), HOURS),
    ("gpu_hours: 1000", "gpu_hours: -1", ("out-of-range", 13, "`grant.gpu_hours` is `-1`"), HOURS),
    (
        "gpu_hours: 1000",
        "gpu_hours: many",
        ("wrong-type", 13, "`grant.gpu_hours` is text, not a number"),
        HOURS,
    ),
    (
        "retries: 1",
        "retries: 6",
        ("out-of-range", 14, "`grant.retries` is `6`"),
        "a whole number from 0 to 5",
    ),
    (
        "on_expiry: cancel",
        "on_expiry: cancell",
        ("bad-value", 15, "`grant.on_expiry` is `cancell`"),
        "did you mean `cancel`? possible: `finish`, `cancel`",
    ),
    (
        "[module.aml]",
        "[aml]",
        ("bad-value", 16, "`grant.infra.0` is `aml`"),
        "`module.` and the name of one module call of the root, such as `module.aml`",
    ),
    (
        "  retries: 1",
        "  retrys: 1",
        ("unknown-field", 14, "`grant.retrys` is not a field of a grant"),
        "did you mean `retries`?",
    ),
    (
        "  retries: 1",
        "  budget: 1",
        ("unknown-field", 14, "`grant.budget` is not a field of a grant"),
        "write `gpu_hours`",
    ),
    (
        "too_slow",
        "to_slow",
        ("bad-value", 18, "`evidence.outcome` is `to_slow`"),
        "did you mean `too_slow`? possible: `too_slow`, `out_of_memory`",
    ),
    (
        "  outcome: too_slow\n",
        "",
        ("missing-field", 17, "`evidence` has no `outcome`"),
        "add `outcome`",
    ),
    ("runs:/3f2c", "3f2c", ("bad-value", 19, "`evidence.run` is `3f2c`"), RUN),
    ("runs:/3f2c", "runs:/../x", ("bad-value", 19, "`evidence.run` is `runs:/../x`"), RUN),
    (
        "  deadline_hours: 96\n",
        "",
        ("missing-field", 17, "`evidence` has no `deadline_hours`"),
        "add `deadline_hours`: hours until the result is needed, more than 0 and at most 1,000,000",
    ),
    (
        "  deadline_hours: 96\n",
        "  deadline_hours: 96\n  peak_gib: 3\n",
        ("unknown-field", 22, "`evidence.peak_gib` is not a field of `too_slow` evidence"),
        "known: `deadline_hours`, `hours`, `outcome`, `run`",
    ),
]


@pytest.mark.parametrize(("old", "new", "problem", "remedy"), REFUSED)
def test_a_field_that_is_wrong_is_refused_at_its_line(
    old: str, new: str, problem: tuple[str, int, str], remedy: str
) -> None:
    assert refused(changed(old, new)) == [(*problem, remedy)]


KNOWN = "`activation_gib`, `optimizer`, `outcome`, `parameters`, `peak_gib`, `precision`, `run`"
MEMORY_REFUSED = [
    (
        "bf16_mixed",
        "bf16_mixt",
        ("bad-value", 21, "`evidence.precision` is `bf16_mixt`"),
        "did you mean `bf16_mixed`? possible: `fp32`, `fp16_mixed`, `bf16_mixed`, `bf16`",
    ),
    (
        "adamw",
        "lion",
        ("bad-value", 22, "`evidence.optimizer` is `lion`"),
        "possible: `adam`, `adamw`, `adam8bit`, `sgd`, `sgd_momentum`, `adafactor`",
    ),
    (
        "parameters: 1.3e9",
        "parameters: 1.3e19",
        ("out-of-range", 20, "`evidence.parameters` is `1.3e+19`"),
        "the number of parameters, such as 1.3e9",
    ),
    (
        "parameters: 1.3e9",
        "parameters: 1.3B",
        ("wrong-type", 20, "`evidence.parameters` is text, not a number"),
        "the number of parameters, such as 1.3e9",
    ),
    (
        "activation_gib: 22.5",
        "activation_gib: -1",
        ("out-of-range", 23, "`evidence.activation_gib` is `-1`"),
        "GiB of activations, at least 0 and at most 1,000,000",
    ),
    (
        "peak_gib: 96",
        "peak_gib: 96\n  hours: 3",
        ("unknown-field", 25, "`evidence.hours` is not a field of `out_of_memory` evidence"),
        f"known: {KNOWN}",
    ),
]


@pytest.mark.parametrize(("old", "new", "problem", "remedy"), MEMORY_REFUSED)
def test_a_number_of_the_memory_claim_that_is_wrong_is_refused(
    old: str, new: str, problem: tuple[str, int, str], remedy: str
) -> None:
    assert refused(changed(old, new, out_of_memory())) == [(*problem, remedy)]


@pytest.mark.parametrize(
    ("front", "code", "line"),
    [
        ("", "yaml-empty", 2),
        ("# nothing\n", "yaml-empty", 2),
        ("hello\n", "not-a-mapping", 2),
        ("- a\n", "not-a-mapping", 2),
        ("a: [\n", "yaml-syntax", None),
        (changed("model:", "title: twice\nmodel:"), "duplicate-key", 5),
        (changed("  kinds:", "  max_nodes: 9\n  kinds:"), "duplicate-key", 13),
        (changed("A big one", "A\u2028owner: me"), "invisible-character", 3),
        (changed("A big one", "NO"), "ambiguous-scalar", 3),
        (changed("gpu_hours: 1000", "gpu_hours: .inf"), None, 13),
        (changed("gpu_hours: 1000", "gpu_hours: 1e999"), None, 13),
        (changed("max_nodes: 2", "max_nodes: 2e0"), "ambiguous-scalar", 12),
        (changed("A big one", "2027-01-01"), "ambiguous-scalar", 3),
    ],
)
def test_yaml_that_is_not_plain_is_refused(front: str, code: str | None, line: int | None) -> None:
    ((found, where, _, _),) = refused(front)
    assert (found, where) == (code or found, line or where)


def section(title: str, body: str) -> str:
    old = f"## {title}\n\n{'word ' * MINIMUM_WORDS}\n"
    assert old in BODY
    return BODY.replace(old, body)


WHY, MEASURED, ALTERNATIVES, COST = SECTIONS
THIN = "say more in prose; code, headings, HTML and what it encloses do not count"
ADD = f"add the line `## {MEASURED}` and at least 20 words below it"
MISSING = f"the justification has no section `{MEASURED}`"


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        (section(MEASURED, ""), [("missing-section", 22, MISSING, ADD)]),
        (
            section(MEASURED, "### What was measured\n\n"),
            [("missing-section", 28, MISSING, f"make this heading `## {MEASURED}`")],
        ),
        (
            section(MEASURED, "## What we measured\n\n"),
            [("missing-section", 28, MISSING, f"make this heading `## {MEASURED}`")],
        ),
        (
            section(MEASURED, "```\n## What was measured\n```\n"),
            [("missing-section", 22, MISSING, ADD)],
        ),
        (
            section(MEASURED, f"## {MEASURED}\n\n{'word ' * 19}\n"),
            [("thin-section", 28, f"`{MEASURED}` has 19 visible words; 20 is the least", THIN)],
        ),
        (
            section(MEASURED, f"## {MEASURED}\n\n<!-- {'word ' * 20} -->\n"),
            [("thin-section", 28, f"`{MEASURED}` has 0 visible words; 20 is the least", THIN)],
        ),
        (
            BODY + f"\n## {MEASURED}\n\n{'word ' * 30}\n",
            [
                (
                    "duplicate-section",
                    40,
                    f"`{MEASURED}` is there twice: on line 28 and on line 40",
                    "make one section of the two",
                )
            ],
        ),
        (
            section(MEASURED, f"## {MEASURED}\n\n# Another part\n\n{'word ' * 30}\n"),
            [("thin-section", 28, f"`{MEASURED}` has 0 visible words; 20 is the least", THIN)],
        ),
        (
            section(MEASURED, f"## {MEASURED}\n\n{'word ' * 20}a\u200bb\n"),
            [
                (
                    "invisible-character",
                    30,
                    "the character U+200B ZERO WIDTH SPACE cannot be seen by a reviewer",
                    "remove U+200B at column 102",
                )
            ],
        ),
    ],
)
def test_a_justification_has_four_sections_that_say_something(
    body: str, problems: list[tuple[str, int, str, str]]
) -> None:
    assert refused(body=body) == problems


def test_an_empty_justification_lacks_all_four_sections() -> None:
    found = refused(body="")
    assert {(code, line) for code, line, _, _ in found} == {("missing-section", 22)}
    assert [message.split("`")[1] for _, _, message, _ in found] == list(SECTIONS)


def test_sections_may_stand_in_any_order_with_others_and_parts_between() -> None:
    parts = BODY.split("\n## ")[1:]
    body = "intro\n\n## Aside\n\nx\n" + "".join(f"\n## {part}" for part in reversed(parts))
    body = body.replace(COST, COST.upper()) + "\n### In detail\n\none two\n"
    assert sound(body=body).words == {**dict.fromkeys(SECTIONS, 20), WHY: 22}


def test_every_problem_of_a_file_is_reported_at_once() -> None:
    front = changed("max_nodes: 2", "max_nodes: 0")
    front = changed("big-model", "a/b", front)
    front = changed("A big one", "yes", front)
    found = refused(front, BODY.replace("## Cost", "## Kost", 1))
    assert [(code, line) for code, line, _, _ in found] == [
        ("ambiguous-scalar", 3),
        ("bad-name", 5),
        ("out-of-range", 12),
        ("missing-section", 36),
    ]


def test_a_file_whose_name_is_no_id_must_be_renamed() -> None:
    found = read(path=RepoPath("admissions/Big One.md"))
    assert isinstance(found, tuple)
    assert [(p.code, p.where.line, p.remedy) for p in found] == [
        ("bad-name", 2, "rename the file to `big.md`")
    ]


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_an_admission_is_a_file_and_no_link(mode: str) -> None:
    message = f"the admission has the mode {mode}, so that it is not a plain file"
    remedy = "replace it by the file itself; a link can change what was approved"
    assert read_admission(PATH, blob("x", mode)) == (
        Problem("not-a-file", Location(PATH), message, remedy),
    )


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"", "no-front-matter", 1),
        (b"---\nadmission: big\n", "no-front-matter", 1),
        (f"---\n{FRONT}---\n{BODY}".encode() + b"\xff", "encoding", 39),
        (f"---\n{FRONT}---\n{BODY}{'x' * 40_000}".encode(), "too-large", 23),
    ],
)
def test_a_file_that_cannot_be_read_gets_one_problem(content: bytes, code: str, line: int) -> None:
    found = read_admission(PATH, blob(content))
    assert isinstance(found, tuple)
    assert [(p.code, p.where.line) for p in found] == [(code, line)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A big one", "' " + " " * 200_000 + "'"),
        ('"@acme/nlp"', '"@' + "a-" * 100_000 + '"'),
        (JOBS, '["jobs/' + "a/*/" * 50_000 + '"]'),
        (JOBS, '["jobs/' + "*" * 200_000 + '"]'),
        (IMAGE, "a." * 100_000),
        (IMAGE, "a.b/" + "a-" * 100_000),
        ("big-model", "a" * 200_000),
    ],
)
def test_no_field_takes_long(old: str, new: str) -> None:
    start = time.process_time()
    assert isinstance(read(changed(old, new)), tuple)
    assert time.process_time() - start < 3


def test_the_published_schema_says_what_every_field_is_for() -> None:
    published = schema("admission")
    assert set(published["required"]) == set(published["properties"])
    grant = published["properties"]["grant"]["properties"]
    assert set(grant) == set(Grant.__dataclass_fields__)
    fields = [*grant.values(), *published["$defs"]["out_of_memory"]["properties"].values()]
    assert all("description" in field for field in fields if "const" not in field)
    fast_validator("admission")


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    assert isinstance(read_admission(PATH, blob(content)), tuple)
    assert isinstance(read_admission(PATH, blob(b"---\n" + content)), tuple)


@settings(derandomize=True, max_examples=120, deadline=None)
@given(st.data())
def test_no_edit_of_a_sound_file_raises(data: st.DataObject) -> None:
    text = f"---\n{FRONT}---\n{BODY}"
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    new = data.draw(st.text(st.sampled_from("-:#{}[]&*!|>'\"`<\n\t 0aé\u200b"), max_size=6))
    found = read_admission(PATH, blob(text[:start] + new + text[end:]))
    if isinstance(found, tuple):
        assert all(problem.message and problem.remedy for problem in found)


def test_an_executable_admission_is_refused() -> None:
    found = read_admission(PATH, blob("x", "100755"))
    assert isinstance(found, tuple)
    assert [p.message for p in found] == [
        "the admission is executable (mode 100755), so that nobody can approve it"
    ]

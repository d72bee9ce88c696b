"""The policy: what a sound one says, and every way in which it is refused."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.documents.policy import (
    POLICY,
    Baseline,
    ComputeTarget,
    Hold,
    Limits,
    Policy,
    read_policy,
)
from controller.documents.shape import schema
from controller.documents.snapshot import Blob
from controller.values import BlobId, Location, Problem

TEXT = """\
version: 1
approvals: {minimum: 2, manifests: 1}
limits:
  admission_days: 180
  gpu_hours: 2000
  max_nodes: 16
  min_gpus: 2
  cancels_per_pass: 3
kinds: [command]
registries: [acme.azurecr.io]
code: image
baseline: {name: Container Apps, gpus: 1, gpu_memory_gib: 80}
compute:
  gpu-cluster:
    vm_size: Standard_ND96amsr_A100_v4
    gpus_per_node: 8
    gpu_memory_gib: 80
    max_nodes: 4
    price_per_node_hour: 32.77
    currency: USD
hold: null
"""


def blob(text: str | bytes, mode: str = "100644") -> Blob:
    content = text if isinstance(text, bytes) else text.encode()
    return Blob(mode, BlobId("b" * 40), content)


def changed(old: str, new: str) -> str:
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new)


def sound(text: str) -> Policy:
    found = read_policy(blob(text))
    assert isinstance(found, Policy), found
    return found


def refused(text: str) -> list[tuple[str, int, str, str]]:
    """Return code, line, message and remedy of each problem."""
    found = read_policy(blob(text))
    assert isinstance(found, tuple), found
    assert all(problem.where.path == POLICY for problem in found)
    return [(p.code, p.where.line, p.message, p.remedy) for p in found]


def test_a_sound_policy_says_what_it_says() -> None:
    found = sound(TEXT)
    assert found == Policy(
        blob=BlobId("b" * 40),
        minimum_approvals=2,
        manifest_approvals=1,
        limits=Limits(180, 2000.0, 16, 2, 3),
        kinds=("command",),
        registries=("acme.azurecr.io",),
        code="image",
        baseline=Baseline("Container Apps", 1, 80.0),
        compute={
            "gpu-cluster": ComputeTarget(
                "Standard_ND96amsr_A100_v4", 8, 80.0, 4, Decimal("32.77"), "USD"
            )
        },
        hold=None,
        positions=found.positions,
    )
    assert found.locate("/limits/max_nodes") == Location(POLICY, 6, 3)
    assert found.locate("/hold/reason") == Location(POLICY, 21, 1)


@pytest.mark.parametrize("price", ["32.77", "0", "0.1", "100", "0.0004", "1234.5678"])
def test_a_price_is_exactly_what_is_written(price: str) -> None:
    target = sound(changed("32.77", price)).compute["gpu-cluster"]
    assert target.price_per_node_hour == Decimal(price)


@pytest.mark.parametrize(
    ("text", "hold"),
    [
        ("hold: null", None),
        ("", None),
        ("hold: {reason: budget freeze}", Hold("budget freeze", None, drain=False)),
        (
            "hold: {reason: freeze, until: 2027-01-04, drain: true}",
            Hold("freeze", date(2027, 1, 4), drain=True),
        ),
        ("hold: {reason: x, until: '2027-01-04'}", Hold("x", date(2027, 1, 4), drain=False)),
    ],
)
def test_a_hold_is_null_or_has_a_reason(text: str, hold: Hold | None) -> None:
    assert sound(changed("hold: null", text)).hold == hold


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("code: image", "code: snapshot"),
        ("[command]", "[command, sweep, pipeline, schedule]"),
        ("[acme.azurecr.io]", "[acme.azurecr.io, 'localhost:5000', docker.io]"),
        ("manifests: 1", "manifests: 0"),
        ("  gpu-cluster:", "  c:"),
        ("cancels_per_pass: 3", "cancels_per_pass: 0"),
    ],
)
def test_what_else_is_sound(old: str, new: str) -> None:
    sound(changed(old, new))


HOST = (
    "the host of a registry in lower case, such as `acme.azurecr.io`, without scheme and repository"
)
GPU_HOURS = "GPU hours, more than 0 and at most 1,000,000,000"
GIB = "GiB of one GPU, more than 0 and at most 10,000"
PRICE = "the price of one node for one hour, from 0 to 1,000,000, such as 32.77"
DAY = "a day without a time, as YYYY-MM-DD"
TARGET = (
    "a mapping of `vm_size`, `gpus_per_node`, `gpu_memory_gib`, `max_nodes`, "
    "`price_per_node_hour` and `currency`"
)

REFUSED = [
    (
        "version: 1",
        "version: 2",
        ("bad-value", 1, "`version` is `2`"),
        "1 is the only version there is",
    ),
    (
        "version: 1\n",
        "",
        ("missing-field", 1, "the document has no `version`"),
        "add `version`: 1 is the only version there is",
    ),
    (
        "minimum: 2",
        "minimum: 0",
        ("out-of-range", 2, "`approvals.minimum` is `0`"),
        "a whole number from 1 to 100",
    ),
    (
        "manifests: 1",
        "manifests: -1",
        ("out-of-range", 2, "`approvals.manifests` is `-1`"),
        "a whole number from 0 to 100",
    ),
    (
        "admission_days: 180",
        "admission_days: 0",
        ("out-of-range", 4, "`limits.admission_days` is `0`"),
        "a whole number from 1 to 3660",
    ),
    (
        "gpu_hours: 2000",
        "gpu_hours: 0",
        ("out-of-range", 5, "`limits.gpu_hours` is `0`"),
        GPU_HOURS,
    ),
    (
        "  min_gpus: 2",
        "  min_gpu: 2",
        ("unknown-field", 7, "`limits.min_gpu` is not a field of limits"),
        "did you mean `min_gpus`?",
    ),
    (
        "[command]",
        "[commands]",
        ("bad-value", 9, "`kinds.0` is `commands`"),
        "did you mean `command`? possible: `command`, `sweep`, `pipeline`, `schedule`",
    ),
    *(
        (
            "[acme.azurecr.io]",
            f"['{bad}']",
            ("bad-value", 10, f"`registries.0` is `{bad}`"),
            HOST,
        )
        for bad in ("acme", "Acme.azurecr.io", "https://acme.azurecr.io", "acme.azurecr.io/train")
    ),
    (
        "code: image",
        "code: images",
        ("bad-value", 11, "`code` is `images`"),
        "did you mean `image`? possible: `image`, `snapshot`",
    ),
    (
        "gpus: 1,",
        "gpus: 0,",
        ("out-of-range", 12, "`baseline.gpus` is `0`"),
        "a whole number from 1 to 1000",
    ),
    (
        "gpu_memory_gib: 80}",
        "gpu_memory_gib: 0}",
        ("out-of-range", 12, "`baseline.gpu_memory_gib` is `0`"),
        GIB,
    ),
    (
        "gpus_per_node: 8",
        "gpus_per_node: 0",
        ("out-of-range", 16, "`compute.gpu-cluster.gpus_per_node` is `0`"),
        "a whole number from 1 to 1000",
    ),
    (
        "price_per_node_hour: 32.77",
        "price_per_node_hour: free",
        ("wrong-type", 19, "`compute.gpu-cluster.price_per_node_hour` is text, not a number"),
        PRICE,
    ),
    (
        "price_per_node_hour: 32.77",
        "price_per_node_hour: -1",
        ("out-of-range", 19, "`compute.gpu-cluster.price_per_node_hour` is `-1`"),
        PRICE,
    ),
    (
        "currency: USD",
        "currency: usd",
        ("bad-value", 20, "`compute.gpu-cluster.currency` is `usd`"),
        "three capitals (ISO 4217), such as USD",
    ),
    (
        "    currency: USD\n",
        "    currency: USD\n  other: 3\n",
        ("wrong-type", 21, "`compute.other` is a whole number, not a mapping"),
        TARGET,
    ),
    (
        "hold: null",
        "hold: {}",
        ("missing-field", 21, "`hold` has no `reason`"),
        "add `reason`: one line that says why nothing may start",
    ),
    (
        "hold: null",
        "hold: true",
        ("wrong-type", 21, "`hold` is true or false, not a mapping or nothing"),
        "`null`, or `{reason: …}` with `until` and `drain` if wanted",
    ),
    (
        "hold: null",
        "hold: {reason: x, until: 2027-02-30}",
        ("bad-value", 21, "`hold.until` is `2027-02-30`, which is no day"),
        "write a day of the calendar as YYYY-MM-DD",
    ),
    (
        "hold: null",
        "hold: {reason: x, until: 2027-02-03T10:00:00Z}",
        ("bad-value", 21, "`hold.until` is `2027-02-03T10:00:00Z`"),
        DAY,
    ),
    (
        "hold: null",
        "hold: {reason: x, drian: true}",
        ("unknown-field", 21, "`hold.drian` is not a field of a hold"),
        "did you mean `drain`?",
    ),
    (
        "hold: null",
        "holds: null",
        ("unknown-field", 21, "`holds` is not a field of the policy"),
        "did you mean `hold`?",
    ),
]


@pytest.mark.parametrize(("old", "new", "problem", "remedy"), REFUSED)
def test_a_field_that_is_wrong_is_refused_at_its_line(
    old: str, new: str, problem: tuple[str, int, str], remedy: str
) -> None:
    found = refused(changed(old, new))
    assert (*problem, remedy) in found
    assert {code for code, *_ in found} <= {problem[0], "missing-field"}


@pytest.mark.parametrize("name", ["1gpu", "gpu_1", "a" * 33])
def test_a_target_has_a_name_that_azure_gives(name: str) -> None:
    ((code, line, message, remedy),) = refused(changed("  gpu-cluster:", f"  {name}:"))
    assert (code, line) == ("bad-name", 14)
    assert message == f"the name `{name}` is not possible here"
    assert remedy == "name a target with a letter, then letters, digits and `-`, 32 at most"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "yaml-empty", 1),
        ("- a\n", "not-a-mapping", 1),
        ("version: [\n", "yaml-syntax", None),
        (TEXT + "hold: null\n", "duplicate-key", 22),
        (changed("price_per_node_hour: 32.77", "price_per_node_hour: 1_000"), None, 19),
        (changed("Container Apps", "Container\u200bApps"), "invisible-character", 12),
    ],
)
def test_yaml_that_is_not_plain_is_refused(text: str, code: str | None, line: int | None) -> None:
    ((found, where, _, _),) = refused(text)
    assert (found, where) == (code or found, line or where)


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_the_policy_is_a_file_and_no_link(mode: str) -> None:
    message = f"the policy has the mode {mode}, so that it is not a plain file"
    remedy = "replace it by the file itself; a link can change what was approved"
    assert read_policy(blob("x", mode)) == (
        Problem("not-a-file", Location(POLICY), message, remedy),
    )


def test_the_published_schema_says_what_every_field_is_for() -> None:
    published = schema("policy")
    assert set(published["properties"]) - set(published["required"]) == {"hold"}
    target = published["properties"]["compute"]["additionalProperties"]["properties"]
    assert set(target) == set(ComputeTarget.__dataclass_fields__)
    assert all("description" in field for field in published["properties"].values())
    assert all("description" in field for field in target.values())


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    assert isinstance(read_policy(blob(content)), tuple)


@settings(derandomize=True, max_examples=120, deadline=None)
@given(st.data())
def test_no_edit_of_a_sound_file_raises(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TEXT)))
    end = data.draw(st.integers(start, min(len(TEXT), start + 20)))
    new = data.draw(st.text(st.sampled_from("-:#{}[]&*!|>'\"`<\n\t 0aé\u200b"), max_size=6))
    found = read_policy(blob(TEXT[:start] + new + TEXT[end:]))
    if isinstance(found, tuple):
        assert all(problem.message and problem.remedy for problem in found)


def test_an_executable_policy_is_refused() -> None:
    found = read_policy(blob(TEXT, "100755"))
    assert isinstance(found, tuple)
    assert [p.message for p in found] == [
        "the policy is executable (mode 100755), so that nobody can approve it"
    ]

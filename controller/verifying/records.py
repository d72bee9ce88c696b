"""The edges inside the ledger: run, reservation, admission record, payload, image, data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from controller.documents.kinds.command import Image
from controller.documents.manifest import KINDS
from controller.documents.payload import run_name
from controller.evidence.facts import Unavailable
from controller.ledger.book import record_file, run_file
from controller.values import listed, sha256
from controller.verifying.admission_record import DAMAGE
from controller.verifying.chain import Chain, Link, broken, held, known, short, unchecked

_PINNED = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_DIFFER = 1e-6
"""GPU hours by which two ways to the same sum may differ."""


def ledger_record(chain: Chain) -> Link:
    """The ledger has a record of that run, and the attempt is one of its attempts."""
    if isinstance(chain.record, Unavailable):
        return broken(chain.record.why)
    record = chain.record.value
    file, numbers = run_file(record), [a.number for a in record.last.attempts]
    if numbers != list(range(1, len(numbers) + 1)):
        return broken(f"the attempts in `{file}` are not numbered from 1 on")
    if chain.number not in numbers:
        return broken(f"`{file}` has no attempt {chain.number}, only {len(numbers)}")
    hours = f"{record.last.gpu_hours:g} GPU hours of `{record.admission}`"
    return held(f"`{file}`: attempt {chain.number} of {len(numbers)}, {record.stage}, {hours}")


def admission_record(chain: Chain) -> Link:
    """The bytes of the admission record are those that the attempt was made with."""
    if isinstance(chain.content, Unavailable):
        return broken(chain.content.why)
    digest, wanted = sha256(chain.content.value), chain.attempt.record
    file = record_file(chain.run, wanted)
    if digest != wanted:
        return broken(f"`{file}` is {short(digest)}, and the attempt says {short(wanted)}")
    if isinstance(chain.recorded, Unavailable):
        return broken(chain.recorded.why)
    return held(f"`{file}` is {short(digest)}, as attempt {chain.number} says")


def reservation(chain: Chain) -> Link:
    """The admission record says the same as the ledger's record of the run."""
    faults = [
        f"{word} is `{one}` in the admission record and `{other}` in the ledger's record"
        for word, one, other in _told_twice(chain)
        if one != other
    ]
    if faults:
        return broken(*faults)
    at = f"{chain.attempt.reserved_at:%Y-%m-%d %H:%M} UTC"
    return held(f"`{chain.said.admission}` reserved for it at {at}, for `{chain.said.manifest}`")


def _told_twice(chain: Chain) -> Iterator[tuple[str, object, object]]:
    """Yield what both say. Where a retry's manifest lies is its own affair."""
    said, record, generation = chain.said, known(chain.record), chain.generation
    yield "the run", said.run, chain.run
    yield "the name", said.name, record.name
    yield "the fingerprint", said.fingerprint, record.fingerprint
    yield "the attempt", said.attempt, chain.number
    yield "the admission", said.admission, generation.admission
    yield "the workspace", said.workspace, generation.workspace
    yield "the time", said.evidence.asked_at, chain.attempt.reserved_at
    if chain.number > 1:
        return
    yield "the manifest", said.manifest, generation.path
    if generation.blob:
        yield "its blob", said.blobs.get(said.manifest, ""), generation.blob
    if abs(said.gpu_hours - generation.gpu_hours) > _DIFFER:
        yield "the worst case", said.gpu_hours, generation.gpu_hours


def payload(chain: Chain) -> Link:
    """The recorded payload has the run's fingerprint, and the run is named for it."""
    said = chain.said
    found = said.payload.whole.fingerprint
    if found != said.fingerprint:
        return broken(
            f"the recorded payload has the fingerprint {short(found)}, "
            f"and the admission record says {short(said.fingerprint)}"
        )
    if chain.run != (name := run_name(said.name, found, chain.number)):
        return broken(f"a run of this payload is named `{name}`, not `{chain.run}`")
    return held(f"the recorded payload has the fingerprint {short(found)}, which is in the name")


def image(chain: Chain) -> Link:
    """The recorded image is the payload's, and named by its digest."""
    said = chain.said
    try:
        spec = KINDS[said.payload.kind].spec(said.payload.body)
    except DAMAGE:
        return broken(f"the recorded payload is not a {said.payload.kind} job that can be read")
    reference = spec.environment.reference if isinstance(spec.environment, Image) else ""
    if reference != said.image:
        return broken(
            f"the payload runs `{reference}`, and the admission record says `{said.image}`"
        )
    if not _PINNED.fullmatch(reference):
        return broken(f"`{reference}` is not an image by its digest")
    repository, _, digest = reference.partition("@")
    return held(f"`{repository}` at {short(digest)}")


def injected(chain: Chain) -> Link:
    """What the job was told of itself is what was admitted."""
    said = chain.said
    expected = {
        "ADMIT_RUN": said.run,
        "ADMIT_ADMISSION": said.admission,
        "ADMIT_COMMIT": said.commit,
        "ADMIT_DATASET_DIGEST": said.payload.dataset,
        "ADMIT_IMAGE": said.image,
    }
    faults = [
        f"`{name}` is `{said.injected.get(name, '')}`, not `{value}`"
        for name, value in expected.items()
        if said.injected.get(name, "") != value
    ]
    if faults:
        return broken(*faults)
    return held(f"{listed(sorted(expected))} are those of the admission record")


def dataset(chain: Chain) -> Link:
    """What the run says it read is what its job asked for."""
    wanted, read = chain.said.payload.dataset, dict(_read(chain))
    if not wanted:
        return unchecked("the job names no digest of its data: `tags.dataset` is not set")
    if others := [f"{who} read {short(one)}" for who, one in read.items() if one != wanted]:
        return broken(*others, f"the payload asks for {short(wanted)}")
    if not read:
        return unchecked(f"nobody says what was read; {_silence(chain)}")
    return held(f"{' and '.join(read)} read {short(wanted)}, as the payload asks for")


def _read(chain: Chain) -> Iterator[tuple[str, str]]:
    """Yield who says what was read."""
    outcome = chain.outcome
    if outcome is not None and outcome.dataset:
        yield f"MLflow run `{outcome.mlflow_run}`, by the ledger,", outcome.dataset
    if not isinstance(chain.tracked, Unavailable):
        for found in chain.tracked.value:
            if found.dataset and found.record == chain.attempt.record:
                yield f"MLflow run `{found.mlflow_run}`", found.dataset


def _silence(chain: Chain) -> str:
    if isinstance(chain.tracked, Unavailable):
        return chain.tracked.why
    return "MLflow has no digest of it either"


def ledger(chain: Chain) -> Link:
    """The ledger's own history is another command's."""
    return unchecked(f"`admit ledger fsck` walks the ledger, which was read at {short(chain.head)}")

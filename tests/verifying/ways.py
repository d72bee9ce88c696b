"""Ways to break a chain: in the ledger, in git, in the workspace, in MLflow, on the host."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from controller.values import CommitId, RepoPath
from tests.verifying.chains import JOB, Chain

OTHER = "sha256:" + "0f" * 32
POLICY, OWNERS = RepoPath("admissions/policy.yml"), RepoPath(".github/CODEOWNERS")

Break = Callable[[Chain], object]


def in_ledger(path: str, content: bytes | None) -> Break:
    return lambda c: c.forge(path.format(run=c.run), content)


def in_record(change: Callable[[Any], object]) -> Break:
    return lambda c: c.rewrite(change)


def in_run(change: Callable[[Any], object]) -> Break:
    return lambda c: c.edit_run(lambda said: change(said["generations"][-1]))


def in_workspace(**changes: Any) -> Break:
    def change(chain: Chain) -> None:
        there = chain.world.workspace.get(chain.run)
        assert there is not None
        chain.world.workspace.observe(replace(there, **changes))

    return change


def in_models(**changes: Any) -> Break:
    def change(chain: Chain) -> None:
        chain.models.found = [replace(one, **changes) for one in chain.models.found]

    return change


def in_proof(path: str, change: Callable[[Any], object]) -> Break:
    return lambda c: c.edit(c.proof(path), change)


def withdrawn(path: RepoPath) -> Break:
    return lambda c: c.withdrawn.add(path)


def stranger(chain: Chain) -> None:
    """Let somebody approve who is no owner, in the record and in the proof."""
    path = chain.proof(JOB)
    chain.rewrite_approval(JOB, lambda a: a["approvers"][0].update(login="mallory"))
    chain.edit(path, lambda proof: proof["by"][0].update(login="mallory"))


def nobody(chain: Chain) -> None:
    chain.rewrite_approval(JOB, lambda a: a.update(approvers=[]))
    chain.edit(chain.proof(JOB), lambda proof: proof.update(by=[]))


def aside(chain: Chain) -> None:
    chain.main.aside.add(CommitId(json.loads(chain.file(chain.admitted()))["commit"]))


def later_root(chain: Chain) -> None:
    chain.edit("ledger.json", lambda trust: trust.update(root=chain.main.default_base()))


def other_bytes(path: RepoPath) -> Break:
    def change(chain: Chain) -> None:
        commit = json.loads(chain.file(chain.admitted()))["commit"]
        text = dict(chain.main._line)[commit][path].decode()
        chain.main.rewrite(commit, path, text + "\n# another line\n")

    return change


def other_root(path: str) -> Break:
    """Let the trusted root have other bytes than were recorded as its."""
    return lambda c: c.main.rewrite(c.main._line[0][0], path, "something else\n")


def gone(chain: Chain) -> None:
    del chain.world.workspace._runs[chain.run]


def lacks_a_rule(said: Any) -> None:
    said["findings"] = [f for f in said["findings"] if f[0] != "image-pinned"]


def not_met(said: Any) -> None:
    said["findings"][3][1] = "UNDECIDED"


def other_workspace(said: Any) -> None:
    said["workspace"] = "local:elsewhere"


def other_image(said: Any) -> None:
    said["image"] = said["injected"]["ADMIT_IMAGE"] = "registry.example.com/other@" + OTHER


def by_tag(said: Any) -> None:
    """Let it run an image by its tag, everywhere in the record."""
    image = "registry.example.com/train:latest"
    said["payload"]["body"]["environment"]["image"] = image
    said["image"] = said["injected"]["ADMIT_IMAGE"] = image


def other_end(said: Any) -> None:
    """Change the fingerprint where no name shows it."""
    said["fingerprint"] = said["fingerprint"][:-1] + (
        "0" if said["fingerprint"][-1] != "0" else "1"
    )


def left_out(generation: Any) -> None:
    """Add a third attempt without a second."""
    first = generation["attempts"][0]
    kept = {key: first[key] for key in ("record", "reserved_at", "deadline")}
    generation["attempts"].append({**kept, "number": 3})


def only_the_root_has_it(chain: Chain) -> None:
    """Let the trusted root have the manifest, and nobody approve it."""
    commit = json.loads(chain.file(chain.admitted()))["commit"]
    text = dict(chain.main._line)[commit][JOB].decode()
    chain.main.rewrite(chain.main._line[0][0], JOB, text)
    path = chain.proof(JOB)
    chain.rewrite_approval(JOB, lambda a: a.update(approvers=[], trusted=True))
    chain.edit(path, lambda proof: proof.update(by=[], trusted=True))

"""What the tests of the local code host have in common."""

from __future__ import annotations

from datetime import timedelta

from controller.adapters.notes import LocalHost
from controller.adapters.notes_store import REF
from controller.evidence.facts import Approval, Known
from controller.values import CommitId, RepoPath, canonical_json
from tests.adapters.scratch import NOON, Scratch, path

OWNERS = ".github/CODEOWNERS"
JOB = path("jobs/a.yml")
LATER = NOON + timedelta(hours=1)


def known(host: LocalHost, name: RepoPath, at: CommitId) -> Approval:
    answer = host.approval(name, at)
    assert isinstance(answer, Known)
    assert answer.asked_at == LATER
    return answer.value


def logins(approval: Approval) -> list[str]:
    return [approver.login for approver in approval.approvers]


def noted(repo: Scratch, commit: str, content: bytes) -> None:
    repo.run("notes", f"--ref={REF}", "add", "-f", "-F", "-", commit, stdin=content)


def line(repo: Scratch, **other: str | None) -> bytes:
    fields = {
        "at": "2026-11-30T12:00:00Z",
        "blob": repo.blob("HEAD:jobs/a.yml"),
        "commit": repo.head(),
        "login": "ada",
        "path": "jobs/a.yml",
    }
    return canonical_json({**fields, **other})

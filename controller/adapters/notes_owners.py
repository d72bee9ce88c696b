"""Who could approve, at each point of main: the chain of approved CODEOWNERS from a root.

The root is the trusted one that is given, else the first commit, where there is only one.

A version of CODEOWNERS names approvers only once it was itself approved by those whom the last
approved version named; so does a version of the policy for how many there must be. What was not
approved changes nothing, also when it is taken back later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.adapters.git import Git
from controller.adapters.git_history import Arrival, introducing, line_of
from controller.adapters.notes_store import Note, NotesStore
from controller.documents.owners import PLACES, Owners, kind_of_owner, read_owners
from controller.documents.policy import POLICY, Policy, read_policy
from controller.documents.snapshot import REGULAR, Blob
from controller.errors import CannotRunError
from controller.evidence.facts import Approver
from controller.values import CommitId, RepoPath

JUDGES = (*PLACES, POLICY)
"""The files that say who approves; of them the root's bytes count as approved."""

Step = dict[RepoPath, Arrival]
"""What one commit of main brought, of the paths that say who approves."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may approve and how many must, from some commit on. `owners` None: nobody."""

    owners: Owners | None
    minimum: int


def rules_before(
    git: Git, store: NotesStore, at: CommitId, root: CommitId | None = None
) -> Mapping[CommitId, Rule]:
    """Return the rule that each commit of the first-parent line from the root to `at` had to meet.

    The root has its own. Raises CannotRunError where it cannot be told which root is trusted, or
    where the trusted one is not on that line.
    """
    return _chain(git, store, at, root)[0]


def rule_after(git: Git, store: NotesStore, at: CommitId, root: CommitId | None = None) -> Rule:
    """Return the rule that what follows `at` will have to meet. Raises as `rules_before` does."""
    return _chain(git, store, at, root)[1]


def _chain(
    git: Git, store: NotesStore, at: CommitId, trusted: CommitId | None
) -> tuple[dict[CommitId, Rule], Rule]:
    """Return the rule before each commit of the line, and the one after the last."""
    if trusted is None:
        _one_root(git, at)
    steps = list(reversed(list(line_of(git.runner, JUDGES, at, trusted))))
    (root, _), *later = steps
    told = [(commit, step) for commit, step in later if step]
    made = introducing(git.runner, ((p, c) for c, step in told for p in step), at, trusted)
    notes = store.read(set(made.values()))
    files = git.files_at([root, *(commit for commit, _ in told)], JUDGES)
    standing = _read(files[root], Rule(None, 1))
    rules = {root: standing}
    unproved: set[RepoPath] = set()
    for commit, step in later:
        rules[commit] = standing
        if step:
            votes = {path: notes.get(made[path, commit], ((), ()))[0] for path in step}
            standing = _next(standing, step, files[commit], votes, unproved)
    return rules, standing


def _one_root(git: Git, at: CommitId) -> None:
    roots = git.runner.run("rev-list", "--max-parents=0", at).decode().split()
    if len(roots) != 1:
        raise CannotRunError(
            f"the history of {at[:12]} has {len(roots)} root commits, so that it cannot be told "
            "which of them is trusted",
            remedy="keep main to one history: a merge of an unrelated one cannot be trusted",
        )


def _next(
    standing: Rule,
    step: Step,
    files: Mapping[RepoPath, Blob],
    votes: Mapping[RepoPath, tuple[Note, ...]],
    unproved: set[RepoPath],
) -> Rule:
    """Return the rule after one commit: what was approved by the standing rule takes effect.

    `unproved` are the files whose bytes nobody entitled approved; it is kept up to date.
    """
    found = _read(files, standing)
    needed = dict.fromkeys(step, standing.minimum)
    if POLICY in step:
        needed[POLICY] = max(standing.minimum, found.minimum)
    approved = {
        path: len(counted(path, arrival.blob, standing.owners, votes[path])[0]) >= needed[path]
        for path, arrival in step.items()
    }
    unproved.difference_update(path for path in step if approved[path])
    unproved.update(path for path in step if not approved[path])
    # A file that a removal uncovers must have been approved when it came.
    deciding = {path for path in step if path in PLACES}
    if found.owners is not None:
        deciding.add(found.owners.path)
    return Rule(
        found.owners if deciding.isdisjoint(unproved) else standing.owners,
        found.minimum if approved.get(POLICY) else standing.minimum,
    )


def _read(files: Mapping[RepoPath, Blob], standing: Rule) -> Rule:
    """Return what the files of one commit say; the standing minimum where they do not."""
    place = next((path for path in PLACES if path in files), None)
    policy = read_policy(files[POLICY]) if POLICY in files else None
    return Rule(
        read_owners(place, files[place]) if place is not None else None,
        policy.minimum_approvals if isinstance(policy, Policy) else standing.minimum,
    )


def counted(
    path: RepoPath, blob: Blob | None, owners: Owners | None, notes: tuple[Note, ...]
) -> tuple[tuple[Approver, ...], tuple[str, ...]]:
    """Return who approved these bytes, once each, and why other approvals do not count."""
    if not approvable(blob):
        mode = blob.mode if blob else ""
        return (), (f"the file has the mode {mode}, and only {REGULAR} can be approved",)
    named = (owners.of(path) or ()) if owners else ()
    logins = {owner[1:].casefold() for owner in named if kind_of_owner(owner) == "user"}
    unresolved = [owner for owner in named if kind_of_owner(owner) != "user"]
    approvers: dict[str, Approver] = {}
    refused: dict[str, None] = {}
    for note in notes:
        if note.path != path:
            continue
        login = note.login.casefold()
        if note.blob != (blob.sha if blob else None):
            refused[f"@{note.login} approved other bytes"] = None
        elif login in logins:
            approvers.setdefault(login, Approver(note.login, note.at, note.source))
        elif unresolved:
            team = ", ".join(unresolved)
            refused[f"@{note.login} may belong to {team}, which cannot be asked locally"] = None
        else:
            refused[f"@{note.login} is not an owner"] = None
    return tuple(approvers.values()), tuple(refused)


def objection(blob: Blob | None, owners: Owners | None, note: Note) -> str:
    """Return why the approval does not count by `owners`, as a clause; '' when it does."""
    approvers, refused = counted(note.path, blob, owners, (note,))
    named = (owners.of(note.path) or ()) if owners else ()
    if approvers:
        return ""
    if not named:
        return f"`{note.path}` has no owner who could approve it"
    if note.blob != (blob.sha if blob else None) or not approvable(blob):
        return refused[0]
    if any(kind_of_owner(owner) != "user" for owner in named):
        return refused[0]
    are = "are" if len(named) > 1 else "is"
    return f"@{note.login} is not an owner of `{note.path}`; {', '.join(named)} {are}"


def approvable(blob: Blob | None) -> bool:
    """Whether a file of this mode, or its removal, can be approved."""
    return blob is None or blob.mode == REGULAR

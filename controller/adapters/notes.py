"""The local code host: approvals as git notes, bound to (path, blob, commit).

They are only as trustworthy as write access to the repository. A note stands on the commit that
introduced the bytes (or removed the file) and has one line of canonical JSON an approval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from controller.adapters.git import Git
from controller.adapters.git_history import Arrival, arrivals, every_arrival, introducing
from controller.adapters.git_objects import contents
from controller.adapters.notes_store import LOGIN, Note, NotesStore
from controller.documents.owners import PLACES, Owners, kind_of_owner, read_owners
from controller.documents.snapshot import REGULAR, Blob
from controller.errors import AdmitError, UsageError
from controller.evidence.facts import Answer, Approval, Approver, Known, Unavailable, Version
from controller.values import CommitId, RepoPath

_Version = tuple[RepoPath, Arrival]


class ApprovalRefusedError(UsageError):
    """There is nothing here that this login could approve."""


def _now() -> datetime:
    return datetime.now(UTC)


class LocalHost:
    """Approvals kept in `git`, given and read on this machine. `now` stamps the answers."""

    def __init__(self, git: Git, now: Callable[[], datetime] = _now) -> None:
        self._git = git
        self._now = now
        self._store = NotesStore(git.runner)

    def approve(self, path: RepoPath, login: str, at: datetime) -> Note:
        """Record that `login` approves the bytes of `path` at HEAD, or its removal.

        Approving the same twice is one approval. Raises ApprovalRefusedError.
        """
        name = login.removeprefix("@")
        if not LOGIN.match(name):
            remedy = "approve as a person: `--as @login`"
            raise ApprovalRefusedError(f"`{login}` is not a login", remedy=remedy)
        head = self._git.resolve("HEAD")
        arrival = self._committed(path, head)
        start = (path, arrival.commit)
        commit = introducing(self._git.runner, [start], head)[start]
        sha = arrival.blob.sha if arrival.blob else None
        note = Note(path, sha, commit, name, at.astimezone(UTC).replace(microsecond=0))
        self._store.append(note)
        return note

    def approval(self, path: RepoPath, at: CommitId) -> Answer[Approval]:
        """Return who approved the bytes, or the removal, of `path` as it is at a commit."""
        return self.approvals([path], at)[path]

    def approvals(
        self, paths: Iterable[RepoPath], at: CommitId
    ) -> Mapping[RepoPath, Answer[Approval]]:
        """Return the same of many paths, in a fixed number of git processes."""
        asked = list(dict.fromkeys(paths))
        try:
            last = arrivals(self._git.runner, asked, at)
            known = dict(zip(last, self._judged(last.items(), at), strict=True))
        except AdmitError as error:
            return dict.fromkeys(asked, Unavailable(str(error), self._now()))
        never = Unavailable(f"no commit up to {at[:12]} has it", self._now())
        return {p: Known(known[p], self._now()) if p in known else never for p in asked}

    def versions(self, path: RepoPath, at: CommitId) -> Iterator[Version]:
        """Yield every version of a file that main had up to a commit, newest first."""
        there = [(path, a) for a in every_arrival(self._git.runner, path, at) if a.blob]
        for approval in self._judged(there, at):
            sha = approval.blob
            content = contents(self._git.runner, [sha]).get(sha) if sha else None
            if content is not None:
                yield Version(content, approval)

    def _judged(self, versions: Iterable[_Version], at: CommitId) -> Iterator[Approval]:
        """Yield what is known of the approval of each version."""
        asked = list(versions)
        starts = introducing(self._git.runner, ((path, a.commit) for path, a in asked), at)
        owners = self._owners([arrival for _, arrival in asked])
        notes = self._store.read(set(starts.values()))
        for path, arrival in asked:
            commit = starts[path, arrival.commit]
            rules = owners[arrival.before or arrival.commit]
            could = (rules.of(path) or ()) if rules else ()
            said, broken = notes.get(commit, ((), ()))
            approvers, refused = _counted(path, arrival.blob, could, said)
            yield Approval(
                path,
                blob=arrival.blob.sha if arrival.blob else None,
                commit=commit,
                owners=could,
                approvers=approvers,
                refused=(*refused, *broken),
                trusted=arrival.before is None and _approvable(arrival.blob),
            )

    def _owners(self, found: Iterable[Arrival]) -> dict[CommitId, Owners | None]:
        """Return CODEOWNERS as it was before each change; the root has its own."""
        commits = {arrival.before or arrival.commit for arrival in found}
        files = self._git.files_at(commits, PLACES)
        read: dict[tuple[RepoPath, Blob], Owners] = {}
        owners: dict[CommitId, Owners | None] = {}
        for commit, there in files.items():
            place = next(((path, there[path]) for path in PLACES if path in there), None)
            if place is not None and place not in read:
                read[place] = read_owners(*place)
            owners[commit] = read[place] if place else None
        return owners

    def _committed(self, path: RepoPath, head: CommitId) -> Arrival:
        """Return what brought `path` to `head` as it lies, or refuse."""
        if not path or not path.isprintable():
            message = f"{path!a} is not a path that can be approved"
            raise ApprovalRefusedError(message, remedy="name one file")
        status = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        if self._git.runner.run(*status, "--ignore-submodules=all", "--", path):
            message = f"`{path}` differs from HEAD, and an approval is of committed bytes"
            raise ApprovalRefusedError(message, remedy="commit the file, or restore it")
        arrival = arrivals(self._git.runner, [path], head).get(path)
        if arrival is None:
            remedy = "name one file, from the top of the repository"
            message = f"`{path}` is not a file of HEAD and never was"
            raise ApprovalRefusedError(message, remedy=remedy)
        return arrival


def _counted(
    path: RepoPath, blob: Blob | None, owners: tuple[str, ...], notes: Iterable[Note]
) -> tuple[tuple[Approver, ...], tuple[str, ...]]:
    """Return who approved these bytes, once each, and why other approvals do not count."""
    if blob and not _approvable(blob):
        return (), (f"the file has the mode {blob.mode}, and only {REGULAR} can be approved",)
    logins = {owner[1:].casefold() for owner in owners if kind_of_owner(owner) == "user"}
    unresolved = [owner for owner in owners if kind_of_owner(owner) != "user"]
    counted: dict[str, Approver] = {}
    refused: dict[str, None] = {}
    for note in notes:
        if note.path != path:
            continue
        login = note.login.casefold()
        if note.blob != (blob.sha if blob else None):
            refused[f"@{note.login} approved other bytes"] = None
        elif login in logins:
            counted.setdefault(login, Approver(note.login, note.at, note.source))
        elif unresolved:
            team = ", ".join(unresolved)
            refused[f"@{note.login} may belong to {team}, which cannot be asked locally"] = None
        else:
            refused[f"@{note.login} is not an owner"] = None
    return tuple(counted.values()), tuple(refused)


def _approvable(blob: Blob | None) -> bool:
    return blob is None or blob.mode == REGULAR

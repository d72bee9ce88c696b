"""Beginning the ledger, and trusting another commit of main after its history was rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller import __version__
from controller.documents.owners import PLACES, read_owners
from controller.documents.policy import POLICY, Policy, read_policy
from controller.documents.snapshot import Blob, Snapshot
from controller.errors import CannotRunError
from controller.ledger.book import (
    HEARTBEAT,
    TRUST,
    Heartbeat,
    Order,
    Trust,
    order_file,
    page,
)
from controller.ledger.codec import encoded
from controller.ledger.draft import begun
from controller.ledger.store import Change, MissingLedgerError
from controller.values import BlobId, CommitId, RepoPath, writable
from controller.wiring import World


@dataclass(frozen=True, slots=True)
class Trusted:
    """What a ledger trusts now: a commit of main, and the bytes of the files that judge there."""

    place: str
    head: CommitId
    root: CommitId
    blobs: Mapping[RepoPath, BlobId]


def begin(world: World, rev: str | None = None) -> Trusted:
    """Make the ledger, trusting `rev` (else the end of main). Raises CannotRunError.

    Also LostRaceError, where somebody else makes it at the same time.
    """
    _refuse_a_second(world)
    root, blobs = _root(world, rev)
    now, workspace = world.now(), world.workspace.id
    first = begun(root, now, by=world.who, workspace=workspace, controller=__version__)
    head = world.ledger.append([first], after=None, at=now)
    return Trusted(world.ledger.place, head, root, blobs)


def trust_again(world: World, reason: str, rev: str | None = None) -> Trusted:
    """Let the ledger trust another commit of main; who said so, and why, is recorded with it.

    The heartbeat stays what the last pass made it, but for the commit of main.
    Raises MissingLedgerError, LostRaceError, and CannotRunError for a commit that cannot be it.
    """
    pages = world.ledger.read(lambda path: path in (TRUST, HEARTBEAT))
    beat = page(Heartbeat, HEARTBEAT, pages.files)
    root, blobs = _root(world, rev)
    now, who = world.now(), world.who
    order = Order("trust", now, writable(reason), who)
    files = {
        order_file(order): encoded(order),
        TRUST: encoded(Trust(root, now, who)),
        HEARTBEAT: encoded(replace(beat, main=root)),
    }
    change = Change(f"{who} orders trust: {root[:12]}", files, reason)
    head = world.ledger.append([change], after=pages.head, at=now)
    return Trusted(world.ledger.place, head, root, blobs)


def _refuse_a_second(world: World) -> None:
    try:
        pages = world.ledger.read(lambda _: False)
    except MissingLedgerError:
        return
    raise CannotRunError(
        f"there is a ledger already: {world.ledger.place}, at {pages.head[:12]}",
        remedy="`admit ledger show` says what is in it; where main was rewritten, and rightly, "
        "`admit ledger init --again --reason TEXT` trusts another commit",
    )


def _root(world: World, rev: str | None) -> tuple[CommitId, Mapping[RepoPath, BlobId]]:
    """Return the commit to trust, and the policy and CODEOWNERS there."""
    main = world.git.default_base()
    root = world.git.resolve(rev) if rev else main
    if not world.git.on_line(main, root):
        raise CannotRunError(
            f"{root[:12]} is not on the first-parent line of main, which ends at {main[:12]}",
            remedy="name a commit that `git log --first-parent main` shows",
        )
    snapshot = world.git.snapshot(root, lambda path: path == POLICY or path in PLACES)
    policy, owners = _policy(snapshot, root), _owners(snapshot, root)
    return root, {POLICY: policy.sha, owners[0]: owners[1].sha}


def _policy(snapshot: Snapshot, root: CommitId) -> Blob:
    blob = snapshot.files.get(POLICY)
    if blob is None:
        raise _not_there(f"`{POLICY}`", root)
    read = read_policy(blob)
    if not isinstance(read, Policy):
        raise CannotRunError(
            f"{read[0].where} at {root[:12]} cannot be read: {read[0].message}",
            remedy=f"{read[0].remedy}; commit that to main, and begin again",
        )
    return blob


def _owners(snapshot: Snapshot, root: CommitId) -> tuple[RepoPath, Blob]:
    path = next((path for path in PLACES if path in snapshot.files), None)
    if path is None:
        raise _not_there(f"`{PLACES[0]}`", root)
    blob = snapshot.files[path]
    for problem in read_owners(path, blob).problems:
        raise CannotRunError(
            f"{problem.where} at {root[:12]} names nobody: {problem.message}",
            remedy=f"{problem.remedy}; commit that to main, and begin again",
        )
    return path, blob


def _not_there(what: str, root: CommitId) -> CannotRunError:
    return CannotRunError(
        f"{what} is not there at {root[:12]}, so that nobody could ever approve anything",
        remedy="commit policy and CODEOWNERS to main first, or name with `--root` a commit of main "
        "that has both",
    )

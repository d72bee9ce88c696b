"""What brought a path its present bytes: walks over git's history, one process for many paths.

With a trusted root history is cut there: the root counts as the first commit, which brought
whatever it has, and what lies below it is not walked. A shallow clone is refused: where history
is cut off, any commit looks like the root.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile

from controller.adapters.git_diffs import Changes, Step, diffs_of, steps_to
from controller.adapters.git_objects import files_of
from controller.adapters.git_process import GitFailedError, Runner
from controller.documents.snapshot import Blob
from controller.errors import CannotRunError
from controller.evidence.facts import Introduction
from controller.values import CommitId, RepoPath

_LATEST = datetime(9998, 12, 31, tzinfo=UTC)
_FEW = 200
"""Of up to so many paths git is asked one by one, of more for the whole tree."""


class OtherHistoryError(CannotRunError):
    """The trusted root is not on the first-parent line: this is not the main it was trusted in."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The first-parent commit that gave a path its bytes (`blob` None: that removed the file)."""

    commit: CommitId
    before: CommitId | None
    """Its first parent; None for the root, be it the first commit or the trusted one."""
    seconds: int
    """Its committer's time, since 1970."""
    blob: Blob | None


Start = tuple[RepoPath, CommitId]
"""A path, and a commit of the first-parent line in which it arrived."""
_Group = dict[RepoPath, list[Start]]


def arrivals(
    git: Runner, paths: Iterable[RepoPath], at: CommitId, root: CommitId | None = None
) -> dict[RepoPath, Arrival]:
    """Return the last arrival of each path, up to `at`. A path that never was has none."""
    missing = set(paths)
    found: dict[RepoPath, Arrival] = {}
    with closing(line_of(git, missing, at, root)) as line:
        while missing and (step := next(line, None)) is not None:
            found |= step[1]
            missing.difference_update(step[1])
    if root is not None and missing:  # they were removed before the root, or never there
        gone = arrivals(git, missing, root)
        found |= {path: replace(a, commit=root, before=None) for path, a in gone.items()}
    return found


def every_arrival(
    git: Runner, path: RepoPath, at: CommitId, root: CommitId | None = None
) -> Iterator[Arrival]:
    """Yield every arrival of one path up to `at`, the newest first."""
    for _, step in line_of(git, [path], at, root):
        if path in step:
            yield step[path]


def line_of(
    git: Runner, paths: Collection[RepoPath], at: CommitId, root: CommitId | None = None
) -> Generator[tuple[CommitId, dict[RepoPath, Arrival]], None, None]:
    """Yield each commit of the first-parent line, newest first, and what of `paths` it changed.

    Raises OtherHistoryError where `root` is not on that line.
    """
    steps = _line(git, at, root)
    above = steps if root is None else steps[:-1]
    pairs = [(step.commit, step.parents[0] if step.parents else None) for step in above]
    with closing(diffs_of(git, pairs, paths)) as diffs:
        for step, ((commit, before), changes) in zip(above, diffs, strict=True):
            yield (
                commit,
                {
                    path: Arrival(commit, before, step.seconds, blob)
                    for path, blob in changes.items()
                    if path in paths
                },
            )
    if root is not None:
        asked = sorted(filter(None, paths)) if len(paths) <= _FEW else ()
        there = files_of(git, root, *asked).items() if paths else ()
        seconds = steps[-1].seconds
        yield root, {p: Arrival(root, None, seconds, blob) for p, blob in there if p in paths}


def on_line(git: Runner, at: CommitId, commit: CommitId) -> bool:
    """Whether `commit` is on the first-parent line of `at`. Raises ShallowCloneError."""
    try:
        return bool(_line(git, at, commit))
    except OtherHistoryError:
        return False


def _line(git: Runner, at: CommitId, root: CommitId | None) -> list[Step]:
    """Return the first-parent line of `at`, newest first, as far as `root`."""
    if root is None:
        return steps_to(git, [at], first_parent=True)
    try:
        steps = steps_to(git, [at, CommitId(f"^{root}^@")], first_parent=True)
    except GitFailedError as error:
        full = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{root}^{{commit}}")
        code, found, _ = git.attempt(*full)
        if code or found.decode().strip() != root:
            raise _other_history(at, root) from error
        raise
    if not steps or steps[-1].commit != root:
        raise _other_history(at, root)
    return steps


def _above(git: Runner, at: CommitId, root: CommitId | None) -> list[Step]:
    """Return what `at` descends from; where that is sure, without what `root` descends from.

    Git's own exclusion lets some of that through where the times of commits are forged, and to
    an attacker the approvals of yesterday's bytes with it. What it lets through has at its lower
    end a commit that the root descends from: then everything is walked.
    """
    if root is None:
        return steps_to(git, [at])
    steps = steps_to(git, [at, CommitId(f"^{root}")])
    listed = {root, *(step.commit for step in steps)}
    lowest = {root, *(step.commit for step in steps if listed.isdisjoint(step.parents))}
    if lowest == {root}:
        return steps
    apart = git.run("merge-base", "--independent", *sorted(lowest)).decode().split()
    return steps if lowest == set(apart) else steps_to(git, [at])


def _other_history(at: CommitId, root: CommitId) -> OtherHistoryError:
    return OtherHistoryError(
        f"main at {at[:12]} does not have the trusted root {root[:12]} on its first-parent line; "
        "its history was rewritten or another was put in its place",
        remedy="put main back to where the root is on its first-parent line, and merge branches "
        "into main, never main into what becomes main; rebase a branch older than the root",
    )


def introducing(
    git: Runner, starts: Iterable[Start], at: CommitId, root: CommitId | None = None
) -> dict[Start, CommitId]:
    """Return the commit, of any branch, that made each arrival: a path and a first-parent commit.

    As `git rev-list -1 COMMIT -- PATH` finds it: a merge that left the path as one of its
    parents has it is passed over, towards the first such parent. But what a merge takes back
    from history that was on the line before, the merge itself has made: else an approval of
    yesterday's bytes would do for their return. What arrived with `root` the root has made.
    """
    waiting: dict[CommitId, _Group] = {}
    for start in set(starts):
        waiting.setdefault(start[1], {}).setdefault(start[0], []).append(start)
    if not waiting:
        return {}
    rooted = waiting.pop(root, {}) if root is not None else {}
    found = {start: start[1] for many in rooted.values() for start in many}
    if waiting:
        steps = _above(git, at, root)
        brought = _brought(steps, at)
        for start, commit in _made(git, steps, waiting).items():
            found[start] = commit if brought[commit] == start[1] else start[1]
    return found


def origins(git: Runner, paths: Iterable[RepoPath], root: CommitId) -> dict[RepoPath, CommitId]:
    """Return the commit that made, at `root` or below it, the bytes that each path has there."""
    last = arrivals(git, paths, root)
    made = introducing(git, ((path, a.commit) for path, a in last.items()), root)
    return {path: made[path, arrival.commit] for path, arrival in last.items()}


def _made(
    git: Runner, steps: Sequence[Step], waiting: dict[CommitId, _Group]
) -> dict[Start, CommitId]:
    pairs = ((step.commit, p) for step in steps for p in step.parents or (None,))
    paths = {path for group in waiting.values() for path in group}
    walked = {step.commit for step in steps}
    found: dict[Start, CommitId] = {}
    with closing(diffs_of(git, pairs, paths)) as diffs:
        for step in steps:
            here = waiting.pop(step.commit, {})
            for parent in step.parents or (None,):
                _, changes = next(diffs)
                here, passed = _parted(here, changes)
                if parent in walked and passed:
                    waiting[parent] = _joined(passed, waiting.get(parent, {}))
                else:  # taken from below the root, or removed for a line that never had it
                    found.update((start, start[1]) for many in passed.values() for start in many)
            found.update((start, step.commit) for many in here.values() for start in many)
            if not waiting:
                break
    return found


def _brought(steps: Sequence[Step], at: CommitId) -> dict[CommitId, CommitId]:
    """Return, of every commit, with which one of the first-parent line it came to that line."""
    parents = {step.commit: step.parents for step in steps}
    line = [at]
    while (above := parents[line[-1]]) and above[0] in parents:
        line.append(above[0])
    brought: dict[CommitId, CommitId] = {}
    for commit in reversed(line):
        new = [commit]
        while new:
            one = new.pop()
            if one not in brought and one in parents:
                brought[one] = commit
                new += parents[one]
    return brought


def _parted(group: _Group, changes: Changes) -> tuple[_Group, _Group]:
    """Return the paths of `group` that changed, and the others: what is left of `group`."""
    return {path: group.pop(path) for path in changes if path in group}, group


def _joined(one: _Group, other: _Group) -> _Group:
    small, large = sorted((one, other), key=len)
    for path, many in small.items():
        large.setdefault(path, []).extend(many)
    return large


def introductions(
    git: Runner, paths: Iterable[RepoPath], at: CommitId, root: CommitId | None = None
) -> dict[RepoPath, Introduction]:
    """Return the change on the first-parent line that gave each path its bytes, or removed it.

    What a trusted root brought is not listed: nothing judged before it.
    """
    last = arrivals(git, paths, at, root)
    listed = (a for a in last.values() if a.commit != root)
    pairs = dict.fromkeys((a.commit, a.before) for a in listed)
    touched = {commit: tuple(sorted(changes)) for (commit, _), changes in diffs_of(git, pairs, ())}
    return {
        path: Introduction(
            arrival.commit,
            time_of(arrival.seconds),
            touched.get(arrival.commit, ()),
            root=arrival.before is None,
        )
        for path, arrival in last.items()
    }


def commit_at(git: Runner, end: CommitId, at: datetime) -> CommitId | None:
    """Return the newest commit of the first-parent line with none after `at` up to it."""
    line = reversed(steps_to(git, [end], first_parent=True))
    until = list(takewhile(lambda step: time_of(step.seconds) <= at, line))
    return until[-1].commit if until else None


def time_of(seconds: int) -> datetime:
    """Return a time of git's (UTC), cut to what a date can be."""
    try:
        return min(datetime.fromtimestamp(seconds, UTC), _LATEST)
    except (OverflowError, OSError, ValueError):
        return _LATEST if seconds > 0 else datetime.fromtimestamp(0, UTC)

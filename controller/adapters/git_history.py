"""What brought a path its present bytes: walks over git's history, one process for many paths.

A shallow clone is refused: where history is cut off, any commit looks like the root.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

from controller.adapters.git_diffs import Changes, Step, diffs_of, steps_to
from controller.adapters.git_process import Runner
from controller.documents.snapshot import Blob
from controller.evidence.facts import Introduction
from controller.values import CommitId, RepoPath

_LATEST = datetime(9998, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Arrival:
    """The first-parent commit that gave a path its bytes (`blob` None: that removed the file)."""

    commit: CommitId
    before: CommitId | None
    """Its first parent; None for the root."""
    seconds: int
    """Its committer's time, since 1970."""
    blob: Blob | None


Start = tuple[RepoPath, CommitId]
"""A path, and a commit of the first-parent line in which it arrived."""
_Group = dict[RepoPath, list[Start]]


def arrivals(git: Runner, paths: Iterable[RepoPath], at: CommitId) -> dict[RepoPath, Arrival]:
    """Return the last arrival of each path, up to `at`. A path that never was has none."""
    missing = set(paths)
    found: dict[RepoPath, Arrival] = {}
    with closing(line_of(git, missing, at)) as line:
        while missing and (step := next(line, None)) is not None:
            found |= step[1]
            missing.difference_update(step[1])
    return found


def every_arrival(git: Runner, path: RepoPath, at: CommitId) -> Iterator[Arrival]:
    """Yield every arrival of one path up to `at`, the newest first."""
    for _, step in line_of(git, [path], at):
        if path in step:
            yield step[path]


def line_of(
    git: Runner, paths: Collection[RepoPath], at: CommitId
) -> Generator[tuple[CommitId, dict[RepoPath, Arrival]], None, None]:
    """Yield each commit of the first-parent line, newest first, and what of `paths` it changed."""
    steps = steps_to(git, [at], first_parent=True)
    pairs = [(step.commit, step.parents[0] if step.parents else None) for step in steps]
    with closing(diffs_of(git, pairs, paths)) as diffs:
        for step, ((commit, before), changes) in zip(steps, diffs, strict=True):
            yield (
                commit,
                {
                    path: Arrival(commit, before, step.seconds, blob)
                    for path, blob in changes.items()
                    if path in paths
                },
            )


def introducing(git: Runner, starts: Iterable[Start], at: CommitId) -> dict[Start, CommitId]:
    """Return the commit, of any branch, that made each arrival: a path and a first-parent commit.

    As `git rev-list -1 COMMIT -- PATH` finds it: a merge that left the path as one of its
    parents has it is passed over, towards the first such parent. But what a merge takes back
    from history that was on the line before, the merge itself has made: else an approval of
    yesterday's bytes would do for their return.
    """
    waiting: dict[CommitId, _Group] = {}
    for start in set(starts):
        waiting.setdefault(start[1], {}).setdefault(start[0], []).append(start)
    if not waiting:
        return {}
    steps = steps_to(git, [at])
    found = _made(git, steps, waiting)
    brought = _brought(steps, at)
    return {
        start: commit if brought[commit] == start[1] else start[1]
        for start, commit in found.items()
    }


def _made(
    git: Runner, steps: Sequence[Step], waiting: dict[CommitId, _Group]
) -> dict[Start, CommitId]:
    pairs = ((step.commit, p) for step in steps for p in step.parents or (None,))
    paths = {path for group in waiting.values() for path in group}
    found: dict[Start, CommitId] = {}
    with closing(diffs_of(git, pairs, paths)) as diffs:
        for step in steps:
            here = waiting.pop(step.commit, {})
            for parent in step.parents or (None,):
                _, changes = next(diffs)
                here, passed = _parted(here, changes)
                if parent is not None and passed:
                    waiting[parent] = _joined(passed, waiting.get(parent, {}))
                else:  # removed by a merge with a line that never had it: the merge did it
                    found.update((start, start[1]) for many in passed.values() for start in many)
            found.update((start, step.commit) for many in here.values() for start in many)
            if not waiting:
                break
    return found


def _brought(steps: Sequence[Step], at: CommitId) -> dict[CommitId, CommitId]:
    """Return, of every commit, with which one of the first-parent line it came to that line."""
    parents = {step.commit: step.parents for step in steps}
    line = [at]
    while above := parents[line[-1]]:
        line.append(above[0])
    brought: dict[CommitId, CommitId] = {}
    for commit in reversed(line):
        new = [commit]
        while new:
            one = new.pop()
            if one not in brought:
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
    git: Runner, paths: Iterable[RepoPath], at: CommitId
) -> dict[RepoPath, Introduction]:
    """Return the change on the first-parent line that gave each path its bytes, or removed it."""
    last = arrivals(git, paths, at)
    pairs = dict.fromkeys((a.commit, a.before) for a in last.values())
    touched = {commit: tuple(sorted(changes)) for (commit, _), changes in diffs_of(git, pairs, ())}
    return {
        path: Introduction(
            arrival.commit,
            _time(arrival.seconds),
            touched[arrival.commit],
            root=arrival.before is None,
        )
        for path, arrival in last.items()
    }


def _time(seconds: int) -> datetime:
    try:
        return min(datetime.fromtimestamp(seconds, UTC), _LATEST)
    except (OverflowError, OSError, ValueError):
        return _LATEST if seconds > 0 else datetime.fromtimestamp(0, UTC)

"""Commits and what each has changed against its parents, from two long-lived git processes.

A shallow clone is refused: where history is cut off, any commit looks like the root.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from controller.adapters.git_process import GitFailedError, Pipe, Runner, ShallowCloneError
from controller.documents.snapshot import Blob
from controller.values import BlobId, CommitId, RepoPath

_DIFF_TREE = (
    "diff-tree",
    "--stdin",
    "--always",
    "--root",
    "-r",
    "-z",
    "--raw",
    "--no-abbrev",
    "--no-renames",
    "--ignore-submodules=none",
)
_FEW = 200
"""Up to so many paths are given to git one by one; more, as the folders they are in."""

Pair = tuple[CommitId, CommitId | None]
"""A commit and the parent it is compared with; None for a root."""
Changes = dict[RepoPath, Blob | None]
"""The new side of each path that differs; None where it is gone."""


@dataclass(frozen=True, slots=True)
class Step:
    """One commit. `seconds` is its committer's time, since 1970."""

    commit: CommitId
    parents: tuple[CommitId, ...]
    seconds: int


def steps_to(git: Runner, starts: Sequence[CommitId], *, first_parent: bool = False) -> list[Step]:
    """Return the commits that `starts` descend from and themselves, children before parents."""
    if git.shallow:
        message = f"`{git.root}` is a shallow clone, so that its history cannot be proved"
        remedy = "`git fetch --unshallow`, or `fetch-depth: 0` for actions/checkout"
        raise ShallowCloneError(message, remedy=remedy)
    args = ["rev-list", "--topo-order", "--parents", "--timestamp", "--stdin"]
    if first_parent:
        args.append("--first-parent")
    steps = []
    names = "".join(f"{start}\n" for start in starts).encode()
    for line in git.run(*args, stdin=names).decode().splitlines():
        seconds, commit, *parents = line.split()
        above = tuple(CommitId(parent) for parent in parents)
        steps.append(Step(CommitId(commit), above, int(seconds)))
    return steps


def diffs_of(
    git: Runner, pairs: Iterable[Pair], paths: Iterable[RepoPath]
) -> Generator[tuple[Pair, Changes], None, None]:
    """Yield what each pair's first has changed against its second, in order; () asks of all paths.

    Paths near those asked for may be among the changes.
    """
    scope = _scope(paths)
    listed = list(pairs)
    lines = (f"{new} {old}\n".encode() if old else f"{new}\n".encode() for new, old in listed)
    with git.piped(*_DIFF_TREE, "--", *scope, lines=lines) as pipe:
        pending = iter(listed)
        try:
            yield from _grouped(pipe, pending)
        except GeneratorExit:
            pipe.stop()


def _grouped(pipe: Pipe, pairs: Iterator[Pair]) -> Iterator[tuple[Pair, Changes]]:
    pair: Pair | None = None
    changes: Changes = {}
    tokens = _tokens(pipe)
    for token in tokens:
        if token.startswith(b":"):
            path = next(tokens, None)
            if path is None:
                break
            changes[RepoPath(os.fsdecode(path))] = _new_side(token)
        else:
            if pair is not None:
                yield pair, changes
            pair, changes = next(pairs, None), {}
            if pair is None or not token.startswith(pair[0].encode()):
                raise GitFailedError("`git diff-tree` answered out of order", remedy="try again")
    if pair is not None:
        yield pair, changes
    if next(pairs, None) is not None:
        raise GitFailedError("`git diff-tree` ended too early", remedy="`git fsck` may say more")


def _tokens(pipe: Pipe) -> Iterator[bytes]:
    """Yield what NUL ends; of two trees git writes the names in a line of their own."""
    rest = b""
    inside = False  # the next token is a path
    while chunk := pipe.output.read1(1 << 16):
        *whole, rest = (rest + chunk).split(b"\0")
        for token in whole:
            if inside:
                inside = False
                yield token
                continue
            *heads, last = token.split(b"\n")
            yield from (head for head in heads if head)
            inside = last.startswith(b":")
            if last:
                yield last
    yield from (head for head in rest.split(b"\n") if head)


def _new_side(raw: bytes) -> Blob | None:
    """Return the file after the change, from `:<mode> <mode> <id> <id> <letter>`."""
    _, mode, _, sha, _ = raw.decode("ascii").split(" ")
    return None if mode == "000000" else Blob(mode, BlobId(sha))


def _scope(paths: Iterable[RepoPath]) -> list[str]:
    named = {path for path in paths if path}
    if len(named) > _FEW:
        return sorted({path.partition("/")[0] for path in named})
    return sorted(named)


def files_at(
    git: Runner, commits: Iterable[CommitId], paths: Sequence[RepoPath]
) -> dict[CommitId, dict[RepoPath, Blob]]:
    """Return which of `paths` each commit has, without their content."""
    asked = list(dict.fromkeys(commits))
    questions = b"".join(b"%s^{tree}\n" % commit.encode() for commit in asked)
    answers = git.run("cat-file", "--batch-check=%(objectname)", stdin=questions)
    empty = hashlib.new(git.object_format, b"tree 0\0", usedforsecurity=False)
    nothing = CommitId(empty.hexdigest())
    trees = dict(zip(asked, map(CommitId, answers.decode().split()), strict=True))
    # Of two trees, unlike of a commit and its parent, git takes the first for the older one.
    pairs = [(nothing, tree) for tree in dict.fromkeys(trees.values()) if tree != nothing]
    there = {
        tree: {path: blob for path, blob in changes.items() if blob is not None and path in paths}
        for (_, tree), changes in diffs_of(git, pairs, paths)
    }
    return {commit: there.get(tree, {}) for commit, tree in trees.items()}

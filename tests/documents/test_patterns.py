"""Globs of a grant and patterns of CODEOWNERS: what they match, and in linear time."""

from __future__ import annotations

import re
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.documents.admission import Grant
from controller.documents.patterns import fixed_part, glob, ownership
from controller.values import RepoPath

GLOBS = [
    ("jobs/bert/*.yml", "jobs/bert/pretrain.yml", True),
    ("jobs/bert/*.yml", "jobs/bert/large/pretrain.yml", False),
    ("jobs/bert/*.yml", "jobs/bert/pretrain.yaml", False),
    ("jobs/bert/*.yml", "x/jobs/bert/pretrain.yml", False),
    ("jobs/bert/*.yml", "jobs/BERT/pretrain.yml", False),
    ("jobs/bert/*.yml", "jobs/bert/.yml", True),
    ("jobs/bert/*.yml", "jobs/bert/a.yml/b.yml", False),
    ("jobs/bert/*.yml", "jobs/bert/a.yml\n", False),
    ("jobs/**/*.yml", "jobs/a.yml", True),
    ("jobs/**/*.yml", "jobs/a/b/c.yml", True),
    ("jobs/**/*.yml", "jobs/a/b/c.md", False),
    ("jobs/**", "jobs/a/b", True),
    ("jobs/**", "jobs", False),
    ("jobs/**", "jobsx/a", False),
    ("jobs/**/b/**/c.yml", "jobs/a/b/c.yml", True),
    ("jobs/**/b/**/c.yml", "jobs/b/x/b/y/c.yml", True),
    ("jobs/**/b/**/c.yml", "jobs/x/c.yml", False),
    ("jobs/a?.yml", "jobs/ab.yml", True),
    ("jobs/a?.yml", "jobs/a/.yml", False),
    ("jobs/a*b*c", "jobs/abbc", True),
    ("jobs/a*b*c", "jobs/acb", False),
    ("jobs/*", "jobs/a", True),
    ("jobs/*", "jobs/", False),
    ("jobs/a**b", "jobs/ab", True),
    ("jobs/a**b", "jobs/a/b", False),
    ("jobs/a.yml", "jobs/aXyml", False),
    ("jobs/a.yml", "jobs/a.yml", True),
    ("**", "anything/at/all", True),
]

# The documentation's own examples and rules, then what others have got wrong.
OWNED = [
    ("*", "README", True),
    ("*", "a/b/c", True),
    ("*.js", "a/b/x.js", True),
    ("*.js", "x.js.map", False),
    ("/build/logs/", "build/logs/a/b", True),
    ("/build/logs/", "x/build/logs/a", False),
    ("/build/logs/", "build/logs", False),
    ("docs/*", "docs/getting-started.md", True),
    ("docs/*", "docs/build-app/troubleshooting.md", False),
    ("docs/*", "x/docs/a.md", False),
    ("apps/", "x/apps/main.c", True),
    ("apps/", "apps", False),
    ("/apps/github", "apps/github", True),
    ("/apps/github", "apps/github/deep/er", True),
    ("/apps/github", "apps/githubber", False),
    ("**/logs", "deeply/nested/logs/x", True),
    ("**/logs", "logs", True),
    ("**/logs", "catalogs", False),
    ("**/logs/", "logs/x", True),
    ("/*", "a", True),
    ("/*", "a/b", False),
    ("/a/**/b", "a/b", True),
    ("/a/**/b", "a/q/r/b/c", True),
    ("/a/**/b", "a/qb", False),
    ("/a/**", "a/b/c", True),
    ("/a/**", "a", False),
    ("a/**/", "a/b", True),
    ("a/**/", "a", False),
    ("**/*", "a/b", True),
    ("f*", "foo/bar", True),
    ("/a?c", "abc", True),
    ("/a?c", "ac", False),
    ("/Admissions/", "admissions/a.md", False),
    ("my\\ dir/", "my dir/x", True),
    ("/a\\*b", "a*b", True),
    ("/a\\*b", "axb", False),
    ("/a.b", "aXb", False),
]


@pytest.mark.parametrize(("pattern", "path", "matches"), GLOBS)
def test_a_star_of_a_grant_stops_at_a_slash_and_two_do_not(
    pattern: str, path: str, matches: bool
) -> None:
    assert bool(glob(pattern).match(path)) is matches


def test_a_grant_allows_a_job_that_one_of_its_patterns_matches() -> None:
    grant = Grant(("command",), ("jobs/a.yml", "jobs/b/*"), ("i",), ("c",), 1, 1.0)
    paths = ("jobs/a.yml", "jobs/b/x", "jobs/c.yml")
    assert [grant.allows_job(RepoPath(path)) for path in paths] == [True, True, False]


@pytest.mark.parametrize(("pattern", "path", "matches"), OWNED)
def test_a_pattern_of_codeowners_is_read_as_github_reads_it(
    pattern: str, path: str, matches: bool
) -> None:
    assert bool(ownership(pattern).match(path)) is matches


@pytest.mark.parametrize(
    ("pattern", "part"),
    [("*", ""), ("/docs/*", "docs"), ("*.yml", ".yml"), ("**/a\\ bc/d", "bc/d"), ("a?bc", "bc")],
)
def test_the_fixed_part_is_the_longest_text_without_wildcards(pattern: str, part: str) -> None:
    assert fixed_part(pattern) == part


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/a**/" * 20, "a/" * 5000 + "b"),
        ("*a" * 30 + "b", "a" * 10_000),
        ("/" + "**/a*a*/" * 20 + "z", "aaaaab/" * 3000 + "y"),
        ("**/*/" * 20 + "q", "a/" * 5000 + "z"),
        ("/" + "*/**/" * 20 + "q", "a/" * 5000 + "z"),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    start = time.process_time()
    ownership(pattern).match(path)
    glob(pattern).match(path)
    assert time.process_time() - start < 2


def plainly(segments: list[str], parts: list[str]) -> bool:
    """Return whether a glob matches, by trying everything."""
    if not segments:
        return not parts
    first, *rest = segments
    if first == "**":
        fits = [plainly(rest, parts[i:]) for i in range(len(parts) + 1)]
        return any(fits) if rest else bool(parts)
    if not parts:
        return False
    expression = re.escape(first).replace(r"\*", ".*").replace(r"\?", ".")
    return bool(re.fullmatch(expression, parts[0])) and plainly(rest, parts[1:])


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "*", "a*", "*b*a", "?b", "**", "ab"]), max_size=5),
    st.lists(st.sampled_from(["a", "b", "ab", "ba", "bab", "aab"]), min_size=1, max_size=5),
)
def test_the_fast_way_agrees_with_trying_everything(before: list[str], parts: list[str]) -> None:
    segments = ["jobs", *before]
    path = "/".join(["jobs", *parts])
    assert bool(glob("/".join(segments)).match(path)) is plainly(segments, ["jobs", *parts])


def test_every_path_that_a_pattern_matches_has_its_fixed_part() -> None:
    names = ("a", "ab", "b.md", "x")
    paths = ["/".join(p) for n in (1, 2, 3) for p in product(names, repeat=n)]
    patterns = [pattern for pattern, _, _ in OWNED] + ["a/*/x", "/ab/**/b*", "*b", "x/"]
    found = [(p, path) for p in patterns for path in paths if ownership(p).match(path)]
    assert found
    assert all(fixed_part(pattern) in path for pattern, path in found)

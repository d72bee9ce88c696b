"""Inputs of others, beside the repository: where they are not, their tests are not either."""

from __future__ import annotations

from pathlib import Path

_CORPUS = Path(__file__).parents[3] / "shared" / "corpus"

collect_ignore = [] if _CORPUS.is_dir() else ["test_corpus.py"]

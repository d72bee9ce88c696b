"""Reading YAML in a test: the document, or every refusal as one line."""

from __future__ import annotations

from controller.documents.yaml import PLAIN, Dialect, Document, read_yaml
from controller.values import RepoPath

PATH = RepoPath("jobs/bert.yml")


def read(text: str | bytes, dialect: Dialect = PLAIN, first_line: int = 1) -> Document:
    content = text if isinstance(text, bytes) else text.encode()
    return read_yaml(content, PATH, dialect, first_line=first_line)


def refusals(text: str | bytes, dialect: Dialect = PLAIN) -> list[str]:
    """Every problem of `text` as `line:column code: message; remedy`."""
    return [
        f"{p.where.line}:{p.where.column} {p.code}: {p.message}; {p.remedy}"
        for p in read(text, dialect).problems
    ]

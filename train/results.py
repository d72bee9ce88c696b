"""One row for each run in the team's results database."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import (
    Column,
    DateTime,
    Dialect,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql.dml import Insert

from train.errors import TrainError

RUNS = Table(
    "training_runs",
    MetaData(),
    Column("run", String(255), primary_key=True),
    Column("admission", String(255), nullable=False),
    Column("commit_sha", String(64), nullable=False),
    Column("record", String(80), nullable=False),
    Column("dataset_digest", String(80), nullable=False),
    Column("image", String(512), nullable=False),
    Column("model", String(255), nullable=False),
    Column("model_version", String(16)),
    Column("mlflow_run_id", String(64), nullable=False),
    Column("world_size", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("loss", Float),
    Column("accuracy", Float),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True)),
)
_CONNECT = {"sqlite": {"timeout": 10}, "postgresql": {"connect_timeout": 10}}
"""Seconds that each database is waited for, in its driver's own word."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the row of one run says. `loss` and `accuracy` are those of the held-out samples."""

    run: str
    admission: str
    commit_sha: str
    record: str
    dataset_digest: str
    image: str
    model: str
    mlflow_run_id: str
    world_size: int
    started_at: datetime
    status: str = "RUNNING"
    model_version: str | None = None
    loss: float | None = None
    accuracy: float | None = None
    ended_at: datetime | None = None


def write(url: str, row: Row) -> None:
    """Make `row` the one row of its run; the time it was first started stays. TrainError if not."""
    try:
        engine = create_engine(url, connect_args=_CONNECT[url.partition(":")[0].partition("+")[0]])
        try:
            with engine.begin() as connection:
                connection.execute(CreateTable(RUNS, if_not_exists=True))
                connection.execute(upsert(engine.dialect, row))
        finally:
            engine.dispose()
    except (SQLAlchemyError, ImportError) as error:
        why = str(error).partition("\n")[0]
        raise TrainError(f"the results row of `{row.run}` cannot be written: {why}") from error


def upsert(dialect: Dialect, row: Row) -> Insert:
    """Return the statement that inserts `row` or brings the row of the same run up to date."""
    values = asdict(row)
    kept = {name: value for name, value in values.items() if name not in ("run", "started_at")}
    insert = postgresql.insert if dialect.name == "postgresql" else sqlite.insert
    return insert(RUNS).values(values).on_conflict_do_update(index_elements=["run"], set_=kept)

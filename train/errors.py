"""The ways in which a job can end early, each with the exit code it means."""

from __future__ import annotations


class TrainError(Exception):
    """The work could not be done; `str()` is one sentence for the user (exit 70)."""

    exit_code = 70


class RefusedError(TrainError):
    """An argument, an environment value or an input is not what may be trained with (exit 2)."""

    exit_code = 2


class KilledError(TrainError):
    """Somebody asked the job to stop with SIGTERM, and every rank agreed to (exit 128 + 15)."""

    exit_code = 143

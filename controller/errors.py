"""The ways in which work can be impossible. Refusals are not here: those are values."""

from __future__ import annotations


class AdmitError(Exception):
    """The work could not be done. `str()` is one sentence for the user, `remedy` what to do."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class UsageError(AdmitError):
    """The command was asked for something that makes no sense as given (exit 2)."""


class CannotRunError(AdmitError):
    """The pass may not start: a stale plan, a missing ledger, a wrong clock (exit 8)."""


class UnavailableError(AdmitError):
    """Something outside could not be asked (exit 5)."""


class ActionFailedError(AdmitError):
    """An effect was attempted and did not happen (exit 7)."""

"""What one action did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Done = Literal["done", "failed", "held"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of one action: `held` is one that a brake, or a failure before it, kept back."""

    action: str
    run: str
    outcome: Done
    detail: str

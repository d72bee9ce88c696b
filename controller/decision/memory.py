"""How much memory a model's training state takes, by a formula with a source.

Rajbhandari et al., *ZeRO: Memory Optimizations Toward Training Trillion Parameter Models*,
arXiv:1910.02054, section 3.1: mixed-precision training with Adam holds 16 bytes a parameter,
2 for the half-precision weights, 2 for their gradients, and 4 + 4 + 4 for the single-precision
copy of the weights, the momentum and the variance. The other rows are derived the same way:

| precision | weights | gradients | master copy | one optimizer state |
| --- | --- | --- | --- | --- |
| `fp32` | 4 | 4 | - | 4 |
| `fp16_mixed`, `bf16_mixed` | 2 | 2 | 4 | 4 |
| `bf16` (nothing is kept in fp32) | 2 | 2 | - | 2 |

An optimizer holds so many states a parameter; those of 8-bit optimizers take one byte each
(Dettmers et al., arXiv:2110.02861, section 2). Adafactor keeps a row and a column for each
matrix, which is next to nothing a parameter (Shazeer and Stern, arXiv:1804.04235, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30


@dataclass(frozen=True, slots=True)
class Precision:
    """Bytes a parameter of everything but the optimizer's states, and of one such state."""

    weights: int
    gradients: int
    master: int
    state: int


_SINGLE = Precision(weights=4, gradients=4, master=0, state=4)
_MIXED = Precision(weights=2, gradients=2, master=4, state=4)
_PURE = Precision(weights=2, gradients=2, master=0, state=2)

PRECISIONS = {"fp32": _SINGLE, "fp16_mixed": _MIXED, "bf16_mixed": _MIXED, "bf16": _PURE}
STATES = {"adam": 2, "adamw": 2, "sgd": 0, "sgd_momentum": 1, "adafactor": 0}
"""States a parameter that an optimizer keeps, at the precision's own width."""
BYTE_STATES = {"adam8bit": 2}
"""The same, for those whose states take one byte each whatever the precision."""


def bytes_per_parameter(precision: str, optimizer: str) -> int | None:
    """Return the bytes of training state a parameter; None for a word that is in no table."""
    widths = PRECISIONS.get(precision)
    if widths is None:
        return None
    if optimizer in BYTE_STATES:
        states = BYTE_STATES[optimizer]
    elif optimizer in STATES:
        states = STATES[optimizer] * widths.state
    else:
        return None
    return widths.weights + widths.gradients + widths.master + states


def required_gib(parameters: float, bytes_each: int, activation_gib: float) -> float:
    """Return the GiB that training needs: its state, and the activations as they were claimed."""
    return parameters * bytes_each / GIB + activation_gib

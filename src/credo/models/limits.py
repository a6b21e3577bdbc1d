"""What exact inference in a network may cost."""

from __future__ import annotations

from dataclasses import dataclass

from credo.inference.table_inference import MAX_SECONDS

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Memory and time that exact inference may take before it is given up.

    Attributes
    ----------
    memory
        Bytes for one plan; None is a quarter of what is free.
    seconds
        Time for one row of findings where a plan only fits in pieces.
    """

    memory: float | None = None
    seconds: float = MAX_SECONDS

"""What all additive statistics share, and the arithmetic of those that are plain sums."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from credo.distributions.parameter import Batched, require
from credo.numerics.array import Array

__all__ = ["Statistics", "Sums", "remaining"]


@dataclass(frozen=True, eq=False)
class Statistics(Batched):
    """Additive summary of rows; ``by_group`` gives a leading group axis, ``s[i]`` one group."""


@dataclass(frozen=True, eq=False)
class Sums(Statistics):
    """Statistics whose every field is a sum of non-negative terms, so that fields just add."""

    def __add__(self, other: Self) -> Self:
        return type(self)(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        )

    def __sub__(self, other: Self) -> Self:
        return type(self)(
            *(remaining(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        )

    def pooled(self) -> Self:
        """Return the statistics of all groups together."""
        return type(self)(*(getattr(self, f.name).sum(axis=0) for f in fields(self)))


def remaining(total: Array, part: Array) -> Array:
    """Return ``total - part``, exactly zero where only rounding is left.

    Examples
    --------
    >>> remaining(np.array([0.1 + 0.2, 2.0]), np.array([0.3, 0.5]))
    array([0. , 1.5])
    """
    rest, size = np.asarray(total - part), np.asarray(total + part)
    require(
        "what is left after forgetting",
        rest,
        lambda left: left >= -1e-6 * size,
        "non-negative",
        "Subtract only statistics of rows that are part of the total.",
    )
    return np.where(rest <= 1e-12 * size, 0.0, rest)

"""The first steps of many multipliers, a few at a time, so that no row of a kernel is kept.

At first nearly every multiplier is to move, most of them once, from zero to a limit. Pairs are
then chosen among the entries that violate the conditions most, one or two of each stretch of
rows, between which alone the kernel is needed. What a few steps change is taken off the
gradient of all rows by sums of kernel values that never leave the core.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.inference.margin.kernel_values import BLOCK, GaussianValues, loops, padded_size
from credo.numerics.array import Array

__all__ = ["first_steps"]

STRETCHES = 80
"""Stretches of rows at most, each of which lends two entries."""

FEW_STEPS = 16
"""Pairs that are moved before the gradient of all rows is brought up to date."""

SHARE_OF_GAP = 0.1
"""Violation among the chosen, as a share of that of all, at which others are chosen."""


def first_steps(
    values: GaussianValues,
    dual: Array,
    limits: tuple[Array, Array, float],
    gradient: NDArray[np.float32],
    flat: float,
    goal: tuple[float, int],
) -> int:
    """Move multipliers until few of them are left to move; return the steps taken.

    It ends at the latest when as many were moved as there are rows, some of them twice.

    Parameters
    ----------
    dual, gradient
        Multipliers and ``y - K b`` of all rows, changed in place.
    limits
        The least and the most that multipliers can be, and what one costs.
    flat
        Curvature below which a pair counts as flat.
    goal
        Violation that is good enough, and the number of multipliers that are few.
    """
    low, high, kink = limits
    loop, n = loops(), len(dual)
    sums = np.zeros((3, padded_size(n)), dtype=np.float32)
    sums[0, :n], sums[1], sums[2] = gradient, -1e30, 1e30
    own, up, down = sums.reshape(3, -1, BLOCK)
    loop.set_offsets(dual, low, high, kink, up, down)
    span = -(-own.shape[0] // STRETCHES)
    chosen, everywhere = np.empty(2 * STRETCHES, dtype=np.intp), np.arange(n)
    pairs, n_steps, n_moved = _Pairs(values, flat), 0, 0
    while n_moved < n:
        n_chosen, gap, n_active = loop.violators(own, up, down, span, chosen)
        if gap <= goal[0] or n_active <= goal[1]:
            break
        some = chosen[:n_chosen]
        before = dual[some]
        after, more = pairs.moved(some, before, low[some], high[some], kink, sums[0, some], gap)
        is_moved = after != before
        places = some[is_moved]
        if not len(places):
            break
        change = (after - before)[is_moved]
        sums[0, :n] -= values.moves(everywhere, places, change, np.float32)
        dual[places] = after[is_moved]
        loop.set_offsets_of(places, dual, low, high, kink, up, down)
        n_steps, n_moved = n_steps + more, n_moved + len(places)
    gradient[:] = sums[0, :n]
    return n_steps


class _Pairs:
    """Steps among a few rows, with memory that is used for one choice of them after another."""

    def __init__(self, values: GaussianValues, flat: float) -> None:
        width = padded_size(2 * STRETCHES)
        self._values, self._flat = values, flat
        self._rows = np.empty((width, width), dtype=np.float32)
        self._sums = np.empty((5, width), dtype=np.float32)
        self._slot, self._tick = np.arange(width, dtype=np.int32), np.zeros(width, np.int64)

    def moved(
        self,
        some: NDArray[np.intp],
        dual: Array,
        low: Array,
        high: Array,
        kink: float,
        gradient: NDArray[np.float32],
        gap: float,
    ) -> tuple[Array, int]:
        """Return the multipliers of some rows after a few steps, and how many these were."""
        loop, m = loops(), len(some)
        width = padded_size(m)
        rows = self._rows.reshape(-1)[: m * width].reshape(m, width)
        sums = self._sums.reshape(-1)[: 5 * width].reshape(5, -1, BLOCK)
        own, up, down, diagonal, present = sums
        self._values.among(some, rows)
        sums[0], up[:], down[:] = 0.0, -1e30, 1e30
        own.reshape(-1)[:m] = gradient
        diagonal[:], present[:] = self._values.variance, 1.0
        after = dual.copy()
        loop.set_offsets(after, low, high, kink, up, down)
        _, _, n_steps = loop.climb(
            rows.reshape(m, -1, BLOCK), self._slot, present, self._tick, after, low, high, kink,
            own, up, down, diagonal, self._flat, SHARE_OF_GAP * gap, FEW_STEPS,
        )  # fmt: skip
        return after, n_steps

"""Kernel density estimation: bumps around rows, and their width by rows that are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.numerics.array import Array, squared_distances
from credo.numerics.form import SMALLEST, Form
from credo.numerics.linear.linear_algebra import LOG_TWO_PI
from credo.numerics.parallel.threads import over_blocks, threads_for
from credo.numerics.row_hash import hashed_sample

__all__ = ["Bumps", "best_width", "left_out"]

BLOCK = 1 << 19
"""Distances between rows found at a time."""

LEFT_OUT = 3000
"""Rows that are left out, one by one, to choose a width: of more a sample stands for all."""

N_WIDTHS, N_FINER, N_ZOOMS = 30, 9, 5
"""Widths tried on the first grid of logarithms and on finer ones, and number of grids."""


@dataclass(frozen=True, eq=False)
class Bumps:
    """A mean of normal densities around rows.

    Attributes
    ----------
    rows
        Rows that differ, shape (n, d).
    weight
        How much each counts, shape (n,).
    width
        Standard deviation of a bump in each column, shape (d,).
    """

    rows: Annotated[Array, Form("n d")]
    weight: Annotated[Array, Form("n", 0.0)]
    width: Annotated[Array, Form("d", SMALLEST)]

    def log_prob(self, x: Array) -> Array:
        """Return the log density at rows (m, d), shape (m,)."""
        unit = self.rows / self.width
        log_share = np.log(self.weight / self.weight.sum())
        constant = np.log(self.width).sum() + 0.5 * LOG_TWO_PI * len(self.width)

        def work(part: slice) -> Array:
            value = -0.5 * squared_distances(x[part] / self.width, unit) + log_share
            return _log_sum(value)

        with threads_for(0):
            parts = over_blocks(work, len(x), max(1, BLOCK // len(unit)))
        return np.asarray(np.concatenate(parts) - constant)

    def of_columns(self, columns: list[int]) -> Bumps:
        """Return the density of some columns, whatever the others are."""
        return Bumps(self.rows[:, columns], self.weight, self.width[columns])

    def sample(self, n: int, rng: Generator) -> Array:
        """Return ``n`` rows: one of the rows, and a step from it."""
        totals = np.cumsum(self.weight)
        place = np.searchsorted(totals, rng.random(n) * totals[-1], side="right")
        step = rng.standard_normal((n, len(self.width))) * self.width
        return np.asarray(self.rows[np.minimum(place, len(totals) - 1)] + step)


def left_out(bumps: Bumps) -> float:
    """Return the log density of rows, each by the bumps around all that differ from it.

    It is minus infinity for a single row. Of many rows a sample stands for all.
    """
    if len(bumps.rows) < 2:
        return -np.inf
    unit = bumps.rows / bumps.width
    chosen = hashed_sample(unit, LEFT_OUT)
    found = _left_out(unit, bumps.weight, chosen, np.ones(1))[0]
    total = float(bumps.weight.sum())
    share = total / float(bumps.weight[chosen].sum())
    return float(share * found - total * np.log(bumps.width).sum())


def best_width(rows: Array, weight: Array) -> float:
    """Return the width of bumps under which rows that are left out are most probable.

    Widths on a grid of logarithms, then on finer ones around the best, and at last the peak
    of a parabola through three of them.

    Parameters
    ----------
    rows
        Rows that differ, of about unit standard deviation in each column, shape (n, d).
    weight
        Of each row, shape (n,).
    """
    chosen = hashed_sample(rows, LEFT_OUT)
    usual = float(weight.sum()) ** (-1.0 / (rows.shape[1] + 4))
    grid = np.linspace(np.log(1e-4), np.log(30.0), N_WIDTHS) + np.log(usual)
    for _ in range(N_ZOOMS):
        found = _left_out(rows, weight, chosen, np.exp(grid))
        best = min(max(int(np.argmax(found)), 1), len(grid) - 2)
        three, value = grid[best - 1 : best + 2], found[best - 1 : best + 2]
        grid = np.linspace(three[0], three[2], N_FINER)
    slope, bend = value[2] - value[0], value[0] - 2.0 * value[1] + value[2]
    step = -0.5 * slope / bend if bend < 0.0 else 0.0
    return float(np.exp(three[1] + np.clip(step, -1.0, 1.0) * (three[2] - three[1])))


def _left_out(rows: Array, weight: Array, chosen: NDArray[np.intp], widths: Array) -> Array:
    """Return the log density of chosen rows by all others, for each width."""
    d, total = rows.shape[1], weight.sum()
    size = max(1, BLOCK // len(rows))

    def work(part: slice) -> Array:
        own = chosen[part]
        square = squared_distances(rows[own], rows)
        square[np.arange(len(own)), own] = np.inf
        log_weight = np.log(weight)
        log_rest = np.log(total - weight[own])
        return np.array(
            [
                weight[own]
                @ (
                    _log_sum(log_weight - square * (0.5 / width**2))
                    - log_rest
                    - d * (np.log(width) + 0.5 * LOG_TWO_PI)
                )
                for width in widths
            ]
        )

    with threads_for(0):
        return np.asarray(np.sum(over_blocks(work, len(chosen), size), axis=0))


def _log_sum(value: Array) -> Array:
    """Return the log of the sum of exponentials along rows, which are used up."""
    most = value.max(axis=1)
    value -= most[:, None]
    np.exp(value, out=value)
    return np.asarray(most + np.log(value.sum(axis=1)))

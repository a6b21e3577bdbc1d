"""Robust regression: noise with long tails, Student's t with unknown degrees of freedom.

A row far from the others has a small precision of its own and hardly moves the weights. Priors
are those of the linear regression with normal noise: the prior variance ``s`` of the function
over that of the noise has ``s / (1 + s)`` uniform [liang2008]_, the log noise precision and the
intercept are flat. Degrees of freedom are two, so that noise has a variance, and a gamma
variable more [juarez2010]_. As they grow the posterior becomes that of normal noise.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.inference.engine.draws import Draws
from credo.numerics.array import Array, is_constant, merged_rows, rounded
from credo.numerics.linear.linear_algebra import cholesky

__all__ = ["StudentTRegressionProblem"]

SHAPE, RATE = 2.0, 0.1
"""Of the gamma prior of the degrees of freedom above two."""

LEAST_NOISE = 1e-4
"""Of the spread of the outcomes: where most of them are equal noise would vanish."""

TYPICAL_DF, MOST_STEPS = 4.0, 50
COARSE = 6
"""Digits of where a chain begins."""


@dataclass(frozen=True, eq=False)
class StudentTRegressionProblem:
    """Rows of a robust regression, in units in which engines move.

    Attributes
    ----------
    rows
        Scaled columns that vary, outcome and weight, each distinct row once, (n, m + 2).
    place
        Center and width of each weight, and of the intercept as the last, shape (2, m + 1).
    numbers
        As the loop wants them.
    center, scale
        What columns are subtracted and multiplied by, shape (c,); zero for constant columns.
    origin, unit
        What the outcome is subtracted and divided by.
    """

    rows: Array
    place: Array
    numbers: Array
    center: Array
    scale: Array
    origin: float
    unit: float

    @classmethod
    def of(
        cls, design: Array, y: Array, weight: Array, fit_intercept: bool, df: float | None
    ) -> StudentTRegressionProblem:
        """Return the problem of a design (n, c), outcomes and weights (n,).

        Parameters
        ----------
        df
            Degrees of freedom, infinite for normal noise; None if unknown.
        """
        share = weight / weight.sum()
        mean = share @ design if fit_intercept else np.zeros(design.shape[1])
        spread = np.sqrt(share @ (design - mean) ** 2)
        is_flat = is_constant(mean, spread) if fit_intercept else spread == 0
        scale = np.where(is_flat, 0.0, 1.0 / np.where(is_flat, 1.0, spread))
        origin = _quantile(y, share, 0.5) if fit_intercept else 0.0
        unit = 1.5 * _quantile(np.abs(y - origin), share, 0.5)
        unit = unit if unit > 0 else float(np.sqrt(share @ (y - origin) ** 2)) or 1.0
        seen = ((design - mean) * scale)[:, ~is_flat]
        whole, copies = merged_rows(np.column_stack([seen, (y - origin) / unit]), weight)
        rows = np.column_stack([whole, copies])
        place, numbers = _guess(rows, fit_intercept)
        least = 0.5 * LEAST_NOISE**2 * float(share @ (y - origin) ** 2) / unit**2
        given = [0.0 if df is None else df, SHAPE, RATE, float(rounded(least, COARSE))]
        return cls(rows, place, np.append(numbers, given), mean, scale, origin, unit)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the unknowns, all of them real numbers."""
        m = self.rows.shape[1] - 2
        found: dict[str, tuple[int, ...]] = {"weights": (m,), "log_ratio": ()} if m else {}
        if self.numbers[4] > 0:
            found["offset"] = ()
        found["log_noise"] = ()
        return found | ({"log_above": ()} if self.numbers[5] == 0 else {})

    @property
    def log_density(self) -> Any:
        """The compiled density of the unknowns, and what it learns from."""
        loops: Any = importlib.import_module("credo.inference.linear._loops_student_t")
        return loops.log_posterior

    @property
    def data(self) -> tuple[Array, ...]:
        """What the density is handed."""
        return self.rows, self.place, self.numbers

    @property
    def log_unit(self) -> float:
        """What the unit of the outcome takes from a log evidence."""
        n = float(self.rows[:, -1].sum()) - float(self.numbers[4])
        return n * float(np.log(self.unit))

    def values(self, draws: Draws) -> dict[str, Array]:
        """Return draws of "coef", "intercept", "scale" and "df" in the units of the data."""
        shape, m = (draws.n_chains, draws.n_draws), self.rows.shape[1] - 2
        noise = np.exp(-0.5 * (draws["log_noise"] + self.numbers[0]))
        coef = np.zeros((*shape, len(self.center)))
        if m:
            signal, n, at = self.numbers[1:4]
            ratio = (n + signal * np.exp(-at)) / (n + signal * np.exp(-draws["log_ratio"]))
            seen = (self.place[0, :m] + self.place[1, :m] * draws["weights"]).reshape(
                *shape, m
            ) * np.sqrt(ratio)[..., None]
            coef[..., self.scale > 0] = seen * self.scale[self.scale > 0] * self.unit
        offset = np.zeros(shape)
        if self.numbers[4] > 0:
            level = self.place[0, m] + self.place[1, m] * draws["offset"]
            offset = self.origin + self.unit * level - coef @ self.center
        df = np.full(shape, self.numbers[5])
        if self.numbers[5] == 0:
            df = 2.0 + np.exp(draws["log_above"])
        return {"coef": coef, "intercept": offset, "scale": noise * self.unit, "df": df}


def _quantile(x: Array, share: Array, level: float) -> float:
    order = np.argsort(x, kind="stable")
    return float(x[order][np.searchsorted(np.cumsum(share[order]), level - 1e-12)])


def _guess(rows: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """Return center and width of the weights, and the numbers that a loop begins with.

    From weighted least squares in which each row has the precision that a t gives it.
    """
    n, m = float(rows[:, -1].sum()), rows.shape[1] - 2
    columns = np.column_stack([rows[:, :m], np.full(len(rows), float(fit_intercept))])
    y, precision, noise = rows[:, m], rows[:, -1], 1.0
    ridge = np.append(np.full(m, 1.0), 1e-6)
    solution = np.zeros(m + 1)
    for _ in range(MOST_STEPS):
        factor = cholesky((columns.T * precision) @ columns + np.diag(ridge))
        solution = factor.solve((columns.T @ (precision * y))[:, None])[:, 0]
        residual = y - columns @ solution
        variance = float(precision @ residual**2) / n
        noise = max(variance, 1e-12)
        precision = rows[:, -1] * (TYPICAL_DF + 1.0) / (TYPICAL_DF + residual**2 / noise)
    width = np.sqrt(noise * factor.inverse().diagonal())
    signal = float(rows[:, -1] @ (rows[:, :m] ** 2).sum(axis=1)) / n
    about = float((solution[:m] ** 2).mean()) * signal / noise if m else 1.0
    log_ratio = float(np.log(np.clip(about, 1e-2, 1e6)))
    place = rounded(np.stack([solution, width])[..., None], COARSE, axis=2)[..., 0]
    numbers = [-np.log(noise), signal, n, log_ratio, float(fit_intercept)]
    return place, rounded(np.array(numbers)[:, None], COARSE, axis=1)[:, 0]

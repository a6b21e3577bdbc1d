"""Draws that count with different weights, and how many independent draws they are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.inference.engine.engine import Account, ConvergenceWarning
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.special.log_domain import log_sum_exp
from credo.numerics.warning import warn_user

__all__ = ["DrawAccount", "WeightedDraws", "ZeroWeights"]


class ZeroWeights(ValueError):
    """No draw agrees with what is given, so that nothing can be said."""

    def __init__(self, n_draws: int) -> None:
        super().__init__(
            f"some draw must agree with what is given; found none among {n_draws}. Raise the "
            "number of draws, give less, or use an exact engine."
        )
        self.n_draws = n_draws

    def __reduce__(self) -> tuple[type[ZeroWeights], tuple[int]]:
        return type(self), (self.n_draws,)


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Joint draws of some variables with weights.

    Attributes
    ----------
    columns
        Draws of each variable by name: positions of states or real values, shape (n,).
    log_weight
        Log of the weight of each draw, shape (n,); its mean weight estimates the probability
        of what is given.

    Examples
    --------
    >>> draws = WeightedDraws({"x": np.array([0, 1, 1])}, np.log([0.5, 0.25, 0.25]))
    >>> draws.probability("x", 2), round(draws.effective_draws, 3)
    (array([0.5, 0.5]), 2.667)
    """

    columns: Mapping[str, NDArray[Any]]
    log_weight: Annotated[Array, Form("n", -np.inf)]

    @classmethod
    def pooled(cls, parts: Sequence[WeightedDraws]) -> WeightedDraws:
        """Return the draws of several runs as one."""
        columns = {
            name: np.concatenate([part.columns[name] for part in parts])
            for name in parts[0].columns
        }
        return cls(columns, np.concatenate([part.log_weight for part in parts]))

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.log_weight)

    @cached_property
    def weight(self) -> Array:
        """Weights that sum to one.

        Raises
        ------
        ZeroWeights
            If every weight is zero.
        """
        total = log_sum_exp(self.log_weight)
        if np.isneginf(total):
            raise ZeroWeights(self.n_draws)
        return np.exp(self.log_weight - total)

    @property
    def effective_draws(self) -> float:
        """Number of equally weighted draws that would be worth as much; zero if none counts."""
        if np.isneginf(self.log_weight).all():
            return 0.0
        return float(1.0 / (self.weight**2).sum())

    @property
    def log_evidence(self) -> float:
        """Log of the mean weight: log probability of what is given."""
        return float(log_sum_exp(self.log_weight)) - float(np.log(self.n_draws))

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence`, the relative error of the mean weight."""
        if self.n_draws < 2 or not self.effective_draws:
            return float("inf")
        spread = max(self.n_draws / self.effective_draws - 1.0, 0.0)
        return float(np.sqrt(spread / (self.n_draws - 1)))

    def probability(self, name: str, n_states: int) -> Array:
        """Return the distribution of a discrete variable."""
        codes = self.columns[name]
        return as_float(np.bincount(codes, weights=self.weight, minlength=n_states))

    def mean(self, values: ArrayLike) -> tuple[float, float]:
        """Return the mean of one value per draw, and its Monte Carlo standard error."""
        x = as_float(values)
        mean = float(self.weight @ x)
        return mean, float(np.sqrt(self.weight**2 @ (x - mean) ** 2))

    def spread(self, name: str) -> tuple[float, float, float]:
        """Return the mean, the variance and the relative error of a real variable.

        The error is the standard error of the mean in units of the standard deviation: zero
        if all draws are equal, infinite if all weight is on one of many different ones, whose
        spread is no measure of anything.
        """
        column = as_float(self.columns[name])
        if np.ptp(column) == 0.0:
            return float(column[0]), 0.0, 0.0
        mean, error = self.mean(column)
        variance = self.mean((column - mean) ** 2)[0]
        return mean, variance, error / float(np.sqrt(variance)) if variance > 0 else np.inf

    def joint(self, names: Sequence[str], shape: tuple[int, ...]) -> tuple[Array, float]:
        """Return the joint table of discrete variables, and its largest standard error."""
        cell = np.zeros(self.n_draws, dtype=np.intp)
        for name, n_states in zip(names, shape, strict=True):
            cell = cell * n_states + self.columns[name]
        n_cells = int(np.prod(shape, dtype=np.intp))
        share = np.bincount(cell, weights=self.weight, minlength=n_cells)
        squared = np.bincount(cell, weights=self.weight**2, minlength=n_cells)
        variance = squared * (1 - 2 * share) + share**2 * float((self.weight**2).sum())
        return as_float(share.reshape(shape)), float(np.sqrt(max(variance.max(), 0.0)))

    def moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return the mean and the covariance of real variables."""
        values = np.array([self.columns[n] for n in names]).reshape(len(names), self.n_draws)
        mean = values @ self.weight if len(names) else np.zeros(0)
        shift = values - mean[:, None]
        return mean, (shift * self.weight) @ shift.T if len(names) else np.zeros((0, 0))

    def heaviest(self, names: Sequence[str]) -> tuple[dict[str, int], float, float]:
        """Return the joint state of largest weight, its probability and standard error."""
        if not names:
            return {}, 1.0, 0.0
        states = np.column_stack([self.columns[name] for name in names])
        distinct, place = np.unique(states, axis=0, return_inverse=True)
        share = np.bincount(place.ravel(), weights=self.weight)
        best = int(share.argmax())
        found = dict(zip(names, distinct[best].tolist(), strict=True))
        return found, float(share[best]), self.mean(place.ravel() == best)[1]

    def resampled(self, n: int, rng: Generator) -> dict[str, NDArray[Any]]:
        """Return ``n`` draws of equal weight, each picked in proportion to its weight."""
        rows = rng.choice(self.n_draws, size=n, p=self.weight)
        return {name: column[rows] for name, column in self.columns.items()}


FEWEST_DRAWS = 100
"""Effective draws below which even their error is not known."""


@dataclass(eq=False)
class DrawAccount:
    """Effective draws and errors of the rows so far."""

    effective: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def account(self, tolerance: float) -> Account:
        """Return the account; warn if some row is known worse than asked for.

        The worth of one effective draw is added to the error: a state that was never drawn
        is not therefore impossible. The spread of very few draws says nothing of their error,
        which is infinite then.
        """
        effective = min(self.effective, default=float("inf"))
        if 0 < effective < FEWEST_DRAWS:
            warn_user(
                f"likelihood weighting must have draws worth at least {FEWEST_DRAWS} "
                f"independent ones to tell anything; found {effective:.2g}. Do not trust this "
                "answer: what is given lies far from what the network expects. Give less, or "
                "ask for what has an exact answer.",
                ConvergenceWarning,
            )
        elif effective > 0 and effective * (2 * tolerance) ** 2 < 1 - 1e-9:
            warn_user(
                f"likelihood weighting must reach a standard error of {tolerance:.2g}; found "
                f"draws worth only {effective:.0f} independent ones. Read the error that comes "
                "with the answer, or give less.",
                ConvergenceWarning,
            )
        worst = max(self.errors, default=0.0)
        is_known = effective >= FEWEST_DRAWS
        error = float(np.hypot(worst, 1.0 / effective)) if is_known else float("inf")
        name = "likelihood weighting"
        return Account(name, False, error, "largest standard error", effective)

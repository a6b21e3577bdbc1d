"""Kernel density estimation: a bump around each row, whose width the rows left out choose."""

from __future__ import annotations

from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from credo.inference.latent.kernel_density import Bumps, best_width, left_out
from credo.models.contract.inputs import (
    FittedInputs,
    generator,
    require_choice,
    row_weight,
    validated,
)
from credo.numerics.array import Array, is_constant, merged_rows
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["KernelDensity"]

LEAVE_ONE_OUT = "leave-one-out"
RULES = (LEAVE_ONE_OUT, "silverman", "scott")


class KernelDensity(FittedInputs, DensityMixin, BaseEstimator):
    """The density of rows as a mean of Gaussian bumps around them.

    ``p(x) = sum_i w_i N(x; x_i, h^2 diag(s)^2)``. By default ``s`` are the standard deviations
    of the columns, so that units do not matter, and ``h`` makes the rows most probable that
    are left out one by one, each with all its copies: else a row would explain its copy.

    Parameters
    ----------
    width
        "leave-one-out", or the rules of "silverman" or "scott", which are right for normal
        rows: ``h`` in standard deviations of the columns. Or a number: a bump of this standard
        deviation in all columns, in their own units.

    Attributes
    ----------
    density_
        Rows that differ, their weights, and the width of bumps in each column.
    log_evidence_
        Log density of all rows, each by the others: what the width was chosen by.

    Examples
    --------
    >>> model = KernelDensity(width=1.0).fit([[0.0], [2.0]])
    >>> np.exp(model.log_prob([[1.0]])).round(4)
    array([0.242])
    """

    density_: Bumps
    log_evidence_: Annotated[float, Form(low=-np.inf, high=np.inf)]

    def __init__(self, width: float | str = LEAVE_ONE_OUT) -> None:
        self.width = width

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(), Example(cls(0.5), unit_free=False))

    @property
    def width_(self) -> Array:
        """Standard deviation of a bump in each column, shape (d,)."""
        return self.density_.width

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the density of ``X`` (n, d)."""
        self._check_settings()
        rows = np.asarray(validated(self, X, dtype=np.float64))
        weight = row_weight(sample_weight, rows)
        rows, weight = merged_rows(rows[weight > 0], weight[weight > 0], 40)
        shape = np.ones(rows.shape[1])
        if isinstance(self.width, str):
            shape = _spread(rows, weight)
        self.density_ = Bumps(rows, weight, shape * self._unit_width(rows / shape, weight))
        self.log_evidence_ = float(left_out(self.density_))
        return self

    def _unit_width(self, rows: Array, weight: Array) -> float:
        """Return the width of bumps among rows of unit standard deviation."""
        n, d = weight.sum(), rows.shape[1]
        if self.width == "scott":
            return float(n ** (-1.0 / (d + 4)))
        if self.width == "silverman":
            return float((n * (d + 2) / 4.0) ** (-1.0 / (d + 4)))
        if self.width != LEAVE_ONE_OUT:
            return float(self.width)
        if len(rows) < 2:
            raise ValueError(
                "width='leave-one-out' needs rows that differ; found all alike of n_samples = "
                f"{weight.sum():g}. Pass a width as a number."
            )
        return best_width(rows, weight)

    def log_prob(self, X: ArrayLike) -> Array:
        """Return the log density of each row, shape (n,)."""
        check_is_fitted(self, "density_")
        rows = np.asarray(validated(self, X, dtype=np.float64, reset=False))
        return self.density_.log_prob(rows)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean log density of rows."""
        return float(np.mean(self.log_prob(X)))

    def sample(self, n: int = 1, random_state: Any = None) -> Array:
        """Return ``n`` new rows, shape (n, d)."""
        check_is_fitted(self, "density_")
        return self.density_.sample(n, generator(random_state))

    def _check_settings(self) -> None:
        if isinstance(self.width, str):
            require_choice("width", self.width, RULES)
        elif not (isinstance(self.width, Real) and 0.0 < float(self.width) < np.inf):
            raise ValueError(
                f"width must be a positive number, or one of {RULES}; found {self.width!r}. "
                "Pass a standard deviation."
            )


def _spread(rows: Array, weight: Array) -> Array:
    """Return the standard deviation of each column; one where it does not vary."""
    share = weight / weight.sum()
    mean = share @ rows
    spread = np.sqrt(share @ np.square(rows - mean))
    return np.where(is_constant(mean, spread), 1.0, spread)

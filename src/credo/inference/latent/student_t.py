"""Student's t of largest likelihood: normals whose precision is hidden in every value.

A value of a t is normal with a precision of its own, ``(df + 1) / (df + z^2)`` in expectation
with ``z = (x - loc) / scale``. Location and scale are weighted by it; the degrees of freedom
maximize the likelihood itself [liu1995]_. The likelihood never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import special

from credo.distributions.student_t import StudentT
from credo.families.normal import NormalStatistics
from credo.inference.engine.problem import Expectation
from credo.inference.latent.latent_class import IncompleteRows
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["StudentTProblem", "WeightedMoments"]

LEAST_DF, LARGEST_DF = 0.5, 1000.0
LEAST_SCALE = 1e-4
"""Of the standard deviation of a column: where half the values are equal nothing else is."""

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_N_SECTIONS = 40


@dataclass(frozen=True, eq=False)
class WeightedMoments:
    """Expected precisions of values, and what they weigh; shape (n_classes, n_columns) each.

    Attributes
    ----------
    weight
        Sum of the expected precisions, in units of the last scale.
    mean, scatter
        Mean of the values so weighted, and sum of squares about it.
    df
        Degrees of freedom to start a search from.
    """

    weight: Annotated[Array, Form("k d", 0.0)]
    mean: Annotated[Array, Form("k d")]
    scatter: Annotated[Array, Form("k d", 0.0)]
    df: Annotated[Array, Form("k d", 0.0)]


@dataclass(frozen=True, eq=False)
class StudentTProblem:
    """Rows of known classes, whose columns are Student's t with all parameters unknown.

    Attributes
    ----------
    data
        Rows with the class of each; NaN is missing.

    Examples
    --------
    >>> from credo.inference import ExpectationMaximization, run
    >>> x = np.array([[-1.2], [0.1], [0.4], [-0.3], [0.9], [25.0]])
    >>> rows = IncompleteRows(x, np.zeros(6, dtype=np.intp), np.ones(6), 1)
    >>> found = run(ExpectationMaximization(), StudentTProblem(rows)).posterior
    >>> found.loc.round(1), found.scale.round(1)
    (array([[0.1]]), array([[0.5]]))
    """

    data: IncompleteRows

    def __post_init__(self) -> None:
        if (self.data.label < 0).any():
            raise ValueError(
                "the class of every row must be known; found rows without a label. Leave them "
                "out."
            )

    @property
    def size(self) -> float:
        """Total weight of the rows."""
        return float(self.data.weight.sum())

    @property
    def evidence_method(self) -> str:
        """Return "none": a likelihood is no evidence."""
        return "none"

    def start(self) -> StudentT:
        """Return classes at their means and standard deviations, with a few degrees."""
        data = self.data
        rows = NormalStatistics.by_group(data.x, data.label, data.n_classes, data.weight)
        loc = np.where(rows.weight > 0, rows.mean, self._pooled.mean)
        variance = np.where(rows.weight > 0, rows.variance(), self._spread**2)
        scale = np.maximum(np.sqrt(variance), LEAST_SCALE * self._spread)
        return StudentT(np.full(loc.shape, 4.0), loc, scale)

    def expect(self, belief: StudentT) -> Expectation:
        """Return moments weighted by expected precisions, and the log likelihood."""
        x, df = self._x, belief.df[self.data.label]
        z = (x - belief.loc[self.data.label]) / belief.scale[self.data.label]
        precision = np.where(self._is_there, (df + 1.0) / (df + z**2), 0.0)
        weight = self._sum(precision)
        some = np.where(weight > 0, weight, 1.0)
        # Measured from the last center, so that a large level leaves the digits of the spread.
        shift = self._sum(precision * (x - belief.loc[self.data.label])) / some
        mean = belief.loc + shift
        scatter = self._sum(precision * (x - mean[self.data.label]) ** 2)
        log_prob = np.where(self._is_there, belief[self.data.label].log_prob(x), 0.0)
        moments = WeightedMoments(weight, mean, scatter, belief.df)
        return Expectation(moments, float(self.data.weight @ log_prob.sum(axis=1)))

    def update(self, statistics: WeightedMoments) -> StudentT:
        """Return the t of these moments, with degrees of freedom of largest likelihood."""
        some = np.where(statistics.weight > 0, statistics.weight, 1.0)
        scale = np.sqrt(statistics.scatter / some)
        scale = np.where(statistics.weight > 0, scale, self._spread)
        scale = np.maximum(scale, LEAST_SCALE * self._spread)
        z = (self._x - statistics.mean[self.data.label]) / scale[self.data.label]
        squares = np.where(self._is_there, z**2, 0.0)
        return StudentT(self._df(squares, statistics.df), statistics.mean, scale)

    def penalty(self, belief: StudentT) -> float:
        """Return zero: nothing is believed beforehand."""
        return 0.0

    def _df(self, squares: Array, before: Array) -> Array:
        """Return degrees of freedom that maximize the likelihood, by golden section of logs."""
        low = np.full(before.shape, np.log(LEAST_DF))
        high = np.full(before.shape, np.log(LARGEST_DF))
        for _ in range(_N_SECTIONS):
            width = _GOLDEN * (high - low)
            left, right = high - width, low + width
            is_left = self._likelihood(left, squares) > self._likelihood(right, squares)
            low, high = np.where(is_left, low, left), np.where(is_left, right, high)
        found, known = 0.5 * (low + high), np.log(before)
        is_better = self._likelihood(found, squares) > self._likelihood(known, squares)
        return np.exp(np.where(is_better, found, known))

    def _likelihood(self, log_df: Array, squares: Array) -> Array:
        """Return the log likelihood of each class and column, up to what df does not change."""
        df = np.exp(log_df)
        each = special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df) - 0.5 * log_df
        tail = self._sum(np.log1p(squares / df[self.data.label]))
        return np.asarray(self._sum(self._is_there) * each - 0.5 * (df + 1.0) * tail)

    def _sum(self, cells: Array) -> Array:
        """Return the weighted sum over the rows of each class, shape (n_classes, n_columns)."""
        return np.asarray(self._member.T @ cells)

    @cached_property
    def _member(self) -> Array:
        is_own = self.data.label[:, None] == np.arange(self.data.n_classes)
        return np.asarray(is_own * self.data.weight[:, None])

    @cached_property
    def _is_there(self) -> Array:
        return np.isfinite(self.data.x).astype(np.float64)

    @cached_property
    def _x(self) -> Array:
        return np.where(np.isfinite(self.data.x), self.data.x, self._pooled.mean)

    @cached_property
    def _pooled(self) -> NormalStatistics:
        return self.data.pooled()

    @cached_property
    def _spread(self) -> Array:
        """Standard deviation of each column over all classes; one if it does not vary."""
        variance = self._pooled.variance()
        return np.sqrt(np.where(variance > 0, variance, 1.0))

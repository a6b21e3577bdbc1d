"""What a logistic regression would believe without some of its rows.

At the closest Gaussian the mean gradient of the log posterior is zero, and its mean curvature
is the precision of the Gaussian. Both are sums over rows: without some rows the curvature is
that of the others, and one step by it leads to where their gradient is nearly zero. So one pass
over the rows serves all folds. The step is as good as a fit where it is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.logistic.problem import LogisticBelief, LogisticProblem
from credo.inference.logistic.softmax import ExpectedSoftmax, SoftmaxRows
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.parallel.threads import threads_for_matrix

__all__ = ["LogisticFolds"]

LARGEST_MOVE = 0.25
"""Root mean square by which a step may move the scores of all rows, and of those left out."""

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LogisticFolds:
    """A belief given all rows, ready to forget some of them.

    Attributes
    ----------
    belief
        A Gaussian, not a point.
    rows
        All rows in its coordinates.
    expected
        Means of the softmax function over the scores that it gives to the rows.
    gradient, curvature
        Means of the derivatives of minus the log posterior, shape (d,) and (d, d).
    """

    belief: LogisticBelief
    rows: SoftmaxRows
    expected: ExpectedSoftmax
    gradient: Array
    curvature: Array

    @classmethod
    def of(cls, belief: LogisticBelief, design: Array, code: Rows, weight: Array) -> Self:
        """Return what is needed of columns (n, n_columns), classes and weights (n,)."""
        assert belief.gaussian is not None
        rows = _seen(belief, design, code, weight)
        coordinates = rows.coordinates(belief.mean)
        covariance = belief.gaussian.form.dense().reshape(*rows.shape, *rows.shape)
        with threads_for_matrix(belief.mean.size):
            expected = rows.expected(coordinates, rows.variances(covariance))
            gradient, curvature = rows.expected_derivatives(expected)
        prior = LogisticProblem(rows, belief.precision).prior_precision
        curvature[np.diag_indices_from(curvature)] += prior
        gradient += prior.reshape(rows.shape) * belief.mean
        return cls(belief, rows, expected, gradient.ravel(), curvature)

    def without(self, left_out: Rows) -> LogisticBelief | None:
        """Return what is believed without some rows; None if that is too far for a step.

        The precision of the prior and the view of the columns stay those of all rows.
        """
        part = self.rows.take(left_out)
        with threads_for_matrix(self.belief.mean.size):
            gradient, curvature = part.expected_derivatives(_some(self.expected, left_out))
            precision = self.curvature - curvature
            rest = (self.gradient - gradient.ravel())[:, None]
            step = -cholesky(precision).solve(rest).reshape(part.shape)
        squares = (self.rows.coordinates(step) ** 2).mean(axis=1)
        moves = _mean(squares, self.rows.weight), _mean(squares[left_out], part.weight)
        if max(moves) > LARGEST_MOVE**2:
            return None
        mean = self.belief.mean + step
        gaussian = MultivariateNormal.from_precision(mean.ravel(), precision)
        return replace(self.belief, mean=mean, gaussian=gaussian)


def _seen(belief: LogisticBelief, design: Array, code: Rows, weight: Array) -> SoftmaxRows:
    center, scale = belief.center, belief.scale
    if belief.axes is not None:
        design = ((design - center) * scale) @ belief.axes
        center, scale = np.zeros(design.shape[1]), np.ones(design.shape[1])
    return SoftmaxRows(design, code, weight, center, scale, belief.coding, belief.has_intercept)


def _mean(values: Array, weight: Array) -> float:
    """Return a weighted mean; zero if nothing has weight."""
    total = float(weight.sum())
    return float(weight @ values) / total if total > 0 else 0.0


def _some(expected: ExpectedSoftmax, rows: Rows) -> ExpectedSoftmax:
    return ExpectedSoftmax(expected.loss[rows], expected.probability[rows], expected.bend[rows])

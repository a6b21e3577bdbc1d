"""A normal fitted to out-of-fold residuals: a predictive for regressors that have none.

Let ``e_i = y_i - m_i`` be the residuals of predictions ``m_i`` by fits that had not seen row i.
With normal noise of mean zero, whose variance is unknown under the flat prior of its
logarithm, an outcome is Student's t around its prediction: ``n`` degrees of freedom and scale
``sqrt(sum e_i^2 / n)``. It is a normal for many rows, and has the wider tails of few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.numerics.array import Array, as_float
from credo.validation.fold_fit import fold_codes, fold_members, fold_models
from credo.validation.outcome import Outcome, row_weights

__all__ = ["ResidualNormal", "held_out_normal", "out_of_fold_normal"]

# Below it the mean of the t around a row, learned from all others, does not exist.
MIN_RESIDUALS = 3


@dataclass(frozen=True, eq=False)
class ResidualNormal:
    """Noise around the predictions of a regressor, learned from its out-of-fold residuals.

    Attributes
    ----------
    df
        Number of residuals that it was learned from.
    scale
        Their root mean square, weighted, one for each output; never below the rounding error
        of the outcomes.

    Examples
    --------
    >>> noise = ResidualNormal.of([1.0, 2.0, 4.0], [1.5, 1.5, 4.5])
    >>> noise.around([10.0]).interval(0.9).round(2)
    array([[ 8.82, 11.18]])
    """

    df: Array
    scale: Array

    @classmethod
    def of(
        cls, y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ResidualNormal:
        """Return the noise that parts outcomes from predictions by fits without them.

        Parameters
        ----------
        y, mean
            Outcomes and predictions, shape (n,) or (n, n_outputs).
        sample_weight
            How much each row counts; rows of weight zero do not.
        """
        squares = _Squares.of(y, mean, sample_weight)
        total, weight, n = (part.sum(axis=0) for part in squares.parts)
        return cls(np.asarray(float(n)), squares.root(total, weight))

    def around(self, mean: ArrayLike) -> Predictive:
        """Return the predictive of new rows, all of its spread noise that stays."""
        return _predictive(self.df, as_float(mean), self.scale)


def held_out_normal(
    y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None = None
) -> Predictive:
    """Return the predictive of each held-out row, its noise learned from all other rows.

    So neither the prediction of a row nor its spread has seen the row's outcome.

    Parameters
    ----------
    y, mean
        Outcomes and predictions by fits without them, shape (n,) or (n, n_outputs).
    sample_weight
        How much each row counts.

    Examples
    --------
    >>> found = held_out_normal([1.0, 2.0, 4.0, 3.0], [1.5, 1.5, 4.5, 4.0])
    >>> found.marginal.scale.round(3)
    array([0.707, 0.707, 0.707, 0.5  ])
    """
    squares = _Squares.of(y, mean, sample_weight)
    total, weight, n = (_sums_of_others(part) for part in squares.parts)
    scale = squares.root(total, weight)
    df = n.reshape(-1, *[1] * (scale.ndim - 1))
    return _predictive(df, as_float(mean), scale)


def out_of_fold_normal(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> Predictive:
    """Return the predictive of each row by a regressor that only has ``predict``.

    The mean is the prediction of a clone fitted without the row's fold, the noise a normal
    fitted to the residuals of all other rows.

    Parameters
    ----------
    labels
        The fold of each row, shape (n,).
    sample_weight
        How much each row counts, in fitting and in the noise.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.arange(12.0)[:, None]
    >>> y = 2.0 * x[:, 0] + np.array([0.1, -0.2, 0.0, 0.3, -0.1, -0.1] * 2)
    >>> found = out_of_fold_normal(LinearRegression(), x, y, labels=np.arange(12) % 4)
    >>> found.mean()[1:4].round(1), found.marginal.scale[1:4].round(2)
    (array([2.1, 4. , 6. ]), array([0.18, 0.21, 0.18]))
    """
    outcome = Outcome.of(estimator, y)
    fold = fold_codes(outcome, 0, None, labels)
    models = fold_models(estimator, X, outcome, fold, sample_weight)
    mean = np.empty(outcome.y.shape)
    for model, rows in zip(models, fold_members(fold), strict=True):
        said = as_float(model.predict(_safe_indexing(X, rows)))
        mean[rows] = said.reshape(mean[rows].shape)
    return held_out_normal(outcome.y, mean, sample_weight)


@dataclass(frozen=True, eq=False)
class _Squares:
    """Weighted squares, weights and counts of residuals in units of the largest of them."""

    parts: tuple[Array, Array, Array]
    unit: Array
    least: Array

    @classmethod
    def of(cls, y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None) -> _Squares:
        outcomes, means = as_float(y), as_float(mean)
        if outcomes.shape != means.shape:
            raise ValueError(
                "y must hold one outcome for each prediction; found shape "
                f"{outcomes.shape} for predictions of shape {means.shape}. Pass the same rows."
            )
        weight = row_weights(sample_weight, len(outcomes))
        n = (weight > 0).astype(np.float64)
        if n.sum() < MIN_RESIDUALS:
            raise ValueError(
                f"a normal needs at least {MIN_RESIDUALS} residuals of rows that have weight; "
                f"found {n.sum():.0f}. Add rows, or use a model that has predict_dist."
            )
        residual = outcomes - means
        largest = np.abs(residual).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        aligned = weight.reshape(-1, *[1] * (residual.ndim - 1))
        least = np.finfo(np.float64).eps * np.abs(outcomes).max(axis=0)
        least = np.maximum(least, np.finfo(np.float64).tiny)
        return cls((aligned * (residual / unit) ** 2, aligned, n), unit, least)

    def root(self, total: Array, weight: Array) -> Array:
        """Return the root mean square of residuals from sums over rows."""
        return np.maximum(self.unit * np.sqrt(total / weight), self.least)


def _sums_of_others(part: Array) -> Array:
    # As ``total - part`` an outlier would drown all others in its own rounding error.
    nothing = np.zeros((1, *part.shape[1:]))
    before = np.cumsum(np.concatenate([nothing, part[:-1]]), axis=0)
    after = np.cumsum(np.concatenate([nothing, part[:0:-1]]), axis=0)[::-1]
    return np.asarray(before + after)


def _predictive(df: Array, mean: Array, scale: Array) -> Predictive:
    marginal = StudentT(df, mean, scale)
    return Predictive(marginal, np.zeros(marginal.batch_shape), marginal.std())

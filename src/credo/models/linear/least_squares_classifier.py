"""Classification by least squares on coded labels: simple, and drawn to far points."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.families.linear import LinearStatistics, Rows
from credo.features.basis import Basis
from credo.inference.linear.regression import LinearProblem, infer
from credo.models.contract.inputs import (
    ClassLabels,
    KnownOutcomes,
    LabeledRows,
    design,
    first_labeled_rows,
    labeled_chunk,
    more_labeled_rows,
    placed_basis,
)
from credo.models.contract.linear_score import best_class, linear_score
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["LeastSquaresClassifier"]


class LeastSquaresClassifier(KnownOutcomes, ClassifierMixin, BaseEstimator):
    """The sign of a least-squares fit to labels coded -1 and 1; one against the rest beyond.

    ``min sum_i weight_i (y_i - b - w^T x_i)^2``, then ``sign(b + w^T x)``. A point far on the
    right side counts as an error too, so it pulls the boundary, and separable classes need not
    be separated: a baseline. It has no likelihood of classes, and so no probabilities.

    Parameters
    ----------
    basis
        What the fit is linear in, such as ``credo.features.SplineBasis()``; the columns of X
        themselves if None. Placed on the inputs of the first fit.

    Attributes
    ----------
    classes_
        The labels, rising.
    coef_, intercept_
        Weights (k, d) and intercepts (k,) in the units of the data; one row for two classes,
        else one for each class.
    statistics_, basis_
        What is kept of the data, and the placed basis.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LeastSquaresClassifier().fit(x, ["no", "no", "yes", "yes"])
    >>> model.predict([[1.2], [9.0]]).tolist(), model.decision_function([[2.0]]).round(12)
    (['no', 'yes'], array([0.4]))
    """

    coef_: Annotated[Array, Form("s c")]
    intercept_: Annotated[Array, Form("s")]
    classes_: ClassLabels
    statistics_: LinearStatistics
    basis_: Basis | None

    def __init__(self, basis: Basis | None = None):
        self.basis = basis

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(), Example(cls(features.SplineBasis(5)), streams=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,), forgetting earlier data."""
        rows = self._first(X, y, sample_weight)
        columns, codes = design(self.basis_, rows.x), self._codes(rows)
        statistics = LinearStatistics.of(columns, codes, rows.weight)
        if self._problem(statistics).is_ill_conditioned:
            kept = LinearStatistics(columns.shape[1], Rows(columns, codes, rows.weight))
            return self._learn(statistics, kept)
        return self._learn(statistics)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more chunk; the first must name all ``classes``, and places the basis.

        The result equals a fit to all chunks together.
        """
        is_first = not hasattr(self, "statistics_")
        rows = labeled_chunk(self, X, y, classes, sample_weight)
        if is_first:
            self.basis_ = placed_basis(self.basis, rows.x, rows.weight)
        columns = design(self.basis_, rows.x)
        chunk = LinearStatistics.of(columns, self._codes(rows), rows.weight)
        return self._learn(chunk if is_first else self.statistics_ + chunk)

    def summarize_groups(
        self,
        X: ArrayLike,
        y: ArrayLike,
        label: ArrayLike,
        n_groups: int,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[LinearStatistics, ...]:
        """Return the statistics of each group of rows, in one pass.

        On a model that has seen no data yet this finds the classes and places the basis.
        """
        if hasattr(self, "basis_"):
            rows = more_labeled_rows(self, X, y, sample_weight)
        else:
            rows = self._first(X, y, sample_weight)
        return LinearStatistics.by_group(
            design(self.basis_, rows.x), self._codes(rows), label, n_groups, rows.weight
        )

    def fit_statistics(self, statistics: LinearStatistics) -> Self:
        """Learn from statistics alone, such as ``total - fold``; the basis stays placed."""
        check_is_fitted(self, "basis_")
        return self._learn(statistics)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the fitted code: (n,), positive for the second of two classes, else (n, k)."""
        return linear_score(self, X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest fitted code."""
        return best_class(self.decision_function(X), self.classes_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _first(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> LabeledRows:
        rows = first_labeled_rows(self, X, y, sample_weight)
        self.basis_ = placed_basis(self.basis, rows.x, rows.weight)
        return rows

    def _codes(self, rows: LabeledRows) -> Array:
        """Return 1 for the class of a column and -1 for the others, shape (n, k)."""
        k = len(self.classes_)
        columns = np.arange(1, 2) if k == 2 else np.arange(k)
        return np.where(rows.code[:, None] == columns, 1.0, -1.0)

    def _problem(
        self, statistics: LinearStatistics, rows: LinearStatistics | None = None
    ) -> LinearProblem:
        return LinearProblem(statistics, "flat", "none", None, rows)

    def _learn(
        self, statistics: LinearStatistics, rows: LinearStatistics | None = None
    ) -> Self:
        belief = infer(self._problem(statistics, rows)).posterior
        self.coef_ = np.ascontiguousarray(belief.weights.T)
        self.intercept_ = np.asarray(belief.intercept)
        self.statistics_ = statistics
        return self

"""The perceptron: change the weights at every mistake until there is none."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from credo import features
from credo.features.basis import Basis
from credo.inference.margin.perceptron import perceptron_epoch
from credo.models.contract.inputs import (
    ClassLabels,
    KnownOutcomes,
    design,
    first_labeled_rows,
    generator,
    placed_basis,
    require_count,
)
from credo.models.contract.linear_score import best_class, linear_score
from credo.models.margin.signed_rows import MarginRows
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["Perceptron"]


class Perceptron(KnownOutcomes, ClassifierMixin, BaseEstimator):
    """A linear boundary found by correcting mistakes; it exists if the classes are separable.

    Passes over the rows in random order. If the class ``c`` of a row does not score strictly
    highest, the row is added to the weights of ``c`` and taken from those of the winner. With
    two classes that some unit vector parts by a margin ``g``, rows no longer than ``R``, at
    most ``(R / g)^2`` mistakes are made in all [novikoff1962]_. If rows are not separable the
    weights with the fewest errors after any pass are kept, with a warning. There is no
    likelihood, and so no probabilities.

    Parameters
    ----------
    basis
        What scores are linear in; the columns of X themselves if None.
    max_epochs
        Largest number of passes over the rows.
    random_state
        Order in which rows are visited. Columns are standardized and equal rows merged first,
        so that neither units nor the given order matter.

    Attributes
    ----------
    classes_
        The labels, rising.
    coef_, intercept_
        Weights (k, d) and intercepts (k,) in the units of the data; one row for two classes,
        else one for each class.
    n_mistakes_, n_epochs_
        Mistakes and passes made in learning.
    is_separated_
        Whether the last pass met no mistake.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = Perceptron().fit(x, ["low", "low", "high", "high"])
    >>> model.predict([[1.0], [4.0]]).tolist(), model.is_separated_
    (['low', 'high'], True)
    """

    coef_: Annotated[Array, Form("s c")]
    intercept_: Annotated[Array, Form("s")]
    is_separated_: bool
    n_epochs_: int
    n_mistakes_: int
    classes_: ClassLabels
    basis_: Basis | None

    def __init__(
        self, basis: Basis | None = None, max_epochs: int = 100, random_state: Any = 0
    ):
        self.basis = basis
        self.max_epochs = max_epochs
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(), Example(cls(features.SplineBasis(4)), streams=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,); a weight multiplies a row's steps."""
        require_count("max_epochs", self.max_epochs)
        rows = first_labeled_rows(self, X, y, sample_weight)
        self.basis_ = placed_basis(self.basis, rows.x, rows.weight)
        margin_rows = MarginRows.of(design(self.basis_, rows.x), rows)
        coef = self._run(margin_rows)
        if len(self.classes_) == 2:
            # Both rows are each other's negative, so that half the difference is the second.
            coef = coef[1:]
        self.coef_, self.intercept_ = margin_rows.in_data_units(coef)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores: (n,), positive for the second of two classes, else (n, k)."""
        return linear_score(self, X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the highest score."""
        return best_class(self.decision_function(X), self.classes_)

    def _run(self, rows: MarginRows) -> Array:
        """Return weights (K, d + 1) that separate, or the best met at the end of a pass."""
        rng = generator(self.random_state)
        coef = np.zeros((len(self.classes_), rows.x.shape[1]))
        best, least = coef.copy(), np.inf
        self.n_mistakes_, self.is_separated_ = 0, False
        for n_epochs in range(1, self.max_epochs + 1):
            order = rng.permutation(len(rows.x))
            made = perceptron_epoch(rows.x, rows.code, rows.weight, order, coef)
            self.n_mistakes_ += len(made.mistaken)
            self.n_epochs_ = n_epochs
            if not len(made.mistaken):
                self.is_separated_ = True
                return coef
            wrong = (rows.x @ coef.T).argmax(axis=1) != rows.code
            if (errors := float(rows.weight @ wrong)) < least:
                best, least = coef.copy(), errors
        self._warn(least / rows.weight.sum())
        return best

    def _warn(self, share: float) -> None:
        warnings.warn(
            f"Perceptron stopped after max_epochs={self.max_epochs} with {share:.1%} of the "
            "training rows misclassified by the best weights met. Raise max_epochs if the "
            "classes can be separated, else use LogisticRegression or VotedPerceptron.",
            ConvergenceWarning,
            stacklevel=4,
        )

"""The voted perceptron: every weight vector met in learning votes as long as it lasted."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from credo import features
from credo.features.basis import Basis
from credo.inference.margin.perceptron import Epoch, perceptron_epoch, vote_shares
from credo.models.contract.inputs import (
    ClassLabels,
    KnownOutcomes,
    design,
    first_labeled_rows,
    fitted_design,
    generator,
    placed_basis,
    require_count,
)
from credo.models.contract.linear_score import best_class
from credo.models.margin.signed_rows import MarginRows
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["VotedPerceptron"]


class VotedPerceptron(KnownOutcomes, ClassifierMixin, BaseEstimator):
    """A vote of all perceptrons met in learning, each as strong as the rows it survived.

    Weight vectors that answered many rows before their next mistake count more, which makes
    the answer stable where classes overlap [freund1999]_. There is no likelihood, and so no
    probabilities: shares of votes are not chances.

    Parameters
    ----------
    basis
        What scores are linear in; the columns of X themselves if None.
    n_epochs
        Number of passes over the rows; every mistake in them is one more voter to ask.
    random_state
        Order in which rows are visited. Columns are standardized and equal rows merged first,
        so that neither units nor the given order matter.

    Attributes
    ----------
    classes_
        The labels, rising.
    coef_, intercept_
        Weights (m, k, d) and intercepts (m, k) of the m perceptrons, in the units of the data;
        k is 1 for two classes, else one for each class.
    votes_
        Strength of each vote, shape (m,), summing to one.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = VotedPerceptron().fit(x, ["low", "low", "high", "high"])
    >>> model.predict([[1.0], [4.0]]).tolist()
    ['low', 'high']
    """

    coef_: Annotated[Array, Form("m s c")]
    intercept_: Annotated[Array, Form("m s")]
    votes_: Annotated[Array, Form("m", 0.0, 1.0)]
    classes_: ClassLabels
    basis_: Basis | None

    def __init__(self, basis: Basis | None = None, n_epochs: int = 5, random_state: Any = 0):
        self.basis = basis
        self.n_epochs = n_epochs
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(), Example(cls(features.SplineBasis(5)), streams=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,); weights multiply steps and votes."""
        require_count("n_epochs", self.n_epochs)
        rows = first_labeled_rows(self, X, y, sample_weight)
        self.basis_ = placed_basis(self.basis, rows.x, rows.weight)
        margin_rows = MarginRows.of(design(self.basis_, rows.x), rows)
        epochs = self._epochs(margin_rows)
        coef = _met_weights(margin_rows, epochs, len(self.classes_))
        self.coef_, self.intercept_ = margin_rows.in_data_units(coef)
        # The first mistake ends the weights of zero, which answered nothing.
        ended = np.concatenate([epoch.votes for epoch in epochs])[1:]
        votes = np.append(ended, epochs[-1].survived)
        self.votes_ = votes / votes.sum()
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return shares of votes: (n, k), or (n,) the lead of the second of two classes."""
        columns = fitted_design(self, X)
        shares = vote_shares(columns, self.coef_, self.intercept_, self.votes_)
        return shares[:, 1] - shares[:, 0] if len(self.classes_) == 2 else shares

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the most votes."""
        return best_class(self.decision_function(X), self.classes_)

    def _epochs(self, rows: MarginRows) -> list[Epoch]:
        rng = generator(self.random_state)
        coef = np.zeros((len(self.classes_), rows.x.shape[1]))
        epochs: list[Epoch] = []
        survived = 0.0
        for _ in range(self.n_epochs):
            order = rng.permutation(len(rows.x))
            epochs.append(
                perceptron_epoch(rows.x, rows.code, rows.weight, order, coef, survived)
            )
            survived = epochs[-1].survived
        return epochs


def _met_weights(rows: MarginRows, epochs: list[Epoch], n_classes: int) -> Array:
    """Return the weights after each mistake, shape (m, k, d + 1)."""
    mistaken = np.concatenate([epoch.mistaken for epoch in epochs])
    steps = rows.weight[mistaken, None] * rows.x[mistaken]
    own = rows.code[mistaken]
    if n_classes == 2:
        return np.cumsum(np.where(own == 1, 1.0, -1.0)[:, None, None] * steps[:, None], axis=0)
    rival = np.concatenate([epoch.rival for epoch in epochs])
    changes = np.zeros((len(steps), n_classes, steps.shape[1]))
    every = np.arange(len(steps))
    changes[every, own] = steps
    changes[every, rival] = -steps
    return np.cumsum(changes, axis=0)

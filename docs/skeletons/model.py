"""Regression that ignores its inputs, the baseline to beat: a skeleton for a new model.

Copy it to ``src/credo/models/<subject>/<name>.py`` and export it by a line in the stub of the
room, where the laws find its examples. A model validates data, states a problem, and says what
was learned as a distribution; `predict`, intervals and quantiles follow from that. Formulas
live in the rooms below it.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from credo.distributions.predictive import Predictive
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.example import Example

__all__ = ["ConstantRegression"]


class ConstantRegression(PredictiveRegressor):
    """Normal outcomes with one unknown mean and variance for all rows.

    Parameters
    ----------
    prior
        Belief about the mean and variance; if None, a weak one in the units of the data.

    Attributes
    ----------
    statistics_
        All that is kept of the data.
    posterior_
        Belief about the mean and variance after the data.

    Examples
    --------
    >>> model = ConstantRegression().fit([[0.0], [0.0], [0.0]], [1.0, 2.0, 3.0])
    >>> model.predict([[5.0]])
    array([2.])
    """

    statistics_: NormalStatistics
    posterior_: NormalInverseGamma

    def __init__(self, prior: NormalInverseGamma | None = None) -> None:
        self.prior = prior

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return unfitted models for the laws, one for each way to set it."""
        prior = NormalInverseGamma(0.0, 1.0, 2.0, 3.0)
        return cls(), Example(cls(prior), unit_free=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` and ``y``, forgetting earlier data."""
        if hasattr(self, "statistics_"):
            del self.statistics_
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk; chunks give what one fit gives."""
        is_first = not hasattr(self, "statistics_")
        rows, targets = validate_data(self, X, y, reset=is_first, y_numeric=True)
        weight = _check_sample_weight(sample_weight, rows)
        new = NormalStatistics.of(targets, weight)
        self.statistics_ = new if is_first else self.statistics_ + new
        prior = self.prior or NormalInverseGamma.weak(self.statistics_)
        self.posterior_ = prior.update(self.statistics_)
        return self

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, one for each row of ``X``."""
        check_is_fitted(self)
        n_samples = len(validate_data(self, X, reset=False))
        each = self.posterior_[np.newaxis][np.zeros(n_samples, dtype=np.intp)]
        predictive = each.predictive()
        epistemic = each.marginal_mean().std()
        return Predictive(predictive, epistemic, np.sqrt(predictive.variance() - epistemic**2))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

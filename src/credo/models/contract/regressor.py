"""The verbs every regressor answers once it can give a predictive distribution."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from credo.decisions.decision import Decision, decide
from credo.decisions.numeric_loss import NumericLoss, QuadraticLoss
from credo.distributions.predictive import Predictive
from credo.models.contract.frame import frame_like
from credo.models.contract.inputs import KnownOutcomes
from credo.numerics.array import Array

__all__ = ["PredictiveRegressor"]


class PredictiveRegressor(KnownOutcomes, RegressorMixin, BaseEstimator):
    """A regressor whose answers are all read off one predictive distribution."""

    @abstractmethod
    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, one entry per row (and output)."""

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return the predictive mean, the best guess under squared loss.

        Where two rows leave the noise so open that there is no mean, it is the median.

        Parameters
        ----------
        return_std
            Whether to return the predictive standard deviation as well; it passes through a
            `Pipeline`.
        """
        predictive = self.predict_dist(X)
        mean = predictive.mean()
        if np.isnan(mean).any():
            mean = np.where(np.isnan(mean), predictive.quantile(0.5), mean)
        return (mean, predictive.std()) if return_std else mean

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> Array:
        """Return the central predictive interval, shape (n, 2), or (n, k, 2) for k outputs."""
        return self.predict_dist(X).interval(coverage)

    def predict_quantiles(self, X: ArrayLike, q: ArrayLike) -> Array:
        """Return predictive quantiles, shape (n, len(q)), or (n, k, len(q)) for k outputs."""
        predictive = self.predict_dist(X)
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
        spread = levels.reshape(-1, *[1] * len(predictive.batch_shape))
        return np.moveaxis(predictive.quantile(spread), 0, -1)

    def decide(
        self, X: ArrayLike, loss: NumericLoss | None = None, reject: float | None = None
    ) -> Decision:
        """Return the action of least expected loss for each row (and output).

        Parameters
        ----------
        loss
            What a guess costs, such as ``credo.decisions.AsymmetricLinearLoss(3.0, 0.5)``;
            the squared error if None.
        reject
            What it costs to leave a row undecided; the action is NaN there.
        """
        return decide(self.predict_dist(X), QuadraticLoss() if loss is None else loss, reject)

    def predict_frame(self, X: Any, coverage: float = 0.9) -> Any:
        """Return mean, sd and interval as a frame of the kind of ``X``, rows labeled alike.

        pandas gives pandas with the same index, polars gives polars; an array gives pandas.
        """
        predictive = self.predict_dist(X)
        if len(predictive.batch_shape) > 1:
            raise ValueError(
                f"predict_frame needs one output; found {predictive.batch_shape[1]}. Read "
                "predict_dist(X), which has one entry per row and output."
            )
        low, high = predictive.interval(coverage).T
        columns = {"mean": predictive.mean(), "sd": predictive.std(), "low": low, "high": high}
        return frame_like(X, columns)

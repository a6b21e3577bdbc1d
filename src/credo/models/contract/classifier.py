"""The verbs every classifier answers once it can give class probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from credo.decisions.decision import Decision, decide
from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.models.contract.frame import frame_like
from credo.models.contract.inputs import ClassLabels, KnownOutcomes
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = ["DensityClassifier", "LogClassifier", "PredictiveClassifier"]


class PredictiveClassifier(KnownOutcomes, ClassifierMixin, BaseEstimator):
    """A classifier whose answers are all read off one predictive distribution."""

    classes_: ClassLabels

    @abstractmethod
    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row, labels ``classes_``."""

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, parameters integrated out, shape (n, K)."""
        return self.predict_dist(X).probability

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the log probability of each class, -inf where it is impossible."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row, the best guess if all errors cost alike.

        The first in the order of ``classes_`` where several are equally probable.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decide(self, X: ArrayLike, loss: Any = None, reject: float | None = None) -> Decision:
        """Return the action of least expected loss for each row.

        Parameters
        ----------
        loss
            A `credo.decisions.LossMatrix`, or an array of shape (K, K) with the loss of each
            action (row) for each class (column), in the order of ``classes_``. If None every
            error costs 1.
        reject
            What it costs to leave a row undecided; never rejected if None.
        """
        costs = LossMatrix.zero_one(self.classes_) if loss is None else loss
        return decide(self.predict_dist(X), costs, reject)

    def predict_frame(self, X: Any) -> Any:
        """Return class and probabilities as a frame of the kind of ``X``, rows labeled alike.

        pandas gives pandas with the same index, polars gives polars; an array gives pandas.
        """
        probability = self.predict_proba(X)
        columns: dict[str, Any] = {"class": self.classes_[probability.argmax(axis=1)]}
        columns |= {
            f"probability of {label}": part
            for label, part in zip(self.classes_, probability.T, strict=True)
        }
        return frame_like(X, columns)


class LogClassifier(PredictiveClassifier):
    """A classifier that finds logs of class probabilities first, with all their digits."""

    @abstractmethod
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log class probabilities (n, K), with their digits however small they are."""

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, parameters integrated out, one per row."""
        return Categorical(np.exp(self.predict_log_proba(X)), self.classes_)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return log odds (n,) of the second of two classes, or log probabilities (n, K)."""
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs


class DensityClassifier(PredictiveClassifier):
    """A classifier by the density of each class, which says how usual a row is as well."""

    @abstractmethod
    def log_prob(self, X: ArrayLike) -> Array:
        """Return the log density of each row, classes summed out, shape (n,)."""

    def log_density(self, X: ArrayLike) -> Array:
        """Return `log_prob`, by the name that it had before."""
        name = type(self).__name__
        warn_user(
            f"{name}.log_density is now {name}.log_prob, as densities that integrate to one "
            "are called; the old name goes with the next release.",
            FutureWarning,
        )
        return self.log_prob(X)

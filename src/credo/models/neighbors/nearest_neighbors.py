"""Prediction from the nearest rows, with a belief about what they have in common."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.distributions.predictive import Predictive
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import first_labeled_rows, row_weight, validated
from credo.models.contract.regressor import PredictiveRegressor
from credo.models.neighbors.neighbor_choice import Choice, NeighborChooser, choose
from credo.models.neighbors.neighborhood import kernel
from credo.numerics.array import Array, as_float
from credo.numerics.form import SMALLEST, Form

__all__ = ["NearestNeighborsClassifier", "NearestNeighborsRegressor"]

Index = NDArray[np.intp]

NO_STRENGTH = 1e-300
LEAST_NOISE = 1e-12


class NearestNeighborsClassifier(NeighborChooser, PredictiveClassifier):
    """Classes as frequent as among the nearest rows.

    The neighbors of a query are observations of its class: they update a Dirichlet belief
    that starts at the class frequencies of all rows,
    ``p_c = (n_c + prior_strength f_c) / (n + prior_strength)``.

    Parameters
    ----------
    n_neighbors
        How many rows to ask, or "leave_one_out" to choose the number of best log score when
        each row is left out in turn; of many rows 4,000, evenly spaced. With sample weights,
        rows are asked until their weight is that number.
    weights
        "uniform", or "gaussian" for ``exp(-d^2 / (2 width^2))``, divided by its value for the
        nearest row.
    width
        Width of the Gaussian in units of distance (standard deviations of a column if
        standardized), or "leave_one_out".
    max_neighbors
        Largest number that "leave_one_out" tries.
    standardize
        Whether to measure each column in its standard deviations, so that units are
        irrelevant.
    prior_strength
        How many neighbors the frequencies of all rows are worth; zero gives the plain vote.

    Attributes
    ----------
    classes_
        Labels in rising order. Equally probable classes are decided for the first.
    n_neighbors_, width_
        What is used; the width is infinite for uniform weights.
    counts_tried_, widths_tried_, leave_one_out_scores_
        What was tried, and the mean log score of each pair, shape (n_widths, n_counts); NaN
        if there was nothing to choose.
    notes_
        What to know about a choice at the edge of what was tried.
    neighborhood_, codes_, prior_probability_
        What is kept of the data: rows, their classes, and the frequencies
        ``(N_c + 1) / (N + K)``.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [7.0], [8.0]], ["a", "a", "a", "b", "b"]
    >>> model = NearestNeighborsClassifier(n_neighbors=3).fit(X, y)
    >>> model.predict_proba([[1.5], [7.5]]).round(3)
    array([[0.893, 0.107], [0.393, 0.607]])
    """

    counts_tried_: Annotated[NDArray[np.intp], Form("m")]
    leave_one_out_scores_: Annotated[
        NDArray[np.float64], Form("w m", -np.inf, np.inf, has_gaps=True)
    ]
    n_neighbors_: Annotated[int, Form(low=1)]
    notes_: tuple[str, ...]
    width_: Annotated[float, Form(low=SMALLEST, high=np.inf)]
    widths_tried_: Annotated[NDArray[np.float64], Form("w", SMALLEST, np.inf)]
    codes_: Annotated[NDArray[np.intp], Form("n", 0, "K")]
    prior_probability_: Annotated[NDArray[np.float64], Form("K", 0.0, 1.0)]

    def __init__(
        self,
        n_neighbors: int | str = "leave_one_out",
        weights: str = "uniform",
        width: float | str = "leave_one_out",
        max_neighbors: int = 50,
        standardize: bool = True,
        prior_strength: float = 1.0,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.max_neighbors = max_neighbors
        self.standardize = standardize
        self.prior_strength = prior_strength

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the rows, and choose what is to be chosen."""
        self._check_settings()
        rows = first_labeled_rows(self, X, y, sample_weight)
        kept = slice(None) if (rows.weight > 0).all() else rows.weight > 0
        self._arrange(rows.x[kept], rows.weight[kept])
        self.codes_ = rows.code[kept]
        frequency = self._frequency() + 1.0
        self.prior_probability_ = frequency / frequency.sum()
        self._hold(self._choice())
        return self

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row, labels ``classes_``."""
        check_is_fitted(self)
        queries = validated(self, X, reset=False, dtype=np.float64)
        found = self.neighborhood_.gather(queries, self.n_neighbors_)
        amount = kernel(found, self.width_)
        n, n_classes = len(amount), len(self.classes_)
        cell = self.codes_[found.index] + n_classes * np.arange(n)[:, None]
        counts = np.bincount(cell.ravel(), amount.ravel(), n * n_classes).reshape(n, -1)
        belief = counts + self.prior_strength * self.prior_probability_
        return Categorical(belief / belief.sum(axis=1, keepdims=True), self.classes_)

    def _check_settings(self) -> None:
        self._setting.check()
        if self._setting.is_chosen and self.prior_strength == 0:
            raise ValueError(
                "prior_strength must be positive where leave-one-out chooses; found 0, which "
                "gives classes no probability that no neighbor has. Pass a small number such "
                "as 0.1, or numbers for n_neighbors and width."
            )

    def _frequency(self) -> Array:
        return as_float(np.bincount(self.codes_, self.neighborhood_.weight, len(self.classes_)))

    def _choice(self) -> Choice:
        if not self._setting.is_chosen:
            count = int(self.n_neighbors)
            width = float(self.width) if self.weights == "gaussian" else np.inf
            nothing = np.full((1, 1), np.nan)
            return Choice(
                np.array([count]), np.array([width]), nothing, count, width, np.empty(0)
            )
        return choose(self._setting, self.neighborhood_, self._is_same_class, self._score)

    def _is_same_class(self, rows: Index, neighbors: Index) -> Array:
        is_same = self.codes_[neighbors] == self.codes_[rows][:, None]
        return as_float(is_same[..., None])

    def _score(self, weight: Array, mean: Array, scatter: Array) -> tuple[Array, Array]:
        """Return the mean log probability of the own class, the row itself not counted."""
        rows = self.neighborhood_.scored_rows()
        row_weight = self.neighborhood_.weight[rows]
        out = np.minimum(row_weight, 1.0)
        frequency = self._frequency()
        prior = frequency[self.codes_[rows]] - out + 1.0
        prior /= (frequency + 1.0).sum() - out
        own = weight * mean[..., 0] + self.prior_strength * prior[:, None]
        log_probability = np.log(own / (weight + self.prior_strength))
        scores = np.average(log_probability, axis=0, weights=row_weight)
        return scores, np.empty((len(scores), 0))


class NearestNeighborsRegressor(NeighborChooser, PredictiveRegressor):
    """Outcomes distributed as those of the nearest rows.

    The neighbors of a query are observations of a normal outcome with a mean and a variance
    of their own; their weighted mean and scatter update a normal-inverse-gamma belief, so
    that the predictive is Student-t. The belief starts at the mean of all rows, worth
    ``prior_strength`` observations, and at the usual variance about neighbors, worth two.

    Parameters
    ----------
    n_neighbors
        How many rows to ask, or "leave_one_out" to choose the number of best log score when
        each row is left out in turn; of many rows 4,000, evenly spaced. With sample weights,
        rows are asked until their weight is that number.
    weights
        "uniform", or "gaussian" for ``exp(-d^2 / (2 width^2))``, divided by its value for the
        nearest row.
    width
        Width of the Gaussian in units of distance (standard deviations of a column if
        standardized), or "leave_one_out".
    max_neighbors
        Largest number that "leave_one_out" tries.
    standardize
        Whether to measure each column in its standard deviations, so that units are
        irrelevant.
    prior_strength
        How many neighbors the mean of all rows is worth; zero predicts the plain mean of the
        neighbors, constant in pieces for one neighbor.

    Attributes
    ----------
    n_neighbors_, width_
        What is used; the width is infinite for uniform weights.
    counts_tried_, widths_tried_, leave_one_out_scores_
        What was tried, and the mean log score of each pair, shape (n_widths, n_counts), summed
        over outputs.
    notes_
        What to know about a choice at the edge of what was tried.
    prior_
        Belief about mean and variance before any neighbor is asked, one entry per output.
    neighborhood_, outcomes_
        What is kept of the data: rows, and their outcomes, shape (n, k).

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [4.0]], [0.0, 1.0, 4.0, 16.0]
    >>> model = NearestNeighborsRegressor(n_neighbors=2, prior_strength=0.0).fit(X, y)
    >>> model.predict([[1.4]])
    array([2.5])
    """

    counts_tried_: Annotated[NDArray[np.intp], Form("m")]
    leave_one_out_scores_: Annotated[
        NDArray[np.float64], Form("w m", -np.inf, np.inf, has_gaps=True)
    ]
    n_neighbors_: Annotated[int, Form(low=1)]
    notes_: tuple[str, ...]
    width_: Annotated[float, Form(low=SMALLEST, high=np.inf)]
    widths_tried_: Annotated[NDArray[np.float64], Form("w", SMALLEST, np.inf)]
    _is_single: bool
    outcomes_: Annotated[NDArray[np.float64], Form("n k")]
    prior_: NormalInverseGamma

    def __init__(
        self,
        n_neighbors: int | str = "leave_one_out",
        weights: str = "uniform",
        width: float | str = "leave_one_out",
        max_neighbors: int = 50,
        standardize: bool = True,
        prior_strength: float = 0.01,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.max_neighbors = max_neighbors
        self.standardize = standardize
        self.prior_strength = prior_strength

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the rows, learn the usual variance about neighbors, and choose.

        Parameters
        ----------
        y
            Outcomes, shape (n,), or (n, k) for k outputs that share their neighbors.
        sample_weight
            How often each row counts; a weight of two is the row twice.
        """
        self._setting.check()
        inputs, outcomes = validated(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True
        )
        weight = row_weight(sample_weight, inputs)
        kept = slice(None) if (weight > 0).all() else weight > 0
        self._arrange(inputs[kept], weight[kept])
        self._is_single = np.ndim(outcomes) == 1
        values = np.asarray(outcomes, dtype=np.float64)[kept]
        self.outcomes_ = values.reshape(len(values), -1)
        choice = choose(self._setting, self.neighborhood_, self._outcomes, self._score)
        self._hold(choice)
        self.prior_ = self._prior(self._pooled().mean, choice.noise)
        return self

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, one entry per row (and output)."""
        check_is_fitted(self)
        queries = validated(self, X, reset=False, dtype=np.float64)
        found = self.neighborhood_.gather(queries, self.n_neighbors_)
        amount = kernel(found, self.width_)
        belief = self.prior_.update(_summary(amount, self.outcomes_[found.index]))
        predictive = Predictive(
            belief.predictive(),
            epistemic_std=belief.marginal_mean().std(),
            aleatoric_std=np.sqrt(belief.marginal_variance().mean()),
        )
        return predictive[:, 0] if self._is_single else predictive

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _outcomes(self, rows: Index, neighbors: Index) -> Array:
        return np.asarray(self.outcomes_[neighbors])

    def _pooled(self) -> NormalStatistics:
        return NormalStatistics.of(self.outcomes_, self.neighborhood_.weight)

    def _prior(self, location: Array, noise: Array) -> NormalInverseGamma:
        return NormalInverseGamma(location, max(self.prior_strength, NO_STRENGTH), 1.0, noise)

    def _score(self, weight: Array, mean: Array, scatter: Array) -> tuple[Array, Array]:
        """Return the mean log density of the own outcome, and the noise variance it implies.

        A residual about n neighbors has ``(n + 1) / n`` times the variance of the noise.
        """
        rows = self.neighborhood_.scored_rows()
        row_weight = self.neighborhood_.weight[rows]
        own, pooled = self.outcomes_[rows], self._pooled()
        out = np.minimum(row_weight, 1.0)[:, None]
        others = pooled.mean - out / (pooled.weight - out) * (own - pooled.mean)
        total = weight[..., None]
        strength = total + self.prior_strength
        center = mean + self.prior_strength / strength * (others[:, None] - mean)
        squares = (own[:, None] - center) ** 2 * total / (total + 1.0)
        noise = np.average(squares, axis=0, weights=row_weight)
        least = np.where(pooled.scatter > 0, LEAST_NOISE * pooled.variance(), 1.0)
        noise = np.maximum(noise, least)
        belief = self._prior(others[:, None], noise).update(
            NormalStatistics(np.broadcast_to(total, mean.shape), mean, scatter)
        )
        log_density = belief.predictive().log_prob(own[:, None]).sum(axis=2)
        return np.average(log_density, axis=0, weights=row_weight), noise


def _summary(amount: Array, outcomes: Array) -> NormalStatistics:
    """Return the statistics of each query's neighbors; outcomes have shape (n, k, m)."""
    total = amount.sum(axis=1)[:, None]
    share = amount / total
    # From the nearest outcome, so that a large offset of y costs no digits.
    origin = outcomes[:, :1]
    shift = outcomes - origin
    mean = np.einsum("nk,nkm->nm", share, shift)
    scatter = np.einsum("nk,nkm->nm", amount, (shift - mean[:, None]) ** 2)
    weight = np.broadcast_to(total, mean.shape)
    return NormalStatistics(weight, origin[:, 0] + mean, scatter)

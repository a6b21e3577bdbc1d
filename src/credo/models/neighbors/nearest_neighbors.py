"""Nearest neighbors: prediction from the nearest rows, with a belief about what they share.

How many neighbors are asked, and how near, is chosen by leaving each row out in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.distributions.predictive import Predictive
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import (
    first_labeled_rows,
    require_choice,
    row_weight,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form
from credo.numerics.linear.neighbors import NeighborSearch, running_sums

__all__ = [
    "FARTHEST",
    "Choice",
    "Gathered",
    "NearestNeighborsClassifier",
    "NearestNeighborsRegressor",
    "NeighborChooser",
    "NeighborSetting",
    "Neighborhood",
    "choose",
    "kernel",
]

Index = NDArray[np.intp]


MAX_SCORED = 4_000
FARTHEST = 1e150
NEAREST = 1e-150
LEAST_RELATIVE_SCALE = 1e-10


@dataclass(frozen=True, eq=False)
class Gathered:
    """Neighbors of each query, nearest first, shape (n, m): rows, distances and weights."""

    index: Index
    squared: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Training rows in comparable units, searched on demand.

    Attributes
    ----------
    points
        Rows ``(x - center) / scale``, shape (n, d); those of no weight are left out.
    weight
        How often each row counts, shape (n,).
    center, scale
        Origin and unit of each column, shape (d,).
    """

    points: Annotated[Array, Form("n d", -FARTHEST, FARTHEST)]
    weight: Annotated[Array, Form("n", SMALLEST)]
    center: Annotated[Array, Form("d")]
    scale: Annotated[Array, Form("d", SMALLEST)]

    def __post_init__(self) -> None:
        n, d = self.points.shape if self.points.ndim == 2 else (-1, -1)
        if (self.weight.shape, self.center.shape, self.scale.shape) != ((n,), (d,), (d,)):
            raise ValueError(
                "a neighborhood needs points (n, d), a weight of each row, and center and "
                f"scale of each column; found {self.points.shape}, {self.weight.shape}, "
                f"{self.center.shape} and {self.scale.shape}. Build it by Neighborhood.of."
            )

    @classmethod
    def of(cls, X: Array, weight: Array, standardize: bool) -> Neighborhood:
        """Arrange rows of positive weight, each column in its standard deviations."""
        center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if standardize:
            center, scale = _location_and_scale(X, weight)
        return cls(_standardized_rows(X, center, scale), weight, center, scale)

    @cached_property
    def search(self) -> NeighborSearch:
        """Structure that finds the nearest rows."""
        return NeighborSearch(self.points)

    @property
    def is_whole(self) -> bool:
        """Whether every row counts at least once."""
        return bool(self.weight.min() >= 1.0)

    @property
    def n_left(self) -> int:
        """Whole weight that is left when one row is out."""
        return int(self.weight.sum() * (1.0 + 1e-12)) - 1

    def gather(self, X: Array, k: int) -> Gathered:
        """Return the nearest rows of total weight ``k`` around each query."""
        found = self._gather(_standardized_rows(X, self.center, self.scale), k)
        before = np.cumsum(found.weight, axis=1) - found.weight
        taken = np.clip(k - before, 0.0, found.weight)
        return Gathered(found.index, found.squared, taken)

    def without_each(self, rows: Index, k: int) -> Gathered:
        """Return rows of total weight ``k`` or more around training rows that count one less.

        A row leaves out itself by its index; a copy of it stays, and so does what it weighs
        beyond one.
        """
        found = self._gather(self.points[rows], k + 1)
        own = found.index == rows[:, None]
        weight = np.where(own, np.maximum(found.weight - 1.0, 0.0), found.weight)
        return Gathered(found.index, found.squared, weight)

    def scored_rows(self) -> Index:
        """Return the rows that are left out in turn: all, or evenly spaced ones of many."""
        n = len(self.points)
        return np.linspace(0, n - 1, min(n, MAX_SCORED)).astype(np.intp)

    def _gather(self, queries: Array, k: int) -> Gathered:
        n = len(self.points)
        n_rows = min(k, n)
        while True:
            squared, index = self.search.nearest(queries, n_rows)
            weight = self.weight[index]
            if n_rows == n or self.is_whole or (weight.sum(axis=1) >= k).all():
                return Gathered(index, squared, weight)
            n_rows = min(2 * n_rows, n)


def kernel(gathered: Gathered, width: float) -> Array:
    """Return how much each neighbor counts: its weight, and less the farther it is.

    ``exp(-(d^2 - nearest d^2) / (2 width^2))``: the nearest counts in full, however far away
    it is, so that no query is without neighbors.
    """
    if np.isinf(width):
        return gathered.weight
    excess = gathered.squared - gathered.squared[:, :1]
    # Beyond all numbers is far enough: such a row counts nothing.
    with np.errstate(over="ignore"):
        return np.asarray(gathered.weight * np.exp(-0.5 * excess / width / width))


def _standardized_rows(X: Array, center: Array, scale: Array) -> Array:
    """Return rows in comparable units; the clip keeps squares of distances finite."""
    moved = np.ascontiguousarray((X - center) / scale)
    return np.clip(moved, -FARTHEST, FARTHEST, out=moved)


def _location_and_scale(X: Array, weight: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column; one where it is constant."""
    share = weight / weight.sum()
    center = share @ X
    with np.errstate(over="ignore", under="ignore"):
        variance = share @ np.square(X - center)
    scale = np.sqrt(variance)
    is_plain = (
        (scale > NEAREST) & (scale < FARTHEST) & (scale > LEAST_RELATIVE_SCALE * np.abs(center))
    )
    for j in np.flatnonzero(~is_plain):
        scale[j] = _spread(X[:, j], center[j], share)
    return center, scale


def _spread(column: Array, center: float, share: Array) -> float:
    """Return a standard deviation whose square is no number, or one that rounding drowns."""
    if column.max() == column.min():
        return 1.0
    size = np.abs(column - center).max()
    return float(size * np.sqrt(share @ np.square((column - center) / size)))


LEAVE_ONE_OUT = "leave_one_out"
WIDTH_STEPS = 2.0 ** np.arange(-2.0, 3.5, 0.5)
USUAL_COUNT = 10


@dataclass(frozen=True)
class NeighborSetting:
    """How neighbors count, and which of these settings are to be chosen."""

    weights: str
    n_neighbors: int | str
    width: float | str
    max_neighbors: int
    prior_strength: float

    def check(self) -> None:
        """Refuse settings that no data could make sense of."""
        require_choice("weights", self.weights, ("uniform", "gaussian"))
        _require_count("n_neighbors", self.n_neighbors, (LEAVE_ONE_OUT,))
        _require_count("max_neighbors", self.max_neighbors, ())
        if isinstance(self.width, str):
            require_choice("width", self.width, (LEAVE_ONE_OUT,))
        elif not (isinstance(self.width, Real) and float(self.width) > 0):
            raise ValueError(
                f"width must be a positive number or '{LEAVE_ONE_OUT}'; found {self.width!r}. "
                "Pass a distance, in standard deviations if columns are standardized."
            )
        strength = self.prior_strength
        if not (isinstance(strength, Real) and 0 <= float(strength) < np.inf):
            raise ValueError(
                f"prior_strength must be a number not below zero; found {strength!r}. "
                "Pass how many observations the prior is worth."
            )

    @property
    def is_chosen(self) -> bool:
        """Whether the data choose the number of neighbors or the width."""
        is_wide = self.weights == "gaussian" and isinstance(self.width, str)
        return isinstance(self.n_neighbors, str) or is_wide

    def require_rows(self, neighborhood: Neighborhood) -> None:
        """Refuse rows that are too few to ask that many, or to leave one out."""
        left = neighborhood.n_left
        if left < 1:
            raise ValueError(
                "neighbors need rows of total weight 2 or more, one to leave out and one to "
                f"ask; found n_samples={len(neighborhood.points)} of total weight "
                f"{neighborhood.weight.sum():g}. Add rows; a weight counts copies of a row."
            )
        if not isinstance(self.n_neighbors, str) and self.n_neighbors > left + 1:
            raise ValueError(
                f"n_neighbors must be at most the total weight of the rows, {left + 1}; found "
                f"{self.n_neighbors}. Ask fewer, or add rows."
            )

    def counts(self, neighborhood: Neighborhood) -> Index:
        """Return the numbers of neighbors to try when one row is out, in rising order."""
        if isinstance(self.n_neighbors, str):
            return np.arange(1, min(self.max_neighbors, neighborhood.n_left) + 1)
        return np.array([min(int(self.n_neighbors), neighborhood.n_left)])

    def widths(self, gathered: Gathered, row_weight: Array) -> Array:
        """Return the widths to try: multiples of the usual distance of the tenth neighbor."""
        if self.weights == "uniform":
            return np.array([np.inf])
        if not isinstance(self.width, str):
            return np.array([float(self.width)])
        reached = np.cumsum(gathered.weight, axis=1)
        place = (reached < min(USUAL_COUNT, reached[:, -1].min())).sum(axis=1)
        place = np.minimum(place, reached.shape[1] - 1)
        usual = np.take_along_axis(gathered.squared, place[:, None], axis=1)[:, 0]
        size = float(np.sqrt(np.average(usual, weights=row_weight)))
        return (size or 1.0) * WIDTH_STEPS


@dataclass(frozen=True, eq=False)
class Choice:
    """Number of neighbors and width, with the score of every pair that was tried.

    Attributes
    ----------
    scores
        Mean log score of rows left out, shape (n_widths, n_counts).
    noise
        Variance of each outcome about its neighbors, at the settings chosen.
    """

    counts: Index
    widths: Array
    scores: Array
    n_neighbors: int
    width: float
    noise: Array

    def notes(self, is_count_chosen: bool, max_neighbors: int) -> tuple[str, ...]:
        """Return what to know about a choice at the edge of what was tried."""
        found = []
        if is_count_chosen and self.n_neighbors == max_neighbors:
            found.append(
                f"the chosen {self.n_neighbors} neighbors are the most that were tried; more "
                "may be better: raise max_neighbors"
            )
        if len(self.widths) > 1 and self.width in (self.widths[0], self.widths[-1]):
            found.append(
                f"the chosen width {self.width:.3g} is at the edge of the widths tried, "
                f"{self.widths[0]:.3g} to {self.widths[-1]:.3g}; try a number beyond it, or "
                "uniform weights"
            )
        return tuple(found)


Scorer = Callable[[Array, Array, Array], tuple[Array, Array]]


def choose(
    setting: NeighborSetting,
    neighborhood: Neighborhood,
    outcomes: Callable[[Index, Index], Array],
    score: Scorer,
) -> Choice:
    """Return the settings of best leave-one-out log score, from one search.

    Parameters
    ----------
    outcomes
        Gives, for rows (n,) and their neighbors (n, k), what to average, shape (n, k, m).
    score
        Gives the mean log score of each count, shape (n_counts,), and the noise variance,
        shape (n_counts, m), from weight, mean and scatter of the neighborhoods.
    """
    rows = neighborhood.scored_rows()
    counts = setting.counts(neighborhood)
    found = neighborhood.without_each(rows, int(counts[-1]))
    widths = setting.widths(found, neighborhood.weight[rows])
    values = outcomes(rows, found.index)
    first, last = int(counts[0]), int(counts[-1])
    tried = [
        score(*running_sums(found.squared, found.weight, values, width, (first, last)))
        for width in widths
    ]
    scores = np.stack([part[0] for part in tried])
    best_width, best_count = np.unravel_index(np.argmax(scores), scores.shape)
    n_neighbors = setting.n_neighbors
    return Choice(
        counts,
        widths,
        scores,
        int(counts[best_count]) if isinstance(n_neighbors, str) else int(n_neighbors),
        float(widths[best_width]),
        tried[best_width][1][best_count],
    )


class NeighborChooser(BaseEstimator):
    """The settings that estimators with neighbors share, and what was chosen for them."""

    weights: str
    n_neighbors: int | str
    width: float | str
    max_neighbors: int
    standardize: bool
    prior_strength: Annotated[float, Form(low=0.0)]
    neighborhood_: Neighborhood

    def leave_one_out_table(self) -> pd.DataFrame:
        """Return the mean log score of left-out rows for every count and width tried."""
        check_is_fitted(self)
        n_widths, n_counts = self.leave_one_out_scores_.shape
        return pd.DataFrame(
            {
                "n_neighbors": np.tile(self.counts_tried_, n_widths),
                "width": np.repeat(self.widths_tried_, n_counts),
                "log_score": self.leave_one_out_scores_.ravel(),
            }
        )

    @property
    def _setting(self) -> NeighborSetting:
        return NeighborSetting(
            self.weights,
            self.n_neighbors,
            self.width,
            self.max_neighbors,
            self.prior_strength,
        )

    def _arrange(self, X: Array, weight: Array) -> None:
        neighborhood = Neighborhood.of(X, weight, self.standardize)
        self._setting.require_rows(neighborhood)
        neighborhood.search.build()
        self.neighborhood_ = neighborhood

    def _set_choice(self, choice: Choice) -> None:
        self.counts_tried_, self.widths_tried_ = choice.counts, choice.widths
        self.leave_one_out_scores_ = choice.scores
        self.n_neighbors_, self.width_ = choice.n_neighbors, choice.width
        is_chosen = isinstance(self.n_neighbors, str)
        self.notes_ = choice.notes(is_chosen, self.max_neighbors)


def _require_count(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if isinstance(value, str) and choices:
        require_choice(name, value, choices)
    elif not (isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1):
        wanted = "".join(f" or '{choice}'" for choice in choices)
        raise ValueError(
            f"{name} must be a positive whole number{wanted}; found {value!r}. "
            "Pass how many neighbors to ask."
        )


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

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (
            cls(),
            cls(3),
            cls(weights="gaussian"),
            cls(4, prior_strength=0.0),
            Example(cls(5, standardize=False), unit_free=False),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the rows, and choose what is to be chosen."""
        self._check_settings()
        rows = first_labeled_rows(self, X, y, sample_weight)
        kept = slice(None) if (rows.weight > 0).all() else rows.weight > 0
        self._arrange(rows.x[kept], rows.weight[kept])
        self.codes_ = rows.code[kept]
        frequency = self._frequency() + 1.0
        self.prior_probability_ = frequency / frequency.sum()
        self._set_choice(self._choice())
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

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        given = cls(5, "gaussian", width=0.7, prior_strength=0.0)
        return cls(), cls(3), cls(weights="gaussian"), given

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
        self._set_choice(choice)
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

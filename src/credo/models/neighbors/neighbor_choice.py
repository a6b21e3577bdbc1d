"""How many neighbors to ask, and how near: chosen by leaving each row out in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from credo.models.contract.inputs import require_choice
from credo.models.neighbors.neighborhood import Gathered, Neighborhood
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.neighbors import running_sums

__all__ = ["Choice", "NeighborChooser", "NeighborSetting", "choose"]

Index = NDArray[np.intp]

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

    def _hold(self, choice: Choice) -> None:
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

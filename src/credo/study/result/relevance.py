"""Relevance of columns to a Gaussian process: how many length scales each of them spans."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.features.basis import column_spread
from credo.models.ensemble.average import ModelAverage
from credo.models.kernel.gaussian_process_regressor import GaussianProcessRegressor
from credo.study.result.wording import number

__all__ = ["Relevance", "RelevanceList", "column_relevance", "leading_process"]

N_RELEVANT = 5
"""As many fit into a sentence."""


class Relevance(NamedTuple):
    """One standard deviation of a column in length scales of the process, with its interval."""

    column: str
    value: float
    low: float
    high: float


class RelevanceList(NamedTuple):
    """Relevances, the largest first, the candidate they are of, and the intervals' coverage."""

    candidate: str
    relevances: tuple[Relevance, ...]
    coverage: float

    def sentence(self) -> str:
        """Return the largest of them in one sentence."""
        parts = ", ".join(
            f"{column!r} {number(value, 2)} ({number(low, 2)} to {number(high, 2)})"
            for column, value, low, high in self.relevances[:N_RELEVANT]
        )
        return (
            f"The surface of {self.candidate} bends most along, in length scales per standard "
            f"deviation of a column: {parts}."
        )


def leading_process(average: ModelAverage) -> GaussianProcessRegressor | None:
    """Return the most probable candidate if it is a Gaussian process."""
    found = average.estimators_[int(np.argmax(average.probability_))]
    return found if isinstance(found, GaussianProcessRegressor) else None


def column_relevance(average: ModelAverage, coverage: float = 0.9) -> RelevanceList:
    """Return how much each column bends the surface of the most probable candidate.

    There are none if it is no Gaussian process. A column that does nothing has a length scale
    far larger than its spread, and a relevance near zero.
    """
    name = average.names_[int(np.argmax(average.probability_))]
    process = leading_process(average)
    if process is None:
        return RelevanceList(name, (), coverage)
    table = process.settings(coverage)
    lengths = table[[str(setting).startswith("length_scale") for setting in table.index]]
    rows = process.posterior_.data.x
    used = np.flatnonzero(column_spread(rows, 0.0) > 0)
    found = [
        Relevance(str(process.feature_names_in_[place]), *(spread / scale))
        for place, spread, scale in zip(
            used,
            rows[:, used].std(axis=0),
            lengths[["value", "high", "low"]].to_numpy(),
            strict=True,
        )
    ]
    order = sorted(found, key=lambda relevance: -relevance.value)
    return RelevanceList(name, tuple(order), coverage)

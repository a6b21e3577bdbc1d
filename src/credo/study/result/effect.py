"""Weights in one currency: how far a prediction moves per standard deviation of a term."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from credo.models.ensemble.average import ModelAverage
from credo.models.linear.linear_regression import LinearRegression
from credo.study.candidates.slate import CONSTANT, LINEAR, READABLE
from credo.study.result.wording import number, percent

__all__ = ["N_EFFECTS", "Effect", "EffectList", "strongest_effects"]

N_EFFECTS = 5
"""As many fit into a sentence."""

LEAST_PROBABILITY = 1e-3
"""A candidate less probable explains nothing."""


class Effect(NamedTuple):
    """Change of the prediction when a term rises by one standard deviation of its own."""

    term: str
    mean: float
    sd: float
    low: float
    high: float


class EffectList(NamedTuple):
    """Effects, the strongest first, the candidate they are of, and the intervals' coverage."""

    candidate: str
    effects: tuple[Effect, ...]
    coverage: float

    def table(self) -> pd.DataFrame:
        """Return the effects as a table by term."""
        return pd.DataFrame(self.effects).set_index("term")

    def sentence(self) -> str:
        """Return all effects in one sentence."""
        effects = ", ".join(
            f"{term!r} {number(mean)} ({number(low)} to {number(high)})"
            for term, mean, _, low, high in self.effects
        )
        return (
            f"The strongest weights of {self.candidate}, as change of the prediction per "
            f"standard deviation of a term, the largest first, with {percent(self.coverage)} "
            f"intervals: {effects}."
        )


def strongest_effects(average: ModelAverage, at_most: int, coverage: float = 0.9) -> EffectList:
    """Return the strongest effects of the most probable candidate, if it can be read.

    Terms of splines and radial functions have no meaning of their own; where they win, the
    effects are those of the linear candidate, a coarser story of the same data, unless that
    is less probable than `LEAST_PROBABILITY`: a story that is not true.
    """
    winner = average.names_[int(np.argmax(average.probability_))]
    candidate = winner if winner in READABLE else LINEAR
    shares = dict(zip(average.names_, average.probability_, strict=True))
    if winner == CONSTANT or shares.get(candidate, 0.0) < LEAST_PROBABILITY:
        return EffectList(candidate, (), coverage)
    model: LinearRegression = average.named_estimators_[candidate]
    table = model.coefficients(coverage)
    statistics = model.statistics_
    spread = np.sqrt(statistics.x_scatter_diagonal / statistics.weight)
    scaled = table[["mean", "sd", "low", "high"]].to_numpy() * spread[:, None]
    order = np.argsort(-np.abs(scaled[:, 0]), kind="stable")[:at_most]
    effects = tuple(Effect(str(table.index[i]), *map(float, scaled[i])) for i in order)
    return EffectList(candidate, effects, coverage)

"""Ten-fold refits from statistics, against one fit."""

from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from benchmarks.harness import Case, Contender, Goal
from benchmarks.linear_data import LinearData, linear_data
from credo.models.linear_regression import LinearRegression

__all__ = ["CASES"]

N_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Folded:
    """Rows, the fold of each, and a model fitted to all of them."""

    rows: LinearData
    label: np.ndarray
    model: LinearRegression


def folded() -> Folded:
    rows = linear_data(50_000, 100)
    label = np.random.default_rng(1).permutation(np.arange(len(rows.y)) % N_FOLDS)
    return Folded(rows, label, one_fit(Folded(rows, label, LinearRegression())))


def one_fit(data: Folded) -> LinearRegression:
    return LinearRegression().fit(data.rows.X, data.rows.y)


def refits(data: Folded) -> list[LinearRegression]:
    folds = data.model.summarize_groups(data.rows.X, data.rows.y, data.label, N_FOLDS)
    total = reduce(add, folds)
    return [copy(data.model).fit_statistics(total - fold) for fold in folds]


def refits_with_scores(data: Folded) -> np.ndarray:
    scores = np.empty(len(data.label))
    for i, model in enumerate(refits(data)):
        rows = np.flatnonzero(data.label == i)
        predictive = model.predict_dist(data.rows.X.take(rows, axis=0))
        scores[rows] = predictive.log_prob(data.rows.y.take(rows))
    return scores


CASES = (
    Case(
        name="N=50,000 D=100, ten folds",
        data=folded,
        contenders={
            "one fit": Contender(one_fit),
            "ten refits": Contender(refits),
            "ten refits and row log scores": Contender(refits_with_scores),
        },
        reference="one fit",
        goals=(
            Goal("ten refits", at_most=2.0),
            Goal("ten refits and row log scores", at_most=5.0),
        ),
        repeats=10,
    ),
)

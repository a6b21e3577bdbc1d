"""Ten-fold refits from statistics, against one fit."""

from functools import reduce
from operator import add

import numpy as np

from benchmarks.harness import Case, Contender, Goal
from benchmarks.linear_data import LinearData, linear_data
from credo.models.linear_regression import LinearRegression

__all__ = ["CASES"]

N_FOLDS = 10


def one_fit(data: LinearData) -> list[LinearRegression]:
    return [LinearRegression().fit(data.X, data.y)]


def refits(data: LinearData) -> list[LinearRegression]:
    folds = LinearRegression().summarize(data.X, data.y, groups=_labels(data), n_groups=N_FOLDS)
    total = reduce(add, folds)
    return [LinearRegression().fit_statistics(total - fold) for fold in folds]


def refits_with_scores(data: LinearData) -> tuple[list[LinearRegression], np.ndarray]:
    models, labels = refits(data), _labels(data)
    scores = np.empty(len(data.y))
    for i, model in enumerate(models):
        rows = labels == i
        scores[rows] = model.predict_dist(data.X[rows]).log_prob(data.y[rows])
    return models, scores


def _labels(data: LinearData) -> np.ndarray:
    return np.arange(len(data.y)) % N_FOLDS


CASES = (
    Case(
        name="N=50,000 D=100, ten folds",
        data=lambda: linear_data(50_000, 100),
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

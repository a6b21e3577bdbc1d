"""Ten-fold cross-validation from statistics, against one fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contender, Goal
from benchmarks.linear_data import LinearData, linear_data
from credo.models.linear.linear_regression import LinearRegression
from credo.validation.cross_validation import cross_validate
from credo.validation.splits import fold_labels, refit_folds

__all__ = ["CASES"]


@dataclass(frozen=True, eq=False)
class Folded:
    """Rows, and the fold of each."""

    rows: LinearData
    labels: np.ndarray


def folded() -> Folded:
    rows = linear_data(50_000, 100)
    return Folded(rows, fold_labels(len(rows.y), 10, np.random.default_rng(0)))


def one_fit(data: Folded) -> Any:
    return LinearRegression().fit(data.rows.X, data.rows.y)


def refits(data: Folded) -> Any:
    return refit_folds(LinearRegression(), data.rows.X, data.rows.y, data.labels)


def with_row_scores(data: Folded) -> Any:
    return cross_validate(LinearRegression(), data.rows.X, data.rows.y, labels=data.labels)


CASES = (
    Case(
        name="N=50,000 D=100, ten folds",
        data=folded,
        contenders={
            "one fit": Contender(one_fit),
            "ten refits": Contender(refits),
            "ten refits and row log scores": Contender(with_row_scores),
        },
        reference="one fit",
        goals=(
            Goal("ten refits", at_most=2.0),
            Goal("ten refits and row log scores", at_most=5.0),
        ),
        repeats=10,
    ),
)

"""Building the statistics of regression against the least arithmetic that could do it."""

import numpy as np
from scipy.linalg import blas

from benchmarks.harness import Case, Contender, Goal
from benchmarks.linear_data import LinearData, linear_data
from credo.families.linear import LinearStatistics

__all__ = ["CASES"]


def credo(data: LinearData) -> np.ndarray:
    return LinearStatistics.of(data.X, data.y).moments.scatter


def dsyrk(data: LinearData) -> np.ndarray:
    # The transpose is in Fortran order, so that BLAS reads the rows without copying them.
    return np.asarray(blas.dsyrk(1.0, data.X.T))


def matmul(data: LinearData) -> np.ndarray:
    return np.asarray(data.X.T @ data.X)


def error(data: LinearData, answer: np.ndarray) -> float:
    """Return the largest relative error of the centered sums of squares, where centered."""
    d = data.X.shape[1]
    if len(answer) == d:
        answer = answer - len(data.X) * np.outer(data.X.mean(axis=0), data.X.mean(axis=0))
    exact = len(data.X) * data.X.var(axis=0)
    return float(np.abs(np.diag(answer)[:d] / exact - 1).max())


def case(n_samples: int, n_features: int, at_most: float) -> Case:
    return Case(
        name=f"N={n_samples:,} D={n_features}",
        data=lambda: linear_data(n_samples, n_features),
        contenders={
            "credo": Contender(credo),
            "dsyrk": Contender(dsyrk, "scipy"),
            "X.T @ X": Contender(matmul, "numpy"),
        },
        reference="dsyrk",
        quality={"relative error": error},
        goals=(Goal("credo", at_most=at_most),),
        repeats=15,
    )


CASES = (case(50_000, 100, at_most=2.0), case(500_000, 20, at_most=3.0))

"""Fits with the threads that credo chooses, beside one and two threads for all of them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.harness import Case, Contender, Goal
from credo.models.linear.linear_regression import LinearRegression
from credo.models.linear.logistic_regression import LogisticRegression
from credo.numerics.parallel import threads

__all__ = ["CASES"]

SHAPES = ((100, 3), (569, 30), (2_000, 50), (10_000, 100), (100_000, 100))
Data = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]
Fit = Callable[[Data], Any]


@cache
def data(n: int, d: int) -> Data:
    """Return inputs, a number that is linear in them with noise, and whether it is positive."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    y = x @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
    return x, y, (y > 0).astype(np.intp)


def on_one(fit: Fit) -> Fit:
    def limited(rows: Data) -> Any:
        with threadpool_limits(1, "blas"):
            return fit(rows)

    return limited


def on_all(fit: Fit) -> Fit:
    """Let matrix products take all threads, however small they are."""

    def unlimited(rows: Data) -> Any:
        ask = threads._Limits.ask
        threads._Limits.ask = lambda self, kind, change: None
        try:
            return fit(rows)
        finally:
            threads._Limits.ask = ask

    return unlimited


FITS: dict[str, Fit] = {
    "linear": lambda rows: LinearRegression().fit(rows[0], rows[1]),
    "logistic": lambda rows: LogisticRegression().fit(rows[0], rows[2]),
}


def case(name: str, n: int, d: int) -> Case:
    fit = FITS[name]
    return Case(
        name=f"{name} regression, {n:,} x {d}",
        data=lambda: data(n, d),
        contenders={
            "credo": Contender(fit),
            "one thread": Contender(on_one(fit)),
            "all threads": Contender(on_all(fit)),
        },
        # As quick as the better of both, but for a fifth.
        goals=(Goal("one thread", at_least=1 / 1.2), Goal("all threads", at_least=1 / 1.2)),
        repeats=9 if n <= 2_000 else 3,
    )


CASES = tuple(case(name, n, d) for name in FITS for n, d in SHAPES)

"""How far predictions of test rows are off: typically, and where a few rows decide."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.study.counting import count
from credo.study.result.wording import number, percent

__all__ = ["ErrorSummary"]

FEW = 0.01
"""Share of the rows, at least one of them, that should not decide about all."""

DECISIVE = 0.75
"""Share of the squared errors by which they do: without them the root is half as large."""

OUTLYING = 5.0
"""Those of them are put apart whose error is so many times the root of the others."""


class ErrorSummary(NamedTuple):
    """Errors of test rows, with the rows apart whose errors drown all others.

    Attributes
    ----------
    median
        Half of the rows are off by at most this.
    rmse, r_squared
        Root mean squared error, and share of the variance explained, without the worst rows;
        NaN where nothing varies.
    worst
        The few rows that make up most of the squared errors, if any do, the worst first.
    worst_error
        How far the worst row of all is off.
    """

    median: float
    rmse: float
    r_squared: float
    worst: NDArray[np.intp]
    worst_error: float

    @classmethod
    def of(cls, mean: Array, y: Array) -> ErrorSummary:
        """Return the summary of predictions ``mean`` of outcomes ``y``."""
        squares = (y - mean) ** 2
        order = np.argsort(-squares, kind="stable")
        few, rest = np.split(order, [max(1, int(FEW * len(y)))])
        is_decided = len(rest) > 0 and squares[few].sum() > DECISIVE * squares.sum()
        worst = (
            few[squares[few] > OUTLYING**2 * squares[rest].mean()] if is_decided else few[:0]
        )
        usual = np.delete(np.arange(len(y)), worst)
        mean_square = squares[usual].mean()
        spread = y[usual].var()
        return cls(
            median=float(np.sqrt(np.median(squares))),
            rmse=float(np.sqrt(mean_square)),
            r_squared=float(1 - mean_square / spread) if np.ptp(y[usual]) > 0 else np.nan,
            worst=worst,
            worst_error=float(np.sqrt(squares.max())),
        )

    @property
    def share(self) -> str:
        """What share of the variance is explained, in words."""
        return "none" if self.r_squared < 0 else percent(self.r_squared)

    @property
    def left_out(self) -> str:
        """Which rows the root mean squared error is without, in words; nothing if none."""
        if len(self.worst) == 0:
            return ""
        worst = "row" if len(self.worst) == 1 else count(len(self.worst), "row")
        return f"without the worst {worst}"

    def sentence(self, rmse: float) -> str:
        """Return a caution about the worst rows.

        Parameters
        ----------
        rmse
            The root mean squared error of all rows.
        """
        some = count(len(self.worst), "test row")
        verb = "decides" if len(self.worst) == 1 else "decide"
        return (
            f"{some} {verb} about the error: predictions are off by {number(rmse)} with and by "
            f"{number(self.rmse)} {self.left_out}, of which one is off by "
            f"{number(self.worst_error)}; look at what is odd about it."
        )

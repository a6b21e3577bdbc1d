"""One number of an evaluation, with the range that chance leaves open and its direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from credo.distributions.estimate import Estimate
from credo.numerics.array import Array

__all__ = ["Score", "score_table", "weighted_mean"]


@dataclass(frozen=True)
class Score:
    """A named score with its interval.

    Attributes
    ----------
    name
        What was measured.
    value
        The score of the rows at hand; NaN where it is not defined, which ``note`` explains.
    low, high
        Interval for the score of endless rows of the same kind.
    higher_is_better
        True or False; None if best is neither, such as coverage.
    method
        How the interval was found.
    note
        What a reader must know besides, such as why there is no value.

    Examples
    --------
    >>> print(Score("accuracy", 0.9, 0.85, 0.94, True, "exact"))
    accuracy 0.9 (0.85 to 0.94), higher is better
    >>> f"{Score('accuracy', 0.9, 0.85, 0.94, True, 'exact'):.3f}"
    '0.900'
    """

    name: str
    value: float
    low: float
    high: float
    higher_is_better: bool | None
    method: str
    note: str = ""

    def __float__(self) -> float:
        """Return the value, as scikit-learn's metrics do."""
        return float(self.value)

    def __format__(self, spec: str) -> str:
        """Return the value in a format such as ``.3f``, or the whole in words."""
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        side = {True: ", higher is better", False: ", lower is better", None: ""}
        numbers = f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"
        if np.isinf(self.value):
            numbers = "has no finite value"
        note = f"; {self.note}" if self.note else ""
        return f"{self.name} {numbers}{side[self.higher_is_better]}{note}"

    @classmethod
    def of_estimate(
        cls,
        name: str,
        estimate: Estimate,
        coverage: float,
        higher_is_better: bool | None,
        method: str = "normal",
    ) -> Score:
        """Return the score of a mean, with its normal interval."""
        low, high = (float(end) for end in estimate.interval(coverage))
        value = float(estimate.value)
        note = "what came true was impossible in some row" if np.isinf(value) else ""
        return cls(name, value, low, high, higher_is_better, method, note)


def score_table(scores: Iterable[Score]) -> pd.DataFrame:
    """Return scores as a table, one row for each, by name.

    Examples
    --------
    >>> score_table([Score("accuracy", 0.9, 0.85, 0.94, True, "exact")])["value"]
    score
    accuracy    0.9
    Name: value, dtype: float64
    """
    columns = ["value", "low", "high", "higher_is_better", "method", "note"]
    rows = list(scores)
    return pd.DataFrame(
        {column: [getattr(row, column) for row in rows] for column in columns},
        index=pd.Index([row.name for row in rows], name="score"),
    )


def weighted_mean(values: Array, weight: Array) -> Estimate:
    """Return the mean of rows that count differently, with its standard error."""
    # A row of no weight must not turn an impossible outcome into no number.
    values, weight = values[weight > 0], weight[weight > 0]
    total, n = weight.sum(), len(weight)
    mean = weight @ values / total
    # An impossible outcome scores minus infinity, and so does the mean; it has no error.
    with np.errstate(invalid="ignore"):
        spread = np.sqrt((weight**2) @ (values - mean) ** 2) / total
    error = spread * np.sqrt(n / (n - 1)) if n > 1 else np.nan
    return Estimate(np.asarray(mean), np.asarray(error))

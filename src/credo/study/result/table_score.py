"""How good predictions of the rows of a table are, once their targets are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.distributions.categorical import Categorical
from credo.study.result.wording import count, number, percent, plus_minus
from credo.validation.mixture_score import mean_score
from credo.validation.scores import is_covered, squared_error

__all__ = ["TableScore"]


@dataclass(frozen=True)
class TableScore:
    """Scores of predictions of rows, as plain numbers; those that do not apply are NaN.

    Attributes
    ----------
    n_rows
        Rows whose target is known.
    log_score, log_score_error
        Mean log density or probability of what came true, and its standard error.
    rmse, r_squared
        Root mean squared error, and share of the variance explained, of numbers.
    coverage, level
        Share of rows inside their interval, of numbers, and the probability that it has.
    accuracy
        Share of rows whose most probable class came true.
    """

    n_rows: int
    log_score: float
    log_score_error: float
    rmse: float = np.nan
    r_squared: float = np.nan
    coverage: float = np.nan
    level: float = np.nan
    accuracy: float = np.nan

    def sentence(self, target: str) -> str:
        """Return the scores of predictions of a column in one sentence."""
        rows = f"On {count(self.n_rows, 'row')} whose {target!r} is known, predictions "
        log_score = "some rows came out as what was given no probability"
        if np.isfinite(self.log_score):
            log_score = (
                f"log score per row {plus_minus(self.log_score, self.log_score_error, 3)}"
            )
        if np.isnan(self.rmse):
            return f"{rows}are wrong for {percent(1 - self.accuracy)}; {log_score}."
        return (
            f"{rows}are off by {number(self.rmse)} (RMSE), and {percent(self.coverage)} of the "
            f"rows are inside their interval of {percent(self.level)}; {log_score}."
        )

    @classmethod
    def of(cls, predictive: Any, y: NDArray[Any], coverage: float) -> TableScore:
        """Return the scores of predictions of ``y``; ``coverage`` is that of the intervals.

        Examples
        --------
        >>> predictive = Categorical([[0.8, 0.2], [0.8, 0.2]], labels=["a", "b"])
        >>> score = TableScore.of(predictive, np.array(["a", "a"]), 0.9)
        >>> score.accuracy, round(score.log_score, 3)
        (1.0, -0.223)
        """
        mean = mean_score(predictive.log_prob(y))
        common = (len(y), float(mean.value), float(mean.standard_error))
        if isinstance(predictive, Categorical):
            return cls(*common, accuracy=float(np.mean(predictive.mode() == y)))
        squared = float(squared_error(y, predictive).mean())
        return cls(
            *common,
            rmse=float(np.sqrt(squared)),
            r_squared=1 - squared / float(y.var()) if np.ptp(y) > 0 else np.nan,
            coverage=float(is_covered(y, predictive, coverage).mean()),
            level=coverage,
        )

"""One model in a comparison: its held-out answers, its evidence and its cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.engine.model_evidence import Evidence
from credo.numerics.array import Array
from credo.validation.cross_validation import planned_scores
from credo.validation.fold_fit import TrainingRows
from credo.validation.outcome import Outcome
from credo.validation.predictive import has_predictive
from credo.validation.split_plan import NEVER, SplitPlan

__all__ = ["Trial", "trial"]


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of one model.

    Attributes
    ----------
    name
        Of the model.
    log_score
        Of each held-out row, shape (n,); NaN where the model gives no probabilities. Of a
        regressor that only has ``predict``, that of a normal fitted to its residuals.
    predicted
        What it would have answered in each held-out row, a class or a number.
    evidence
        Of the fit to all rows.
    seconds
        That fitting all rows took.
    failure
        Why the model could not be fitted; None if it could.
    has_own_spread
        Whether the model says by itself how far off it may be.
    """

    name: str
    log_score: Array
    predicted: NDArray[Any]
    evidence: Evidence
    seconds: float
    failure: Exception | None = None
    has_own_spread: bool = True

    @property
    def error(self) -> str:
        """The failure in words, with what it came from; empty if there is none."""
        return "" if self.failure is None else _words(self.failure)


def trial(name: str, model: Any, X: Any, outcome: Outcome, plan: SplitPlan) -> Trial:
    """Return held-out scores, evidence and time of a model, or why it failed.

    A failure is that data or settings were refused, or that numbers or a run went wrong. Other
    errors, such as a wrong name, are mistakes in a program: they are raised, and say in which
    model.
    """
    rows = TrainingRows.of(X, outcome, None)
    try:
        held = planned_scores(model, rows, plan)
        _require_predictions(outcome, held.predicted, plan.fold != NEVER)
        start = time.perf_counter()
        fitted = rows.fit(model)
        seconds = time.perf_counter() - start
        evidence = Evidence.of_model(fitted)
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as failure:
        nothing = np.empty(0)
        return Trial(name, nothing, nothing, Evidence(np.nan, "none", "", ()), 0.0, failure)
    except Exception as error:
        error.add_note(f"This happened while {name!r} was compared with other models.")
        raise
    has_own_spread = outcome.classes is not None or has_predictive(fitted)
    return Trial(name, held.log_score, held.predicted, evidence, seconds, None, has_own_spread)


def _require_predictions(
    outcome: Outcome, predicted: NDArray[Any], is_held_out: NDArray[np.bool_]
) -> None:
    if outcome.classes is None and np.isnan(predicted[is_held_out]).any():
        raise ValueError(
            "predictions must have a mean in every held-out row; found rows without one, as of "
            "a Student t with 1 degree of freedom, learned from 2 rows. Add rows, or use more "
            "folds, so that each is learned from more."
        )


def _words(failure: BaseException) -> str:
    found = f"{type(failure).__name__}: {failure}"
    hidden = None if failure.__suppress_context__ else failure.__context__
    source = failure.__cause__ or hidden
    return found if source is None else f"{found} (from {_words(source)})"

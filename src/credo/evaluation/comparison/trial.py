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
from credo.validation.split_plan import SplitPlan

__all__ = ["Trial", "trial"]


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of one model.

    Attributes
    ----------
    name
        Of the model.
    log_score
        Of each held-out row, shape (n,); NaN where the model gives no probabilities.
    predicted
        What it would have answered in each held-out row, a class or a number.
    evidence
        Of the fit to all rows.
    seconds
        That fitting all rows took.
    failure
        Why the model could not be fitted; None if it could.
    """

    name: str
    log_score: Array
    predicted: NDArray[Any]
    evidence: Evidence
    seconds: float
    failure: Exception | None = None

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
    return Trial(name, held.log_score, held.predicted, evidence, seconds)


def _words(failure: BaseException) -> str:
    found = f"{type(failure).__name__}: {failure}"
    hidden = None if failure.__suppress_context__ else failure.__context__
    source = failure.__cause__ or hidden
    return found if source is None else f"{found} (from {_words(source)})"

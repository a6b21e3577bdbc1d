"""One combination of settings in a search: its fit, its evidence, its held-out scores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.engine.model_evidence import LEARNED, TRANSFORMED, Evidence
from credo.models.ensemble.fold import TrainingRows, held_out
from credo.numerics.array import Array

__all__ = ["Candidate", "candidate", "comparable", "search_results"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Candidate:
    """What came of one combination of settings.

    Attributes
    ----------
    fitted
        The model fitted to all rows; None if it failed.
    evidence
        Its evidence, and with which others it can be compared.
    log_score
        Of each held-out row; NaN where there is none.
    mean, error
        Weighted mean of these with its standard error.
    seconds
        Time that fitting all rows took.
    failure
        Why it failed.
    """

    fitted: Any
    evidence: Evidence
    log_score: Array
    mean: float
    error: float
    seconds: float
    failure: Exception | None = None


def candidate(
    model: Any, rows: TrainingRows, pairs: Sequence[tuple[Rows, Rows]] | None
) -> Candidate:
    """Return the fit, evidence and held-out scores of a model, or why it failed.

    Failures are refusals of data or settings; errors of programming are raised.
    """
    nothing = np.full(len(rows), np.nan)
    try:
        start = time.perf_counter()
        fitted = rows.fit(model)
        seconds = time.perf_counter() - start
        log_score = nothing
        if pairs is not None and _has_probability(fitted, rows.classes is not None):
            log_score = held_out([model], rows, pairs)[0].log_score
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as failure:
        none = Evidence(np.nan, "none", "", ())
        return Candidate(None, none, nothing, np.nan, np.nan, np.nan, failure)
    mean, error = _mean(log_score, rows.weight)
    return Candidate(fitted, Evidence.of_model(fitted), log_score, mean, error, seconds)


def comparable(found: Sequence[Candidate]) -> str:
    """Return why the evidences of candidates cannot be compared; empty if they can."""
    evidences = [c.evidence for c in found if c.failure is None]
    if any(e.reason == TRANSFORMED for e in evidences):
        return "the evidence is of inputs that a step of the pipeline has changed"
    if any(e.reason == LEARNED for e in evidences):
        return "a step of the pipeline has learned from the outcomes"
    if any(np.isnan(e.value) for e in evidences):
        return "not every setting has an evidence"
    if len({e.method == "bound" for e in evidences}) > 1:
        return "some evidences are bounds"
    if len({e.key for e in evidences}) > 1:
        return "the evidences rest on different flat priors or are of different things"
    return ""


def search_results(
    grid: Sequence[dict[str, Any]], found: Sequence[Candidate], score: Array
) -> dict[str, list[Any]]:
    """Return one list for each column, one entry for each candidate."""
    names = sorted({name for params in grid for name in params})
    rank = 1 + (score[None, :] > score[:, None]).sum(axis=1)
    return {
        "params": list(grid),
        **{f"param_{name}": [params.get(name) for params in grid] for name in names},
        "log_evidence": [c.evidence.value for c in found],
        "evidence_method": [c.evidence.method for c in found],
        "mean_test_score": [c.mean for c in found],
        "std_test_score": [c.error for c in found],
        "rank_test_score": [int(r) for r in rank],
        "mean_fit_time": [c.seconds for c in found],
        "error": [_words(c.failure) for c in found],
    }


def _words(failure: Exception | None) -> str:
    return "" if failure is None else f"{type(failure).__name__}: {failure}"


def _has_probability(fitted: Any, is_classifier: bool) -> bool:
    inner = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    return hasattr(inner, "predict_proba" if is_classifier else "predict_dist")


def _mean(log_score: Array, weight: Array) -> tuple[float, float]:
    """Return the weighted mean of known scores and its standard error."""
    known = ~np.isnan(log_score) & (weight > 0)
    if not known.any():
        return np.nan, np.nan
    share = weight[known] / weight[known].sum()
    mean = float(share @ log_score[known])
    if not np.isfinite(mean):
        return mean, np.nan
    return mean, float(np.sqrt((share**2) @ (log_score[known] - mean) ** 2))

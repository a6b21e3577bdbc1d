"""What the pictures of numbers and of classes share: scores, sizes, and names of places."""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy as np

from credo.numerics.array import Array
from credo.plots.drawing import LogScores
from credo.study.report.content import Picture
from credo.study.result.table_model import CandidateScore, ClassScore
from credo.study.result.wording import number

__all__ = ["SMALL", "SQUARE", "list_size", "log_scores", "tick_names"]

SQUARE, SMALL = (5.2, 4.3), (3.3, 2.3)


def log_scores(scores: Sequence[CandidateScore | ClassScore]) -> Picture:
    """Return the log scores of candidates and their mixture with standard errors."""
    columns = ("log_score", "log_score_error", "cv_log_score", "cv_log_score_error")
    values = [np.array([getattr(score, name) for score in scores]) for name in columns]
    drawing = LogScores(tuple(score.name for score in scores), *values)
    return Picture("scores", list_size(scores), drawing)


def tick_names(x: Array, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return names for the places of levels, and for one or two numbers."""
    if labels or len(x) > 2:
        return labels
    return tuple(number(float(value), 4) for value in x)


def list_size(rows: Sized) -> tuple[float, float]:
    """Return the size of a picture with one line for each of the rows."""
    return 5.2, 0.7 + 0.4 * len(rows)

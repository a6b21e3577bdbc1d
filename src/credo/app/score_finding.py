"""Sentences on models that gave probability zero to what came true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from credo.app.sentence import Finding
from credo.app.wording import listed
from credo.data.table_classification import ClassScore
from credo.data.table_regression import CandidateScore

__all__ = ["impossible_findings"]


def impossible_findings(scores: Sequence[CandidateScore | ClassScore]) -> Iterator[Finding]:
    """Yield a caution on the models that have no log score in the folds or on the test."""
    places = {"cv_log_score": "a left-out training row", "log_score": "a test row"}
    for place, row in places.items():
        names = [score.name for score in scores if np.isneginf(getattr(score, place))]
        if names:
            yield Finding(
                "caution",
                f"{listed(names)} gave probability zero to what came true in {row}, so that "
                "there is no log score to show; weights rest on the rows that some model "
                "deemed possible. Add rows, or join values that occur only a few times.",
            )

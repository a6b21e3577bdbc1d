"""Sentences on models that gave little or no probability to what came true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from credo.study.remark.remark import Finding
from credo.study.result.table_classification import ClassScore
from credo.study.result.table_regression import CandidateScore
from credo.study.result.wording import listed, number

__all__ = ["failed_findings", "impossible_findings"]

FAR_BELOW = 1.0
"""So much less log score per row than without any column is a failure, not a poor fit."""

COUNTED = 1e-3
"""Candidates of less probability are not worth a caution."""


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


def failed_findings(
    scores: Sequence[CandidateScore], alone: CandidateScore
) -> Iterator[Finding]:
    """Yield a caution on the models that do far worse in the folds than the mean alone."""
    failed = [
        score
        for score in scores
        if -np.inf < score.cv_log_score < alone.cv_log_score - FAR_BELOW
        and score.probability >= COUNTED
    ]
    if failed:
        told = [
            f"{score.name} ({number(score.cv_log_score, 3)} ± "
            f"{number(score.cv_log_score_error, 2)})"
            for score in failed
        ]
        yield Finding(
            "caution",
            f"Cross-validation gives {listed(told)} far less log score per row than the mean "
            f"alone ({number(alone.cv_log_score, 3)}): left-out rows came out far from where "
            "they were predicted to lie. Do not trust such intervals; look for odd rows.",
        )

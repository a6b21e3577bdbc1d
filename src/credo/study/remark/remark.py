"""Remarks on a study: plain sentences on what to believe of it and what not to, with a tone.

Those that follow for numbers and for classes alike are made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from credo.study.result.held_out import HeldOut
from credo.study.result.table_model import CandidateScore, ClassScore, Remark
from credo.study.result.wording import count, listed, number

__all__ = [
    "FEWEST_FOR_SHARES",
    "FEW_TEST_ROWS",
    "LEAST_WEIGHT",
    "failure_remarks",
    "few_remarks",
    "impossible_remarks",
    "in_order",
    "outside_remarks",
]

FEW_TEST_ROWS = 30
"""With fewer test rows nearly any share of hits may be chance."""

FEWEST_FOR_SHARES = 10
"""With fewer, one row changes a share of them by more than a tenth: none is shown large."""

LEAST_WEIGHT = 0.01
"""Candidates of less weight are not worth a word."""

OFTEN_OUTSIDE = 0.1
"""Share of test rows outside the training range from which on that is a caution."""

FAR_BELOW = 1.0
"""So much less log score per row than without any column is a failure, not a poor fit."""

COUNTED = 1e-3
"""Candidates of less probability are not worth a caution."""


def in_order(remarks: Sequence[Remark]) -> tuple[Remark, ...]:
    """Return remarks as they are, but with cautions last."""
    return tuple(sorted(remarks, key=lambda remark: remark.tone == "caution"))


def impossible_remarks(scores: Sequence[CandidateScore | ClassScore]) -> Iterator[Remark]:
    """Yield a caution on the models that have no log score in the folds or on the test."""
    places = {"cv_log_score": "a left-out training row", "log_score": "a test row"}
    for place, row in places.items():
        names = [score.name for score in scores if np.isneginf(getattr(score, place))]
        if names:
            yield Remark(
                "caution",
                f"{listed(names)} gave probability zero to what came true in {row}, so that "
                "there is no log score to show; weights rest on the rows that some model "
                "deemed possible. Add rows, or join values that occur only a few times.",
            )


def failure_remarks(
    scores: Sequence[CandidateScore], alone: CandidateScore
) -> Iterator[Remark]:
    """Yield a caution on the models that do far worse in the folds than the mean alone."""
    failed = [
        score
        for score in scores
        if -np.inf < score.cv_log_score < alone.cv_log_score - FAR_BELOW
        and score.probability >= COUNTED
    ]
    if failed:
        failures = [
            f"{score.name} ({number(score.cv_log_score, 3)} ± "
            f"{number(score.cv_log_score_error, 2)})"
            for score in failed
        ]
        yield Remark(
            "caution",
            f"Cross-validation gives {listed(failures)} far less log score per row than the "
            f"mean alone ({number(alone.cv_log_score, 3)}): left-out rows came out far from "
            "where they were predicted to lie. Do not trust such intervals; look for odd rows.",
        )


def few_remarks(n_test: int) -> Iterator[Remark]:
    """Yield a caution where few rows served as a test."""
    if n_test < FEW_TEST_ROWS:
        yield Remark(
            "caution",
            f"Only {count(n_test, 'row')} served as a test: the figures are rough, and another "
            "seed may give others.",
        )


def outside_remarks(held_out: HeldOut[Any]) -> Iterator[Remark]:
    """Yield the notes on test rows outside the training range."""
    is_often = held_out.is_outside.mean() > OFTEN_OUTSIDE
    for note in held_out.notes:
        yield Remark("caution" if is_often else "fact", f"On the test, {note}")

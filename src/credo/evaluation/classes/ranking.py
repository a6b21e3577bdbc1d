"""How well scores order rows: ROC and precision-recall curves, and the areas under them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.parameter import real
from credo.evaluation.classes.rank_area import Ranking, precision_score, roc_score
from credo.numerics.array import Array
from credo.numerics.quotation import quote
from credo.validation.outcome import MISSING, class_codes, coded, row_weights
from credo.validation.score import Score

__all__ = ["PrecisionRecallCurve", "RocCurve", "precision_recall_curve", "roc_curve"]


@dataclass(frozen=True, eq=False)
class RocCurve:
    """True against false positives as the threshold on a score falls.

    Attributes
    ----------
    false_positive_rate, true_positive_rate
        Share of the negative and of the positive rows at or above each threshold, from
        (0, 0) to (1, 1).
    threshold
        Falling; infinite at (0, 0). Rows of equal score pass together.
    area
        Area under the curve: the probability that a positive row scores above a negative
        one, ties counted half (Mann-Whitney). Half is no better than a coin.
    label
        The class that counts as positive.
    """

    false_positive_rate: Array
    true_positive_rate: Array
    threshold: Array
    area: Score
    label: Any

    @classmethod
    def of(cls, ranking: Ranking, label: Any, coverage: float) -> RocCurve:
        """Return the curve of ranked rows, of which some are positive and some are not."""
        return cls(
            np.append(0.0, ranking.negative_above / ranking.n_negative),
            np.append(0.0, ranking.positive_above / ranking.n_positive),
            np.append(np.inf, ranking.threshold),
            roc_score([ranking], coverage),
            label,
        )


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision against recall as the threshold on a score falls.

    Attributes
    ----------
    recall, precision
        Share of the positive rows found, and share of the rows at or above each threshold
        that are positive.
    threshold
        Falling, one for each point.
    average_precision
        Mean precision over the positive rows, each at its own score.
    base_rate
        Share of positive rows: the precision of a coin at every recall.
    label
        The class that counts as positive.
    """

    recall: Array
    precision: Array
    threshold: Array
    average_precision: Score
    base_rate: float
    label: Any

    @classmethod
    def of(cls, ranking: Ranking, label: Any, coverage: float) -> PrecisionRecallCurve:
        """Return the curve of ranked rows, of which some are positive and some are not."""
        return cls(
            ranking.positive_above / ranking.n_positive,
            ranking.precision,
            ranking.threshold,
            precision_score([ranking], coverage),
            ranking.n_positive / (ranking.n_positive + ranking.n_negative),
            label,
        )


def roc_curve(
    score: ArrayLike,
    y: ArrayLike,
    positive: Any = None,
    coverage: float = 0.9,
    weight: ArrayLike | None = None,
) -> RocCurve:
    """Return the ROC curve of a score for one class against the rest.

    Parameters
    ----------
    score
        Higher for rows more likely to be positive, such as a probability, shape (n_samples,).
    y
        What came true; rows without a class (NaN, None) are left out.
    positive
        The class that counts as positive; the second of two if None.
    coverage
        Probability of the interval of the area, by DeLong's variance on the logit scale; by
        Newcombe's score method where rows are parted without error.
    weight
        How much each row counts; 1 if None.

    Examples
    --------
    >>> curve = roc_curve([0.9, 0.8, 0.7, 0.6, 0.55, 0.4], [1, 1, 0, 1, 0, 0])
    >>> round(curve.area.value, 4)
    0.8889
    """
    return RocCurve.of(*_ranking(score, y, positive, weight), coverage)


def precision_recall_curve(
    score: ArrayLike,
    y: ArrayLike,
    positive: Any = None,
    coverage: float = 0.9,
    weight: ArrayLike | None = None,
) -> PrecisionRecallCurve:
    """Return the precision-recall curve of a score for one class against the rest.

    Takes what `roc_curve` takes. The interval of the average precision is by the
    infinitesimal jackknife on the logit scale.

    Examples
    --------
    >>> curve = precision_recall_curve([0.9, 0.8, 0.7], [1, 0, 1])
    >>> curve.precision.round(3), round(curve.average_precision.value, 3)
    (array([1.   , 0.5  , 0.667]), 0.833)
    """
    return PrecisionRecallCurve.of(*_ranking(score, y, positive, weight), coverage)


def _ranking(
    score: ArrayLike, y: ArrayLike, positive: Any, weight: ArrayLike | None
) -> tuple[Ranking, Any]:
    scores = real("score", score)
    labels, codes = coded(y)
    if scores.shape != codes.shape:
        raise ValueError(
            f"score must hold one number for each class in y; found shape {scores.shape} for "
            f"{len(codes)} rows. Pass one column of predict_proba."
        )
    place = _place(labels, positive)
    known = codes != MISSING
    rows = row_weights(weight, len(codes))
    is_positive = codes[known] == place
    _require_both(rows[known], is_positive, labels[place])
    return Ranking.of(scores[known], is_positive, rows[known]), labels[place]


def _place(labels: NDArray[Any], positive: Any) -> int:
    if positive is not None:
        return int(class_codes([positive], labels)[0])
    if len(labels) != 2:
        raise ValueError(
            "y must hold 2 classes if positive is not given; found "
            f"{quote(labels[:8].tolist())}. Name the class that counts as positive, and pass "
            "rows of it and of others."
        )
    return 1


def _require_both(weight: Array, is_positive: NDArray[np.bool_], label: Any) -> None:
    if min(weight[is_positive].sum(), weight[~is_positive].sum()) <= 0:
        raise ValueError(
            "a curve needs rows of the positive class and rows of others; found "
            f"{is_positive.sum()} rows of {label!s} among {len(is_positive)}. Test on more "
            "rows, or keep the proportions of classes when splitting."
        )

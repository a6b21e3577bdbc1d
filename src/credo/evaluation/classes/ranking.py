"""How well scores order rows: ROC and precision-recall curves, and the areas under them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.parameter import real
from credo.evaluation.classes.rank_area import Ranking, average_precision_score, roc_score
from credo.numerics.array import Array
from credo.numerics.quotation import quote
from credo.validation.argument import (
    class_column,
    old_arguments,
    score_column,
    score_second,
)
from credo.validation.outcome import MISSING, coded, row_weights
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

    def __iter__(self) -> Iterator[Array]:
        """Yield what scikit-learn returns: ``fpr, tpr, thresholds = roc_curve(...)``."""
        yield from (self.false_positive_rate, self.true_positive_rate, self.threshold)


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
            average_precision_score([ranking], coverage),
            ranking.n_positive / (ranking.n_positive + ranking.n_negative),
            label,
        )

    def __iter__(self) -> Iterator[Array]:
        """Yield precision, recall and thresholds, as scikit-learn does, but falling."""
        yield from (self.precision, self.recall, self.threshold)


def _score_first(args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether names of the last release show that its order was meant."""
    return not named.keys().isdisjoint(RENAMED)


RENAMED = {
    "score": "y_score",
    "y": "y_true",
    "positive": "pos_label",
    "weight": "sample_weight",
}
_old_order = old_arguments(
    _score_first, "y_score y_true pos_label coverage sample_weight", **RENAMED
)


@_old_order
@score_second("roc_curve(y_true, y_score)")
def roc_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> RocCurve:
    """Return the ROC curve of a score for one class against the rest.

    Parameters
    ----------
    y_true
        What came true; rows without a class (NaN, None) are left out.
    y_score
        Higher for rows more likely to be positive, such as a probability, shape (n_samples,).
    pos_label
        The class that counts as positive; the second of two if None.
    sample_weight
        How much each row counts; 1 if None.
    coverage
        Probability of the interval of the area, by DeLong's variance on the logit scale; by
        Newcombe's score method where rows are parted without error.

    Examples
    --------
    >>> curve = roc_curve([1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.55, 0.4])
    >>> round(curve.area.value, 4)
    0.8889
    """
    wanted = "roc_curve(y_true, y_score)"
    ranking = _ranking(y_true, y_score, pos_label, sample_weight, wanted)
    return RocCurve.of(*ranking, coverage)


@_old_order
@score_second("precision_recall_curve(y_true, y_score)")
def precision_recall_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> PrecisionRecallCurve:
    """Return the precision-recall curve of a score for one class against the rest.

    Takes what `roc_curve` takes. The interval of the average precision is by the
    infinitesimal jackknife on the logit scale.

    Examples
    --------
    >>> curve = precision_recall_curve([1, 0, 1], [0.9, 0.8, 0.7])
    >>> curve.precision.round(3), round(curve.average_precision.value, 3)
    (array([1.   , 0.5  , 0.667]), 0.833)
    """
    wanted = "precision_recall_curve(y_true, y_score)"
    ranking = _ranking(y_true, y_score, pos_label, sample_weight, wanted)
    return PrecisionRecallCurve.of(*ranking, coverage)


def _ranking(
    y_true: ArrayLike,
    y_score: ArrayLike,
    pos_label: Any,
    sample_weight: ArrayLike | None,
    wanted: str,
) -> tuple[Ranking, Any]:
    scores = real("y_score", score_column("y_score", y_score, wanted))
    labels, codes = coded(class_column(y_true, wanted))
    if scores.shape != codes.shape:
        raise ValueError(
            f"y_score must hold one number for each class in y_true; found shape "
            f"{scores.shape} for {len(codes)} rows. Pass one column of predict_proba."
        )
    place = _place(labels, pos_label, wanted)
    known = codes != MISSING
    rows = row_weights(sample_weight, len(codes))
    is_positive = codes[known] == place
    _require_both(rows[known], is_positive, labels[place])
    return Ranking.of(scores[known], is_positive, rows[known]), labels[place]


def _place(labels: NDArray[Any], pos_label: Any, wanted: str) -> int:
    names = labels.tolist()
    if pos_label is not None and pos_label in names:
        return int(names.index(pos_label))
    if pos_label is not None:
        raise ValueError(
            f"pos_label must be a class of y_true, {quote(names[:8])}; found "
            f"{quote(pos_label)}. Pass one of them, and what came true first: {wanted}."
        )
    if len(names) != 2:
        raise ValueError(
            "y_true must hold 2 classes if pos_label is not given; found "
            f"{quote(names[:8])}. Name the class that counts as positive, and pass rows of it "
            f"and of others, before their scores: {wanted}."
        )
    return 1


def _require_both(weight: Array, is_positive: NDArray[np.bool_], label: Any) -> None:
    if min(weight[is_positive].sum(), weight[~is_positive].sum()) <= 0:
        raise ValueError(
            "a curve needs rows of the positive class and rows of others; found "
            f"{is_positive.sum()} rows of {label!s} among {len(is_positive)}. Test on more "
            "rows, or keep the proportions of classes when splitting."
        )

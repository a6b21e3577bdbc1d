"""How well class probabilities met the classes that came true, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import Categorical
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.classes.rank_area import Ranking, average_precision_score, roc_score
from credo.evaluation.classes.ranking import PrecisionRecallCurve, RocCurve
from credo.evaluation.classes.rates import (
    accuracy,
    balanced_accuracy,
    class_rates,
    error_rate,
    f1_score,
    macro_f1,
    matthews_correlation,
    micro_f1,
)
from credo.evaluation.classes.reliability import (
    BrierDecomposition,
    ReliabilityCurve,
    brier_decomposition,
    reliability_curve,
)
from credo.numerics.array import Array
from credo.numerics.quotation import quote
from credo.validation.argument import as_categorical, label_column, old_arguments
from credo.validation.outcome import MISSING, row_weights
from credo.validation.probability_score import brier_score, class_log_score, row_codes
from credo.validation.score import Score, score_table, weighted_mean

__all__ = ["ClassEvaluation", "evaluate_classes"]


@dataclass(frozen=True, eq=False)
class ClassEvaluation:
    """Scores of class probabilities on rows that no fit has seen.

    Attributes
    ----------
    n_rows
        Number of rows scored; rows without a class are left out.
    scores
        Every score by name, each with an interval and whether higher is better. For two
        classes with the rates of the positive class; for more, ``f1_macro`` and ``f1_micro``,
        and areas are means over classes, each against the rest.
    class_scores
        Rates and F1 of each class against the rest, by label.
    confusion
        Which classes were taken for which.
    reliability
        Whether the probability of the class called means what it says.
    class_reliability
        The same for the probability of each class.
    roc, precision_recall
        Curves of the positive class, or of each class against the rest; classes without rows
        on both sides have none.
    brier
        What the Brier score is made of.
    """

    n_rows: int
    scores: dict[str, Score]
    class_scores: dict[Any, dict[str, Score]]
    confusion: Confusion
    reliability: ReliabilityCurve
    class_reliability: tuple[ReliabilityCurve, ...]
    roc: tuple[RocCurve, ...]
    precision_recall: tuple[PrecisionRecallCurve, ...]
    brier: BrierDecomposition

    def table(self) -> pd.DataFrame:
        """Return every score with its interval and direction, one row for each."""
        return score_table(self.scores.values())

    def class_table(self) -> pd.DataFrame:
        """Return the scores of each class against the rest, one row for each of both."""
        parts = {label: score_table(s.values()) for label, s in self.class_scores.items()}
        return pd.DataFrame(pd.concat(parts, names=["class", "score"]))


RENAMED = {
    "predictive": "y_proba",
    "y": "y_true",
    "positive": "pos_label",
    "weight": "sample_weight",
}


def _probability_first(args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether probabilities come first, as they did in the last release."""
    is_table = isinstance(args[0], Categorical) or np.ndim(args[0]) == 2
    return is_table and (len(args) < 2 or np.ndim(args[1]) == 1)


@old_arguments(
    _probability_first,
    "y_proba y_true coverage pos_label sample_weight n_bins labels",
    **RENAMED,
)
def evaluate_classes(
    y_true: ArrayLike,
    y_proba: Any,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    n_bins: int = 10,
) -> ClassEvaluation:
    """Return all scores of class probabilities, each with an interval.

    Parameters
    ----------
    y_true
        The class that came true in each row; rows without one (NaN, None) are left out.
    y_proba
        One distribution per row, such as ``model.predict_dist(X)``; or class probabilities of
        any classifier, shape (n, K), with ``labels`` (a pandas table names the classes by its
        columns), or of the second of two classes, shape (n,).
    labels
        The classes in the order of the columns of an array of probabilities, such as
        ``model.classes_``; those of ``y_true``, in rising order, if None.
    pos_label
        The class that counts as positive; the second of two if None, and not needed for more.
    sample_weight
        How much each row counts; 1 if None.
    coverage
        Probability of every interval.
    n_bins
        Number of bins of equal mass for calibration.

    Examples
    --------
    >>> sky = Categorical([[0.2, 0.8], [0.4, 0.6], [0.7, 0.3]], labels=["rain", "sun"])
    >>> report = evaluate_classes(["sun", "rain", "rain"], sky)
    >>> report.table().loc[["accuracy", "log_loss", "auc"], ["value", "low", "high"]].round(2)
              value   low  high
    score
    accuracy   0.67  0.14  0.98
    log_loss   0.50  0.15  0.85
    auc        1.00  0.43  1.00
    """
    y = label_column("y_true", y_true)
    rows = _Rows.of(as_categorical(y, y_proba, labels), y, sample_weight)
    confusion = Confusion.of_codes(
        rows.codes, rows.probability.argmax(axis=1), rows.labels, rows.weight
    )
    kept = rows.places(pos_label)
    rankings = {k: rows.ranking(k) for k in kept if rows.has_both(k)}
    curves = [rows.reliability(k, n_bins, coverage) for k in [None, *range(len(rows.labels))]]
    scores = [
        *_table_scores(confusion, coverage),
        *_probability_scores(rows, coverage),
        *_calibration_scores(curves),
        *_rank_scores(list(rankings.values()), len(kept), coverage),
        *_positive_scores(confusion, rows.labels[kept], coverage),
    ]
    return ClassEvaluation(
        n_rows=len(rows.codes),
        scores={score.name: score for score in scores},
        class_scores={
            label: _of_class(confusion, label, coverage) for label in rows.labels.tolist()
        },
        confusion=confusion,
        reliability=curves[0],
        class_reliability=tuple(curves[1:]),
        roc=tuple(RocCurve.of(r, rows.labels[k], coverage) for k, r in rankings.items()),
        precision_recall=tuple(
            PrecisionRecallCurve.of(r, rows.labels[k], coverage) for k, r in rankings.items()
        ),
        brier=brier_decomposition(
            rows.y, rows.predictive, n_bins=n_bins, sample_weight=rows.weight
        ),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows whose class is known, with their probabilities and weights."""

    predictive: Categorical
    y: NDArray[Any]
    codes: NDArray[np.intp]
    weight: Array

    @classmethod
    def of(cls, predictive: Categorical, y: ArrayLike, weight: ArrayLike | None) -> _Rows:
        codes = row_codes(predictive, y)
        weights = row_weights(weight, len(codes))
        known = (codes != MISSING) & (weights > 0)
        if not known.any():
            raise ValueError(
                f"y_true must hold the class of at least one row; found none in {len(codes)} "
                "rows. Judge by rows whose class is known."
            )
        kept = Categorical(predictive.probability[known], predictive.labels)
        return cls(kept, np.asarray(y)[known], codes[known], weights[known])

    @property
    def labels(self) -> NDArray[Any]:
        return self.predictive.labels

    @property
    def probability(self) -> Array:
        return self.predictive.probability

    def places(self, pos_label: Any) -> list[int]:
        """Return the classes whose curves are drawn."""
        if pos_label is not None:
            found = np.flatnonzero(self.labels == pos_label)
            if not len(found):
                raise ValueError(
                    f"pos_label must be one of {quote(self.labels[:8].tolist())}; found "
                    f"{quote(pos_label)}. Pass a label as it is written there."
                )
            return [int(found[0])]
        return [1] if len(self.labels) == 2 else list(range(len(self.labels)))

    def has_both(self, k: int) -> bool:
        return bool(0 < np.count_nonzero(self.codes == k) < len(self.codes))

    def ranking(self, k: int) -> Ranking:
        return Ranking.of(self.probability[:, k], self.codes == k, self.weight)

    def reliability(self, k: int | None, n_bins: int, coverage: float) -> ReliabilityCurve:
        if k is None:
            best = self.probability.argmax(axis=1)
            share, hit, label = self.probability.max(axis=1), best == self.codes, None
        else:
            share, hit, label = self.probability[:, k], self.codes == k, self.labels[k]
        return reliability_curve(
            y_true=hit,
            y_prob=share,
            n_bins=n_bins,
            sample_weight=self.weight,
            coverage=coverage,
            label=label,
        )


def _table_scores(confusion: Confusion, coverage: float) -> list[Score]:
    right = accuracy(confusion, coverage=coverage)
    common = confusion.table.sum(axis=1) / confusion.n
    note = f"{common.max():.3g} by always saying {confusion.labels[common.argmax()]!s}"
    return [
        Score("accuracy", right.value, right.low, right.high, True, right.method, note),
        error_rate(confusion, coverage=coverage),
        balanced_accuracy(confusion, coverage=coverage),
        matthews_correlation(confusion, coverage=coverage),
    ]


def _positive_scores(
    confusion: Confusion, positive: NDArray[Any], coverage: float
) -> list[Score]:
    found = []
    if len(confusion.labels) > 2:
        found = [macro_f1(confusion, coverage=coverage), micro_f1(confusion, coverage=coverage)]
    if len(positive) == 1:
        found += _of_class(confusion, positive[0], coverage).values()
    return found


def _of_class(confusion: Confusion, label: Any, coverage: float) -> dict[str, Score]:
    return {
        "f1": f1_score(confusion, pos_label=label, coverage=coverage),
        **class_rates(confusion, pos_label=label, coverage=coverage),
    }


def _probability_scores(rows: _Rows, coverage: float) -> list[Score]:
    losses = {
        "log_loss": -class_log_score(rows.predictive, rows.y),
        "brier": brier_score(rows.y, rows.predictive),
    }
    return [
        Score.of_estimate(name, weighted_mean(loss, rows.weight), coverage, False)
        for name, loss in losses.items()
    ]


def _calibration_scores(curves: list[ReliabilityCurve]) -> list[Score]:
    """Return the error of the class called, and the mean error over classes."""
    errors = [curve.error for curve in curves[1:]]
    value, low, high = (
        float(np.mean([getattr(error, part) for error in errors]))
        for part in ("value", "low", "high")
    )
    name = "class_calibration_error"
    return [curves[0].error, Score(name, value, low, high, False, "mean of intervals")]


def _rank_scores(rankings: list[Ranking], n_classes: int, coverage: float) -> list[Score]:
    if not rankings:
        note = "needs rows of two classes"
        return [
            Score(name, np.nan, 0.0, 1.0, True, "none", note)
            for name in ("auc", "average_precision")
        ]
    left_out = n_classes - len(rankings)
    note = f"without {left_out} classes that have no rows" if left_out else ""
    scores = roc_score(rankings, coverage), average_precision_score(rankings, coverage)
    return [Score(s.name, s.value, s.low, s.high, True, s.method, note) for s in scores]

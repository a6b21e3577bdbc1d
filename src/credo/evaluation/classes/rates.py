"""Scores that a confusion table holds, each with its interval, by the delta method.

A rate of nothing, 0 / 0, is NaN with the interval [0, 1]: such rows say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.parameter import probability
from credo.evaluation.classes.confusion import Confusion
from credo.numerics.array import Array
from credo.numerics.quotation import quote
from credo.validation.argument import label_column, old_arguments
from credo.validation.proportion import IntervalMethod
from credo.validation.score import Score

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "class_rates",
    "correlation",
    "error_rate",
    "f1_score",
    "macro_f1",
    "matthews_corrcoef",
    "matthews_correlation",
    "mean_f1",
    "micro_f1",
    "precision_score",
    "recall_score",
    "score_by_delta",
]


Function = Callable[[Array], tuple[float, Array]]
"""Takes shares of cells that sum to one; returns a value and its slope in each share."""


def score_by_delta(
    name: str,
    confusion: Confusion,
    function: Function,
    coverage: float,
    bounds: tuple[float, float],
) -> Score:
    """Return a function of the table, between bounds, with an interval; higher is better.

    The standard error is taken at the table with one more row spread evenly over its cells,
    on the logit scale between the bounds. Without that row a table with no errors would seem
    to rule out errors altogether.

    Classes that neither occur nor are called are left out.
    """
    table, n = _present(confusion)
    if len(table) < 2:
        note = "only one class occurs, and is called"
        return Score(name, function(table)[0], *bounds, True, "none", note)
    value, _ = function(table)
    smooth = (n * table + 1.0 / table.size) / (n + 1.0)
    center, slope = function(smooth)
    spread = np.sqrt((smooth * (slope - (smooth * slope).sum()) ** 2).sum() / (n + 1.0))
    low, high = _logit_interval(center, float(spread), coverage, bounds)
    return Score(name, value, min(low, value), max(high, value), True, "delta")


def correlation(share: Array) -> tuple[float, Array]:
    """Return the correlation of true and predicted classes (R_K), 0 if a margin is empty."""
    true, called = share.sum(axis=1), share.sum(axis=0)
    joint = np.trace(share) - true @ called
    spread_true, spread_called = 1.0 - true @ true, 1.0 - called @ called
    if min(spread_true, spread_called) <= 0:
        return 0.0, np.zeros_like(share)
    scale = np.sqrt(spread_true * spread_called)
    value = float(joint / scale)
    slope_joint = np.eye(len(share)) - called[:, None] - true
    slope = slope_joint / scale + value * (true[:, None] / spread_true + called / spread_called)
    return value, slope


def mean_f1(share: Array) -> tuple[float, Array]:
    """Return the mean over classes of ``2 q_kk / (true_k + called_k)``."""
    weight = share.sum(axis=1) + share.sum(axis=0)
    scores = 2.0 * np.diag(share) / weight
    fall = scores / weight
    slope = np.diag(2.0 / weight) - fall[:, None] - fall
    return float(scores.mean()), slope / len(share)


def _present(confusion: Confusion) -> tuple[Array, float]:
    """Return shares of the classes there are, and the effective number of rows."""
    table = confusion.table
    is_present = table.sum(axis=0) + table.sum(axis=1) > 0
    inner = table[np.ix_(is_present, is_present)]
    total = inner.sum()
    return inner / total, float(total**2 / confusion.squares.sum())


def _logit_interval(
    center: float, spread: float, coverage: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    start, length = bounds[0], bounds[1] - bounds[0]
    share = (center - start) / length
    reach = float(special.ndtri(0.5 + 0.5 * probability("coverage", coverage)))
    step = reach * spread / length / (share * (1.0 - share))
    ends = special.expit(special.logit(share) + np.array([-step, step]))
    return float(start + length * ends[0]), float(start + length * ends[1])


Cells = NDArray[np.bool_]
EMPTY = "0 / 0: no such rows"

# Which rows are counted (true class, called class) among which, one class against the rest.
_RATES: dict[str, tuple[tuple[bool, bool], tuple[bool | None, bool | None], bool]] = {
    "PPV": ((True, True), (None, True), True),
    "NPV": ((False, False), (None, False), True),
    "TPR": ((True, True), (True, None), True),
    "TNR": ((False, False), (False, None), True),
    "FPR": ((False, True), (False, None), False),
    "FNR": ((True, False), (True, None), False),
    "FDR": ((False, True), (None, True), False),
}


def _counted_first(args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether settings follow a table by place, as they could in the last release."""
    return isinstance(args[0], Confusion) and len(args) > 1


_of_table = old_arguments(_counted_first, "y_true coverage method", confusion="y_true")
_of_class = old_arguments(
    _counted_first,
    "y_true pos_label coverage method",
    confusion="y_true",
    positive="pos_label",
)

Rows = ArrayLike | Confusion
"""True classes, or a table that holds them beside the predicted ones."""


@_of_table
def accuracy(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    method: IntervalMethod = "exact",
) -> Score:
    """Return the share of rows whose class was found.

    Misleading where one class is common: compare with the share of that class.

    Parameters
    ----------
    y_true
        The class that came true in each row; or a `Confusion`, which holds the predicted
        classes and weights as well.
    y_pred
        The class predicted for each row, such as ``model.predict(X)``.
    sample_weight
        How much each row counts; 1 if None.
    coverage, method
        Probability of the interval, and how it is found.

    Examples
    --------
    >>> print(accuracy(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"]))
    accuracy 0.75 (0.2486 to 0.9873), higher is better
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    share = confusion.share_of(_diagonal(confusion), _all(confusion), coverage, method)
    return _proportion("accuracy", share, True, method)


@_of_table
def error_rate(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    method: IntervalMethod = "exact",
) -> Score:
    """Return the share of rows whose class was missed; takes what `accuracy` takes.

    Examples
    --------
    >>> one = Confusion.of_counts([[50, 8], [10, 32]])
    >>> print(error_rate(one, coverage=0.95, method="normal"))
    error_rate 0.18 (0.1047 to 0.2553), lower is better
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    share = confusion.share_of(~_diagonal(confusion), _all(confusion), coverage, method)
    return _proportion("error_rate", share, False, method)


@_of_class
def class_rates(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    method: IntervalMethod = "exact",
) -> dict[str, Score]:
    """Return the rates of one class against the rest, by their usual short names.

    PPV (precision) and NPV: share of the rows called positive / negative that are so. TPR
    (recall, sensitivity) and TNR (specificity): share of the positive / negative rows called
    so. FPR = 1 - TNR, FNR = 1 - TPR, FDR = 1 - PPV.

    Parameters
    ----------
    y_true, y_pred, sample_weight, coverage, method
        As for `accuracy`.
    pos_label
        The class that counts as positive; the second of two if None.

    Examples
    --------
    >>> found = class_rates(Confusion.of_counts([[930, 10], [20, 40]]))
    >>> {name: round(score.value, 3) for name, score in found.items()}
    {'PPV': 0.8, 'NPV': 0.979, 'TPR': 0.667, 'TNR': 0.989, 'FPR': 0.011, 'FNR': 0.333,
     'FDR': 0.2}
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    return {name: _rate(name, name, confusion, pos_label, coverage, method) for name in _RATES}


def precision_score(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    method: IntervalMethod = "exact",
) -> Score:
    """Return the share of the rows called positive that are so; takes what `class_rates` takes.

    Examples
    --------
    >>> round(precision_score([0, 1, 1, 0], [0, 1, 1, 1]).value, 3)
    0.667
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    return _rate("PPV", "precision", confusion, pos_label, coverage, method)


def recall_score(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    method: IntervalMethod = "exact",
) -> Score:
    """Return the share of the positive rows called so; takes what `class_rates` takes.

    Examples
    --------
    >>> round(recall_score([0, 1, 1, 1], [0, 1, 1, 0]).value, 3)
    0.667
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    return _rate("TPR", "recall", confusion, pos_label, coverage, method)


@_of_class
def f1_score(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    pos_label: Any = None,
    average: Literal["binary", "macro", "micro"] = "binary",
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> Score:
    """Return the harmonic mean of precision and recall of one class.

    ``2 TP / (2 TP + FP + FN) = 2 J / (1 + J)`` where J is the share of true positives among
    the rows that are positive or called so: an exact interval of J gives one of F1. NaN where
    no row is positive or called so.

    Parameters
    ----------
    y_true, y_pred, sample_weight, coverage
        As for `accuracy`.
    pos_label
        The class that counts as positive; the second of two if None.
    average
        "binary" for one class; "macro" or "micro" for `macro_f1` or `micro_f1` of all.

    Examples
    --------
    >>> round(f1_score([0, 1, 1, 1], [0, 1, 1, 0]).value, 3)
    0.8
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    if average != "binary":
        return _averaged(average)(confusion, coverage=coverage)
    is_class = np.arange(len(confusion.labels)) == _positive(confusion, pos_label)
    either = is_class[:, None] | is_class
    share = confusion.share_of(is_class[:, None] & is_class, either, coverage)
    return _proportion("f1", 2.0 * share / (1.0 + share), True, "exact")


@_of_table
def micro_f1(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> Score:
    """Return F1 of the counts of all classes together: the accuracy, for one class per row."""
    same = accuracy(_confusion(y_true, y_pred, sample_weight), coverage=coverage)
    return Score("f1_micro", same.value, same.low, same.high, True, same.method, same.note)


@_of_table
def macro_f1(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> Score:
    """Return the mean of the classes' F1, so that rare classes count as much as common ones.

    A class that neither occurs nor is called is left out.
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    return score_by_delta("f1_macro", confusion, mean_f1, coverage, (0.0, 1.0))


@_of_table
def matthews_correlation(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> Score:
    """Return the correlation of true and predicted classes, for two classes or more.

    For two classes ``(TP TN - FP FN) / sqrt((TP+FP)(TN+FN)(TP+FN)(TN+FP))``, the Pearson
    correlation of 0-1 labels; for more Gorodkin's R_K. In [-1, 1]; 0 where only one class
    occurs or is called. Unmoved by how common a class is.

    Examples
    --------
    >>> round(matthews_correlation(Confusion.of_counts([[930, 10], [20, 40]])).value, 4)
    0.7149
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    score = score_by_delta("mcc", confusion, correlation, coverage, (-1.0, 1.0))
    margins = (confusion.table.sum(axis=axis) > 0 for axis in (0, 1))
    if min(np.count_nonzero(margin) for margin in margins) < 2:
        note = "only one class occurs or is called"
        return Score("mcc", 0.0, score.low, score.high, True, score.method, note)
    return score


matthews_corrcoef = matthews_correlation
"""The name that scikit-learn gives to `matthews_correlation`."""


@_of_table
def balanced_accuracy(
    y_true: Rows,
    y_pred: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> Score:
    """Return the mean over classes of the share of their rows that was found.

    Classes without rows are left out. The interval joins those of Wilson for each class, as
    classes are independent: it has a width also where no row was missed.
    """
    confusion = _confusion(y_true, y_pred, sample_weight)
    shares = confusion.shares(coverage, "wilson")
    found = shares[np.arange(len(shares)), np.arange(len(shares))]
    found = found[~np.isnan(found[:, 0])]
    if not len(found):
        return Score("balanced_accuracy", np.nan, 0.0, 1.0, True, "wilson", EMPTY)
    value, low, high = found.T
    below = np.sqrt(((value - low) ** 2).sum()) / len(found)
    above = np.sqrt(((high - value) ** 2).sum()) / len(found)
    mean = float(value.mean())
    return Score("balanced_accuracy", mean, mean - below, mean + above, True, "wilson, joined")


def _confusion(y_true: Any, y_pred: Any, sample_weight: ArrayLike | None) -> Confusion:
    """Return the table of true and predicted classes, counted unless it is at hand."""
    if not isinstance(y_true, Confusion):
        _require_known(y_true)
        return Confusion.of(y_true, y_pred, sample_weight=sample_weight)
    if y_pred is not None or sample_weight is not None:
        raise TypeError(
            "a Confusion holds predicted classes and weights already; found further ones. Pass "
            "(y_true, y_pred), or the Confusion alone."
        )
    return y_true


def _require_known(y_true: Any) -> None:
    is_missing = np.asarray(pd.isna(label_column("y_true", y_true)))
    if is_missing.any():
        raise ValueError(
            f"y_true must hold a class in every row; found {is_missing.sum():,} of "
            f"{len(is_missing):,} missing (NaN or None). Leave these rows out of both y_true "
            "and y_pred."
        )


def _averaged(average: str) -> Callable[..., Score]:
    known = {"macro": macro_f1, "micro": micro_f1}
    if average not in known:
        raise ValueError(
            f"average must be 'binary', 'macro' or 'micro'; found {quote(average)}. Pass "
            "'macro' for the mean over classes, or pos_label for each class by itself."
        )
    return known[average]


def _rate(
    name: str,
    shown: str,
    confusion: Confusion,
    pos_label: Any,
    coverage: float,
    method: IntervalMethod,
) -> Score:
    """Return a rate of one class against the rest, under the name that is shown."""
    is_class = np.arange(len(confusion.labels)) == _positive(confusion, pos_label)
    hit, among, higher_is_better = _RATES[name]
    cells = _cells(is_class, *hit), _cells(is_class, *among)
    share = confusion.share_of(*cells, coverage, method)
    return _proportion(shown, share, higher_is_better, method)


def _positive(confusion: Confusion, pos_label: Any) -> int:
    """Return the place of the positive class; -1 if that is 1 and only 0 occurs."""
    names = confusion.labels.tolist()
    if pos_label is None and len(names) == 2:
        return 1
    if pos_label is None and names in ([0], [1]):
        return int(names[0]) - 1
    if pos_label is None:
        raise ValueError(
            f"pos_label must name one class unless there are 2; found None for "
            f"{quote(names[:8])}. Pass one of them, or average='macro' to f1_score."
        )
    if pos_label not in names:
        raise ValueError(
            f"pos_label must be one of the classes {quote(names[:8])}; found "
            f"{quote(pos_label)}. Pass a label as it is written there."
        )
    return int(names.index(pos_label))


def _proportion(name: str, share: Array, higher_is_better: bool, method: str) -> Score:
    value, low, high = (float(number) for number in share)
    note = EMPTY if np.isnan(value) else ""
    return Score(name, value, low, high, higher_is_better, method, note)


def _cells(is_class: Cells, true: bool | None, called: bool | None) -> Cells:
    """Return the cells of a table of a class against the rest; None stands for either."""
    down, across = (
        np.ones_like(is_class) if side is None else is_class == side for side in (true, called)
    )
    return down[:, None] & across


def _diagonal(confusion: Confusion) -> Cells:
    return np.eye(len(confusion.labels), dtype=bool)


def _all(confusion: Confusion) -> Cells:
    return np.ones(confusion.table.shape, dtype=bool)

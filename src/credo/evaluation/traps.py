"""Traps that make a model look better than it is: leakage, imbalance, order, search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.evaluation.order_test import kruskal_p, runs_p, spearman_p, stated_p
from credo.inference.engine.search_border import settings_at_edge
from credo.numerics.array import as_float
from credo.validation.outcome import MISSING, coded
from credo.validation.proportion import proportion_interval

__all__ = ["Trap", "check_traps", "imbalance", "row_order", "search_edge", "seen_rows"]

# Chance alone raises the alarm about the order of rows this often.
RARE = 0.01
LOPSIDED = 0.8


@dataclass(frozen=True)
class Trap:
    """One check: whether the trap is there, the number behind it, and what to do.

    Attributes
    ----------
    name
        Of the check.
    is_found
        Whether there is reason to act.
    value
        The number that the check looks at: a share of rows, a p-value, a count.
    sentence
        The finding in words, with its numbers.
    """

    name: str
    is_found: bool
    value: float
    sentence: str

    def __str__(self) -> str:
        """Return the finding in words."""
        return self.sentence


def seen_rows(
    X_train: Any, X_test: Any, y_train: ArrayLike | None = None, y_test: ArrayLike | None = None
) -> Trap:
    """Check whether test rows were already seen in training.

    Parameters
    ----------
    X_train, X_test
        Inputs, of the same columns; a row counts as seen if all its entries are equal to
        those of a training row (missing ones too).
    y_train, y_test
        Outcomes, to tell copies with the same outcome from those with another one.

    Examples
    --------
    >>> train, test = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]
    >>> print(str(seen_rows(train, test, [0, 1, 0], [0, 0])).split(":")[0])
    1 of 2 test rows (50 %) is a copy of a training row, with another outcome
    """
    train, test = _frame(X_train), _frame(X_test)
    if train.shape[1] != test.shape[1] or not len(test):
        raise ValueError(
            "X_train and X_test must have the same columns, and X_test rows; found shapes "
            f"{train.shape} and {test.shape}. Pass two parts of one table."
        )
    both = pd.concat([train, test], ignore_index=True)
    group = _group(both)
    old, new = group[: len(train)], group[len(train) :]
    is_seen = np.isin(new, old)
    n_seen, n = int(is_seen.sum()), len(test)
    if not n_seen:
        return Trap("seen rows", False, 0.0, f"none of {n:,} test rows was seen in training.")
    share = f"{100 * n_seen / n:.0f} %" if n_seen / n > 0.01 else f"{100 * n_seen / n:.1g} %"
    verb = "is a copy" if n_seen == 1 else "are copies"
    words = f"{n_seen:,} of {n:,} test rows ({share}) {verb} of a training row"
    if y_train is not None and y_test is not None:
        n_other = _n_contradicted(old, new, y_train, y_test)
        words += f", {_outcomes(n_seen, n_other)}"
    if len(np.unique(group)) < 0.5 * len(group):
        reason = "; the columns hold few distinct rows, so that copies are to be expected."
        return Trap("seen rows", False, n_seen / n, words + reason)
    which = "it" if n_seen == 1 else "them"
    advice = f": a test on rows already seen flatters the model; leave {which} out."
    return Trap("seen rows", True, n_seen / n, words + advice)


def row_order(y: ArrayLike) -> Trap:
    """Check whether the order of the rows tells their outcome.

    Two tests, of which the smaller p-value is doubled: whether outcomes drift along the rows
    (classes: Kruskal and Wallis' test of the row numbers; numbers: Spearman's correlation with
    the row number), and whether neighbors are more alike, or less, than chance makes them (the
    number of runs; for numbers, of runs above and below the median).

    Parameters
    ----------
    y
        Classes, or numbers, in the order of the file. Numbers of more than 20 values are
        taken as numbers.

    Examples
    --------
    >>> row_order(["a"] * 20 + ["b"] * 20).is_found
    True
    >>> row_order(["a", "a", "b", "a", "b", "b", "a", "b", "a", "a", "b", "b"]).is_found
    False
    """
    labels, codes = coded(y)
    known = codes != MISSING
    codes, n = codes[known], int(known.sum())
    if len(labels) < 2 or n < 8:
        return Trap("row order", False, 1.0, "too few rows or outcomes to judge their order.")
    if labels.dtype.kind in "if" and len(labels) > 20:
        drift = spearman_p(as_float(y)[known])
        high = as_float(y)[known] > np.median(as_float(y)[known])
        codes = high.astype(np.intp)
        runs = runs_p(codes)
    else:
        drift, runs = kruskal_p(codes), runs_p(codes)
    p = min(2 * min(drift, runs), 1.0)
    if p >= RARE:
        return Trap(
            "row order", False, p, f"the order of rows tells no outcome ({stated_p(p, 2)})."
        )
    how = "outcomes drift along the rows" if drift < runs else _neighbors(codes)
    return Trap(
        "row order",
        True,
        p,
        f"the order of rows tells the outcome: {how} ({stated_p(p, 1)}); shuffle before "
        "splitting, or split by time or group if the order has a meaning.",
    )


def imbalance(y: ArrayLike, predicted: ArrayLike | None = None) -> Trap:
    """Check whether one class is so common that accuracy says little.

    Parameters
    ----------
    predicted
        What a model answered in each row; it is then compared with always answering the most
        common class.

    Examples
    --------
    >>> print(str(imbalance(["no"] * 95 + ["yes"] * 5)).split(",")[0])
    95 % of 100 rows are 'no': always answering it has an accuracy of 0.95
    """
    labels, codes = coded(y)
    known = codes != MISSING
    counts = np.bincount(codes[known], minlength=1)
    n, share = int(known.sum()), float(counts.max() / max(known.sum(), 1))
    label = str(labels[counts.argmax()])
    advice = "judge by log score, MCC or balanced accuracy."
    lead = (
        f"{100 * share:.0f} % of {n:,} rows are {label!r}: always answering it has an accuracy"
    )
    lead += f" of {share:.2f}"
    if predicted is None:
        is_found = share >= LOPSIDED
        end = f", so accuracy says little; {advice}" if is_found else "."
        return Trap("imbalance", is_found, share, lead + end)
    n_hits = int((np.asarray(predicted)[known] == np.asarray(y)[known]).sum())
    low, high = proportion_interval(n_hits, n, coverage=0.95)
    is_found = bool(low <= share) or share >= LOPSIDED
    found = f", the model {n_hits / n:.2f} (95 % interval {low:.2f} to {high:.2f})"
    if low <= share:
        return Trap("imbalance", True, share, f"{lead}{found}, no better for sure; {advice}")
    return Trap(
        "imbalance", is_found, share, lead + found + (f"; {advice}" if is_found else ".")
    )


def search_edge(chosen: Mapping[str, Any], searched: Any) -> Trap:
    """Check whether the best settings lie at the edge of what was searched.

    Examples
    --------
    >>> search_edge({"k": 9}, {"k": [1, 3, 5, 9]}).sentence
    'the best k is 9, the largest tried (1 to 9): extend the search above it.'
    """
    edges = settings_at_edge(chosen, searched)
    if not edges:
        return Trap("search edge", False, 0.0, "no best setting is at the edge of the search.")
    words = " ".join(edge.sentence for edge in edges)
    return Trap("search edge", True, float(len(edges)), words)


def check_traps(
    X_train: Any,
    y_train: ArrayLike,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    predicted: ArrayLike | None = None,
    chosen: Mapping[str, Any] | None = None,
    searched: Any = None,
) -> tuple[Trap, ...]:
    """Return all checks that the arguments allow, those with a finding first.

    Parameters
    ----------
    X_train, y_train
        Rows to learn from, in the order of the file.
    X_test, y_test
        Rows to judge by.
    predicted
        What a model answered for ``X_test``.
    chosen, searched
        Best settings, and the grid they were chosen from.
    """
    found = [row_order(y_train)]
    if X_test is not None:
        found.append(seen_rows(X_train, X_test, y_train, y_test))
    judged = y_train if y_test is None else y_test
    if _is_classes(judged):
        found.append(imbalance(judged, None if y_test is None else predicted))
    if chosen is not None and searched is not None:
        found.append(search_edge(chosen, searched))
    return tuple(sorted(found, key=lambda trap: not trap.is_found))


def _is_classes(y: ArrayLike) -> bool:
    labels, _ = coded(y)
    return labels.dtype.kind not in "if" or len(labels) <= 20


def _frame(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X.set_axis(range(X.shape[1]), axis=1)
    table = np.asarray(X.to_pandas() if hasattr(X, "to_pandas") else X)
    return pd.DataFrame(table.reshape(len(table), -1))


def _group(frame: pd.DataFrame) -> NDArray[np.intp]:
    """Return a number for each distinct row."""
    codes = [pd.factorize(frame[column], use_na_sentinel=False)[0] for column in frame]
    group = np.zeros(len(frame), dtype=np.intp)
    for code in codes:
        pair = group * (int(code.max(initial=0)) + 1) + code
        group = np.unique(pair, return_inverse=True)[1]
    return group


def _outcomes(n_seen: int, n_other: int) -> str:
    """Return how many of the copies have another outcome, in words."""
    if n_seen == 1:
        return "with another outcome" if n_other else "with the same outcome"
    return f"{f'{n_other:,}' if n_other else 'none'} of them with another outcome"


def _n_contradicted(
    old: NDArray[np.intp], new: NDArray[np.intp], y_train: ArrayLike, y_test: ArrayLike
) -> int:
    """Return how many test rows equal a training row but no training row of their outcome."""
    joint = pd.factorize(np.concatenate([np.asarray(y_train), np.asarray(y_test)]))[0]
    size = int(joint.max()) + 1
    pair_old, pair_new = old * size + joint[: len(old)], new * size + joint[len(old) :]
    return int((np.isin(new, old) & ~np.isin(pair_new, pair_old)).sum())


def _neighbors(codes: NDArray[np.intp]) -> str:
    n, counts = len(codes), np.bincount(codes)
    found = float((codes[1:] == codes[:-1]).mean())
    by_chance = float((counts * (counts - 1)).sum() / (n * (n - 1)))
    shares = f"{100 * found:.0f} % of rows are like the one before, {100 * by_chance:.0f} %"
    return f"{shares} would be by chance"

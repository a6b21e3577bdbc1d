"""Partitions of rows into parts to learn from and parts to judge by, and fits without a fold.

All take a generator, never a seed, and classes that are not known (NaN, None) are a stratum
of their own. `credo.validation.splitter` wraps them for ``cv=`` of scikit-learn.

A model whose statistics add reads the data once: the statistics of every fold are found in one
pass, and the fit without a fold is the fit to the sum of the others. A basis is placed once, on
all inputs; it never sees an outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.families.rows import group_rows
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote
from credo.validation.outcome import MISSING, Outcome, coded

__all__ = [
    "AdditiveFits",
    "TrainingRows",
    "dealt_folds",
    "fold_codes",
    "fold_labels",
    "fold_members",
    "fold_models",
    "grouped_fold_labels",
    "hold_out",
    "leave_one_out_labels",
    "refit_folds",
    "stratified_fold_labels",
    "sums_of_others",
    "time_splits",
]


Rows = NDArray[np.intp]


def hold_out(
    n: int, share: float, rng: Generator, stratify: ArrayLike | None = None
) -> tuple[Rows, Rows]:
    """Return training rows and test rows, each in rising order; no row is in both.

    Parameters
    ----------
    n
        Number of rows.
    share
        Part of the rows to hold out, rounded to whole rows, at least one on each side.
    stratify
        Class of each row, shape (n,): the test rows then hold the share of every class, to
        within one row.

    Examples
    --------
    >>> train, test = hold_out(10, 0.3, np.random.default_rng(0))
    >>> len(train), len(test)
    (7, 3)
    """
    if n < 2:
        raise ValueError(
            f"at least 2 rows are needed to hold some out; found {n}. Add rows, or judge by "
            "evidence, which needs no test part."
        )
    if not 0 < share < 1:
        raise ValueError(
            f"share must be above 0 and below 1; found {share:g}. Pass a part of all rows, "
            "such as 0.2."
        )
    n_test = min(max(round(share * n), 1), n - 1)
    if stratify is not None:
        return _systematic(_codes_of(stratify, n), n_test, rng)
    order = rng.permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def fold_labels(n: int, n_folds: int, rng: Generator) -> Rows:
    """Return the fold of each row, random, with sizes that differ by at most one.

    Examples
    --------
    >>> np.bincount(fold_labels(10, 3, np.random.default_rng(0)))
    array([4, 3, 3])
    """
    if not 2 <= n_folds <= n:
        raise ValueError(
            f"n_folds must be from 2 to the number of rows; found {n_folds} for {n} rows. Use "
            "fewer folds or more rows."
        )
    return rng.permutation(np.arange(n, dtype=np.intp) % n_folds)


def leave_one_out_labels(n: int) -> Rows:
    """Return the fold of each row when every row is a fold of its own."""
    if n < 2:
        raise ValueError(f"at least 2 rows are needed to leave one out; found {n}. Add rows.")
    return np.arange(n, dtype=np.intp)


def stratified_fold_labels(y: ArrayLike, n_folds: int, rng: Generator) -> Rows:
    """Return the fold of each row, random, so that folds keep the proportions of classes.

    The sizes of folds differ by at most one, and so do their numbers of rows of each class.

    Parameters
    ----------
    y
        Class of each row; rows whose class is missing (NaN, None) are spread as evenly.
    n_folds
        Number of folds, not above the number of rows in the rarest class.

    Examples
    --------
    >>> y = np.array(["no"] * 8 + ["yes"] * 4)
    >>> fold = stratified_fold_labels(y, 4, np.random.default_rng(0))
    >>> np.bincount(fold), np.bincount(fold[y == "yes"])
    (array([3, 3, 3, 3]), array([1, 1, 1, 1]))
    """
    labels, codes = coded(y)
    sizes = np.bincount(codes[codes != MISSING], minlength=1)
    if not 2 <= n_folds <= sizes.min():
        rarest = f"{labels[sizes.argmin()]!s}" if len(labels) else "none"
        raise ValueError(
            "n_folds must be from 2 to the number of rows in the rarest class; found "
            f"{n_folds} for {sizes.min()} rows of class {quote(rarest)}. Use fewer folds, "
            "join or leave out rare classes, or use fold_labels."
        )
    fold = np.empty(len(codes), dtype=np.intp)
    # Dealing out class after class without a break keeps both kinds of counts level.
    fold[_shuffled_strata(codes, rng)] = np.arange(len(codes)) % n_folds
    return fold


def grouped_fold_labels(groups: ArrayLike, n_folds: int, rng: Generator) -> Rows:
    """Return the fold of each row, random, so that no group is in two folds.

    The largest groups are dealt first, each to the smallest fold so far.

    Examples
    --------
    >>> patients = ["a", "a", "a", "b", "b", "c", "d"]
    >>> fold = grouped_fold_labels(patients, 2, np.random.default_rng(0))
    >>> np.sort(np.bincount(fold))
    array([3, 4])
    """
    names, codes = coded(groups)
    if (codes == MISSING).any():
        raise ValueError(
            "every row must belong to a group; found none (NaN or None) in "
            f"{(codes == MISSING).sum()} rows. Name a group for each, its own if it has none."
        )
    if not 2 <= n_folds <= len(names):
        raise ValueError(
            f"n_folds must be from 2 to the number of groups; found {n_folds} for {len(names)} "
            "groups. Use fewer folds."
        )
    sizes = np.bincount(codes)
    order = np.lexsort((rng.permutation(len(names)), -sizes))
    fold_of_group = np.empty(len(names), dtype=np.intp)
    heap = [(0, int(fold)) for fold in range(n_folds)]
    heapify(heap)
    for group in order.tolist():
        total, fold = heap[0]
        fold_of_group[group] = fold
        heapreplace(heap, (total + int(sizes[group]), fold))
    return fold_of_group[codes]


def dealt_folds(
    X: Any, y: NDArray[Any], n_folds: int, classes: NDArray[Any] | None, rng: Generator
) -> Rows:
    """Return folds dealt to the rows in the order of their outcomes.

    Each fold gets one of every ``n_folds`` neighbors in that order, at random: folds have
    nearly equal distributions of the outcome. Classes are dealt one by one, so that every
    class is in every fold. Neither the order of the rows nor their units matter, and copies of
    a row stay together, so that none is predicted from its twin. A class with fewer distinct
    rows than folds would be missing in some, or in all that is learned from: its copies are
    dealt as rows of their own. So are numbers with fewer distinct rows than folds.

    Parameters
    ----------
    y
        Numbers, or the codes of ``classes``.
    classes
        Labels by code; None for numbers.
    """
    _require_rows(y, n_folds, classes)
    outcome = list(np.asarray(y).reshape(len(y), -1).T)
    keys = [_codes(column) for column in [*outcome, *_columns(X)]]
    order = np.lexsort(keys[::-1])
    ranked = np.column_stack(keys)[order]
    is_new = np.append(True, (ranked[1:] != ranked[:-1]).any(axis=1))
    codes = np.zeros(len(y), dtype=np.intp) if classes is None else y[order]
    if sparse.issparse(X):
        is_new[:] = True
    else:
        is_new |= _is_poor(codes, is_new, n_folds)
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = _deal(np.bincount(codes[is_new]), n_folds, rng)[np.cumsum(is_new) - 1]
    return fold


def time_splits(
    n: int, n_folds: int, gap: int = 0, time: ArrayLike | None = None
) -> list[tuple[Rows, Rows]]:
    """Return pairs of training and test rows in which all training rows are older.

    The rows are cut, in the order of time, into ``n_folds + 1`` blocks of equal size. Each
    block but the first is tested once, by what is learned from all rows before it.

    Parameters
    ----------
    n
        Number of rows.
    n_folds
        Number of pairs.
    gap
        Number of rows left out between the newest training row and the oldest test row, for
        outcomes that are known late.
    time
        When each row was seen, shape (n,); the order of the rows if None. Rows of equal time
        are never parted.

    Examples
    --------
    >>> for train, test in time_splits(6, 2, gap=1):
    ...     print(train, test)
    [0] [2 3]
    [0 1 2] [4 5]
    """
    if n_folds < 1 or gap < 0 or n // (n_folds + 1) <= gap:
        raise ValueError(
            "n_folds must be at least 1, gap at least 0, and each of n_folds + 1 blocks longer "
            f"than the gap; found n_folds={n_folds}, gap={gap} for {n} rows. Use fewer folds "
            "or a smaller gap."
        )
    order, edges = _blocks(n, n_folds, time)
    starts, ends = edges[1:-1], edges[2:]
    if (starts <= gap).any() or (starts >= ends).any():
        raise ValueError(
            "time must leave rows to learn from and to test in every block; found too many "
            f"rows of equal time for {n_folds} folds. Use fewer folds or a smaller gap."
        )
    return [
        (np.sort(order[: start - gap]), np.sort(order[start:end]))
        for start, end in zip(starts, ends, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that models learn from.

    Attributes
    ----------
    X
        Inputs, of any kind that rows can be taken of.
    outcome
        What came true in each row.
    weight
        How much each row counts, shape (n,).
    is_weighted
        Whether models get the weights.
    """

    X: Any
    outcome: Outcome
    weight: Array
    is_weighted: bool

    @classmethod
    def of(cls, X: Any, outcome: Outcome, sample_weight: ArrayLike | None) -> TrainingRows:
        """Return rows whose weights may be None, or one number for all."""
        weight = as_float(1.0 if sample_weight is None else sample_weight)
        return cls(
            X, outcome, np.broadcast_to(weight, (len(outcome),)), sample_weight is not None
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.outcome)

    @property
    def given_weight(self) -> Array | None:
        """The weights, if models get them."""
        return self.weight if self.is_weighted else None

    def fit(self, model: Any) -> Any:
        """Return a clone fitted to all rows."""
        weights = {"sample_weight": self.weight} if self.is_weighted else {}
        return clone(model).fit(self.X, self.outcome.y, **weights)

    def take(self, rows: Rows) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(
            _safe_indexing(self.X, rows),
            self.outcome.take(rows),
            self.weight[rows],
            self.is_weighted,
        )


@dataclass(frozen=True, eq=False)
class AdditiveFits:
    """Fits of a model whose statistics add: to all rows, and without each fold.

    Attributes
    ----------
    model
        With its basis placed on the inputs of all rows.
    parts
        Statistics of each fold.
    others
        Statistics of all rows but those of each fold.
    """

    model: Any
    parts: Sequence[Any]
    others: Sequence[Any]

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: NDArray[Any],
        fold: Rows,
        sample_weight: ArrayLike | None = None,
    ) -> AdditiveFits:
        """Return the fits of an estimator, from one pass over rows in folds 0, 1, ..."""
        model = clone(estimator)
        parts = model.summarize_groups(X, y, fold, fold.max() + 1, sample_weight)
        return cls(model, parts, sums_of_others(parts))

    def whole(self) -> Any:
        """Return the fit to all rows."""
        return copy(self.model).fit_statistics(self.others[-1] + self.parts[-1])

    def without(self, fold: int) -> Any:
        """Return the fit to all rows but those of a fold."""
        return copy(self.model).fit_statistics(self.others[fold])


def refit_folds(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> list[Any]:
    """Return one fitted model for each fold, in order, that never saw the fold's outcomes.

    From statistics where they add (``summarize_groups`` and ``fit_statistics``), else by
    fitting a clone to the other folds.
    """
    outcome = Outcome.of(estimator, y)
    fold = fold_codes(outcome, 0, None, labels)
    return fold_models(estimator, TrainingRows.of(X, outcome, sample_weight), fold)


def fold_models(estimator: Any, rows: TrainingRows, fold: Rows) -> list[Any]:
    """Return the model fitted without each fold, folds coded 0, 1, ..."""
    if hasattr(estimator, "summarize_groups") and hasattr(estimator, "fit_statistics"):
        fits = AdditiveFits.of(estimator, rows.X, rows.outcome.y, fold, rows.given_weight)
        return [fits.without(i) for i in range(fold.max() + 1)]
    return [rows.take(np.flatnonzero(fold != i)).fit(estimator) for i in range(fold.max() + 1)]


def fold_codes(
    outcome: Outcome, n_folds: int, rng: Generator | None, labels: ArrayLike | None
) -> Rows:
    """Return the fold of each row, coded 0, 1, ..., from labels or at random."""
    n = len(outcome.y)
    if labels is None:
        draw = np.random.default_rng(0) if rng is None else rng
        if outcome.classes is not None:
            return stratified_fold_labels(outcome.y, n_folds, draw)
        return fold_labels(n, n_folds, draw)
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    if codes.shape != (n,) or len(names) < 2:
        raise ValueError(
            f"labels must give each of the {n} rows one of at least 2 folds; found shape "
            f"{codes.shape} with {len(names)} folds. Use fold_labels to make them."
        )
    return codes.astype(np.intp)


def fold_members(fold: Rows) -> list[Rows]:
    """Return the rows of each fold, in rising order."""
    return group_rows(fold, int(fold.max()) + 1)


def sums_of_others(parts: Sequence[Any]) -> list[Any]:
    """Return, for each part, the sum of all others.

    From sums of those before and those after: ``total - part`` would lose what an outlier in
    the part has drowned.
    """
    before = list(accumulate(parts[:-1], add))
    after = list(accumulate(reversed(parts[1:]), add))[::-1]
    middle = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *middle, before[-1]]


def _codes_of(y: ArrayLike, n: int) -> Rows:
    _, codes = coded(y)
    if len(codes) != n:
        raise ValueError(
            f"stratify must hold the class of each of the {n} rows; found {len(codes)}. Pass "
            "the classes of the same rows."
        )
    return codes


def _shuffled_strata(codes: Rows, rng: Generator) -> Rows:
    """Return all rows, stratum after stratum, in random order inside each."""
    order = rng.permutation(len(codes))
    return order[np.argsort(codes[order], kind="stable")]


def _systematic(codes: Rows, n_test: int, rng: Generator) -> tuple[Rows, Rows]:
    """Hold out rows at equal steps along the strata, from a random start."""
    order = _shuffled_strata(codes, rng)
    n = len(order)
    passed = np.floor(np.arange(n + 1) * (n_test / n) + rng.uniform())
    # The last sum is n_test plus the start, up to rounding that must not lose a row.
    passed[-1] = passed[0] + n_test
    is_test = np.diff(passed) > 0
    return np.sort(order[~is_test]), np.sort(order[is_test])


def _require_rows(y: NDArray[Any], n_folds: int, classes: NDArray[Any] | None) -> None:
    if not 2 <= n_folds <= len(y):
        raise ValueError(
            f"cv must be from 2 to the number of rows; found cv={n_folds} for n_samples="
            f"{len(y)} rows. Use fewer folds or more rows."
        )
    if classes is not None:
        codes, counts = np.unique(y, return_counts=True)
        if counts.min() < n_folds:
            rarest = classes[codes[counts.argmin()]].item()
            raise ValueError(
                "cv must not exceed the number of rows in the rarest class, so that every "
                f"fold can be judged on it; found cv={n_folds} and {counts.min()} rows of "
                f"class {quote(rarest)} (of {len(codes)} classes). Use fewer folds, add rows, "
                "or merge rare classes."
            )


def _is_poor(codes: Rows, is_new: NDArray[np.bool_], n_folds: int) -> NDArray[np.bool_]:
    """Return which rows are of a class with fewer distinct rows than folds."""
    n_distinct = np.bincount(codes, weights=is_new)
    return np.asarray((n_distinct < n_folds)[codes])


def _deal(sizes: Rows, n_folds: int, rng: Generator) -> Rows:
    """Return folds for strata of these sizes in turn, each spread over all folds.

    The sizes of folds differ by at most one, in every stratum and on the whole.
    """
    total, parts = np.zeros(n_folds, dtype=np.intp), []
    for size in sizes[sizes > 0]:
        blocks = np.tile(np.arange(n_folds), (-(-size // n_folds), 1))
        *whole, last = rng.permuted(blocks, axis=1)
        # What is left of a stratum goes to the folds that have the least so far.
        n_left = size - n_folds * len(whole)
        rank = np.argsort(np.argsort(total[last], kind="stable"), kind="stable")
        part = np.concatenate([*whole, last[rank < n_left]])
        total += np.bincount(part, minlength=n_folds)
        parts.append(part)
    return np.concatenate(parts)


def _columns(X: Any) -> list[NDArray[Any]]:
    if sparse.issparse(X):
        return []
    table = np.asarray(X)
    return list(table.reshape(len(table), -1).T)


def _codes(column: NDArray[Any]) -> Rows:
    """Return the rank of each value among the distinct ones; missing values are one value."""
    try:
        return pd.factorize(column, sort=True)[0]
    except TypeError:
        return pd.factorize(column.astype(str), sort=True)[0]


def _blocks(n: int, n_folds: int, time: ArrayLike | None) -> tuple[Rows, Rows]:
    """Return rows in the order of time, and the edges of blocks that part no equal times."""
    edges = np.arange(n_folds + 2, dtype=np.intp) * n // (n_folds + 1)
    if time is None:
        return np.arange(n, dtype=np.intp), edges
    _, moments = coded(time)
    if moments.shape != (n,) or (moments == MISSING).any():
        raise ValueError(
            f"time must hold when each of the {n} rows was seen; found {len(moments)} times, "
            f"{(moments == MISSING).sum()} of them missing. Leave out rows without a time."
        )
    order = np.argsort(moments, kind="stable")
    rising = moments[order]
    edges[1:-1] = np.searchsorted(rising, rising[edges[1:-1]])
    return order, edges

"""Splits as objects, for ``cv=`` of scikit-learn's searches and of credo's comparisons.

`compare`, `Stack` and `EvidenceSearch` pass no groups on; bind them to the splitter, as in
``GroupedFolds(10, groups=patients)`` and ``TimeFolds(5, time=dates)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from credo.validation.splits import (
    fold_labels,
    grouped_fold_labels,
    hold_out,
    stratified_fold_labels,
    time_splits,
)

__all__ = ["Folds", "GroupedFolds", "HoldOut", "TimeFolds"]

Rows = NDArray[np.intp]
Pairs = Iterator[tuple[Rows, Rows]]


@dataclass(frozen=True)
class Folds:
    """Random folds of equal size, each tested once by what is learned from the others.

    Parameters
    ----------
    n_folds
        Number of folds.
    stratify
        Whether each fold keeps the proportions of the classes in ``y``, whose missing values
        (NaN, None) are spread as evenly.
    random_state
        Seed of the draw. With the default all models meet the same folds; None draws anew.

    Examples
    --------
    >>> y = np.array(["no"] * 6 + ["yes"] * 3)
    >>> for train, test in Folds(3, stratify=True).split(y, y):
    ...     print(sorted(y[test].tolist()))
    ['no', 'no', 'yes']
    ['no', 'no', 'yes']
    ['no', 'no', 'yes']
    """

    n_folds: int = 10
    stratify: bool = False
    random_state: int | None = 0

    def split(self, X: Any, y: ArrayLike | None = None, groups: Any = None) -> Pairs:
        """Return pairs of training and test rows; ``groups`` is not used."""
        rng = _rng(self.random_state)
        if not self.stratify:
            return _pairs(fold_labels(_num_samples(X), self.n_folds, rng))
        return _pairs(stratified_fold_labels(_required(y), self.n_folds, rng))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_folds


@dataclass(frozen=True, eq=False)
class GroupedFolds:
    """Random folds of about equal size that part no group, such as the rows of one patient.

    Parameters
    ----------
    n_folds
        Number of folds.
    random_state
        Seed of the draw; None draws anew.
    groups
        Group of each row, for callers that pass none on to `split`.

    Examples
    --------
    >>> patients = ["a", "a", "b", "b", "c", "c"]
    >>> for train, test in GroupedFolds(3, groups=patients).split(np.zeros((6, 1))):
    ...     print(test)
    [2 3]
    [4 5]
    [0 1]
    """

    n_folds: int = 10
    random_state: int | None = 0
    groups: ArrayLike | None = field(default=None, repr=False)

    def split(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Pairs:
        """Return pairs of training and test rows that share no entry of ``groups``."""
        found = self.groups if groups is None else groups
        if found is None:
            raise ValueError(
                "groups must be given to keep them together; found None. Pass the group of "
                "each row, here or as GroupedFolds(groups=...)."
            )
        _require_length(found, X)
        return _pairs(grouped_fold_labels(found, self.n_folds, _rng(self.random_state)))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_folds


@dataclass(frozen=True)
class HoldOut:
    """One random part of the rows, tested by what is learned from the others.

    A search with it is hold-out validation: quicker than folds, and less sure.

    Parameters
    ----------
    share
        Part of the rows to test.
    stratify
        Whether the part keeps the proportions of the classes in ``y``.
    random_state
        Seed of the draw; None draws anew.
    """

    share: float = 0.2
    stratify: bool = False
    random_state: int | None = 0

    def split(self, X: Any, y: ArrayLike | None = None, groups: Any = None) -> Pairs:
        """Return one pair of training and test rows; ``groups`` is not used."""
        classes = _required(y) if self.stratify else None
        return iter([hold_out(_num_samples(X), self.share, _rng(self.random_state), classes)])

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


@dataclass(frozen=True, eq=False)
class TimeFolds:
    """Blocks of rows in the order of time, each tested by what is learned from rows before.

    Parameters
    ----------
    n_folds
        Number of tested blocks; the rows before the first are never tested.
    gap
        Number of rows left out between training and test.
    time
        When each row was seen, for callers that pass no groups on to `split`; the order of
        rows if None.

    Examples
    --------
    >>> for train, test in TimeFolds(2).split(np.zeros((6, 1))):
    ...     print(train, test)
    [0 1] [2 3]
    [0 1 2 3] [4 5]
    """

    n_folds: int = 5
    gap: int = 0
    time: ArrayLike | None = field(default=None, repr=False)

    def split(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Pairs:
        """Return pairs of older and newer rows; ``groups`` is the time, if given."""
        time = self.time if groups is None else groups
        return iter(time_splits(_num_samples(X), self.n_folds, self.gap, time))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of tested blocks."""
        return self.n_folds


def _required(y: ArrayLike | None) -> ArrayLike:
    if y is None:
        raise ValueError(
            "y must be given to keep its proportions; found None. Pass the classes, or set "
            "stratify=False."
        )
    return y


def _require_length(groups: ArrayLike, X: Any) -> None:
    found, n = _num_samples(groups), _num_samples(X)
    if found != n:
        raise ValueError(
            f"groups must name the group of each of the {n} rows; found {found} groups. Pass "
            "those of the same rows: groups bound to a splitter do not follow a part of them."
        )


def _rng(random_state: int | None) -> Generator:
    return np.random.default_rng(random_state)


def _pairs(fold: Rows) -> Pairs:
    return (
        (np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(fold.max() + 1)
    )

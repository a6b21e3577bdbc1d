"""Which rows models learn from, and which they are judged by: one plan for all models.

The folds of a number are drawn in one of two ways: at random, or dealt along the order of the
outcomes with copies of a row kept together. A splitter of scikit-learn or credo names its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator, RandomState, default_rng
from numpy.typing import NDArray

from credo.validation.outcome import Outcome
from credo.validation.splits import TrainingRows, dealt_folds, fold_codes

__all__ = ["NEVER", "Pair", "SplitPlan", "fold_generator", "fold_of_rows", "fold_pairs"]

Rows = NDArray[np.intp]
Pair = tuple[Rows, Rows]

NEVER = -1
"""Fold of a row that is never held out."""


@dataclass(frozen=True, eq=False)
class SplitPlan:
    """Folds of the rows, the same for all models.

    Attributes
    ----------
    fold
        In which each row is held out, shape (n,); -1 where it never is.
    pairs
        Rows to learn from and rows to hold out; None if each fold is learned from all others.
    overlap
        Mean of held-out rows by rows learned from: how much the folds share.
    """

    fold: Rows
    pairs: tuple[Pair, ...] | None
    overlap: float

    @classmethod
    def of(cls, outcome: Outcome, X: Any, cv: Any, random_state: int) -> SplitPlan:
        """Return the plan of a number of folds, the fold of each row, or a splitter."""
        if _is_number(cv):
            rng = default_rng(random_state)
            return cls.partition(fold_codes(outcome, int(cv), rng, None))
        if isinstance(cv, np.ndarray | pd.Series):
            return cls.partition(fold_codes(outcome, 0, None, np.asarray(cv)))
        pairs, n = _split(cv, X, outcome.y, outcome.classes is not None), len(outcome)
        fold = fold_of_rows(pairs, n)
        if (fold != NEVER).all() and all(
            len(np.unique(a)) == len(a) == n - len(b) for a, b in pairs
        ):
            return cls.partition(fold)
        return cls(fold, tuple(pairs), float(np.mean([len(b) / len(a) for a, b in pairs])))

    @classmethod
    def partition(cls, fold: Rows) -> SplitPlan:
        """Return the plan that holds out each fold once, and learns from all others."""
        size = np.bincount(fold)
        return cls(fold, None, float((size / (len(fold) - size)).mean()))


def fold_pairs(cv: Any, rows: TrainingRows, rng: Generator) -> list[Pair]:
    """Return the rows to learn from and the rows to hold out, pair by pair.

    Rows without weight are neither learned from nor judged by.

    Parameters
    ----------
    cv
        A number of folds, dealt as `dealt_folds` does to rows that have weight, each learned
        from all others; or a splitter of scikit-learn or credo, or pairs of rows to learn from
        and rows to hold out, each row held out at most once. What a splitter does not name for
        learning is not learned from, such as the future of a row.
    """
    outcome, is_heavy = rows.outcome, rows.weight > 0
    codes = outcome.y if outcome.codes is None else outcome.codes
    if _is_number(cv):
        heavy = np.flatnonzero(is_heavy)
        X = rows.take(heavy).X
        deal = dealt_folds(X, codes[heavy], int(cv), outcome.classes, rng)
        return [(heavy[deal != i], heavy[deal == i]) for i in range(int(cv))]
    pairs = _split(cv, rows.X, codes, outcome.classes is not None)
    kept = [(train[is_heavy[train]], test[is_heavy[test]]) for train, test in pairs]
    return [(train, test) for train, test in kept if len(test)]


def fold_of_rows(pairs: Sequence[Pair], n: int) -> Rows:
    """Return the fold in which each of ``n`` rows is held out, -1 for rows that never are.

    Examples
    --------
    >>> fold_of_rows([(np.array([0]), np.array([1])), (np.array([0, 1]), np.array([2]))], 3)
    array([-1,  0,  1])
    """
    fold = np.full(n, NEVER, dtype=np.intp)
    for i, (_, test) in enumerate(pairs):
        fold[test] = i
    return fold


def fold_generator(random_state: Any) -> Generator:
    """Return what draws folds: the same ones in every fit if ``random_state`` is None."""
    if isinstance(random_state, RandomState):
        return default_rng(random_state.randint(2**31))
    return default_rng(0 if random_state is None else random_state)


def _is_number(cv: Any) -> bool:
    return isinstance(cv, int | np.integer) and not isinstance(cv, bool)


def _split(cv: Any, X: Any, y: NDArray[Any], is_class: bool) -> list[Pair]:
    """Return the pairs that a splitter makes, each row held out at most once."""
    # Only those who bring a splitter wait for scikit-learn's.
    check_cv = import_module("sklearn.model_selection").check_cv
    splitter = check_cv(cv, y, classifier=is_class)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, y)]
    n_held = np.bincount(np.concatenate([test for _, test in pairs]), minlength=len(y))
    if (n_held > 1).any():
        raise ValueError(
            f"cv must hold out each row at most once; found {(n_held > 1).sum()} rows held out "
            "more often. Use a partition of the rows, such as KFold, without repeats."
        )
    for train, test in pairs:
        n_both = int(np.isin(test, train).sum())
        if n_both:
            raise ValueError(
                f"cv must hold out no row that is learned from; found {n_both} rows on both "
                "sides. Give pairs of rows to learn from and other rows to hold out."
            )
    return pairs

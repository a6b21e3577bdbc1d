"""Which rows every model of a comparison learns from, and which it is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.validation.fold_fit import fold_codes
from credo.validation.outcome import Outcome

__all__ = ["NEVER", "SplitPlan"]

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
        if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
            rng = np.random.default_rng(random_state)
            return _partition(fold_codes(outcome, int(cv), rng, None))
        if isinstance(cv, np.ndarray | pd.Series):
            return _partition(fold_codes(outcome, 0, None, np.asarray(cv)))
        # Only those who bring a splitter wait for scikit-learn's.
        check_cv = import_module("sklearn.model_selection").check_cv
        splitter = check_cv(cv, outcome.y, classifier=outcome.classes is not None)
        found = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, outcome.y)]
        return _planned(found, len(outcome.y))


def _partition(fold: Rows) -> SplitPlan:
    size = np.bincount(fold)
    return SplitPlan(fold, None, float((size / (len(fold) - size)).mean()))


def _planned(pairs: list[Pair], n: int) -> SplitPlan:
    fold, n_held = np.full(n, NEVER, dtype=np.intp), np.zeros(n, dtype=np.intp)
    for i, (_, test) in enumerate(pairs):
        fold[test] = i
        n_held[test] += 1
    if (n_held > 1).any():
        raise ValueError(
            f"cv must hold out each row at most once; found {(n_held > 1).sum()} rows held out "
            "more often. Use a partition of the rows, such as KFold, without repeats."
        )
    is_full = [_is_full(train, test, n) for train, test in pairs]
    if (n_held == 1).all() and all(is_full):
        return _partition(fold)
    return SplitPlan(fold, tuple(pairs), float(np.mean([len(b) / len(a) for a, b in pairs])))


def _is_full(train: Rows, test: Rows, n: int) -> bool:
    """Return whether all rows but those held out are learned from, each once."""
    n_seen = np.bincount(train, minlength=n)
    n_both = int((n_seen[test] > 0).sum())
    if n_both:
        raise ValueError(
            f"cv must hold out no row that is learned from; found {n_both} rows on both sides. "
            "Give pairs of rows to learn from and other rows to hold out."
        )
    return bool((np.delete(n_seen, test) == 1).all())

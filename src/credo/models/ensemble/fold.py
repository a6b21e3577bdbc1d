"""What models say about rows they have not seen, for models that learn from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator, RandomState, default_rng
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.inference.engine.stacking import hopeless_models
from credo.models.contract.inputs import class_labels, row_weight
from credo.models.contract.predictive import predict_dist
from credo.models.ensemble.ensemble import class_probability
from credo.models.linear.forgetting import Forget, forgetting
from credo.numerics.array import Array, as_float, in_byte_order
from credo.numerics.parallel.threads import side_by_side
from credo.numerics.quotation import quote

__all__ = [
    "HeldOut",
    "TrainingRows",
    "dealt_folds",
    "fold_generator",
    "fold_of_rows",
    "fold_pairs",
    "held_out",
]

Rows = NDArray[np.intp]
Pair = tuple[Rows, Rows]
NEVER = -1


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from, checked once.

    Attributes
    ----------
    X
        Inputs, of any kind that rows can be taken of.
    y
        Numbers, or the codes of ``classes``.
    classes
        Labels by code; None for regression.
    weight
        Weight of each row.
    is_weighted
        Whether models are told of the weights.
    """

    X: Any
    y: NDArray[Any]
    classes: NDArray[Any] | None
    weight: Array
    is_weighted: bool

    @classmethod
    def of(
        cls, X: Any, y: ArrayLike, is_classifier: bool, sample_weight: ArrayLike | None
    ) -> TrainingRows:
        """Return checked rows; inputs are left to the models to check."""
        X = _in_byte_order(X)
        is_weighted = sample_weight is not None
        weight = row_weight(sample_weight, X)
        if not is_classifier:
            return cls(X, as_float(y), None, weight, is_weighted)
        classes, codes = class_labels(y, sample_weight)
        return cls(X, codes, classes, weight, is_weighted)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @property
    def target(self) -> NDArray[Any]:
        """The numbers, or the labels."""
        return self.y if self.classes is None else np.asarray(self.classes[self.y])

    def fit(self, model: Any) -> Any:
        """Return a clone fitted to all rows."""
        told = {"sample_weight": self.weight} if self.is_weighted else {}
        return clone(model).fit(self.X, self.target, **told)

    def take(self, rows: Rows) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(
            _safe_indexing(self.X, rows),
            self.y[rows],
            self.classes,
            self.weight[rows],
            self.is_weighted,
        )


def fold_generator(random_state: Any) -> Generator:
    """Return what draws folds: the same ones in every fit if ``random_state`` is None."""
    if isinstance(random_state, RandomState):
        return default_rng(random_state.randint(2**31))
    return default_rng(0 if random_state is None else random_state)


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
    is_heavy = rows.weight > 0
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        heavy = np.flatnonzero(is_heavy)
        part = rows.take(heavy)
        deal = dealt_folds(part.X, part.y, int(cv), rows.classes, rng)
        return [(heavy[deal != i], heavy[deal == i]) for i in range(int(cv))]
    # Only those who bring a splitter wait for scikit-learn's.
    check_cv = import_module("sklearn.model_selection").check_cv
    splitter = check_cv(cv, rows.y, classifier=rows.classes is not None)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(rows.X, rows.y)]
    _require_apart(pairs, len(rows))
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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a model said about each row while it had not seen the row's fold.

    Attributes
    ----------
    log_score
        Log probability or density of what came true, shape (n,); NaN if never held out.
    prediction
        Class probabilities, shape (n, K), or predictive means, of the shape of y.
    """

    log_score: Array
    prediction: Array


def held_out(
    models: Sequence[Any],
    rows: TrainingRows,
    pairs: Sequence[Pair],
    drop_early: bool = False,
    fitted: Sequence[Any] | None = None,
) -> list[HeldOut]:
    """Return log scores and predictions of held-out rows under the fits of their pairs.

    Parameters
    ----------
    drop_early
        Whether to ask a model no further once the pairs so far show that it will have no
        weight in a stack of all; what it was not asked stays NaN.
    fitted
        The models fitted to all rows, to take settings from that they have chosen there; if
        None, they choose anew in every pair.
    """
    learners = [_Learner(model, None) for model in models]
    if fitted is not None:
        both = list(zip(models, fitted, strict=True))
        learners = side_by_side(lambda pair: _Learner.after(*pair, rows), both)
    shape = rows.y.shape if rows.classes is None else (len(rows), len(rows.classes))
    log_scores = np.full((len(models), len(rows)), np.nan)
    predictions = np.full((len(models), *shape), np.nan)
    asked = np.arange(len(models))
    held = np.zeros(len(rows), dtype=bool)
    for train, test in pairs:
        question = _Question.of(rows, train, test)
        each = [learners[k] for k in asked]
        # Models that choose anew in every pair may bring threads of their own.
        told = map(question.put, each) if fitted is None else side_by_side(question.put, each)
        for k, (prediction, log_score) in zip(asked, told, strict=True):
            predictions[k, test], log_scores[k, test] = prediction, log_score
        held[test] = True
        if drop_early and len(asked) > 1:
            so_far = log_scores[np.ix_(asked, held)]
            asked = asked[~hopeless_models(so_far, rows.weight[held])]
    return [HeldOut(*found) for found in zip(log_scores, predictions, strict=True)]


class _Learner(NamedTuple):
    """A model, and how its fit to all rows forgets some of them, if it can.

    What a model has chosen in that fit, such as a precision, it takes as given.
    """

    model: Any
    forget: Forget | None

    @classmethod
    def after(cls, model: Any, fitted: Any, rows: TrainingRows) -> _Learner:
        """Return the learner that a fit to all rows leaves behind."""
        weight = rows.weight if rows.is_weighted else None
        forget = forgetting(fitted, rows.X, rows.target, weight)
        return cls(fitted.settled() if hasattr(fitted, "settled") else model, forget)


class _Question(NamedTuple):
    """Rows to learn from, and others to be judged on: of all rows, the latter left out.

    Unless all others are learned from, nothing that a model knew of all rows can be used.
    """

    taught: TrainingRows
    judged: TrainingRows
    left_out: Rows | None

    @classmethod
    def of(cls, rows: TrainingRows, train: Rows, test: Rows) -> _Question:
        """Return the question that a pair puts to models of rows."""
        is_rest = len(train) + len(test) == np.count_nonzero(rows.weight)
        return cls(rows.take(train), rows.take(test), test if is_rest else None)

    def put(self, learner: _Learner) -> tuple[Array, Array]:
        """Return what a model says of the rows, and the log score of what came true."""
        fit = None
        if learner.forget is not None and self.left_out is not None:
            fit = learner.forget(self.left_out)
        return _told(self.taught.fit(learner.model) if fit is None else fit, self.judged)


def _told(model: Any, rows: TrainingRows) -> tuple[Array, Array]:
    """Return what a fitted model says of rows, and the log score of what came true."""
    if rows.classes is None:
        predictive = predict_dist(model, rows.X)
        found = predictive.log_prob(as_float(rows.y))
        return predictive.mean(), found.reshape(len(rows), -1).sum(axis=1)
    probability = class_probability(model, rows.X, rows.classes)
    with np.errstate(divide="ignore"):
        return probability, np.log(probability[np.arange(len(rows)), rows.y])


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


def _require_apart(pairs: Sequence[Pair], n: int) -> None:
    n_held = np.bincount(np.concatenate([test for _, test in pairs]), minlength=n)
    if (n_held > 1).any():
        raise ValueError(
            "cv must hold each row out at most once; found a row in two folds. Use a "
            "partition of the rows, such as KFold, without repeats."
        )
    if any(np.isin(train, test).any() for train, test in pairs):
        raise ValueError(
            "cv must hold out no row that is learned from; found a row on both sides. Give "
            "pairs of rows to learn from and other rows to hold out."
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


def _in_byte_order(X: Any) -> Any:
    """Return inputs of any kind in the byte order of the machine, so that rows can be taken."""
    if isinstance(X, pd.DataFrame):
        kinds = {k: v for k, v in X.dtypes.items() if not getattr(v, "isnative", True)}
        return X.astype({name: kind.newbyteorder("=") for name, kind in kinds.items()})
    return in_byte_order(X) if isinstance(X, np.ndarray) else X


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

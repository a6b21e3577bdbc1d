"""Gaussian processes that a table is offered: where they take seconds, and with which noise.

An exact process costs the cube of the rows for each step of its search; beyond some thousand
rows its settings are learned from some of them, and inducing inputs stand for the others.
Noise that follows the columns is tried where held-out residuals of a leading process are
larger in some places than in others, by Glejser's test [glejser1969]_.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import special
from sklearn.base import clone

from credo.features.basis import column_spread, distinct_rows
from credo.inference.kernel.sparse import SparseProcess
from credo.models.gaps.row_completion import CompletedRows
from credo.models.kernel.gaussian_process_classifier import GaussianProcessClassifier
from credo.models.kernel.gaussian_process_regressor import (
    GaussianProcessRegressor,
    varying_noise_basis,
)
from credo.numerics.array import Array
from credo.study.candidates.slate import (
    NETWORK,
    PROCESS,
    RELEVANCE,
    SUPPORT,
    VARYING,
    Slate,
)

__all__ = [
    "MAX_PROCESS_COLUMNS",
    "MAX_PROCESS_ROWS",
    "affordable",
    "class_process_slate",
    "fitted_process",
    "has_varying_noise",
    "process_slate",
    "varying_candidate",
]

MAX_EXACT_ROWS = 1_200
"""Rows to learn from up to which an exact process takes seconds."""

MAX_PROCESS_ROWS = 20_000
"""Rows up to which inducing inputs do."""

INDUCED = SparseProcess(n_inducing=400, n_learning=800)

MAX_CLASS_ROWS = 1_000
"""Rows, times classes if more than two, up to which an exact process of classes does."""

MAX_SPARSE_CLASS_ROWS = 10_000
"""Rows up to which one of two classes by inducing inputs does."""

CLASS_INDUCING = 200
"""Inducing inputs of a process of classes: folds are fitted one by one."""

MAX_PROPAGATED_ROWS = 400
"""Rows up to which it is by expectation propagation, and beyond by Laplace's method."""

MAX_COMPLETED_ROWS = 2_000
"""Rows, with all completions of those with gaps, that settings once learned are applied to."""

N_SEARCH_COPIES = 2
"""Completions of each row with gaps by which settings are searched for."""

MAX_PROCESS_COLUMNS = 40
"""Columns of the design matrix up to which each has a length scale."""

MIN_PROCESS_ROWS = 20
"""Distinct rows below which the settings of a process are anybody's guess."""

VARYING_ROWS = (100, 1_000)
"""Fewest rows to tell where noise is larger, and most on which that takes seconds."""

VARYING_FOLDS = 20
"""Parts of the rows that are left out in turn where rows have gaps."""

SURELY = 0.01
"""Chance of residuals that differ as much while the noise is the same everywhere."""


def process_slate(X: Array) -> Slate:
    """Return the process for training inputs, shape (n_rows, n_columns), or a note.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> process_slate(X).candidates
    (('process', GaussianProcessRegressor(method='exact')),)
    >>> process_slate(X[:10]).candidates
    ()
    """
    method: Any = "exact" if len(X) <= MAX_EXACT_ROWS else INDUCED
    return _affordable_slate(X, GaussianProcessRegressor(method=method), MAX_PROCESS_ROWS)


def class_process_slate(X: Array, n_classes: int) -> Slate:
    """Return the process of classes for training inputs, shape (n_rows, n_columns), or a note.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> class_process_slate(X, 2).candidates
    (('process', GaussianProcessClassifier()),)
    >>> class_process_slate(X, 3).candidates
    ()
    """
    engine = "ep" if len(X) <= MAX_PROPAGATED_ROWS else "laplace"
    n_inducing = None if len(X) <= MAX_CLASS_ROWS else CLASS_INDUCING
    model = GaussianProcessClassifier(inference=engine, n_inducing=n_inducing)
    # With inducing inputs several classes take seconds for every fold.
    most = MAX_SPARSE_CLASS_ROWS if n_classes == 2 else MAX_CLASS_ROWS // n_classes
    return _affordable_slate(X, model, most)


def _affordable_slate(X: Array, model: Any, max_rows: int) -> Slate:
    n_rows, n_columns = X.shape
    is_varying = column_spread(X, 0.0) > 0
    if len(distinct_rows(X)) < MIN_PROCESS_ROWS or not is_varying.any():
        return Slate((), ())
    found = Slate(((PROCESS, model),), ())
    if n_columns > MAX_PROCESS_COLUMNS:
        return found.without(
            [PROCESS],
            f"its {n_columns:,} length scales are more than the {MAX_PROCESS_COLUMNS} that are "
            "learned in seconds",
        )
    return found.within(n_rows, max_rows)


def affordable(slate: Slate, n_completed: int) -> Slate:
    """Return a slate without what is slow if gaps have too many completions for it."""
    if n_completed <= MAX_COMPLETED_ROWS:
        return slate
    reason = (
        f"{n_completed:,} completions of rows with gaps are more than the "
        f"{MAX_COMPLETED_ROWS:,} on which it takes seconds"
    )
    return slate.without([SUPPORT, RELEVANCE, NETWORK, PROCESS], reason)


def fitted_process(
    candidate: GaussianProcessRegressor, rows: CompletedRows, X: pd.DataFrame, y: Array
) -> GaussianProcessRegressor:
    """Return a process fitted to rows with gaps, its settings found by few completions of each.

    Parameters
    ----------
    rows, X
        Completed rows, and their inputs as a frame.
    y
        The outcome of each row, before it was completed.
    """
    model: GaussianProcessRegressor = clone(candidate)
    weight = rows.given_weight
    if weight is None:
        return model.fit(X, y[rows.row])
    few = rows.resampled(N_SEARCH_COPIES)
    model.fit(pd.DataFrame(few.X, columns=X.columns), y[few.row], few.weight)
    return model.conditioned(X, y[rows.row], weight)


def varying_candidate(name: str) -> tuple[str, Any]:
    """Return a process whose noise follows the columns."""
    return f"{name}{VARYING}", GaussianProcessRegressor(noise="varying", method="exact")


def has_varying_noise(
    fitted: GaussianProcessRegressor, X: Any, y: Array, completed: CompletedRows | None = None
) -> bool:
    """Whether the size of held-out residuals of a process follows the inputs, beyond chance.

    ``n R^2`` of their regression on functions of the inputs is chi-square with one degree of
    freedom for each function if the noise is the same everywhere. Of rows with gaps all
    completions are left out together, or those that stay would tell of the others.

    Parameters
    ----------
    X, y
        What the process was fitted to, with all completions of rows with gaps.
    completed
        Which rows these complete; None if no row has gaps.
    """
    rows = np.asarray(X, dtype=np.float64)
    fewest, most = VARYING_ROWS
    if not fewest <= len(rows) <= most:
        return False
    weight = None if completed is None else completed.given_weight
    if completed is None or weight is None:
        left_out = fitted.leave_one_out(X, y)
        sizes = np.abs((y - left_out.mean()) / left_out.std())
    else:
        sizes = _held_out_sizes(fitted, X, y, completed)
    columns = varying_noise_basis(len(rows)).place(distinct_rows(rows)).design(rows)
    root = np.sqrt(np.ones(len(rows)) if weight is None else weight)
    design = root[:, None] * np.column_stack([np.ones(len(rows)), columns])
    scaled = root * sizes
    explained = design @ np.linalg.lstsq(design, scaled, rcond=None)[0]
    level = root * np.average(sizes, weights=root**2)
    total = float(np.sum(np.square(scaled - level)))
    share = float(np.sum(np.square(explained - level))) / total if total > 0 else 0.0
    statistic = float(np.sum(root**2)) * share
    return bool(special.chdtrc(columns.shape[1], statistic) < SURELY)


def _held_out_sizes(
    fitted: GaussianProcessRegressor, X: Any, y: Array, completed: CompletedRows
) -> Array:
    """Return sizes of residuals of rows that were left out with all their completions."""
    forget = fitted.forgetting(X, y, completed.weight)
    assert forget is not None
    sizes = np.empty(len(y))
    fold = np.random.default_rng(0).integers(VARYING_FOLDS, size=completed.row[-1] + 1)
    for part in range(VARYING_FOLDS):
        out = np.flatnonzero(fold[completed.row] == part)
        if len(out):
            found = forget(out).predict_dist(X.iloc[out])
            sizes[out] = np.abs((y[out] - found.mean()) / found.std())
    return sizes

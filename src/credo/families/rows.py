"""Rows, weights and labels as they enter statistics, checked at the edge."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.parameter import require
from credo.numerics.array import Array, as_float

__all__ = [
    "MOST_WEIGHT",
    "as_complete_rows",
    "as_label",
    "as_rows",
    "as_share",
    "as_weight",
    "flat_rows",
    "group_rows",
    "weight_by_entry",
    "weighted_sum",
]

MOST_WEIGHT = 1e20
"""Largest sum of weights: a weight is a number of rows, and times a square must be finite."""


def as_rows(x: ArrayLike) -> Array:
    """Return ``x`` as float rows, shape (n_samples, ...); NaN passes, infinity does not."""
    rows = as_float(x)
    if rows.ndim == 0:
        raise ValueError(
            "x must hold rows along its first axis; found a single number. Pass [x], or [[x]] "
            "for one row of one feature."
        )
    if _is_surely_finite(rows):
        return rows
    return require("x", rows, lambda v: ~np.isinf(v), "finite", "Write NaN for missing values.")


def as_complete_rows(x: ArrayLike, weight: Array) -> Array:
    """Return ``x`` as a matrix without missing values in any row that has weight."""
    rows = as_float(x)
    if rows.ndim != 2:
        raise ValueError(
            f"x must be a matrix of rows (n_samples, n_features); found shape {rows.shape}. "
            "Reshape one row with x[None, :]."
        )
    if _is_surely_finite(rows):
        return rows
    return require(
        "x",
        np.where((weight > 0)[:, None], rows, 0.0),
        np.isfinite,
        "complete and finite for a full covariance",
        "Scatter from the pairs that happen to be present is neither conjugate nor positive "
        "semi-definite: fill or drop missing values, or use a family that is independent per "
        "feature.",
    )


def as_weight(weight: ArrayLike, n_samples: int, name: str = "weight") -> Array:
    """Return one weight per row, shape (n_samples,); a single number serves all rows."""
    weights = as_float(weight)
    if weights.shape not in ((), (n_samples,)):
        raise ValueError(
            f"{name} must be one number or one per row, shape ({n_samples},); found shape "
            f"{weights.shape}. Pass responsibility[:, k] for component k."
        )
    require(
        name,
        weights,
        lambda v: (v >= 0) & (v < np.inf),
        "non-negative and finite",
        "Leave a row out with weight 0; forget rows with a - b.",
    )
    each = np.broadcast_to(weights, (n_samples,))
    with np.errstate(over="ignore"):
        total = each.sum()
    if total > MOST_WEIGHT:
        raise ValueError(
            f"{name} must add up to at most {MOST_WEIGHT:g}, since a weight says how many rows "
            f"one stands for; found a sum of {total:g}. Divide all weights by the same number."
        )
    return each


def as_share(share: ArrayLike, n_samples: int) -> Array:
    """Return the weight of each row in each component, shape (n_samples, K)."""
    shares = as_float(share)
    if shares.ndim != 2 or len(shares) != n_samples:
        raise ValueError(
            "share must give each row a weight in each component, shape "
            f"({n_samples}, n_components); found shape {shares.shape}. Pass one column for "
            "each component."
        )
    as_weight(shares.ravel(), shares.size, "share")
    return shares


def as_label(label: ArrayLike, n_samples: int, k: int) -> NDArray[np.intp]:
    """Return the group of each row, integers from 0 to ``k - 1``, shape (n_samples,)."""
    labels = np.asarray(label)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"label must give one group per row, shape ({n_samples},); found shape "
            f"{labels.shape}. Pass one integer for each row of x."
        )
    if not (labels.dtype.kind in "iu" and _is_within(labels, k)):
        require(
            "label",
            labels,
            lambda v: (v >= 0) & (v < k) & (v == np.floor(v)),
            f"an integer from 0 to {k - 1}",
            "Code groups with np.unique(names, return_inverse=True).",
        )
    return labels.astype(np.intp, copy=False)


def flat_rows(rows: Array) -> Array:
    """Return rows (n, ...) as a matrix, one column for each feature; there may be no rows."""
    return rows.reshape(len(rows), math.prod(rows.shape[1:]))


def group_rows(label: NDArray[np.intp], k: int) -> list[NDArray[np.intp]]:
    """Return the rows of each of ``k`` groups, in rising order.

    Examples
    --------
    >>> [rows.tolist() for rows in group_rows(np.array([1, 0, 1]), 2)]
    [[1], [0, 2]]
    """
    # Stable sorts of short integers are linear in the number of rows.
    order = np.argsort(label.astype(np.min_scalar_type(k)), kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=k))[:-1])


def weight_by_entry(rows: Array, weight: Array) -> tuple[Array, Array]:
    """Return rows with zeros for NaN, and the weight of each entry, zero where it was NaN."""
    missing = np.isnan(rows)
    weights = np.broadcast_to(weight.reshape(-1, *(1,) * (rows.ndim - 1)), rows.shape)
    if not missing.any():
        return rows, weights
    return np.where(missing, 0.0, rows), np.where(missing, 0.0, weights)


def weighted_sum(weights: Array, values: Array) -> Array:
    """Return the sum over rows of weight times value, without a product array."""
    return np.asarray(np.einsum("i...,i...->...", weights, values))


def _is_within(labels: NDArray[np.integer], k: int) -> bool:
    return bool(labels.min(initial=0) >= 0 and labels.max(initial=-1) < k)


def _is_surely_finite(rows: Array) -> bool:
    """Return True only if no entry is NaN or infinite."""
    # A sum meets every entry and makes no copy; it is finite only if all entries are.
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(rows.sum()))

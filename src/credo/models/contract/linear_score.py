"""Scores that are linear in a design, and the class that the highest one means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.models.contract.inputs import fitted_design
from credo.numerics.array import Array

__all__ = ["best_class", "linear_score"]


def linear_score(estimator: Any, X: ArrayLike) -> Array:
    """Return ``intercept + b(x)^T w``: (n,), of the second of two classes, else (n, K)."""
    score = np.asarray(fitted_design(estimator, X) @ estimator.coef_.T + estimator.intercept_)
    return score[:, 0] if len(estimator.classes_) == 2 else score


def best_class(score: Array, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class of the highest score; the first of two at a score of zero.

    Examples
    --------
    >>> best_class(np.array([-0.5, 0.0, 2.0]), np.array(["no", "yes"])).tolist()
    ['no', 'no', 'yes']
    """
    best = (score > 0).astype(np.intp) if score.ndim == 1 else score.argmax(axis=1)
    return np.asarray(classes[best])

"""Fits without some of the rows, reached from the fit to all rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.inference.logistic.fold import LogisticFolds
from credo.inference.logistic.problem import LogisticBelief
from credo.models.contract.design import design
from credo.models.contract.inputs import more_labeled_rows, weighted_by_class

__all__ = ["Forget", "forgetting"]

Forget = Callable[[NDArray[np.intp]], Any]
"""Maps rows to a model without them, or to None where a fit of its own is needed."""


def forgetting(
    fitted: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> Forget | None:
    """Return how a model that is fitted to rows forgets some of them; None if it cannot.

    Models that can have a Gaussian belief about the weights of a logistic regression, or a
    method ``forgetting`` of their own. All that is left out is taken to have had its say in
    where a basis is placed and in how wide a prior is.
    """
    if hasattr(fitted, "forgetting"):
        own: Forget | None = fitted.forgetting(X, y, sample_weight)
        return own
    belief = getattr(fitted, "posterior_", None)
    if not isinstance(belief, LogisticBelief) or belief.gaussian is None:
        return None
    rows = more_labeled_rows(fitted, X, y, sample_weight)
    weight = weighted_by_class(fitted.class_weight, fitted.classes_, rows.code, rows.weight)
    folds = LogisticFolds.of(belief, design(fitted.basis_, rows.x), rows.code, weight)

    def without(left_out: NDArray[np.intp]) -> Any:
        found = folds.without(left_out)
        if found is None:
            return None
        model = copy(fitted)
        model.posterior_ = found
        return model

    return without

"""What each action costs in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float

__all__ = ["LossMatrix"]


@dataclass(frozen=True, eq=False)
class LossMatrix:
    """Loss of each action (row) in each class (column).

    Attributes
    ----------
    loss
        Shape (n_actions, n_classes).
    labels
        The classes, in the order of the columns.
    actions
        Names of the actions, in the order of the rows; the classes if not given.

    Examples
    --------
    >>> costs = LossMatrix([[0, 10], [1, 0], [2, 2]], ["well", "ill"], ["send home", "treat", "ask"])
    >>> costs.loss.shape
    (3, 2)
    """

    loss: Array
    labels: NDArray[Any]
    actions: NDArray[Any]

    def __init__(
        self,
        loss: ArrayLike,
        labels: Sequence[Any] | NDArray[Any],
        actions: Sequence[Any] | NDArray[Any] | None = None,
    ) -> None:
        object.__setattr__(self, "loss", as_float(loss))
        object.__setattr__(self, "labels", np.asarray(labels))
        object.__setattr__(self, "actions", np.asarray(labels if actions is None else actions))

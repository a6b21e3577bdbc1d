"""The action that minimizes expected loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.numerics.array import Array

__all__ = ["Decision", "decide"]


@dataclass(frozen=True, eq=False)
class Decision:
    """The best action for each row, what it is expected to cost, and the runner-up."""

    action: NDArray[Any]
    expected_loss: Array
    runner_up: NDArray[Any]
    runner_up_loss: Array


def decide(predictive: Any, loss: Any, reject: float | None = None) -> Decision:
    """Return the action of least expected loss for each entry of a predictive distribution."""
    costs = loss if isinstance(loss, LossMatrix) else LossMatrix(loss, predictive.labels)
    assert isinstance(predictive, Categorical)
    risk = predictive.probability @ costs.loss.T
    order = np.argsort(risk, axis=-1, kind="stable")
    ranked = np.take_along_axis(risk, order, axis=-1)
    return Decision(
        costs.actions[order[..., 0]],
        ranked[..., 0],
        costs.actions[order[..., 1]],
        ranked[..., 1],
    )

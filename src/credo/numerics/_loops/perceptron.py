"""One pass of perceptron learning over the rows.

Arrays are C-contiguous float64, except codes and orders, which are intp and in range.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["epoch"]


@njit(cache=True, error_model="numpy")
def epoch(
    x: Array,
    code: NDArray[np.intp],
    weight: Array,
    order: NDArray[np.intp],
    coef: Array,
    survived: float,
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, float]:
    """Visit rows in order; after each mistake move ``coef`` towards the row's own class.

    Returns
    -------
    mistaken, rival, votes
        Row and winning wrong class of each mistake, and the weight of the rows that the
        weights before it had answered rightly.
    survived
        That weight for the weights at the end.
    """
    mistaken = np.empty(len(order), dtype=np.intp)
    rival = np.empty(len(order), dtype=np.intp)
    votes = np.empty(len(order))
    n_mistakes = 0
    n_classes, d = coef.shape
    for i in order:
        own, other = code[i], -1
        own_score, highest = 0.0, -np.inf
        for k in range(n_classes):
            score = 0.0
            for j in range(d):
                score += coef[k, j] * x[i, j]
            if k == own:
                own_score = score
            elif score > highest:
                highest, other = score, k
        if own_score > highest:
            survived += weight[i]
            continue
        mistaken[n_mistakes], rival[n_mistakes], votes[n_mistakes] = i, other, survived
        n_mistakes += 1
        survived = weight[i]
        for j in range(d):
            step = weight[i] * x[i, j]
            coef[own, j] += step
            coef[other, j] -= step
    return mistaken[:n_mistakes], rival[:n_mistakes], votes[:n_mistakes], survived

"""One pass of perceptron learning over the rows, and the count of votes.

Arrays are C-contiguous float64, except codes and orders, which are intp and in range.
"""

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array

__all__ = ["count_votes", "epoch"]

# Sums in any order, so that dot products use all lanes of a processor.
REORDER = {"reassoc", "contract"}


@compiled(fastmath=REORDER)
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


@compiled()
def count_votes(scores: Array, votes: Array, shares: Array) -> None:
    """Add each vote to the class that its scores, shape (n, m, k), prefer; k = 1 is a sign."""
    n_rows, n_voters, k = scores.shape
    for i in range(n_rows):
        for m in range(n_voters):
            best = 0
            if k == 1:
                best = 1 if scores[i, m, 0] > 0.0 else 0
            else:
                for c in range(1, k):
                    if scores[i, m, c] > scores[i, m, best]:
                        best = c
            shares[i, best] += votes[m]

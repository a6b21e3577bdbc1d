"""AdaBoost: weak classifiers learned one after the other, each on what the last got wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.optimize.descent import bracketed_root

__all__ = ["Round", "boosting_rounds", "content_parts", "vote_sharpness"]

Codes = NDArray[np.intp]
Learn = Callable[[Array], tuple[Any, Codes]]

# A weak classifier without error would get an infinite vote.
_LEAST_ERROR = 1e-10
_NO_EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Round:
    """A weak classifier, its vote and weighted error, and the log exponential loss so far."""

    member: Any
    vote: float
    error: float
    log_loss: float

    @property
    def is_perfect(self) -> bool:
        """Whether no row that counts is misclassified, so that nothing is left to learn."""
        return self.error <= _LEAST_ERROR


def boosting_rounds(
    learn: Learn, codes: Codes, weight: Array, n_classes: int
) -> Iterator[Round]:
    """Yield rounds of AdaBoost until the weak learner is perfect or no better than chance.

    With weighted error e and K classes the vote is ``log((1 - e) / e) + log(K - 1)``, and the
    weight of each misclassified row grows by the factor exp(vote) [zhu2009]_. Weights are kept
    at their first sum.

    Parameters
    ----------
    learn
        Maps weights to a weak classifier and the class it gives each row. The array of weights
        is the same in every round, and changes after it.

    Notes
    -----
    Each round minimizes ``E = sum of exp(-y F(x) / 2)`` over the new member and its vote, for
    two classes coded -1 and 1; for K classes the exponent of a row grows by ``vote / K`` when
    it is wrong and falls by ``vote (K - 1) / K`` when it is right.
    """
    total = float(weight.sum())
    log_loss = float(np.log(total))
    current, missed = weight.copy(), np.empty_like(weight)
    while True:
        member, found = learn(current)
        np.multiply(current, found != codes, out=missed)
        # A threaded BLAS would hold the cores that the search for stumps runs on.
        error = float(missed.sum() / current.sum())
        if error >= 1.0 - 1.0 / n_classes - _NO_EDGE:
            return
        capped = max(error, _LEAST_ERROR)
        vote = float(np.log1p(-capped) - np.log(capped) + np.log(n_classes - 1.0))
        growth = error * np.exp(vote) + 1.0 - error
        log_loss += float(np.log(growth)) - vote * (n_classes - 1.0) / n_classes
        yield Round(member, vote, error, log_loss)
        if error <= _LEAST_ERROR:
            return
        missed *= np.expm1(vote)
        current += missed
        current /= growth


def content_parts(keys: NDArray[np.uint64], codes: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """Return a place for each distinct row, class by class, and whether it opens its class.

    Rows of equal key and class share a place. Every n-th place is a part of the data with the
    share of each class that all data have, whatever the order of rows.

    Examples
    --------
    >>> keys = np.array([7, 5, 7, 1], dtype=np.uint64)
    >>> content_parts(keys, np.array([0, 0, 0, 1]))[0]
    array([1, 0, 1, 2])
    """
    order = np.lexsort((keys, codes))
    is_new_class = np.diff(codes[order], prepend=-1) != 0
    is_new = is_new_class.copy()
    is_new[1:] |= keys[order[1:]] != keys[order[:-1]]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(is_new) - 1
    opening = np.unique(place[order[is_new_class]])
    return place, np.isin(place, opening)


def vote_sharpness(votes: Array, codes: Codes, weight: Array) -> float:
    """Return the positive b for which ``softmax(b * votes)`` fits held-out classes best.

    Half a row that is right and half a row that is wrong, with a typical margin, stand for what
    was not seen; they keep b finite where every row is right.

    Parameters
    ----------
    votes
        Votes for each class from members that did not learn from these rows, shape (n, K).

    Examples
    --------
    >>> votes = np.array([[0.0, 2.0], [0.0, 2.0], [0.0, 2.0], [2.0, 0.0]])
    >>> round(vote_sharpness(votes, np.array([1, 1, 0, 0]), np.ones(4)), 4)
    0.4236
    """
    own = np.take_along_axis(votes, codes[:, None], axis=1)
    others = votes.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    margin = own[:, 0] - others.max(axis=1)
    # A threaded BLAS would cost more than it saves in each of many short sums.
    size = float(np.sqrt((weight * margin**2).sum() / weight.sum()))
    if not size > 0:
        return 1.0
    unseen = np.zeros((2, votes.shape[1]))
    unseen[:, 0] = size
    scaled = np.vstack([votes, unseen]) / size
    label = np.append(codes, [0, 1])
    amount = np.append(weight, [0.5, 0.5])
    # With nothing above zero no exponential overflows, and the largest is one.
    scaled -= scaled.max(axis=1, keepdims=True)
    chosen = np.take_along_axis(scaled, label[:, None], axis=1)[:, 0]

    def moments(log_sharpness: float) -> tuple[Array, Array]:
        share = np.exp(np.exp(log_sharpness) * scaled)
        share /= share.sum(axis=1, keepdims=True)
        mean = np.einsum("nk,nk->n", share, scaled)
        return mean, np.einsum("nk,nk->n", share, (scaled - mean[:, None]) ** 2)

    def slope(log_sharpness: float) -> float:
        return float((amount * (chosen - moments(log_sharpness)[0])).sum())

    def bend(log_sharpness: float) -> float:
        return -float(np.exp(log_sharpness) * (amount * moments(log_sharpness)[1]).sum())

    # Votes worse than chance on held-out rows still decide: their argmax must be the answer.
    low, high = np.log(1e-3), np.log(1e3)
    if slope(low) <= 0:
        return float(np.exp(low) / size)
    if slope(high) >= 0:
        return float(np.exp(high) / size)
    return float(np.exp(bracketed_root(slope, bend, low, high)) / size)

"""Direct search for the linear score with the fewest errors."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from credo.numerics.array import Array

__all__ = ["error_cost", "search_fewest_errors"]

_SAME = 1e-12
_MOST_SWEEPS = 100


def error_cost(score: Array, is_positive: Array, weight: Array) -> float:
    """Return the weight of the rows on the wrong side; a score of zero is the negative side."""
    return float(weight @ ((score > 0) != (is_positive > 0)))


def search_fewest_errors(
    design: Array,
    is_positive: Array,
    weight: Array,
    starts: list[Array],
    rng: Generator,
    n_restarts: int = 10,
) -> tuple[Array, float]:
    """Return parameters and cost of errors, no worse than the best of the starts.

    The errors of a linear score are piecewise constant in its parameters and no gradient leads
    down; but along one direction the best point is found exactly, by sorting where each row
    changes side. From every start the search goes along each parameter and as many random
    directions until none helps, then again from the best found, shaken, and keeps the best. The
    global minimum is not promised: finding it is NP-hard.

    Parameters
    ----------
    design
        Columns, a column of ones among them where there is an intercept, shape (n, d).
    is_positive
        Class of each row, 1 or 0.
    starts
        Parameters to begin from, such as those that minimize convex losses.

    Examples
    --------
    >>> design = np.column_stack([[0.0, 1.0, 2.0, 9.0], np.ones(4)])
    >>> label, rng = np.array([0.0, 1.0, 1.0, 1.0]), np.random.default_rng(0)
    >>> search_fewest_errors(design, label, np.ones(4), [np.array([1.0, -5.0])], rng)[1]
    0.0
    """
    found = [_descended(design, is_positive, weight, start, rng) for start in starts]
    best, least = min(found, key=lambda pair: pair[1])
    for _ in range(n_restarts):
        if least <= _SAME * weight.sum():
            break
        size = max(float(np.abs(best).max()), 1e-12)
        shaken = best + 0.5 * size * rng.normal(size=best.shape)
        trial, cost = _descended(design, is_positive, weight, shaken, rng)
        if cost < least - _SAME * weight.sum():
            best, least = trial, cost
    return best, least


def _descended(
    design: Array, is_positive: Array, weight: Array, start: Array, rng: Generator
) -> tuple[Array, float]:
    parameters = np.array(start)
    score = design @ parameters
    cost = error_cost(score, is_positive, weight)
    for _ in range(_MOST_SWEEPS):
        before = cost
        size = max(float(np.abs(parameters).max()), 1e-12)
        random = size * rng.normal(size=(design.shape[1], design.shape[1]))
        for direction in np.vstack([np.eye(design.shape[1]), random]):
            change = design @ direction
            step = _best_step(score, change, is_positive, weight)
            trial = parameters + step * direction
            moved = design @ trial
            there = error_cost(moved, is_positive, weight)
            if there < cost - _SAME * weight.sum():
                parameters, score, cost = trial, moved, there
        if cost >= before:
            break
    return parameters, cost


def _best_step(score: Array, change: Array, is_positive: Array, weight: Array) -> float:
    """Return the t for which ``score + t * change`` has the fewest errors, of ties the first.

    A row changes side at ``t = -score / change``; between two such points nothing changes.
    """
    moving = np.abs(change) > _SAME * float(np.abs(change).max(initial=0.0))
    if not moving.any():
        return 0.0
    turn = -score[moving] / change[moving]
    # Beyond its turn a row with rising score is on the positive side, which is right or wrong.
    gained = np.where((change[moving] > 0) == (is_positive[moving] > 0), -1.0, 1.0)
    order = np.argsort(turn, kind="stable")
    ranked, steps = turn[order], np.cumsum((gained * weight[moving])[order])
    is_last = np.append(ranked[1:] > ranked[:-1], True)
    edges, cost = ranked[is_last], np.append(0.0, steps[is_last])
    place = int(np.argmax(cost <= cost.min() + _SAME * weight.sum()))
    width = max(float(edges[-1] - edges[0]), 1.0)
    padded = np.concatenate([[edges[0] - width], edges, [edges[-1] + width]])
    return float(0.5 * (padded[place] + padded[place + 1]))

"""Regularized empirical risk of a linear score: ``sum of w_i L(y_i f(x_i)) + lambda R(w)``.

Convex losses are minimized by descent; the zero-one loss, which counts errors, by direct
search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.random import Generator

from credo.numerics.array import Array
from credo.numerics.optimize.descent import newton
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs
from credo.numerics.status import Status

__all__ = ["RiskMinimum", "RiskProblem", "error_cost", "minimize_risk", "search_fewest_errors"]


# Newton's method solves a system of this many unknowns at most; L-BFGS takes over above.
_MOST_FOR_NEWTON = 600
_WIDTHS = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_ENOUGH = 1e-7


@dataclass(frozen=True, eq=False)
class RiskProblem:
    """What is minimized over weights and intercept, of which the intercept is never penalized.

    Attributes
    ----------
    design
        Columns, shape (n, d).
    sign
        Class of each row, -1 or 1.
    weight
        What an error in each row costs.
    loss
        A convex loss of the margin, as in `credo.decisions`; one with ``smoothed(width)`` has a
        kink.
    weight_decay
        The factor lambda, not negative.
    penalty
        "ridge" for ``R(w) = |w|^2 / 2``, "lasso" for the sum of absolute weights.
    """

    design: Array
    sign: Array
    weight: Array
    loss: Any
    weight_decay: float
    penalty: str = "ridge"
    fit_intercept: bool = True

    @property
    def n_weights(self) -> int:
        """Number of columns."""
        return int(self.design.shape[1])

    @property
    def n_parameters(self) -> int:
        """Number of weights, and one for the intercept."""
        return self.n_weights + int(self.fit_intercept)

    def margins(self, parameters: Array) -> Array:
        """Return ``y f(x)`` of each row; the intercept is the last parameter."""
        score = self.design @ parameters[: self.n_weights]
        if self.fit_intercept:
            score = score + parameters[-1]
        return np.asarray(self.sign * score)

    def value(self, parameters: Array) -> float:
        """Return the regularized risk."""
        risk = float(self.weight @ self.loss.value(self.margins(parameters)))
        return risk + self.weight_decay * self.roughness(parameters)

    def roughness(self, parameters: Array) -> float:
        """Return ``R(w)``."""
        w = parameters[: self.n_weights]
        return float(0.5 * w @ w if self.penalty == "ridge" else np.abs(w).sum())

    def gradient(self, parameters: Array) -> Array:
        """Return the gradient of risk and ridge penalty; that of the risk alone for lasso."""
        slope = self._back(
            self.weight * self.sign * self.loss.gradient(self.margins(parameters))
        )
        if self.penalty == "ridge":
            slope[: self.n_weights] += self.weight_decay * parameters[: self.n_weights]
        return slope

    def hessian(self, parameters: Array) -> Array:
        """Return the second derivatives of risk and ridge penalty."""
        bend = self.weight * self.loss.curvature(self.margins(parameters))
        columns = self.design
        if self.fit_intercept:
            columns = np.column_stack([columns, np.ones(len(columns))])
        found = columns.T @ (bend[:, None] * columns)
        decayed = np.arange(self.n_weights)
        found[decayed, decayed] += self.weight_decay
        return np.asarray(found)

    def dual_value(self, slope: Array) -> float:
        """Return the lower bound on the least value that a slope of each row gives (ridge).

        With a the slopes: ``sum of w_i D(a_i) - |sum of w_i a_i y_i x_i|^2 / (2 lambda)``, if
        ``sum of w_i a_i y_i`` is zero.
        """
        pull = self._back(self.weight * self.sign * slope)[: self.n_weights]
        gained = float(self.weight @ self.loss.dual(slope))
        return gained - float(pull @ pull) / (2.0 * self.weight_decay)

    def _back(self, per_row: Array) -> Array:
        slope = np.empty(self.n_parameters)
        slope[: self.n_weights] = self.design.T @ per_row
        if self.fit_intercept:
            slope[-1] = per_row.sum()
        return slope


@dataclass(frozen=True, eq=False)
class RiskMinimum:
    """Weights and intercept, the risk there, how far above the least it is, and why it ended.

    ``gap`` is the distance to the dual value, NaN where there is none (lasso, or no decay).
    """

    weights: Array
    intercept: float
    value: float
    gap: float
    status: Status


def minimize_risk(problem: RiskProblem, max_steps: int = 500) -> RiskMinimum:
    """Return the minimum of a convex regularized risk.

    Smooth losses under ridge: Newton's method, or L-BFGS if the columns are many. Smooth losses
    under lasso: L-BFGS on positive and negative parts. A kinked loss under ridge: its kink
    rounded ever more sharply, until the duality gap is a ten-millionth of the value. A
    kinked loss under lasso or without decay: the linear program, exactly.
    """
    n, d = problem.design.shape
    if d > n and problem.penalty == "ridge" and problem.weight_decay > 0:
        # The best weights are a sum of rows, so that n of them suffice.
        left, size, right = scipy.linalg.svd(problem.design, full_matrices=False)
        found = minimize_risk(replace(problem, design=left * size), max_steps)
        return replace(found, weights=found.weights @ right)
    if not hasattr(problem.loss, "smoothed"):
        return _smooth(problem, max_steps)
    if problem.penalty == "lasso" or problem.weight_decay == 0:
        return _linear_program(problem)
    start = np.zeros(problem.n_parameters)
    for width in _WIDTHS:
        rounded = replace(problem, loss=problem.loss.smoothed(width))
        start, status = _descended(rounded, start, max_steps)
        slope = -rounded.loss.gradient(problem.margins(start))
        value = problem.value(start)
        gap = value - problem.dual_value(slope)
        if gap <= _ENOUGH * value:
            break
    return _minimum(problem, start, status, gap)


def _smooth(problem: RiskProblem, max_steps: int) -> RiskMinimum:
    if problem.penalty == "lasso" and problem.weight_decay > 0:
        return _lasso(problem, max_steps)
    x, status = _descended(problem, np.zeros(problem.n_parameters), max_steps)
    gap = np.nan
    if problem.weight_decay > 0:
        gap = problem.value(x) - problem.dual_value(-problem.loss.gradient(problem.margins(x)))
    return _minimum(problem, x, status, gap)


def _descended(problem: RiskProblem, start: Array, max_steps: int) -> tuple[Array, Status]:
    size = float(problem.weight.sum())
    rules = Termination(max_steps, 1e-15, 1e-14, 1e-10 * size)
    if problem.n_parameters <= _MOST_FOR_NEWTON:
        found = newton(problem.value, problem.gradient, problem.hessian, start, rules)
    else:
        rules = Termination(20 * max_steps, 1e-13, 1e-14, 1e-8 * size)
        found = lbfgs(problem.value, problem.gradient, start, termination=rules)
    return found.x, found.status


def _lasso(problem: RiskProblem, max_steps: int) -> RiskMinimum:
    """Return the minimum over ``w = u - v`` with u and v not negative."""
    d, rest = problem.n_weights, problem.n_parameters - problem.n_weights

    def joined(parts: Array) -> Array:
        return np.append(parts[:d] - parts[d : 2 * d], parts[2 * d :])

    def value(parts: Array) -> float:
        risk = problem.weight @ problem.loss.value(problem.margins(joined(parts)))
        return float(risk + problem.weight_decay * parts[: 2 * d].sum())

    def gradient(parts: Array) -> Array:
        slope = problem.gradient(joined(parts))
        decay = problem.weight_decay
        return np.concatenate([slope[:d] + decay, decay - slope[:d], slope[d:]])

    bounds = [(0.0, None)] * (2 * d) + [(None, None)] * rest
    size = float(problem.weight.sum())
    rules = Termination(20 * max_steps, 1e-14, 0.0, 1e-9 * size)
    found = lbfgs(value, gradient, np.zeros(2 * d + rest), bounds, rules)
    return _minimum(problem, joined(found.x), found.status, np.nan)


def _linear_program(problem: RiskProblem) -> RiskMinimum:
    """Return the minimum of hinge risk and lasso: rows short of a margin of one pay."""
    n, d = problem.design.shape
    signed = problem.sign[:, None] * problem.design
    blocks = [signed, -signed]
    if problem.fit_intercept:
        blocks.append(problem.sign[:, None])
    rest = int(problem.fit_intercept)
    lacking: Any = scipy.sparse.hstack(
        [scipy.sparse.csr_array(np.hstack(blocks)), scipy.sparse.eye(n)]
    )
    cost = np.concatenate(
        [np.full(2 * d, problem.weight_decay), np.zeros(rest), problem.weight]
    )
    bounds = [(0, None)] * (2 * d) + [(None, None)] * rest + [(0, None)] * n
    found: Any = scipy.optimize.linprog(cost, A_ub=-lacking, b_ub=-np.ones(n), bounds=bounds)
    if found.x is None:
        raise ValueError(
            f"the linear program must have a solution; found {found.message!r}. Raise "
            "weight_decay."
        )
    x = np.append(found.x[:d] - found.x[d : 2 * d], found.x[2 * d : 2 * d + rest])
    return _minimum(problem, x, Status.VALUE_STEADY, np.nan)


def _minimum(problem: RiskProblem, x: Array, status: Status, gap: float) -> RiskMinimum:
    intercept = float(x[-1]) if problem.fit_intercept else 0.0
    weights = x[: problem.n_weights]
    return RiskMinimum(weights, intercept, problem.value(x), float(gap), status)


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
    found = [_fewer_errors(design, is_positive, weight, start, rng) for start in starts]
    best, least = min(found, key=lambda pair: pair[1])
    for _ in range(n_restarts):
        if least <= _SAME * weight.sum():
            break
        size = max(float(np.abs(best).max()), 1e-12)
        shaken = best + 0.5 * size * rng.normal(size=best.shape)
        trial, cost = _fewer_errors(design, is_positive, weight, shaken, rng)
        if cost < least - _SAME * weight.sum():
            best, least = trial, cost
    return best, least


def _fewer_errors(
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

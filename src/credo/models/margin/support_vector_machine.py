"""Support vector machines: the widest margin between classes, and insensitive regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.features.kernels.kernel import Kernel, check_mercer
from credo.inference.margin.kernel_values import LinearValues, kernel_values
from credo.inference.margin.perceptron import row_order
from credo.inference.margin.support_vectors import (
    SupportProblem,
    SupportSettings,
    SupportSolution,
    support_vectors,
)
from credo.models.contract.inputs import (
    ClassLabels,
    KnownOutcomes,
    first_labeled_rows,
    row_weight,
    validated,
    weighted_by_class,
)
from credo.models.contract.linear_score import best_class
from credo.numerics.array import Array, is_constant, usual_variance
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.memory import bytes_of
from credo.numerics.parallel.threads import side_by_side
from credo.numerics.quotation import quote
from credo.numerics.warning import warn_user

__all__ = ["SupportVectorClassifier", "SupportVectorRegressor"]

Places = NDArray[np.intp]

MERCER_ROWS = 300
"""Rows on which a kernel that is not from credo is tried before it is used."""


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows that weigh something, each once with all of its weight, ordered by value.

    Neither the order of rows nor whether one came twice changes the answer by rounding.

    Attributes
    ----------
    x, outcome, weight
        Distinct rows, their code or number, and their total weight.
    place, share
        Which of them each given row is, and its share of the weight; 0 if it weighs nothing.
    """

    x: Array
    outcome: Array
    weight: Array
    place: Places
    share: Array

    @classmethod
    def of(cls, x: Array, outcome: Array, weight: Array) -> DistinctRows:
        """Return the distinct rows."""
        heavy = np.flatnonzero(weight > 0)
        order = heavy[row_order(x[heavy], outcome[heavy])]
        x_in_order, y_in_order = x[order], outcome[order]
        is_new = np.ones(len(order), dtype=np.bool_)
        is_new[1:] = np.diff(y_in_order) != 0
        is_new[1:] |= (x_in_order[1:] != x_in_order[:-1]).any(axis=1)
        starts = np.flatnonzero(is_new)
        place = np.zeros(len(x), dtype=np.intp)
        place[order] = np.cumsum(is_new) - 1
        total = np.add.reduceat(weight[order], starts)
        share = np.where(weight > 0, weight / total[place], 0.0)
        return cls(
            np.ascontiguousarray(x_in_order[starts]), y_in_order[starts], total, place, share
        )

    def spread_out(self, dual: Array) -> Array:
        """Return multipliers of the given rows: those of distinct ones, by share of weight."""
        return np.asarray(dual[..., self.place] * self.share)


class SupportVectorMachine(KnownOutcomes):
    """What both machines share: a kernel, support vectors, and sums over them."""

    dual_coef_: Annotated[Array, Form("p v")]
    dual_objective_: float
    duality_gap_: float
    intercept_: Annotated[Array, Form("p")]
    kernel_: Kernel
    kkt_residual_: Annotated[float, Form(low=0.0)]
    margin_: Annotated[Array, Form("p", 0.0, np.inf)]
    method_: str
    n_steps_: Annotated[NDArray[np.int64], Form("p", 0)]
    support_: Annotated[NDArray[np.int64], Form("v", 0, is_rising=True)]
    support_vectors_: Annotated[Array, Form("v d")]

    kernel: Kernel | None
    C: float
    tolerance: float
    cache: float | str

    @property
    def coef_(self) -> Array:
        """Weights of the columns of X, shape (p, d), with a linear kernel.

        Raises
        ------
        AttributeError
            With any other kernel, whose weights are of functions without end.
        """
        check_is_fitted(self)
        values = kernel_values(self.kernel_, self.support_vectors_)
        if not isinstance(values, LinearValues):
            raise AttributeError(
                f"coef_ must be asked with a linear kernel; found {self.kernel_!r}. Read "
                "dual_coef_ and support_vectors_."
            )
        return np.asarray(self.dual_coef_ @ values.known * values.factor)

    def _scores(self, X: ArrayLike) -> Array:
        """Return sums over support vectors and intercepts, shape (n, p)."""
        check_is_fitted(self)
        x = np.asarray(validated(self, X, reset=False, dtype=np.float64))
        values = kernel_values(self.kernel_, self.support_vectors_)
        dual = np.ascontiguousarray(self.dual_coef_.T)
        return np.asarray(values.sums(x, dual) + self.intercept_)

    def _settings(self, unit: float = 1.0) -> SupportSettings:
        return SupportSettings(self.tolerance * unit, bytes_of(self.cache))

    def _check_shared(self) -> None:
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise TypeError(
                "kernel must be None or a kernel from credo.features, such as Matern52(); "
                f"found {quote(self.kernel)}. Pass an instance."
            )
        _require_positive("tolerance", self.tolerance, "such as 1e-3.")
        bytes_of(self.cache)

    def _set_solution(self, x: Array, dual: Array, found: list[SupportSolution]) -> None:
        """Keep multipliers of the given rows, shape (p, n), and what is certified of them."""
        self.support_ = np.flatnonzero(dual.any(axis=0))
        self.support_vectors_ = x[self.support_]
        self.dual_coef_ = np.ascontiguousarray(dual[:, self.support_])
        self.intercept_ = np.array([one.intercept for one in found])
        self.margin_ = np.array([one.margin for one in found])
        self.dual_objective_ = float(sum(one.dual_objective for one in found))
        self.duality_gap_ = float(sum(one.duality_gap for one in found))
        self.kkt_residual_ = max(one.residual for one in found)
        self.n_steps_ = np.array([one.n_steps for one in found], dtype=np.int64)
        self.method_ = found[0].method
        worst = max(found, key=lambda one: one.residual)
        if not worst.status.has_converged:
            warn_user(
                f"the conditions of the optimum must hold to tolerance={self.tolerance:g}; "
                f"found a violation of {worst.residual:.3g} ({worst.status.value}). Raise the "
                "tolerance, lower C, or standardize the columns.",
                ConvergenceWarning,
            )


class SupportVectorClassifier(SupportVectorMachine, ClassifierMixin, BaseEstimator):
    """Classification by the widest margin: few rows, the support vectors, hold the boundary.

    ``f(x) = sum of y_i a_i k(x_i, x) + b`` minimizes ``|w|^2 / 2 + C sum of max(0, 1 -
    y_i f(x_i))`` for classes coded -1 and 1; the second class is predicted where f is above
    zero. Several classes are parted two by two, and each pair has a vote.

    Parameters
    ----------
    kernel
        From `credo.features`, used as given: nothing of it is learned. If None, a squared
        exponential whose length scale is the spread of each column times ``sqrt(d / 2)``, so
        that units do not matter (``gamma="scale"`` of scikit-learn on standardized columns).
    C
        What a unit of slack costs: the larger, the fewer rows are within the margin.
        Infinite for a hard margin, which classes that overlap do not have.
    class_weight
        Factors of C: a mapping from class, "balanced", or None.
    tolerance
        Largest violation of the optimality conditions, in units of f.
    cache
        Memory for rows of the kernel, in bytes or as "2GB".

    Attributes
    ----------
    classes_
        The labels, in rising order.
    kernel_
        The kernel in use.
    support_, support_vectors_
        Places (v,) and values (v, d) of the rows with a multiplier above zero for some pair.
    dual_coef_
        ``y_i a_i`` of each pair of classes, shape (p, v); pairs in the order of
        `pairs`, the second class of each counted as 1.
    intercept_, margin_
        b, and the distance ``1 / |w|`` from the boundary to ``f = 1``, of each pair.
    dual_objective_, duality_gap_
        Sum over the pairs; the least objective lies within the gap above the dual one.
    kkt_residual_
        Largest violation of the optimality conditions that was found in float64.
    n_steps_, method_
        Steps for each pair, and how: "pairs" of multipliers, or "coordinates".

    Notes
    -----
    A score is no probability: there is no `predict_proba`. Sums over rows are in float32 at
    first where that is enough; what is returned is certified in float64. With a linear kernel
    and 2000 rows or more, dual coordinate descent comes first.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 2.0]])
    >>> model = SupportVectorClassifier(features.Linear(), C=np.inf).fit(x, [0, 0, 1, 1])
    >>> model.coef_.round(6), model.intercept_.round(6), model.margin_.round(6)
    (array([[1., 0.]]), array([-2.]), array([1.]))
    >>> model.support_
    array([1, 2])
    """

    classes_: ClassLabels

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        class_weight: Any = None,
        tolerance: float = 1e-3,
        cache: float | str = "2GB",
    ):
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.tolerance = tolerance
        self.cache = cache

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        smooth = features.Matern52(2.0)
        return (
            cls(),
            Example(cls(features.Linear(), C=0.5, tolerance=1e-6), unit_free=False),
            Example(cls(smooth, C=10.0, class_weight="balanced"), unit_free=False),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,); a weight multiplies C."""
        self._check_shared()
        _require_positive("C", self.C, "or np.inf for a hard margin.")
        rows = first_labeled_rows(self, X, y, sample_weight)
        weight = weighted_by_class(self.class_weight, self.classes_, rows.code, rows.weight)
        self.kernel_ = _placed(self.kernel, rows.x, rows.weight)
        distinct = DistinctRows.of(rows.x, rows.code.astype(np.float64), weight)
        _require_kernel(self.kernel_, distinct.x)
        pairs = list(combinations(range(len(self.classes_)), 2))
        found = _each(self._pair(distinct), pairs)
        dual = np.stack([one.dual for one in found])
        self._set_solution(rows.x, distinct.spread_out(dual), found)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return f, shape (n,), above zero for the second of two classes, else votes (n, K).

        A vote is 1 for the class that a pair prefers; sums of scores, less than 1/3 in size,
        decide between classes of as many votes.
        """
        scores = self.pair_scores(X)
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        votes, sums = np.zeros((2, len(scores), len(self.classes_)))
        for score, (a, b) in zip(
            scores.T, combinations(range(len(self.classes_)), 2), strict=True
        ):
            votes[:, b] += score > 0
            votes[:, a] += score <= 0
            sums[:, b] += score
            sums[:, a] -= score
        return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))

    def pair_scores(self, X: ArrayLike) -> Array:
        """Return f of each pair of classes, shape (n, p), above zero for the second one."""
        return self._scores(X)

    def distance(self, X: ArrayLike) -> Array:
        """Return the signed distance ``f(x) / |w|`` from each boundary, shape (n, p).

        It is measured among the functions of the kernel; for a linear one, among the inputs
        each in units of one over the root of its variance.
        """
        return self.pair_scores(X) * self.margin_

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the highest score; the first of two where f is zero."""
        return best_class(self.decision_function(X), self.classes_)

    def pairs(self) -> pd.DataFrame:
        """Return a table of the pairs: classes, support vectors, margin, intercept, steps."""
        check_is_fitted(self)
        names = list(combinations(self.classes_.tolist(), 2))
        return pd.DataFrame(
            {
                "first": [a for a, _ in names],
                "second": [b for _, b in names],
                "support vectors": np.count_nonzero(self.dual_coef_, axis=1),
                "margin": self.margin_,
                "intercept": self.intercept_,
                "steps": self.n_steps_,
            }
        )

    def _pair(self, rows: DistinctRows) -> Callable[[tuple[int, int]], SupportSolution]:
        settings = self._settings()

        def solved(pair: tuple[int, int]) -> SupportSolution:
            own = np.flatnonzero((rows.outcome == pair[0]) | (rows.outcome == pair[1]))
            sign = np.where(rows.outcome[own] == pair[1], 1.0, -1.0)
            problem = SupportProblem.of_classes(
                self.kernel_, rows.x[own], sign, float(self.C) * rows.weight[own]
            )
            found = support_vectors(problem, settings)
            dual = np.zeros(len(rows.outcome))
            dual[own] = found.dual
            return replace(found, dual=dual)

        return solved


class SupportVectorRegressor(SupportVectorMachine, RegressorMixin, BaseEstimator):
    """Regression that errors up to epsilon cost nothing, by few rows, the support vectors.

    ``f(x) = sum of (a_i - a_i^*) k(x_i, x) + b`` minimizes ``|w|^2 / 2 + C sum of
    max(0, |y_i - f(x_i)| - epsilon)``.

    Parameters
    ----------
    kernel
        As for `SupportVectorClassifier`.
    C
        What a unit of error beyond epsilon costs; as |w| grows with y, so must C.
    epsilon
        Error that costs nothing, 0 or more, in the units of y.
    tolerance
        Largest violation of the optimality conditions, in standard deviations of y.
    cache
        Memory for rows of the kernel, in bytes or as "2GB".

    Attributes
    ----------
    kernel_, support_, support_vectors_
        The kernel in use; places and values of the rows at the edge of the tube or outside.
    dual_coef_
        ``a_i - a_i^*``, shape (1, v).
    intercept_, margin_
        b, and ``1 / |w|``, shape (1,).
    dual_objective_, duality_gap_, kkt_residual_
        How good the multipliers are, as found in float64.
    n_steps_, method_
        Steps, and how: "pairs" of multipliers, or "coordinates".

    Examples
    --------
    >>> x = np.arange(5.0)[:, None]
    >>> model = SupportVectorRegressor(features.Linear(), C=10.0).fit(x, 2.0 * x[:, 0] + 1.0)
    >>> model.predict([[2.0]]).round(4), model.coef_.round(4)
    (array([5.]), array([[1.95]]))
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        epsilon: float = 0.1,
        tolerance: float = 1e-3,
        cache: float | str = "2GB",
    ):
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tolerance = tolerance
        self.cache = cache

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (
            Example(cls(), unit_free=False),
            Example(cls(features.Linear(), C=0.5, epsilon=0.0), unit_free=False),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and numbers ``y`` (n,); a weight multiplies C."""
        self._check_shared()
        _require_positive("C", self.C, "such as 1.0.")
        if np.isinf(self.C):
            raise ValueError(
                "C must be finite for regression; found inf. Pass a large number, such as 1e3."
            )
        if not (isinstance(self.epsilon, Real) and 0 <= float(self.epsilon) < np.inf):
            raise ValueError(
                f"epsilon must be 0 or a positive number; found {quote(self.epsilon)}. Pass "
                "the error that costs nothing, in the units of y."
            )
        x, outcome = validated(self, X, y, dtype=np.float64, y_numeric=True)
        weight = row_weight(sample_weight, x)
        self.kernel_ = _placed(self.kernel, x, weight)
        rows = DistinctRows.of(x, outcome.astype(np.float64), weight)
        _require_kernel(self.kernel_, rows.x)
        # About its middle, the outcome has more digits; the intercept is free.
        share = rows.weight / rows.weight.sum()
        middle = float(share @ rows.outcome)
        unit = float(np.sqrt(share @ np.square(rows.outcome - middle))) or 1.0
        problem = SupportProblem.of_numbers(
            self.kernel_,
            rows.x,
            rows.outcome - middle,
            float(self.C) * rows.weight,
            float(self.epsilon),
        )
        found = support_vectors(problem, self._settings(unit))
        dual = rows.spread_out(found.dual)[None]
        self._set_solution(x, dual, [replace(found, intercept=found.intercept + middle)])
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return f at each row."""
        return np.asarray(self._scores(X)[:, 0])


def _each(
    work: Callable[[tuple[int, int]], SupportSolution], pairs: list[tuple[int, int]]
) -> list[SupportSolution]:
    return [work(pairs[0])] if len(pairs) == 1 else side_by_side(work, pairs)


def _require_positive(name: str, value: Any, advice: str) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and float(value) > 0):
        raise ValueError(
            f"{name} must be a positive number; found {quote(value)}. Pass one, {advice}"
        )


def _placed(kernel: Kernel | None, x: Array, weight: Array) -> Kernel:
    """Return the kernel, or a squared exponential in the units of the columns."""
    if kernel is not None:
        return kernel
    share = weight / weight.sum()
    center = share @ x
    variance = share @ np.square(x - center)
    n_varying = int(np.count_nonzero(~is_constant(center, np.sqrt(variance))))
    spread = np.sqrt(usual_variance(center, variance))
    scales = spread * (0.5 * max(n_varying, 1)) ** 0.5
    return features.SquaredExponential(tuple(scales.tolist()))


def _require_kernel(kernel: Kernel, x: Array) -> None:
    """Refuse rows that do not suit a kernel, and functions that are no kernel on them."""
    kernel.check_inputs(x)
    is_known = (
        type(leaf).__module__.startswith("credo.features.")
        and not isinstance(leaf, features.FunctionKernel)
        for leaf in kernel.leaves
    )
    if not all(is_known):
        some = np.linspace(0, len(x) - 1, min(len(x), MERCER_ROWS)).astype(np.intp)
        check_mercer(kernel, np.unique(x[some], axis=0))

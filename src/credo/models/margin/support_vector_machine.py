"""Support vector machines: the widest margin between classes, and insensitive regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import Annotated, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.distributions.categorical import Categorical
from credo.distributions.predictive import Predictive
from credo.features.kernels.kernel import Kernel, check_mercer
from credo.inference.margin.kernel_values import KernelValues, LinearValues, kernel_values
from credo.inference.margin.perceptron import row_order
from credo.inference.margin.score_probability import ScoreSigmoid, coupled_probability
from credo.inference.margin.support_vectors import (
    SupportProblem,
    SupportSettings,
    SupportSolution,
    support_path,
    support_vectors,
)
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import (
    ClassLabels,
    KnownOutcomes,
    first_labeled_rows,
    row_weight,
    several,
    validated,
    weighted_by_class,
)
from credo.models.contract.linear_score import best_class
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array, is_constant, usual_variance
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.memory import bytes_of
from credo.numerics.parallel.threads import side_by_side
from credo.numerics.quotation import quote
from credo.numerics.special.log_domain import sigmoid
from credo.numerics.warning import warn_user
from credo.validation.held_out import ResidualNormal

__all__ = ["SupportVectorClassifier", "SupportVectorRegressor"]

Places = NDArray[np.intp]
Kernels = Kernel | Sequence[Kernel | None] | None
Numbers = float | Sequence[float]
Settings = list[dict[str, Any]]

N_FOLDS = 5
"""Parts of the rows that are held out in turn."""

MERCER_ROWS = 300
"""Rows on which a kernel that is not from credo is tried before it is used."""


@dataclass(frozen=True, eq=False)
class HeldOutParts:
    """Parts of distinct rows, each held out once.

    Attributes
    ----------
    row, fold, weight
        Which row each is a part of, with which fold it is held out, or -1, and its weight.
    """

    row: Places
    fold: Places
    weight: Array

    @property
    def n_folds(self) -> int:
        """How many times something is held out."""
        return int(self.fold.max()) + 1

    def test(self, fold: int) -> Places:
        """Return the parts to be judged by what is learned without a fold.

        Those in no fold have the score of a machine that learned from them.
        """
        return np.flatnonzero((self.fold == fold) | ((self.fold < 0) & (fold == 0)))

    def learned(self, fold: int) -> tuple[Places, Array]:
        """Return the rows to learn from without a fold, and their weights."""
        kept = self.fold != fold
        weight = np.bincount(self.row[kept], self.weight[kept])
        rows = np.flatnonzero(weight > 0)
        return rows, np.asarray(weight[rows])


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows that weigh something, each once with all of its weight, ordered by value.

    Neither the order of rows nor whether one came twice changes the answer by rounding.

    Attributes
    ----------
    x, outcome, weight
        Distinct rows, their code or number, and their total weight.
    factor
        What multiplies the cost of each beside its weight.
    place, share
        Which of them each given row is, and its share of the weight; 0 if it weighs nothing.
    """

    x: Array
    outcome: Array
    weight: Array
    factor: Array
    place: Places
    share: Array

    @classmethod
    def of(
        cls, x: Array, outcome: Array, weight: Array, by_class: Array | None = None
    ) -> DistinctRows:
        """Return the distinct rows; factors of cost are by code, one if None."""
        if by_class is not None:
            weight = np.where(by_class[outcome.astype(np.intp)] > 0, weight, 0.0)
        heavy = np.flatnonzero(weight > 0)
        order = heavy[row_order(x[heavy], outcome[heavy])]
        x_in_order, y_in_order = x[order], outcome[order]
        is_new = np.ones(len(order), dtype=np.bool_)
        is_new[1:] = np.diff(y_in_order) != 0
        if x.shape[1]:
            is_new[1:] |= x_in_order[1:, 0] != x_in_order[:-1, 0]
        alike = np.flatnonzero(~is_new)
        is_new[alike] = (x_in_order[alike] != x_in_order[alike - 1]).any(axis=1)
        starts = np.flatnonzero(is_new)
        place = np.zeros(len(x), dtype=np.intp)
        place[order] = np.cumsum(is_new) - 1
        total = np.add.reduceat(weight[order], starts)
        share = np.where(weight > 0, weight / total[place], 0.0)
        y = y_in_order[starts]
        factor = np.ones(len(y)) if by_class is None else by_class[y.astype(np.intp)]
        distinct = x_in_order if len(starts) == len(order) else x_in_order[starts]
        return cls(np.ascontiguousarray(distinct), y, total, factor, place, share)

    def held_out_parts(self, codes: Array | None = None) -> HeldOutParts:
        """Return which part of the rows is held out when, each class spread evenly.

        All copies of a row, or all of its weight, are held out together, or it would be
        learned by heart. But where the same inputs came with several outcomes, rows are cells
        of a table of counts, and are held out bit by bit. The only row of a class is in no
        fold, -1: without it there would be no such class.
        """
        n_copies = np.clip(np.rint(self.weight), 1, N_FOLDS).astype(np.intp)
        n_copies = np.where(self._is_shared, n_copies, 1)
        row = np.repeat(np.arange(len(self.outcome)), n_copies)
        group = np.zeros(len(row)) if codes is None else codes[row]
        _, member, count = np.unique(group, return_inverse=True, return_counts=True)
        # By chance, but the same for the same rows in any order; copies follow each other.
        chance = np.random.default_rng(0).permutation(len(self.outcome))
        order = np.lexsort((chance[row], member))
        start = np.concatenate([[0], np.cumsum(count)[:-1]])
        place = np.empty(len(row), dtype=np.intp)
        place[order] = np.arange(len(row)) - start[member[order]]
        fold = np.where(count[member] > 1, place % np.minimum(N_FOLDS, count[member]), -1)
        return HeldOutParts(row, fold, (self.weight / n_copies)[row])

    @property
    def _is_shared(self) -> NDArray[np.bool_]:
        """Whether the inputs of each row came with another outcome too."""
        is_next = (self.x[1:] == self.x[:-1]).all(axis=1)
        return np.asarray(np.append(is_next, False) | np.append(False, is_next))

    def spread_out(self, dual: Array) -> Array:
        """Return multipliers of the given rows: those of distinct ones, by share of weight."""
        return np.asarray(dual[..., self.place] * self.share)


def _tells_probability(machine: Any) -> bool:
    """Whether there are probabilities; the reason why not is the cause of what is raised."""
    if not machine.probability:
        raise AttributeError(
            "probability must be True for distributions and probabilities; found "
            f"{quote(machine.probability)}. Pass probability=True, and fit again."
        )
    return True


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

    C_: Annotated[float, Form(low=0.0, high=np.inf)]
    cv_results_: dict[str, list[Any]] | None

    kernel: Kernels
    C: Numbers
    probability: bool
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
        values = self._values()
        if not isinstance(values, LinearValues):
            raise AttributeError(
                f"coef_ must be asked with a linear kernel; found {self.kernel_!r}. Read "
                "dual_coef_ and support_vectors_."
            )
        return np.asarray(values.direction(self.dual_coef_.T).T * values.factor)

    def _scores(self, X: ArrayLike) -> Array:
        """Return sums over support vectors and intercepts, shape (n, p)."""
        check_is_fitted(self)
        x = np.asarray(validated(self, X, reset=False, dtype=np.float64))
        return np.asarray(self._values().sums(x, self.dual_coef_.T) + self.intercept_)

    def _values(self) -> KernelValues:
        """Return the kernel at the support vectors, made ready once for all predictions."""
        kernel, x = self.kernel_, self.support_vectors_
        kept = _VALUES.get(self)
        if kept is None or kept[0] is not kernel or kept[1] is not x:
            kept = _VALUES[self] = (kernel, x, kernel_values(kernel, x))
        return kept[2]

    def _settings(self) -> SupportSettings:
        return SupportSettings(self.tolerance, bytes_of(self.cache))

    def _check_shared(self) -> None:
        for kernel in several(self.kernel):
            if not (kernel is None or isinstance(kernel, Kernel)):
                raise TypeError(
                    "kernel must be None or a kernel from credo.features, such as Matern52(), "
                    f"or several of these; found {quote(kernel)}. Pass an instance."
                )
        if not several(self.kernel):
            raise ValueError("kernel must name one or more; found none. Pass None or a kernel.")
        if not isinstance(self.probability, bool | np.bool_):
            raise TypeError(
                f"probability must be True or False; found {quote(self.probability)}. Pass "
                "True for probabilities."
            )
        _require_positive("tolerance", self.tolerance, "such as 1e-3.")
        if np.isinf(self.tolerance):
            raise ValueError("tolerance must be finite; found inf. Pass one such as 1e-3.")
        bytes_of(self.cache)

    def _kernels(self, rows: DistinctRows, x: Array, weight: Array) -> list[Kernel]:
        """Return the kernels to try, each checked on the rows."""
        found = [_placed(kernel, x, weight) for kernel in several(self.kernel)]
        for kernel in found:
            _require_kernel(kernel, rows.x)
        return found

    def _set_solution(
        self, x: Array, dual: Array, found: list[SupportSolution], unit: float = 1.0
    ) -> None:
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
            violation = worst.residual / unit
            warn_user(
                f"the conditions of the optimum must hold to tolerance={self.tolerance:g}; "
                f"found a violation of {violation:.3g} ({worst.status.value}). Raise the "
                "tolerance, lower C, or standardize the columns.",
                ConvergenceWarning,
            )


_VALUES: WeakKeyDictionary[SupportVectorMachine, tuple[Kernel, Array, KernelValues]] = (
    WeakKeyDictionary()
)
"""Kernels at the support vectors of machines in use, which are no part of what is stored."""


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
        Of several, folds choose.
    C
        What a unit of slack costs: the larger, the fewer rows are within the margin.
        Infinite for a hard margin, which classes that overlap do not have. Of several, folds
        choose: each is solved from the one before.
    class_weight
        Factors of C: a mapping from class, "balanced", or None. Folds judge by them as well,
        and probabilities are those where classes are as frequent as their weights.
    probability
        Whether to learn probabilities as well: a sigmoid of f for each pair of classes, from
        scores of five parts of the rows that were held out in turn. The only row of a class
        is never held out.
    tolerance
        Largest violation of the optimality conditions, in units of f.
    cache
        Memory for rows of the kernel, in bytes or as "2GB".

    Attributes
    ----------
    classes_
        The labels, in rising order.
    kernel_, C_
        The kernel and C in use.
    cv_results_
        What was tried, as of `GridSearchCV`: "params", "param_kernel", "param_C",
        "mean_test_score" (the share of held-out rows that are right) and "std_test_score" (its
        standard error), "rank_test_score". None if there was nothing to choose.
    score_slope_, score_middle_
        Slope of the sigmoid of each pair, and the f that means one half, shape (p,); None
        without probabilities.
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
    A score is no probability: without ``probability=True`` there is no `predict_proba`. With
    it, scores are shifted so that zero means one half, and all answers agree. Sums over rows
    are in float32 at first where that is enough; what is returned is certified in float64.
    With a linear kernel and 2000 rows or more, dual coordinate descent comes first.

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
    score_middle_: Annotated[Array | None, Form("p")]
    score_slope_: Annotated[Array | None, Form("p", 0.0)]

    def __init__(
        self,
        kernel: Kernels = None,
        C: Numbers = 1.0,
        class_weight: Any = None,
        probability: bool = False,
        tolerance: float = 1e-3,
        cache: float | str = "2GB",
    ):
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.probability = probability
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
            cls(C=(0.3, 3.0), probability=True),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,); a weight multiplies C."""
        self._check_shared()
        costs = _costs(self.C, "or np.inf for a hard margin.")
        rows = first_labeled_rows(self, X, y, sample_weight)
        _require_no_cost_of_rows(self.C, len(rows.x))
        weight = weighted_by_class(self.class_weight, self.classes_, rows.code, rows.weight)
        total, own = (
            np.bincount(rows.code, part, minlength=len(self.classes_)).astype(np.float64)
            for part in (weight, rows.weight)
        )
        by_class = np.divide(total, own, out=np.zeros_like(own), where=own > 0)
        code = rows.code.astype(np.float64)
        distinct = DistinctRows.of(rows.x, code, rows.weight, by_class)
        kernels = self._kernels(distinct, rows.x, rows.weight)
        self.kernel_, self.C_, self.cv_results_ = kernels[0], costs[0], None
        held_out = self._tried(distinct, kernels, costs)
        found = _each(self._pair(distinct), _pairs(len(self.classes_)))
        dual = np.stack([one.dual for one in found])
        self._set_solution(rows.x, distinct.spread_out(dual), found)
        self._set_sigmoids(distinct, held_out)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return f, shape (n,), above zero for the second of two classes, else votes (n, K).

        A vote is 1 for the class that a pair prefers; sums of scores, less than 1/3 in size,
        decide between classes of as many votes. With probabilities, f is less the score that
        means one half, and several classes have their log probabilities.
        """
        scores = self.pair_scores(X)
        if len(self.classes_) == 2:
            middle = 0.0 if self.score_middle_ is None else self.score_middle_[0]
            return np.asarray(scores[:, 0] - middle)
        if self.score_middle_ is None:
            return _votes(scores, len(self.classes_))
        return np.asarray(np.log(np.maximum(self._probability(scores), 1e-300)))

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row."""
        return Categorical(self._probability(self.pair_scores(X)), self.classes_)

    predict_dist = available_if(_tells_probability)(predict_dist)
    predict_proba = available_if(_tells_probability)(PredictiveClassifier.predict_proba)
    predict_log_proba = available_if(_tells_probability)(PredictiveClassifier.predict_log_proba)
    decide = available_if(_tells_probability)(PredictiveClassifier.decide)
    predict_frame = available_if(_tells_probability)(PredictiveClassifier.predict_frame)

    def pair_scores(self, X: ArrayLike) -> Array:
        """Return f of each pair of classes, shape (n, p), never shifted."""
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

    def _probability(self, scores: Array) -> Array:
        """Return class probabilities from scores of pairs."""
        assert self.score_slope_ is not None
        assert self.score_middle_ is not None
        second = sigmoid(self.score_slope_ * (scores - self.score_middle_))
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - second[:, 0], second[:, 0]])
        return coupled_probability(second, len(self.classes_))

    def _tried(
        self, rows: DistinctRows, kernels: list[Kernel], costs: list[float]
    ) -> tuple[HeldOutParts, Array] | None:
        """Choose by folds if there is a choice; return held-out scores of pairs if known."""
        is_choice = len(kernels) * len(costs) > 1
        if not (is_choice or self.probability):
            return None
        parts = rows.held_out_parts(rows.outcome)
        held_out = [self._held_out(rows, kernel, costs, parts, is_choice) for kernel in kernels]
        if not is_choice:
            return parts, np.asarray(held_out[0][..., 0])
        k, outcome = len(self.classes_), rows.outcome[parts.row]
        is_right = [
            [_answers(scores[..., c], k) == outcome for c in range(len(costs))]
            for scores in held_out
        ]
        settings: Settings = [{"kernel": kernel, "C": C} for kernel in kernels for C in costs]
        right = np.array(is_right, dtype=np.float64).reshape(len(settings), -1)
        importance = parts.weight * rows.factor[parts.row]
        best, self.cv_results_ = _results(settings, right, importance)
        self.kernel_, self.C_ = settings[best]["kernel"], settings[best]["C"]
        return parts, np.asarray(held_out[best // len(costs)][..., best % len(costs)])

    def _held_out(
        self,
        rows: DistinctRows,
        kernel: Kernel,
        costs: list[float],
        parts: HeldOutParts,
        is_choice: bool,
    ) -> Array:
        """Return scores of pairs for parts that were not learned from, shape (n, p, m).

        Where there is nothing to choose, only parts of the two classes have a score of a pair.
        """
        n_classes = len(self.classes_)
        found = np.full((len(parts.row), len(_pairs(n_classes)), len(costs)), np.nan)
        factors = [1.0, *(cost / costs[0] for cost in costs[1:])]

        def learned(fold: int) -> None:
            test = parts.test(fold)
            kept, weight = parts.learned(fold)
            learned_of = _of_pairs(rows.outcome[kept], n_classes)
            tested_of = _of_pairs(rows.outcome[parts.row[test]], n_classes)
            for k, (a, b) in enumerate(_pairs(n_classes)):
                place = learned_of(a, b)
                own = kept[place]
                sign = np.where(rows.outcome[own] == b, 1.0, -1.0)
                problem = SupportProblem.of_classes(
                    kernel, rows.x[own], sign, costs[0] * weight[place] * rows.factor[own]
                )
                path = support_path(problem, factors, self._settings())
                asked = test if is_choice else test[tested_of(a, b)]
                found[asked, k] = _said(problem, path, rows.x[parts.row[asked]])

        side_by_side(learned, range(max(parts.n_folds, 1)))
        return found

    def _set_sigmoids(
        self, rows: DistinctRows, held_out: tuple[HeldOutParts, Array] | None
    ) -> None:
        """Learn probabilities from held-out scores, if they are wanted."""
        self.score_slope_ = self.score_middle_ = None
        if not self.probability or held_out is None:
            return
        parts, scores = held_out
        outcome, sigmoids = rows.outcome[parts.row], []
        places = _of_pairs(outcome, len(self.classes_))
        for k, (a, b) in enumerate(_pairs(len(self.classes_))):
            own = places(a, b)
            factor = rows.factor[parts.row[own]]
            sigmoids.append(
                ScoreSigmoid.of(scores[own, k], outcome[own] == b, parts.weight[own], factor)
            )
        self.score_slope_ = np.array([one.slope for one in sigmoids])
        self.score_middle_ = np.array([one.middle for one in sigmoids])

    def _pair(self, rows: DistinctRows) -> Callable[[tuple[int, int]], SupportSolution]:
        settings = self._settings()

        def solved(pair: tuple[int, int]) -> SupportSolution:
            own = np.flatnonzero((rows.outcome == pair[0]) | (rows.outcome == pair[1]))
            sign = np.where(rows.outcome[own] == pair[1], 1.0, -1.0)
            problem = SupportProblem.of_classes(
                self.kernel_, rows.x[own], sign, self.C_ * (rows.weight * rows.factor)[own]
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
        What a unit of error beyond epsilon costs; as |w| grows with y, so must C. Of several,
        folds choose.
    epsilon
        Error that costs nothing, 0 or more, in the units of y. Of several, folds choose.
    probability
        Whether to learn the noise around f as well, from errors for five parts of the rows
        that were held out in turn: then there are distributions and intervals.
    tolerance
        Largest violation of the optimality conditions, in standard deviations of y.
    cache
        Memory for rows of the kernel, in bytes or as "2GB".

    Attributes
    ----------
    kernel_, C_, epsilon_
        Those in use.
    cv_results_
        What was tried, as for `SupportVectorClassifier`, "mean_test_score" being less the
        squared error; None if there was nothing to choose.
    noise_df_, noise_scale_
        Number of held-out errors, and their root mean square: an outcome is Student's t around
        f. None without probabilities.
    support_, support_vectors_
        Places and values of the rows at the edge of the tube or outside.
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

    epsilon_: Annotated[float, Form(low=0.0)]
    noise_df_: float | None
    noise_scale_: float | None

    def __init__(
        self,
        kernel: Kernels = None,
        C: Numbers = 1.0,
        epsilon: Numbers = 0.1,
        probability: bool = False,
        tolerance: float = 1e-3,
        cache: float | str = "2GB",
    ):
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.probability = probability
        self.tolerance = tolerance
        self.cache = cache

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        several = cls(C=(0.5, 5.0), epsilon=(0.05, 0.2), probability=True)
        return (
            Example(cls(), unit_free=False),
            Example(cls(features.Linear(), C=0.5, epsilon=0.0), unit_free=False),
            Example(several, unit_free=False),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and numbers ``y`` (n,); a weight multiplies C."""
        self._check_shared()
        costs = _costs(self.C, "such as 1.0.")
        if np.isinf(costs[-1]):
            raise ValueError(
                "C must be finite for regression; found inf. Pass a large number, such as 1e3."
            )
        widths = _epsilons(self.epsilon)
        x, outcome = validated(self, X, y, dtype=np.float64, y_numeric=True)
        _require_no_cost_of_rows(self.C, len(x))
        weight = row_weight(sample_weight, x)
        rows = DistinctRows.of(x, outcome.astype(np.float64), weight)
        kernels = self._kernels(rows, x, weight)
        # About its middle, the outcome has more digits; the intercept is free.
        share = rows.weight / rows.weight.sum()
        middle = float(share @ rows.outcome)
        unit = float(np.sqrt(share @ np.square(rows.outcome - middle))) or 1.0
        # In units of their spread, squares are within what float32 can hold.
        rows = replace(rows, outcome=(rows.outcome - middle) / unit)
        self.cv_results_, self.noise_df_, self.noise_scale_ = None, None, None
        self.kernel_, self.epsilon_, self.C_ = kernels[0], widths[0], costs[0]
        self._try(rows, kernels, widths, costs, unit)
        width, cost = self.epsilon_ / unit, self.C_ / unit * rows.weight
        problem = SupportProblem.of_numbers(self.kernel_, rows.x, rows.outcome, cost, width)
        found = support_vectors(problem, self._settings()).scaled(unit)
        dual = rows.spread_out(found.dual)[None]
        solution = replace(found, intercept=found.intercept + middle)
        self._set_solution(x, dual, [solution], unit)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return f at each row.

        Parameters
        ----------
        return_std
            Whether to return the standard deviation of the noise as well.
        """
        if return_std and not self.probability:
            raise ValueError(
                "probability must be True for standard deviations; found "
                f"{quote(self.probability)}. Pass probability=True and fit again, or "
                "return_std=False."
            )
        mean = np.asarray(self._scores(X)[:, 0])
        return (mean, self.predict_dist(X).std()) if return_std else mean

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, one entry per row."""
        mean = self.predict(X)
        noise = ResidualNormal(np.asarray(self.noise_df_), np.asarray(self.noise_scale_))
        return noise.around(mean)

    predict_dist = available_if(_tells_probability)(predict_dist)
    predict_interval = available_if(_tells_probability)(PredictiveRegressor.predict_interval)
    predict_quantiles = available_if(_tells_probability)(PredictiveRegressor.predict_quantiles)
    decide = available_if(_tells_probability)(PredictiveRegressor.decide)
    predict_frame = available_if(_tells_probability)(PredictiveRegressor.predict_frame)

    def _try(
        self,
        rows: DistinctRows,
        kernels: list[Kernel],
        widths: list[float],
        costs: list[float],
        unit: float,
    ) -> None:
        """Choose by folds if there is a choice, and learn the noise if that is wanted."""
        settings: Settings = [
            {"kernel": kernel, "epsilon": width, "C": C}
            for kernel in kernels
            for width in widths
            for C in costs
        ]
        if len(settings) == 1 and not self.probability:
            return
        if len(rows.outcome) < 2:
            raise ValueError(
                "folds, by which settings and noise are learned, need two distinct rows or "
                "more; found 1 sample. Pass one value of each setting, and probability=False."
            )
        parts = rows.held_out_parts()
        said = [
            self._held_out(rows, (kernel, width), costs, parts, unit)
            for kernel in kernels
            for width in widths
        ]
        held_out, outcome = np.concatenate(said, axis=1).T, rows.outcome[parts.row]
        best = 0
        if len(settings) > 1:
            loss = -np.square(unit * (held_out - outcome))
            best, self.cv_results_ = _results(settings, loss, parts.weight)
        self.kernel_, self.epsilon_, self.C_ = settings[best].values()
        if self.probability:
            noise = ResidualNormal.of(outcome, held_out[best], parts.weight)
            self.noise_df_, self.noise_scale_ = float(noise.df), float(noise.scale) * unit

    def _held_out(
        self,
        rows: DistinctRows,
        setting: tuple[Kernel, float],
        costs: list[float],
        parts: HeldOutParts,
        unit: float,
    ) -> Array:
        """Return f at parts that were not learned from, shape (n, len(costs))."""
        kernel, width = setting
        found = np.empty((len(parts.row), len(costs)))

        def learned(fold: int) -> None:
            test = parts.test(fold)
            own, weight = parts.learned(fold)
            problem = SupportProblem.of_numbers(
                kernel, rows.x[own], rows.outcome[own], weight, width / unit
            )
            path = support_path(problem, [cost / unit for cost in costs], self._settings())
            found[test] = _said(problem, path, rows.x[parts.row[test]])

        side_by_side(learned, range(parts.n_folds))
        return found


def _said(problem: SupportProblem, path: Sequence[SupportSolution], x: Array) -> Array:
    """Return f at other rows, one column for each solution."""
    dual = np.stack([one.dual for one in path], axis=1)
    used = np.flatnonzero(dual.any(axis=1))
    values = kernel_values(problem.kernel, problem.x[used])
    return np.asarray(values.sums(x, dual[used]) + [one.intercept for one in path])


def _votes(scores: Array, n_classes: int) -> Array:
    """Return votes of pairs, and less than 1/3 of one by the sums of their scores."""
    first, second = np.triu_indices(n_classes, 1)
    sides = np.zeros((len(first), n_classes))
    every = np.arange(len(first))
    sides[every, first], sides[every, second] = -1.0, 1.0
    # A pair that does not prefer its second class prefers its first, of K - 1 - k pairs.
    votes = (scores > 0).astype(np.float64) @ sides + np.arange(n_classes)[::-1]
    sums = scores @ sides
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


def _answers(scores: Array, n_classes: int) -> Places:
    """Return the code of the class that scores of pairs answer."""
    if n_classes == 2:
        return np.asarray(scores[:, 0] > 0, dtype=np.intp)
    return np.asarray(_votes(scores, n_classes).argmax(axis=1))


def _results(
    settings: Settings, scores: Array, weight: Array
) -> tuple[int, dict[str, list[Any]]]:
    """Return the place of the first of the best settings, and a table of all.

    Parameters
    ----------
    scores
        Of each setting for each row, higher is better, shape (m, n).
    """
    share = weight / weight.sum()
    mean = scores @ share
    error = np.sqrt(np.square(scores - mean[:, None]) @ np.square(share))
    # Sums of the same numbers in another order are the same score, in whatever unit.
    rounded = (mean / (np.abs(mean).max() or 1.0)).round(12)
    rank = 1 + (rounded[None, :] > rounded[:, None]).sum(axis=1)
    table = {
        "params": settings,
        **{f"param_{name}": [one[name] for one in settings] for name in settings[0]},
        "mean_test_score": mean.tolist(),
        "std_test_score": error.tolist(),
        "rank_test_score": rank.tolist(),
    }
    return int(np.argmin(rank)), table


def _pairs(n_classes: int) -> list[tuple[int, int]]:
    return list(combinations(range(n_classes), 2))


def _of_pairs(codes: Array, n_classes: int) -> Callable[[int, int], Places]:
    """Return what tells the places of two classes, in rising order."""
    places = [np.flatnonzero(codes == k) for k in range(n_classes)]
    return lambda a, b: np.sort(np.concatenate([places[a], places[b]]))


def _costs(setting: Any, advice: str) -> list[float]:
    """Return the values of C, in rising order."""
    values = several(setting)
    for value in values:
        _require_positive("C", value, advice)
    costs = sorted({float(value) for value in values})
    if not costs or (len(costs) > 1 and np.isinf(costs[-1])):
        raise ValueError(
            f"several C must be finite; found {quote(setting)}. Pass such as (0.1, 1.0, 10.0), "
            "or np.inf alone."
        )
    return costs


def _require_no_cost_of_rows(setting: Any, n_rows: int) -> None:
    """Refuse as many C as rows if some are equal: they are meant for rows, not to choose."""
    n_costs = len(several(setting))
    if n_costs == n_rows > 1 and len(_costs(setting, "")) < n_rows:
        raise ValueError(
            f"several C must differ, for folds to choose among them; found {n_costs}, as many "
            "as rows, and equal ones. Pass one C, and what multiplies it for each row as "
            "sample_weight of fit."
        )


def _epsilons(setting: Any) -> list[float]:
    """Return the values of epsilon, in rising order."""
    values = several(setting)
    is_fine = [
        isinstance(v, Real) and not isinstance(v, bool) and 0 <= float(v) < np.inf
        for v in values
    ]
    if not values or not all(is_fine):
        raise ValueError(
            f"epsilon must be 0 or a positive number; found {quote(setting)}. Pass "
            "the error that costs nothing, in the units of y."
        )
    return sorted({float(value) for value in values})


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
    # Squares of small numbers underflow; powers of two as units round nothing.
    unit = np.ldexp(1.0, np.frexp(np.abs(x).max(axis=0))[1])
    share = weight / weight.sum()
    center = share @ (x / unit)
    variance = share @ np.square(x / unit - center)
    n_varying = int(np.count_nonzero(~is_constant(center, np.sqrt(variance))))
    spread = unit * np.sqrt(usual_variance(center, variance))
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

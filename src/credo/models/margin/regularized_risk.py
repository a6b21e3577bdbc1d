"""Linear classification that minimizes any loss of the margin, with weight decay."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from credo import features
from credo.decisions.margin_loss import MARGIN_LOSSES, MarginLoss, ZeroOneMargin
from credo.distributions.categorical import Categorical
from credo.features.basis import Basis
from credo.inference.margin.empirical_risk import (
    RiskMinimum,
    RiskProblem,
    minimize_risk,
    search_fewest_errors,
)
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import (
    design,
    first_labeled_rows,
    generator,
    placed_basis,
    require_choice,
)
from credo.models.contract.linear_score import best_class, linear_score
from credo.models.margin.signed_rows import MarginRows
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import FINITE, Form
from credo.numerics.status import Status

__all__ = ["RegularizedRisk"]

_STARTS = ("logistic", "hinge", "quadratic")
_UNSETTLED = 1e-5


def _tells_probability(model: RegularizedRisk) -> bool:
    """Whether scores of a setting mean probabilities, which unequal costs would shift."""
    return model._loss().has_probability and model._is_even()


class RegularizedRisk(PredictiveClassifier):
    """A linear score of least regularized risk: ``sum of L(y f(x)) + weight_decay R(w)``.

    ``f(x) = intercept + b(x)^T w``; two classes are coded y = -1 and 1, more are separated one
    against the rest. With the logistic loss and ridge this is the most probable logistic
    regression under independent normal weights of precision ``weight_decay``.

    Parameters
    ----------
    loss
        "logistic", "hinge", "exponential", "quadratic" or "zero_one", or such a value of
        `credo.decisions`, as ``HingeMargin()``.
    basis
        Functions of the inputs from `credo.features`; the inputs themselves if None.
    weight_decay
        Factor of the penalty, 0 or more. The penalty is on weights of standardized columns,
        so that units do not matter, and never on the intercept.
    penalty
        "ridge" for ``R(w) = |w|^2 / 2``, "lasso" for the sum of ``|w|``, which drops some.
    costs
        What a false positive and a false negative cost, for two classes; the second class is
        the positive one.
    random_state
        Seed of the search for the 0-1 loss; nothing else is random.

    Attributes
    ----------
    coef_, intercept_
        Weights (k, d) and intercepts (k,) in the units of the data; one row for two classes,
        else one for each class.
    objective_
        Least value found for each row of ``coef_``; for the 0-1 loss the cost of the errors.
    duality_gap_
        How far above the true minimum that can be at most; NaN for lasso and 0-1.

    Notes
    -----
    The convex losses are minimized to the last digits that matter, the hinge by rounding its
    kink ever more sharply until the duality gap is a ten-millionth. The 0-1 loss has no
    gradient, and scaling a score does not change it, so that weight decay has nothing to act
    on: weights of unit length are searched for, directly, from the convex solutions, and the
    answer is never worse than the best of these, but the global minimum is not promised.

    Logistic and exponential scores mean probabilities, which are of the best weights alone and
    so too sure where rows are few; `LogisticRegression` averages over weights. The other
    losses give a `decision_function` and no `predict_proba`. With unequal costs there is no
    `predict_proba` either: `predict` obeys the costs. To keep both, learn with equal costs and
    call `decide` with a loss matrix.

    Examples
    --------
    >>> x, y = np.array([[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]]), [0, 0, 0, 1, 1, 1]
    >>> model = RegularizedRisk("hinge", weight_decay=0.1).fit(x, y)
    >>> model.predict([[-3.0], [3.0]]).tolist(), hasattr(model, "predict_proba")
    ([0, 1], False)
    """

    coef_: Annotated[Array, Form("s c")]
    duality_gap_: Annotated[Array, Form("s", -np.inf, np.inf, has_gaps=True)]
    intercept_: Annotated[Array, Form("s")]
    objective_: Annotated[Array, Form("s", 0.0, FINITE)]
    basis_: Basis | None

    def __init__(
        self,
        loss: str | MarginLoss = "logistic",
        basis: Basis | None = None,
        weight_decay: float = 1.0,
        penalty: str = "ridge",
        costs: Sequence[float] = (1.0, 1.0),
        random_state: Any = 0,
    ):
        self.loss = loss
        self.basis = basis
        self.weight_decay = weight_decay
        self.penalty = penalty
        self.costs = costs
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        curve = cls("quadratic", features.SplineBasis(5))
        return (
            cls(),
            cls("hinge"),
            cls("exponential"),
            Example(curve, streams=False),
            cls("zero_one"),
            cls("hinge", penalty="lasso"),
            cls(costs=(1.0, 4.0)),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and classes ``y``; a weight of two is the row twice."""
        self._check_settings()
        rows = first_labeled_rows(self, X, y, sample_weight)
        self._check_costs()
        self.basis_ = placed_basis(self.basis, rows.x, rows.weight)
        scaled = MarginRows.of(design(self.basis_, rows.x), rows)
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        rng = generator(self.random_state)
        found = [self._minimum(scaled, scaled.code == k, rng) for k in positive]
        self._warn_unless_settled(found)
        coef = np.array([np.append(m.weights, m.intercept) for m in found])
        self.coef_, self.intercept_ = scaled.in_data_units(coef)
        self.objective_ = np.array([m.value for m in found])
        self.duality_gap_ = np.array([m.gap for m in found])
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores: (n,), positive for the second of two classes, else (n, K)."""
        return linear_score(self, X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the highest score; the first class at a score of zero."""
        if _tells_probability(self):
            return super().predict(X)
        return best_class(self.decision_function(X), self.classes_)

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row.

        With more than two classes, the probabilities of each against the rest, divided by their
        sum.
        """
        score = self.decision_function(X)
        if score.ndim == 1:
            score = np.column_stack([-score, score])
        share = self._loss().probability(score)
        # Far from every class all shares may underflow; then none is preferred.
        share = np.maximum(share, np.finfo(np.float64).tiny)
        return Categorical(share / share.sum(axis=1, keepdims=True), self.classes_)

    predict_dist = available_if(_tells_probability)(predict_dist)
    predict_proba = available_if(_tells_probability)(PredictiveClassifier.predict_proba)
    predict_log_proba = available_if(_tells_probability)(PredictiveClassifier.predict_log_proba)
    decide = available_if(_tells_probability)(PredictiveClassifier.decide)
    predict_frame = available_if(_tells_probability)(PredictiveClassifier.predict_frame)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._is_even()
        return tags

    def _is_even(self) -> bool:
        return len(set(self.costs)) == 1

    def _loss(self) -> MarginLoss:
        return MARGIN_LOSSES[self.loss] if isinstance(self.loss, str) else self.loss

    def _check_settings(self) -> None:
        if not isinstance(self.loss, MarginLoss):
            require_choice("loss", self.loss, tuple(MARGIN_LOSSES))
        require_choice("penalty", self.penalty, ("ridge", "lasso"))
        if not (np.isreal(self.weight_decay) and 0 <= self.weight_decay < np.inf):
            raise ValueError(
                f"weight_decay must be 0 or a positive number; found {self.weight_decay!r}. "
                "Pass the factor of the penalty, such as 1.0."
            )
        if len(self.costs) != 2 or not all(0 < cost < np.inf for cost in self.costs):
            raise ValueError(
                "costs must be two positive numbers, of a false positive and of a false "
                f"negative; found {self.costs!r}. Write (1.0, 5.0), for example."
            )

    def _check_costs(self) -> None:
        if len(self.classes_) > 2 and not self._is_even():
            raise ValueError(
                "Only binary classification is supported. costs must be equal for more than "
                f"two classes; found {self.costs!r} for {len(self.classes_)} classes. Use a "
                "model with predict_proba, and its decide with a LossMatrix."
            )

    def _minimum(
        self, rows: MarginRows, is_positive: NDArray[np.bool_], rng: np.random.Generator
    ) -> RiskMinimum:
        false_positive, false_negative = self.costs
        problem = RiskProblem(
            rows.x[:, :-1],
            np.where(is_positive, 1.0, -1.0),
            rows.weight * np.where(is_positive, false_negative, false_positive),
            self._loss(),
            float(self.weight_decay),
            self.penalty,
        )
        if isinstance(problem.loss, ZeroOneMargin):
            return _fewest_errors(problem, rng)
        return minimize_risk(problem)

    def _warn_unless_settled(self, found: list[RiskMinimum]) -> None:
        for minimum in found:
            is_near = minimum.gap <= _UNSETTLED * max(minimum.value, 1e-300)
            if not (minimum.status.has_converged or is_near):
                warnings.warn(
                    f"the search for the least risk should settle; found that it ended by "
                    f"{minimum.status.value!r}. Raise weight_decay.",
                    ConvergenceWarning,
                    stacklevel=3,
                )


def _fewest_errors(problem: RiskProblem, rng: np.random.Generator) -> RiskMinimum:
    """Return the direct search for the 0-1 loss, from the solutions of convex ones."""
    starts = []
    for name in _STARTS:
        convex = RiskProblem(
            problem.design,
            problem.sign,
            problem.weight,
            MARGIN_LOSSES[name],
            max(problem.weight_decay, 1e-6),
        )
        start = minimize_risk(convex)
        starts.append(np.append(start.weights, start.intercept))
    columns = np.column_stack([problem.design, np.ones(len(problem.design))])
    best, cost = search_fewest_errors(columns, problem.sign, problem.weight, starts, rng)
    length = float(np.linalg.norm(best[:-1]))
    best = best / (length if length > 0 else 1.0)
    return RiskMinimum(best[:-1], float(best[-1]), cost, np.nan, Status.VALUE_STEADY)

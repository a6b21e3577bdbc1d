"""Classification by Gaussian processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.distributions.categorical import Categorical
from credo.features.basis import distinct_rows
from credo.features.kernels.kernel import Kernel
from credo.inference.engine.engine import Inference
from credo.inference.kernel.class_process import (
    HIDDEN_VARIANCE,
    BinaryBelief,
    ClassData,
    ClassMethod,
    ClassProblem,
    ExactBinary,
    ExactSoftmax,
    InducedBelief,
    InducedBinary,
    InducedSoftmax,
    InducedSoftmaxBelief,
    SoftmaxBelief,
)
from credo.inference.kernel.inducing import greedy_rows
from credo.inference.kernel.search import Learned, SettingsSearch, learn
from credo.inference.logistic.softmax import class_coding, log_expected_softmax
from credo.inference.site.expectation_propagation import ExpectationPropagation
from credo.inference.site.laplace import SiteLaplace
from credo.inference.site.softmax import SoftmaxLaplace
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import (
    first_labeled_rows,
    inference_name,
    require_choice,
    require_count,
    validated,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.quotation import quote
from credo.numerics.special.logistic_integral import log_logistic_normal_mean
from credo.numerics.warning import warn_user

__all__ = ["GaussianProcessClassifier"]

ENGINES: Mapping[str, type | None] = MappingProxyType(
    {"ep": ExpectationPropagation, "laplace": SiteLaplace}
)
ROUGH = MappingProxyType({"ep": 3e-4, "laplace": 1e-3})
"""Tolerances while the kernel is learned."""

TOLERANCE = 1e-4
"""What another step of the search must promise, in nats."""

MOST_EXACT = 2000
"""Rows up to which two classes are exact; several have as many rows and classes together."""

LEARNING_ROWS = 1000
INDUCING = 300
OWN_SCALES = 12
"""Columns up to which each has a length scale of its own by default."""

BLOCK_ROWS = 2048

Belief = BinaryBelief | SoftmaxBelief | InducedBelief | InducedSoftmaxBelief


class GaussianProcessClassifier(PredictiveClassifier):
    """Classification by random functions whose smoothness is learned.

    Two classes: ``p(second | x) = 1 / (1 + exp(-f(x)))`` with ``f ~ GP(0, k)``. Several: the
    softmax of one such function for each, all in one joint model. Kernel parameters are
    the most probable ones; probabilities are averaged over the functions that rows leave
    possible, so that they are moderate where rows are few.

    Parameters
    ----------
    kernel
        Covariance function from `credo.features`, whose parameters are learned unless held.
        If None, ``variance * SquaredExponential + Constant`` with a length scale for each of
        up to 12 columns; the constant lets one class be more frequent everywhere. Other
        kernels are used as given: add ``Constant()`` if classes are unbalanced.
    inference
        "ep" for expectation propagation, "laplace" for Laplace's method, which is quicker and
        less accurate; or an engine with settings, ``ExpectationPropagation(damping=0.5)``.
        Several classes are by Laplace's method in either case.
    learning
        "map" for the most probable parameters under weak priors in the units of the data,
        "ml" for those of the highest evidence.
    n_inducing
        Inducing inputs by which the functions are known. If None, all rows up to 2000 for two
        classes (rows and classes together for several), else 300 rows that leave little of
        the others unknown; the kernel is then learned from 1000 rows (times classes).

    Attributes
    ----------
    classes_
        The labels, in rising order.
    kernel_
        The kernel with learned parameters.
    log_evidence_, evidence_method_, evidence_of_
        Log probability of y given X, learned parameters integrated out by Laplace's method
        under their priors ("map"), or at their highest ("ml"); "ep" or "laplace"; "y given X".
    method_
        "exact" or "inducing inputs".
    posterior_, inference_, data_
        The belief about the functions, the whole answer of the engine, and the rows, those
        that are alike taken together.

    Examples
    --------
    >>> x = np.linspace(0.0, 3.0, 12)[:, None]
    >>> y = np.where((x[:, 0] > 1.0) & (x[:, 0] < 2.0), "in", "out")
    >>> model = GaussianProcessClassifier().fit(x, y)
    >>> model.predict([[0.5], [1.5], [2.5]])
    array(['out', 'in', 'out'], dtype='<U3')
    >>> bool(model.predict_proba([[50.0]]).max() < 0.8)  # far from all rows
    True
    """

    data_: ClassData
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    evidence_of_: str
    inference_: Inference
    kernel_: Kernel
    log_evidence_: float
    method_: str
    posterior_: Belief

    def __init__(
        self,
        kernel: Kernel | None = None,
        inference: str | ExpectationPropagation | SiteLaplace = "ep",
        learning: str = "map",
        n_inducing: int | None = None,
    ):
        self.kernel = kernel
        self.inference = inference
        self.learning = learning
        self.n_inducing = n_inducing

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        smooth = 2.0 * features.Matern52(1.0) + features.Constant()
        return (
            cls(),
            Example(cls(smooth, inference="laplace"), unit_free=False, streams=False),
            cls(n_inducing=12, inference="laplace"),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,), forgetting earlier data."""
        self._check_settings()
        rows = first_labeled_rows(self, X, y, sample_weight)
        data = _merged(rows.x, rows.code, rows.weight, len(self.classes_))
        kernel = _placed(self.kernel, data.x)
        kernel.check_inputs(data.x)
        is_exact = self._is_exact(data)
        n = LEARNING_ROWS // _n_functions(data)
        part = data if is_exact else data.taken(_spread_rows(data, n))
        log_volume = 0.0
        if kernel.parameters:
            learned = self._learned(part, kernel)
            kernel = kernel.at(learned.free)
            log_volume = learned.log_evidence - learned.value
        self.data_, self.kernel_ = data, kernel
        self.method_ = "exact" if is_exact else "inducing inputs"
        method = self._exact(data, {})
        if not is_exact:
            n = INDUCING if self.n_inducing is None else self.n_inducing
            chosen = greedy_rows(self.kernel_, data.x, np.ones(len(data.x)), n)
            method = self._induced(data.n_classes, data.x[chosen])
        self.posterior_, found = method.belief(data, self.kernel_)
        self.inference_ = replace(found, posterior=self.posterior_, state=None)
        self.log_evidence_ = found.log_evidence + log_volume
        self.evidence_method_ = found.evidence_method
        self.evidence_of_, self.evidence_flat_ = "y given X", ()
        return self

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, functions integrated out, one per row."""
        return Categorical(np.exp(self.predict_log_proba(X)), self.classes_)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log class probabilities (n, K), with their digits however small they are."""
        check_is_fitted(self)
        x = np.asarray(validated(self, X, reset=False, dtype=np.float64))
        blocks = [x[i : i + BLOCK_ROWS] for i in range(0, len(x), BLOCK_ROWS)]
        return np.concatenate([self._log_probability(block) for block in blocks])

    def decision_function(self, X: ArrayLike) -> Array:
        """Return log odds (n,) of the second of two classes, or log probabilities (n, K)."""
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def log_evidence_at(
        self, log_parameters: ArrayLike | None = None, gradient: bool = False
    ) -> Any:
        """Return the log evidence of the rows at given logs of kernel parameters.

        Parameters
        ----------
        log_parameters
            In the order of ``kernel_.parameters``; those of ``kernel_`` if None.
        gradient
            Whether to return the gradient by them as well, shape (p,).
        """
        check_is_fitted(self)
        logs = self.kernel_.log_parameters if log_parameters is None else log_parameters
        method = self._exact(self.data_, {})
        if self.method_ != "exact":
            method = self._induced(self.data_.n_classes, self.posterior_.x)
        found = method.evidence(self.data_, self.kernel_.at(logs))
        return (found.value, found.gradient) if gradient else found.value

    def settled(self) -> Self:
        """Return an unfitted copy with the kernel that was learned, to be kept as it is."""
        check_is_fitted(self)
        again: Self = clone(self).set_params(kernel=self.kernel_.hold())
        return again

    def _learned(self, data: ClassData, kernel: Kernel) -> Learned:
        name = inference_name(self.inference, ENGINES)
        method = self._exact(data, {"tolerance": ROUGH[name]})
        problem = ClassProblem(data, kernel, method, self.learning == "map")
        problem.__dict__["natural"] = kernel.natural(distinct_rows(data.x), HIDDEN_VARIANCE)
        found = learn(problem, SettingsSearch(tolerance=TOLERANCE))
        if found.at_bounds and self.learning == "ml":
            warn_user(
                f"kernel parameters must be learned between their bounds; found "
                f"{quote(list(found.at_bounds))} at one. Hold them, or use another kernel.",
                UserWarning,
            )
        return found

    def _induced(self, n_classes: int, inducing: Array) -> ClassMethod:
        if n_classes > 2:
            return InducedSoftmax(inducing)
        return InducedBinary(self._engine({}), inducing)

    def _exact(self, data: ClassData, changes: dict[str, Any]) -> ClassMethod:
        if data.n_classes > 2:
            return ExactSoftmax(SoftmaxLaplace(**changes))
        return ExactBinary(self._engine(changes))

    def _engine(self, changes: dict[str, Any]) -> ExpectationPropagation | SiteLaplace:
        if not isinstance(self.inference, str):
            return self.inference
        kind: Any = ENGINES[self.inference]
        found: ExpectationPropagation | SiteLaplace = kind(**changes)
        return found

    def _is_exact(self, data: ClassData) -> bool:
        if self.n_inducing is not None:
            return len(data.x) <= self.n_inducing
        return len(data.x) * _n_functions(data) <= MOST_EXACT

    def _log_probability(self, x: Array) -> Array:
        mean, spread = self.posterior_.moments(x)
        if len(self.classes_) == 2:
            both = np.column_stack([-mean, mean])
            return log_logistic_normal_mean(both, np.sqrt(spread)[:, None])
        coding = class_coding(len(self.classes_))
        root = cholesky(coding.T @ spread @ coding, largest_jitter=1e-6).lower
        return log_expected_softmax(mean @ coding, root, coding)

    def _check_settings(self) -> None:
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise TypeError(
                "kernel must be None or a kernel from credo.features, such as Matern52(); "
                f"found {quote(self.kernel)}. Pass an instance."
            )
        inference_name(self.inference, ENGINES)
        require_choice("learning", self.learning, ("map", "ml"))
        if self.n_inducing is not None:
            require_count("n_inducing", self.n_inducing)


def _n_functions(data: ClassData) -> int:
    return 1 if data.n_classes == 2 else data.n_classes


def _merged(x: Array, code: NDArray[np.intp], weight: Array, n_classes: int) -> ClassData:
    """Return distinct rows of each class, with the weight of all that are alike."""
    is_heavy = weight > 0
    labeled = np.column_stack([code[is_heavy], x[is_heavy]])
    rows, place = np.unique(labeled, axis=0, return_inverse=True)
    total = as_float(np.bincount(place.ravel(), weight[is_heavy], len(rows)))
    return ClassData(
        np.ascontiguousarray(rows[:, 1:]), rows[:, 0].astype(np.intp), total, n_classes
    )


def _placed(kernel: Kernel | None, x: Array) -> Kernel:
    """Return the kernel, or the usual one with values that are natural for the rows."""
    if kernel is not None:
        return kernel
    d = x.shape[1]
    scale: Any = (1.0,) * d if d <= OWN_SCALES else 1.0
    usual = 1.0 * features.SquaredExponential(scale) + features.Constant()
    return usual.at(usual.natural(distinct_rows(x), HIDDEN_VARIANCE))


def _spread_rows(data: ClassData, n: int) -> NDArray[np.intp]:
    """Return places of about n rows, each class with its share and at least one."""
    rng = np.random.default_rng(0)
    parts = []
    for code in range(data.n_classes):
        own = np.flatnonzero(data.code == code)
        size = min(len(own), max(1, round(n * len(own) / len(data.code))))
        parts.append(rng.choice(own, size, replace=False))
    return np.sort(np.concatenate(parts))

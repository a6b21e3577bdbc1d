"""Classification by Gaussian processes."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.features.kernels.kernel import Kernel
from credo.inference.engine.engine import Inference
from credo.inference.kernel.latent_process import (
    ClassData,
    ExactLatent,
    ExactSoftmax,
    InducedBelief,
    InducedLatent,
    InducedSoftmax,
    InducedSoftmaxBelief,
    LatentBelief,
    LatentMethod,
    LatentProcessProblem,
    SoftmaxBelief,
)
from credo.inference.kernel.search import SettingsSearch, learn, learn_more
from credo.inference.logistic.softmax import class_coding, integrated_log_probability
from credo.inference.site.expectation_propagation import ExpectationPropagation
from credo.inference.site.laplace import SiteLaplace
from credo.inference.site.likelihood import (
    BINARY_VARIANCE,
    LogitLikelihood,
    Natural,
    OrderedLikelihood,
)
from credo.inference.site.softmax import SoftmaxLaplace
from credo.models.contract.classifier import LogClassifier
from credo.models.contract.inputs import first_labeled_rows, validated
from credo.models.kernel.latent_setting import (
    INDUCING,
    LEARNING_ROWS,
    MOST_EXACT,
    MOST_EXACT_CLASSES,
    TOLERANCE,
    engine_name,
    inducing_rows,
    latent_rows,
    require_settings,
    site_engine,
    usual_kernel,
    warn_of_bounds,
    work_rows,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["GaussianProcessClassifier"]

ROUGH = MappingProxyType({"ep": 3e-4, "laplace": 1e-3})
"""Tolerances while the kernel is learned."""

BLOCK_ROWS = 2048

MOST_WEIGHTS = 1_500
"""Weights of inducing inputs of several classes together, whose curvature is one matrix."""

Belief = LatentBelief | SoftmaxBelief | InducedBelief | InducedSoftmaxBelief


class GaussianProcessClassifier(LogClassifier):
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
        up to 12 columns, or one for all of more, each measured by its spread over the rows;
        the constant lets one class be more frequent everywhere. Other kernels are used as
        given: add ``Constant()`` if classes are unbalanced.
    inference
        "ep" for expectation propagation, "laplace" for Laplace's method, which is quicker and
        less accurate; or an engine with settings, ``ExpectationPropagation(damping=0.5)``.
        Several classes are by Laplace's method in either case.
    learning
        "map" for the most probable parameters under weak priors in the units of the data,
        "ml" for those of the highest evidence.
    n_inducing
        Inducing inputs by which the functions are known. If None, all rows are used up to
        2000 of two classes, and for K classes up to 3000 over the cube root of K, such as
        1392 of ten; beyond that 300 rows or fewer that leave little of the others unknown.
        The kernel is learned from up to 1000 rows where there are inducing inputs. For K
        classes these are 1000 over that root, and where there are inducing inputs it is then
        learned on from all rows.
    ordered
        Whether classes are grades, from the least to the greatest label: one function, and
        cut points that are learned, between which it falls with standard normal noise.

    Attributes
    ----------
    classes_
        The labels, in rising order.
    kernel_, likelihood_
        With learned parameters; the likelihood is that of one function, unused for several.
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
    likelihood_: LogitLikelihood | OrderedLikelihood
    log_evidence_: float
    method_: str
    posterior_: Belief

    def __init__(
        self,
        kernel: Kernel | None = None,
        inference: str | ExpectationPropagation | SiteLaplace = "ep",
        learning: str = "map",
        n_inducing: int | None = None,
        ordered: bool = False,
    ):
        self.ordered = ordered
        self.kernel = kernel
        self.inference = inference
        self.learning = learning
        self.n_inducing = n_inducing

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        held = 2.0 * features.Matern52(1.0).hold() + features.Constant().hold()
        sparse = cls(held, n_inducing=12, inference="laplace")
        return (
            cls(),
            Example(cls(held, inference="laplace"), unit_free=False, streams=False),
            Example(sparse, unit_free=False),
            cls(inference="laplace", ordered=True),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,), forgetting earlier data."""
        self._check_settings()
        if self.ordered:
            _require_rising(y)
        rows = first_labeled_rows(self, X, y, sample_weight)
        x, code, weight = latent_rows(self.kernel, rows.x, as_float(rows.code), rows.weight)
        data = ClassData(x, code.astype(np.intp), weight, len(self.classes_))
        kernel = _placed(self.kernel, data.x)
        kernel.check_inputs(data.x)
        is_exact = self._is_exact(data)
        part = self._learning_rows(data, is_exact)
        start = self._start(data)
        self.likelihood_ = cast(Any, start.likelihood)
        rough = self._exact(data, ROUGH[engine_name(self.inference)])
        problem = LatentProcessProblem(
            part, kernel, rough, start.variance, self.learning == "map"
        )
        search = SettingsSearch(tolerance=TOLERANCE)
        learned = learn(problem, search)
        self._set_settings(kernel, learned.free)
        method = self._exact(data)
        if not is_exact:
            n_inducing = self.n_inducing or self._usual_inducing(data)
            inducing = inducing_rows(self.kernel_, data, self.likelihood_, n_inducing)
            method = self._induced(data, inducing)
        if isinstance(method, InducedSoftmax) and len(learned.free):
            # A part of few rows for each class says little of the settings.
            whole = replace(problem, data=data, method=method, _last={})
            learned = learn_more(whole, learned, len(part.x), search)
            self._set_settings(kernel, learned.free)
        warn_of_bounds(self, learned)
        log_volume = learned.log_evidence - learned.value
        self.data_ = data
        self.method_ = "exact" if is_exact else "inducing inputs"
        self.posterior_, found = method.belief(data, self.kernel_)
        self.inference_ = replace(found, posterior=self.posterior_, state=None)
        self.log_evidence_ = found.log_evidence + log_volume
        self.evidence_method_ = found.evidence_method
        self.evidence_of_, self.evidence_flat_ = "y given X", ()
        return self

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log class probabilities (n, K), with their digits however small they are."""
        check_is_fitted(self)
        x = np.asarray(validated(self, X, reset=False, dtype=np.float64))
        blocks = [x[i : i + BLOCK_ROWS] for i in range(0, len(x), BLOCK_ROWS)]
        return np.concatenate([self._log_probability(block) for block in blocks])

    def log_evidence_at(
        self, log_parameters: ArrayLike | None = None, gradient: bool = False
    ) -> Any:
        """Return the log evidence of the rows at given parameters.

        Parameters
        ----------
        log_parameters
            Logs, in the order of ``kernel_.parameters``; of ordered classes the free
            parameters of ``likelihood_`` after them. The learned ones if None.
        gradient
            Whether to return the gradient by them as well, shape (p,).
        """
        check_is_fitted(self)
        n, own = len(self.kernel_.parameters), self.likelihood_.free_parameters
        known = np.concatenate([self.kernel_.log_parameters, own])
        logs = known if log_parameters is None else as_float(log_parameters)
        method = self._exact(self.data_)
        if self.method_ != "exact":
            method = self._induced(self.data_, self.posterior_.x)
        found = method.at(logs[n:]).evidence(self.data_, self.kernel_.at(logs[:n]))
        return (found.value, found.gradient) if gradient else found.value

    def settled(self) -> Self:
        """Return an unfitted copy with the kernel that was learned, to be kept as it is.

        The few numbers that a likelihood may have are learned anew, which takes little.
        """
        check_is_fitted(self)
        again: Self = clone(self).set_params(kernel=self.kernel_.hold())
        return again

    def _start(self, data: ClassData) -> Natural:
        if self.ordered:
            grades = OrderedLikelihood(tuple(np.arange(data.n_classes - 1.0).tolist()))
            return grades.natural(data.y, data.weight)
        return LogitLikelihood().natural(data.y, data.weight)

    def _set_settings(self, kernel: Kernel, free: Array) -> None:
        n = len(kernel.parameters)
        self.kernel_ = kernel.at(free[:n])
        self.likelihood_ = self.likelihood_.at(free[n:])

    def _induced(self, data: ClassData, inducing: Array) -> LatentMethod:
        if self._n_functions(data) > 1:
            return InducedSoftmax(inducing)
        engine = site_engine(self.inference)
        return InducedLatent(engine, self.likelihood_, inducing=inducing)

    def _exact(self, data: ClassData, tolerance: float | None = None) -> LatentMethod:
        if self._n_functions(data) > 1:
            engine = SoftmaxLaplace() if tolerance is None else SoftmaxLaplace(tolerance)
            return ExactSoftmax(engine)
        return ExactLatent(site_engine(self.inference, tolerance), self.likelihood_)

    def _n_functions(self, data: ClassData) -> int:
        return 1 if data.n_classes == 2 or self.ordered else data.n_classes

    def _is_exact(self, data: ClassData) -> bool:
        if self.n_inducing is not None:
            return len(data.x) <= self.n_inducing
        n_functions = self._n_functions(data)
        most = MOST_EXACT if n_functions == 1 else MOST_EXACT_CLASSES
        return work_rows(len(data.x), n_functions) <= most

    def _learning_rows(self, data: ClassData, is_exact: bool) -> ClassData:
        """Return the rows that settings are first learned from: all where it takes seconds."""
        n_functions = self._n_functions(data)
        n_part = int(LEARNING_ROWS / work_rows(1, n_functions))
        if len(data.x) <= n_part or (is_exact and n_functions == 1):
            return data
        return data.taken(_spread_rows(data, n_part))

    def _usual_inducing(self, data: ClassData) -> int:
        """Return as many inducing inputs as have no more weights in all than are learned."""
        return min(INDUCING, max(1, MOST_WEIGHTS // max(1, self._n_functions(data) - 1)))

    def _log_probability(self, x: Array) -> Array:
        mean, spread = self.posterior_.moments(x)
        if isinstance(self.likelihood_, OrderedLikelihood):
            return self.likelihood_.log_probability(mean, spread)
        coding = class_coding(len(self.classes_))
        if len(self.classes_) == 2:
            return integrated_log_probability(mean[:, None], spread[:, None, None], coding)
        return integrated_log_probability(mean @ coding, coding.T @ spread @ coding, coding)

    def _check_settings(self) -> None:
        require_settings(self)
        if not isinstance(self.ordered, bool | np.bool_):
            raise TypeError(
                "ordered must be True if classes are grades in rising order, else False; found "
                f"{quote(self.ordered)}. Pass a truth value."
            )


def _require_rising(y: Any) -> None:
    """Raise an error if labels say that they are ordered otherwise than they sort."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    if categories is not None and list(categories) != sorted(categories):
        raise ValueError(
            "ordered classes must sort from the least to the greatest; found categories "
            f"{quote(list(categories))}. Pass their numbers, such as y.cat.codes."
        )


def _placed(kernel: Kernel | None, x: Array) -> Kernel:
    """Return the kernel, or the usual one with values that are natural for the rows."""
    if kernel is not None:
        return kernel
    return usual_kernel(features.SquaredExponential, x).placed(x, BINARY_VARIANCE)


def _spread_rows(data: ClassData, n: int) -> NDArray[np.intp]:
    """Return places of about n rows, each class with its share and at least one."""
    rng = np.random.default_rng(0)
    parts = []
    for code in range(data.n_classes):
        own = np.flatnonzero(data.code == code)
        size = min(len(own), max(1, round(n * len(own) / len(data.code))))
        parts.append(rng.choice(own, size, replace=False))
    return np.sort(np.concatenate(parts))

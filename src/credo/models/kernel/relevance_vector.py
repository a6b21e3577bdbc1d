"""Relevance vector machines: linear models of kernels at a few of the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.distributions.gamma import Gamma
from credo.distributions.predictive import Predictive
from credo.families.linear import LinearStatistics
from credo.families.ridge import Noise, Spectrum
from credo.families.ridge_belief import RidgeBelief
from credo.features.basis import column_spread, distinct_rows
from credo.features.kernels.kernel import Kernel
from credo.inference.engine.engine import ConvergenceWarning, Inference, run
from credo.inference.linear.automatic_relevance import RelevanceDetermination
from credo.inference.linear.regression import LinearProblem, infer, prior_precision
from credo.inference.logistic.automatic_relevance import (
    LogisticRelevance,
    LogisticRelevanceBelief,
    LogisticRelevanceProblem,
)
from credo.models.contract.classifier import LogClassifier
from credo.models.contract.inputs import (
    LARGEST,
    first_labeled_rows,
    merged_rows,
    require_count,
    require_moderate,
    row_weight,
    several,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array, is_constant, squared_distances
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.parallel.threads import threads_for
from credo.numerics.quotation import quote

__all__ = ["RelevanceVectorClassifier", "RelevanceVectorRegressor"]

MULTIPLES = (4.0, 2.0, 1.0, 0.5, 0.25)
"""Widths of the usual kernel, as multiples of the natural one, the smoothest first."""

CANDIDATES = 1000
"""Rows at which kernels are tried by default."""

ROUGH, ROUGH_STEPS, ROUGH_CANDIDATES = 0.1, 40, 300
"""Tolerance in nats, steps, and rows at which kernels are tried, while they are compared."""

TOLERANCE, MAX_STEPS = 1e-5, 500
"""The same of the search with the kernel that was chosen."""

ALWAYS = 4
"""Widths that are always tried; narrower ones only while the evidence rises."""

LEAST_NOISE = 1e-4
"""Least standard deviation of the noise, as a share of that of the outcomes."""

FLAT = 1e-6
"""Shape of a belief about the noise that says nothing else."""

BLOCK_ENTRIES = 1 << 21

KernelSetting = Kernel | Sequence[Kernel] | None


class RelevanceVectorRegressor(PredictiveRegressor):
    """Regression by kernels at a few training rows, which the evidence chooses.

    ``y = intercept + sum_i w_i k(x, x_i) + noise`` with ``w_i ~ N(0, 1 / a_i)``: a linear model
    whose columns are kernels at the training rows. One precision ``a_i`` for each weight is
    learned by maximizing the evidence, at which most are infinite; rows of the others are the
    relevance vectors [tipping2001]_.

    Away from all relevance vectors a kernel that falls with distance is zero, and so is what
    its weight leaves in doubt: **far from the data the predictive standard deviation shrinks
    to that of the noise and the intercept**, where it should grow [rasmussen2005healing]_.
    Near the data it is that of Bayesian linear regression at the learned precisions. Use
    `GaussianProcessRegressor` where rows to predict may be far from all that were seen.

    Parameters
    ----------
    kernel
        Kernel of `credo.features` as it is, or several, of which the evidence chooses one. It
        need not be positive semidefinite. If None, `SquaredExponential` of widths from four
        times the spread of the columns down to a half, or to a quarter if the evidence rises;
        none that is narrower than rows are apart.
    n_candidates
        Rows that may become relevance vectors, chosen by chance. If None, all that differ, up
        to 1000.

    Attributes
    ----------
    kernel_
        The kernel that was chosen.
    relevance_, relevance_vectors_, n_vectors_
        Numbers of the relevant training rows; these rows; how many.
    coef_, intercept_
        Posterior mean of the weight of each relevance vector, and of the intercept.
    weight_precision_, noise_precision_
        Prior precision of each of these weights; precision of the noise, which is held above
        1e-4 standard deviations of the outcomes.
    log_evidence_, evidence_method_, evidence_flat_
        Log probability of y, integrated over each log precision in turn ("laplace"), and
        averaged over the kernels; intercept and log noise are flat.
    posterior_, inference_
        The belief about the weights of relevance vectors, and the whole answer of the engine.

    Examples
    --------
    >>> x = np.linspace(-10.0, 10.0, 100)[:, None]
    >>> y = np.sinc(x[:, 0] / np.pi) + 0.1 * np.cos(np.arange(100.0) ** 2)
    >>> model = RelevanceVectorRegressor().fit(x, y)
    >>> model.n_vectors_ < 12
    True
    >>> model.predict([[0.0], [8.0]]).round(1)
    array([1. , 0.1])
    """

    coef_: Annotated[Array, Form("m")]
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    inference_: Inference
    intercept_: float
    kernel_: Kernel
    log_evidence_: float
    n_vectors_: int
    noise_precision_: float
    posterior_: RidgeBelief
    relevance_: Annotated[NDArray[np.intp], Form("m", 0)]
    relevance_vectors_: Annotated[Array, Form("m d")]
    weight_precision_: Annotated[Array, Form("m", 0.0)]

    def __init__(self, kernel: KernelSetting = None, n_candidates: int | None = None):
        self.kernel = kernel
        self.n_candidates = n_candidates

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        some = cls(features.Matern32(2.0), n_candidates=60)
        return cls(), Example(some, unit_free=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and outcomes ``y`` (n,), forgetting earlier data."""
        _check_settings(self.kernel, self.n_candidates)
        x, outcomes = validated(self, X, y, dtype=np.float64, y_numeric=True)
        weight = row_weight(sample_weight, x)
        _require_enough(weight)
        candidates = _candidates(x, weight, self.n_candidates)
        centers = x[candidates]
        x, y, weight = merged_rows(x, np.asarray(outcomes, dtype=np.float64), weight)

        def inferred(kernel: Kernel, is_rough: bool) -> Inference:
            columns = _learned_design(kernel, x, _some(centers, is_rough))
            statistics = LinearStatistics.of(columns, y, weight)
            problem = LinearProblem(statistics, "flat", "ard", _least_noise(statistics))
            engine = RelevanceDetermination(*_search(is_rough))
            found = infer(problem, relevance=engine)
            return replace(found, log_evidence=found.log_evidence - np.log(FLAT))

        with threads_for(0):
            self.kernel_, found, self.log_evidence_ = _chosen(self.kernel, x, inferred)
            used = np.flatnonzero(found.posterior.spectra[0].scale)
            self.relevance_ = candidates[used]
            self.relevance_vectors_, self.n_vectors_ = centers[used], len(used)
            columns = _design(self.kernel_, x, self.relevance_vectors_)
            return self._set_belief(found, LinearStatistics.of(columns, y, weight), used)

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, weights integrated out, one per row."""
        parts = [
            (self.posterior_.mean(columns), self.posterior_.leverage(columns))
            for columns in _fitted_designs(self, X)
        ]
        mean, leverage = (np.concatenate(part) for part in zip(*parts, strict=True))
        return self.posterior_.predictive_at(mean, leverage)[:, 0]

    def settled(self) -> Self:
        """Return an unfitted copy with the kernel that was chosen."""
        return _settled(self)

    def _set_belief(
        self, found: Inference, statistics: LinearStatistics, used: NDArray[np.intp]
    ) -> Self:
        """Keep the belief about the weights of relevance vectors, which are all in use."""
        whole: RidgeBelief = found.posterior
        spectrum = Spectrum.of(statistics, whole.spectra[0].scale[used], "flat")
        belief = replace(whole, spectra=(spectrum,))
        self.coef_, self.intercept_ = belief.weights[:, 0], float(belief.intercept[0])
        self.weight_precision_ = prior_precision(belief)[0]
        self.noise_precision_ = float(belief.noise_precision[0])
        self.evidence_method_ = found.evidence_method
        self.evidence_flat_ = ("intercept", "log noise")
        self.posterior_ = belief
        self.inference_ = replace(found, posterior=belief, state=None)
        return self


class RelevanceVectorClassifier(LogClassifier):
    """Classification by kernels at a few training rows, which the evidence chooses.

    Two classes: ``log odds = intercept + sum_i w_i k(x, x_i)`` with ``w_i ~ N(0, 1 / a_i)``.
    Several: one such function for each class and their softmax, learned together in one model,
    with a precision for each class and row. Precisions are learned by maximizing the evidence,
    by Laplace's method; most are infinite, and rows of the others are the relevance vectors
    [tipping2001]_. Probabilities are averaged over what is left open of the weights.

    Away from all relevance vectors a kernel that falls with distance is zero, and so is what
    its weight leaves in doubt: **far from the data probabilities are as sure as the intercepts
    are**, and not as moderate as those of a `GaussianProcessClassifier`.

    Parameters
    ----------
    kernel
        Kernel of `credo.features` as it is, or several, of which the evidence chooses one. It
        need not be positive semidefinite. If None, `SquaredExponential` of widths from four
        times the spread of the columns down to a half, or to a quarter if the evidence rises;
        none that is narrower than rows are apart.
    n_candidates
        Rows that may become relevance vectors, chosen by chance. If None, all that differ, up
        to 1000.

    Attributes
    ----------
    classes_
        The labels, in rising order.
    kernel_
        The kernel that was chosen.
    relevance_, relevance_vectors_, n_vectors_
        Numbers of the relevant training rows; these rows; how many.
    coef_, intercept_
        Most probable weight of each relevance vector, shape (K, n_vectors_) and (K,), or one
        row for two classes: the log odds of the second. A weight that is zero was dropped.
    weight_precision_
        Prior precision of these weights, infinite if dropped.
    log_evidence_, evidence_method_, evidence_of_, evidence_flat_
        Log probability of y given X by Laplace's method, integrated over each log precision in
        turn ("laplace"), and averaged over the kernels; "y given X"; intercepts are flat.
    posterior_, inference_
        The belief about the weights of relevance vectors, and the whole answer of the engine.

    Examples
    --------
    >>> x = np.linspace(0.0, 3.0, 30)[:, None]
    >>> y = np.where((x[:, 0] > 1.0) & (x[:, 0] < 2.0), "in", "out")
    >>> model = RelevanceVectorClassifier().fit(x, y)
    >>> model.predict([[0.5], [1.5], [2.5]])
    array(['out', 'in', 'out'], dtype='<U3')
    >>> model.n_vectors_ < 6
    True
    """

    coef_: Annotated[Array, Form("s m")]
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    evidence_of_: str
    inference_: Inference
    intercept_: Annotated[Array, Form("s")]
    kernel_: Kernel
    log_evidence_: float
    n_vectors_: int
    posterior_: LogisticRelevanceBelief
    relevance_: Annotated[NDArray[np.intp], Form("m", 0)]
    relevance_vectors_: Annotated[Array, Form("m d")]
    weight_precision_: Annotated[Array, Form("s m", 0.0, np.inf)]

    def __init__(self, kernel: KernelSetting = None, n_candidates: int | None = None):
        self.kernel = kernel
        self.n_candidates = n_candidates

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        some = cls(features.Matern32(2.0), n_candidates=60)
        return cls(), Example(some, unit_free=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,), forgetting earlier data."""
        _check_settings(self.kernel, self.n_candidates)
        rows = first_labeled_rows(self, X, y, sample_weight)
        candidates = _candidates(rows.x, rows.weight, self.n_candidates)
        centers, n_classes = rows.x[candidates], len(self.classes_)
        x, labels, weight = merged_rows(rows.x, rows.code.astype(np.float64), rows.weight)
        code = labels.astype(np.intp)

        def inferred(kernel: Kernel, is_rough: bool) -> Inference:
            columns = _learned_design(kernel, x, _some(centers, is_rough))
            problem = LogisticRelevanceProblem(columns, code, weight, n_classes)
            return run(LogisticRelevance(*_search(is_rough)), problem)

        with threads_for(0):
            self.kernel_, found, self.log_evidence_ = _chosen(self.kernel, x, inferred)
        used = np.unique(found.state.used % len(candidates))
        self.relevance_, self.relevance_vectors_ = candidates[used], centers[used]
        self.n_vectors_ = len(used)
        return self._set_belief(found)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log class probabilities (n, K), with their digits however small they are."""
        parts = [self.posterior_.log_probability(part) for part in _fitted_designs(self, X)]
        return np.concatenate(parts)

    def settled(self) -> Self:
        """Return an unfitted copy with the kernel that was chosen."""
        return _settled(self)

    def _set_belief(self, found: Inference) -> Self:
        belief: LogisticRelevanceBelief = found.posterior
        self.coef_, self.intercept_ = belief.weights()
        self.weight_precision_ = belief.weight_precision()
        self.evidence_method_, self.evidence_of_ = found.evidence_method, "y given X"
        self.evidence_flat_ = ("intercept",)
        self.posterior_ = belief
        self.inference_ = replace(found, state=None)
        return self


M = TypeVar("M", RelevanceVectorRegressor, RelevanceVectorClassifier)


def _settled(model: M) -> M:
    check_is_fitted(model)
    again: M = clone(model).set_params(kernel=model.kernel_)
    return again


def _check_settings(kernel: Any, n_candidates: Any) -> None:
    kernels = several(kernel)
    is_known = len(kernels) > 0 and all(isinstance(one, Kernel) for one in kernels)
    if kernel is not None and not is_known:
        raise TypeError(
            "kernel must be None, a kernel from credo.features such as Matern52(), or several "
            f"of them; found {quote(kernel)}. Pass instances."
        )
    if n_candidates is not None:
        require_count("n_candidates", n_candidates)


def _require_enough(weight: Array) -> None:
    if weight.sum() <= 1:
        raise ValueError(
            "samples must weigh more than 1 together to learn intercept and noise; found "
            f"n_samples={weight.sum():g}. Add rows, or scale sample_weight, which counts "
            "copies of a row, to sum to the number of rows."
        )


def _kernels(kernel: KernelSetting, x: Array) -> tuple[Kernel, ...]:
    """Return the kernels to choose from."""
    if isinstance(kernel, Kernel):
        return (kernel,)
    if kernel is not None:
        return tuple(several(kernel))
    rows = distinct_rows(x)
    spread = column_spread(rows, 0.0)
    width = np.where(spread > 0, spread * np.sqrt(np.count_nonzero(spread)), 1.0)
    least = _apart(rows / width)
    return tuple(
        features.SquaredExponential(tuple((multiple * width).tolist()))
        for multiple in MULTIPLES
        if multiple >= min(least, 1.0)
    )


def _apart(rows: Array) -> float:
    """Return the usual distance of a row to the nearest other one.

    A narrower kernel makes an island of every row: it learns rows, and no function.
    """
    some = rows[_spread(len(rows), CANDIDATES)]
    if len(some) < 2:
        return 0.0
    squares = squared_distances(some, some)
    np.fill_diagonal(squares, np.inf)
    return float(np.sqrt(np.median(squares.min(axis=1))))


def _candidates(x: Array, weight: Array, n: int | None) -> NDArray[np.intp]:
    """Return numbers of rows that carry weight and differ, in an order set by their values."""
    heavy = np.flatnonzero(weight > 0)
    first = heavy[np.unique(x[heavy], axis=0, return_index=True)[1]]
    return first[_spread(len(first), CANDIDATES if n is None else n)]


def _some(centers: Array, is_rough: bool) -> Array:
    return centers[_spread(len(centers), ROUGH_CANDIDATES)] if is_rough else centers


def _spread(n: int, most: int) -> NDArray[np.intp]:
    """Return places of at most so many of n rows, by chance."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _design(kernel: Kernel, x: Array, vectors: Array) -> Array:
    """Return the kernels at vectors as columns, shape (n, n_vectors)."""
    if not len(vectors):
        return np.empty((len(x), 0))
    kernel.check_inputs(x)
    with np.errstate(over="ignore"):
        columns = kernel.evaluated(x, vectors)[0]
    require_moderate("the kernel of X", columns)
    return columns


def _learned_design(kernel: Kernel, x: Array, vectors: Array) -> Array:
    """Return the columns to learn from; refuse numbers so small that their squares are zero."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    _require_squares("every column of X", largest[largest > 0].min(initial=1.0))
    columns = _design(kernel, x, vectors)
    largest = np.abs(columns).max(initial=0.0)
    _require_squares("the kernel of X", largest if largest > 0 else 1.0)
    return columns


def _require_squares(name: str, largest: float) -> None:
    if largest < 1.0 / LARGEST:
        raise ValueError(
            f"{name} must be zero or have numbers beyond {1.0 / LARGEST:g}, so that their "
            f"squares are not zero; found none above {largest:.3g}. Change the unit: multiply "
            "by a constant."
        )


def _fitted_designs(model: Any, X: ArrayLike) -> list[Array]:
    """Return the columns of rows that a fitted model is asked about, block by block."""
    check_is_fitted(model)
    x = np.asarray(validated(model, X, reset=False, dtype=np.float64))
    size = max(1, BLOCK_ENTRIES // max(model.n_vectors_, 1))
    blocks = [x[i : i + size] for i in range(0, max(len(x), 1), size)]
    return [_design(model.kernel_, block, model.relevance_vectors_) for block in blocks]


def _search(is_rough: bool) -> tuple[float, int]:
    """Return tolerance and most steps of a search for precisions."""
    return (ROUGH, ROUGH_STEPS) if is_rough else (TOLERANCE, MAX_STEPS)


def _chosen(
    kernel: KernelSetting, x: Array, inferred: Callable[[Kernel, bool], Inference]
) -> tuple[Kernel, Inference, float]:
    """Return the kernel of the highest evidence, what it says, and the mean evidence of all."""
    kernels = _kernels(kernel, x)
    if len(kernels) == 1:
        found = inferred(kernels[0], False)
        return kernels[0], found, found.log_evidence
    logs: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for each in kernels:
            logs.append(inferred(each, True).log_evidence)
            if kernel is None and len(logs) >= ALWAYS and logs[-1] < max(logs):
                break
    best = int(np.argmax(logs))
    found = inferred(kernels[best], False)
    logs[best] = found.log_evidence
    return kernels[best], found, float(special.logsumexp(logs) - np.log(len(kernels)))


def _least_noise(statistics: LinearStatistics) -> Noise:
    """Return a belief that is flat in the log of the noise, from the least there may be on.

    Kernels at rows close to each other are nearly the same column: below it, what they explain
    is rounding error.
    """
    variance = float(statistics.y_scatter_diagonal[0]) / statistics.weight
    if is_constant(statistics.y_mean, np.sqrt(np.array([variance])))[0]:
        return None
    return Gamma(FLAT, 0.5 * statistics.weight * LEAST_NOISE**2 * variance)

"""Regression by Gaussian processes behind outcomes that are not normal: counts, outliers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.distributions.mixture import Mixture
from credo.distributions.predictive import Predictive
from credo.distributions.univariate import Univariate
from credo.features.kernels.kernel import Kernel
from credo.inference.engine.engine import Inference
from credo.inference.kernel.latent_process import (
    ExactLatent,
    InducedBelief,
    InducedLatent,
    LatentBelief,
    LatentData,
    LatentProcessProblem,
    SiteEngine,
)
from credo.inference.kernel.search import SettingsSearch, learn, some_rows
from credo.inference.site.likelihood import (
    Natural,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
    StudentTLikelihood,
)
from credo.models.contract.inputs import (
    require_choice,
    row_weight,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.models.kernel.latent_setting import (
    INDUCING,
    LEARNING_ROWS,
    MOST_EXACT,
    TOLERANCE,
    inducing_rows,
    latent_rows,
    require_settings,
    site_engine,
    usual_kernel,
    warn_of_bounds,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["LatentProcessRegressor"]

RegressionLikelihood = StudentTLikelihood | PoissonLikelihood | NegativeBinomialLikelihood

LIKELIHOODS: Mapping[str, RegressionLikelihood] = MappingProxyType(
    {
        "student_t": StudentTLikelihood(),
        "poisson": PoissonLikelihood(),
        "negative_binomial": NegativeBinomialLikelihood(),
    }
)
ROUGH = 1e-4
"""Tolerance of engines while settings are learned."""

BLOCK_ROWS = 1024


class LatentProcessRegressor(PredictiveRegressor):
    """Regression by a random function behind counts, or behind numbers with outliers.

    ``f ~ GP(level, kernel)``: a count has the mean ``exp(f)``, a number with outliers is
    ``f`` and noise of Student's t distribution. Settings are learned from the evidence;
    predictions are averaged over the functions that rows leave possible.

    Parameters
    ----------
    likelihood
        "student_t" for numbers some of which may be far off, "poisson" for counts,
        "negative_binomial" for counts that vary more than Poisson's; or a likelihood of
        `credo.inference` whose parameters are the first to be tried, such as
        ``StudentTLikelihood(df=2.0)``. They are learned: the degrees of freedom, which rows
        tell little of, stay close to those given, and the scale starts from the outcomes.
    kernel
        Covariance function from `credo.features`, whose parameters are learned unless held.
        If None, ``variance * Matern52 + Constant`` with a length scale for each of up to 12
        columns, or one for all of more, each measured by its spread over the rows.
    inference
        "laplace" for Laplace's method, "ep" for expectation propagation, which is slower and
        more accurate, and for outliers may not settle; or an engine with settings.
    learning
        "map" for the most probable parameters under weak priors in the units of the data,
        "ml" for those of the highest evidence.
    n_inducing
        Inducing inputs by which the function is known. If None, all rows up to 2000, else 300
        rows that leave little of the others unknown; settings are then learned from 1000 rows.

    Attributes
    ----------
    kernel_, likelihood_
        With learned parameters.
    level_
        Mean of the function before any row: a log mean count, or the median of the outcomes.
    log_evidence_, evidence_method_
        Log probability of y given X, learned parameters integrated out by Laplace's method
        under their priors ("map"), or at their highest ("ml"); "laplace" or "ep".
    method_
        "exact" or "inducing inputs".
    posterior_, inference_, data_
        The belief about the function, the whole answer of the engine, and the rows, those
        that are alike taken together.

    Examples
    --------
    >>> x = np.linspace(0.0, 3.0, 12)[:, None]
    >>> y = np.array([1, 0, 2, 1, 4, 5, 9, 8, 12, 11, 17, 15])
    >>> model = LatentProcessRegressor("poisson").fit(x, y)
    >>> bool(8 < model.predict([[2.0]])[0] < 13)
    True
    >>> model.predict_interval([[0.0]], 0.9)
    array([[0., 4.]])
    """

    data_: LatentData
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    inference_: Inference
    kernel_: Kernel
    level_: float
    likelihood_: RegressionLikelihood
    log_evidence_: float
    method_: str
    posterior_: LatentBelief | InducedBelief

    def __init__(
        self,
        likelihood: str | RegressionLikelihood = "student_t",
        kernel: Kernel | None = None,
        inference: str | SiteEngine = "laplace",
        learning: str = "map",
        n_inducing: int | None = None,
    ):
        self.likelihood = likelihood
        self.kernel = kernel
        self.inference = inference
        self.learning = learning
        self.n_inducing = n_inducing

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        held = 2.0 * features.SquaredExponential(1.0).hold() + features.Constant(1.0).hold()
        return (
            Example(cls(), streams=False),
            Example(cls(kernel=held, learning="ml"), unit_free=False, streams=False),
            Example(cls(n_inducing=12), streams=False),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and outcomes ``y`` (n,), forgetting earlier data."""
        self._check_settings()
        given = self._given_likelihood()
        x, outcomes = validated(self, X, y, dtype=np.float64, y_numeric=True)
        weight = row_weight(sample_weight, x)
        data = LatentData(*latent_rows(self.kernel, x, given.outcomes(outcomes), weight))
        kernel: Any = self.kernel
        if kernel is None:
            kernel = usual_kernel(features.Matern52, data.x)
        start = given.natural(data.y, data.weight)
        kernel.check_inputs(data.x)
        most = MOST_EXACT if self.n_inducing is None else self.n_inducing
        is_exact = len(data.x) <= most
        problem = self._problem(data, kernel, start)
        if not is_exact:
            problem = problem.taken(some_rows(problem, LEARNING_ROWS))
        learned = learn(problem, SettingsSearch(tolerance=TOLERANCE))
        warn_of_bounds(self, learned)
        n = len(kernel.parameters)
        self.kernel_ = kernel.at(learned.free[:n])
        found_likelihood: Any = start.likelihood.at(learned.free[n:])
        self.likelihood_, self.level_ = found_likelihood, start.level
        self.data_, self.method_ = data, "exact" if is_exact else "inducing inputs"
        x, state = data.x, problem.last_state
        if not is_exact:
            x = inducing_rows(self.kernel_, data, self.likelihood_, self.n_inducing or INDUCING)
        self.posterior_, found = self._method(x).belief(data, self.kernel_, state)
        self.inference_ = replace(found, posterior=self.posterior_, state=None)
        self.log_evidence_ = found.log_evidence + learned.log_evidence - learned.value
        self.evidence_method_, self.evidence_flat_ = found.evidence_method, ()
        return self

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, functions integrated out, one per row."""
        mean, variance = self.predict_function(X)
        found: Mixture = self.likelihood_.predictive(mean, variance)
        zero = np.zeros_like(mean)
        parts = [Predictive(cast(Univariate, p), zero, p.std()) for p in found.components]
        return Predictive.mixed(found.weights, parts)

    def predict_function(self, X: ArrayLike) -> tuple[Array, Array]:
        """Return mean and variance of the function at rows: of the log of a mean count."""
        check_is_fitted(self)
        x = np.asarray(validated(self, X, reset=False, dtype=np.float64))
        blocks = [x[i : i + BLOCK_ROWS] for i in range(0, len(x), BLOCK_ROWS)]
        found = [self.posterior_.moments(block) for block in blocks]
        mean, variance = (np.concatenate(part) for part in zip(*found, strict=True))
        return mean, variance

    def log_evidence_at(
        self, log_parameters: ArrayLike | None = None, gradient: bool = False
    ) -> Any:
        """Return the log evidence of the rows at given logs of parameters.

        Parameters
        ----------
        log_parameters
            Those of ``kernel_.parameters``, then of the likelihood; the learned ones if None.
        gradient
            Whether to return the gradient by them as well, shape (p,).
        """
        check_is_fitted(self)
        n = len(self.kernel_.parameters)
        known = np.concatenate([self.kernel_.log_parameters, self.likelihood_.free_parameters])
        logs = known if log_parameters is None else as_float(log_parameters)
        method = self._method(self.posterior_.x).at(logs[n:])
        found = method.evidence(self.data_, self.kernel_.at(logs[:n]))
        return (found.value, found.gradient) if gradient else found.value

    def settled(self) -> Self:
        """Return an unfitted copy with the kernel that was learned, to be kept as it is.

        The few numbers that a likelihood may have are learned anew, which takes little.
        """
        check_is_fitted(self)
        again: Self = clone(self).set_params(kernel=self.kernel_.hold())
        return again

    def _problem(
        self, data: LatentData, kernel: Kernel, start: Natural
    ) -> LatentProcessProblem:
        method = ExactLatent(site_engine(self.inference, ROUGH), start.likelihood, start.level)
        has_prior = self.learning == "map"
        return LatentProcessProblem(
            data, kernel, method, start.variance, has_prior, start.least
        )

    def _method(self, x: Array) -> ExactLatent | InducedLatent:
        engine = site_engine(self.inference)
        if self.method_ == "exact":
            return ExactLatent(engine, self.likelihood_, self.level_)
        return InducedLatent(engine, self.likelihood_, self.level_, x)

    def _given_likelihood(self) -> RegressionLikelihood:
        if isinstance(self.likelihood, str):
            require_choice("likelihood", self.likelihood, tuple(LIKELIHOODS))
            return LIKELIHOODS[self.likelihood]
        return self.likelihood

    def _check_settings(self) -> None:
        require_settings(self)
        if not isinstance(self.likelihood, str | RegressionLikelihood):
            raise TypeError(
                f"likelihood must be one of {', '.join(LIKELIHOODS)} or such a likelihood of "
                f"credo.inference; found {quote(self.likelihood)}. Use "
                "GaussianProcessClassifier for classes and grades."
            )
